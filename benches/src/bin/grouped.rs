//! Eight clients on a SQLite file, each commit flushed before it is acknowledged (WAL, synchronous=FULL): every call with
//! a commit of its own against calls that share commits, on the disk as it is and on simulated storage that takes longer
//! to flush. Pairs take turns, each on a fresh copy of the same database.

use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use admin::{LoadPlan, LoadRecord, store};
use measure::Monotonic;
use model::{Nanos, Target, Workload};
use sql::{Dialect, SqliteUrl};
use stackmark_benches::data::{Folder, LOAD_SEED, load_file};
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::trials::{CLIENTS, retrying, trial};
use stackmark_benches::{output, process};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAIRS: usize = 3;
const WINDOW: (Nanos, Nanos) = (Nanos::from_millis(300), Nanos::from_millis(2_000));
/// What a flush takes longer than the machine's own: nothing, as a good and a middling disk of a cloud, a spinning one.
const SYNC_DELAYS_US: [u64; 5] = [0, 500, 1_000, 5_000, 10_000];
const RATIO_MIN: f64 = 3.0;
const WAREHOUSES: u32 = 1;
const BRANCHES: u32 = 10;

fn main() {
    let folder = Folder::create("grouped");
    output::title(&format!(
        "SQLite, {CLIENTS} clients, WAL and synchronous=FULL; load average {}",
        process::load_average()
    ));
    output::figure("a flush of this disk", &format!("{} µs", output::spread(&folder.flush_micros(), 0)));
    if is_asked_for("tpcb") {
        let size = workload_tpcb::Cardinality::standard(BRANCHES);
        let template = folder.url("tpcb.db");
        load_bank(&template, size);
        let texts = workload_tpcb::catalogue(Dialect::Sqlite).expect("kept valid by a test");
        let bench = Setup { folder: &folder, template, texts, name: format!("tpcb, {BRANCHES} branches") };
        bench.run::<workload_tpcb::Tpcb, _, _>(
            workload_tpcb::SqlTarget::new,
            workload_tpcb::SqlTarget::new,
            |seed, worker| workload_tpcb::Inputs::new(size, seed, worker),
            || workload_tpcb::Ledger::new(size),
        );
    }
    if is_asked_for("tpcc") {
        let size = workload_tpcc::Cardinality::standard(WAREHOUSES);
        let template = folder.url("tpcc.db");
        let _ = load_file(&template, WAREHOUSES);
        let texts = workload_tpcc::catalogue(Dialect::Sqlite).expect("kept valid by a test");
        let bench = Setup { folder: &folder, template, texts, name: format!("tpcc, {WAREHOUSES} warehouse") };
        let c_load = workload_tpcc::Data::c_load_of(LOAD_SEED);
        bench.run::<workload_tpcc::Tpcc, _, _>(
            workload_tpcc::SqlTarget::new,
            workload_tpcc::SqlTarget::new,
            |seed, worker| workload_tpcc::Inputs::new(size, c_load, seed, worker),
            || workload_tpcc::Ledger::new(size),
        );
    }
}

/// Arguments, if there are any, name the workloads to run: for a profiler.
fn is_asked_for(name: &str) -> bool {
    let mut asked = std::env::args().skip(1).peekable();
    asked.peek().is_none() || asked.any(|asked| asked == name)
}

struct Setup<'a> {
    folder: &'a Folder,
    template: SqliteUrl,
    texts: Vec<String>,
    name: String,
}

impl Setup<'_> {
    fn run<W: Workload, P: Target<W>, G: Target<W>>(
        &self,
        plain: impl Fn(SqliteOpener<Monotonic>, Monotonic) -> P,
        grouped: impl Fn(GroupedOpener<Monotonic>, Monotonic) -> G,
        inputs: impl Fn(u64, u32) -> W::Inputs,
        ledger: impl Fn() -> W::Ledger,
    ) {
        let clock = Monotonic::start();
        for micros in SYNC_DELAYS_US {
            let (mut single, mut together, mut calls) = (Vec::new(), Vec::new(), Vec::new());
            for (seed, sides) in (1..).zip(turns(PAIRS)) {
                for side in sides {
                    let url = self.fresh(micros);
                    let inputs = |worker| inputs(seed, worker);
                    match side {
                        Side::A => {
                            let opener = SqliteOpener::new(&url, self.texts.clone(), clock);
                            let target = retrying(plain(opener.expect(OPENS), clock));
                            single.push(trial::<W, _>(&target, WINDOW, seed, inputs, &ledger).all());
                        }
                        Side::B => {
                            let opener = GroupedOpener::new(&url, self.texts.clone(), clock).expect(OPENS);
                            let sharing = opener.sharing();
                            let target = retrying(grouped(opener, clock));
                            together.push(trial::<W, _>(&target, WINDOW, seed, inputs, &ledger).all());
                            let shared = sharing.so_far();
                            calls.push(shared.calls as f64 / shared.commits as f64);
                        }
                    }
                }
            }
            output::title(&format!("{}, flushes {:.1} ms longer", self.name, micros as f64 / 1e3));
            output::figure("a commit for each call", &format!("{} calls/s", output::spread(&single, 0)));
            output::figure("shared commits", &format!("{} calls/s", output::spread(&together, 0)));
            output::figure("  writing calls a commit", &output::spread(&calls, 1));
            let ratio = Ratio::of(&single, &together);
            output::ratio("  of one each", ratio);
            output::goal(&format!("at least {RATIO_MIN} times"), ratio.median >= RATIO_MIN);
        }
    }

    /// A copy of the database that no one has used, on storage that flushes so much longer.
    fn fresh(&self, micros: u64) -> SqliteUrl {
        let mut url = self.folder.url("used.db");
        self.folder.copy(&self.template, &url);
        url.storage.sync = Duration::from_micros(micros);
        url
    }
}

const OPENS: &str = "the copy can be opened";

fn load_bank(url: &SqliteUrl, size: workload_tpcb::Cardinality) {
    let plan = LoadPlan {
        dataset: Arc::new(workload_tpcb::Data::new(size)),
        schema: workload_tpcb::schema(Dialect::Sqlite).expect("kept valid by a test"),
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            workload: "tpcb".into(),
            scale: u64::from(size.branches),
            size: String::new(),
            seed: LOAD_SEED,
        },
        threads: 0,
        fresh: true,
        references: false,
        reload: "make bench".into(),
    };
    store(url)
        .load(plan, &mut |_| {}, &AtomicBool::new(false))
        .expect("the disk of the benches takes a load");
}
