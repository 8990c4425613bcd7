//! `verify` on PostgreSQL and MariaDB: every rule is kept, on data of ours beside the database that was named.

use crate::e2e_desk::Desk;
use crate::engines_desk::on;
use rig::Engine;
use serde_json::Value;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn keeps_every_rule(engine: Engine, name: &str, counts: bool) {
    on(engine, |server| {
        let desk = Desk::empty();
        let url = server.database("verified");
        for workload in ["catalogue", "tpcc"] {
            let ran = server.run(&desk, &format!("verify {workload}/{name} --db {url} --json"));
            let document = read(&ran.out);
            assert_eq!(ran.code(), 0, "{ran:?}");
            for rule in document["rules"].as_array().unwrap() {
                let is_open = rule["name"] == "headers" && workload == "tpcc"
                    || rule["name"] == "statements" && !counts;
                assert_eq!(rule["check"], if is_open { "not_run" } else { "passed" }, "{rule}");
            }
            assert!(document["witness"].as_str().unwrap().contains("own connection"), "{document}");
        }
    });
}

#[test]
fn our_server_on_postgresql_keeps_every_rule() {
    keeps_every_rule(Engine::Postgres, "postgres", false);
}

#[test]
fn our_server_on_mariadb_keeps_every_rule() {
    keeps_every_rule(Engine::MariaDb, "mariadb", true);
}

/// A private PostgreSQL counts its statements where that is asked for, which `verify` does.
#[test]
fn statements_are_counted_at_a_private_postgresql() {
    let desk = Desk::empty();
    let ran = desk.run("verify tpcb/postgres --json");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = read(&ran.out);
    let rules = document["rules"].as_array().unwrap();
    let statements = rules.iter().find(|rule| rule["name"] == "statements").unwrap();
    assert_eq!((&statements["check"], &statements["note"]), (&"passed".into(), &"a call: tpcb 5.0".into()));
}
