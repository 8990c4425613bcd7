//! `compare --confirm-bottleneck`: what a first trial calls likely is confirmed or not by one changed factor, or it is said why
//! nothing could tell. Flushes that take tens of milliseconds make known beforehand which it is, and leave the processors idle.

use crate::e2e_workdir::{Workdir, assert_good, parse};
use serde_json::Value;

/// What eight clients on one session of a server come to with eight sessions.
fn confirmation(subject: &str, flush: &str, blocks: u32) -> Value {
    let workdir = Workdir::loaded();
    let line = format!("compare {subject} --confirm-bottleneck --db sqlite:bench.db?sync_delay={flush}");
    // Long enough that a disk that stalls for a moment does not make a trial of next to no calls.
    let plan = format!("--pool 1 --clients 8 --blocks {blocks} --duration 1s --warmup 0s");
    let ran = workdir.run(&format!("{line} {plan} --json"));
    let document = parse(&ran.out);
    // Confirmed or not: both are answers.
    assert_good(&ran, &document);
    // The trial that named it said "likely" before anything was compared.
    let text = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("likely: throughput is limited by the number of sessions"), "{ran:?}");
    assert!(text.contains("to confirm it: 8 sessions instead of 1"), "{ran:?}");
    assert_eq!(
        document["experiment"]["comparisons"][0]["factor"], "pool",
        "{}",
        document["experiment"]["comparisons"][0]
    );
    assert_eq!(document["trials"].as_array().unwrap().len(), 2 * blocks as usize);
    let confirmation = document["confirmation"].clone();
    assert_eq!((&confirmation["suspect"], &confirmation["ratio_min"]), (&"pool".into(), &1.1.into()));
    // Every form of the report says it, with the figures.
    let run = workdir.runs().pop().unwrap();
    for form in ["text", "md", "html"] {
        let shown = workdir.run(&format!("report {} --format {form}", run.display())).out;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("with 8 sessions instead of 1, throughput is"),
            "{form}: {confirmation}: {shown}"
        );
    }
    confirmation
}

#[test]
fn sessions_that_calls_queue_for_are_confirmed_with_figures() {
    // Eight sessions share a flush that one has for itself, and that is nearly all of a call on any machine.
    let found = confirmation("tpcc/sqlite/axum+rusqlite/grouped", "50ms", 3);
    let sentence = found["sentence"].as_str().unwrap();
    assert_eq!(found["confirmed"], true, "{sentence}");
    assert!(
        sentence.starts_with("confirmed: the number of sessions limits throughput; with 8"),
        "{sentence}"
    );
    assert!(sentence.ends_with("(expected: 1.1 times as much or more)"), "{sentence}");
}

#[test]
fn sessions_that_would_queue_for_the_one_writer_are_not_confirmed() {
    let found = confirmation("tpcc/sqlite/axum+rusqlite", "10ms", 3);
    let sentence = found["sentence"].as_str().unwrap();
    assert_eq!(found["confirmed"], false, "{sentence}");
    assert!(
        sentence.starts_with("not confirmed: with 8 sessions instead of 1, throughput is "),
        "{sentence}"
    );
}

#[test]
fn a_bottleneck_that_no_single_change_would_tell_is_named_and_why_it_is_not_confirmed() {
    let workdir = Workdir::loaded();
    // With one client there are no others to wait for, and what the user's database flushes is the user's own.
    let line = "compare tpcc --confirm-bottleneck --db sqlite:bench.db?sync_delay=10ms --clients 1 --quick";
    let ran = workdir.run(&format!("{line} --duration 1s --warmup 0s"));
    ran.refused(&["cannot confirm that", "limits throughput: "]);
    let text = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("expected: about 1 s for a first trial and 6 s for the comparison"), "{ran:?}");
    let why = ["is its own setting, and is not changed behind its user's back", "there is only one client"];
    assert!(text.contains("likely: ") && why.iter().any(|why| text.contains(why)), "{ran:?}");
    // What was measured is kept, and was not called confirmed.
    let document = workdir.document();
    assert_eq!((&document["kind"], &document["state"]), (&"trial".into(), &"complete".into()));
    assert!(document["confirmation"].is_null() && document["trials"].as_array().unwrap().len() == 1);
    workdir.run("compare tpcc tpcc --confirm-bottleneck").refused(&["takes one subject"]);
}
