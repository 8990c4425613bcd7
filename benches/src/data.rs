//! TPC-C on disk: a folder that goes with the bench, and databases in it.

use admin::{LoadPlan, LoadRecord, Loaded, store};
use measure::Monotonic;
use model::Clock;
use sql::{Dialect, SqliteUrl};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workload_tpcc::{Cardinality, Data};

/// Flushes of a disk that are clocked.
const FLUSHES: u64 = 100;

/// Seed of all loads.
pub const LOAD_SEED: u64 = 1;

/// A folder for databases, removed at the end. `STACKMARK_BENCH_DIR` says on which disk.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it, empty, in `STACKMARK_BENCH_DIR` or else next to the build.
    ///
    /// # Panics
    /// When the system refuses: a bench has no one to hand an error to.
    pub fn create(name: &str) -> Folder {
        let parent = std::env::var_os("STACKMARK_BENCH_DIR").map_or_else(beside_the_build, PathBuf::from);
        let folder = parent.join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder of the benches can be written");
        Folder(folder)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The address of a file in it, with the durable defaults.
    pub fn url(&self, file: &str) -> SqliteUrl {
        SqliteUrl::file(self.0.join(file))
    }

    /// Microseconds that the disk takes to flush 4 KiB of a file, many times: what every durable commit waits for at
    /// least once.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn flush_micros(&self) -> Vec<f64> {
        let file = File::create(self.0.join("flushed")).expect("the folder of the benches can be written");
        file.set_len(FLUSHES * 4_096).and_then(|()| file.sync_all()).expect("the disk has room");
        let clock = Monotonic::start();
        let flush = |at: u64| {
            let before = clock.now();
            file.write_all_at(&[at as u8; 4_096], at * 4_096).expect("the disk has room");
            file.sync_data().expect("the disk can be flushed");
            (clock.now() - before).0 as f64 / 1e3
        };
        (0..FLUSHES).map(flush).collect()
    }

    /// Another name for the same data, so that each trial begins with what the first began with.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn copy(&self, from: &SqliteUrl, to: &SqliteUrl) {
        store(from).copy_to(to, false).expect("the disk of the benches has room for two copies");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the build folder, or where the user said.
        let _ = std::fs::remove_dir_all(&self.0);
        // Only when no other bench uses it.
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}

/// `bench-data` next to the folder of the executables: `target/bench-data`.
fn beside_the_build() -> PathBuf {
    let executable = std::env::current_exe().expect("the system knows what it runs");
    let build = executable.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    build.join("bench-data")
}

/// Loads `warehouses` as `stackmark load` does.
///
/// # Panics
/// When the load fails.
pub fn load_file(url: &SqliteUrl, warehouses: u32) -> Loaded {
    let size = Cardinality::standard(warehouses);
    let plan = LoadPlan {
        dataset: Arc::new(Data::new(size, LOAD_SEED)),
        schema: workload_tpcc::schema(Dialect::Sqlite).expect("kept valid by a test"),
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            workload: "tpcc".into(),
            scale: u64::from(warehouses),
            size: serde_json::to_string(&size).expect("plain numbers become JSON"),
            seed: LOAD_SEED,
        },
        threads: 0,
        fresh: true,
        references: false,
        reload: "make bench".into(),
    };
    store(url).load(plan, &mut |_| {}, &AtomicBool::new(false)).expect("the disk of the benches takes a load")
}
