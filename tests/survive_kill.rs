//! An engine that is killed in the middle of a run and comes back: the run goes on, says how long it was alone, and no
//! acknowledged call is lost.

use crate::workdir::{INTERRUPTED, Workdir};
use crate::{
    LONG, assert_interrupted, book, committed_in, driver, interrupted, loaded, run_on, start_on, trial_of,
    until_committed, until_counted, until_it_goes_on_or,
};
use rig::Engine;
use rig::for_tests::recovers;
use serde_json::Value;
use stackmark_tests::engines::{LockedServer, small};
use std::time::Duration;

const CLIENTS: u64 = 4;
/// How long an engine is away from when calls have found that it is, next to the time it takes to recover.
const AWAY: Duration = Duration::from_millis(500);
/// Each client has a call in flight when the engine goes, which is in doubt if it was committing; a session that comes back while
/// the engine still goes may lose another.
const IN_DOUBT_MAX: u64 = 2 * CLIENTS;

/// Kills an engine in the middle of a run of a subject, and starts it again.
fn check(engine: Engine, subject: &str) {
    let mut server = LockedServer::of(engine);
    let workload = subject.split('/').next().unwrap();
    let (workdir, url) = (Workdir::empty(), loaded(&mut server, workload));
    let line = format!("run {subject} --json {LONG} --clients {CLIENTS} --think exp:10ms");
    let run = start_on(&workdir, &line, &url);
    until_committed(&run, &workdir);
    server.engine.kill();
    until_counted(&run, &workdir, "refused");
    std::thread::sleep(AWAY);
    if !recovers(&mut server.engine) {
        return;
    }
    until_it_goes_on_or(&run, &workdir, || !server.engine.is_alive());
    let (ran, trial) = interrupted(run);
    if !server.engine.is_alive() {
        assert!(!recovers(&mut server.engine), "{} ended by itself", engine.name());
        return;
    }
    assert_interrupted(&trial);
    assert_eq!(ran.code(), INTERRUPTED, "{trial:#}");
    assert!(book(&trial, "in_doubt") <= IN_DOUBT_MAX, "{}", trial["overall"]["call_counts"]);
    assert_eq!(book(&trial, "defect"), 0);

    let outages = trial["outages"].as_array().unwrap();
    let second = |of: &Value| of.as_f64().unwrap();
    // On a busy machine a call that was answered before may be noticed late, and divide it.
    let (Some(first), Some(last)) = (outages.first(), outages.last()) else { panic!("{trial:#}") };
    let (from, to) = (second(&first["from_s"]), second(&last["to_s"]));
    assert!(to - from >= AWAY.as_secs_f64() && to < second(&trial["measured_s"]), "{outages:#?}");
    // It is longer than a slice: in the one in which it ended, too, what was committed came after it.
    let ends = |slice: &Value| second(&slice["t_s"]) + second(&slice["duration_s"]);
    let mut after = trial["slices"].as_array().unwrap().iter().filter(|slice| ends(slice) > to);
    assert!(after.any(|slice| committed_in(slice) > 0), "no call was made after the outage: {trial:#}");

    let report = workdir.run(&format!("report {}", workdir.only_run().display()));
    assert!(report.out.contains("engine unavailable for"), "{}", report.out);
    // Again, by a witness that knows nothing of the run but its claims.
    let audit = run_on(&workdir, &format!("audit {workload} --run {}", workdir.only_run().display()), &url);
    assert_eq!(audit.code(), 0, "{audit:?}");
}

#[test]
fn a_killed_postgresql_loses_no_acknowledged_call_and_the_run_goes_on() {
    check(Engine::Postgres, &format!("tpcc/{}", driver(Engine::Postgres)));
}

#[test]
fn a_killed_mariadb_loses_no_acknowledged_call_and_the_run_goes_on() {
    check(Engine::MariaDb, &format!("tpcc/{}", driver(Engine::MariaDb)));
}

#[test]
fn a_server_over_http_reopens_its_sessions_on_a_killed_engine() {
    check(Engine::Postgres, "tpcc/postgres/axum+tokio-postgres");
}

#[test]
fn tpcb_goes_on_after_its_engine_was_killed() {
    check(Engine::MariaDb, "tpcb/mariadb/mysql-async");
}

#[test]
fn a_run_whose_engine_does_not_come_back_is_finished_as_failed() {
    let mut server = small(Engine::Postgres, &[]);
    server.create_database("tpcb").unwrap();
    let (workdir, url) = (Workdir::empty(), server.tcp_url("tpcb"));
    assert_eq!(run_on(&Workdir::empty(), "load tpcb --scale 1", &url).code(), 0);
    let line = format!("run tpcb/{} --json --duration 6s --warmup 0s --clients 2", driver(Engine::Postgres));
    let run = start_on(&workdir, &line, &url);
    until_committed(&run, &workdir);
    server.kill();
    let ran = run.end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = trial_of(&ran);
    assert_eq!(trial["state"], "failed", "{trial:#}");
    assert!(trial["failure"].as_str().unwrap().contains("could not be audited"), "{}", trial["failure"]);
    assert!(book(&trial, "committed") > 0);
    let outage = trial["outages"].as_array().unwrap().last().unwrap();
    assert_eq!((&outage["missing"], &outage["to_s"]), (&"everything".into(), &Value::Null));
    let folder = workdir.only_run();
    assert!(ran.err.contains(folder.file_name().unwrap().to_str().unwrap()), "{ran:?}");
    assert_eq!(workdir.document()["state"], "failed");
    assert!(!folder.join("progress.jsonl").exists());
}
