//! `verify` on PostgreSQL and MariaDB: every rule is kept, on data of ours next to the database that was named; and what `run` asks
//! these engines of a server while it warms up.

use crate::e2e_impostor::{Asked, Reply, answer, changed, forward, listen};
use crate::e2e_workdir::{Ran, Running, Workdir};
use crate::engines_languages::ours;
use crate::engines_workdir::{Server, on};
use rig::Engine;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    let found = |name: &str| rules.iter().find(|rule| rule["name"] == name).unwrap();
    assert_eq!(found("pool")["note"], "8 of 8 sessions were open");
    let durability = found("durability");
    assert_eq!(
        (&durability["check"], &durability["checked"]),
        (&"passed".into(), &40.into()),
        "{durability}"
    );
}

/// A server of ours for a workload, with its options, on a database; and its address.
fn serving(server: &Server, workdir: &Workdir, workload: &str, url: &str) -> (Running, String) {
    let mut command = workdir.command(&format!("serve {workload} --db {url} --listen 127.0.0.1:0"));
    command.env("STACKMARK_DB_PASSWORD", server.password());
    let real = Running::start(command);
    real.until("it listens", || real.out().ends_with('\n'));
    let address = real.out().trim().strip_prefix("listening on http://").unwrap().to_owned();
    (real, address)
}

/// What a rule of `verify` finds of a server on a database, of which what `/about` says is changed.
fn found_of(server: &Server, url: &str, rule: &str, say: fn(&mut Value)) -> Value {
    let workdir = Workdir::empty();
    let (_real, address) = serving(server, &workdir, "tpcb --pool 4", url);
    let lying = listen(move |asked: &Asked| {
        let answer = forward(&address, &asked.whole());
        Reply::Bytes(if asked.path == "/about" { changed(&answer, say) } else { answer })
    });
    let line = format!("verify {lying} --workload tpcb --db {url} --idle 0s --only {rule} --json");
    let document = read(&server.run(&workdir, &line).out);
    document["rules"][0].clone()
}

/// It says that calls are on the disk when they are answered; the engine says when it flushes.
#[test]
fn calls_that_are_only_said_to_be_durable_are_found() {
    on(Engine::Postgres, |server| {
        let url = server.loaded(&Workdir::empty(), "tpcb --golden", "undurable");
        let durable = |about: &mut Value| about["stack"]["durability"]["tier"] = "durable".into();
        let honest = found_of(server, &url, "durability", durable);
        assert_eq!(honest["check"], "passed", "{honest}");
        let command = "alter database undurable set synchronous_commit = off";
        server.engine.client("postgres", command).unwrap();
        let lying = found_of(server, &url, "durability", durable);
        assert_eq!(lying["check"], "failed", "{lying}");
        assert!(lying.to_string().contains("on the disk when it is answered"), "{lying}");
        let open = found_of(server, &url, "durability", |_| {});
        assert_eq!(open["check"], "not_run", "{open}");
        // Every second call alone.
        let half = "alter database undurable reset synchronous_commit; create sequence calls; \
                    create function half() returns trigger language plpgsql as $$ begin if nextval('calls') % 2 = 0 then \
                    perform set_config('synchronous_commit', 'off', true); end if; return new; end $$; \
                    create trigger half before insert on pgbench_history for each row execute function half();";
        server.engine.client("undurable", half).unwrap();
        let lying = found_of(server, &url, "durability", durable);
        assert_eq!(lying["check"], "failed", "{lying}");
    });
    on(Engine::MariaDb, |server| {
        let url = server.loaded(&Workdir::empty(), "tpcb --golden", "undurable");
        let set = |to: &str| {
            let command = format!("set global innodb_flush_log_at_trx_commit = {to}");
            server.engine.client("mysql", &command).unwrap();
        };
        let durable = |about: &mut Value| about["stack"]["durability"]["tier"] = "durable".into();
        set("2");
        let lying = found_of(server, &url, "durability", durable);
        set("1");
        assert_eq!(lying["check"], "failed", "{lying}");
        assert!(lying.to_string().contains("does not flush its log at every commit"), "{lying}");
        let honest = found_of(server, &url, "durability", durable);
        assert_eq!(honest["check"], "passed", "{honest}");
    });
}

/// An audit of the one trial of a run.
fn audit_of(ran: &Ran, name: &str) -> Value {
    assert!(!ran.out.is_empty(), "{ran:?}");
    let document = read(&ran.out);
    let audits = document["trials"][0]["audits"].as_array().unwrap();
    audits.iter().find(|audit| audit["name"] == name).unwrap_or_else(|| panic!("{ran:?}")).clone()
}

/// Set when this value goes.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A part of a call is stored as long as calls are made.
#[test]
fn calls_of_which_a_part_is_seen_are_found() {
    for (engine, name) in [(Engine::Postgres, "postgres"), (Engine::MariaDb, "mariadb")] {
        on(engine, |server| {
            let workdir = Workdir::empty();
            let url = server.loaded(&workdir, "tpcb --golden", "in_parts");
            let (_real, address) = serving(server, &workdir, "tpcb", &url);
            let seen = |early: bool| {
                let (address, begun) = (address.clone(), Arc::new(AtomicBool::new(false)));
                let called = Arc::clone(&begun);
                let url_of_it = listen(move |asked: &Asked| {
                    called.fetch_or(asked.method() == "POST", Ordering::Relaxed);
                    Reply::Bytes(forward(&address, &asked.whole()))
                });
                let plan = "--warmup 3s --duration 500ms --rate 20 --clients 2 --json";
                let line = format!("run tpcb/{name} --url {url_of_it} --db {url} {plan}");
                let over = AtomicBool::new(false);
                let ran = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let is_over = || over.load(Ordering::Relaxed);
                        let wait = || std::thread::sleep(Duration::from_millis(10));
                        while !begun.load(Ordering::Relaxed) && !is_over() {
                            wait();
                        }
                        for change in ["+ 7", "- 7"].into_iter().filter(|_| early) {
                            let set = format!(
                                "update pgbench_tellers set tbalance = tbalance {change} where tid = 1"
                            );
                            server.engine.client("in_parts", &set).unwrap();
                            while !is_over() {
                                wait();
                            }
                        }
                    });
                    let _over = Over(&over);
                    server.run(&workdir, &line)
                });
                audit_of(&ran, "all-or-nothing")
            };
            let whole = seen(false);
            assert_eq!(whole["check"], "passed", "{whole}");
            let partial = seen(true);
            assert_eq!(partial["check"], "failed", "{partial}");
        });
    }
}

/// Bookings are stored after a moment, and all of them before the run ends.
#[test]
fn calls_that_are_stored_a_moment_after_their_answer_are_found() {
    for (engine, name) in [(Engine::Postgres, "postgres"), (Engine::MariaDb, "mariadb")] {
        on(engine, |server| {
            let workdir = Workdir::empty();
            let url = server.loaded(&workdir, "booking --golden", "belated");
            let (_real, address) = serving(server, &workdir, "booking", &url);
            let looked_up = |late: bool| {
                let address = address.clone();
                let url_of_it = listen(move |asked: &Asked| {
                    if !late || asked.method() != "POST" {
                        return Reply::Bytes(forward(&address, &asked.whole()));
                    }
                    let mut booking = asked.body();
                    booking["id"] = asked.header("idempotency-key").into();
                    let (address, request) = (address.clone(), asked.whole());
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(30));
                        forward(&address, &request)
                    });
                    Reply::Bytes(answer("201 Created", "application/json", &booking.to_string()))
                });
                let plan = "--warmup 1s --duration 500ms --rate 20 --clients 2 --mix book=100";
                let ran = server
                    .run(&workdir, &format!("run booking/{name} --url {url_of_it} --db {url} {plan} --json"));
                audit_of(&ran, "acknowledged-at-once")
            };
            let honest = looked_up(false);
            assert_eq!(honest["check"], "passed", "{honest}");
            let belated = looked_up(true);
            assert_eq!(belated["check"], "failed", "{belated}");
            assert!(belated.to_string().contains("no-such-booking"), "{belated}");
        });
    }
}
