//! New-Order and Payment of TPC-C, one kind at a time, one statement per round trip, through us and through pgbench with a
//! script of the very same statements: eight clients, one thread for them, generator and server on the same two cores,
//! trials in turn.

use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::Nanos;
use rig::Engine;
use sql::Dialect;
use stackmark_benches::data::{Folder, LOAD_SEED};
use stackmark_benches::only::{Inputs, Of, Only};
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::pgbench::Script;
use stackmark_benches::trials::{CLIENTS, reach, retrying, trial};
use stackmark_benches::{engine, output, pgbench, process};
use workload_tpcc::{Cardinality, Data, Ledger, SqlTarget, catalogue, kind};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAREHOUSES: u32 = 10;
const SIZE: Cardinality = Cardinality::standard(WAREHOUSES);
const PAIRS: usize = 3;
const WARM_UP: Nanos = Nanos::from_secs(1);
const SECONDS: u64 = 4;
/// Our share of pgbench's rate.
const SHARE_MIN: f64 = 0.95;

fn main() {
    process::keep_on_two_cores();
    let Some(server) = engine::start(Engine::Postgres) else { return };
    let (url, _) = engine::load(&server, "tpcc", engine::tpcc(Dialect::Postgres, WAREHOUSES));
    let texts = catalogue(Dialect::Postgres).expect("kept valid by a test");
    let (folder, program) = (Folder::create("pgbench"), pgbench::program(&server));
    let opener = reach(PostgresOpener::reach(&url, texts.clone()));
    let target = retrying(Of(SqlTarget::new(opener, Monotonic::start())));
    let kinds = [
        ("New-Order", kind::NEW_ORDER, pgbench::new_order(&texts, WAREHOUSES)),
        ("Payment", kind::PAYMENT, pgbench::payment(&texts, WAREHOUSES)),
    ];
    for (name, kind, script) in kinds {
        let file = folder.path().join("script.sql");
        std::fs::write(&file, script).expect("the folder of the benches can be written");
        let (mut theirs, mut ours) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        for (seed, sides) in (1..).zip(turns(PAIRS)) {
            for side in sides {
                if side == Side::A {
                    // Payments by name take the name of the customer before; this is the first.
                    let script = Script { file: &file, defines: &["c_last=BARBARBAR".to_owned()] };
                    let run = pgbench::run(&program, &url, Some(script), CLIENTS, SECONDS);
                    theirs.0.push(run.rate);
                    theirs.1.push(run.cpu_micros);
                } else {
                    let inputs = |worker| {
                        let all = workload_tpcc::Inputs::new(SIZE, Data::c_load_of(LOAD_SEED), seed, worker);
                        Inputs::new(all, kind)
                    };
                    let window = (WARM_UP, Nanos::from_secs(SECONDS));
                    let figures = trial::<Only, _>(&target, window, seed, inputs, || Ledger::new(SIZE));
                    ours.0.push(figures.all());
                    ours.1.push(figures.cpu_micros);
                }
            }
        }
        output::title(&format!(
            "{name} only, {WAREHOUSES} warehouses, {CLIENTS} clients; load average {}",
            process::load_average()
        ));
        output::figure("pgbench -M prepared", &format!("{}/s", output::spread(&theirs.0, 0)));
        output::figure("ours, plain", &format!("{}/s", output::spread(&ours.0, 0)));
        let ratio = Ratio::of(&theirs.0, &ours.0);
        output::ratio("  of pgbench", ratio);
        output::goal(&format!("at least {:.0} %", SHARE_MIN * 100.0), ratio.median >= SHARE_MIN);
        output::figure("CPU a transaction, pgbench", &format!("{} µs", output::spread(&theirs.1, 0)));
        output::figure("CPU a transaction, ours", &format!("{} µs", output::spread(&ours.1, 0)));
    }
}
