//! Transfers between two stores as a user makes them, and what becomes of them when their server is killed.

use crate::e2e_workdir::{Running, Workdir, assert_good, parse, until};
use crate::engines_workdir::{SHORT, Server, on};
use rig::Engine;
use rustix::process::Signal;
use serde_json::Value;
use sql::ServerUrl;
use stackmark_tests::calls::assert_answers_match;
use stackmark_tests::languages::{self, ByHand, Offer, is_made};

fn driver(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "tokio-postgres",
        Engine::Kafka => panic!("a broker has no SQL"),
        Engine::MariaDb => "mysql-async",
    }
}

fn name(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "postgres",
        Engine::Kafka => panic!("a broker has no SQL"),
        Engine::MariaDb => "mariadb",
    }
}

/// Two loaded stores on a server, as options.
fn loaded(server: &Server, workdir: &Workdir, stem: &str) -> String {
    let url = |shard: u32| server.database(&format!("{stem}_{shard}"));
    let both = format!("--db shard-0={} --db shard-1={}", url(0), url(1));
    server.done(workdir, &format!("load transfer --scale 2 --shards 2 {both}"));
    both
}

fn committed(trial: &Value, kind: &str) -> u64 {
    let kinds = trial["kinds"].as_array().unwrap();
    let found = kinds.iter().find(|found| found["name"] == kind).unwrap();
    found["tally"]["call_counts"]["committed"].as_u64().unwrap()
}

/// In all ways, or in one of each protocol.
fn is_sound(server: &Server, in_all: bool) {
    let (workdir, engine) = (Workdir::empty(), server.engine.engine());
    let both = loaded(server, &workdir, "sound");
    let (engine, driver) = (name(engine), driver(engine));
    let ways = [format!("{driver}/2pc"), format!("axum+{driver}/2pc"), format!("{driver}/2pc-log")];
    for how in &ways[..if in_all { 3 } else { 1 }] {
        let ran = server.run(&workdir, &format!("run transfer/{engine}/{how} {both} {SHORT} --json"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        assert!(committed(trial, "cross-transfer") > 0 && committed(trial, "transfer") > 0, "{trial:#}");
        assert_eq!(trial["settled"]["pending_last"], 0, "{trial:#}");
        assert_eq!(trial["stack"]["style"].as_str(), how.rsplit('/').next());
        assert_answers_match(trial, "transfer");
    }
    let ran = server.run(&workdir, &format!("verify --idle 0s transfer/{engine}/axum+{driver}/2pc {both}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    // By a saga what was accepted is settled by a relay, whose CPU is told.
    let ways = [format!("axum+{driver}/saga"), format!("{driver}/saga")];
    for how in &ways[..if in_all { 2 } else { 1 }] {
        let ran = server.run(&workdir, &format!("run transfer/{engine}/{how} {both} {SHORT} --json"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        assert!(committed(trial, "cross-transfer") > 0, "{trial:#}");
        assert_eq!(trial["settled"]["pending_last"], 0, "{trial:#}");
        assert_eq!(trial["stack"]["style"], "saga");
        let processes = trial["processes"].as_array().unwrap();
        let relay = processes.iter().find(|process| process["roles"][0] == "relay");
        let spent = relay.map(|relay| &relay["cpu_ms_per_1000_committed"]);
        assert!(spent.is_some_and(|spent| spent.as_f64() > Some(0.0)), "{processes:?}");
    }
    if in_all {
        let ran =
            server.run(&workdir, &format!("verify --idle 0s transfer/{engine}/axum+{driver}/saga {both}"));
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
}

/// What cannot cross is refused before anything starts.
fn is_refused(server: &Server) {
    let (workdir, engine) = (Workdir::empty(), server.engine.engine());
    let both = loaded(server, &workdir, "whole");
    let (engine, driver) = (name(engine), driver(engine));
    let refused = |line: &str, what: &str| server.run(&workdir, line).refused(&[what]);
    refused(&format!("run transfer/{engine}/{driver} {both}"), "plain makes a transfer in one store");
    refused(&format!("run transfer/{engine}/{driver}/2pc --shards 3 --scale 2"), "over 2 stores at most");
    let swapped =
        both.replace("shard-0", "shard-2").replace("shard-1", "shard-0").replace("shard-2", "shard-1");
    refused(&format!("run transfer/{engine}/{driver}/2pc {swapped}"), "shard-0 does not hold its part");
    // Nor is what is of another load, of another size, or not there.
    let with = |second: &str| {
        let first = both.split(" --db shard-1").next().unwrap();
        format!("run transfer/{engine}/{driver}/2pc {first} --db shard-1={second}")
    };
    let other = |name: &str, more: &str| {
        let urls = [0, 1].map(|shard| server.database(&format!("{name}_{shard}")));
        let both = format!("--db shard-0={} --db shard-1={}", urls[0], urls[1]);
        server.done(&workdir, &format!("load transfer --shards 2 {more} {both}"));
        with(&urls[1])
    };
    refused(&other("large", "--scale 4"), "shard-1 does not hold its part");
    refused(&other("seeded", "--scale 2 --seed 2"), "loaded with the seed 1");
    refused(&with(&server.database("nowhere")), "there is nothing in database");
    let gone = with(&server.url("whole_1")).rsplit_once(':').map(|(start, _)| format!("{start}:1/whole_1"));
    refused(&gone.unwrap(), "could not reach");
}

#[test]
fn transfers_between_two_stores_on_postgresql_are_sound() {
    on(Engine::Postgres, |server| is_sound(server, false));
}

#[test]
fn stores_that_do_not_belong_together_are_refused() {
    on(Engine::Postgres, is_refused);
}

/// A coordinator ends when all parts of a transfer are prepared, and then one of the stores is not there: what is prepared in the other
/// stays so, whatever comes next, until the store that has the decision is back.
#[test]
fn what_is_prepared_is_not_decided_while_a_store_is_down() {
    on(Engine::Postgres, |server| {
        let workdir = Workdir::empty();
        let both = loaded(server, &workdir, "undecided");
        let client =
            |database: &str, text: &str| server.engine.client(database, text).unwrap().trim().to_owned();
        let serve = "serve transfer --engine postgres --adapter tokio-postgres/2pc --pool 1";
        let mut command = workdir.command(&format!("{serve} {both} --listen 127.0.0.1:0"));
        command.env("STACKMARK_DB_PASSWORD", server.password()).env(targets::ENDS_BETWEEN_PHASES, "1");
        let serving = Running::start(command);
        let url = address(&serving);
        let crossing =
            "--mix cross-transfer=1 --clients 1 --warmup 0s --duration 300s --drain 1s --settle 1s";
        let subject = "transfer/postgres/axum+tokio-postgres/2pc";
        let load = started(server, &workdir, &format!("run {subject} --url {url} {both} {crossing} --json"));
        load.until("transfers are made", || {
            client("undecided_0", "select count(*) from transfer").parse::<u32>().is_ok_and(|made| made > 20)
        });
        serving.signal(Signal::USR1);
        assert_eq!(serving.end().status.code(), None);
        load.signal(Signal::INT);
        load.end_anyhow();
        let names = ["undecided_0", "undecided_1"].map(|name| client(name, "select current_database()"));
        let prepared = || {
            let of =
                |name: &String| format!("select count(*) from pg_prepared_xacts where database = '{name}'");
            names.each_ref().map(|name| client("postgres", &of(name)))
        };
        // The part of the target; the commit of the source's is the decision.
        let left = prepared();
        assert!(left.contains(&"1".to_owned()), "{left:?}");
        let again = format!("run transfer/postgres/tokio-postgres/2pc {both} {SHORT} --json");
        for (store, name) in names.iter().enumerate() {
            let allow = |is: bool| format!("alter database \"{name}\" allow_connections {is}");
            client("postgres", &allow(false));
            server.run(&workdir, &again).refused(&[&format!("undecided_{store}")]);
            assert_eq!(prepared(), left, "without shard-{store}");
            client("postgres", &allow(true));
        }
        let ran = server.run(&workdir, &again);
        assert_good(&ran, &parse(&ran.out));
        assert_eq!(prepared(), ["0", "0"]);
        server.done(&workdir, &format!("audit transfer {both}"));
    });
}

mod extended {
    use super::*;

    #[test]
    fn transfers_between_two_stores_are_sound_in_all_ways() {
        for engine in Engine::DATABASES {
            on(engine, |server| is_sound(server, true));
        }
    }

    #[test]
    fn stores_on_mariadb_that_do_not_belong_together_are_refused() {
        on(Engine::MariaDb, is_refused);
    }

    #[test]
    fn what_relays_on_mariadb_leave_is_settled_by_the_next() {
        on(Engine::MariaDb, is_settled);
    }
}

fn started(server: &Server, workdir: &Workdir, line: &str) -> Running {
    let mut command = workdir.command(line);
    command.env("STACKMARK_DB_PASSWORD", server.password());
    Running::start(command)
}

/// Where what was started listens.
fn address(running: &Running) -> String {
    until("it listens", || running.out().ends_with('\n'));
    running.out().trim().strip_prefix("listening on ").unwrap().to_owned()
}

/// A server is killed under load, so that some of its transfers are prepared and not decided; whoever comes next decides them.
fn is_decided(server: &Server) {
    let (workdir, engine) = (Workdir::empty(), server.engine.engine());
    let both = loaded(server, &workdir, "killed");
    let start = |line: &str| started(server, &workdir, line);
    let serving = start(&format!(
        "serve transfer --engine {} --adapter {}/2pc {both} --pool 8 --listen 127.0.0.1:0",
        name(engine),
        driver(engine)
    ));
    let url = address(&serving);
    let crossing =
        "--mix cross-transfer=1 --clients 8 --warmup 0s --duration 300s --drain 1s --settle 1s --json";
    let subject = format!("transfer/{}/axum+{}/2pc", name(engine), driver(engine));
    let load = start(&format!("run {subject} --url {url} {both} {crossing}"));
    let count = "select count(*) from transfer";
    load.until("transfers are made", || {
        let made = server.engine.client("killed_0", count).unwrap();
        made.trim().parse::<u32>().is_ok_and(|made| made > 200)
    });
    serving.signal(Signal::KILL);
    assert_eq!(serving.end().status.code(), None);
    load.signal(Signal::INT);
    let ran = load.end();
    assert!(ran.err.contains("server") || ran.out.contains("server"), "{ran:?}");
    let again = format!("run transfer/{}/{}/2pc {both} {SHORT} --json", name(engine), driver(engine));
    let ran = server.run(&workdir, &again);
    assert_good(&ran, &parse(&ran.out));
    server.done(&workdir, &format!("audit transfer {both}"));
}

#[test]
fn what_a_killed_server_leaves_on_postgresql_is_decided_by_the_next() {
    on(Engine::Postgres, is_decided);
}

#[test]
fn what_a_killed_server_leaves_on_mariadb_is_decided_by_the_next() {
    on(Engine::MariaDb, is_decided);
}

/// Of two relays one is killed under load and the other stops when it is asked to; a third settles what they have left.
fn is_settled(server: &Server) {
    let (workdir, engine) = (Workdir::empty(), server.engine.engine());
    let both = loaded(server, &workdir, "relayed");
    let start = |line: &str| started(server, &workdir, line);
    let how = format!("--adapter {}/saga", driver(engine));
    let serving = start(&format!(
        "serve transfer --engine {} {how} {both} --pool 8 --listen 127.0.0.1:0",
        name(engine)
    ));
    let url = address(&serving);
    let relay = || start(&format!("relay transfer {how} {both}"));
    let (first, second) = (relay(), relay());
    address(&first);
    address(&second);
    // Ended once the third relay is there.
    let crossing = "--mix cross-transfer=1 --clients 8 --rate 100 --warmup 0s --duration 240s --json";
    let subject = format!("transfer/{}/axum+{}/saga", name(engine), driver(engine));
    let load = start(&format!("run {subject} --url {url} {both} {crossing}"));
    let count = || -> u32 {
        let query = "select count(*) from transfer where state = 4";
        server.engine.client("relayed_0", query).unwrap().trim().parse().unwrap()
    };
    let settles_more_than = |settled: u32| load.until("transfers are settled", || count() > settled + 20);
    settles_more_than(0);
    first.signal(Signal::KILL);
    assert_eq!(first.end().status.code(), None);
    settles_more_than(count());
    second.signal(Signal::TERM);
    assert_eq!(second.end().code(), 0);
    let third = relay();
    address(&third);
    load.signal(Signal::INT);
    let ran = load.end();
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_eq!(document["trials"][0]["settled"]["pending_last"], 0, "{document:#}");
    for ends in [third, serving] {
        ends.signal(Signal::TERM);
        assert_eq!(ends.end().code(), 0);
    }
    server.done(&workdir, &format!("audit transfer {both}"));
}

#[test]
fn what_relays_on_postgresql_leave_is_settled_by_the_next() {
    on(Engine::Postgres, is_settled);
}

/// The relay of the server in Go runs within it, and settles what another that was killed has promised.
#[test]
fn the_server_in_go_settles_what_it_and_another_have_promised() {
    if !is_made("go", "build") {
        return;
    }
    on(Engine::Postgres, |server| {
        let workdir = Workdir::empty();
        let both = loaded(server, &workdir, "go");
        let subject = "transfer/postgres/net-http+pgx/saga";
        let servers = format!("--servers {} {both}", languages::folder().display());
        let ran = server.run(
            &workdir,
            &format!("run {subject} {servers} --pool 4 --batch 5 --relay-connections 2 {SHORT} --json"),
        );
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        assert!(committed(trial, "cross-transfer") > 0 && committed(trial, "transfer") > 0, "{trial:#}");
        assert_eq!(
            (&trial["settled"]["pending_last"], &trial["stack"]["style"]),
            (&0.into(), &"saga".into())
        );
        assert!(trial["settled"]["settlement"]["times"]["count"].as_u64() > Some(0), "{trial:#}");
        let settings = trial["stack"]["settings"].to_string();
        assert!(settings.contains(r#"{"name":"relay connections","value":"2"}"#), "{settings}");
        let processes = trial["processes"].as_array().unwrap();
        assert!(processes.iter().all(|process| process["roles"][0] != "relay"), "{processes:?}");
        server.done(&workdir, &format!("verify --idle 0s {subject} {servers}"));
        let refusal = ["plain makes a transfer in one store"];
        server
            .run(&workdir, &format!("verify --idle 0s transfer/postgres/net-http+pgx {servers}"))
            .refused(&refusal);
    });
    on(Engine::Postgres, |server| {
        let workdir = Workdir::empty();
        let both = loaded(server, &workdir, "go_killed");
        let stores = [0, 1].map(|shard| format!("go_killed_{shard}"));
        let urls = stores.each_ref().map(|name| ServerUrl {
            password: server.engine.url(name).password,
            ..server.engine.tcp_url(name)
        });
        let offer = Offer { workload: "transfer".into(), engine: "postgres".into(), how: "pgx/saga".into() };
        let serve = || ByHand::over("go", None, &offer, &urls, 8);
        let count = |what: &str| -> u32 {
            let query = format!("select count(*) from transfer {what}");
            let counted = stores.iter().map(|name| server.engine.client(name, &query).unwrap());
            counted.map(|text| text.trim().parse::<u32>().unwrap()).sum()
        };
        let pending = || count("where state = 3");
        let line = format!(
            "run transfer/postgres/net-http+pgx/saga --servers {} {both} --mix cross-transfer=1 --clients 8 --warmup 0s \
             --duration 300s --drain 1s --settle 1s --json",
            languages::folder().display()
        );
        let serving = serve();
        let load = started(server, &workdir, &format!("{line} --url {}", serving.url));
        let before = count("");
        load.until("transfers are made", || count("") > before + 200);
        load.until("the server is stopped between a promise and what comes of it", || {
            serving.signal(Signal::STOP);
            let promised = pending() > 0;
            if !promised {
                serving.signal(Signal::CONT);
            }
            promised
        });
        serving.kill();
        load.signal(Signal::INT);
        load.end_anyhow();
        assert!(pending() > 0, "what was promised is still to be done");
        let mut next = serve();
        until("the next one settles it", || pending() == 0);
        assert!(next.end().success(), "{}", next.log());
        server.done(&workdir, &format!("audit transfer {both}"));
    });
}
