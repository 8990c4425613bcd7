//! Every kind of arrivals from the command line to the document.

use crate::e2e_workdir::{Workdir, assert_good, parse};
use serde_json::Value;

/// The trial of a run of two seconds with `options`.
fn trial(options: &str) -> Value {
    let workdir = Workdir::loaded();
    // Commits wait for no disk: a slow one would give too few calls of the rarer kinds.
    let database = "sqlite:bench.db?synchronous=normal";
    let ran = workdir.run(&format!("run tpcc --json --db {database} --duration 2s --warmup 0s {options}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_eq!(document["state"], "complete");
    workdir.assert_sound("bench.db");
    document["trials"][0].clone()
}

fn book(trial: &Value, column: &str) -> u64 {
    trial["overall"]["call_counts"][column].as_u64().unwrap()
}

#[test]
fn constant_arrivals_are_due_by_the_timetable() {
    let trial = trial("--rate 50 --arrivals constant --clients 4");
    assert_eq!(trial["plan"]["arrivals"], serde_json::json!({"kind": "constant", "rate_per_s": 50.0}));
    // Whatever the machine does, the timetable has fifty places a second.
    assert!((99..=101).contains(&book(&trial, "due")), "{}", trial["overall"]["call_counts"]);
    assert!(book(&trial, "committed") > 0);
    let latency = &trial["overall"]["latency"][0];
    assert!(latency["service"].is_object(), "an open loop has both times: {latency}");
    assert!(trial["deferred"].is_null() && trial["efficiency"].is_null());
}

#[test]
fn poisson_arrivals_are_due_at_random_and_by_the_seed() {
    let trial = trial("--rate 50 --clients 4 --seed 7");
    assert_eq!(trial["plan"]["arrivals"], serde_json::json!({"kind": "poisson", "rate_per_s": 50.0}));
    assert_eq!(trial["plan"]["seed"], 7);
    // 100 ± 6 standard deviations.
    assert!((40..=160).contains(&book(&trial, "due")), "{}", trial["overall"]["call_counts"]);
}

#[test]
fn think_times_of_the_standard_make_ten_slow_terminals_a_warehouse() {
    let trial = trial("--think spec");
    assert_eq!(trial["plan"]["arrivals"]["kind"], "paced");
    assert_eq!((&trial["plan"]["clients"], &trial["headline"]["label"]), (&20.into(), &"tpmC".into()));
    // Two seconds of twenty terminals that think for many: some calls at most, one for each.
    assert!(book(&trial, "due") <= 20, "{}", trial["overall"]["call_counts"]);
    assert_eq!(trial["efficiency"]["per_warehouse_max"], 12.86);
}

#[test]
fn deferred_deliveries_are_queued_answered_and_done() {
    let trial = trial("--delivery deferred --clients 4");
    assert_eq!(trial["plan"]["deferred"], true);
    let deferred = &trial["deferred"];
    let count = |name: &str| deferred[name].as_u64().unwrap();
    assert_eq!(deferred["kind"], "delivery");
    assert!(count("queued") > 0 && count("done") > 0, "{deferred}");
    assert_eq!(count("queued"), count("done") + count("failed") + count("waiting"), "{deferred}");
    assert_eq!(deferred["limit"]["p90_max_ns"], 80_000_000_000_u64);
}
