//! Time that is lost while a trial runs: it is told of, and what it makes of the number.

use crate::e2e_workdir::{Workdir, signal_to, until};
use measure::Monotonic;
use model::{Clock, Nanos};
use rustix::process::Signal;
use serde_json::Value;

fn rule<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    let rules = document["trials"][0]["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["name"] == name)
}

/// A generator that is stopped and goes on later, as under a debugger or in a virtual machine that was paused, has an
/// interval in which no one ran. Its rate is not a result; its data and its call counts are right all the same.
#[test]
fn a_generator_that_was_stopped_for_a_while_has_no_result_and_says_when() {
    let workdir = Workdir::loaded();
    // Long enough that all of the stop is in it, also where calls are seen late.
    let run = workdir.start("run tpcc --db sqlite:bench.db --duration 6s --warmup 100ms --clients 2");
    run.until("calls are committed", || workdir.has_committed());
    let clock = Monotonic::start();
    run.signal(Signal::STOP);
    until("two seconds are over", || clock.now() > Nanos::from_secs(2));
    run.signal(Signal::CONT);
    let stopped_max = clock.now().as_secs_f64() + 2.0;
    let ran = run.end();
    let document = workdir.document();

    let gaps = document["trials"][0]["gaps"].as_array().unwrap();
    let stalled: Vec<&Value> = gaps.iter().filter(|gap| gap["kind"] == "stalled").collect();
    let longest = stalled.iter().filter_map(|gap| gap["duration_s"].as_f64()).fold(0.0, f64::max);
    assert!((1.8..stopped_max).contains(&longest), "{gaps:?}");
    assert!(gaps.iter().all(|gap| gap["kind"] != "suspended"), "{gaps:?}");
    let found = rule(&document, "gap").unwrap();
    assert_eq!(found["severity"], "bad", "{found}");
    assert!(found["sentence"].as_str().unwrap().contains("load generator suspended for"), "{found}");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.contains("load generator suspended for"), "{}", ran.out);
    // The clock of durations went on all the while, and the window is as long as it was planned.
    let measured = document["trials"][0]["measured_s"].as_f64().unwrap();
    assert!((measured - 6.0).abs() < 0.01, "{measured}");
    workdir.assert_sound("bench.db");
}

#[test]
fn a_generator_that_no_one_stops_has_no_gap() {
    let workdir = Workdir::loaded();
    // Commits wait for no disk: one that stalls would leave so short a trial without a call.
    let line = "run tpcc --db sqlite:bench.db?synchronous=normal --duration 1s --warmup 100ms --clients 2";
    assert_eq!(workdir.run(line).code(), 0);
    let document = workdir.document();
    let asleep =
        document["trials"][0]["gaps"].as_array().unwrap().iter().any(|gap| gap["kind"] == "suspended");
    assert!(!asleep, "{document}");
    assert!(
        document["trials"][0]["data"]["bytes_end"].as_u64() > document["trials"][0]["data"]["bytes"].as_u64()
    );
}

/// A server that stands still while the generator runs, as in a long garbage collection: in a closed loop no call is lost by it.
#[test]
fn a_time_without_any_answer_is_told_and_weakens_the_number() {
    let workdir = Workdir::loaded();
    let line = "run tpcc/sqlite/axum+rusqlite --db sqlite:bench.db --duration 6s --warmup 100ms --clients 2";
    let run = workdir.start(line);
    run.until("calls are committed", || workdir.has_committed());
    let (clock, server) = (Monotonic::start(), run.server());
    signal_to(server, Signal::STOP);
    until("a second and a half is over", || clock.now() > Nanos::from_millis(1_500));
    signal_to(server, Signal::CONT);
    let silent_max = clock.now().as_secs_f64() + 2.0;
    let ran = run.end();
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = workdir.document();
    let silence = &document["trials"][0]["silence"];
    let (longest, total) = (silence["longest_s"].as_f64().unwrap(), silence["total_s"].as_f64().unwrap());
    assert!((1.4..silent_max).contains(&longest) && total >= longest, "{silence}");
    let found = rule(&document, "silence").unwrap();
    assert_eq!(found["severity"], "warning", "{found}");
    assert!(ran.out.contains("no call completed for"), "{}", ran.out);
}
