//! Subjects of the list: each driver and style once, and in the extended tests all.

use crate::e2e_workdir::{Workdir, assert_good, assert_tier, once, parse};
use crate::engines_workdir::{SHORT, Server, on};
use rig::Engine;
use serde_json::Value;
use stackmark_tests::calls::assert_answers_match;

#[test]
fn each_driver_and_style_of_postgres_runs_and_is_sound() {
    on(Engine::Postgres, |server| subjects_are_sound(server, "postgres", once));
}

#[test]
fn each_driver_and_style_of_mariadb_runs_and_is_sound() {
    on(Engine::MariaDb, |server| subjects_are_sound(server, "mariadb", once));
}

mod extended {
    use super::*;

    #[test]
    fn every_subject_of_postgres_runs_and_is_sound() {
        on(Engine::Postgres, |server| subjects_are_sound(server, "postgres", |subjects| subjects));
    }

    #[test]
    fn every_subject_of_mariadb_runs_and_is_sound() {
        on(Engine::MariaDb, |server| subjects_are_sound(server, "mariadb", |subjects| subjects));
    }
}

fn subjects_are_sound(server: &Server, engine: &str, choose: fn(Vec<String>) -> Vec<String>) {
    let workdir = Workdir::empty();
    let listed: Value = server.json(&workdir, "list");
    let rows = listed.as_array().unwrap().iter();
    let subjects: Vec<String> = rows
        .filter(|row| row["subject"].as_str().unwrap().split('/').nth(1) == Some(engine))
        .inspect(|row| assert_eq!(row["here"], true, "{row}"))
        .map(|row| row["subject"].as_str().unwrap().to_owned())
        .collect();
    assert!(subjects.len() >= 6, "{listed}");
    let urls = ["tpcc", "tpcb", "catalogue", "transfer", "booking"]
        .map(|workload| (workload, server.loaded(&workdir, &format!("{workload} --golden"), workload)));
    // Also where a column pads its texts: two engines with the same rows do the same work.
    let rows = server.json(&workdir, &format!("load tpcb --golden --db {}", urls[1].1));
    let on_sqlite = server.json(&workdir, "load tpcb --golden --db sqlite:tpcb.db");
    assert_eq!(rows["checksum"], on_sqlite["checksum"], "{rows} {on_sqlite}");
    let databases = server.databases();
    let mut looks = 0;
    for subject in &choose(subjects) {
        let url = &urls.iter().find(|(workload, _)| subject.starts_with(workload)).unwrap().1;
        let line = format!("run {subject} --db {url} {SHORT} --json");
        let ran = server.run(&workdir, &line);
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        looks += check(&document["trials"][0], subject, engine);
    }
    // The engine was asked about itself; within a second of a busy machine perhaps not in every run.
    assert!(looks > 0);
    // What conformance needed is gone again.
    assert_eq!(server.databases(), databases);
}

/// Checks a trial; gives how often its engine was looked at.
fn check(trial: &Value, subject: &str, engine: &str) -> u64 {
    let parts: Vec<&str> = subject.split('/').collect();
    let stack = &trial["stack"];
    assert_eq!(stack["engine"], engine, "{subject}");
    // An ORM's style is not a part of its own.
    let unsaid = if parts[2].ends_with("diesel") { "orm" } else { "plain" };
    assert_eq!(stack["style"], *parts.get(3).unwrap_or(&unsaid), "{subject}");
    let route = if parts[2].starts_with("axum+") { "http" } else { "direct" };
    assert_eq!(stack["route"], route, "{subject}");
    assert_tier(trial, "durable");
    assert!(!stack["isolation"].as_str().unwrap().is_empty(), "{subject}");
    assert_eq!(trial["conformance"]["check"], "passed", "{subject}");
    assert!(trial["overall"]["call_counts"]["committed"].as_u64().unwrap() > 0, "{subject}");
    let ledger = trial["ledger"].as_array().unwrap();
    assert!(!ledger.is_empty() && ledger.iter().all(|found| found["check"] == "passed"), "{subject}");
    // An engine that was named by its address is on this machine: its processes are its own, and not those of strangers.
    let processes = trial["processes"].as_array().unwrap();
    let of_engine = processes.iter().find(|process| process["roles"][0] == "engine");
    // Of so few calls the CPU time, which the system counts in ticks of 10 ms, may be 0.
    let spent = of_engine.map(|engine| &engine["busiest_thread_s"]);
    assert!(spent.is_some_and(|spent| spent.as_f64() > Some(0.0)), "{subject}: {processes:?}");
    assert_eq!(trial["data"]["remote"], false, "{subject}");
    assert!(!trial["engine"]["gauges"].as_array().unwrap().is_empty(), "{subject}");
    let reads_itself = ["tokio-postgres", "mysql-async"].contains(&parts[2]) && parts.len() == 3;
    if !reads_itself {
        assert_answers_match(trial, parts[0]);
    }
    trial["engine"]["samples"].as_u64().unwrap()
}
