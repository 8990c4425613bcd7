//! One server, which others may share, and a database for each test.

use admin::{Error, LoadPlan, LoadRecord, Loaded, store};
use model::rows::{Dataset, RowSink, Table};
use rig::Engine;
use rig::for_tests::{SharedEngine, shared};
use rusqlite::types::ValueRef;
use sql::{Dialect, ServerUrl};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcc::{Cardinality, Data};

use crate::support as sqlite;
pub(crate) use crate::support::SEED;

fn server() -> &'static SharedEngine {
    shared(Engine::Postgres)
}

/// The URL of a database that is not there yet.
pub(crate) fn nowhere(name: &str) -> ServerUrl {
    server().url(name)
}

pub(crate) fn empty(name: &str) -> ServerUrl {
    let url = nowhere(name);
    store(&url).create().unwrap();
    url
}

pub(crate) fn plan(size: Cardinality, seed: u64) -> LoadPlan {
    plan_of(Arc::new(Data::new(size, seed)), size, seed)
}

fn plan_of(dataset: Arc<dyn Dataset>, size: Cardinality, seed: u64) -> LoadPlan {
    LoadPlan {
        dataset,
        schema: workload_tpcc::schema(Dialect::Postgres).unwrap(),
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
        reload: "stackmark load tpcc/postgres --fresh".into(),
    }
}

pub(crate) fn tiny_plan() -> LoadPlan {
    plan(Cardinality::tiny(), SEED)
}

pub(crate) fn load_quietly(url: &ServerUrl, plan: LoadPlan) -> Result<Loaded, Error> {
    store(url).load(plan, &mut |_| {}, &AtomicBool::new(false))
}

pub(crate) fn tiny(name: &str) -> ServerUrl {
    let url = empty(name);
    load_quietly(&url, tiny_plan()).unwrap();
    url
}

/// What the same load gives on SQLite.
pub(crate) fn on_sqlite() -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let url = sql::SqliteUrl::file(folder.path().join("tiny.db"));
    sqlite::load_quietly(&url, sqlite::plan(Cardinality::tiny(), SEED)).unwrap()
}

/// Statements by someone else than the code under test.
pub(crate) fn execute(url: &ServerUrl, statements: &str) -> String {
    server().client(&url.database, statements).unwrap()
}

/// Loads what a tiny SQLite database holds after a run.
pub(crate) fn load_after_a_run(url: &ServerUrl, calls: usize) {
    let folder = tempfile::tempdir().unwrap();
    let there = sqlite::tiny(folder.path());
    sqlite::run_calls(&there, Cardinality::tiny(), calls);
    let stored = Stored { file: there.path.clone(), tables: whole(&Data::new(Cardinality::tiny(), SEED)) };
    load_quietly(url, plan_of(Arc::new(stored), Cardinality::tiny(), SEED)).unwrap();
}

/// The rows of a SQLite database.
struct Stored {
    file: PathBuf,
    tables: Vec<Table>,
}

/// Tables in one chunk each.
fn whole(data: &Data) -> Vec<Table> {
    data.tables().iter().map(|table| Table { chunks: 1, ..table.clone() }).collect()
}

impl Dataset for Stored {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn fill(&self, table: usize, _: u32, sink: &mut dyn RowSink) {
        let Table { name, columns, .. } = &self.tables[table];
        let conn = rusqlite::Connection::open(&self.file).unwrap();
        let mut select = conn.prepare(&format!("select {} from {name}", columns.join(", "))).unwrap();
        let mut rows = select.raw_query();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns.len() {
                match row.get_ref(column).unwrap() {
                    ValueRef::Null => sink.null(),
                    ValueRef::Integer(value) => sink.int(value),
                    ValueRef::Text(text) => sink.text(std::str::from_utf8(text).unwrap()),
                    other => panic!("{other:?}"),
                }
            }
            sink.end();
        }
    }
}
