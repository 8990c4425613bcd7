//! An experiment on private engines that is killed in mid-trial: nothing of its engine stays, and it goes on to its end.

use crate::survive_leftovers::{base, engine_of, folders};
use crate::without_passwords;
use crate::workdir::{Running, Workdir, assert_good, until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const TRIALS: usize = 4;

/// A command whose private engines are made in a folder of our own.
fn command(workdir: &Workdir, line: &str, base: &Path) -> Command {
    let mut command = workdir.command(line);
    without_passwords(&mut command);
    command.env("STACKMARK_RIG_DIR", base);
    command
}

/// The states of the trials that have been begun, in their order.
fn states(workdir: &Workdir) -> Vec<String> {
    let runs = workdir.runs();
    let trials = runs.first().map(|run| fs::read_dir(run.join("trials")).into_iter().flatten().flatten());
    let mut folders: Vec<_> = trials.into_iter().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let texts = folders.iter().filter_map(|folder| fs::read_to_string(folder.join("result.json")).ok());
    // Not held to the schema: that takes its time, in which a trial ends.
    let documents = texts.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    documents.map(|document| document["state"].as_str().unwrap().to_owned()).collect()
}

/// Processes that were started with something below a folder.
fn processes_of(base: &Path) -> Vec<String> {
    let base = base.to_str().unwrap();
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(base)).collect()
}

/// The first process of the engine of a trial.
fn engine_pid(trial: &Value) -> u64 {
    let processes = trial["processes"].as_array().unwrap();
    let engine = processes.iter().find(|process| process["roles"][0] == "engine").unwrap();
    engine["pid"].as_u64().unwrap()
}

/// What a counter of the engine grew by in the window.
fn gauge(trial: &Value, name: &str) -> f64 {
    let gauges = trial["engine"]["gauges"].as_array().unwrap();
    gauges.iter().find(|gauge| gauge["name"] == name).unwrap()["total"].as_f64().unwrap()
}

#[test]
fn an_experiment_on_a_private_postgresql_that_is_killed_in_a_trial_goes_on_and_leaves_nothing() {
    let (workdir, base) = (Workdir::empty(), base());
    let line = "compare tpcb/postgres tpcb/postgres/axum+tokio-postgres --blocks 2 --no-control --clients 2 --scale 1";
    let line = format!("{line} --duration 2s --warmup 0s --trials");
    let run = Running::start(command(&workdir, &line, base.path()));
    run.until(
        "a trial runs behind one that has ended",
        || matches!(&states(&workdir)[..], [first, .., last] if first == "complete" && last == "running"),
    );
    let engine = engine_of(&folders(base.path())[0]);
    run.signal(Signal::KILL);
    let killed = run.end();
    assert_eq!(killed.status.code(), None, "{killed:?}");
    let before = states(&workdir);
    assert_eq!(before.last().map(String::as_str), Some("running"), "{before:?}");
    let done = before.iter().filter(|state| *state == "complete").count();

    let resumed =
        Running::start(command(&workdir, &format!("resume {}", workdir.only_run().display()), base.path()));
    let ran = resumed.end();
    let document = workdir.document();
    assert_good(&ran, &document);
    assert!(ran.err.contains(&format!("{done} of {TRIALS} trials are done")), "{ran:?}");
    assert_eq!(document["state"], "complete");
    assert_eq!(states(&workdir), ["complete"; TRIALS]);
    // Each trial begins on an engine that was just started: none has the pages of the one before in its memory.
    let mut engines: Vec<u64> = document["trials"].as_array().unwrap().iter().map(engine_pid).collect();
    engines.sort_unstable();
    engines.dedup();
    assert_eq!(engines.len(), TRIALS, "{engines:?}");
    // And on a copy whose pages have all been logged: what is left are pages that are not the copy's, such as those of catalogues.
    for trial in document["trials"].as_array().unwrap() {
        let (images, commits) = (gauge(trial, "full page images"), gauge(trial, "commits"));
        assert!(commits > 0.0 && images <= commits / 10.0, "{images} of {commits}");
    }
    let of_blocks = |block: &Value| -> Vec<u64> {
        block["trials"].as_array().unwrap().iter().map(|trial| trial["trial"].as_u64().unwrap()).collect()
    };
    let blocks = document["experiment"]["comparisons"][0]["blocks"].as_array().unwrap();
    let mut once: Vec<u64> = blocks.iter().flat_map(of_blocks).collect();
    once.sort_unstable();
    assert_eq!(once, (0..TRIALS as u64).collect::<Vec<_>>(), "{blocks:?}");
    assert!(document["experiment"]["comparisons"][0]["ratio"].is_object(), "{document}");

    // Of the killed run and of the one that went on.
    assert!(!crate::is_alive(engine), "the engine of the killed run is left");
    until("the engines and their folders are gone", || {
        processes_of(base.path()).is_empty() && folders(base.path()).is_empty()
    });
    assert!(!workdir.only_run().join("private").exists());
}
