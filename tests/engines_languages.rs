//! The servers in other languages: each keeps every rule of whatever it serves, does the work that ours does, and answers what
//! no server may take as the others do.

use crate::e2e_workdir::{Running, Workdir};
use crate::engines_workdir::{SHORT, Server, on};
use rig::Engine;
use rig::for_tests::fixture;
use serde_json::Value;
use sql::ServerUrl;
use stackmark_tests::calls::assert_answers_match;
use stackmark_tests::languages::{self, ByHand, FOLDERS, OURS, Offer, is_made, manifest};
use std::collections::BTreeMap;
use targets::Driven;
use verify::bad_input_statuses;
use workload_booking::Bookings;
use workload_catalogue::FoodCatalogue;
use workload_tpcc::Tpcc;
use workload_transfer::Transfers;

/// What the outbox of a booking adds to its driver.
const OUTBOX: &str = "/outbox";

/// Every combination of a language's server on an engine.
fn offers(language: &str, engine: Engine) -> Vec<Offer> {
    let mut offers = manifest(language).serves;
    offers.retain(|offer| offer.engine == engine.name());
    assert!(!offers.is_empty(), "servers/{language} serves nothing on {}", engine.title());
    offers
}

/// The first combination of a language's server for a workload: one statement at a time.
fn plain(language: &str, engine: Engine, workload: &str) -> Offer {
    let offer = offers(language, engine).into_iter().find(|offer| offer.workload == workload);
    offer.unwrap_or_else(|| panic!("servers/{language} does not serve {workload}"))
}

/// Verifies a combination; every rule that can be checked here must be kept. What its calls took.
#[track_caller]
fn verified(server: &Server, url: &str, name: &str, offer: &Offer) -> Value {
    let Offer { workload, engine, how } = offer;
    let servers = languages::folder();
    let subject = format!("{workload}/{engine}/{name}+{how}");
    let line = format!("verify --idle 0s {subject} --servers {} --db {url} --json", servers.display());
    let ran = server.run(&Workdir::empty(), &line);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    for rule in document["rules"].as_array().unwrap() {
        let is_open = rule["name"] == "headers" && workload != "catalogue"
            || rule["name"] == "statements" && engine == "postgres"
            || rule["name"] == "concurrent-reads" && workload == "tpcb"
            // They need more time than `--idle 0s` gives them.
            || rule["name"] == "keep-alive"
            || rule["name"] == "slow-body";
        assert_eq!(rule["check"], if is_open { "not_run" } else { "passed" }, "{subject}: {rule}");
    }
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(document["witness"].as_str().unwrap().contains("own connection"), "{document}");
    document["work"].clone()
}

/// Some of a combination's work, several calls at a time: what it does is right then, too.
#[track_caller]
fn measured(server: &Server, url: &str, name: &str, offer: &Offer) {
    let Offer { workload, engine, how } = offer;
    let servers = languages::folder();
    let subject = format!("{workload}/{engine}/{name}+{how}");
    let line = format!("run {subject} --servers {} --db {url} --pool 4 {SHORT}", servers.display());
    let document = server.json(&Workdir::empty(), &line);
    let trial = &document["trials"][0];
    let call_counts = &trial["overall"]["call_counts"];
    assert!(
        call_counts["committed"].as_u64().unwrap() > 0 && call_counts["defect"] == 0,
        "{subject}: {call_counts}"
    );
    let audited: Vec<&Value> = trial["audits"].as_array().unwrap().iter().collect();
    assert!(!audited.is_empty() && audited.iter().all(|audit| audit["check"] != "failed"), "{audited:?}");
    assert_answers_match(trial, workload);
}

/// What calls take that our server answers one statement at a time, in that style. It keeps every rule, or this panics.
pub(crate) fn ours(server: &Server, url: &str, engine: Engine, workload: &str, style: &str) -> Value {
    let mut all = offers(OURS, engine).into_iter().filter(|offer| offer.workload == workload);
    let offer = all.find(|offer| offer.how.ends_with(style)).expect("ours has that style");
    let work =
        fixture(&format!("work-{workload}-{}-{}", engine.name(), offer.how.replace(['/', '+'], "-")), || {
            verified(server, url, &manifest(OURS).name, &offer).to_string().into_bytes()
        });
    serde_json::from_slice(&work).unwrap()
}

/// Every rule is kept by what a server offers for these workloads; and what is plain takes the statements and rows that ours takes.
fn keeps_every_rule(language: &str, engine: Engine, chosen: impl Fn(&Offer) -> bool) {
    if !is_made(language, "build") {
        return;
    }
    let name = manifest(language).name;
    on(engine, |server| {
        let url = server.database(&format!("verified_{language}"));
        let mut loaded = BTreeMap::new();
        for offer in offers(language, engine).into_iter().filter(|offer| chosen(offer)) {
            let data = loaded.entry(offer.workload.clone()).or_insert_with(|| {
                let load = format!("{} --golden", offer.workload);
                server.loaded(&Workdir::empty(), &load, &format!("{language}_{}", offer.workload))
            });
            measured(server, data, &name, &offer);
            let work = verified(server, &url, &name, &offer);
            assert!(!work.as_array().unwrap().is_empty(), "{offer:?}");
            // What an ORM sends is its own.
            if !offer.how.ends_with("/orm") {
                let style = if offer.how.ends_with(OUTBOX) { OUTBOX } else { "" };
                assert_eq!(work, ours(server, &url, engine, &offer.workload, style), "{offer:?}");
            }
        }
    });
}

/// A workload, one statement at a time.
fn keeps_the_rules_of(language: &str, engine: Engine, workload: &str) {
    let plain = plain(language, engine, workload);
    keeps_every_rule(language, engine, |offer| offer == &plain);
}

#[test]
fn the_server_in_c_keeps_every_rule() {
    keeps_the_rules_of("c", Engine::MariaDb, "tpcc");
}

#[test]
fn the_server_in_python_keeps_every_rule() {
    keeps_the_rules_of("python", Engine::Postgres, "catalogue");
}

#[test]
fn the_server_in_go_keeps_every_rule() {
    keeps_the_rules_of("go", Engine::MariaDb, "tpcc");
}

/// The relay of the published system was a part of its server.
#[test]
fn the_server_in_go_publishes_its_bookings_to_a_file_and_to_a_topic() {
    if !is_made("go", "build") {
        return;
    }
    let Some((place, user, password)) = rig::for_tests::broker() else { return };
    on(Engine::Postgres, |server| {
        let workdir = Workdir::empty();
        let url = server.loaded(&workdir, "booking --events 9", "published_by_go");
        let (servers, broker) =
            (languages::folder(), format!("--sink kafka --db broker=kafka://{user}@{place}"));
        for sink in ["--sink file --polling 20ms --batch 50", &broker, "--sink null"] {
            let line = format!(
                "run booking/postgres/net-http+pgx/outbox --servers {} --db {url} {SHORT}",
                servers.display()
            );
            let mut command = workdir.command(&format!("{line} {sink} --json"));
            command.env("STACKMARK_DB_PASSWORD", server.password());
            command.env("STACKMARK_BROKER_PASSWORD", password.reveal());
            let ran = Running::start(command).end();
            assert_eq!(ran.code(), 0, "{ran:?}");
            let document: Value = serde_json::from_str(&ran.out).unwrap();
            let trial = &document["trials"][0];
            let (published, ledger) = (&trial["published"], trial["ledger"].as_array().unwrap());
            let bookings = ledger.iter().find(|check| check["name"] == "bookings").unwrap();
            let checks: Vec<_> = ledger
                .iter()
                .map(|check| (check["name"].as_str().unwrap(), check["check"].as_str().unwrap()))
                .filter(|(name, _)| name.contains("announce") || name.contains("messages"))
                .collect();
            if sink == "--sink null" {
                assert!(checks.iter().all(|(_, verdict)| *verdict == "not_run"), "{checks:?}");
                assert_eq!((checks.len(), &published["messages"]), (1, &Value::Null));
                continue;
            }
            assert!(checks.iter().all(|(_, verdict)| *verdict == "passed"), "{checks:?}");
            // A file has no keys and no partitions.
            let names: Vec<_> = checks.iter().map(|(name, _)| *name).collect();
            let on_a_topic = sink.starts_with("--sink kafka");
            assert!(names.contains(&"announcements of stored bookings"), "{names:?}");
            assert_eq!(names.contains(&"misplaced messages"), on_a_topic, "{names:?}");
            assert!(bookings["stored"].as_u64().unwrap() > 0, "{bookings}");
            assert_eq!(published["messages"], bookings["stored"], "{published}");
            assert!(published["batches"].is_null() && published["lag"].is_null(), "not measured");
        }
    });
}

mod extended {
    use super::*;

    fn keeps_every_rule_of_all(language: &str) {
        for engine in Engine::DATABASES {
            keeps_every_rule(language, engine, |_| true);
        }
    }

    #[test]
    fn the_server_in_c_keeps_every_rule_of_all_that_it_serves() {
        keeps_every_rule_of_all("c");
    }

    #[test]
    fn the_server_in_python_keeps_every_rule_of_all_that_it_serves() {
        keeps_every_rule_of_all("python");
    }

    #[test]
    fn the_server_in_go_keeps_every_rule_of_all_that_it_serves() {
        keeps_every_rule_of_all("go");
    }
}

/// What a server answers to the table of bad inputs.
fn statuses<W: Driven>(language: &str, offer: &Offer, url: &ServerUrl) -> Vec<(String, u16)> {
    let mut server = ByHand::start(language, None, offer, url, 2);
    let statuses = bad_input_statuses::<W>(&server.url, &W::tiny_over(1), 1);
    let statuses = statuses.unwrap_or_else(|error| panic!("{offer:?}: {error:#}: {}", server.log()));
    assert!(server.end().success(), "{offer:?}: {}", server.log());
    statuses
}

/// Whether a language's server serves a workload on an engine.
fn serves(language: &str, engine: Engine, workload: &str) -> bool {
    offers(language, engine).iter().any(|offer| offer.workload == workload)
}

/// One style of each language is enough: what is wrong with a request is found before a statement is sent.
fn are_alike<W: Driven>(engine: Engine) {
    on(engine, |server| {
        let database = format!("alike_{}", W::NAME);
        let url = server.database(&database);
        server.done(&Workdir::empty(), &format!("load {} --golden --db {url}", W::NAME));
        let url =
            ServerUrl { password: server.engine.url(&database).password, ..server.engine.tcp_url(&database) };
        let ours = statuses::<W>(OURS, &plain(OURS, engine, W::NAME), &url);
        assert!(ours.len() > 90 && ours.iter().all(|(_, status)| (400..500).contains(status)), "{ours:?}");
        let others = FOLDERS.into_iter().filter(|language| serves(language, engine, W::NAME));
        for language in others.filter(|language| is_made(language, "build")) {
            let theirs = statuses::<W>(language, &plain(language, engine, W::NAME), &url);
            let other: Vec<_> = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs).collect();
            assert!(other.is_empty() && theirs.len() == ours.len(), "{language}: {other:#?}");
        }
    });
}

#[test]
fn bad_inputs_have_the_same_statuses_in_all_languages() {
    are_alike::<FoodCatalogue>(Engine::Postgres);
    are_alike::<Tpcc>(Engine::MariaDb);
    are_alike::<Transfers>(Engine::Postgres);
    are_alike::<Bookings>(Engine::Postgres);
}
