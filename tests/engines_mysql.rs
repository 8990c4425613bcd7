//! Subjects of MariaDB on a MySQL 8 that is named by its URL.

use crate::e2e_workdir::{Ran, Running, Workdir, assert_good, assert_tier, parse};
use crate::engines_workdir::SHORT;
use serde_json::Value;
use stackmark_tests::mysql::MySql;
use std::collections::BTreeSet;

/// Both drivers, both routes.
const SUBJECTS: [&str; 3] =
    ["transfer/mariadb/mysql-async", "tpcb/mariadb/sqlx", "booking/mariadb/axum+mysql-async"];

fn run(workdir: &Workdir, line: &str) -> Ran {
    Running::start(workdir.command(line)).end()
}

/// Loads what these subjects need, and makes calls.
fn are_sound(server: &MySql, subjects: &[&str]) {
    let workdir = Workdir::empty();
    let workloads: BTreeSet<&str> = subjects.iter().filter_map(|subject| subject.split('/').next()).collect();
    for workload in workloads {
        let ran = run(&workdir, &format!("load {workload} --golden --db {}", server.url(workload)));
        assert_eq!(ran.code(), 0, "{workload}: {ran:?}");
        let again = run(&workdir, &format!("audit {workload} --db {}", server.url(workload)));
        assert_eq!(again.code(), 0, "{workload}: {again:?}");
    }
    for subject in subjects {
        let workload = subject.split('/').next().unwrap();
        let ran = run(&workdir, &format!("run {subject} --db {} {SHORT} --json", server.url(workload)));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        let stack = &trial["stack"];
        assert_eq!(stack["engine"], "mysql", "{subject}");
        assert!(stack["engine_version"].as_str().unwrap().starts_with("8."), "{subject}: {stack}");
        assert_eq!(stack["isolation"], "repeatable-read", "{subject}");
        assert_tier(trial, "durable");
        assert_eq!(trial["conformance"]["check"], "passed", "{subject}");
        assert!(trial["overall"]["call_counts"]["committed"].as_u64().unwrap() > 0, "{subject}");
        for check in trial["ledger"].as_array().unwrap().iter().chain(trial["audits"].as_array().unwrap()) {
            // Of so few calls some shares are not known.
            assert!(check["check"] == "passed" || check["check"] == "inconclusive", "{subject}: {check}");
        }
        let setting = |name: &str| {
            let settings = stack["settings"].as_array().unwrap().iter();
            settings
                .filter(|setting| setting["name"] == name)
                .map(|setting| &setting["value"])
                .next()
                .cloned()
        };
        assert_eq!(setting("innodb_flush_log_at_trx_commit"), Some(Value::from("1")), "{subject}");
        assert!(!trial["engine"]["gauges"].as_array().unwrap().is_empty(), "{subject}");
    }
}

/// Two databases of one server are two stores: distributed transactions, and messages from one to the other.
fn cross(server: &MySql, styles: &[&str]) {
    let workdir = Workdir::empty();
    let stores = ["bank_a", "bank_b"].map(|name| server.url(name));
    let stores = format!("--db shard-0={} --db shard-1={}", stores[0], stores[1]);
    let ran = run(&workdir, &format!("load transfer --golden {stores}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    for style in styles {
        let ran = run(&workdir, &format!("run transfer/mariadb/mysql-async/{style} {stores} {SHORT} --json"));
        assert_good(&ran, &parse(&ran.out));
    }
}

#[test]
fn workloads_run_on_mysql_and_are_sound() {
    let Some(server) = MySql::start() else { return };
    are_sound(&server, &SUBJECTS);
    cross(&server, &["2pc", "saga"]);
    // A comparison works on copies, and takes them away.
    let workdir = Workdir::empty();
    let ran = run(
        &workdir,
        &format!(
            "compare tpcb/mariadb/mysql-async tpcb/mariadb/sqlx --db {} --blocks 1 --warmup 0s --duration 300ms",
            server.url("tpcb")
        ),
    );
    assert!([0, 1, 3].contains(&ran.code()), "{ran:?}");
    assert_eq!(workdir.document()["state"], "complete", "{ran:?}");
}

mod extended {
    use super::*;

    #[test]
    fn each_workload_runs_on_mysql_and_is_sound() {
        let Some(server) = MySql::start() else { return };
        are_sound(
            &server,
            &[
                "tpcc/mariadb/mysql-async",
                "tpcc/mariadb/sqlx",
                "tpcc/mariadb/axum+mysql-async",
                "tpcb/mariadb/mysql-async",
                "catalogue/mariadb/mysql-async",
                "catalogue/mariadb/mysql-async/nested",
                "booking/mariadb/mysql-async",
                "booking/mariadb/mysql-async/outbox",
            ],
        );
        cross(&server, &["2pc-log"]);
        // What is MariaDB's alone says so.
        let workdir = Workdir::empty();
        let ran = run(
            &workdir,
            &format!("run tpcc/mariadb/mysql-async/procedure --db {} {SHORT}", server.url("tpcc")),
        );
        assert_ne!(ran.code(), 0);
        assert!(ran.err.contains("the procedures of this style are MariaDB's"), "{ran:?}");
    }
}
