//! Loads TPC-C into a SQLite file and says how fast: `cargo run --release -p admin --example load -- FILE [WAREHOUSES]
//! [THREADS]`.

use admin::{LoadPlan, LoadRecord, Loaded, store};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcc::{Cardinality, Data};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: load FILE [WAREHOUSES] [THREADS]")?;
    let warehouses = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let threads = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let size = Cardinality::standard(warehouses);
    let seed = 1;
    let plan = LoadPlan {
        dataset: Arc::new(Data::new(size, seed)),
        schema: workload_tpcc::schema(sql::Dialect::Sqlite)?,
        record: LoadRecord {
            kit: "stackmark".into(),
            kit_version: env!("CARGO_PKG_VERSION").into(),
            workload: "tpcc".into(),
            scale: u64::from(warehouses),
            size: serde_json::to_string(&size)?,
            seed,
        },
        threads,
        fresh: true,
        references: false,
        start_anew: format!("load {file} {warehouses}"),
    };
    let mut out = std::io::stderr();
    let loaded = store(sql::SqliteUrl::file(&file)).load(
        plan,
        &mut |at| {
            let left = at.seconds_left.map_or(String::new(), |left| format!(", {left:.0} s left"));
            // A terminal that is gone is no reason to stop.
            let _ = write!(out, "\r{:8} {:>9} of {}{left}   ", at.phase.word(), at.rows_done, at.rows_all);
        },
        &AtomicBool::new(false),
    )?;
    writeln!(out)?;
    if let Loaded::Now { contents, bytes, times, .. } = &loaded {
        let rows = contents.rows();
        let seconds = times.storing().as_secs_f64();
        writeln!(out, "{rows} rows, {bytes} bytes, {:.0} rows/s", rows as f64 / seconds)?;
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
