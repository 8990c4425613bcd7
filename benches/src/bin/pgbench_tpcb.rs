//! tpcb through us against pgbench's own transaction, prepared: eight clients, one thread for them, the same private server
//! and database, generator and server on the same two cores, trials in turn. At scale 10 clients wait for each other at ten
//! branches; at scale 100 they hardly do.

use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::Nanos;
use rig::Engine;
use sql::Dialect;
use stackmark_benches::pairs::{Ratio, Side, Spread, turns};
use stackmark_benches::trials::{CLIENTS, reach, retrying, trial};
use stackmark_benches::{engine, output, pgbench, process};
use workload_tpcb::{Cardinality, Inputs, Ledger, SqlTarget, Tpcb, catalogue};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SCALES: [u32; 2] = [10, 100];
const PAIRS: usize = 3;
const WARM_UP: Nanos = Nanos::from_secs(1);
const SECONDS: u64 = 4;

fn main() {
    process::keep_on_two_cores();
    let Some(server) = engine::start(Engine::Postgres) else { return };
    for scale in SCALES {
        let plan = engine::tpcb(Dialect::Postgres, scale);
        let (url, _) = engine::load(&server, &format!("tpcb_{scale}"), plan);
        let texts = catalogue(Dialect::Postgres).expect("kept valid by a test");
        let opener = reach(PostgresOpener::reach(&url, texts));
        let target = retrying(SqlTarget::new(opener, Monotonic::start()));
        let (size, program) = (Cardinality::standard(scale), pgbench::program(&server));
        let (mut theirs, mut ours) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        let mut outside = Vec::new();
        for (seed, sides) in (1..).zip(turns(PAIRS)) {
            for side in sides {
                if side == Side::A {
                    let run = pgbench::run(&program, &url, None, CLIENTS, SECONDS);
                    theirs.0.push(run.rate);
                    theirs.1.push(run.cpu_micros);
                } else {
                    let window = (WARM_UP, Nanos::from_secs(SECONDS));
                    let before = process::cpu_seconds();
                    let inputs = |worker| Inputs::new(size, seed, worker);
                    let figures = trial::<Tpcb, _>(&target, window, seed, inputs, || Ledger::new(size));
                    let after = process::cpu_seconds();
                    let (user, system) = (after.0 - before.0, after.1 - before.1);
                    outside.push(user / (user + system) * 100.0);
                    ours.0.push(figures.all());
                    ours.1.push(figures.cpu_micros);
                }
            }
        }
        output::title(&format!(
            "tpcb, scale {scale}, {CLIENTS} clients; load average {}",
            process::load_average()
        ));
        output::figure("pgbench -M prepared", &format!("{}/s", output::spread(&theirs.0, 0)));
        output::figure("ours", &format!("{}/s", output::spread(&ours.0, 0)));
        let ratio = Ratio::of(&theirs.0, &ours.0);
        output::ratio("  of pgbench", ratio);
        output::goal("at least 100 %", ratio.median >= 1.0);
        output::figure("CPU a transaction, pgbench", &format!("{} µs", output::spread(&theirs.1, 0)));
        output::figure("CPU a transaction, ours", &format!("{} µs", output::spread(&ours.1, 0)));
        // The kernel's part moves bytes; the rest is the load generator, the adapter and tokio-postgres.
        let micros = Spread::of(&ours.1).median * Spread::of(&outside).median / 100.0;
        let share = output::spread(&outside, 0);
        output::figure(
            "  of it outside of the kernel",
            &format!("{share} %, {} µs", output::number(micros, 1)),
        );
    }
}
