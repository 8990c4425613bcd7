//! Drills on PostgreSQL and MariaDB: shards are killed, paused and cut off, coordinators and relays die, and a style that keeps
//! no record of what it does is caught.

use crate::e2e_desk::{Desk, parse};
use rig::Engine;
use rig::for_tests::is_corrupted;
use serde_json::Value;

/// The exit status and the drill; nothing where an engine could not recover.
fn drilled(line: &str) -> Option<(i32, Value)> {
    let desk = Desk::empty();
    let ran = desk.run(&format!("drill {line} --json"));
    if line.contains("/mariadb/") && is_corrupted(Engine::MariaDb, &ran.err) {
        return None;
    }
    let document = parse(&ran.out);
    assert_eq!(document["state"], "complete", "{line}: {}", ran.err);
    Some((ran.code(), document["drill"].clone()))
}

#[track_caller]
fn assert_passed(line: &str) {
    let Some((code, drill)) = drilled(line) else { return };
    assert_eq!(code, 0, "{line}: {drill:#}");
    let faults = drill["faults"].as_array().unwrap();
    assert!(faults.iter().all(|fault| fault["failures"].as_array().unwrap().is_empty()), "{drill:#}");
    assert!(faults.iter().all(|fault| fault["first_commit_s"].as_f64().is_some()), "{drill:#}");
}

#[test]
fn shards_under_two_phase_commit_are_killed_paused_and_cut_off_on_postgresql() {
    let only = "--only engine:kill,engine:pause,engine:cut-off,generator --faults 7";
    assert_passed(&format!("transfer/postgres/tokio-postgres/2pc {only}"));
}

#[test]
fn a_server_that_coordinates_two_phase_commit_on_mariadb_dies_between_its_phases() {
    assert_passed("transfer/mariadb/axum+mysql-async/2pc --only server,engine:cut-off --faults 5 --rate 400");
}

#[test]
fn a_saga_on_postgresql_outlives_its_relay_and_a_shard() {
    assert_passed("transfer/postgres/tokio-postgres/saga --only relay,engine:kill --faults 4");
}

#[test]
fn a_saga_behind_a_server_on_mariadb_outlives_its_relay_and_a_shard() {
    assert_passed("transfer/mariadb/axum+mysql-async/saga --only relay,engine:kill --faults 2");
}

#[test]
fn a_server_that_keeps_a_log_of_decisions_on_postgresql_dies_and_so_does_a_shard() {
    assert_passed("transfer/postgres/axum+tokio-postgres/2pc-log --only server,engine:kill --faults 2");
}

#[test]
fn transfers_without_a_record_lose_money_when_a_shard_dies() {
    // The rate is above capacity: whenever a shard is killed, all clients are busy, about half of them between debit and credit.
    let busy = "--mix cross-transfer=1 --rate 3000 --clients 16";
    let line = format!("transfer/postgres/tokio-postgres/unsafe --only engine:kill --faults 2 {busy}");
    let (code, drill) = drilled(&line).unwrap();
    assert_eq!(code, 1, "{drill:#}");
    let failures = drill["faults"].to_string();
    assert!(failures.contains("balance") || failures.contains("credit"), "{drill:#}");
}
