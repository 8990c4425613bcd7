//! TPC-C on PostgreSQL in its three styles: one statement a round trip, pipelined, and one function a transaction. A
//! private PostgreSQL of ten warehouses, eight clients, generator and server on the same two cores; trials take turns.

use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::{Nanos, Target};
use pair_tpcc_postgres::{PipelinedTarget, ProcedureTarget};
use rig::Engine;
use sql::Dialect;
use stackmark_benches::data::LOAD_SEED;
use stackmark_benches::pairs::{Ratio, Spread};
use stackmark_benches::trials::{CLIENTS, Figures, reach, retrying, trial};
use stackmark_benches::{engine, output, process};
use workload_tpcc::{Cardinality, Data, Inputs, Ledger, SqlTarget, Tpcc, catalogue};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAREHOUSES: u32 = 10;
const SIZE: Cardinality = Cardinality::standard(WAREHOUSES);
const ROUNDS: u64 = 3;
const WINDOW: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(6));

/// A style, and what it has to reach.
struct Style {
    name: &'static str,
    /// New orders against plain.
    ratio_min: Option<f64>,
    /// CPU time of the generator for a committed transaction, in microseconds.
    micros_max: f64,
}

const STYLES: [Style; 3] = [
    Style { name: "plain", ratio_min: None, micros_max: 150.0 },
    Style { name: "pipelined", ratio_min: Some(1.8), micros_max: 80.0 },
    Style { name: "procedure", ratio_min: Some(2.5), micros_max: 40.0 },
];

fn main() {
    process::keep_on_two_cores();
    let Some(server) = engine::start(Engine::Postgres) else { return };
    let (url, _) = engine::load(&server, "tpcc", engine::tpcc(Dialect::Postgres, WAREHOUSES));
    let texts = catalogue(Dialect::Postgres).expect("kept valid by a test");
    let clock = Monotonic::start();
    let plain = retrying(SqlTarget::new(reach(PostgresOpener::reach(&url, texts)), clock));
    let pipelined = retrying(reach(PipelinedTarget::reach(&url, clock)));
    let procedure = retrying(reach(ProcedureTarget::reach(&url, clock)));
    let mut figures = [const { Vec::new() }; STYLES.len()];
    for seed in 1..=ROUNDS {
        // Each round begins with another style.
        let turns = (0..STYLES.len()).map(|turn| (turn + seed as usize) % STYLES.len());
        for style in turns.filter(|style| is_asked_for(STYLES[*style].name)) {
            figures[style].push(match style {
                0 => run(&plain, seed),
                1 => run(&pipelined, seed),
                _ => run(&procedure, seed),
            });
        }
    }
    output::title(&format!(
        "TPC-C on PostgreSQL, {WAREHOUSES} warehouses, {CLIENTS} clients, two cores for all; load average {}",
        process::load_average()
    ));
    let orders = |style: usize| -> Vec<f64> { figures[style].iter().map(Figures::first_a_minute).collect() };
    for (at, style) in STYLES.iter().enumerate().filter(|(_, style)| is_asked_for(style.name)) {
        output::figure(style.name, &format!("{} new orders/min", output::spread(&orders(at), 0)));
        if let Some(least) = style.ratio_min.filter(|_| !figures[0].is_empty()) {
            let ratio = Ratio::of(&orders(0), &orders(at));
            output::ratio("  of plain", ratio);
            output::goal(&format!("at least {least} times plain"), ratio.median >= least);
        }
        let micros: Vec<f64> = figures[at].iter().map(|figures| figures.cpu_micros).collect();
        output::figure("  CPU of the client each", &format!("{} µs", output::spread(&micros, 0)));
        output::goal(
            &format!("at most {:.0} µs", style.micros_max),
            Spread::of(&micros).median <= style.micros_max,
        );
    }
    output::figure(
        "for scale, others on such a machine",
        "sysbench 21,800, BenchBase 47,300, HammerDB 61,200",
    );
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
