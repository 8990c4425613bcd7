//! `verify` on PostgreSQL and MariaDB: every rule is kept, on data of ours next to the database that was named.

use crate::e2e_workdir::Workdir;
use crate::engines_languages::ours;
use crate::engines_workdir::on;
use rig::Engine;
use serde_json::Value;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Shared with the tests that compare servers in other languages with it.
fn keeps_every_rule(engine: Engine) {
    on(engine, |server| {
        let url = server.database("verified");
        for workload in ["catalogue", "tpcc"] {
            let work = ours(server, &url, engine, workload, "");
            assert!(!work.as_array().unwrap().is_empty(), "{workload}");
        }
    });
}

#[test]
fn our_server_on_postgresql_keeps_every_rule() {
    keeps_every_rule(Engine::Postgres);
}

#[test]
fn our_server_on_mariadb_keeps_every_rule() {
    keeps_every_rule(Engine::MariaDb);
}

/// A private PostgreSQL counts its statements where that is asked for, which `verify` does.
#[test]
fn statements_are_counted_at_a_private_postgresql() {
    let workdir = Workdir::empty();
    let ran = workdir.run("verify --idle 0s tpcb/postgres --json");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = read(&ran.out);
    let rules = document["rules"].as_array().unwrap();
    let statements = rules.iter().find(|rule| rule["name"] == "statements").unwrap();
    assert_eq!((&statements["check"], &statements["note"]), (&"passed".into(), &"a call: tpcb 5.0".into()));
}
