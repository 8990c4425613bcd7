//! Connections that are cut at the worst moments: a call counts as committed only if its commit was acknowledged, and what
//! no one can know is in doubt.

use crate::workdir::{INTERRUPTED, Workdir};
use crate::{ENGINES, LONG, book, driver, ended, loaded, start_on, until_committed, until_it_goes_on};
use rig::Engine;
use serde_json::Value;
use sql::ServerUrl;
use stackmark_tests::engines::LockedServer;
use stackmark_tests::proxy::{Cut, Proxy};

/// One transaction of so many is cut.
const EVERY: u64 = 15;
/// In each way, at least.
const CUTS_MIN: u64 = 5;

/// Runs a subject through a proxy that cuts.
fn cut(server: &LockedServer, url: &ServerUrl, subject: &str) -> (Value, Proxy) {
    let proxy = Proxy::start(url.dialect, url.port, EVERY).unwrap();
    let through = ServerUrl { port: proxy.port(), ..url.clone() };
    let workdir = Workdir::empty();
    let line = format!("run {subject} --json {LONG} --clients 4 --think exp:10ms");
    let run = start_on(&workdir, &line, &through);
    until_committed(&run, &workdir);
    proxy.arm(true);
    let of_each = || Cut::ALL.iter().all(|cut| proxy.cuts(*cut) >= CUTS_MIN);
    run.until("there are cuts of each", of_each);
    // Well before the end: the witness comes through the same proxy, and its transactions are no one's calls.
    proxy.arm(false);
    until_it_goes_on(&run, &workdir);
    let (ran, trial) = ended(run);
    assert_eq!(ran.code(), INTERRUPTED, "{trial:#}");
    for cut in Cut::ALL {
        assert!(proxy.cuts(cut) > 0, "{cut:?} never happened; {}", server.engine.log_tail());
    }
    let in_doubt: u64 = Cut::ALL.map(|cut| proxy.cuts(cut)).iter().sum();
    assert_eq!(book(&trial, "in_doubt"), in_doubt, "each cut call is in doubt, and no other: {trial:#}");
    (trial, proxy)
}

/// Every call of `tpcb` writes one row of history.
fn check_tpcb(engine: Engine) {
    let mut server = LockedServer::of(engine);
    let url = loaded(&mut server, "tpcb");
    let entries = |server: &LockedServer| -> u64 {
        server.ask("tpcb", "select count(*) from pgbench_history").parse().unwrap()
    };
    let before = entries(&server);
    let (trial, proxy) = cut(&server, &url, &format!("tpcb/{}", driver(engine)));
    let written = entries(&server) - before;
    assert_eq!(
        written,
        book(&trial, "committed") + proxy.cuts(Cut::AnswerLost),
        "stored are the acknowledged calls and those whose commit arrived: {trial:#}"
    );
}

#[test]
fn on_postgresql_a_call_is_there_if_its_commit_arrived_and_counted_if_its_answer_did() {
    check_tpcb(Engine::Postgres);
}

#[test]
fn on_mariadb_a_call_is_there_if_its_commit_arrived_and_counted_if_its_answer_did() {
    check_tpcb(Engine::MariaDb);
}

#[test]
fn orders_and_payments_that_were_cut_lie_within_the_bounds_of_the_ledger() {
    for engine in ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcc");
        cut(&server, &url, &format!("tpcc/{}", driver(engine)));
    }
}
