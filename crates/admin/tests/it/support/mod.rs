//! Tiny databases for tests: loaded, and run on through the real adapter.
#![allow(unreachable_pub, reason = "only tests use this")]

use admin::{AuditGroup, AuditQuery, AuditRows, Error, LoadPlan, LoadRecord, Loaded, LockAttempt, store};
use model::{CallWork, Inputs as _, Nanos, Session, Target};
use rusqlite::Connection;
use sql::{Dialect, ServerUrl, SqliteUrl};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Poll, Waker};
use workload_tpcc::audit::{self, Audit, Context, Finding};
use workload_tpcc::{Cardinality, Data, Inputs, SqlTarget};

/// The tables of TPC-C.
pub(crate) const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];

pub const SEED: u64 = 11;

pub fn plan(size: Cardinality, seed: u64) -> LoadPlan {
    LoadPlan {
        dataset: Arc::new(Data::new(size, seed)),
        schema: workload_tpcc::schema(Dialect::Sqlite).unwrap(),
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: "0.0.0".into(),
            workload: "tpcc".into(),
            scale: u64::from(size.warehouses),
            size: serde_json::to_string(&size).unwrap(),
            seed,
        },
        threads: 2,
        fresh: false,
        references: false,
        reload: "stackmark load tpcc --fresh".into(),
    }
}

pub fn load_quietly(url: &SqliteUrl, plan: LoadPlan) -> Result<Loaded, Error> {
    store(url).load(plan, &mut |_| {}, &AtomicBool::new(false))
}

/// A tiny database in a folder.
pub fn tiny(folder: &Path) -> SqliteUrl {
    let url = SqliteUrl::file(folder.join("tiny.db"));
    load_quietly(&url, plan(Cardinality::tiny(), SEED)).unwrap();
    url
}

/// Runs calls of both warehouses through the real adapter.
pub fn run_calls(url: &SqliteUrl, size: Cardinality, calls: usize) {
    let clock = measure::Monotonic::start();
    let statements = workload_tpcc::catalogue(Dialect::Sqlite).unwrap();
    let opener = adapter_rusqlite::SqliteOpener::new(url, statements, clock).unwrap();
    let target = SqlTarget::new(opener, clock);
    let mut session = at_once(target.open(0)).unwrap();
    let mut streams: Vec<Inputs> =
        (0..size.warehouses * 10).map(|worker| Inputs::new(size, Data::c_load_of(SEED), 5, worker)).collect();
    let count = streams.len();
    for number in 0..calls {
        let call = streams[number % count].draw();
        at_once(session.run(&call, &mut CallWork::default())).unwrap();
    }
}

/// The result of a future that never waits.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a blocking session never waits"),
    }
}

pub fn execute(url: &SqliteUrl, statements: &str) {
    let conn = Connection::open(&url.path).unwrap();
    conn.execute_batch("pragma foreign_keys=off; pragma synchronous=off").unwrap();
    conn.execute_batch(statements).unwrap();
}

pub fn groups(context: &Context) -> (Vec<Audit>, Vec<AuditGroup>) {
    let groups = audit::audits(Dialect::Sqlite).unwrap();
    let asked = groups
        .iter()
        .map(|group| AuditGroup {
            prepare: group.prepare.clone(),
            queries: group
                .audits
                .iter()
                .map(|audit| AuditQuery {
                    name: audit.name.clone(),
                    sql: audit.query.clone(),
                    rows_max: audit.rows_max,
                })
                .collect(),
            params: context.params(),
        })
        .collect();
    (groups.into_iter().flat_map(|group| group.audits).collect(), asked)
}

/// Every audit and what it found.
pub fn findings(url: &SqliteUrl, size: Cardinality) -> Vec<(Audit, Finding)> {
    findings_in(url, &Context::fresh(size))
}

/// The same of data of which more is known.
pub fn findings_in(url: &SqliteUrl, context: &Context) -> Vec<(Audit, Finding)> {
    let (audits, asked) = groups(context);
    let witness = store(url);
    let found = witness.audit_all(&asked, 2, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    assert_eq!(found.rows.len(), audits.len());
    audits
        .into_iter()
        .zip(found.rows)
        .map(|(audit, AuditRows { name, rows, .. })| {
            assert_eq!(audit.name, name, "rows come in the order of the queries");
            let rows = rows.unwrap_or_else(|why| panic!("{name}: {why}"));
            let finding = audit.judge(&rows, context);
            (audit, finding)
        })
        .collect()
}

/// The lock of a run on a database is free as soon as it was given back, and meanwhile no one else gets it.
pub fn a_lock_that_was_given_back_is_free_at_once(url: &ServerUrl) {
    let store = admin::store(url);
    for shared in (0..30).map(|round| round % 2 == 0) {
        let held = store.hold(shared).unwrap();
        assert!(matches!(held, LockAttempt::Ours(_)), "{held:?}");
        let other = store.hold(false).unwrap();
        assert!(matches!(other, LockAttempt::Others(_)), "{other:?}");
    }
}

/// Audits, and changes that they must notice, which every engine takes as they are.
pub const FAULTS_EVERYWHERE: &[(&str, &str)] = &[
    // What no transaction shortens.
    (
        "loaded-texts",
        "update customer set c_data = substr(c_data, 1, 299) where c_w_id = 1 and c_d_id = 1 and c_id = 2",
    ),
    ("loaded-texts", "update customer set c_data = '' where c_credit = 'BC' and c_payment_cnt = 1"),
    ("loaded-texts", "update stock set s_data = substr(s_data, 1, 25) where s_w_id = 2 and s_i_id = 7"),
    ("loaded-texts", "update item set i_data = substr(i_data, 1, 25) where i_id = 7"),
];
