//! Drills on SQLite as a user runs them: what is killed, paused and cut off, and that nothing is lost by it.

use crate::e2e_bad_input::refused;
use crate::e2e_workdir::{INTERRUPTED, Workdir, parse};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A drill that is passed, with faults of a kind each as often as they must come.
fn passed(line: &str, kinds: &[&str]) -> Value {
    let workdir = Workdir::empty();
    let ran = workdir.run(&format!("drill {line} --json"));
    let document = parse(&ran.out);
    let drill = &document["drill"];
    assert_eq!((ran.code(), &document["state"]), (0, &"complete".into()), "{line}: {drill:#} {}", ran.err);
    let faults = drill["faults"].as_array().unwrap();
    let name = |fault: &Value| {
        format!("{} {}", fault["component"].as_str().unwrap(), fault["action"].as_str().unwrap())
    };
    let came: BTreeSet<String> = faults.iter().map(name).collect();
    assert_eq!(came, kinds.iter().map(|kind| (*kind).to_owned()).collect(), "{line}");
    for fault in faults {
        assert!(fault["failures"].as_array().unwrap().is_empty(), "{fault:#}");
        assert!(
            fault["first_commit_s"].as_f64().is_some() && fault["calls"]["committed"].as_u64() > Some(10)
        );
        assert!(fault["checks_passed"].as_u64() >= Some(5), "{fault:#}");
    }
    document
}

#[test]
fn nothing_is_lost_where_the_process_with_engine_and_generator_is_killed() {
    for workload in ["tpcb", "tpcc", "catalogue", "transfer"] {
        passed(&format!("{workload}/sqlite/rusqlite --faults 2"), &["generator kill", "storage power_cut"]);
    }
}

#[test]
fn a_power_cut_takes_what_was_acknowledged_before_it_was_flushed() {
    let lazy = "--durability delayed --only storage --faults 2";
    let workdir = Workdir::empty();
    let ran = workdir.run(&format!("drill tpcb/sqlite/rusqlite {lazy} --json"));
    let drill = &parse(&ran.out)["drill"];
    assert_eq!(ran.code(), 1, "{drill:#}");
    let faults = drill["faults"].as_array().unwrap();
    assert!(faults.iter().all(|fault| fault["lost_writes"].as_u64() > Some(0)), "{drill:#}");
    assert!(faults.iter().all(|fault| !fault["failures"].as_array().unwrap().is_empty()), "{drill:#}");
    // Through a server all the same, and as long as all is flushed nothing is lost.
    passed("tpcb/sqlite/axum+rusqlite --only storage --faults 2", &["storage power_cut"]);
    // The files of one commit are attached to a connection, past what records them.
    passed("transfer/sqlite/rusqlite/attached --faults 1", &["generator kill"]);
}

#[test]
fn a_server_is_killed_paused_and_cut_off_and_what_was_asked_of_it_is_there() {
    let all = ["generator kill", "server cut_off", "server kill", "server pause"];
    let only = "--only generator,server --faults 4";
    let document = passed(&format!("tpcb/sqlite/axum+rusqlite {only}"), &all);
    let faults = document["drill"]["faults"].as_array().unwrap();
    let of = |action: &str| {
        let is_it = |fault: &&Value| fault["component"] == "server" && fault["action"] == action;
        faults.iter().find(is_it).unwrap()
    };
    // Who waits for a server that stands still waits for as long as that lasts, and no one is refused.
    let (paused, killed) = (of("pause"), of("kill"));
    // The first of them began a little after the server had stopped.
    assert!(
        paused["longest_s"].as_f64() > paused["unavailable_s"].as_f64().map(|away| away / 2.0),
        "{paused:#}"
    );
    assert_eq!(paused["refused_after"], 0, "{paused:#}");
    assert!(killed["refused_after"].as_u64() > Some(0), "{killed:#}");
    assert!(killed["first_commit_s"].as_f64() > killed["unavailable_s"].as_f64(), "{killed:#}");
    // All calls stood still meanwhile.
    let without_answer = killed["without_answer"].as_array().unwrap();
    assert_eq!(
        (without_answer.len(), &without_answer[0]["kind"], &without_answer[0]["store"]),
        (1, &"tpcb".into(), &Value::Null)
    );
    assert!(
        without_answer[0]["longest_s"].as_f64() > killed["unavailable_s"].as_f64().map(|away| away / 2.0),
        "{killed:#}"
    );
}

/// Whatever is killed, each booking that was acknowledged is announced: the checks of messages are among those that are counted.
#[test]
fn every_fault_leaves_all_messages_published() {
    let all = [
        "consumer kill",
        "consumer pause",
        "generator kill",
        "relay kill",
        "relay kill_after_publishing",
        "relay pause",
        "server cut_off",
        "server kill",
        "server pause",
        "storage power_cut",
    ];
    let document = passed("booking/sqlite/axum+rusqlite/outbox --consumer --faults 10", &all);
    // What a relay has published and not removed is published again.
    let faults = document["drill"]["faults"].as_array().unwrap().iter();
    let again = faults
        .filter(|fault| fault["action"] == "kill_after_publishing")
        .map(|fault| fault["duplicates"].as_u64().unwrap());
    assert!(again.clone().count() == 1 && again.sum::<u64>() > 0, "{document:#}");
    let plain = passed("booking/sqlite/rusqlite --only generator --faults 1", &["generator kill"]);
    let checks = |document: &Value| document["drill"]["faults"][0]["checks_passed"].as_u64().unwrap();
    // Of the messages, and as many and one more of what the consumer has done with them.
    assert_eq!(checks(&document), checks(&plain) + 6 + 7);
    // Rows that no one publishes are held to the bookings too.
    let rows = passed("booking/sqlite/rusqlite/outbox-row --only generator --faults 1", &["generator kill"]);
    assert_eq!(checks(&rows), checks(&plain) + 4);
}

#[test]
fn what_a_saga_has_left_is_done_although_its_relay_is_killed() {
    let all = ["generator kill", "relay kill", "relay pause", "storage power_cut"];
    let document = passed("transfer/sqlite/rusqlite/saga --faults 4", &all);
    assert_eq!(document["drill"]["shards"], 2);
    let faults = document["drill"]["faults"].as_array().unwrap();
    assert!(faults.iter().all(|fault| fault["settled_s"].as_f64().is_some()), "{faults:#?}");
}

#[test]
fn what_was_logged_is_executed_although_its_process_is_killed() {
    let all = ["generator kill", "relay kill", "relay pause", "storage power_cut"];
    passed("transfer/sqlite/rusqlite/log-first --faults 4", &all);
}

#[test]
fn what_cannot_be_struck_is_said_before_anything_starts() {
    let workdir = Workdir::empty();
    refused(
        &workdir,
        "drill tpcb --only disk",
        &["no component `disk`", "generator, server, engine, node, head, relay, broker, consumer, storage"],
    );
    refused(&workdir, "drill tpcb --only server", &["has nothing that `server` names", "generator:kill"]);
    refused(
        &workdir,
        "drill tpcb --only generator:drown",
        &[
            "no fault `drown`",
            "kill, pause, cut-off, power-cut, disk-full, kill-after-publishing, kill-after-prepare",
        ],
    );
    refused(&workdir, "drill tpcb --rate 0", &["1 to 100000 calls per second"]);
    refused(&workdir, "drill tpcb --faults 0", &["1..=10000"]);
    refused(&workdir, "drill tpcb --shards 3 --scale 2", &["can be split over 2 stores at most"]);
    refused(&workdir, "drill transfer --shards 2", &["plain makes a transfer in one store"]);
    refused(&workdir, "drill tpcb --consumer", &["--consumer has no effect on tpcb", "publishes no events"]);
    refused(&workdir, "drill tpcb --batch 7", &["--batch has no effect on tpcb", "it has no relay"]);
    refused(&workdir, "drill tpcb --relay-connections 2", &["it has no relay between stores"]);
    refused(&workdir, "drill nonsense", &["nonsense"]);
    assert!(workdir.runs().is_empty());
}

#[test]
fn ctrl_c_ends_a_drill_with_the_faults_that_have_come_to_their_end() {
    let workdir = Workdir::empty();
    let run = workdir.start("drill tpcb/sqlite/axum+rusqlite --faults 1000");
    let faults = |document: &Value| document["drill"]["faults"].as_array().map_or(0, Vec::len);
    let has_come = || {
        let written = |run: PathBuf| std::fs::read_to_string(run.join("result.json")).ok();
        let text = workdir.runs().pop().and_then(written);
        text.is_some_and(|text| faults(&serde_json::from_str(&text).unwrap()) > 0)
    };
    run.until("a fault has come to its end", has_come);
    assert_eq!(workdir.document()["state"], "running");
    run.signal(Signal::INT);
    let ran = run.end();
    let document = workdir.document();
    assert_eq!((ran.code(), &document["state"]), (INTERRUPTED, &"interrupted".into()), "{ran:?}");
    assert!(ran.out.contains("not finished") && ran.out.contains("were asked for"), "{ran:?}");
    assert!(faults(&document) > 0 && document["drill"]["planned"] == 1_000);
    let folder = workdir.runs().remove(0);
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("private")), "{left:?}");
    let shown = workdir.run(&format!("report {}", folder.display()));
    assert!(shown.code() == 0 && shown.out.contains("not finished"), "{shown:?}");
    refused(&workdir, &format!("resume {}", folder.display()), &["plan.json"]);
}

mod extended {
    use super::*;

    /// A process that publishes what it has committed, and is killed in between: so often that one message is lost at least.
    #[test]
    fn a_dual_write_loses_messages_of_processes_that_are_killed() {
        let workdir = Workdir::empty();
        let line =
            "drill booking/sqlite/rusqlite/dual-write --only generator --faults 20 --rate 2000 --mix book=1";
        let ran = workdir.run(&format!("{line} --json"));
        let drill = &parse(&ran.out)["drill"];
        assert_eq!(ran.code(), 1, "{drill:#}");
        let failures = drill["faults"].to_string();
        assert!(failures.contains("announcements of stored bookings"), "{drill:#}");
    }

    #[test]
    fn every_fault_leaves_all_messages_in_the_topic() {
        if rig::for_tests::broker().is_none() {
            return;
        }
        let all = [
            "broker kill",
            "broker pause",
            "consumer kill",
            "consumer pause",
            "generator kill",
            "relay kill",
            "relay kill_after_publishing",
            "relay pause",
            "storage power_cut",
        ];
        passed("booking/sqlite/rusqlite/outbox --sink kafka --consumer --faults 18", &all);
    }
}
