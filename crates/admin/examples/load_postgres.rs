//! Loads TPC-C into an existing PostgreSQL database, audits it, copies it, and says how long each took:
//! `cargo run --release -p admin --example load_postgres -- postgres://USER@HOST/DATABASE WAREHOUSES`.

use admin::{AuditGroup, AuditQuery, LoadPlan, LoadRecord, Loaded, store};
use model::{Clock, Nanos};
use sql::{Dialect, ServerUrl};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcc::audit::{self, Context};
use workload_tpcc::{Cardinality, Data};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let url: ServerUrl = args.next().ok_or("a URL is missing")?.parse()?;
    let size = Cardinality::standard(args.next().ok_or("the warehouses are missing")?.parse()?);
    let clock = measure::Monotonic::start();
    store(&url).remove()?;
    store(&url).create()?;
    let loaded = store(&url).load(plan(size)?, &mut |_| {}, &AtomicBool::new(false))?;
    if let Loaded::Now { contents, bytes, times, .. } = &loaded {
        eprintln!(
            "loaded {} rows, {} MB in {:.1} s: {times:?}",
            contents.rows(),
            bytes / 1_000_000,
            clock.now().as_secs_f64()
        );
    }
    eprintln!("most memory: {}", memory()?);
    audit_all(&url, size)?;
    let copy = ServerUrl { database: format!("{}_copy", url.database), ..url.clone() };
    let since = clock.now();
    store(&url).copy_to(&copy, false)?;
    eprintln!("copied in {:.1} s", (clock.now() - since).as_secs_f64());
    store(&copy).remove()?;
    Ok(())
}

fn plan(size: Cardinality) -> Result<LoadPlan, Failure> {
    Ok(LoadPlan {
        dataset: Arc::new(Data::new(size, 7)),
        schema: workload_tpcc::schema(Dialect::Postgres)?,
        record: LoadRecord {
            kit: "stackmark".into(),
            kit_version: "0.0.0".into(),
            workload: "tpcc".into(),
            scale: size.warehouses.into(),
            size: serde_json::to_string(&size)?,
            seed: 7,
        },
        threads: 2,
        fresh: false,
        references: false,
        start_anew: "stackmark load --fresh".into(),
    })
}

fn audit_all(url: &ServerUrl, size: Cardinality) -> Result<(), Failure> {
    let context = Context::fresh(size);
    let groups: Vec<AuditGroup> = audit::audits(Dialect::Postgres)?
        .into_iter()
        .map(|group| AuditGroup {
            prepare: group.prepare,
            queries: group
                .audits
                .into_iter()
                .map(|audit| AuditQuery { name: audit.name, sql: audit.query, rows_max: audit.rows_max })
                .collect(),
            params: context.params(),
        })
        .collect();
    let stop = AtomicBool::new(false);
    let found = store(url).audit_all(&groups, 2, Nanos::from_secs(600), &stop)?;
    for rows in &found.rows {
        let said = rows.rows.as_ref().map_or_else(|why| why.clone(), |rows| format!("{} rows", rows.len()));
        eprintln!("  {:6.2} s  {}: {said}", rows.took.as_secs_f64(), rows.name);
    }
    eprintln!("audited in {:.1} s", found.took.as_secs_f64());
    Ok(())
}

fn memory() -> Result<String, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok(status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("unknown").to_owned())
}
