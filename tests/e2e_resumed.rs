//! What an interrupted experiment goes on with, and with what it does not: trials of another machine, engine, program or
//! plan would be another experiment, and half a trial is none.

use crate::e2e_experiments::{ended, resume};
use crate::e2e_workdir::{Workdir, assert_good, parse};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A comparison that was killed when three of its four trials had ended: the first block, and half of the second.
fn killed() -> Workdir {
    let workdir = Workdir::loaded();
    // Commits wait for no disk: one that stalls would leave a trial without a result.
    let database = "sqlite:bench.db?synchronous=normal";
    let line = format!("compare tpcc tpcc/sqlite/axum+rusqlite --db {database} --no-control --blocks 2");
    let run = workdir.start(&format!("{line} --duration 1s --warmup 0s --clients 2 --trials"));
    run.until("three trials have ended", || ended(&workdir).len() >= 3);
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    workdir
}

/// What `resume` says to a document in which the texts behind `pointer` are other ones. Then all is as before.
#[track_caller]
pub(crate) fn refused(workdir: &Workdir, files: &[PathBuf], pointer: &str, value: Value, words: &[&str]) {
    let before: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for file in files {
        edit(file, pointer, value.clone());
    }
    workdir.run(&resume(workdir)).refused(words);
    for (file, bytes) in files.iter().zip(before) {
        fs::write(file, bytes).unwrap();
    }
}

pub(crate) fn edit(file: &Path, pointer: &str, value: Value) {
    let mut document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    *document.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer} in {}", file.display())) = value;
    fs::write(file, serde_json::to_vec_pretty(&document).unwrap()).unwrap();
}

#[test]
fn what_would_be_another_experiment_is_refused_by_what_differs() {
    let workdir = killed();
    let run = workdir.only_run();
    let trials: Vec<PathBuf> = ended(&workdir).iter().map(|folder| folder.join("result.json")).collect();
    // Also where all but the last are as they should be.
    let last = &trials[trials.len() - 1..];
    let of_a_trial: [(&str, Value, &[&str]); 5] = [
        (
            "/trials/0/machine/kernel",
            "2.6.32-ancient".into(),
            &["with the kernel 2.6.32-ancient, and here it is"],
        ),
        (
            "/trials/0/machine/cpu",
            "an abacus".into(),
            &["with the CPU an abacus", "cannot resume on a different machine"],
        ),
        ("/trials/0/machine/cores", 4_095.into(), &["a number of cores of 4095"]),
        (
            "/trials/0/stack/engine_version",
            "3.0.0".into(),
            &["on version 3.0.0 of its engine", "start a new run"],
        ),
        ("/trials/0/data/checksum", "xxh3:0".into(), &["worked on xxh3:0", "start a new run"]),
    ];
    for (pointer, value, words) in of_a_trial {
        refused(&workdir, last, pointer, value, words);
    }
    let plan = [run.join("plan.json")];
    let of_the_plan: [(&str, Value, &[&str]); 2] = [
        ("/stackmark", "0.0.1".into(), &["was started by stackmark 0.0.1, and this is"]),
        ("/program", "xxh3:1".into(), &["another build of stackmark", "xxh3:1"]),
    ];
    for (pointer, value, words) in of_the_plan {
        refused(&workdir, &plan, pointer, value, words);
    }
    // To the byte as it was but for one value.
    let text = fs::read_to_string(&plan[0]).unwrap();
    for (was, is) in [("\"blocks\": 2,", "\"blocks\": 9,"), ("\"workers\": 2,", "\"workers\": 64,")] {
        assert!(text.contains(was), "{text}");
        fs::write(&plan[0], text.replacen(was, is, 1)).unwrap();
        workdir
            .run(&resume(&workdir))
            .refused(&["plan.json has been changed: its checksum is xxh3:", "another plan"]);
    }
    fs::write(&plan[0], text).unwrap();
    // Nothing was lost by asking, and nothing is said of what did not happen.
    let ran = workdir.run(&resume(&workdir));
    let document = workdir.document();
    assert_good(&ran, &document);
    assert_eq!(document["trials"].as_array().unwrap().len(), 4, "{ran:?}");
    let cut_off = |note: &&Value| note.as_str().unwrap().contains("It was cut off after 3 of 4 trials");
    assert_eq!(document["notes"].as_array().unwrap().iter().filter(cut_off).count(), 1, "{document}");
}

#[test]
fn half_a_trial_and_one_of_another_run_are_not_believed() {
    let workdir = killed();
    let folders = ended(&workdir);
    let files: Vec<PathBuf> = folders.iter().map(|folder| folder.join("result.json")).collect();
    let text = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &text[..text.len() / 2]).unwrap();
    // The last one is of the block that was under way.
    edit(&files[2], "/id", "20200101-000000-other/003-x".into());
    let whole = fs::read(&files[1]).unwrap();

    let ran = workdir.run(&resume(&workdir));
    let document = workdir.document();
    assert_good(&ran, &document);
    // Neither block has three trials that ran next to each other, so nothing of them is kept.
    assert!(ran.err.contains("0 of 4 trials are done"), "{ran:?}");
    assert_ne!(fs::read(&files[1]).unwrap(), whole, "a trial of a block that was run again was kept");
    let sentence = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["cannot be used", "block 1 is run again", "20200101-000000-other", "block 2 is run again"] {
        assert!(
            sentence.contains(words) && document["notes"].to_string().contains(words),
            "{words}: {ran:?}"
        );
    }
    assert_every_trial_once(&workdir, &document, 4);
}

#[test]
fn a_torn_trial_costs_its_block_and_no_other() {
    let workdir = killed();
    let files: Vec<PathBuf> = ended(&workdir).iter().map(|folder| folder.join("result.json")).collect();
    let kept = fs::read(&files[2]).unwrap();
    fs::write(&files[1], "").unwrap();
    let ran = workdir.run(&resume(&workdir));
    let document = workdir.document();
    assert_good(&ran, &document);
    assert!(ran.err.contains("1 of 4 trials are done"), "{ran:?}");
    assert_eq!(fs::read(&files[2]).unwrap(), kept, "a trial of another block was run again");
    assert_every_trial_once(&workdir, &document, 4);
}

/// Each trial has a folder and a place in its block, and no two have the same.
#[track_caller]
fn assert_every_trial_once(workdir: &Workdir, document: &Value, trials: usize) {
    assert_eq!(document["state"], "complete");
    assert_eq!(document["trials"].as_array().unwrap().len(), trials);
    assert_eq!(ended(workdir).len(), trials);
    let blocks = document["experiment"]["comparisons"][0]["blocks"].as_array().unwrap();
    let mut of_blocks: Vec<u64> = blocks
        .iter()
        .flat_map(|block| block["trials"].as_array().unwrap())
        .map(|trial| trial["trial"].as_u64().unwrap())
        .collect();
    of_blocks.sort_unstable();
    assert_eq!(of_blocks, (0..trials as u64).collect::<Vec<_>>(), "{blocks:?}");
    let mut ids: Vec<String> = ended(workdir)
        .iter()
        .map(|folder| parse(&fs::read_to_string(folder.join("result.json")).unwrap())["id"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), trials);
}
