//! Every subject on SQLite that the list has.

use crate::e2e_desk::{Desk, assert_good, parse};
use serde_json::Value;

/// A loaded database of each workload.
fn loaded() -> Desk {
    let desk = Desk::loaded();
    let ran = desk.run("load tpcb --db sqlite:tpcb.db");
    assert_eq!(ran.code(), 0, "{ran:?}");
    desk
}

fn database(subject: &str) -> &'static str {
    if subject.starts_with("tpcb") { "tpcb.db" } else { "bench.db" }
}

#[test]
fn every_subject_of_sqlite_runs_and_is_sound() {
    let desk = loaded();
    let listed: Value = serde_json::from_str(&desk.run("list --json").out).unwrap();
    let rows = listed.as_array().unwrap().iter();
    let subjects: Vec<&str> = rows
        .filter(|row| row["subject"].as_str().unwrap().split('/').nth(1) == Some("sqlite"))
        .inspect(|row| assert_eq!(row["here"], true, "{row}"))
        .map(|row| row["subject"].as_str().unwrap())
        .collect();
    assert!(subjects.len() >= 11, "{listed}");
    for subject in subjects {
        let line =
            format!("run {subject} --json --db sqlite:{} --duration 1s --warmup 0s", database(subject));
        let ran = desk.run(&format!("{line} --clients 4"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        check(&document["trials"][0], subject);
    }
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
    assert_eq!(
        (&stack["route"], &stack["durability"]["tier"]),
        (&route.into(), &"durable".into()),
        "{subject}"
    );
    assert_eq!(trial["conformance"]["check"], "passed", "{subject}");
    assert!(trial["overall"]["books"]["committed"].as_u64().unwrap() > 0, "{subject}");
    // `assert_good` has seen that none failed; some cannot be told of so short a run.
    let passed = |part: &str| {
        trial[part].as_array().unwrap().iter().filter(|found| found["check"] == "passed").count()
    };
    assert!(passed("audits") > 0, "{subject}: {}", trial["audits"]);
    assert_eq!(passed("ledger"), trial["ledger"].as_array().unwrap().len(), "{subject}: {}", trial["ledger"]);
    assert!(passed("ledger") > 0, "{subject}");
}
