//! Sides that make calls in turn, on one copy of the data: each has accounts of its own, and what is stored is held to all of them.

use crate::e2e_workdir::{Ran, Workdir, kill, parse, signal_to, so_far, until};
use measure::Monotonic;
use model::{Clock, Nanos};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const BOTH: &str = "compare tpcc/sqlite/rusqlite tpcc/sqlite/axum+rusqlite --db sqlite:bench.db --clients 2";

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What each trial of the only run has come to so far.
fn trials(workdir: &Workdir) -> Vec<Value> {
    let folders = workdir.runs().first().and_then(|run| fs::read_dir(run.join("trials")).ok());
    let mut folders: Vec<PathBuf> =
        folders.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().filter_map(|folder| so_far(folder)).collect()
}

/// Whether a subject has had a turn that was written down.
fn has_had_turns(workdir: &Workdir) -> bool {
    let written = trials(workdir);
    let has = |trial: &Value| trial["measured_s"].as_f64().is_some_and(|s| s > 0.0);
    written.len() > 1 && written.iter().all(has)
}

/// The stored orders that a trial was held to.
fn orders(trial: &Value) -> &Value {
    let placed = list(&trial["ledger"]).iter().find(|check| check["name"] == "orders placed");
    placed.expect("every trial is held to its orders")
}

#[test]
fn sides_make_calls_in_turn_and_are_audited_together() {
    let workdir = Workdir::loaded();
    let ran = workdir.run(&format!("{BOTH} --blocks 3 --duration 1200ms --warmup 200ms"));
    let document = workdir.document();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(
        ran.err.contains("expected: about ") && ran.err.contains("trials 1 to 3 of 9, in turn: "),
        "{ran:?}"
    );
    let all = list(&document["trials"]);
    assert_eq!(all.len(), 9);
    for block in all.chunks(3) {
        let mut windows = Vec::new();
        for trial in block {
            assert_eq!(
                (&trial["state"], &trial["plan"]["rounds"]["number"]),
                (&"complete".into(), &2.into())
            );
            let rounds = list(&trial["rounds"]);
            assert_eq!(rounds.len(), 2);
            let measured_s = trial["measured_s"].as_f64().unwrap();
            assert!((1.19..1.21).contains(&measured_s), "{measured_s}");
            windows.extend(rounds.iter().map(|round| round["t_s"].as_f64().unwrap()));
            // Its own commits, and those of all.
            let own = trial["kinds"][0]["tally"]["call_counts"]["committed"].as_f64().unwrap();
            let all = orders(trial)["stored"].as_f64().unwrap();
            assert!(own > 0.0 && own < all, "{own} of {all}");
            let sentence = orders(trial)["sentence"].as_str().unwrap();
            assert!(
                sentence.ends_with("It covers all calls of direct, direct, again, through HTTP."),
                "{sentence}"
            );
        }
        windows.sort_by(f64::total_cmp);
        // No window opens while another is: each is 0.6 s long. What comes before it and does not count is shorter where it opened late.
        assert!(windows.windows(2).all(|pair| pair[1] - pair[0] > 0.6), "{windows:?}");
        let orders_of = |trial: &Value| orders(trial)["stored"].clone();
        assert!(block.iter().all(|trial| orders_of(trial) == orders_of(&block[0])));
        let of = |trial: &Value| {
            list(&trial["processes"]).iter().map(|process| process["roles"][0].clone()).collect::<Vec<_>>()
        };
        for trial in block {
            let is_direct = trial["subject"] == "tpcc/sqlite/rusqlite";
            let expected: &[&str] = if is_direct { &["generator"] } else { &["generator", "server"] };
            assert_eq!(of(trial), expected);
        }
    }
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(comparison["round_groups"], 3);
    assert!(
        comparison["ratio"]["low"].is_number() && comparison["noise"]["ratio"]["low"].is_number(),
        "{comparison}"
    );
    let sentence = comparison["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("from 3 groups of rounds; differences between starts were not measured"),
        "{sentence}"
    );
    assert!(ran.out.contains("in turn") && ran.out.contains("in 2 rounds per trial"), "{}", ran.out);
}

#[test]
fn where_rounds_would_mislead_whole_trials_are_measured_and_the_reason_is_said() {
    let workdir = Workdir::loaded();
    let whole = |more: &str, why: Option<&str>| {
        let line = format!("{BOTH} --blocks 1 --no-control --duration 400ms --warmup 0s --json {more}");
        let ran = workdir.run(&line);
        let document = parse(&ran.out);
        let trials = list(&document["trials"]);
        assert_eq!(trials.len(), 2, "{ran:?}");
        assert!(
            trials.iter().all(|trial| trial.get("rounds").is_none() && trial["plan"].get("rounds").is_none())
        );
        for trial in trials {
            let speed = &trial["machine_speed"];
            assert!(speed["before"]["spin_ns"].as_u64() > Some(0), "{speed}");
            assert!(
                speed["after"]["flush_ns"].as_u64() > Some(0),
                "the data is next to the results: {speed}"
            );
        }
        let notes = document["notes"].to_string();
        assert_eq!(notes.contains("not in turn: "), why.is_some(), "{notes}");
        assert!(notes.contains(why.unwrap_or_default()), "{notes}");
    };
    whole("--trials", None);
    whole("--metric p99.9", Some("the p99.9 is of rare events"));
}

#[test]
fn sides_take_turns_at_a_given_rate_which_both_keep() {
    let workdir = Workdir::loaded();
    let ran = workdir
        .run(&format!("{BOTH} --rate 100 --blocks 1 --no-control --duration 2s --warmup 200ms --json"));
    let document = parse(&ran.out);
    assert_eq!(ran.code(), 0, "{ran:?}");
    for trial in list(&document["trials"]) {
        assert_eq!(list(&trial["rounds"]).len(), 2, "{trial}");
        let due = trial["overall"]["call_counts"]["due"].as_u64().unwrap();
        assert!((100..300).contains(&due), "100 calls/s for 2 s: {due}");
        let demand = &trial["demand"];
        assert!(demand["offered"].as_u64().unwrap() >= due, "{demand}");
        let backlog = list(&trial["rules"]).iter().find(|rule| rule["name"] == "backlog");
        assert_ne!(backlog.unwrap()["severity"], "bad", "{backlog:?}");
    }
    // At a rate that is given throughput says nothing, so others are compared.
    assert_eq!(document["experiment"]["metric"]["name"], "p99");
}

#[test]
fn a_rate_far_beyond_capacity_ends_with_the_first_round() {
    let workdir = Workdir::loaded();
    let ran = workdir.run(&format!(
        "{BOTH} --rate 200000 --blocks 3 --no-control --duration 400ms --warmup 0s --drain 500ms --json"
    ));
    let document = parse(&ran.out);
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trials = list(&document["trials"]);
    assert_eq!(trials.len(), 2, "no further block is measured: {ran:?}");
    for trial in trials {
        assert_eq!((&trial["state"], list(&trial["rounds"]).len()), (&"failed".into(), 1));
        let failure = trial["failure"].as_str().unwrap();
        assert!(failure.contains("the rate is far beyond its capacity"), "{failure}");
        assert_eq!(orders(trial)["check"], "passed");
    }
}

#[test]
fn a_server_that_ends_in_its_turn_fails_its_trial_and_the_other_side_is_audited() {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("{BOTH} --no-control --blocks 2 --duration 6s --warmup 0s"));
    run.until("both sides have had turns", || has_had_turns(&workdir));
    kill(run.server());
    let ran = run.end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "failed");
    // The second block is not measured: there is nothing to compare with.
    let [first, second] = list(&document["trials"]) else { panic!("{ran:?}") };
    let (direct, served) =
        if first["subject"] == "tpcc/sqlite/rusqlite" { (first, second) } else { (second, first) };
    assert_eq!((&direct["state"], &served["state"]), (&"complete".into(), &"failed".into()));
    assert_eq!(list(&direct["rounds"]).len(), 4);
    assert!(list(&served["rounds"]).len() < 4);
    for trial in [direct, served] {
        assert_eq!(orders(trial)["check"], "passed");
        let after = list(&trial["audits"]).iter().filter(|audit| audit["when"] == "after_run");
        assert!(after.count() > 5);
    }
    let comparison = &document["experiment"]["comparisons"][0];
    assert!(comparison["ratio"].is_null(), "{comparison}");
    let sentence = comparison["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("No ratio: through HTTP is invalid (the server "), "{sentence}");
}

#[test]
fn a_comparison_ends_when_it_is_precise_or_when_its_time_is_up() {
    let workdir = Workdir::loaded();
    let ended = |more: &str| {
        let line = format!("{BOTH} --no-control --duration 600ms --warmup 0s --json {more}");
        let ran = workdir.run(&line);
        assert_eq!(ran.code(), 0, "{ran:?}");
        let document = parse(&ran.out);
        let blocks = list(&document["trials"]).len() / 2;
        // From three groups of rounds on there is an interval.
        assert!(ran.err.matches("so far: through HTTP ").count() + 3 > blocks, "{ran:?}");
        (blocks, document["notes"].to_string(), document["experiment"]["blocks_planned"].as_u64())
    };
    let (blocks, notes, planned) = ended("--time 2m --precision 50%");
    assert!(blocks >= 5 && notes.contains(&format!("It ended after {blocks} blocks, when every")), "{notes}");
    assert_eq!(planned, Some(blocks as u64), "blocks that were not needed are not missing");
    let (blocks, notes, _) = ended("--time 9s --precision 0.1%");
    assert!(notes.contains(&format!("The time was up after {blocks} blocks")), "{notes}");
}

/// A server that is stopped for longer than two turns is stopped when a round of its own closes.
#[test]
fn calls_that_outlast_their_round_are_counted_for_their_side_and_said() {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("{BOTH} --no-control --blocks 1 --duration 6s --warmup 0s"));
    run.until("both sides have had turns", || has_had_turns(&workdir));
    let server = run.server();
    signal_to(server, Signal::STOP);
    let clock = Monotonic::start();
    until("both sides have had a turn", || clock.now() > Nanos::from_secs(6));
    signal_to(server, Signal::CONT);
    let ran = run.end();
    let document = workdir.document();
    assert_eq!(document["state"], "complete", "{ran:?}");
    for trial in list(&document["trials"]) {
        let is_direct = trial["subject"] == "tpcc/sqlite/rusqlite";
        let notes = trial["notes"].to_string();
        assert_eq!(notes.contains("to end after it: the next turn began later"), !is_direct, "{notes}");
        assert_eq!((list(&trial["rounds"]).len(), &orders(trial)["check"]), (4, &"passed".into()));
    }
}

#[test]
fn a_block_that_was_interrupted_is_audited_and_measured_again() {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("{BOTH} --no-control --blocks 1 --duration 4s --warmup 0s"));
    run.until("both sides have had turns", || has_had_turns(&workdir));
    run.signal(Signal::INT);
    assert_eq!(run.end().code(), 130);
    let document = workdir.document();
    assert_eq!(document["state"], "interrupted");
    let cut = list(&document["trials"]);
    assert_eq!(cut.len(), 2);
    for trial in cut {
        assert_eq!((&trial["state"], &orders(trial)["check"]), (&"interrupted".into(), &"passed".into()));
    }
    finishes_when_resumed(&workdir, 2);
}

#[test]
fn a_run_that_is_killed_in_its_second_block_keeps_the_first() {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("{BOTH} --no-control --blocks 2 --duration 2s --warmup 0s"));
    let running = |trial: &&Value| trial["state"] == "running";
    run.until("the second block runs", || {
        let written = trials(&workdir);
        written.len() == 4 && written.iter().filter(running).count() == 2
    });
    run.signal(Signal::KILL);
    run.end_anyhow();
    let ran = finishes_when_resumed(&workdir, 4);
    assert!(ran.err.contains("2 of 4 trials are done"), "{ran:?}");
}

/// `resume` measures what is missing, with so many trials in the end.
#[track_caller]
fn finishes_when_resumed(workdir: &Workdir, all: usize) -> Ran {
    let ran = workdir.run(&format!("resume {}", workdir.only_run().display()));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = workdir.document();
    assert_eq!((&document["state"], list(&document["trials"]).len()), (&"complete".into(), all));
    assert!(list(&document["trials"]).iter().all(|trial| trial["state"] == "complete"));
    ran
}
