//! Bookings that are published to a topic of their own on a broker: a private one, and one that is named.

use crate::e2e_bad_input::refused;
use crate::e2e_workdir::{Running, Workdir, assert_good, parse, write};
use broker::{Address, Broker, BrokerError, Record, Stored};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use stackmark_tests::calls::runtime;
use std::collections::BTreeSet;
use std::net::TcpListener;

const LINE: &str = "run booking/sqlite/rusqlite/outbox --sink kafka --json --warmup 0s --clients 2";

/// The broker of all tests, as a run is told of it.
struct Named {
    address: Address,
}

impl Named {
    fn shared() -> Option<Named> {
        let (place, user, password) = rig::for_tests::broker()?;
        Some(Named { address: Address::of_user(&place, user, password)? })
    }

    fn start(&self, workdir: &Workdir, line: &str) -> Running {
        let mut command = workdir.command(&format!("{line} --db broker={}", self.address));
        let password = self.address.password.as_ref().unwrap().reveal();
        command.env("STACKMARK_BROKER_PASSWORD", password);
        Running::start(command)
    }

    /// The topics of runs, each with the number of the process that has made it.
    fn topics(&self) -> Vec<(String, u32)> {
        let broker = Broker::connect(&self.address);
        let topics = runtime().block_on(async { broker.await.unwrap().topics().await.unwrap() });
        let of_run = |name: String| {
            let pid = name.strip_prefix("stackmark-")?.split('-').next()?.parse().ok()?;
            Some((name, pid))
        };
        topics.into_keys().filter_map(of_run).collect()
    }
}

fn is_alive(pid: u32) -> bool {
    Pid::from_raw(pid.cast_signed()).is_some_and(|pid| test_kill_process(pid).is_ok())
}

fn checks(trial: &Value) -> Vec<(&str, &str)> {
    let ledger = trial["ledger"].as_array().unwrap().iter();
    let checks = ledger.map(|check| (check["name"].as_str().unwrap(), check["check"].as_str().unwrap()));
    checks.filter(|(name, _)| name.contains("announce") || *name == "misplaced messages").collect()
}

#[test]
fn a_run_creates_a_topic_and_deletes_it() {
    let Some(named) = Named::shared() else { return };
    let workdir = Workdir::empty();
    let line = format!("{LINE} --duration 2s --partitions 3 --polling 20ms --consumer");
    let ran = named.start(&workdir, &line).end();
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = &document["trials"][0];
    let booked =
        trial["ledger"].as_array().unwrap().iter().find(|check| check["name"] == "bookings").unwrap();
    let published = &trial["published"];
    assert!(
        booked["stored"].as_u64().unwrap() > 0 && published["messages"] == booked["stored"],
        "{published}"
    );
    assert_eq!((&published["sink"], &published["duplicates"]), (&json!("kafka"), &json!(0)));
    let passed = checks(trial);
    assert!(passed.len() == 13 && passed.iter().all(|(_, check)| *check == "passed"), "{passed:?}");
    let consumed = &published["consumed"];
    // The consumer may commit before the relay receives the acknowledgement, so either lag can be the longer one.
    assert_eq!(consumed["lag"]["count"], published["messages"], "{consumed}");
    assert_eq!(consumed["messages"], published["messages"], "{consumed}");
    let settings = trial["stack"]["settings"].to_string();
    let place = format!("unknown version at {}", named.address.place());
    for (name, value) in [("sink", "kafka"), ("partitions", "3"), ("linger", "0ms"), ("broker", &place)] {
        let setting = json!({"name": format!("outbox {name}"), "value": value}).to_string();
        assert!(settings.contains(&setting), "{setting}: {settings}");
    }
    assert!(trial["processes"].to_string().contains("\"broker\""), "it is on this machine: {trial}");
    let password = named.address.password.as_ref().unwrap().reveal();
    assert!(!format!("{ran:?}").contains(password) && !document.to_string().contains(password));
    let left: Vec<_> = named.topics().into_iter().filter(|(_, pid)| !is_alive(*pid)).collect();
    assert_eq!(left, []);
}

/// Another producer writes into the topic of a run: a malformed record, one of another run, and a message of the run once more, in another
/// partition than its event's.
#[test]
fn foreign_records_in_the_topic_are_reported_and_kept() {
    let Some(named) = Named::shared() else { return };
    let workdir = Workdir::empty();
    let running = named.start(&workdir, &format!("{LINE} --duration 3s"));
    let mut topic = None;
    running.until("its topic is there", || {
        topic = named.topics().into_iter().find(|(_, pid)| *pid == running.pid());
        topic.is_some()
    });
    let (topic, _) = topic.unwrap();
    let of_another_run = json!({
        "type": "booked", "booking": "00000000000000070000000100000001", "event": 1, "user": 5, "quantity": 1, "position": 1
    });
    let write = async || {
        let partition = Broker::connect(&named.address).await?.partition(&topic, 1).await?;
        let record = |value: String| Record { key: b"1".to_vec(), value: value.into_bytes(), created: None };
        partition.write(vec![record("{".into()), record(of_another_run.to_string())]).await
    };
    // The topic is there before its partitions are.
    running.until("its partitions are there", || runtime().block_on(write()).is_ok());
    let again = async || {
        let broker = Broker::connect(&named.address).await?;
        let mut first = None;
        let foreign = [b"{".to_vec(), of_another_run.to_string().into_bytes()];
        let of_run = |stored: &Stored| !foreign.contains(&stored.record.value);
        broker
            .read::<BrokerError>(&topic, |stored| {
                first = first.take().or(Some(stored).filter(of_run));
                Ok(())
            })
            .await?;
        let Some(Stored { partition, record, .. }) = first else { return Ok(false) };
        broker.partition(&topic, (partition + 1) % 4).await?.write(vec![record]).await.map(|()| true)
    };
    running.until("a message of it is there", || {
        let written: Result<bool, BrokerError> = runtime().block_on(again());
        written.is_ok_and(|written| written)
    });
    let ran = running.end();
    let document = parse(&ran.out);
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = &document["trials"][0];
    let failed: Vec<_> = checks(trial).into_iter().filter(|(_, check)| *check == "failed").collect();
    assert_eq!(failed, [("malformed announcements", "failed"), ("misplaced messages", "failed")]);
    let malformed = trial["ledger"].as_array().unwrap().iter();
    let malformed = malformed.clone().find(|check| check["name"] == "malformed announcements").unwrap();
    // An acknowledgement that gets lost has both written again.
    let wrong = malformed["stored"].as_u64().unwrap();
    assert!(wrong >= 2 && wrong.is_multiple_of(2), "the other is of another run: {malformed}");
    assert!(malformed["sentence"].as_str().unwrap().starts_with("partition 1, offset "), "{malformed}");
    let misplaced = trial["ledger"].as_array().unwrap().iter();
    let misplaced = misplaced.clone().find(|check| check["name"] == "misplaced messages").unwrap();
    assert!(misplaced["sentence"].as_str().unwrap().contains("expected key "), "{misplaced}");
    let again = misplaced["stored"].as_u64().unwrap();
    let kept = std::fs::read_to_string(workdir.only_run().join("announced.jsonl")).unwrap();
    let published = trial["published"]["messages"].as_u64().unwrap();
    assert_eq!(kept.lines().count() as u64, published + wrong + again);
    assert!(named.topics().iter().all(|(name, _)| *name != topic), "it is removed all the same");
}

#[test]
fn a_private_broker_stops_with_its_run() {
    let Some(_) = Named::shared() else { return };
    let workdir = Workdir::empty();
    let ran = workdir.run(&format!("{LINE} --duration 1s --limit broker:mem=2GiB"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = &document["trials"][0];
    assert!(checks(trial).iter().all(|(_, check)| *check == "passed"), "{trial}");
    let processes = trial["processes"].as_array().unwrap();
    let broker = processes.iter().find(|process| process["roles"] == json!(["broker"])).unwrap();
    assert_eq!(broker["limits"]["memory_bytes"], 2_u64 << 30);
    assert!(broker["cpu_user_s"].as_f64().unwrap() > 0.0, "{broker}");
    assert!(trial["stack"]["settings"].to_string().contains("\"Kafka 4."), "{trial}");
    assert!(document["notes"].to_string().contains("Kafka was started for this run"), "{document}");
}

#[test]
fn the_sink_can_be_what_variants_differ_in() {
    let workdir = Workdir::empty();
    let file = |second: &str| {
        let plan = "warmup = \"0s\"\nduration = \"1s\"\nblocks = 1\ncontrol = false\n";
        let text = format!(
            "workload = \"booking\"\nscale = 4\n[plan]\n{plan}[[variant]]\nsubject = \"sqlite/rusqlite/outbox\"\n[[variant]]\n\
             subject = \"sqlite/rusqlite/outbox\"\n{second}\n"
        );
        write(workdir.path("x.toml"), &text);
    };
    file("sink = \"null\"");
    let document = parse(&workdir.run("experiment x.toml --json").out);
    let factors = &document["experiment"]["comparisons"][0]["factors"];
    assert_eq!(*factors, json!(["stack.settings.outbox sink"]));
    let trials = document["trials"].as_array().unwrap().iter();
    let sinks: BTreeSet<_> = trials.map(|trial| trial["published"]["sink"].as_str().unwrap()).collect();
    assert_eq!(sinks, ["file", "null"].into());
    file("partitions = 2");
    refused(&workdir, "experiment x.toml", &["x.toml:", "--partitions needs --sink kafka"]);
}

#[test]
fn a_broker_that_cannot_be_used_is_refused_before_anything_starts() {
    let workdir = Workdir::empty();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    refused(
        &workdir,
        &format!("{LINE} --db broker={closed}"),
        &["could not use the broker given by --db", "unavailable"],
    );
    refused(&workdir, &format!("{LINE} --db broker=nowhere"), &["`nowhere` is not an address of a broker"]);
    refused(
        &workdir,
        &format!("{LINE} --db broker=h:1 --db broker=h:2"),
        &["--db broker=… is given more than once"],
    );
    let secret = workdir.run(&format!("{LINE} --db broker=kafka://me:secret@127.0.0.1:{}", closed.port()));
    secret.refused(&["could not use the broker"]);
    assert!(!format!("{secret:?}").contains("secret@"), "{secret:?}");
    let mut without_java = workdir.command(LINE);
    without_java.env("JAVA_HOME", "").env("PATH", "");
    Running::start(without_java).end().refused(&["Kafka needs Java", "hint:"]);
    for (line, words) in [
        ("run booking/sqlite/rusqlite/outbox --partitions 2", "--partitions needs --sink kafka"),
        ("run booking/sqlite/rusqlite/outbox --db broker=127.0.0.1:1", "--db broker=… needs --sink kafka"),
        (
            "run booking --db broker=127.0.0.1:1",
            "--db broker=… has no effect on booking/sqlite/rusqlite: it publishes no messages",
        ),
        ("run booking/sqlite/rusqlite/outbox --sink kafka --partitions 1001", "1..=1000"),
        (
            "run booking/sqlite/rusqlite/outbox --sink kafka --db broker=127.0.0.1:1 --limit broker:cpu=1",
            "--limit broker:… applies only to a private broker",
        ),
        ("load booking --db broker=127.0.0.1:1", "no store `broker`"),
    ] {
        refused(&workdir, line, &[words]);
    }
    assert_eq!(workdir.files(), [""; 0]);
}
