//! Subjects on SQLite: each driver and style once, and in the extended tests all; and what one of them says of its shared commits.

use crate::e2e_workdir::{Workdir, assert_good, assert_tier, once, parse};
use serde_json::Value;

/// A loaded database of each workload.
fn loaded() -> Workdir {
    let workdir = Workdir::loaded();
    for workload in ["tpcb", "catalogue", "transfer", "booking"] {
        let ran = workdir.run(&format!("load {workload} --golden --db sqlite:{workload}.db"));
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    workdir
}

fn database(subject: &str) -> &'static str {
    match subject.split('/').next() {
        Some("tpcb") => "tpcb.db",
        Some("catalogue") => "catalogue.db",
        Some("transfer") => "transfer.db",
        Some("booking") => "booking.db",
        _ => "bench.db",
    }
}

#[test]
fn each_driver_and_style_of_sqlite_runs_and_is_sound() {
    subjects_are_sound(once);
}

mod extended {
    use super::*;

    #[test]
    fn every_subject_of_sqlite_runs_and_is_sound() {
        subjects_are_sound(|subjects| subjects);
    }
}

fn subjects_are_sound(choose: fn(Vec<String>) -> Vec<String>) {
    let workdir = loaded();
    let listed: Value = serde_json::from_str(&workdir.run("list --json").out).unwrap();
    let rows = listed.as_array().unwrap().iter();
    let subjects: Vec<String> = rows
        .filter(|row| row["subject"].as_str().unwrap().split('/').nth(1) == Some("sqlite"))
        .inspect(|row| assert_eq!(row["here"], true, "{row}"))
        .map(|row| row["subject"].as_str().unwrap().to_owned())
        .collect();
    assert!(subjects.len() >= 11, "{listed}");
    for subject in &choose(subjects) {
        let line = format!("run {subject} --json --db sqlite:{} --calls 400 --warmup 0s", database(subject));
        // Where server and disk are fast, one thread of the generator is all too easily full.
        let ran = workdir.run(&format!("{line} --clients 4 --generator-threads 2"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        check(&document["trials"][0], subject);
    }
}

#[test]
fn how_many_calls_shared_a_commit_is_in_the_result_and_no_other_work() {
    let workdir = loaded();
    // Flushes that are nearly all of a call, so that all others come meanwhile, whatever the disk and the processor.
    let plan = "--clients 8 --blocks 4 --no-control --duration 1s --warmup 0s --json";
    let two = "tpcb/sqlite/rusqlite tpcb/sqlite/rusqlite/grouped";
    let ran = workdir.run(&format!("compare {two} --db sqlite:tpcb.db?sync_delay=50ms {plan}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(
        (&comparison["factor"], &comparison["verdict"]),
        (&"style".into(), &"better".into()),
        "{comparison}"
    );
    assert_eq!(comparison["fingerprint_differences"].as_array().unwrap().len(), 0, "{comparison}");
    for trial in document["trials"].as_array().unwrap() {
        // An acknowledged call is one commit on either side.
        assert_eq!(trial["overall"]["work"]["commits"], 1.0);
        if trial["stack"]["style"] == "grouped" {
            assert!(calls_a_commit(trial) > 2.0, "{}", trial["grouping"]);
            let committed = trial["overall"]["call_counts"]["committed"].as_u64().unwrap();
            assert_eq!(trial["grouping"]["calls"], committed, "every call of tpcb writes");
        } else {
            assert!(trial["grouping"].is_null());
        }
    }
    // Through a server, which tells it with each answer; and in every form of the report.
    let line = "run tpcc/sqlite/axum+rusqlite/grouped --db sqlite:bench.db?sync_delay=50ms --clients 8";
    let ran = workdir.run(&format!("{line} --generator-threads 2 --duration 1s --warmup 0s --json"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert!(calls_a_commit(&document["trials"][0]) > 1.5, "{}", document["trials"][0]["grouping"]);
    let run = workdir.runs().pop().unwrap();
    for form in ["text", "md", "html"] {
        let shown = workdir.run(&format!("report {} --format {form}", run.display())).out;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = "calls per durable commit on average (limit 64)";
        assert!(shown.contains(words), "{form}: {shown}");
    }
}

fn calls_a_commit(trial: &Value) -> f64 {
    let count = |name: &str| trial["grouping"][name].as_f64().unwrap();
    count("calls") / count("commits")
}

fn check(trial: &Value, subject: &str) {
    let parts: Vec<&str> = subject.split('/').collect();
    let stack = &trial["stack"];
    assert_eq!((&trial["subject"], &stack["engine"]), (&subject.into(), &"sqlite".into()));
    // An ORM's style is not a part of its own.
    let unsaid = if parts[2].ends_with("diesel") { "orm" } else { "plain" };
    assert_eq!(stack["style"], *parts.get(3).unwrap_or(&unsaid), "{subject}");
    let adapter = parts[2].trim_start_matches("axum+");
    assert_eq!(stack["adapter"], adapter, "{subject}");
    let route = if adapter == parts[2] { "direct" } else { "http" };
    assert_eq!(stack["route"], route, "{subject}");
    assert_tier(trial, "durable");
    assert_eq!(trial["conformance"]["check"], "passed", "{subject}");
    assert!(trial["overall"]["call_counts"]["committed"].as_u64().unwrap() > 0, "{subject}");
    let shares = stack["style"] == "grouped";
    assert_eq!(trial["grouping"].is_object(), shares, "{subject}: {}", trial["grouping"]);
    assert!(!shares || calls_a_commit(trial) >= 1.0, "{subject}");
    // `assert_good` has seen that none failed; some cannot be told of so short a run.
    let passed = |part: &str| {
        trial[part].as_array().unwrap().iter().filter(|found| found["check"] == "passed").count()
    };
    assert!(passed("audits") > 0, "{subject}: {}", trial["audits"]);
    assert_eq!(passed("ledger"), trial["ledger"].as_array().unwrap().len(), "{subject}: {}", trial["ledger"]);
    assert!(passed("ledger") > 0, "{subject}");
}
