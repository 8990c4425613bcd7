//! Private engines with data on them, as `stackmark run` starts and loads them.

use crate::data::LOAD_SEED;
use admin::{AuditGroup, AuditQuery, LoadPlan, LoadRecord, Loaded};
use model::rows::Dataset;
use rig::{Engine, Options, Running};
use serde_json::to_string;
use sql::{Catalogue, Dialect, ServerUrl};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcc::audit::{Context, audits};

/// A load of TPC-C.
///
/// # Panics
/// When the schema cannot be read; a test keeps it readable.
pub fn tpcc(dialect: Dialect, warehouses: u32) -> LoadPlan {
    let size = workload_tpcc::Cardinality::standard(warehouses);
    let schema = workload_tpcc::schema(dialect).expect("kept valid by a test");
    let dataset = Arc::new(workload_tpcc::Data::new(size, LOAD_SEED));
    plan("tpcc", warehouses, to_string(&size).expect("plain numbers become JSON"), schema, dataset)
}

/// A load of tpcb.
///
/// # Panics
/// When the schema cannot be read; a test keeps it readable.
pub fn tpcb(dialect: Dialect, branches: u32) -> LoadPlan {
    let size = workload_tpcb::Cardinality::standard(branches);
    let schema = workload_tpcb::schema(dialect).expect("kept valid by a test");
    let dataset = Arc::new(workload_tpcb::Data::new(size));
    plan("tpcb", branches, to_string(&size).expect("plain numbers become JSON"), schema, dataset)
}

/// A load of what is in one store of a bank of transfers.
///
/// # Panics
/// When the schema cannot be read; a test keeps it readable.
pub fn transfer(dialect: Dialect, part: workload_transfer::Cardinality) -> LoadPlan {
    let schema = workload_transfer::schema(dialect).expect("kept valid by a test");
    let dataset = Arc::new(workload_transfer::Data::new(part));
    let size = to_string(&part).expect("plain numbers become JSON");
    plan("transfer", part.branches, size, schema, dataset)
}

/// A load of bookings.
///
/// # Panics
/// When the schema cannot be read; a test keeps it readable.
pub fn booking(dialect: Dialect, size: workload_booking::Cardinality) -> LoadPlan {
    let schema = workload_booking::schema(dialect).expect("kept valid by a test");
    let dataset = Arc::new(workload_booking::Data::new(size));
    plan("booking", size.events, to_string(&size).expect("plain numbers become JSON"), schema, dataset)
}

fn plan(workload: &str, scale: u32, size: String, schema: Catalogue, dataset: Arc<dyn Dataset>) -> LoadPlan {
    LoadPlan {
        dataset,
        schema,
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            workload: workload.into(),
            scale: u64::from(scale),
            size,
            seed: LOAD_SEED,
        },
        threads: 0,
        fresh: true,
        references: false,
        reload: "make bench".into(),
    }
}

/// Starts an engine with everything at its durable defaults. None, and said why, where it is not installed.
pub fn start(engine: Engine) -> Option<Running> {
    start_with(engine, &[])
}

/// Like [`start`], with further settings.
pub fn start_with(engine: Engine, settings: &[(&str, &str)]) -> Option<Running> {
    let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    match rig::start(engine, &Options { settings, ..Options::default() }) {
        Ok(running) => Some(running),
        Err(error) => {
            crate::output::skipped(&error.to_string());
            None
        }
    }
}

/// Makes a database on an engine and loads it.
///
/// # Panics
/// When the engine or the disk refuses: a bench has no one to hand an error to.
pub fn load(engine: &Running, name: &str, plan: LoadPlan) -> (ServerUrl, Loaded) {
    engine.create_database(name).expect("a private engine takes a database");
    let (url, stop) = (engine.url(name), AtomicBool::new(false));
    let loaded = admin::store(&url).load(plan, &mut |_| {}, &stop);
    (url, loaded.expect("the disk of the benches takes a load"))
}

/// All audits of TPC-C, as `stackmark run` asks them of data that it has loaded.
///
/// # Panics
/// When they cannot be read; a test keeps them readable.
pub fn tpcc_audits(dialect: Dialect, warehouses: u32) -> Vec<AuditGroup> {
    let params = Context::standard(warehouses).params();
    let query = |audit: &workload_tpcc::audit::Audit| AuditQuery {
        name: audit.name.clone(),
        sql: audit.query.clone(),
        rows_max: audit.rows_max,
    };
    let groups = audits(dialect).expect("kept valid by a test");
    groups
        .iter()
        .map(|group| AuditGroup {
            prepare: group.prepare.clone(),
            queries: group.audits.iter().map(query).collect(),
            params: params.clone(),
        })
        .collect()
}
