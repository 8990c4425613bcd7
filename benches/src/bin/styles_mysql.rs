//! TPC-C on MariaDB in its two styles: one statement a round trip, and one procedure a transaction. A private MariaDB of ten
//! warehouses, eight clients, generator and server on the same two cores; trials take turns.

use adapter_mysql_async::MySqlOpener;
use measure::Monotonic;
use model::{Nanos, Target};
use pair_tpcc_mysql::ProcedureTarget;
use rig::Engine;
use sql::Dialect;
use stackmark_benches::data::LOAD_SEED;
use stackmark_benches::pairs::Ratio;
use stackmark_benches::trials::{CLIENTS, Figures, reach, retrying, trial};
use stackmark_benches::{engine, output, process};
use workload_tpcc::{Cardinality, Data, Inputs, Ledger, SqlTarget, Tpcc, catalogue};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAREHOUSES: u32 = 10;
const SIZE: Cardinality = Cardinality::standard(WAREHOUSES);
const ROUNDS: u64 = 5;
const WINDOW: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(6));
const STYLES: [&str; 2] = ["plain", "procedure"];
/// New orders by procedures against plain.
const RATIO_MIN: f64 = 1.5;

fn main() {
    process::keep_on_two_cores();
    let Some(server) = engine::start(Engine::MariaDb) else { return };
    let (url, _) = engine::load(&server, "tpcc", engine::tpcc(Dialect::MySql, WAREHOUSES));
    let texts = catalogue(Dialect::MySql).expect("kept valid by a test");
    let clock = Monotonic::start();
    let plain = retrying(SqlTarget::new(reach(MySqlOpener::reach(&url, texts)), clock));
    let procedure = retrying(reach(ProcedureTarget::reach(&url, clock)));
    let mut figures = [const { Vec::new() }; STYLES.len()];
    for seed in 1..=ROUNDS {
        // Each round begins with the other style.
        let turns = (0..STYLES.len()).map(|turn| (turn + seed as usize) % STYLES.len());
        for style in turns.filter(|style| is_asked_for(STYLES[*style])) {
            figures[style].push(match style {
                0 => run(&plain, seed),
                _ => run(&procedure, seed),
            });
        }
    }
    output::title(&format!(
        "TPC-C on MariaDB, {WAREHOUSES} warehouses, {CLIENTS} clients, two cores for all; load average {}",
        process::load_average()
    ));
    let orders = |style: usize| -> Vec<f64> { figures[style].iter().map(Figures::first_a_minute).collect() };
    for (at, style) in STYLES.iter().enumerate().filter(|(_, style)| is_asked_for(style)) {
        output::figure(style, &format!("{} new orders/min", output::spread(&orders(at), 0)));
        let micros: Vec<f64> = figures[at].iter().map(|figures| figures.cpu_micros).collect();
        output::figure("  CPU of the client each", &format!("{} µs", output::spread(&micros, 0)));
    }
    if figures.iter().all(|trials| !trials.is_empty()) {
        let ratio = Ratio::of(&orders(0), &orders(1));
        output::ratio("procedure / plain", ratio);
        output::goal(&format!("at least {RATIO_MIN} times plain"), ratio.median >= RATIO_MIN);
    }
}

/// Arguments, if there are any, name the styles to run: for a profiler.
fn is_asked_for(name: &str) -> bool {
    let mut asked = std::env::args().skip(1).peekable();
    asked.peek().is_none() || asked.any(|asked| asked == name)
}

fn run<T: Target<Tpcc>>(target: &std::sync::Arc<model::RetryingTarget<T>>, seed: u64) -> Figures {
    let inputs = |worker| Inputs::new(SIZE, Data::c_load_of(LOAD_SEED), seed, worker);
    trial::<Tpcc, _>(target, WINDOW, seed, inputs, || Ledger::new(SIZE))
}
