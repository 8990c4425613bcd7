//! What servers report, on private servers.

use observe::Gauge;
use rig::{Engine, Options};

fn names(gauges: &[Gauge]) -> Vec<&str> {
    gauges.iter().map(|gauge| gauge.name.as_ref()).collect()
}

/// What is said in the end: an answer that takes longer than a second is none, and on a busy machine one may.
fn answered<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    (0..60).find_map(|_| ask()).expect("the server answers")
}

/// Asks a server twice with a look at its sessions in between, and once after it has gone.
fn check(engine: Engine, expected: &[&str]) {
    let server = rig::start(engine, &Options::small(engine)).unwrap();
    let url = server.url("asked");
    let store = admin::store(url);
    store.create().unwrap();
    let mut probe = store.probe().unwrap();
    assert_eq!(probe.states(), None, "no one has connected yet");
    let (gauges, states) = answered(|| Some((probe.gauges()?, probe.states()?)));
    for name in expected {
        assert!(names(&gauges).contains(name), "{name} is missing: {:?}", names(&gauges));
    }
    assert_eq!(states, [], "no one but the probe is here");
    assert_eq!(probe.statements(), [], "they are not counted");
    // The connection outlives what the server refuses, or is opened again.
    answered(|| probe.gauges());
    drop(server);
    assert_eq!((probe.states(), probe.gauges()), (None, None));
}

#[test]
fn postgres_tells_of_its_log_locks_buffers_and_checkpoints() {
    check(
        Engine::Postgres,
        &[
            "commits",
            "buffer reads",
            "deadlocks",
            "wal written",
            "wal syncs",
            "full page images",
            "tables vacuumed",
            "checkpoints by wal",
            "locks waited for",
        ],
    );
}

#[test]
fn mariadb_tells_of_its_log_locks_and_buffers() {
    check(
        Engine::MariaDb,
        &[
            "commits",
            "row lock waits",
            "row lock time",
            "log waits",
            "log written",
            "dirty pages",
            "checkpoint age",
        ],
    );
}
