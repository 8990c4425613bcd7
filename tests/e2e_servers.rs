//! Servers by manifest: one in another language is measured like ours, and one that does not do as the contract says is told
//! apart, with nothing of it left.

use crate::e2e_workdir::{INTERRUPTED, Ran, Workdir, assert_good, is_alive, parse, until, write};
use rustix::process::Signal;
use serde_json::Value;
use stackmark_tests::repository;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a manifest says besides its name and how it is started.
const SERVES: &str =
    "language = \"any\"\nserves = [{ workload = \"tpcb\", engine = \"sqlite\", about = \"a server\" }]\n";
pub(crate) const SHORT: &str = "--warmup 0s --calls 200 --clients 4 --generator-threads 2 --json";
/// Long enough for several periods of a CPU limit.
const SECOND: &str = "--warmup 0s --duration 1s --clients 4 --generator-threads 2 --json";

/// A loaded bank of pgbench's.
pub(crate) fn bank() -> Workdir {
    let workdir = Workdir::empty();
    let ran = workdir.run("load tpcb --db sqlite:bank.db");
    assert_eq!(ran.code(), 0, "{ran:?}");
    workdir
}

/// A server under `servers`, started by a script of the shell.
fn add(workdir: &Workdir, name: &str, more: &str, script: &str) {
    let folder = workdir.path("servers").join(name);
    fs::create_dir_all(&folder).unwrap();
    let start = format!("start = [\"sh\", \"start.sh\"]\n{more}\n");
    write(folder.join("server.toml"), &format!("name = \"{name}\"\n{start}{SERVES}"));
    write(folder.join("start.sh"), script);
}

/// Puts the server in Python next to a working folder's files; says so where there is no Python.
fn with_python(workdir: &Workdir) -> bool {
    python_in(&workdir.path("servers/python"))
}

/// Puts the server in Python into a folder; says so where there is no Python.
pub(crate) fn python_in(folder: &Path) -> bool {
    if !Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success()) {
        rig::for_tests::not_run("there is no python3 for a server in another language");
        return false;
    }
    let from = repository::root().join("tests/servers/python");
    fs::create_dir_all(folder).unwrap();
    for file in fs::read_dir(&from).unwrap().flatten().filter(|file| file.path().is_file()) {
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    true
}

/// Processes that run in a folder or below it.
pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    pids.filter(|pid| is_alive(*pid))
        .filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .collect()
}

/// A run of a server that cannot be measured: exit status 2, `words`, and neither a process nor a folder of it left.
#[track_caller]
fn refused(workdir: &Workdir, line: &str, words: &[&str]) -> Ran {
    let ran = workdir.run(line);
    ran.refused(words);
    // They were killed; the system takes its time to end them.
    until("nothing of it runs", || processes_in(&workdir.path("")).is_empty());
    assert!(workdir.runs().is_empty(), "{:?}", workdir.files());
    ran
}

#[test]
fn a_server_in_another_language_is_measured_like_ours() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    let listed = workdir.run("list tpcb --json");
    let rows: Value = serde_json::from_str(&listed.out).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["subject"] == "tpcb/sqlite/python");
    let row = row.unwrap_or_else(|| panic!("{listed:?}"));
    assert_eq!(
        (&row["here"], &row["needs"], &row["language"]),
        (&true.into(), &"python3".into(), &"Python".into())
    );

    let ran = workdir.run(&format!("run tpcb/sqlite/python --db sqlite:bank.db --pool 3 {SHORT}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = &document["trials"][0];
    let stack = &trial["stack"];
    assert_eq!((&stack["adapter"], &stack["route"]), (&"python-sqlite3".into(), &"http".into()), "{stack}");
    assert!(stack["server"].as_str().unwrap().starts_with("python-http-server "), "{stack}");
    let pool = serde_json::json!({ "name": "sessions", "value": "3" });
    assert!(stack["settings"].as_array().unwrap().contains(&pool), "{stack}");
    assert_eq!(trial["conformance"]["check"], "passed", "{}", trial["conformance"]);
    let processes = trial["processes"].as_array().unwrap();
    let server = processes.iter().find(|process| process["roles"][0] == "server").unwrap();
    assert!(server["cpu_user_s"].as_f64().unwrap() > 0.0, "{server}");
    assert!(server["rss_peak_bytes"].as_u64().unwrap() > 1 << 20, "{server}");
    assert_eq!(processes_in(&workdir.path("")), [0; 0]);
}

#[test]
fn a_server_in_another_language_is_compared_with_ours() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    let two = "tpcb/sqlite/axum+rusqlite tpcb/sqlite/python --db sqlite:bank.db --blocks 1 --no-control";
    let ran = workdir.run(&format!("compare {two} {SHORT}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let comparison = &document["experiment"]["comparisons"][0];
    let label = |side: &str| comparison[side]["label"].as_str().unwrap().to_owned();
    assert_eq!((label("a"), label("b")), ("axum+rusqlite".into(), "python".into()), "{comparison}");
    assert!(comparison["factor"].as_str().unwrap().contains("server"), "{comparison}");
    assert!(comparison["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{comparison}");
    // It reports few settings, and brings another version of the library; the journal is read from the file.
    assert_ne!(comparison["verdict"], "not_comparable", "{comparison:#}");
    for trial in document["trials"].as_array().unwrap() {
        let journal = serde_json::json!({ "name": "journal_mode", "value": "wal" });
        assert!(trial["stack"]["settings"].as_array().unwrap().contains(&journal), "{}", trial["stack"]);
    }
    let other = workdir.run(&format!("compare {two} {SHORT} --factor isolaton"));
    other.refused(&["no factor `isolaton`"]);
}

#[test]
fn a_server_is_started_by_hand_and_ends_when_it_is_asked_to() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    let serving = workdir.start("serve tpcb --server servers/python --db sqlite:bank.db");
    serving.until("it listens", || serving.out().contains("listening on http://127.0.0.1:"));
    let url = serving.out().trim().trim_start_matches("listening on ").to_owned();
    let ran = workdir.run(&format!("run tpcb/sqlite --url {url} --db sqlite:bank.db {SHORT}"));
    assert_good(&ran, &parse(&ran.out));
    serving.signal(Signal::INT);
    let ran = serving.end();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(processes_in(&workdir.path("servers")), [0; 0]);
    workdir
        .run("serve tpcc --server servers/python --db sqlite:bank.db")
        .refused(&["does not serve `tpcc/sqlite`"]);
}

#[test]
fn a_server_that_dies_of_sigterm_breaks_a_rule_and_the_other_verdicts_stand() {
    let workdir = Workdir::empty();
    if !with_python(&workdir) {
        return;
    }
    let program = workdir.path("servers/python/server.py");
    let text = fs::read_to_string(&program).unwrap();
    let handler = "signal.signal(signal.SIGTERM, lambda *_: stop())";
    assert!(text.contains(handler));
    write(program, &text.replacen(handler, "pass", 1));
    let ran = workdir.run("verify tpcb/sqlite/python --only about,stop --json");
    assert_eq!(ran.code(), 1, "{ran:?}");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let rules = document["rules"].as_array().unwrap();
    let word = |rule: &Value, of: &str| rule[of].as_str().unwrap().to_owned();
    let verdicts: Vec<[String; 2]> =
        rules.iter().map(|rule| ["name", "check"].map(|of| word(rule, of))).collect();
    assert_eq!(verdicts, [["about", "passed"], ["stop", "failed"]]);
    assert!(rules[1]["failures"][0]["found"].as_str().unwrap().contains("signal: 15"), "{}", rules[1]);
}

#[test]
fn a_server_in_another_language_keeps_to_its_limits() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    let ran =
        workdir.run(&format!("run tpcb/sqlite/python --db sqlite:bank.db --limit server:cpu=0.5 {SECOND}"));
    if ran.code() == 2 {
        ran.refused(&["control groups"]);
        return rig::for_tests::not_run("control groups are not ours to make; the refusal was seen");
    }
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let processes = document["trials"][0]["processes"].as_array().unwrap();
    let server = processes.iter().find(|process| process["roles"][0] == "server").unwrap();
    assert_eq!(server["limits"]["cpu"], 0.5, "{server}");
    assert!(server["limits"]["throttling"]["periods"].as_u64().unwrap() > 0, "{server}");
}

#[test]
fn a_server_ends_with_the_run_that_started_it_however_that_ends() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let _ = fs::remove_dir_all(workdir.path("results"));
        let run = workdir.start(
            "run tpcb/sqlite/python --db sqlite:bank.db --warmup 0s --duration 300s --think 10ms --json",
        );
        run.until("calls are committed", || workdir.has_committed());
        let server = run.server();
        run.signal(signal);
        let ran = run.end();
        assert_eq!(ran.status.code(), (signal == Signal::INT).then_some(INTERRUPTED), "{ran:?}");
        until("the server is gone", || !is_alive(server) && processes_in(&workdir.path("")).is_empty());
    }
}

#[test]
fn a_server_that_does_not_start_says_why_and_is_gone() {
    let workdir = bank();
    let line = |name: &str| format!("run tpcb/sqlite/{name} --db sqlite:bank.db {SHORT}");
    add(&workdir, "late", "ready_s_max = 1", "exec sleep 600");
    refused(&workdir, &line("late"), &["the server `late` did not print its listen address within 1 s"]);
    add(&workdir, "ends", "", "echo no such table >&2; exit 3");
    refused(
        &workdir,
        &line("ends"),
        &["the server `ends` ended before it was ready (exit status: 3): no such table"],
    );
    add(&workdir, "chatty", "", "echo Welcome; sleep 600 & exec sleep 600");
    refused(
        &workdir,
        &line("chatty"),
        &["the first line of the server `chatty` is `Welcome`", "`listening on http://"],
    );
    // Bytes without an end, and no text either.
    add(&workdir, "noisy", "", "exec cat /dev/urandom");
    refused(&workdir, &line("noisy"), &["the first line of the server `noisy` is `"]);
    add(&workdir, "deaf", "ready_s_max = 1", "echo listening on http://127.0.0.1:1; exec sleep 600");
    refused(
        &workdir,
        &line("deaf"),
        &["the server `deaf` did not answer /health at http://127.0.0.1:1 with 200"],
    );
    add(&workdir, "mute", "ready_s_max = 600", "exec >&-; exec sleep 600");
    refused(
        &workdir,
        &line("mute"),
        &["the server `mute` closed its standard output without saying where it listens"],
    );
    add(&workdir, "unbuilt", "build = [\"sh\", \"-c\", \"echo no compiler >&2; exit 1\"]", "exec sleep 600");
    refused(
        &workdir,
        &line("unbuilt"),
        &["could not build the server `unbuilt`", "exit status: 1", "no compiler"],
    );
}

#[test]
fn a_server_of_another_contract_is_refused_with_what_its_log_says() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    let other = "cp ../python/*.py .; sed -i s:{workload}/1:{workload}/9: server.py; echo is this right? >&2; \
                 exec python3 server.py";
    add(&workdir, "other", "", other);
    let line = format!("run tpcb/sqlite/other --db sqlite:bank.db {SHORT}");
    refused(&workdir, &line, &["it speaks contract `tpcb/9`", "wanted is `tpcb/1`", "is this right?"]);
}

#[test]
fn a_server_that_does_not_end_is_killed_with_all_that_it_started() {
    let workdir = bank();
    if !with_python(&workdir) {
        return;
    }
    add(&workdir, "stubborn", "stop_s_max = 1", "trap '' TERM; python3 ../python/server.py; exit 0");
    let line = format!("run tpcb/sqlite/stubborn --db sqlite:bank.db {SHORT}");
    refused(&workdir, &line, &["the server did not end within 1 s and was killed"]);
}

#[test]
fn a_manifest_with_a_mistake_is_named_with_its_line_before_anything_starts() {
    let workdir = bank();
    let runs = format!("run tpcb/sqlite/py --db sqlite:bank.db {SHORT}");
    let check = |from: &str, to: &str, words: &[&str]| {
        add(&workdir, "py", "", "touch ran; exit 0");
        let file = workdir.path("servers/py/server.toml");
        let good = fs::read_to_string(&file).unwrap();
        assert!(good.contains(from), "{good}");
        write(file, &good.replacen(from, to, 1));
        refused(&workdir, &runs, words);
        assert!(!workdir.path("servers/py/ran").exists(), "it was started");
    };
    check(
        "start",
        "strat",
        &["servers/py/server.toml:2:", "unknown field `strat`", "`start`", "docs/servers.md"],
    );
    check("\"any\"", "7", &["servers/py/server.toml:4:", "invalid type: integer `7`, expected a string"]);
    check(
        "\"sh\"",
        "\"no-such-shell\"",
        &["servers/py/server.toml:2:", "no program `no-such-shell` on the PATH"],
    );
    check("\"tpcb\"", "\"tpch\"", &["servers/py/server.toml:5:", "there is no tpch/sqlite", "tpcc, tpcb"]);
    check(
        "\"py\"",
        "\"rusqlite\"",
        &["servers/py/server.toml:1:", "a subject `tpcb/sqlite/rusqlite` already"],
    );
    // One that no one has asked for is a mistake as well; one whose program is missing here is none of theirs.
    let other = "run tpcb/sqlite/rusqlite --db sqlite:bank.db --warmup 0s --calls 200 --clients 2";
    refused(&workdir, other, &["servers/py/server.toml:1:"]);
    add(&workdir, "py", "", "exit 0");
    write(
        workdir.path("servers/py/server.toml"),
        &format!("name = \"py\"\nstart = [\"no-such-shell\"]\n{SERVES}"),
    );
    assert_eq!(workdir.run(other).code(), 0);
    let listed = workdir.run("list tpcb").out;
    assert!(
        listed.lines().any(|row| row.contains("/py ") && row.contains("not on this machine")),
        "{listed}"
    );
    // In another folder than the usual one.
    fs::rename(workdir.path("servers"), workdir.path("others")).unwrap();
    assert!(!workdir.run("list tpcb").out.contains("/py "));
    assert!(workdir.run("list tpcb --servers others").out.contains("/py "));
}

#[test]
fn what_heeds_nothing_ends_with_the_run_that_started_it_while_that_waits() {
    let workdir = bank();
    let heedless = "trap '' INT TERM; touch started; sleep 600 & sleep 600; exit 0";
    add(&workdir, "server", "ready_s_max = 600\nstop_s_max = 1", heedless);
    let build = format!("build = [\"sh\", \"-c\", \"{heedless}\"]");
    add(&workdir, "build", &build, "exec sleep 600");
    for name in ["server", "build"] {
        let started = workdir.path("servers").join(name).join("started");
        for signal in [Signal::INT, Signal::KILL] {
            let _ = fs::remove_file(&started);
            let run = workdir.start(&format!("run tpcb/sqlite/{name} --db sqlite:bank.db {SHORT}"));
            run.until("it has started", || started.exists());
            run.signal(signal);
            let ran = run.end();
            assert_eq!(ran.status.code(), (signal == Signal::INT).then_some(INTERRUPTED), "{ran:?}");
            assert!(signal == Signal::KILL || ran.err.contains("interrupted"), "{ran:?}");
            until("it is gone", || processes_in(&workdir.path("")).is_empty());
        }
    }
}

#[test]
fn a_worker_in_a_session_of_its_own_ends_with_its_server_where_that_is_limited() {
    let workdir = bank();
    let strays = "setsid sleep 600 & while :; do sleep 0.1; done";
    add(&workdir, "strays", "ready_s_max = 1\nstop_s_max = 1", strays);
    let line = format!("run tpcb/sqlite/strays --db sqlite:bank.db --limit server:cpu=0.5 {SHORT}");
    let ran = workdir.run(&line);
    // They were killed; the system takes its time to end them.
    until("nothing of it runs", || processes_in(&workdir.path("")).is_empty());
    if ran.err.contains("control groups") {
        return rig::for_tests::not_run("control groups are not ours to make; the refusal was seen");
    }
    ran.refused(&["the server `strays` did not print its listen address within 1 s"]);
}

#[test]
fn our_server_starts_whatever_is_in_the_usual_folder_of_servers() {
    let workdir = bank();
    fs::create_dir_all(workdir.path("servers/broken")).unwrap();
    write(workdir.path("servers/broken/server.toml"), "name = 7\n");
    let line = format!("run tpcb/sqlite/axum+rusqlite --db sqlite:bank.db {SHORT}");
    refused(&workdir, &line, &["servers/broken/server.toml:1:"]);
    let ran = workdir.run(&format!("{line} --servers others"));
    assert_good(&ran, &parse(&ran.out));
}

#[test]
fn another_name_of_an_engine_is_noted_once() {
    let workdir = Workdir::empty();
    let nowhere = "--db mysql://nobody@127.0.0.1:1/nothing";
    for line in [
        format!("run tpcc/mysql --warmup 0s --duration 1s {nowhere}"),
        format!("serve tpcc --engine mysql {nowhere}"),
    ] {
        let ran = workdir.run(&line);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert_eq!(ran.err.matches("note: `mysql` stands for `mariadb`").count(), 1, "{ran:?}");
    }
}

#[test]
fn a_server_that_fails_conformance_is_not_measured_and_leaves_no_folder() {
    let workdir = Workdir::empty();
    if !with_python(&workdir) {
        return;
    }
    let file = workdir.path("servers/python/tpcb.py");
    let right = fs::read_to_string(&file).unwrap();
    let wrong = right.replacen("{\"abalance\": balance}", "{\"abalance\": balance + 1}", 1);
    assert_ne!(wrong, right);
    write(file, &wrong);
    let words = ["tpcb/sqlite/python failed conformance; not measured", "abalance"];
    refused(&workdir, &format!("run tpcb/sqlite/python {SHORT}"), &words);
}
