//! Servers whose defaults would break what we do if our sessions took them: load, run and audit work all the same, for each workload
//! and driver.

use crate::workdir::{Workdir, parse};
use crate::{assert_audited, in_other_languages, run_on, start_in_other_language};
use rig::{Engine, Running};
use sql::ServerUrl;
use stackmark_tests::engines::small;

const WORKLOADS: [&str; 5] = ["tpcc", "tpcb", "catalogue", "transfer", "booking"];

/// Of a role, which is how they are set for all of its sessions. Those that would end a session are of PostgreSQL 14 and later.
const OF_ROLE: [&str; 19] = [
    "statement_timeout = '40ms'",
    "lock_timeout = '1ms'",
    "idle_in_transaction_session_timeout = '40ms'",
    // Longer than a busy machine may keep a session from its next statement; `survive_idle` has sessions that are idle for longer.
    "idle_session_timeout = '5s'",
    "default_transaction_read_only = on",
    "default_transaction_deferrable = on",
    "default_transaction_isolation = 'serializable'",
    "timezone = 'Asia/Kolkata'",
    "datestyle = 'German'",
    "intervalstyle = 'iso_8601'",
    "search_path = 'nowhere'",
    "client_encoding = 'LATIN1'",
    "standard_conforming_strings = off",
    "extra_float_digits = -10",
    "bytea_output = 'escape'",
    "transform_null_equals = on",
    "client_min_messages = 'debug5'",
    "quote_all_identifiers = on",
    "synchronous_commit = off",
];

/// Of all sessions that begin after it.
const GLOBAL: &str = "set global autocommit = 0, \
    global sql_mode = 'ANSI,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,IGNORE_SPACE,NO_AUTO_VALUE_ON_ZERO', \
    global time_zone = '+05:30', global completion_type = 2, global lock_wait_timeout = 1, global max_statement_time = 0.25, \
    global wait_timeout = 2, global sql_select_limit = 1, global sql_safe_updates = 1, global sql_auto_is_null = 1, \
    global foreign_key_checks = 0, global unique_checks = 0, global default_storage_engine = MyISAM, \
    global character_set_server = latin1, global max_join_size = 1; \
    set global transaction isolation level read uncommitted, read only";

/// All of it on a server of its own: `hostile` is what is done to it before anything else is. Each workload through the first driver, and
/// those of `through_all` through all.
fn check(server: &Running, drivers: &[&str], system: &str, hostile: &str, through_all: &[&str]) {
    let engine = server.installation().engine;
    for workload in WORKLOADS {
        server.create_database(workload).unwrap();
    }
    server.client(system, hostile).unwrap();
    let databases = || match engine {
        Engine::Postgres => server.client(system, "select datname from pg_database order by 1").unwrap(),
        _ => {
            server.client(system, "set sql_big_selects = 1, sql_select_limit = 1000; show databases").unwrap()
        }
    };
    for workload in WORKLOADS {
        let (before, url) = (databases(), url(server, workload));
        let name = if engine == Engine::Postgres { "postgres" } else { "mariadb" };
        let drivers = if through_all.contains(&workload) { drivers } else { &drivers[..1] };
        for driver in drivers {
            if (engine, *driver) == (Engine::MariaDb, "sqlx") && matches!(workload, "transfer" | "booking") {
                continue;
            }
            let workdir = Workdir::empty();
            let load = format!("load {workload} --golden --fresh");
            let ran = run_on(&workdir, &load, &url);
            assert_eq!(ran.code(), 0, "{load}: {ran:?}");
            let line = format!("run {workload}/{name}/{driver} --clients 4 --warmup 0s --calls 400 --json");
            let ran = run_on(&workdir, &line, &url);
            assert!(matches!(ran.code(), 0 | 1), "{line}: {ran:?}");
            let document = parse(&ran.out);
            let trial = &document["trials"][0];
            assert_eq!(trial["state"], "complete", "{line}: {ran:?}");
            assert_audited(trial);
            let call_counts = &trial["overall"]["call_counts"];
            let faults = ["refused", "in_doubt", "defect"].map(|column| call_counts[column].as_u64());
            assert_eq!(faults, [Some(0); 3], "{line}: {call_counts}");
            let audit = format!("audit {workload} --run {}", workdir.only_run().display());
            let ran = run_on(&workdir, &audit, &url);
            assert_eq!(ran.code(), 0, "{audit}: {ran:?}");
        }
        if workload == "catalogue" {
            check_other_languages(workload, &url, engine);
        }
        assert_eq!(databases(), before, "{workload}");
    }
}

/// The servers in other languages have sessions of their own.
fn check_other_languages(workload: &str, url: &ServerUrl, engine: Engine) {
    for subject in in_other_languages(workload, engine) {
        let workdir = Workdir::empty();
        let line = format!("run {subject} --clients 4 --warmup 0s --calls 100 --json");
        let ran = start_in_other_language(&workdir, &line, url).end();
        assert!(matches!(ran.code(), 0 | 1), "{line}: {}", ran.err);
        let document = parse(&ran.out);
        let trial = &document["trials"][0];
        assert_eq!(trial["state"], "complete", "{line}: {}", ran.err);
        assert_audited(trial);
        let call_counts = &trial["overall"]["call_counts"];
        let faults = ["refused", "in_doubt", "defect"].map(|column| call_counts[column].as_u64());
        assert_eq!(faults, [Some(0); 3], "{line}: {call_counts}");
    }
}

fn url(server: &Running, database: &str) -> ServerUrl {
    let url = server.tcp_url(database);
    match server.installation().engine {
        Engine::Postgres => ServerUrl { user: "hostile".into(), ..url },
        _ => url,
    }
}

fn hostile_postgresql(through_all: &[&str]) {
    let server = small(Engine::Postgres, &[]);
    let password = server.tcp_url("postgres").password.map(|password| password.reveal().to_owned());
    let role = format!("create role hostile superuser login password '{}'; ", password.unwrap_or_default());
    let settings: Vec<String> = OF_ROLE.iter().map(|set| format!("alter role hostile set {set}")).collect();
    let hostile = format!("{role}{}", settings.join("; "));
    check(&server, &["tokio-postgres", "sqlx"], "postgres", &hostile, through_all);
}

fn hostile_mariadb(through_all: &[&str]) {
    let server = small(Engine::MariaDb, &[]);
    check(&server, &["mysql-async", "sqlx"], "mysql", GLOBAL, through_all);
}

#[test]
fn a_postgresql_with_hostile_defaults_is_loaded_run_and_audited() {
    hostile_postgresql(&["tpcb"]);
}

#[test]
fn a_mariadb_with_hostile_defaults_is_loaded_run_and_audited() {
    hostile_mariadb(&["tpcb"]);
}

mod extended {
    use super::*;

    #[test]
    fn each_workload_runs_through_each_driver_under_hostile_defaults() {
        hostile_postgresql(&WORKLOADS);
        hostile_mariadb(&WORKLOADS);
    }
}
