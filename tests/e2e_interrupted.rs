//! Runs, servers and loads that are interrupted or killed: what was measured stays valid, what was acknowledged stays
//! stored, and nothing is left behind that runs.

use crate::e2e_workdir::{Ran, Running, Workdir, assert_good, is_alive, kill, parse, until};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Longer than any test lets it run. Clients that think leave the processors to other tests.
const LONG: &str = "--duration 60s --warmup 100ms --clients 4 --think exp:10ms";

/// Four clients have a call in flight each when their server is killed, and may meet its dying sockets once or twice more.
const IN_DOUBT_MAX: u64 = 12;

/// A run that has committed calls, and the server that it has started, if any.
fn in_the_middle(workdir: &Workdir, line: &str) -> Running {
    let run = workdir.start(line);
    run.until("calls are committed", || workdir.has_committed());
    run
}

fn book(document: &Value, column: &str) -> u64 {
    document["trials"][0]["overall"]["call_counts"][column].as_u64().unwrap()
}

fn checks(document: &Value, of: &str) -> Vec<String> {
    let found = document["trials"][0][of].as_array().unwrap();
    found.iter().map(|found| found["check"].as_str().unwrap().to_owned()).collect()
}

/// What was measured until the end is a result, audited and whole.
#[track_caller]
fn assert_valid_and_partial(ran: &Ran, document: &Value) {
    assert_good(ran, document);
    assert_eq!(document["state"], "interrupted");
    assert!(ran.err.contains("interrupted: the result covers what was measured until then"), "{ran:?}");
    assert!(document["trials"][0]["measured_s"].as_f64().is_some_and(|span| span > 0.5 && span < 60.0));
    assert!(book(document, "committed") > 0);
    assert!(!checks(document, "audits").contains(&"failed".to_owned()));
    assert!(checks(document, "ledger").iter().all(|check| check == "passed"));
}

#[test]
fn ctrl_c_ends_a_direct_run_with_a_valid_partial_result() {
    let workdir = Workdir::loaded();
    let run = in_the_middle(&workdir, &format!("run tpcc --json --db sqlite:bench.db {LONG}"));
    run.signal(Signal::INT);
    let ran = run.end();
    assert_valid_and_partial(&ran, &parse(&ran.out));
    workdir.assert_sound("bench.db");
}

/// Schedulers send SIGTERM, a closed terminal SIGHUP: both end a run as Ctrl-C does, and the exit status names the signal.
#[test]
fn every_signal_that_asks_to_stop_leaves_a_valid_partial_result_and_its_number() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let workdir = Workdir::loaded();
        let run = in_the_middle(&workdir, &format!("run tpcc --json --db sqlite:bench.db {LONG}"));
        run.signal(signal);
        let ran = run.end();
        assert_eq!(ran.code(), code, "{ran:?}");
        let document = parse(&ran.out);
        assert_eq!(document["state"], "interrupted");
        assert!(checks(&document, "ledger").iter().all(|check| check == "passed"));
        let report = |format: &str| {
            workdir.run(&format!("report --format {format} {}", workdir.only_run().display())).out
        };
        assert!(report("csv").contains(",interrupted,yes,sqlite,"), "{}", report("csv"));
        assert!(report("text").contains("  interrupted"), "{}", report("text"));
        assert!(report("junit").contains("failures=\"1\""), "{}", report("junit"));
    }
}

/// Neither a comparison of two loads nor one of a run that did not come to its end passes for an answer.
#[test]
fn stored_results_that_cannot_be_compared_are_bad() {
    let workdir = Workdir::loaded();
    for clients in ["1", "2"] {
        let line = format!(
            "run tpcc --db sqlite:bench.db --duration 1s --warmup 100ms --clients {clients} --out {clients}"
        );
        assert_eq!(workdir.run(&line).code(), 0);
    }
    let result = |clients: &str| fs::read_dir(workdir.path(clients)).unwrap().next().unwrap().unwrap().path();
    let compare = |a: &Path, b: &Path| workdir.run(&format!("compare {} {}", a.display(), b.display()));
    let (one, two) = (result("1"), result("2"));
    let different = compare(&one, &two);
    assert!(different.code() == 1 && different.out.contains("not comparable"), "{different:?}");
    let json = one.join("result.json");
    let text = fs::read_to_string(&json).unwrap();
    fs::write(&json, text.replace("\"state\": \"complete\"", "\"state\": \"interrupted\"")).unwrap();
    let cut = compare(&one, &one);
    assert!(cut.code() == 1 && cut.out.contains("is invalid (its"), "{cut:?}");
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let workdir = Workdir::loaded();
    let mut command = std::process::Command::new("nohup");
    let line = "run tpcc --json --db sqlite:bench.db --duration 1s --warmup 100ms --clients 2";
    let plain = workdir.command(line);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(workdir.path(""));
    let run = Running::start(command);
    run.until("calls are committed", || workdir.has_committed());
    run.signal(Signal::HUP);
    let ran = run.end();
    assert_good(&ran, &parse(&ran.out));
}

/// What is known of a run that is killed before its window opens is what it ran on. No rate, no audit: neither is shown as if it
/// were known.
#[test]
fn a_report_of_a_killed_run_shows_what_was_read_and_nothing_else() {
    let workdir = Workdir::loaded();
    let run = workdir
        .start("run tpcc --db sqlite:bench.db --duration 60s --warmup 60s --clients 2 --think exp:10ms");
    run.until("it warms up", || {
        let text =
            workdir.runs().first().map(|run| fs::read_to_string(run.join("result.json")).unwrap_or_default());
        text.is_some_and(|text| text.contains("\"engine\": \"sqlite\""))
    });
    run.signal(Signal::KILL);
    run.end_anyhow();
    let report = |format: &str| {
        let ran = workdir.run(&format!("report --format {format} {}", workdir.only_run().display()));
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.out
    };
    let text = report("text");
    for shown in ["sqlite 3.", "journal_mode=wal", "– new orders/min", "UNVERIFIED", "running"] {
        assert!(text.contains(shown), "{shown:?} is not in {text}");
    }
    let csv = report("csv");
    let row = csv.lines().nth(1).unwrap().replace("\"closed loop, think time exp:10ms\"", "closed loop");
    let row: Vec<&str> = row.split(',').collect();
    let cell =
        |name: &str| row[csv.lines().next().unwrap().split(',').position(|column| column == name).unwrap()];
    let tier = workdir.document()["trials"][0]["stack"]["durability"]["tier"].as_str().unwrap().to_owned();
    for (name, value) in [
        ("state", "running"),
        ("validated", "no"),
        ("engine", "sqlite"),
        ("durability", tier.as_str()),
        ("headline", ""),
        ("rate_per_s", ""),
    ] {
        assert_eq!(cell(name), value, "{name}: {csv}");
    }
    let junit = report("junit");
    assert!(junit.contains("failures=\"1\"") && junit.contains("not finished"), "{junit}");
    let other = workdir.run(&format!("compare {0} {0}", workdir.only_run().display()));
    assert_eq!(other.code(), 1, "{other:?}");
    let history = workdir.run(&format!("report --history --format csv {}", workdir.only_run().display()));
    assert!(history.out.contains(",no,") && !history.out.contains(",yes,"), "{history:?}");
}

#[test]
fn ctrl_c_in_the_warm_up_gives_no_rate() {
    let workdir = Workdir::loaded();
    let run = workdir
        .start("run tpcc --db sqlite:bench.db --duration 60s --warmup 60s --clients 2 --think exp:10ms");
    // Partial results are written with every slice, also of the warm-up.
    run.until("it warms up", || workdir.runs().first().is_some_and(|run| run.join("result.json").exists()));
    run.signal(Signal::INT);
    run.end().interrupted(&["interrupted before anything was measured", "result.json"]);
    assert_eq!(workdir.document()["state"], "interrupted");
    workdir.assert_sound("bench.db");
}

#[test]
fn ctrl_c_ends_a_run_through_http_and_the_server_with_it() {
    let workdir = Workdir::loaded();
    let run = in_the_middle(&workdir, &format!("run tpcc/sqlite/axum+rusqlite --db sqlite:bench.db {LONG}"));
    let server = run.server();
    let session = rustix::process::getsid(Pid::from_raw(server.cast_signed())).unwrap();
    assert_eq!(session.as_raw_pid(), server.cast_signed(), "a terminal's Ctrl-C must not reach it");
    run.signal(Signal::INT);
    let ran = run.end();
    assert!(!is_alive(server), "a run waits for its server");
    assert_valid_and_partial(&ran, &workdir.document());
    workdir.assert_sound("bench.db");
}

#[test]
fn ctrl_c_in_the_load_of_a_private_database_leaves_nothing() {
    let workdir = Workdir::empty();
    let run = workdir.start("run tpcc --scale 100");
    run.until("it loads", || workdir.files().iter().any(|file| file.ends_with(".loading")));
    run.signal(Signal::INT);
    run.end().interrupted(&["interrupted while loading"]);
    assert_eq!(workdir.files(), ["results"]);
}

#[test]
fn an_interrupted_load_is_recognised_and_can_be_started_again() {
    let workdir = Workdir::empty();
    for (signal, more) in [(Signal::INT, ""), (Signal::KILL, " --fresh")] {
        let load = workdir.start(&format!("load tpcc --scale 100 --db sqlite:bench.db{more}"));
        load.until("rows are stored", || {
            fs::metadata(workdir.path("bench.db.loading")).is_ok_and(|about| about.len() > 1 << 20)
        });
        load.signal(signal);
        let ran = load.end();
        if signal == Signal::INT {
            ran.interrupted(&[
                "bench.db.loading is left incomplete",
                "stackmark load tpcc --scale 100 --db sqlite:bench.db --fresh",
            ]);
        }
        assert_eq!(workdir.files(), ["bench.db.loading"]);
        for line in [
            "run tpcc --db sqlite:bench.db",
            "serve tpcc --listen 127.0.0.1:0 --db sqlite:bench.db",
            "audit tpcc --db sqlite:bench.db",
            "load tpcc --db sqlite:bench.db",
        ] {
            let ran = workdir.run(line);
            ran.refused(&["incomplete load", "stackmark load tpcc --scale 1 --db sqlite:bench.db --fresh"]);
            assert_eq!(workdir.files(), ["bench.db.loading"], "{ran:?}");
        }
    }
    // The very command that all of them name.
    let ran = workdir.run("load tpcc --scale 1 --db sqlite:bench.db --fresh");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(workdir.files(), ["bench.db"]);
    assert_eq!(workdir.run("audit tpcc --db sqlite:bench.db").code(), 0);
}

#[test]
fn killing_the_server_of_a_run_voids_the_run_and_loses_no_acknowledged_call() {
    let workdir = Workdir::loaded();
    let run = in_the_middle(&workdir, &format!("run tpcc/sqlite/axum+rusqlite --db sqlite:bench.db {LONG}"));
    kill(run.server());
    let ran = run.end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.contains("the server ended by itself"), "{ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "failed");
    // A call in flight is in doubt, later ones are refused; both count as what they are.
    assert!(book(&document, "in_doubt") <= IN_DOUBT_MAX && book(&document, "defect") == 0);
    assert!(checks(&document, "ledger").iter().all(|check| check == "passed"));
    workdir.assert_sound("bench.db");
}

#[test]
fn killing_a_server_of_another_user_invalidates_the_run_too() {
    let workdir = Workdir::loaded();
    let (server, url) = workdir.serve();
    let line = format!("run tpcc --url {url} --db sqlite:bench.db --duration 10s --warmup 100ms --clients 4");
    let run = in_the_middle(&workdir, &line);
    server.signal(Signal::KILL);
    let ran = run.end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.contains("the server is gone"), "{ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "failed");
    assert!(book(&document, "refused") > 0 && book(&document, "in_doubt") <= IN_DOUBT_MAX, "{ran:?}");
    workdir.assert_sound("bench.db");
}

#[test]
fn a_server_that_is_asked_to_end_finishes_its_calls() {
    let workdir = Workdir::loaded();
    let (server, url) = workdir.serve();
    let line = format!("run tpcc --url {url} --db sqlite:bench.db --duration 10s --warmup 100ms --clients 4");
    let run = in_the_middle(&workdir, &line);
    server.signal(Signal::TERM);
    let served = server.end();
    assert_eq!(served.code(), 0, "{served:?}");
    let ran = run.end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    let document = workdir.document();
    // A call may cross the close of its idle connection on the way: no one can tell what became of it.
    assert!(book(&document, "in_doubt") <= 4 && book(&document, "defect") == 0, "{ran:?}");
    assert!(book(&document, "refused") > 0, "{ran:?}");
    workdir.assert_sound("bench.db");
}

/// What a killed run leaves can be read, is said to be not a finished result, and what it acknowledged is stored.
#[track_caller]
fn assert_readable_and_sound(workdir: &Workdir, database: &str) {
    let listed = workdir.run(&format!("report --json {}", workdir.only_run().display()));
    let document = parse(&listed.out);
    assert_eq!((listed.code(), &document["state"]), (0, &"running".into()));
    assert!(book(&document, "committed") > 0);
    let ran = workdir.run(&format!("report {}", workdir.only_run().display()));
    assert!(ran.code() == 0 && ran.out.contains("running"), "{ran:?}");
    workdir.assert_sound(database);
}

#[test]
fn killing_the_generator_leaves_a_readable_result_and_no_server() {
    let workdir = Workdir::loaded();
    let run = in_the_middle(&workdir, &format!("run tpcc/sqlite/axum+rusqlite --db sqlite:bench.db {LONG}"));
    let server = run.server();
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    until("the server has ended", || !is_alive(server));
    assert_readable_and_sound(&workdir, "bench.db");
}

#[test]
fn a_killed_run_leaves_its_private_database_until_the_next_run() {
    let workdir = Workdir::empty();
    let run = in_the_middle(&workdir, &format!("run tpcc {LONG}"));
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    let private = workdir.only_run().join("private");
    let database = private.join("tpcc.db").display().to_string();
    assert_readable_and_sound(&workdir, &database);
    // It fails before it measures anything, and clears away what the dead one left all the same.
    let next = workdir.start("run tpcc --scale 100");
    next.until("the next run has begun", || !private.exists());
    next.signal(Signal::INT);
    next.end().interrupted(&["interrupted"]);
    assert!(workdir.only_run().join("result.json").exists());
}

/// A run that is killed while it loads leaves a document that names its subject, and says that nothing was measured.
#[test]
fn a_run_that_is_killed_while_it_loads_leaves_a_readable_result() {
    let workdir = Workdir::empty();
    let run = workdir.start("run tpcc --scale 100");
    run.until("it loads", || workdir.files().iter().any(|file| file.ends_with(".loading")));
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    let document = workdir.document();
    assert_eq!(
        (&document["state"], document["trials"].as_array().map(Vec::len)),
        (&"running".into(), Some(0))
    );
    let folder = workdir.only_run().display().to_string();
    let report = workdir.run(&format!("report {folder}"));
    assert!(report.code() == 0 && report.out.contains("no trial was measured yet"), "{report:?}");
    let junit = workdir.run(&format!("report {folder} --format junit"));
    assert!(
        junit.out.contains("<failure message=\"no trial was measured; the run is running\""),
        "{junit:?}"
    );
    workdir.run(&format!("compare {folder} {folder}")).refused(&["has no trial: its run is running"]);
}

/// A price beyond all money overflows where an order is added up, which panics in the worker: the trial cannot be ended, and
/// what it had come to is not thrown away with it.
#[test]
fn a_worker_that_panics_leaves_what_the_trial_had_come_to() {
    let workdir = Workdir::loaded();
    let run = in_the_middle(&workdir, &format!("run tpcc --db sqlite:bench.db?synchronous=normal {LONG}"));
    let shop = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
    // Until the calls under way let it in.
    shop.busy_timeout(std::time::Duration::from_secs(300)).unwrap();
    shop.execute("update item set i_price = i_price + 9000000000000000000", []).unwrap();
    let ran = run.end_anyhow();
    ran.refused(&["a worker panicked: attempt to ", " with overflow"]);
    // What was ordered before had a price.
    shop.execute("update item set i_price = i_price - 9000000000000000000", []).unwrap();
    assert_readable_and_sound(&workdir, "bench.db");
}
