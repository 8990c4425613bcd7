//! Bookings from the command line: what can be chosen of them, and what selling out does to their rates.

use crate::e2e_bad_input::refused;
use crate::e2e_workdir::{Running, Workdir, assert_good, parse, write};
use serde_json::{Value, json};
use stackmark_tests::calls::assert_answers_match;

fn run(workdir: &Workdir, line: &str) -> Value {
    let ran = workdir.run(line);
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    document
}

#[test]
fn events_tickets_users_and_quantities_are_chosen_and_recorded() {
    let workdir = Workdir::empty();
    let line = "run booking --json --warmup 0s --duration 1s";
    let document = run(&workdir, &format!("{line} --events 5 --stock 50 --limited 1 --users 7 --quantity 1"));
    let data = &document["trials"][0]["data"];
    assert_eq!((&data["scale"], &data["rows"]), (&json!(5), &json!(6)));
    assert_eq!(data["parameters"], json!({"stock": 50, "limited": 1, "users": 7, "quantity": 1}));
    let document = run(&workdir, line);
    let data = &document["trials"][0]["data"];
    assert_eq!(data["scale"], 100);
    assert_eq!(
        data["parameters"],
        json!({"stock": 100_000, "limited": 0, "users": 9_999_999, "quantity": 4})
    );

    assert_eq!(workdir.run("load booking --db sqlite:b.db --events 3 --stock 60").code(), 0);
    let on_it = "run booking --db sqlite:b.db --json --warmup 0s --duration 1s";
    let document = run(&workdir, &format!("{on_it} --stock 60 --users 8"));
    let parameters = &document["trials"][0]["data"]["parameters"];
    assert_eq!(*parameters, json!({"stock": 60, "limited": 0, "users": 8, "quantity": 4}));
    refused(&workdir, &format!("{on_it} --stock 61"), &["b.db was loaded with --stock 60, requested 61"]);
    refused(&workdir, &format!("{on_it} --limited 1"), &["loaded with --limited 0, requested 1"]);
    refused(&workdir, "load booking --db sqlite:c.db --users 8", &["--users is about calls"]);
    refused(&workdir, "run tpcc --stock 3", &["--stock is not an option of tpcc"]);
    refused(&workdir, "compare tpcc tpcc --events 3", &["--events is the scale of another workload"]);
    refused(&workdir, "run booking --events 3 --scale 3", &["cannot be used with"]);
    refused(&workdir, "run booking --stock 3 --quantity 5", &["--quantity is 5, and an event has 3 tickets"]);
    assert_eq!(workdir.run("load booking --db sqlite:few.db --stock 2").code(), 0);
    for (option, wrong) in [("stock", "0"), ("stock", "-1"), ("users", "0"), ("quantity", "11")] {
        refused(&workdir, &format!("run booking --{option} {wrong}"), &[&format!("--{option}"), wrong]);
    }
}

#[test]
fn what_is_chosen_can_be_what_variants_differ_in() {
    let workdir = Workdir::empty();
    let file = |second: &str| {
        let plan = "warmup = \"0s\"\nduration = \"1s\"\nblocks = 1\ncontrol = false\nstock = 70\n";
        let text = format!(
            "workload = \"booking\"\nscale = 4\n[plan]\n{plan}[[variant]]\nsubject = \"sqlite/rusqlite\"\n[[variant]]\n\
             subject = \"sqlite/rusqlite\"\n{second}\n"
        );
        write(workdir.path("x.toml"), &text);
    };
    file("quantity = 1\nstock = 90");
    let ran = workdir.run("experiment x.toml --json");
    let document = parse(&ran.out);
    assert_eq!(document["experiment"]["comparisons"][0]["factors"], json!(["parameters"]), "{ran:?}");
    let chosen = |at: usize| &document["trials"][at]["data"]["parameters"];
    let mut found = [chosen(0), chosen(1)]
        .map(|parameters| (parameters["stock"].clone(), parameters["quantity"].clone()));
    found.sort_by_key(|(stock, _)| stock.as_u64());
    assert_eq!(found, [(json!(70), json!(4)), (json!(90), json!(1))]);
    file("quantity = 80");
    refused(&workdir, "experiment x.toml", &["x.toml:13:12: `quantity`", "80"]);
    file("quantity = 10\nstock = 9");
    refused(&workdir, "experiment x.toml", &["x.toml:13:12: `quantity` is 10, and an event has 9 tickets"]);
}

/// What a run says of the relay of its outbox, and the checks of what it published.
fn published(document: &Value) -> (Value, Vec<String>) {
    let trial = &document["trials"][0];
    let checks = trial["ledger"].as_array().unwrap().iter();
    let is_of_messages = |name: &str| name.contains("announce") || name == "messages";
    let announced = checks.filter(|check| is_of_messages(check["name"].as_str().unwrap()));
    let named = announced
        .map(|check| format!("{}: {}", check["name"].as_str().unwrap(), check["check"].as_str().unwrap()));
    (trial["published"].clone(), named.collect())
}

#[test]
fn an_outbox_is_published_and_held_to_what_was_booked() {
    let workdir = Workdir::empty();
    let line = "--json --warmup 0s --duration 2s --clients 2";
    let booked = |document: &Value| {
        let ledger = document["trials"][0]["ledger"].as_array().unwrap();
        ledger.iter().find(|check| check["name"] == "bookings").unwrap()["stored"].as_u64().unwrap()
    };
    let all = [
        "announced bookings: passed",
        "announced tickets: passed",
        "announced keys: passed",
        "announcements of stored bookings: passed",
        "malformed announcements: passed",
        "order of announcements: passed",
    ];
    for route in ["rusqlite", "axum+rusqlite"] {
        let document =
            run(&workdir, &format!("run booking/sqlite/{route}/outbox --polling 100ms --batch 50 {line}"));
        let (published, checks) = published(&document);
        // One outside the window is published too.
        assert!(booked(&document) > 0 && published["messages"] == booked(&document), "{published}");
        assert_eq!((&published["sink"], &published["duplicates"]), (&json!("file"), &json!(0)));
        assert!(published["lag"]["max_ns"].as_u64().unwrap() > 0, "{published}");
        // Each second of the window, and at its end nothing waits.
        let line = published["line"].as_array().unwrap();
        assert!(line.len() >= 2 && line.last().unwrap()["backlog"] == 0, "{published}");
        let messages: u64 = line.iter().map(|second| second["messages"].as_u64().unwrap()).sum();
        assert!((1..=booked(&document)).contains(&messages), "{published}");
        assert_eq!(checks, all);
        // What is measured by itself reads by the same statements, and is asked because its style is another.
        assert_answers_match(&document["trials"][0], "booking");
        let settings = document["trials"][0]["stack"]["settings"].to_string();
        for (name, value) in [("sink", "file"), ("polling", "100ms"), ("batch", "50")] {
            let setting = json!({"name": format!("outbox {name}"), "value": value}).to_string();
            assert!(settings.contains(&setting), "{settings}");
        }
        let processes = document["trials"][0]["processes"].to_string();
        assert!(processes.contains("\"relay\""), "{processes}");
    }
    let document = run(&workdir, &format!("run booking/sqlite/rusqlite/outbox --sink null {line}"));
    let (published_null, checks) = published(&document);
    assert!(published_null["messages"] == booked(&document) && published_null["duplicates"].is_null());
    assert_eq!(checks, ["messages: not_run"]);

    let last = workdir.runs().pop().unwrap();
    let report = workdir.run(&format!("report {}", last.display()));
    let page = std::fs::read_to_string(last.join("report.html")).unwrap();
    assert!(page.contains("Outbox backlog"), "it is drawn");
    assert!(report.out.contains("to the sink `null`, duplicates unknown"), "{}", report.out);

    // Published by whoever commits, without an outbox: nothing waits, and no one measures it.
    for route in ["rusqlite", "axum+rusqlite"] {
        let document = run(&workdir, &format!("run booking/sqlite/{route}/dual-write {line}"));
        let (published, checks) = published(&document);
        assert!(booked(&document) > 0 && published["messages"] == booked(&document), "{published}");
        assert!(published["lag"].is_null() && published["batches"].is_null(), "{published}");
        assert_eq!(checks, all[..5].iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    }

    // No one reads it: the rows stay, and no one waits for them.
    let document = run(&workdir, &format!("run booking/sqlite/rusqlite/outbox-row {line}"));
    let (none, checks) = published(&document);
    assert_eq!((none, checks), (Value::Null, all[..4].iter().map(|name| (*name).to_owned()).collect()));
    assert!(document["trials"][0]["settled"].is_null());
    assert!(workdir.files().iter().all(|file| !file.contains("announced.jsonl")), "{:?}", workdir.files());
}

#[test]
fn a_consumer_processes_what_is_published_once() {
    let workdir = Workdir::empty();
    let line = "--consumer --json --warmup 0s --duration 1s --clients 2";
    for subject in ["rusqlite/outbox", "axum+rusqlite/dual-write"] {
        let document = run(&workdir, &format!("run booking/sqlite/{subject} {line}"));
        let trial = &document["trials"][0];
        let published = &trial["published"];
        assert!(published["messages"].as_u64() > Some(0), "{published}");
        assert_eq!(published["consumed"], json!({ "messages": published["messages"], "lag": null }));
        let checks = trial["ledger"].as_array().unwrap().iter();
        let checks = checks.filter(|check| check["name"].as_str().unwrap().starts_with("consumer: "));
        assert!(checks.clone().count() >= 6 && checks.clone().all(|check| check["check"] == "passed"));
        let settings = trial["stack"]["settings"].to_string();
        assert!(settings.contains("\"outbox consumer\""), "{settings}");
        assert!(trial["processes"].to_string().contains("\"consumer\""), "{trial}");
        assert!(workdir.files().iter().all(|file| !file.contains("inbox.db")), "{:?}", workdir.files());
    }
    let last = workdir.runs().pop().unwrap();
    let report = workdir.run(&format!("report {}", last.display()));
    assert!(report.out.contains("the consumer processed"), "{}", report.out);
    let wrong = [
        ("run booking/sqlite --consumer", "--consumer has no effect on booking/sqlite"),
        ("run booking/sqlite/rusqlite/outbox --sink null --consumer", "the sink `null` discards them"),
        ("consume --from null --inbox i.db", "--from null: the sink `null` stores no messages"),
        ("consume --from kafka://me:secret@127.0.0.1:1/t --inbox i.db", "--from has the password of"),
        ("consume --from kafka://127.0.0.1:1/t --inbox i.db", "127.0.0.1:1 is unavailable"),
        ("consume --from file:m.jsonl --inbox no/such/i.db", "cannot use the inbox no/such/i.db"),
    ];
    for (line, why) in wrong {
        refused(&workdir, line, &[why]);
    }
}

#[test]
fn rows_of_earlier_runs_are_published_by_whatever_relay_comes_first() {
    let workdir = Workdir::empty();
    let line = "--db sqlite:b.db --warmup 0s --duration 1s --clients 2";
    assert_eq!(workdir.run("load booking --db sqlite:b.db").code(), 0);
    let document = run(&workdir, &format!("run booking/sqlite/rusqlite/outbox-row --json {line}"));
    let rows = document["trials"][0]["ledger"][0]["stored"].as_u64().unwrap();
    let document = run(&workdir, &format!("run booking/sqlite/rusqlite/outbox --json {line}"));
    let trial = &document["trials"][0];
    let booked = trial["ledger"][0]["stored"].as_u64().unwrap();
    assert_eq!(trial["published"]["messages"], rows + booked, "{}", trial["published"]);
    assert!(
        trial["notes"].to_string().contains(&format!("held {rows} rows of earlier runs")),
        "{}",
        trial["notes"]
    );

    let document = run(&workdir, &format!("run booking/sqlite/rusqlite/outbox-row --json {line}"));
    let rows = document["trials"][0]["ledger"][0]["stored"].as_u64().unwrap();
    let relay = workdir.start("relay booking --db sqlite:b.db --sink file:left.jsonl");
    relay.until("the outbox is empty", || {
        let lines = std::fs::read_to_string(workdir.path("left.jsonl")).unwrap_or_default();
        lines.lines().count() as u64 == rows
    });
    relay.signal(rustix::process::Signal::TERM);
    assert_eq!(relay.end().code(), 0);
    let document = run(&workdir, &format!("run booking/sqlite/rusqlite/outbox --json {line}"));
    assert!(!document["trials"][0]["notes"].to_string().contains("earlier runs"));
}

/// What a relay publishes that someone else has started, no one sees.
#[test]
fn what_was_published_by_others_is_not_said_to_be_right() {
    let workdir = Workdir::empty();
    assert_eq!(workdir.run("load booking --db sqlite:b.db").code(), 0);
    let listening = |line: &str| {
        let running = workdir.start(line);
        running.until("it listens", || running.out().contains("http://"));
        let url =
            running.out().split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
        (running, url)
    };
    let (server, url) =
        listening("serve booking --db sqlite:b.db --adapter rusqlite/outbox --listen 127.0.0.1:0");
    let (relay, _) = listening("relay booking --db sqlite:b.db --sink null");
    let line = "--db sqlite:b.db --warmup 0s --duration 1s --clients 2 --json";
    let document = run(&workdir, &format!("run booking/sqlite/axum+rusqlite/outbox --url {url} {line}"));
    let (published, checks) = published(&document);
    assert_eq!((published, checks), (Value::Null, vec!["messages: not_run".to_owned()]));
    assert_eq!(document["trials"][0]["settled"]["pending_last"], 0, "it is waited for all the same");
    for running in [server, relay] {
        running.signal(rustix::process::Signal::TERM);
        assert_eq!(running.end().code(), 0);
    }
}

/// The bookings of a database in style `outbox-row`, relayed into a topic of a real broker.
#[test]
fn rows_of_an_outbox_are_relayed_into_a_topic() {
    let Some((place, user, password)) = rig::for_tests::broker() else { return };
    let address = broker::Address::of_user(&place, user, password.clone()).unwrap();
    let topic = format!("relayed-{}", std::process::id());
    let runtime = stackmark_tests::calls::runtime();
    let broker = runtime.block_on(async {
        let broker = broker::Broker::connect(&address).await.unwrap();
        broker.create_topic(&topic, 3).await.unwrap();
        broker
    });
    let workdir = Workdir::empty();
    assert_eq!(workdir.run("load booking --db sqlite:b.db --events 9").code(), 0);
    let line = "run booking/sqlite/rusqlite/outbox-row --json --db sqlite:b.db --warmup 0s --duration 1s --clients 2";
    let document = run(&workdir, line);
    let rows = document["trials"][0]["ledger"][0]["stored"].as_u64().unwrap();
    let relay = |sink: &str| {
        let mut command =
            workdir.command(&format!("relay booking --db sqlite:b.db --batch 100 --sink {sink}"));
        command.env("STACKMARK_BROKER_PASSWORD", password.reveal());
        Running::start(command)
    };
    let ran = relay(&format!("kafka://{user}@{place}/no-such-topic")).end();
    ran.refused(&["no-such-topic", "there is no such topic"]);
    let running = relay(&format!("kafka://{user}@{place}/{topic}"));
    let mut announced = Vec::new();
    running.until("everything is in the topic", || {
        announced.clear();
        let each = |stored: broker::Stored| {
            announced.push((stored.partition, stored.record));
            Ok::<_, broker::BrokerError>(())
        };
        runtime.block_on(broker.read(&topic, each)).unwrap();
        announced.len() as u64 >= rows
    });
    running.signal(rustix::process::Signal::TERM);
    let ran = running.end();
    assert!(ran.code() == 0 && !format!("{ran:?}").contains(password.reveal()), "{ran:?}");
    assert_eq!(announced.len() as u64, rows);
    // Those of an event are in one partition, in the order of their numbers.
    let mut last = std::collections::BTreeMap::new();
    for (partition, record) in &announced {
        let message: Value = serde_json::from_slice(&record.value).unwrap();
        let (event, position) = (message["event"].as_u64().unwrap(), message["position"].as_i64().unwrap());
        assert_eq!((record.key.clone(), u64::from(*partition)), (event.to_string().into_bytes(), event % 3));
        assert!(last.insert(event, position).is_none_or(|before| before < position), "{message}");
    }
    runtime.block_on(broker.delete_topic(&topic)).unwrap();
}

#[test]
fn what_is_said_of_an_outbox_that_is_not_there_is_refused() {
    let workdir = Workdir::empty();
    for (option, why) in [
        ("--sink null", "it publishes no messages"),
        ("--polling 500ms", "it has no outbox relay"),
        ("--batch 7", "it has no relay"),
        ("--relay-connections 2", "it has no relay between stores"),
    ] {
        let name = option.split(' ').next().unwrap();
        let words = format!("{name} has no effect on booking/sqlite/rusqlite: {why}");
        refused(&workdir, &format!("run booking {option}"), &[&words]);
    }
    refused(&workdir, "run booking/sqlite/rusqlite/dual-write --batch 7", &["it has no relay"]);
    refused(&workdir, "serve booking --db sqlite:nothing.db --adapter rusqlite/dual-write", &["nothing.db"]);
    for (option, words) in [
        ("--sink topic", "`topic` is not a sink"),
        ("--polling often", "give `adaptive`"),
        ("--batch 0", "1..=10000"),
    ] {
        refused(&workdir, &format!("run booking/sqlite/rusqlite/outbox {option}"), &[words]);
    }
    refused(&workdir, "relay booking --db sqlite:nothing.db --sink nowhere", &["`nowhere` is not a sink"]);
    refused(&workdir, "relay booking --db sqlite:nothing.db", &["nothing.db"]);
    let secret = workdir.run("relay booking --db sqlite:nothing.db --sink kafka://me:secret@127.0.0.1:1/t");
    secret.refused(&["STACKMARK_BROKER_PASSWORD"]);
    assert!(!secret.err.contains("secret@"), "{secret:?}");
    assert_eq!(
        workdir
            .run("load transfer --scale 2 --shards 2 --db shard-0=sqlite:a.db --db shard-1=sqlite:b.db")
            .code(),
        0
    );
    let line = "relay transfer --db shard-0=sqlite:a.db --db shard-1=sqlite:b.db --sink file:x";
    refused(&workdir, line, &["--sink is for the relay of an outbox"]);
}

/// Half of the calls book: 200 tickets a second.
#[test]
fn rates_before_and_after_the_last_ticket_are_not_averaged() {
    let workdir = Workdir::empty();
    let line = "run booking --json --warmup 0s --duration 12s --rate 400 --arrivals constant --events 1";
    let document = run(&workdir, &format!("{line} --quantity 1 --stock 1100"));
    let trial = &document["trials"][0];
    let turn = &trial["decline_rise"];
    assert_eq!(turn["kind"], "book");
    // Of the slice in which the last ticket is sold a part is before it.
    assert!(turn["declined_after"].as_f64().is_some_and(|share| share > 0.85), "{turn}");
    let from_s = turn["from_s"].as_f64().unwrap();
    assert!((4.0..=7.5).contains(&from_s), "{turn}");
    // The tickets last for 5.5 s. Of 400 calls all are committed before, and about half of them afterwards.
    let rate = trial["headline"]["value"]["value"].as_f64().unwrap();
    let after = turn["committed_after_per_s"].as_f64().unwrap();
    assert!((380.0..=420.0).contains(&rate) && (170.0..=230.0).contains(&after), "{rate} {turn}");
    let all = trial["overall"]["call_counts"]["committed"].as_u64().unwrap();
    assert!((f64::from(3_100)..3_900.0).contains(&(all as f64)), "{all}");
    let rules = trial["rules"].as_array().unwrap();
    let regime = rules.iter().find(|rule| rule["name"] == "regime").unwrap();
    assert!(
        regime["sentence"].as_str().unwrap().contains("of the calls of book were declined ("),
        "{regime}"
    );
    let page = std::fs::read_to_string(workdir.only_run().join("report.html")).unwrap();
    assert!(page.contains("At the vertical line calls came to be declined."));
}
