//! What PostgreSQL through our seam costs: whole New-Orders through `SqlSession` and `PostgresConn` against the same
//! statements straight through tokio-postgres, in turn, on one connection each; and the CPU time of this process a
//! transaction of the whole mix, at eight clients on one thread.
//!
//! `STACKMARK_BENCH_POSTGRES` names a database that `stackmark load tpcc/postgres --db URL` has loaded. To keep generator and
//! server on the same two cores start both under `taskset`. The orders placed here stay in it.

use adapter_tokio_postgres::{Connected, Link, PostgresOpener, connect_to_write};
use arrayvec::ArrayVec;
use measure::{Monotonic, thread_cpu};
use model::{Clock, Effort, Fault, Inputs as _, Session as _, Target as _};
use sql::{Dialect, ServerUrl, dollars};
use stackmark_benches::pairs::{Ratio, Side, turns};
use stackmark_benches::say;
use std::error::Error as StdError;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::{Builder, LocalOptions};
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};
use workload_tpcc::{Call, Cardinality, Data, Inputs, Line, NewOrder, SqlTarget, Stmt, catalogue};

/// Pairs of batches, and those at the beginning that are not counted.
const PAIRS: usize = 300;
const WARM_UP: usize = 20;
const ORDERS_A_BATCH: usize = 10;
/// What our seam may cost (architecture, section 6).
const RATIO_MAX: f64 = 1.01;
/// The mix: clients, rounds, and transactions of a client in each round.
const CLIENTS: u32 = 8;
const ROUNDS: usize = 5;
const CALLS_A_ROUND: u32 = 1_000;
/// CPU time of the generator for a committed transaction, plain style, in microseconds.
const MICROS_MAX: f64 = 150.0;
const LOAD_SEED: u64 = 1;

type Result<T> = std::result::Result<T, Box<dyn StdError>>;
type Plain = SqlTarget<PostgresOpener, Monotonic>;

fn main() -> Result<()> {
    let Ok(url) = std::env::var("STACKMARK_BENCH_POSTGRES") else {
        say::skipped("STACKMARK_BENCH_POSTGRES does not name a database");
        return Ok(());
    };
    let url: ServerUrl = url.parse()?;
    // As the load generator runs its sessions: all on one thread.
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let opener = PostgresOpener::reach(&url, catalogue(Dialect::Postgres)?).await?;
        let target = SqlTarget::new(opener, Monotonic::start());
        tax(&url, &target).await?;
        mix(target, warehouses(&url).await?).await
    })
}

async fn warehouses(url: &ServerUrl) -> Result<u32> {
    let Connected { client, mut link, .. } = connect_to_write(url).await?;
    let row = link.until(client.query_one("select count(*) from warehouse", &[])).await?;
    Ok(u32::try_from(row.get::<_, i64>(0))?)
}

/// New-Orders by hand and through the seam, in turn.
async fn tax(url: &ServerUrl, target: &Plain) -> Result<()> {
    let size = Cardinality::standard(warehouses(url).await?);
    let mut inputs = Inputs::new(size, Data::c_load_of(LOAD_SEED), 1, 0);
    let mut orders =
        std::iter::from_fn(|| Some(inputs.draw())).filter(|call| matches!(call, Call::NewOrder(_)));
    let mut by_hand = ByHand::open(url).await?;
    let mut session = target.open(0).await?;
    let (mut hand, mut seam) = (Vec::new(), Vec::new());
    for sides in turns(WARM_UP + PAIRS) {
        let batch: Vec<Call> = orders.by_ref().take(ORDERS_A_BATCH).collect();
        for side in sides {
            let before = thread_cpu();
            for call in &batch {
                match (side, call) {
                    (Side::A, Call::NewOrder(order)) => by_hand.new_order(order).await.map(drop)?,
                    _ => session.run(call, &mut Effort::default()).await.map(drop)?,
                }
            }
            let micros = (thread_cpu() - before).as_secs_f64() / ORDERS_A_BATCH as f64 * 1e6;
            if side == Side::A { &mut hand } else { &mut seam }.push(micros);
        }
    }
    let (hand, seam) = (&hand[WARM_UP..], &seam[WARM_UP..]);
    let ratio = Ratio::of(hand, seam);
    say::title("New-Order through our SQL seam against tokio-postgres by hand, CPU time of the client");
    say::figure("by hand", &format!("{} µs", say::spread(hand, 1)));
    say::figure("our seam", &format!("{} µs", say::spread(seam, 1)));
    say::ratio("  ratio", ratio);
    say::goal(&format!("at most {:.0} %", RATIO_MAX * 100.0), ratio.median <= RATIO_MAX);
    Ok(())
}

/// The whole mix at eight clients.
async fn mix(target: Plain, warehouses: u32) -> Result<()> {
    let size = Cardinality::standard(warehouses);
    let (mut micros, mut rates) = (Vec::new(), Vec::new());
    let clock = Monotonic::start();
    let mut sessions = Vec::new();
    for worker in 0..CLIENTS {
        let inputs = Inputs::new(size, Data::c_load_of(LOAD_SEED), 2, worker);
        sessions.push((target.open(worker).await?, inputs));
    }
    let completed = std::sync::Arc::new(AtomicU64::new(0));
    for _ in 0..ROUNDS {
        completed.store(0, Ordering::Relaxed);
        let (began, before) = (clock.now(), thread_cpu());
        let tasks: Vec<_> = sessions
            .drain(..)
            .map(|(mut session, mut inputs)| {
                let completed = completed.clone();
                tokio::task::spawn_local(async move {
                    for _ in 0..CALLS_A_ROUND {
                        match session.run(&inputs.draw(), &mut Effort::default()).await {
                            Ok(_) => completed.fetch_add(1, Ordering::Relaxed),
                            // Not repeated: what they cost is counted, and they are not.
                            Err(Fault::Conflict(_)) => continue,
                            Err(fault) => return Err(fault),
                        };
                    }
                    Ok((session, inputs))
                })
            })
            .collect();
        for task in tasks {
            sessions.push(task.await??);
        }
        let done = completed.load(Ordering::Relaxed) as f64;
        micros.push((thread_cpu() - before).as_secs_f64() * 1e6 / done);
        rates.push(done / (clock.now() - began).as_secs_f64());
    }
    say::title(&format!("TPC-C, the whole mix, {warehouses} warehouses, {CLIENTS} clients, one thread"));
    say::figure("transactions a second", &say::spread(&rates, 0));
    say::figure("CPU time of the client each", &format!("{} µs", say::spread(&micros, 1)));
    let median = stackmark_benches::pairs::Spread::of(&micros).median;
    say::goal(&format!("at most {MICROS_MAX:.0} µs"), median <= MICROS_MAX);
    Ok(())
}

/// New-Order as one would write it straight against tokio-postgres, with its connection polled in place, as ours is: a task
/// of its own for the connection would only make it slower.
struct ByHand {
    client: Client,
    link: Link,
    statements: Vec<Statement>,
    begin: Statement,
    commit: Statement,
    rollback: Statement,
}

/// A decimal of at most four digits behind its point, in ten-thousandths.
struct Decimal(i64);

impl<'a> FromSql<'a> for Decimal {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Decimal, Box<dyn StdError + Sync + Send>> {
        let word = |at: usize| i64::from(i16::from_be_bytes([raw[at], raw[at + 1]]));
        let mut value = (0..word(0) as usize).fold(0, |sum, at| sum * 10_000 + word(8 + 2 * at));
        (word(0)..word(2) + 2).for_each(|_| value *= 10_000);
        Ok(Decimal(value))
    }
    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A decimal on its way in.
#[derive(Debug)]
struct Money(i64);

impl tokio_postgres::types::ToSql for Money {
    fn to_sql(
        &self,
        _: &Type,
        into: &mut bytes::BytesMut,
    ) -> std::result::Result<tokio_postgres::types::IsNull, Box<dyn StdError + Sync + Send>> {
        use bytes::BufMut as _;
        // At most 9,999.99, as amounts of lines are.
        into.put_slice(&[0, 2, 0, 0, 0, 0, 0, 2]);
        into.put_i16((self.0 / 100) as i16);
        into.put_i16((self.0 % 100 * 100) as i16);
        Ok(tokio_postgres::types::IsNull::No)
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    tokio_postgres::types::to_sql_checked!();
}

type Params<'a> = &'a [&'a (dyn tokio_postgres::types::ToSql + Sync)];

impl ByHand {
    async fn open(url: &ServerUrl) -> Result<ByHand> {
        let Connected { client, mut link, .. } = connect_to_write(url).await?;
        let mut statements = Vec::new();
        for text in catalogue(Dialect::Postgres)? {
            statements.push(link.until(client.prepare(&dollars(&text))).await?);
        }
        let begin = link.until(client.prepare("begin")).await?;
        let commit = link.until(client.prepare("commit")).await?;
        let rollback = link.until(client.prepare("rollback")).await?;
        Ok(ByHand { client, link, statements, begin, commit, rollback })
    }

    async fn one(&mut self, stmt: Stmt, params: Params<'_>) -> std::result::Result<Option<Row>, Error> {
        self.link.until(self.client.query_opt(&self.statements[stmt as usize], params)).await
    }

    async fn exec(&mut self, stmt: Stmt, params: Params<'_>) -> std::result::Result<u64, Error> {
        self.link.until(self.client.execute(&self.statements[stmt as usize], params)).await
    }

    async fn new_order(&mut self, call: &NewOrder) -> Result<i64> {
        let (w_id, d_id, c_id) = (call.w_id as i32, call.d_id as i16, call.c_id as i32);
        self.link.until(self.client.execute(&self.begin, &[])).await?;
        let missing = "a row must be there";
        let row = self.one(Stmt::WarehouseTax, &[&w_id]).await?.ok_or(missing)?;
        let mut sum = row.get::<_, Decimal>(0).0;
        let row = self.one(Stmt::ClaimOrderId, &[&w_id, &d_id]).await?.ok_or(missing)?;
        let (o_id, d_tax) = (row.get::<_, i32>(0), row.get::<_, Decimal>(1).0);
        let row = self.one(Stmt::CustomerTerms, &[&w_id, &d_id, &c_id]).await?.ok_or(missing)?;
        sum += d_tax + row.get::<_, Decimal>(0).0 + row.get::<_, &str>(1).len() as i64;
        let (count, all_local) = (call.lines.len() as i16, i16::from(call.all_local()));
        self.one(Stmt::InsertOrder, &[&w_id, &d_id, &o_id, &c_id, &count, &all_local])
            .await?
            .ok_or(missing)?;
        self.exec(Stmt::InsertNewOrder, &[&w_id, &d_id, &o_id]).await?;
        let mut order: ArrayVec<usize, 15> = (0..call.lines.len()).collect();
        order.sort_by_key(|index| (call.lines[*index].i_id, call.lines[*index].supply_w_id, *index));
        for index in order {
            let Line { i_id, supply_w_id, quantity } = call.lines[index];
            let (i_id, supply, quantity) = (i_id as i32, supply_w_id as i32, quantity as i16);
            let Some(item) = self.one(Stmt::ReadItem, &[&i_id]).await? else {
                self.link.until(self.client.execute(&self.rollback, &[])).await?;
                return Ok(0);
            };
            let district = i32::from(d_id);
            let stock = self.one(Stmt::ReadStock, &[&supply, &i_id, &district]).await?.ok_or(missing)?;
            let mut left = stock.get::<_, i16>(0) - quantity;
            left += if left >= 10 { 0 } else { 91 };
            let (ytd, remote) = (i32::from(quantity), i32::from(supply != w_id));
            self.exec(Stmt::UpdateStock, &[&supply, &i_id, &left, &ytd, &remote]).await?;
            let amount = item.get::<_, Decimal>(0).0 / 100 * i64::from(quantity);
            let number = index as i16 + 1;
            let amount = Money(amount);
            let text: &str = stock.get(2);
            self.exec(
                Stmt::InsertOrderLine,
                &[&w_id, &d_id, &o_id, &number, &i_id, &supply, &quantity, &amount, &text],
            )
            .await?;
            sum += amount.0 + i64::from(item.get::<_, &str>(2).contains("ORIGINAL"));
        }
        self.link.until(self.client.execute(&self.commit, &[])).await?;
        Ok(sum)
    }
}
