//! Transfers between two files by a saga: what is accepted, what a relay settles, and what is said where there is none.

use crate::e2e_bad_input::refused;
use crate::e2e_workdir::{Running, Workdir, assert_good, parse, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use stackmark_tests::calls::assert_answers_match;
use std::io::Write;
use std::net::TcpStream;

const BOTH: &str = "--db shard-0=sqlite:a.db --db shard-1=sqlite:b.db";
const SHORT: &str = "--warmup 0s --calls 400 --clients 4 --json";
/// For tests of limits and of per-second figures.
const SECOND: &str = "--warmup 0s --duration 1s --clients 4 --json";

fn loaded() -> Workdir {
    let workdir = Workdir::empty();
    let ran = workdir.run(&format!("load transfer --scale 2 --shards 2 {BOTH}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    workdir
}

/// Where what was started listens.
fn address(running: &Running) -> String {
    until("it listens", || running.out().ends_with('\n'));
    running.out().trim().strip_prefix("listening on ").unwrap().to_owned()
}

/// What a relay says itself that it has done.
fn about(place: &str) -> Value {
    let mut stream = TcpStream::connect(place.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(b"GET /about HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n\r\n").unwrap();
    let text = std::io::read_to_string(stream).unwrap();
    serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

fn trial_of(workdir: &Workdir, line: &str) -> Value {
    let ran = workdir.run(line);
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    document["trials"][0].clone()
}

#[test]
fn a_log_before_a_saga_is_published_and_matches_what_is_stored() {
    let workdir = loaded();
    for how in ["rusqlite/log-first", "axum+rusqlite/log-first"] {
        let trial = trial_of(&workdir, &format!("run transfer/sqlite/{how} {BOTH} {SECOND}"));
        assert_eq!(trial["stack"]["style"], "log-first");
        assert_eq!(trial["settled"]["pending_last"], 0, "{trial:#}");
        let (published, checks) = (&trial["published"], trial["ledger"].as_array().unwrap());
        let logged = checks.iter().find(|check| check["name"] == "logged transfers").unwrap();
        assert_eq!((&published["sink"], &logged["check"]), (&json!("file"), &json!("passed")), "{trial:#}");
        let [messages, duplicates] = ["messages", "duplicates"].map(|name| published[name].as_i64().unwrap());
        assert!(messages > 0 && messages - duplicates == logged["stored"].as_i64().unwrap(), "{trial:#}");
        // Its relay publishes nothing.
        assert_eq!((&published["batches"], &published["lag"]), (&Value::Null, &Value::Null));
        let settings = trial["stack"]["settings"].to_string();
        assert!(settings.contains("outbox sink") && !settings.contains("outbox polling"), "{settings}");
    }
    let run = format!("run transfer/sqlite/rusqlite/log-first {BOTH} {SHORT}");
    for (options, words) in [("--consumer", "publishes no events"), ("--polling 5ms", "no outbox relay")] {
        refused(&workdir, &format!("{run} {options}"), &[words]);
    }
    let serve =
        format!("serve transfer --engine sqlite --adapter rusqlite/log-first {BOTH} --listen 127.0.0.1:0");
    refused(&workdir, &serve, &["publishes messages: --sink is required"]);
    let foreign = workdir.path("foreign.jsonl");
    std::fs::write(&foreign, "{\"type\":\"booked\"}\n").unwrap();
    let words = ["line 1: missing field", "hint: data has a log of its own"];
    refused(&workdir, &format!("{serve} --sink file:{}", foreign.display()), &words);
}

#[test]
fn a_saga_between_two_files_is_settled_by_a_relay_that_is_watched() {
    let workdir = loaded();
    for how in ["rusqlite/saga", "axum+rusqlite/saga"] {
        let trial = trial_of(&workdir, &format!("run transfer/sqlite/{how} {BOTH} {SECOND} --batch 9"));
        assert_eq!(trial["stack"]["style"], "saga");
        let settings = trial["stack"]["settings"].as_array().unwrap();
        for (name, value) in [("relay batch", "9"), ("relay connections", "1")] {
            assert!(settings.contains(&json!({ "name": name, "value": value })), "{settings:?}");
        }
        assert_eq!(trial["settled"]["pending_last"], 0, "{trial:#}");
        // Sessions of the same style read by the same statements.
        if how.starts_with("axum") {
            assert_answers_match(&trial, "transfer");
        }
        let processes = trial["processes"].as_array().unwrap();
        assert!(processes.iter().any(|process| process["roles"][0] == "relay"), "{processes:?}");
        // What was accepted in the window was settled, each with its time, and the backlog is known each second.
        let crossed = trial["kinds"].as_array().unwrap().iter().find(|kind| kind["name"] == "cross-transfer");
        let accepted = crossed.unwrap()["tally"]["call_counts"]["committed"].as_u64().unwrap();
        let settlement = &trial["settled"]["settlement"];
        assert_eq!(settlement["kind"], "cross-transfer");
        assert_eq!(settlement["undone"], 0);
        let settled = settlement["times"]["count"].as_u64().unwrap();
        // Those that began in it and were answered after it, at most one a client, may be on either side.
        assert!(settled.abs_diff(accepted) <= 8, "{settled} {accepted}");
        assert!(settlement["times"]["max_ns"].as_u64() >= settlement["times"]["p50_ns"].as_u64());
        assert!((1..=2).contains(&settlement["backlog"].as_array().unwrap().len()), "{settlement}");
    }
    assert_eq!(workdir.run(&format!("audit transfer {BOTH}")).code(), 0);
    let ran = workdir.run(&format!("verify --idle 0s transfer/sqlite/axum+rusqlite/saga {BOTH}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    // In one store there is nothing to relay.
    let trial = trial_of(&workdir, &format!("run transfer/sqlite/rusqlite/saga {SHORT}"));
    assert!(trial["settled"].is_null() || trial["settled"]["pending_last"] == 0, "{trial:#}");
    let processes = trial["processes"].as_array().unwrap();
    assert!(processes.iter().all(|process| process["roles"][0] != "relay"), "{processes:?}");
}

#[test]
fn a_relay_keeps_to_its_limits() {
    let workdir = loaded();
    let line = format!(
        "run transfer/sqlite/rusqlite/saga {BOTH} {SECOND} --limit relay:cpu=0.05,mem=256MiB --settle 60s"
    );
    let ran = workdir.run(&line);
    if ran.code() == 2 {
        ran.refused(&["control groups"]);
        return rig::for_tests::not_run("control groups are not ours to make; the refusal was seen");
    }
    let document = parse(&ran.out);
    let processes = document["trials"][0]["processes"].as_array().unwrap();
    let relay = processes.iter().find(|process| process["roles"][0] == "relay").unwrap();
    assert_eq!(relay["limits"]["cpu"], 0.05, "{relay}");
    assert_eq!(relay["limits"]["memory_bytes"], 256 << 20, "{relay}");
    assert!(relay["limits"]["throttling"]["periods"].as_u64() > Some(0), "{relay}");
    assert!(processes.iter().filter(|process| !process["limits"].is_null()).count() == 1, "{processes:?}");
}

/// Behind a server that was started by hand no one settles anything unless a relay is started by hand too.
#[test]
fn without_a_relay_a_number_is_void_and_with_one_what_was_left_is_settled() {
    let workdir = loaded();
    let serving = workdir.start(&format!(
        "serve transfer --engine sqlite --adapter rusqlite/saga {BOTH} --listen 127.0.0.1:0"
    ));
    let url = address(&serving);
    let run = format!("run transfer/sqlite/axum+rusqlite/saga --url {url} {BOTH} {SHORT}");
    let ran = workdir.run(&format!("{run} --settle 1s"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = parse(&ran.out)["trials"][0].clone();
    assert!(trial["settled"]["pending_last"].as_u64().unwrap() > 0, "{trial:#}");
    // Whoever looks at the data alone says so too.
    let ran = workdir.run(&format!("audit transfer {BOTH}"));
    assert!(ran.code() == 1 && ran.out.contains("are pending"), "{ran:?}");
    let relay = workdir.start(&format!("relay transfer {BOTH} --batch 3"));
    let place = address(&relay);
    trial_of(&workdir, &run);
    let text = about(&place);
    assert!(text["settled"].as_u64().unwrap() <= text["transactions"].as_u64().unwrap() * 3, "{text}");
    assert!(text["settled"].as_u64() >= trial["settled"]["pending_last"].as_u64(), "{text}");
    assert_eq!((&text["refunded"], &text["errors"]), (&0.into(), &0.into()), "{text}");
    for ends in [relay, serving] {
        ends.signal(Signal::INT);
        assert_eq!(ends.end().code(), 0);
    }
}

/// It does so in one store too, where it has nothing else to do.
#[test]
fn a_relay_forgets_keys_that_have_expired() {
    let workdir = loaded();
    let one = "--db sqlite:one.db";
    assert_eq!(workdir.run(&format!("load transfer --scale 1 {one}")).code(), 0);
    for (how, files) in [("rusqlite/saga", BOTH), ("rusqlite", one)] {
        trial_of(&workdir, &format!("run transfer/sqlite/{how} {files} {SHORT}"));
        let relay = workdir.start(&format!("relay transfer {files} --keep-keys 1s"));
        let place = address(&relay);
        relay.until("keys are forgotten", || about(&place)["expired"].as_u64() > Some(100));
        relay.signal(Signal::INT);
        assert_eq!(relay.end().code(), 0);
        assert_eq!(workdir.run(&format!("audit transfer {files}")).code(), 0);
        // Who comes next is held to what is left.
        trial_of(&workdir, &format!("run transfer/sqlite/{how} {files} {SHORT}"));
    }
}

#[test]
fn a_relay_that_has_nothing_to_do_is_refused() {
    let workdir = loaded();
    refused(&workdir, &format!("relay transfer {BOTH} --keep-keys 500ms"), &["--keep-keys is 1s or longer"]);
    let both = "--db shard-0=sqlite:b.db --db shard-1=sqlite:a.db";
    refused(&workdir, &format!("relay transfer {both}"), &["shard-0 does not hold its part"]);
    refused(
        &workdir,
        &format!("relay tpcb {BOTH}"),
        &["no calls of tpcb on sqlite leave anything to a relay"],
    );
    refused(
        &workdir,
        &format!("relay transfer --adapter rusqlite {BOTH}"),
        &["leave nothing to a relay", "`saga`"],
    );
    for (line, words) in [
        (
            format!("run transfer/sqlite/rusqlite/dual-write {BOTH}"),
            "there is none of transfer/sqlite/rusqlite/dual-write",
        ),
        ("run transfer/sqlite/rusqlite/saga".into(), "of a saga over several stores"),
        (format!("run transfer/sqlite/rusqlite/saga --url http://127.0.0.1:1 {BOTH}"), "--url"),
    ] {
        refused(&workdir, &format!("{line} --limit relay:cpu=0.5"), &[words]);
    }
    let saga = format!("transfer/sqlite/rusqlite/saga {BOTH}");
    for (line, words) in [
        (format!("run {saga} --batch 65"), "--batch 65 is more than"),
        (
            format!("run {saga} --relay-connections 2"),
            "--relay-connections 2 has no effect on transfer/sqlite",
        ),
        (format!("run {saga} --relay-connections 0"), "0 is not in 1.."),
        ("run transfer/sqlite/rusqlite/saga --batch 7".into(), "it has no relay"),
        ("run transfer/postgres/tokio-postgres/saga --relay-connections 2".into(), "no relay between stores"),
        (
            "run transfer/postgres/tokio-postgres/saga --shards 2 --relay-connections 3".into(),
            "more than there are directions between 2 stores",
        ),
        (format!("relay transfer {BOTH} --batch 65"), "--batch 65 is more than"),
        (format!("relay transfer {BOTH} --relay-connections 2"), "--relay-connections 2 has no effect"),
    ] {
        refused(&workdir, &line, &[words]);
    }
    refused(
        &workdir,
        &format!("run transfer/sqlite/rusqlite {BOTH}"),
        &["plain makes a transfer in one store"],
    );
}

#[test]
fn files_that_do_not_belong_together_are_refused_by_name() {
    let workdir = loaded();
    let four = "--db shard-0=sqlite:four-0.db --db shard-1=sqlite:four-1.db";
    assert_eq!(workdir.run(&format!("load transfer --scale 4 --shards 2 {four}")).code(), 0);
    let check = |first: &str, second: &str, words: &[&str]| {
        let files = format!("--db shard-0=sqlite:{first} --db shard-1=sqlite:{second}");
        refused(&workdir, &format!("run transfer/sqlite/rusqlite/saga {files} {SHORT}"), words);
    };
    check("a.db", "four-1.db", &["shard-1 does not hold its part of 3 branches", "of another size"]);
    check("four-0.db", "b.db", &["shard-0 does not hold its part of 3 branches", "of another size"]);
    check("b.db", "a.db", &["shard-0 does not hold its part of 2 branches", "in the place of another"]);
    check("a.db", "gone.db", &["shard-1: there is no database at gone.db"]);
    check("gone.db", "b.db", &["shard-0: there is no database at gone.db"]);
    for again in ["a.db", "./a.db"] {
        check("a.db", again, &[&format!("shard-0 and shard-1 are the same database, {again}")]);
    }
}

/// The whole number that a query gives.
fn number(workdir: &Workdir, file: &str, query: &str) -> i64 {
    let file = rusqlite::Connection::open(workdir.path(file)).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    file.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Transfers in the first store.
fn made(workdir: &Workdir) -> i64 {
    number(workdir, "a.db", "select count(*) from transfer")
}

/// A server is killed under load while it is stopped at a point where `kill` holds; until then it goes on.
fn killed(workdir: &Workdir, style: &str, both: &str, kill: impl Fn() -> bool) {
    let serve = format!(
        "serve transfer --engine sqlite --adapter rusqlite/{style} {both} --pool 8 --listen 127.0.0.1:0"
    );
    let serving = workdir.start(&serve);
    let url = address(&serving);
    let run = format!("run transfer/sqlite/axum+rusqlite/{style} --url {url} {both} --mix cross-transfer=1");
    let load = workdir.start(&format!("{run} --clients 8 --warmup 0s --duration 60s --json"));
    let before = made(workdir);
    load.until("transfers are made", || made(workdir) > before + 50);
    load.until("the server is at the point where it is to be killed", || {
        serving.signal(Signal::STOP);
        let there = kill();
        if !there {
            serving.signal(Signal::CONT);
        }
        there
    });
    serving.signal(Signal::KILL);
    serving.end_anyhow();
    load.signal(Signal::INT);
    load.end_anyhow();
}

/// As the published system had it: a server that is killed between the debit and the credit has made money vanish, and neither
/// store alone can tell.
#[test]
fn what_a_dual_write_loses_under_a_kill_is_told_by_the_audit_over_both_stores() {
    let workdir = loaded();
    assert_eq!(workdir.run(&format!("audit transfer {BOTH}")).code(), 0);
    // Debited in the first store and not yet credited in the second.
    killed(&workdir, "dual-write", BOTH, || {
        let credits = "select count(*) from entry where amount > 0 and account <> source";
        let debits = "select count(*) from transfer where state <> 2";
        number(&workdir, "a.db", debits) > number(&workdir, "b.db", credits)
    });
    let ran = workdir.run(&format!("audit transfer {BOTH} --json"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let lost: Value = serde_json::from_str(&ran.out).unwrap();
    let failed = |of: &Value| -> Vec<String> {
        let all = of.as_array().unwrap().iter().filter(|found| found["check"] == "failed");
        all.map(|found| found["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (failed(&lost["audits"]), failed(&lost["ledger"])),
        (vec![], vec!["credits".to_owned(), "targets".to_owned(), "money".to_owned()])
    );
}

#[test]
fn attached_files_commit_together_under_a_kill_and_not_at_all_with_a_log() {
    let workdir = loaded();
    let attached = "transfer/sqlite/rusqlite/attached";
    let refusal = ["atomic only with a rollback journal", "journal=truncate"];
    refused(&workdir, &format!("run {attached} {BOTH} {SHORT}"), &refusal);
    refused(&workdir, &format!("run {attached} --shards 2 --scale 2 {SHORT}"), &refusal);
    let both = "--db shard-0=sqlite:a.db?journal=truncate --db shard-1=sqlite:b.db?journal=truncate";
    for how in ["rusqlite/attached", "axum+rusqlite/attached"] {
        let trial = trial_of(&workdir, &format!("run transfer/sqlite/{how} {both} {SHORT}"));
        assert_eq!(trial["stack"]["style"], "attached");
    }
    let file = "question = \"?\"\nworkload = \"transfer\"\nscale = 2\n[[variant]]\nsubject = [\"sqlite/rusqlite/attached\", \"sqlite/rusqlite/saga\"]\nshards = 2\n";
    std::fs::write(workdir.path("x.toml"), file).unwrap();
    refused(&workdir, "experiment x.toml", &refusal);
    for _ in 0..3 {
        killed(&workdir, "attached", both, || true);
        let ran = workdir.run(&format!("audit transfer {both}"));
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
}
