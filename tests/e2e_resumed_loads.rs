//! Sweeps and searches that were killed or interrupted, and go on.

use crate::e2e_experiments::{ended, resume};
use crate::e2e_resumed::{edit, refused};
use crate::e2e_workdir::{Ran, Workdir, parse};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Two blocks of two loads.
const SWEEP: &str = "sweep tpcc --clients 1,2 --blocks 2 --duration 1s --warmup 0s";
/// Nothing but calls that are not served breaks this level, so that a search takes only a few steps.
const SEARCH: &str =
    "find-max tpcc --slo p50<60s --resolution 50% --confirm 1 --duration 2s --warmup 0s --in-flight 4";
/// Steps that end early, after two seconds, since nothing keeps this level.
const HOPELESS: &str = "find-max tpcc --slo p90<1us --duration 5s --warmup 0s --in-flight 2";
/// Commits wait for no disk: a slow one would give too few calls in this time.
const DB: &str = "--db sqlite:bench.db?synchronous=normal";

/// How many trials are in the document of the only run.
fn told(workdir: &Workdir) -> usize {
    let text = workdir.runs().first().and_then(|run| fs::read_to_string(run.join("result.json")).ok());
    text.map_or(0, |text| parse(&text)["trials"].as_array().unwrap().len())
}

/// A run that was killed when so many trials had ended and were in its document.
fn killed(line: &str, trials: usize) -> Workdir {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("{line} {DB}"));
    run.until("trials are in the document", || told(&workdir) >= trials);
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    workdir
}

/// What the trials of the only run that have ended have written.
fn written(workdir: &Workdir) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |folder: PathBuf| (folder.clone(), fs::read(folder.join("result.json")).unwrap());
    ended(workdir).into_iter().map(read).collect()
}

/// Goes on to the end over the trials of before, none of which is run again.
#[track_caller]
fn goes_on(workdir: &Workdir, done: &str) -> (Ran, Value) {
    let before = written(workdir);
    let ran = workdir.run(&resume(workdir));
    assert!(ran.code() < 2 && ran.err.contains(done), "{ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "complete", "{ran:?}");
    let after = written(workdir);
    assert_eq!(after[..before.len()], before, "a trial was run again: {ran:?}");
    // The document has them as they are: each at the time at which it began.
    let started = |bytes: &[u8]| parse(str::from_utf8(bytes).unwrap())["trials"][0]["started"].clone();
    let starts: Vec<Value> = after.iter().map(|(_, bytes)| started(bytes)).collect();
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.iter().map(|trial| trial["started"].clone()).collect::<Vec<_>>(), starts, "{ran:?}");
    let notes = document["notes"].to_string();
    assert_eq!(notes.matches("It was cut off after").count(), 1, "{notes}");
    assert!(notes.contains("and went on at 20") && !notes.contains("This is partial"), "{notes}");
    assert!(!workdir.only_run().join("private").exists());
    workdir.run(&resume(workdir)).refused(&["is complete", "nothing to resume"]);
    (ran, document)
}

#[test]
fn a_sweep_that_is_killed_goes_on_over_the_trials_that_it_has() {
    let workdir = killed(SWEEP, 2);
    // What is there says that it is not whole, and how to go on.
    let notes = workdir.document()["notes"].to_string();
    assert!(notes.contains("This is partial: running") && notes.contains("`stackmark resume"), "{notes}");
    let done = ended(&workdir).len();
    let (_, document) = goes_on(&workdir, &format!("{done} of 4 trials are done"));
    let points = document["curve"]["points"].as_array().unwrap();
    let trials: Vec<&Vec<Value>> = points.iter().map(|point| point["trials"].as_array().unwrap()).collect();
    assert!(trials.len() == 2 && trials.iter().all(|trials| trials.len() == 2), "{points:?}");
    assert!(document["command"].to_string().contains("sweep"), "{}", document["command"]);
}

#[test]
fn a_search_that_is_killed_goes_on_from_its_first_steps() {
    let workdir = killed(SEARCH, 2);
    let before = workdir.document()["search"]["steps"].as_array().unwrap().clone();
    let done = ended(&workdir).len();
    let (ran, document) = goes_on(&workdir, &format!("{done} trials are done"));
    let steps = document["search"]["steps"].as_array().unwrap();
    assert!(!before.is_empty(), "{:?}", workdir.document());
    let rate = |step: &Value| step["rate_per_s"].as_f64().unwrap();
    for (was, is) in before.iter().zip(steps) {
        assert!((rate(was) / rate(is) - 1.0).abs() < 1e-9, "{was} {is}");
        assert_eq!((&was["trial"], &was["reason"], &was["met"]), (&is["trial"], &is["reason"], &is["met"]));
    }
    // After them each step has a trial of its own.
    let trials: Vec<u64> = steps.iter().map(|step| step["trial"].as_u64().unwrap()).collect();
    assert_eq!(trials, (1..=steps.len() as u64).collect::<Vec<_>>(), "{ran:?}");
}

/// A run that was interrupted when two of its trials were in its document; it has named the command that goes on.
#[track_caller]
fn interrupted(line: &str) -> Workdir {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("{line} {DB}"));
    run.until("two trials are in the document", || told(&workdir) >= 2);
    run.signal(Signal::INT);
    let ran = run.end();
    let id = workdir.only_run().file_name().unwrap().to_str().unwrap().to_owned();
    let named = format!("`stackmark resume results/{id}` continues it");
    let sentence = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sentence.contains(&named), "{ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "interrupted");
    assert!(document["notes"].to_string().contains(&named), "{document}");
    // What CI and spreadsheets read of it.
    let junit = workdir.run(&format!("report results/{id} --format junit")).out;
    assert!(junit.contains("<failure message=\"interrupted"), "{junit}");
    let csv = workdir.run(&format!("report results/{id} --format csv")).out;
    assert!(csv.lines().skip(1).all(|row| row.contains(",interrupted,")), "{csv}");
    workdir
}

#[test]
fn ctrl_c_names_the_command_that_goes_on_with_a_sweep() {
    goes_on(&interrupted(SWEEP), " of 4 trials are done");
}

#[test]
fn ctrl_c_in_a_search_that_goes_on_loses_no_step() {
    let workdir = killed(SEARCH, 2);
    let steps = || workdir.document()["search"]["steps"].as_array().unwrap().len();
    let before = steps();
    let resumed = workdir.start(&resume(&workdir));
    resumed.until("it says what it has", || resumed.err().contains("trials are done"));
    resumed.signal(Signal::INT);
    let ran = resumed.end();
    assert!(before > 0 && steps() >= before, "{before} steps, and then {}: {ran:?}", steps());
}

#[test]
fn a_step_that_ended_early_is_not_run_again() {
    let workdir = interrupted(HOPELESS);
    let before = workdir.document()["search"]["steps"].clone();
    // Not always the second: another one may have ended before the first run heard of its end.
    let next = format!("step {}: ", before.as_array().unwrap().len() + 1);
    let resumed = workdir.start(&resume(&workdir));
    resumed.until("it measures the next step", || resumed.err().contains(&next));
    resumed.signal(Signal::INT);
    let ran = resumed.end();
    let (was, is) = (&before[0], &workdir.document()["search"]["steps"][0]);
    assert!(ran.err.contains("missed, ended early") && was["ended_early_s"].is_number(), "{was} {ran:?}");
    assert_eq!(
        (&was["trial"], &was["reason"], &was["met"]),
        (&is["trial"], &is["reason"], &is["met"]),
        "{ran:?}"
    );
    assert!(!ran.err.contains("step 1: ") && !ran.err.contains("capacity: "), "{ran:?}");
}

#[test]
fn what_would_be_another_sweep_is_refused_by_what_differs() {
    let workdir = killed(SWEEP, 2);
    let plan = workdir.only_run().join("plan.json");
    let trial = ended(&workdir)[1].join("result.json");
    let of_a_trial: [(&str, Value, &[&str]); 3] = [
        ("/trials/0/machine/kernel", "2.6".into(), &["with the kernel 2.6, and here it is"]),
        ("/trials/0/stack/engine_version", "3.0".into(), &["on version 3.0 of its engine"]),
        ("/trials/0/data/checksum", "xxh3:0".into(), &["worked on xxh3:0", "start a new run"]),
    ];
    let last = std::slice::from_ref(&trial);
    for (pointer, value, words) in of_a_trial {
        refused(&workdir, last, pointer, value, words);
    }
    let file = std::slice::from_ref(&plan);
    refused(&workdir, file, "/program", "xxh3:1".into(), &["another build of stackmark", "xxh3:1"]);
    let text = fs::read_to_string(&plan).unwrap();
    // To the byte as it was but for one value.
    for (was, is) in [("\"blocks\": 2", "\"blocks\": 9"), ("\"in_flight\": 64", "\"in_flight\": 65")] {
        assert!(text.contains(was), "{text}");
        fs::write(&plan, text.replacen(was, is, 1)).unwrap();
        workdir.run(&resume(&workdir)).refused(&["plan.json has been changed", "another plan"]);
    }
    fs::write(&plan, text).unwrap();
    // A trial with other clients than the plan has is not believed: it is measured again, with all after it.
    let kept = written(&workdir).swap_remove(0);
    edit(&trial, "/trials/0/plan/clients", 64.into());
    let ran = workdir.run(&resume(&workdir));
    let document = workdir.document();
    assert_eq!(document["state"], "complete", "{ran:?}");
    let sentence = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["Trial 002-", "another plan", "this trial and all later ones are run again"] {
        assert!(
            sentence.contains(words) && document["notes"].to_string().contains(words),
            "{words}: {ran:?}"
        );
    }
    assert_eq!(written(&workdir)[0], kept, "the trial before it was run again: {ran:?}");
    let mut clients: Vec<u64> = document["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["plan"]["clients"].as_u64().unwrap())
        .collect();
    clients.sort_unstable();
    assert_eq!(clients, [1, 1, 2, 2]);
}

#[test]
fn a_torn_trial_of_a_sweep_costs_its_block_and_what_came_after_it() {
    let workdir = killed(SWEEP, 2);
    let before = written(&workdir);
    fs::write(before[1].0.join("result.json"), "").unwrap();
    let ran = workdir.run(&resume(&workdir));
    assert!(ran.err.contains("0 of 4 trials are done"), "{ran:?}");
    assert!(ran.err.contains("cannot be used") && ran.err.contains("trial 1 and all later ones"), "{ran:?}");
    let document = workdir.document();
    assert_eq!((&document["state"], ended(&workdir).len()), (&"complete".into(), 4), "{ran:?}");
    assert_ne!(written(&workdir)[0], before[0], "a trial of the block was kept: {ran:?}");
}
