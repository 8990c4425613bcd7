//! What the inner seam costs on PostgreSQL and MariaDB: whole New-Orders through `SqlSession` and our adapters against the same
//! statements with the same answers straight through the drivers, in turn, on one connection each.
//!
//! On private engines, generator and server on the same core. The wall's time says what a call costs; CPU time of this thread, which
//! does nothing else, says what the client's side of it costs, and there the server's share does not hide ours. The goal is set on
//! both. The whole mix as the load generator runs it is in `styles`.

mod mysql;
mod postgres;

use adapter_mysql_async::{MySqlConn, connect};
use adapter_tokio_postgres::PostgresOpener;
use measure::{Monotonic, thread_cpu};
use model::{CallWork, Clock as _, Inputs as _, Session, Target as _};
use mysql::MariaDb;
use postgres::Postgres;
use rig::{Engine, Running};
use sql::{Dialect, ServerUrl};
use stackmark_benches::data::LOAD_SEED;
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::{engine, output, process};
use std::hint::black_box;
use tokio::runtime::{Builder, LocalOptions};
use workload_tpcc::{
    Call, Cardinality, Data, Inputs, NewOrder, Outcome, SqlSession, SqlTarget, Tpcc, catalogue,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pairs of batches, and those at the beginning that are not counted.
const PAIRS: usize = 300;
const WARM_UP: usize = 20;
const ORDERS_A_BATCH: usize = 10;
/// What our seam may cost (architecture, section 6).
const RATIO_MAX: f64 = 1.01;
const WAREHOUSES: u32 = 2;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// New-Order as a careful engineer would write it straight against a driver.
trait ByHand {
    async fn new_order(&mut self, call: &NewOrder) -> Result<Outcome>;
}

fn main() -> Result<()> {
    process::keep_on_one_core();
    // As the load generator runs its sessions: all on one thread.
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    if let Some((_server, url)) = loaded(Engine::Postgres, Dialect::Postgres) {
        runtime.block_on(async {
            let opener = PostgresOpener::reach(&url, catalogue(Dialect::Postgres)?).await?;
            let mut seam = SqlTarget::new(opener, Monotonic::start()).open(0).await?;
            tax("tokio-postgres", &mut Postgres::open(&url).await?, &mut seam).await
        })?;
    }
    if let Some((_server, url)) = loaded(Engine::MariaDb, Dialect::MySql) {
        runtime.block_on(async {
            let texts = catalogue(Dialect::MySql)?;
            let mut by_hand = MariaDb::prepare(connect(&url).await?, &texts).await?;
            let prepared = MySqlConn::prepare(connect(&url).await?, &texts, "here").await?;
            tax("mysql_async", &mut by_hand, &mut SqlSession::new(prepared, Monotonic::start())).await
        })?;
    }
    Ok(())
}

fn loaded(engine: Engine, dialect: Dialect) -> Option<(Running, ServerUrl)> {
    let server = engine::start(engine)?;
    let (url, _) = engine::load(&server, "tpcc", engine::tpcc(dialect, WAREHOUSES));
    Some((server, url))
}

/// New-Orders by hand and through the seam, in turn. Both take the same calls one after the other, so that neither finds other rows than
/// the other did.
async fn tax(driver: &str, by_hand: &mut impl ByHand, seam: &mut impl Session<Tpcc>) -> Result<()> {
    let mut inputs = Inputs::new(Cardinality::standard(WAREHOUSES), Data::c_load_of(LOAD_SEED), 1, 0);
    let mut orders =
        std::iter::from_fn(|| Some(inputs.draw())).filter(|call| matches!(call, Call::NewOrder(_)));
    let clock = Monotonic::start();
    // Wall time and CPU time of the batches, by hand and through the seam.
    let mut spent: [[Vec<f64>; 2]; 2] = Default::default();
    for sides in turns(WARM_UP + PAIRS) {
        let batch: Vec<Call> = orders.by_ref().take(ORDERS_A_BATCH).collect();
        for side in sides {
            let (wall, cpu) = (clock.now(), thread_cpu());
            for call in &batch {
                match (side, call) {
                    (Side::A, Call::NewOrder(order)) => drop(black_box(by_hand.new_order(order).await?)),
                    _ => drop(black_box(seam.run(call, &mut CallWork::default()).await?)),
                }
            }
            for (what, span) in [clock.now() - wall, thread_cpu() - cpu].into_iter().enumerate() {
                let micros = span.as_secs_f64() / ORDERS_A_BATCH as f64 * 1e6;
                spent[what][usize::from(side != Side::A)].push(micros);
            }
        }
    }
    output::title(&format!(
        "New-Order through our SQL seam against {driver} by hand, one client, unix socket"
    ));
    for (what, [hand, seam]) in ["time", "CPU time of the client"].into_iter().zip(&spent) {
        let (hand, seam) = (&hand[WARM_UP..], &seam[WARM_UP..]);
        let ratio = Ratio::of(hand, seam);
        output::figure(&format!("{what}, by hand"), &format!("{} µs", output::spread(hand, 1)));
        output::figure(&format!("{what}, our seam"), &format!("{} µs", output::spread(seam, 1)));
        output::ratio("  ratio", ratio);
        output::goal(&format!("at most {:.0} %", RATIO_MAX * 100.0), ratio.median <= RATIO_MAX);
    }
    Ok(())
}
