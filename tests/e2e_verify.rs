//! `verify` from the command line: a server that keeps the contract is told so, and one that breaks a rule is told which.

use crate::e2e_servers::processes_in;
use crate::e2e_workdir::{INTERRUPTED, Running, Workdir, parse, write};
use contract::schema::Schema;
use rustix::process::Signal;
use serde_json::Value;
use stackmark_tests::broken::{Broken, DURABILITY, SERVERS};
use stackmark_tests::repository;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub(crate) fn has_python() -> bool {
    let here = Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !here {
        rig::for_tests::not_run("there is no python3 for a server in another language");
    }
    here
}

/// A working folder with the small server in Python, as it is or changed.
pub(crate) fn workdir(broken: Option<&Broken>) -> Workdir {
    // What has been written is only seen not to be flushed where it is not in memory anyway.
    let needs_disk = broken.is_some_and(|broken| broken.rule == DURABILITY);
    let workdir = if needs_disk { Workdir::on_disk() } else { Workdir::empty() };
    let from = repository::root().join("tests/servers/python");
    let folder = workdir.path("servers/python");
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(&from).unwrap().flatten().filter(|file| file.path().is_file()) {
        let mut text = fs::read_to_string(file.path()).unwrap();
        if let Some(Broken { file: changed, change: (old, new), what, .. }) = broken
            && file.file_name() == *changed
        {
            assert_eq!(text.matches(old).count(), 1, "{what}: the server has other words by now");
            text = text.replace(old, new);
        }
        write(folder.join(file.file_name()), &text);
    }
    workdir
}

/// What a verification has printed, which is as its schema says.
fn verdicts(text: &str) -> Value {
    let schema = fs::read_to_string(repository::root().join("spec/verification.schema.json")).unwrap();
    let read = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (schema, document) = (Schema::whole(read(&schema)).unwrap(), read(text));
    assert_eq!(schema.violations(&document), [""; 0], "{document}");
    document
}

fn rules(document: &Value) -> Vec<(&str, &str)> {
    let rules = document["rules"].as_array().unwrap();
    rules.iter().map(|rule| (rule["name"].as_str().unwrap(), rule["check"].as_str().unwrap())).collect()
}

/// A server of which no rule is broken, and of which these alone are not checked.
#[track_caller]
fn keeps_all(workdir: &Workdir, line: &str, unchecked: &[&str]) {
    let ran = workdir.run(&format!("verify --idle 0s {line} --json --junit verdicts.xml"));
    let document = verdicts(&ran.out);
    let broken: Vec<_> = rules(&document).into_iter().filter(|(_, check)| *check == "failed").collect();
    assert!(broken.is_empty(), "{broken:?}\n{}", ran.out);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let open: Vec<_> =
        rules(&document).iter().filter(|(_, check)| *check != "passed").map(|(name, _)| *name).collect();
    assert_eq!(open, unchecked, "{}", ran.out);
    for rule in document["rules"].as_array().unwrap() {
        assert!(rule["check"] != "passed" || rule["checked"].as_u64().unwrap() > 0, "{rule}");
    }
    let xml = fs::read_to_string(workdir.path("verdicts.xml")).unwrap();
    assert!(xml.contains("name=\"race/") && xml.contains("failures=\"0\""), "{xml}");
}

#[test]
fn our_own_server_keeps_every_rule_of_every_workload() {
    let workdir = Workdir::empty();
    // In memory nobody tells what has been flushed; there the server does not say so either.
    let open = ["statements", "durability", "headers", "keep-alive", "slow-body"];
    keeps_all(
        &workdir,
        "catalogue/sqlite/axum+rusqlite",
        &["statements", "durability", "keep-alive", "slow-body"],
    );
    let without_reads =
        ["concurrent-reads", "statements", "durability", "headers", "keep-alive", "slow-body"];
    keeps_all(&workdir, "tpcb/sqlite/axum+rusqlite", &without_reads);
    keeps_all(&workdir, "tpcc/sqlite/axum+rusqlite", &open);
    keeps_all(&workdir, "transfer/sqlite/axum+rusqlite", &open);
    keeps_all(&workdir, "booking/sqlite/axum+rusqlite", &open);
}

/// What is written to a disk, and a body that does not arrive, for which the server waits ten seconds.
#[test]
fn a_server_on_a_disk_is_seen_to_flush_and_gives_up_a_slow_body() {
    let workdir = Workdir::on_disk();
    let line = "verify --idle 30s tpcb/sqlite/axum+rusqlite --only pool,durability,slow-body --json";
    let ran = workdir.run(line);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = verdicts(&ran.out);
    assert_eq!(checks(&document, &["pool", "slow-body"]), ["passed"; 2], "{document}");
    if !is_unseen(&document) {
        assert_eq!(checks(&document, &["durability"]), ["passed"], "{document}");
    }
}

#[test]
fn only_the_rules_that_are_asked_for_are_looked_at() {
    let workdir = Workdir::empty();
    let line = "verify --idle 0s tpcb/sqlite/axum+rusqlite";
    let ran = workdir.run(&format!("{line} --only audits,race --json"));
    let document = verdicts(&ran.out);
    let found = rules(&document);
    assert!(
        matches!(found[..], [(race, "passed"), ("audits", "passed")] if race.starts_with("race/")),
        "{found:?}"
    );
    assert_eq!((ran.code(), &document["only"]), (0, &serde_json::json!(["audits", "race"])));
    // Every rule can be asked for by its name.
    let all = verdicts(&workdir.run(&format!("{line} --json")).out);
    let names: Vec<&str> = rules(&all).into_iter().map(|(name, _)| name).collect();
    let again = verdicts(&workdir.run(&format!("{line} --json --only {}", names.join(","))).out);
    assert_eq!(rules(&again), rules(&all));
    let ran = workdir.run(&format!("{line} --only about"));
    assert!(
        ran.out.contains("1 rules passed") && ran.out.contains("requested: about; other rules were not"),
        "{ran:?}"
    );
    workdir.run(&format!("{line} --only about,rase")).refused(&[
        "tpcb has no rule `rase`",
        "golden",
        "race, ",
        found[0].0,
    ]);
    assert_eq!(workdir.runs().len(), 4, "nothing was begun");
}

#[test]
fn a_server_in_another_language_keeps_every_rule() {
    if !has_python() {
        return;
    }
    let workdir = workdir(None);
    let open = ["concurrent-reads", "statements", "durability", "headers", "keep-alive", "slow-body"];
    keeps_all(&workdir, "tpcb/sqlite/python", &open);
    let open = ["statements", "durability", "keep-alive", "slow-body"];
    keeps_all(&workdir, "catalogue --server servers/python", &open);
}

/// What was never sent is not in doubt and did not fail: the connection is opened again, and the call is made.
#[test]
fn a_run_on_a_server_that_closes_idle_connections_refuses_no_call() {
    if !has_python() {
        return;
    }
    let closing = SERVERS.iter().find(|broken| broken.what.contains("idle for a second"));
    let workdir = workdir(closing);
    let line = "run tpcb/sqlite/python --think 1300ms --warmup 0s --duration 4s --clients 2 --json";
    let ran = workdir.run(line);
    let document = parse(&ran.out);
    let (call_counts, rules) =
        (&document["trials"][0]["overall"]["call_counts"], &document["trials"][0]["rules"]);
    assert_eq!((&call_counts["refused"], &call_counts["in_doubt"]), (&0.into(), &0.into()), "{call_counts}");
    assert!(
        call_counts["committed"].as_u64() > Some(0) && call_counts["reconnects"].as_u64() > Some(0),
        "{call_counts}"
    );
    let said = rules.as_array().unwrap().iter().find(|rule| rule["name"] == "reconnects");
    assert_eq!(said.unwrap()["severity"], "warning", "{said:?}");
    assert_eq!(document["trials"][0]["outages"], serde_json::json!([]));
}

/// What `verify` finds in headers a run finds too: it counts what it is told there.
#[test]
fn a_run_does_not_believe_headers_that_cannot_be() {
    if !has_python() {
        return;
    }
    for (rule, says) in [("server-timing", "the server reports that"), ("headers", "the header `etag` is")] {
        let broken = SERVERS.iter().find(|broken| broken.rule == rule).expect("one breaks it");
        let workdir = workdir(Some(broken));
        let ran = workdir.run("run catalogue/sqlite/python --warmup 0s --calls 200 --clients 2 --json");
        // Held to the golden vectors, some are found before the first call.
        assert!(matches!(ran.code(), 1 | 2), "{rule}: {ran:?}");
        assert!(ran.out.contains(says) || ran.err.contains(says), "{rule}: {ran:?}");
    }
}

/// Whether nobody tells here what has been flushed: an old kernel, or a file system in memory.
fn is_unseen(document: &Value) -> bool {
    let unseen = document.to_string().contains("neither engine nor kernel tells");
    if unseen {
        rig::for_tests::not_run("the kernel does not tell what of a file has not been written");
    }
    unseen
}

/// Every so manieth of the broken servers, from one on.
fn are_caught(first: usize) {
    if !has_python() {
        return;
    }
    for broken in SERVERS.iter().skip(first).step_by(SHARES) {
        let workdir = workdir(Some(broken));
        let (workload, rule) = (broken.workload(), broken.rule);
        let ran = workdir.run(&format!("verify --idle 3s {workload}/sqlite/python --json --only {rule}"));
        let document = verdicts(&ran.out);
        if broken.rule == DURABILITY && is_unseen(&document) {
            continue;
        }
        assert_eq!(ran.code(), 1, "{}: {ran:?}", broken.what);
        let [rule] = &document["rules"].as_array().unwrap()[..] else { panic!("{}", ran.out) };
        assert_eq!(
            (&rule["name"], &rule["check"]),
            (&broken.rule.into(), &"failed".into()),
            "{}: {}",
            broken.what,
            ran.out
        );
        assert!(rule["failures"].to_string().contains(broken.says), "{}: {rule}", broken.what);
    }
}

/// Tests that share the broken servers.
const SHARES: usize = 4;

#[test]
fn broken_servers_are_caught_by_the_rule_that_they_break_1() {
    are_caught(0);
}

#[test]
fn broken_servers_are_caught_by_the_rule_that_they_break_2() {
    are_caught(1);
}

#[test]
fn broken_servers_are_caught_by_the_rule_that_they_break_3() {
    are_caught(2);
}

#[test]
fn broken_servers_are_caught_by_the_rule_that_they_break_4() {
    are_caught(3);
}

/// The small server in Python, started by hand on `bank.db`; killed when dropped.
struct ByHand(Child, String);

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ByHand {
    fn start(workdir: &Workdir, token: Option<&str>) -> ByHand {
        let mut command = Command::new("python3");
        command.arg("server.py").current_dir(workdir.path("servers/python"));
        let database = format!("sqlite:{}", workdir.path("bank.db").display());
        for (name, value) in [
            ("STACKMARK_WORKLOAD", "tpcb"),
            ("STACKMARK_DB", &database),
            ("STACKMARK_POOL", "4"),
            ("STACKMARK_LISTEN", "127.0.0.1:0"),
        ] {
            command.env(name, value);
        }
        if let Some(token) = token {
            command.env("ADMIN_TOKEN", token);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        ByHand(child, url)
    }
}

fn checks<'a>(document: &'a Value, of: &[&str]) -> Vec<&'a str> {
    let found = rules(document);
    of.iter().map(|wanted| found.iter().find(|(name, _)| name == wanted).unwrap().1).collect()
}

const OF_DATA: [&str; 4] = ["golden", "rejected-changes-nothing", "stored", "audits"];

#[test]
fn of_a_running_server_only_what_can_be_known_is_checked() {
    if !has_python() {
        return;
    }
    let workdir = workdir(None);
    assert_eq!(workdir.run("load tpcb --golden --db sqlite:bank.db").code(), 0);
    let server = ByHand::start(&workdir, None);
    let url = &server.1;
    let ran = workdir.run(&format!("verify --idle 0s {url} --workload tpcb --db sqlite:bank.db --json"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(checks(&verdicts(&ran.out), &OF_DATA), ["passed"; 4]);
    let ran = workdir.run(&format!("verify --idle 0s {url} --workload tpcb --json"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let blind = verdicts(&ran.out);
    assert_eq!(checks(&blind, &OF_DATA), ["not_run"; 4]);
    assert_eq!(checks(&blind, &["bad-input", "methods", "race/lost-update", "schema"]), ["passed"; 4]);
    assert_eq!(checks(&blind, &["pool", "durability", "more-data", "concurrent-calls"]), ["not_run"; 4]);
    // A file that a server has open is not loaded again under it.
    let ran = workdir.run(&format!("verify --idle 0s {url} --workload tpcb --db sqlite:bank.db"));
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(ran.err.contains("in use") && ran.err.contains("load --golden --fresh"), "{}", ran.err);
    let large = workdir.run("load tpcb --db sqlite:large.db");
    assert_eq!(large.code(), 0, "{large:?}");
    let ran = workdir.run(&format!("verify --idle 0s {url} --workload tpcb --db sqlite:large.db"));
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(ran.err.contains("load tpcb --golden"), "{}", ran.err);
}

#[test]
fn a_server_that_loads_and_audits_its_own_data_needs_no_one_else_and_that_is_said() {
    if !has_python() {
        return;
    }
    let workdir = workdir(None);
    assert_eq!(workdir.run("load tpcb --golden --db sqlite:bank.db").code(), 0);
    let server = ByHand::start(&workdir, Some("open sesame"));
    let url = &server.1;
    let with = |token: &str, line: &str| {
        let mut command = workdir.command(line);
        command.env("STACKMARK_ADMIN_TOKEN", token);
        Running::start(command).end()
    };
    let ran = with("open sesame", &format!("verify --idle 0s {url} --workload tpcb --json"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = verdicts(&ran.out);
    assert_eq!(checks(&document, &OF_DATA), ["passed"; 4]);
    assert_eq!(checks(&document, &["more-data", "concurrent-calls"]), ["passed"; 2]);
    assert!(document["witness"].as_str().unwrap().contains("the server itself"), "{document}");
    let line = "--scale 2 --warmup 0s --calls 200 --clients 2 --require-audit --json";
    let ran = with("open sesame", &format!("run tpcb/sqlite --url {url} {line}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let trial = &parse(&ran.out)["trials"][0];
    assert_eq!(trial["data"]["scale"], 2, "{trial}");
    assert_eq!(trial["conformance"]["check"], "passed", "{}", trial["conformance"]);
    assert!(trial["notes"].to_string().contains("there was no independent audit"), "{}", trial["notes"]);
    assert!(trial["audits"].to_string().contains("the server reports"), "{}", trial["audits"]);
    let ledger = trial["ledger"].as_array().unwrap();
    assert!(!ledger.is_empty() && ledger.iter().all(|found| found["check"] == "passed"), "{ledger:?}");
    let unknown = workdir.run(&format!("run tpcb/sqlite --url {url} --warmup 0s --calls 200 --clients 2"));
    assert!(unknown.out.contains("conformance: not run"), "{unknown:?}");
    let refused = with("open barley", &format!("verify --idle 0s {url} --workload tpcb"));
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains("does not take the token"), "{}", refused.err);
    assert!(!refused.err.contains("barley"), "{}", refused.err);
    let plain = ByHand::start(&workdir, None);
    let refused = with("open sesame", &format!("verify --idle 0s {} --workload tpcb", plain.1));
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains("the server does not offer it"), "{}", refused.err);
}

#[test]
fn a_running_server_that_loads_its_own_data_and_answers_wrongly_is_not_measured() {
    if !has_python() {
        return;
    }
    let wrong = Broken {
        what: "balances are those before the call",
        file: "tpcb.py",
        change: ("{\"abalance\": balance}", "{\"abalance\": balance - delta}"),
        rule: "golden",
        ..SERVERS[0]
    };
    let workdir = workdir(Some(&wrong));
    assert_eq!(workdir.run("load tpcb --golden --db sqlite:bank.db").code(), 0);
    let server = ByHand::start(&workdir, Some("open sesame"));
    let mut command = workdir.command(&format!("run tpcb/sqlite --url {} --calls 200 --warmup 0s", server.1));
    command.env("STACKMARK_ADMIN_TOKEN", "open sesame");
    let ran = Running::start(command).end();
    ran.refused(&["failed conformance; not measured"]);
    assert!(workdir.runs().is_empty(), "{:?}", workdir.runs());
}

#[test]
fn an_interrupted_verification_says_what_it_has_and_leaves_nothing() {
    if !has_python() {
        return;
    }
    let workdir = workdir(None);
    let running = Running::start(workdir.command("verify --idle 0s catalogue/sqlite/python --json"));
    running.until("the races begin", || running.err().contains("checking races"));
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    let document = verdicts(&ran.out);
    assert_eq!(document["complete"], false);
    assert!(rules(&document).iter().all(|(name, _)| *name != "stored"), "{document}");
    assert_eq!(processes_in(&workdir.path(".")), [0; 0]);
    let runs: Vec<_> = fs::read_dir(workdir.path("results")).unwrap().flatten().collect();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    let left = fs::read_dir(run.path()).unwrap().flatten().map(|file| file.file_name());
    let left: Vec<_> = left.filter(|name| name != "server.log").collect();
    assert_eq!(left, ["verify.json"]);
}

#[test]
fn what_cannot_be_verified_is_said_before_anything_starts() {
    let workdir = Workdir::empty();
    let refused = |line: &str, words: &[&str]| {
        let ran = workdir.run(line);
        assert_eq!(ran.code(), 2, "{ran:?}");
        for word in words {
            assert!(ran.err.contains(word), "{word}: {}", ran.err);
        }
    };
    refused("verify --idle 0s http://127.0.0.1:1", &["which workload", "--workload catalogue"]);
    refused("verify --idle 0s http://127.0.0.1:1 --workload catalog", &["no workload"]);
    refused("verify --idle 0s http://127.0.0.1:1 --workload catalogue", &["could not reach"]);
    refused("verify --idle 0s catalogue/sqlite/rusqlite", &["is direct; verify is for servers"]);
    refused(
        "verify --idle 0s catalogue/sqlite/axum+rusqlite --workload tpcc",
        &["is of the workload catalogue"],
    );
    refused("verify --idle 0s http://127.0.0.1:1 --workload catalogue --pool 3", &["--pool"]);
}
