//! Servers that close connections which are idle: nothing was sent over them, so no call fails, and none is in doubt.

use crate::workdir::{Running, Workdir};
use crate::{assert_audited, book, in_other_languages, run_on, start_in_other_language, start_on, trial_of};
use rig::Engine;
use serde_json::Value;
use sql::ServerUrl;
use stackmark_tests::engines::LockedServer;

/// Longer than the server's limit, which is 3 s: longer than a busy machine may keep a session from its next call when nothing waits.
const IDLE: &str = "--think 5s --warmup 0s --duration 11s --clients 1 --json";

/// Each driver, with transactions that begin and calls that are one statement.
const ON_POSTGRES: [&str; 8] = [
    "tpcb/postgres/tokio-postgres/simple",
    "tpcb/postgres/sqlx",
    "tpcc/postgres/tokio-postgres/procedure",
    "tpcc/postgres/tokio-postgres/pipelined",
    "tpcc/postgres/diesel",
    "catalogue/postgres/tokio-postgres",
    "catalogue/postgres/sqlx",
    "booking/postgres/axum+tokio-postgres",
];
const ON_MARIADB: [&str; 5] = [
    "tpcb/mariadb/mysql-async",
    "tpcc/mariadb/mysql-async/procedure",
    "catalogue/mariadb/mysql-async",
    "catalogue/mariadb/sqlx",
    "booking/mariadb/axum+mysql-async",
];

/// Loads a database for each subject and for a server in each other language, has the server close what is idle, and runs all at once: they do little.
fn check(engine: Engine, subjects: &[&str], (limit, no_limit): (&str, &str)) {
    let mut server = LockedServer::of(engine);
    let system = if engine == Engine::Postgres { "postgres" } else { "mysql" };
    let others = in_other_languages("catalogue", engine);
    let subjects: Vec<&str> = subjects.iter().copied().chain(others.iter().map(String::as_str)).collect();
    let urls: Vec<ServerUrl> = subjects.iter().map(|subject| loaded(&mut server, subject)).collect();
    let _ = server.ask(system, limit);
    let desks: Vec<Workdir> = subjects.iter().map(|_| Workdir::empty()).collect();
    let start = |(workdir, (subject, url)): (&Workdir, (&&str, &ServerUrl))| {
        let begin =
            if others.iter().any(|other| other == subject) { start_in_other_language } else { start_on };
        begin(workdir, &format!("run {subject} {IDLE}"), url)
    };
    let runs: Vec<Running> = desks.iter().zip(subjects.iter().zip(&urls)).map(start).collect();
    let trials: Vec<Value> = runs.into_iter().map(|run| trial_of(&run.end())).collect();
    let _ = server.ask(system, no_limit);
    for (subject, trial) in subjects.iter().zip(&trials) {
        let call_counts = &trial["overall"]["call_counts"];
        assert!(book(trial, "committed") > 0, "{subject}: {call_counts}");
        assert_eq!((book(trial, "refused"), book(trial, "in_doubt")), (0, 0), "{subject}: {call_counts}");
        assert!(book(trial, "reconnects") > 0, "{subject}: {call_counts}");
        assert_eq!(trial["outages"], Value::Array(Vec::new()), "{subject}");
        let rules = trial["rules"].as_array().unwrap();
        let said = rules.iter().find(|rule| rule["name"] == "reconnects");
        assert!(said.is_some_and(|rule| rule["severity"] == "warning"), "{subject}: {said:?}");
        assert_audited(trial);
    }
}

fn loaded(server: &mut LockedServer, subject: &str) -> ServerUrl {
    let (subject, _) = subject.split_once(' ').unwrap_or((subject, ""));
    let name = subject.replace(['/', '-', '+'], "_");
    let (workload, _) = subject.split_once('/').unwrap();
    server.database(&name, |url| {
        let ran = run_on(&Workdir::empty(), &format!("load {workload} --golden"), url);
        assert_eq!(ran.code(), 0, "{ran:?}");
    })
}

#[test]
fn a_postgresql_that_closes_idle_sessions_refuses_no_call() {
    let set = "alter system set idle_session_timeout = '3s'";
    let reset = "alter system reset idle_session_timeout";
    let reload = "select pg_reload_conf()";
    let limits = [format!("{set}; {reload}"), format!("{reset}; {reload}")];
    check(Engine::Postgres, &ON_POSTGRES, (&limits[0], &limits[1]));
}

#[test]
fn a_mariadb_that_closes_idle_sessions_refuses_no_call() {
    let limits = ("set global wait_timeout = 3", "set global wait_timeout = default");
    check(Engine::MariaDb, &ON_MARIADB, limits);
}
