//! TPC-C in its styles, on private engines of ten warehouses, with eight clients, generator and server on the same two cores: one
//! statement per round trip, pipelined (PostgreSQL), and one function or procedure per transaction. Trials take turns.
//!
//! Arguments, if there are any, name the engines and styles to run, for a profiler: `styles postgres pipelined`.

use adapter_mysql_async::MySqlOpener;
use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::{Nanos, RetryingTarget, Target};
use pair_tpcc::{mysql, postgres};
use rig::Engine;
use sql::Dialect;
use stackmark_benches::data::LOAD_SEED;
use stackmark_benches::pairs::{Ratio, Spread};
use stackmark_benches::trials::{CLIENTS, Figures, reach, retrying, trial};
use stackmark_benches::{engine, output, process};
use std::sync::Arc;
use workload_tpcc::{Cardinality, Data, Inputs, Ledger, SqlTarget, Tpcc, catalogue};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAREHOUSES: u32 = 10;
const SIZE: Cardinality = Cardinality::standard(WAREHOUSES);
const WINDOW: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(6));

/// A style, and what it has to reach.
struct Style {
    name: &'static str,
    /// New orders against plain.
    ratio_min: Option<f64>,
    /// CPU time of the generator for a committed transaction, in microseconds.
    micros_max: Option<f64>,
    /// A trial with this seed.
    run: Box<dyn Fn(u64) -> Figures>,
}

impl Style {
    fn new<T: Target<Tpcc> + 'static>(
        name: &'static str,
        (ratio_min, micros_max): (Option<f64>, Option<f64>),
        target: Arc<RetryingTarget<T>>,
    ) -> Style {
        let run = move |seed| {
            let inputs = |worker| Inputs::new(SIZE, Data::c_load_of(LOAD_SEED), seed, worker);
            trial::<Tpcc, _>(&target, WINDOW, seed, inputs, || Ledger::new(SIZE))
        };
        Style { name, ratio_min, micros_max, run: Box::new(run) }
    }
}

fn main() {
    process::keep_on_two_cores();
    let clock = Monotonic::start();
    if let Some(server) = started(Engine::Postgres, "postgres") {
        let (url, _) = engine::load(&server, "tpcc", engine::tpcc(Dialect::Postgres, WAREHOUSES));
        let texts = catalogue(Dialect::Postgres).expect("kept valid by a test");
        let plain = retrying(SqlTarget::new(reach(PostgresOpener::reach(&url, texts)), clock));
        let pipelined = retrying(reach(postgres::PipelinedTarget::reach(&url, clock)));
        let procedure = retrying(reach(postgres::ProcedureTarget::reach(&url, clock)));
        let styles = [
            Style::new("plain", (None, Some(150.0)), plain),
            Style::new("pipelined", (Some(1.8), Some(80.0)), pipelined),
            Style::new("procedure", (Some(2.5), Some(40.0)), procedure),
        ];
        compare("PostgreSQL", 3, &styles);
        output::figure(
            "for scale, others on such a machine",
            "sysbench 21,800, BenchBase 47,300, HammerDB 61,200",
        );
    }
    if let Some(server) = started(Engine::MariaDb, "mariadb") {
        let (url, _) = engine::load(&server, "tpcc", engine::tpcc(Dialect::MySql, WAREHOUSES));
        let texts = catalogue(Dialect::MySql).expect("kept valid by a test");
        let plain = retrying(SqlTarget::new(reach(MySqlOpener::reach(&url, texts)), clock));
        let procedure = retrying(reach(mysql::ProcedureTarget::reach(&url, clock)));
        let styles =
            [Style::new("plain", (None, None), plain), Style::new("procedure", (Some(1.5), None), procedure)];
        compare("MariaDB", 5, &styles);
    }
}

/// An engine of its own, if it is asked for.
fn started(engine: Engine, name: &str) -> Option<rig::Running> {
    is_asked_for(name, &["postgres", "mariadb"]).then(|| engine::start(engine)).flatten()
}

/// Trials in turn, each round beginning with another style.
fn compare(engine: &str, rounds: u64, styles: &[Style]) {
    let names: Vec<&str> = styles.iter().map(|style| style.name).collect();
    let asked: Vec<usize> = (0..styles.len())
        .filter(|at| is_asked_for(names[*at], &["plain", "pipelined", "procedure"]))
        .collect();
    let mut figures: Vec<Vec<Figures>> = styles.iter().map(|_| Vec::new()).collect();
    for seed in 1..=rounds {
        let turns = (0..styles.len()).map(|turn| (turn + seed as usize) % styles.len());
        for style in turns.filter(|style| asked.contains(style)) {
            figures[style].push((styles[style].run)(seed));
        }
    }
    output::title(&format!(
        "TPC-C on {engine}, {WAREHOUSES} warehouses, {CLIENTS} clients, two cores for all; load average {}",
        process::load_average()
    ));
    let orders = |style: usize| -> Vec<f64> { figures[style].iter().map(Figures::first_a_minute).collect() };
    for at in asked {
        let Style { name, ratio_min, micros_max, .. } = &styles[at];
        output::figure(name, &format!("{} new orders/min", output::spread(&orders(at), 0)));
        if let Some(least) = ratio_min.filter(|_| !figures[0].is_empty()) {
            let ratio = Ratio::of(&orders(0), &orders(at));
            output::ratio("  of plain", ratio);
            output::goal(&format!("at least {least} times plain"), ratio.median >= least);
        }
        let micros: Vec<f64> = figures[at].iter().map(|figures| figures.cpu_micros).collect();
        output::figure("  CPU of the client each", &format!("{} µs", output::spread(&micros, 0)));
        if let Some(most) = micros_max {
            output::goal(&format!("at most {most:.0} µs"), Spread::of(&micros).median <= *most);
        }
    }
}

/// Whether arguments name it, or none of those that are like it.
fn is_asked_for(name: &str, all: &[&str]) -> bool {
    let mut asked = std::env::args().skip(1).filter(|asked| all.contains(&asked.as_str())).peekable();
    asked.peek().is_none() || asked.any(|asked| asked == name)
}
