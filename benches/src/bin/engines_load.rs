//! How fast ten warehouses of TPC-C are loaded into PostgreSQL and MariaDB, as `stackmark load` does it: rows generated,
//! sent, indexed, flushed, read back and compared; and how long all audits take, and a copy for a trial. Loader and engine
//! are on the same two cores.

use admin::{Loaded, store};
use measure::Monotonic;
use model::{Clock, Nanos};
use rig::Engine;
use sql::{Dialect, ServerUrl};
use stackmark_benches::{engine, output, process};
use std::sync::atomic::AtomicBool;

const WAREHOUSES: u32 = 10;
const MEMORY_BYTES_MAX: u64 = 400 << 20;
const AUDIT_SECONDS_MAX: f64 = 5.0;
const DEADLINE: Nanos = Nanos::from_secs(300);

fn main() {
    process::keep_on_two_cores();
    for (which, dialect, seconds_max) in
        [(Engine::Postgres, Dialect::Postgres, 20.0), (Engine::MariaDb, Dialect::MySql, 45.0)]
    {
        let Some(server) = engine::start(which) else { continue };
        let clock = Monotonic::start();
        process::forget_resident_bytes_peak();
        let (url, loaded) = engine::load(&server, "tpcc", engine::tpcc(dialect, WAREHOUSES));
        let seconds = clock.now().as_secs_f64();
        let peak = process::resident_bytes_peak();
        let Loaded::Now { contents, bytes, times, .. } = loaded else {
            unreachable!("the engine has just been started");
        };
        let rows = contents.rows();
        output::title(&format!(
            "load of {WAREHOUSES} warehouses into {}, {} rows, {} MiB; load average {}",
            which.title(),
            output::number(rows as f64, 0),
            bytes.unwrap_or_default() >> 20,
            process::load_average()
        ));
        output::figure("load, read back and compared", &format!("{seconds:.1} s"));
        let part = |nanos: Nanos| format!("{:.1} s", nanos.as_secs_f64());
        let (stored, rate) = (part(times.rows), rows as f64 / times.rows.as_secs_f64());
        output::figure("  rows", &format!("{stored}, {} rows/s", output::number(rate, 0)));
        output::figure("  indexes", &part(times.indexes));
        output::figure("  read back", &part(times.verify));
        output::goal(&format!("below {seconds_max:.0} s"), seconds < seconds_max);
        output::figure("memory, peak", &format!("{} MiB", peak >> 20));
        output::goal(&format!("below {} MiB", MEMORY_BYTES_MAX >> 20), peak < MEMORY_BYTES_MAX);
        let audits = audit(&url);
        output::figure("all audits", &format!("{audits:.1} s"));
        output::goal(&format!("below {AUDIT_SECONDS_MAX:.0} s"), audits < AUDIT_SECONDS_MAX);
        let before = clock.now();
        restore(&url);
        output::figure("a copy for a trial", &part(clock.now() - before));
    }
}

/// Seconds of all audits, as many at a time as there are cores.
fn audit(url: &ServerUrl) -> f64 {
    let groups = engine::tpcc_audits(url.dialect, WAREHOUSES);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let stop = AtomicBool::new(false);
    let audited = store(url).audit_all(&groups, threads, DEADLINE, &stop).expect("the engine runs");
    for audit in &audited.rows {
        assert!(audit.rows.is_ok(), "{}: {:?}", audit.name, audit.rows);
    }
    audited.took.as_secs_f64()
}

fn restore(url: &ServerUrl) {
    let to = url.with_database("copy");
    store(url).copy_to(&to, false).expect("the disk of the benches takes a copy");
}
