//! A workload of one's own, in a program of its own: it has all that the others have, and what it acknowledges and does only
//! later is waited for before its data is audited.

use crate::e2e_workdir::{INTERRUPTED, Ran, Workdir, assert_good, parse, write};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

const SHORT: &str = "--db sqlite:toy.db --warmup 0s --duration 1s --rate 100 --clients 2";
const HOUR_MS: u32 = 3_600_000;
/// Longer than whatever may be between the last call and the first look at what is still on its way.
const AWHILE_MS: u32 = 3_000;

fn run(workdir: &Workdir, delay_ms: u32, line: &str) -> Ran {
    workdir.start_toy(delay_ms, line).end()
}

/// Empty boxes, many more than clients.
fn boxes() -> Workdir {
    let workdir = Workdir::empty();
    let ran = run(&workdir, 0, "load toy --scale 100 --db sqlite:toy.db");
    assert_eq!(ran.code(), 0, "{ran:?}");
    workdir
}

/// What the only trial says of how it settled: pending first and last, and what the rule says, with its severity.
fn settled(document: &Value) -> (u64, u64, &str, &str) {
    let trial = &document["trials"][0];
    let rules = trial["rules"].as_array().unwrap();
    let rule = rules.iter().find(|rule| rule["name"] == "settled").unwrap();
    let pending = |of: &str| trial["settled"][of].as_u64().unwrap();
    (
        pending("pending_first"),
        pending("pending_last"),
        rule["severity"].as_str().unwrap(),
        rule["sentence"].as_str().unwrap(),
    )
}

/// Audits and ledger of the only trial, all of which passed.
#[track_caller]
fn assert_audited(document: &Value) {
    let trial = &document["trials"][0];
    for part in ["audits", "ledger", "inputs"] {
        let found = trial[part].as_array().unwrap();
        assert!(!found.is_empty() && found.iter().all(|found| found["check"] == "passed"), "{part}: {trial}");
    }
    let after = |audit: &&Value| audit["when"] == "after_run";
    assert_eq!(trial["audits"].as_array().unwrap().iter().filter(after).count(), 3, "{}", trial["audits"]);
}

#[test]
fn a_workload_of_ones_own_is_a_crate_and_a_row() {
    let workdir = boxes();
    let listed: Value = serde_json::from_str(&run(&workdir, 0, "list --json").out).unwrap();
    let subjects: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["subject"].as_str().unwrap()).collect();
    let toys = ["toy/sqlite/rusqlite", "toy/sqlite/axum+rusqlite"];
    assert!(subjects.ends_with(&toys) && subjects.contains(&"tpcc/sqlite/rusqlite"), "{subjects:?}");

    for subject in toys {
        let ran = run(&workdir, 200, &format!("run {subject} {SHORT} --json"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        assert_audited(&document);
        let trial = &document["trials"][0];
        assert_eq!(trial["conformance"]["check"], "passed", "{}", trial["conformance"]);
        assert_eq!(trial["kinds"][0]["name"], "post");
    }
    let audited = run(&workdir, 0, "audit toy --db sqlite:toy.db");
    assert!(audited.code() == 0 && audited.out.contains("3 passed, 0 failed"), "{audited:?}");

    let plan = "--blocks 1 --no-control --duration 1s --warmup 0s --rate 100 --clients 2 --json";
    let ran = run(&workdir, 0, &format!("compare toy toy/sqlite/axum+rusqlite --db sqlite:toy.db {plan}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let comparison = &document["experiment"]["comparisons"][0];
    let label = |side: &str| comparison[side]["label"].as_str().unwrap().to_owned();
    assert_eq!((label("a"), label("b")), ("direct".into(), "through HTTP".into()), "{comparison}");

    workdir.run("list toy").refused(&["no workload `toy`"]);
}

/// An audit that finds nothing wrong in what is wrong would not count.
#[test]
fn the_audits_of_a_workload_of_ones_own_bite() {
    let whole = boxes();
    let ran = run(&whole, 0, &format!("run toy {SHORT}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let file = whole.path("toy.db");
    let open = || rusqlite::Connection::open(&file).unwrap();
    open().execute_batch("pragma wal_checkpoint(truncate)").unwrap();
    let before = fs::read(&file).unwrap();
    for (harm, audit) in [
        ("update boxes set notes = notes + 1 where id = 7", "box-notes"),
        ("update notes set number = number + 1 where rowid = 1", "box-notes"),
        ("update notes set box = 101 where rowid = 1", "note-boxes"),
        ("insert into boxes (id, notes, total) values (101, 0, 0)", "box-ids"),
    ] {
        fs::write(&file, &before).unwrap();
        assert_eq!(open().execute(harm, []).unwrap(), 1, "{harm}");
        let ran = run(&whole, 0, "audit toy --db sqlite:toy.db --json");
        assert_eq!(ran.code(), 1, "{harm}: {ran:?}");
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        let audits = found["audits"].as_array().unwrap();
        let failed =
            |name: &str| audits.iter().any(|audit| audit["name"] == name && audit["check"] == "failed");
        assert!(failed(audit), "{harm}: {found}");
    }
}

#[test]
fn what_is_still_on_its_way_is_waited_for_before_the_audits() {
    let workdir = boxes();
    let ran = run(&workdir, AWHILE_MS, &format!("run toy {SHORT}"));
    let document = workdir.document();
    assert_good(&ran, &document);
    let (first, last, severity, sentence) = settled(&document);
    assert!(first > 0 && last == 0 && severity == "ok", "{sentence}");
    assert!(document["trials"][0]["settled"]["duration_s"].as_f64().unwrap() > 0.0);
    assert_audited(&document);
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("settled {sentence}")), "{text}");
    assert!(ran.err.contains(&format!("waiting for {first} acknowledged results to arrive")), "{}", ran.err);
}

#[test]
fn where_nothing_is_on_its_way_nothing_is_waited_for() {
    let workdir = boxes();
    let ran = run(&workdir, 0, &format!("run toy {SHORT} --json"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let (first, last, severity, sentence) = settled(&document);
    assert_eq!((first, last, severity), (0, 0, "ok"), "{sentence}");
    assert_eq!(sentence, "nothing was pending when the load ended");
    assert!(!ran.err.contains("waiting for"), "{}", ran.err);
}

#[test]
fn what_has_not_arrived_at_the_deadline_voids_the_number() {
    let workdir = boxes();
    let ran = run(&workdir, HOUR_MS, &format!("run toy {SHORT} --settle 300ms"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let document = workdir.document();
    let (first, last, severity, sentence) = settled(&document);
    assert!(first > 0 && last == first && severity == "bad", "{sentence}");
    let words = format!("{first} acknowledged results were pending when the load ended, and {last} of them");
    assert!(sentence.starts_with(&words) && sentence.ends_with("(the limit is 0.3 s)"), "{sentence}");
    assert_audited(&document);
    let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&words), "{text}");
}

#[test]
fn ctrl_c_ends_the_waiting_and_the_data_is_audited() {
    let workdir = boxes();
    let waiting = workdir.start_toy(HOUR_MS, &format!("run toy {SHORT} --settle 1h"));
    waiting.until("it waits", || waiting.err().contains("waiting for"));
    waiting.signal(Signal::INT);
    let ran = waiting.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    let document = workdir.document();
    let (first, last, severity, sentence) = settled(&document);
    assert!(last == first && severity == "bad", "{sentence}");
    // A run of several trials would run this one again.
    assert_eq!(document["trials"][0]["state"], "interrupted");
    assert_audited(&document);
}

#[test]
fn a_server_by_manifest_serves_a_workload_of_ones_own() {
    let workdir = boxes();
    fs::create_dir_all(workdir.path("others/own")).unwrap();
    let manifest = "name = \"own\"\nlanguage = \"Rust\"\nstart = [\"${STACKMARK}\", \"serve\", \"--until-stdin-ends\"]\n\
                    serves = [{ workload = \"toy\", engine = \"sqlite\", about = \"the toy\" }]\n";
    write(workdir.path("others/own/server.toml"), manifest);
    let ran = run(&workdir, 200, &format!("run toy/sqlite/own {SHORT} --servers others --json"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_audited(&document);
    assert_eq!(document["trials"][0]["stack"]["route"], "http");
}
