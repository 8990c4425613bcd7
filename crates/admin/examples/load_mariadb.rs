//! Loads TPC-C into MariaDB and says how fast, by both ways: `cargo run --release -p stackmark-admin --example load_mariadb -- URL
//! [WAREHOUSES] [load-data | inserts] [THREADS]`.

use admin::mariadb::{Way, store_by};
use admin::{LoadPlan, LoadRecord, Loaded, store};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcc::{Cardinality, Data};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url =
        arguments.next().ok_or("usage: load_mariadb URL [WAREHOUSES] [load-data | inserts] [THREADS]")?;
    let url: sql::ServerUrl = url.parse()?;
    let warehouses = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let way = match arguments.next().as_deref() {
        None => None,
        Some("load-data") => Some(Way::LoadData),
        Some("inserts") => Some(Way::Inserts),
        Some(other) => return Err(format!("no way `{other}`").into()),
    };
    let threads = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let size = Cardinality::standard(warehouses);
    let seed = 1;
    let plan = LoadPlan {
        dataset: Arc::new(Data::new(size, seed)),
        schema: workload_tpcc::schema(sql::Dialect::MySql)?,
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            workload: "tpcc".into(),
            scale: u64::from(warehouses),
            size: serde_json::to_string(&size)?,
            seed,
        },
        threads,
        fresh: true,
        references: false,
        reload: format!("load_mariadb {url} {warehouses}"),
    };
    let mut out = std::io::stderr();
    let store = way.map_or_else(|| store(&url), |way| store_by(url.clone(), way));
    let loaded = store.load(plan, &mut |_| {}, &AtomicBool::new(false))?;
    if let Loaded::Now { contents, bytes, times, notes } = &loaded {
        let rows = contents.rows();
        let seconds = times.storing().as_secs_f64();
        for note in notes {
            writeln!(out, "note: {note}")?;
        }
        writeln!(
            out,
            "{rows} rows, {} bytes, {:.0} rows/s",
            bytes.unwrap_or_default(),
            rows as f64 / seconds
        )?;
        writeln!(
            out,
            "rows {:.2} s, indexes {:.2} s, flush {:.2} s; verify {:.2} s",
            times.rows.as_secs_f64(),
            times.indexes.as_secs_f64(),
            times.flush.as_secs_f64(),
            times.verify.as_secs_f64()
        )?;
    }
    writeln!(out, "checksum {:016x}", loaded.contents().checksum())?;
    Ok(())
}
