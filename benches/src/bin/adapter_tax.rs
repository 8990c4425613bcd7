//! What the inner seam costs: whole New-Orders and single reads through `SqlSession` and `SqlConn` against the same
//! statements by hand, in one process, each on a database in memory of its own, in small alternating batches.
//!
//! CPU time of the thread and not the wall's: others who use the machine are then met only through its caches. Two
//! databases never lie alike in memory, so the whole is repeated with databases made again, in the other order.
//!
//! `adapter_tax count` makes a few calls of both kinds, for a tool that counts instructions and is free of all noise:
//! `valgrind --tool=callgrind --toggle-collect='*::go_*' adapter_tax count`.

use adapter_rusqlite::{Lane, SqliteConn};
use measure::Monotonic;
use model::{CallWork, Cents, Fault, Inputs as _, Session, random::Random};
use rusqlite::Connection;
use sql::{ColumnError, Columns, Dialect, SqlConn, Timed, TxKind};
use stackmark_benches::by_hand::ByHand;
use stackmark_benches::pairs::{Ratio, Side, cpu_seconds, turns};
use stackmark_benches::{at_once, memory, output};
use workload_tpcc::{Call, Cardinality, Data, Inputs, Outcome, SqlSession, Stmt, Text, catalogue};

/// Pairs of databases, made again.
const MAKINGS: usize = 4;
/// Pairs of batches on a pair of databases.
const PAIRS: usize = 1_000;
/// Pairs that fill caches and are not counted.
const WARM_UP: usize = 100;
const ORDERS_A_BATCH: usize = 20;
const READS_A_BATCH: usize = 1_000;
/// What our seam may cost (architecture, section 6).
const RATIO_MAX: f64 = 1.01;

type Seam = SqlSession<SqliteConn<Monotonic>, Monotonic>;

/// Both sides, on databases that hold the same rows.
struct Sides<'a> {
    by_hand: ByHand<'a>,
    seam: Seam,
}

/// CPU seconds of the batches of both sides.
#[derive(Default)]
struct Figures {
    by_hand: Vec<f64>,
    seam: Vec<f64>,
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("count") {
        return count();
    }
    let (mut orders, mut reads, mut by_making) = (Figures::default(), Figures::default(), Vec::new());
    for making in 0..MAKINGS {
        let (order, read) = measure(making);
        by_making.push(Ratio::of(&order.by_hand, &order.seam).median * 100.0);
        orders.absorb(order);
        reads.absorb(read);
    }
    output::title(
        "TPC-C through our SQL seam against the same statements by hand, SQLite in memory, CPU time",
    );
    orders.print("whole New-Order", ORDERS_A_BATCH);
    output::figure("  by pair of databases", &format!("{} %", output::spread(&by_making, 2)));
    reads.print("one read by key", READS_A_BATCH);
}

/// Takes turns on one pair of databases.
fn measure(making: usize) -> (Figures, Figures) {
    let size = Cardinality::standard(1);
    let (for_hand, for_seam) = databases(size, making);
    let mut sides = Sides::prepare(&for_hand, for_seam);
    let seed = 1 + making as u64;
    let calls = new_orders(size, seed, (WARM_UP + PAIRS) * ORDERS_A_BATCH);
    let orders = Figures::take(|pair, side| {
        let batch = &calls[pair * ORDERS_A_BATCH..][..ORDERS_A_BATCH];
        match side {
            Side::A => go_orders_by_hand(&mut sides.by_hand, batch),
            Side::B => go_orders_through_seam(&mut sides.seam, batch),
        }
    });
    drop(sides);
    let (for_hand, for_seam) = databases(size, making);
    let mut hand_reads = ByHand::prepare(&for_hand, &texts()).expect("kept valid by a test");
    let mut seam_reads = Timed::new(conn(for_seam), Monotonic::start());
    let mut random = Random::stream(seed, &[]);
    let keys: Vec<u32> = (0..(WARM_UP + PAIRS) * READS_A_BATCH)
        .map(|_| random.range(1, i64::from(size.items)) as u32)
        .collect();
    let reads = Figures::take(|pair, side| {
        let batch = &keys[pair * READS_A_BATCH..][..READS_A_BATCH];
        match side {
            Side::A => go_reads_by_hand(&mut hand_reads, batch),
            Side::B => go_reads_through_seam(&mut seam_reads, batch),
        }
    });
    (orders, reads)
}

impl Figures {
    /// Has both sides do all pairs of batches; `go` gives something by which both sides can be seen to agree.
    fn take(mut go: impl FnMut(usize, Side) -> u64) -> Figures {
        let mut figures = Figures::default();
        for (pair, sides) in turns(WARM_UP + PAIRS).enumerate() {
            let (mut said_by_hand, mut said_through_seam) = (0, 0);
            for side in sides {
                let (into, said) = match side {
                    Side::A => (&mut figures.by_hand, &mut said_by_hand),
                    Side::B => (&mut figures.seam, &mut said_through_seam),
                };
                into.push(cpu_seconds(|| *said = go(pair, side)));
            }
            assert_eq!(said_by_hand, said_through_seam, "both sides must answer alike");
        }
        figures.by_hand.drain(..WARM_UP);
        figures.seam.drain(..WARM_UP);
        figures
    }

    fn absorb(&mut self, other: Figures) {
        self.by_hand.extend(other.by_hand);
        self.seam.extend(other.seam);
    }

    fn print(&self, what: &str, calls_a_batch: usize) {
        let micros = |figures: &[f64]| {
            let each: Vec<f64> = figures.iter().map(|seconds| seconds / calls_a_batch as f64 * 1e6).collect();
            format!("{} µs", output::spread(&each, 2))
        };
        let ratio = Ratio::of(&self.by_hand, &self.seam);
        output::figure(&format!("{what}, by hand"), &micros(&self.by_hand));
        output::figure(&format!("{what}, our seam"), &micros(&self.seam));
        output::ratio("  ratio", ratio);
        output::goal(&format!("at most {:.0} %", RATIO_MAX * 100.0), ratio.median <= RATIO_MAX);
    }
}

impl Sides<'_> {
    fn prepare(for_hand: &Connection, for_seam: Connection) -> Sides<'_> {
        Sides {
            by_hand: ByHand::prepare(for_hand, &texts()).expect("kept valid by a test"),
            seam: SqlSession::new(conn(for_seam), Monotonic::start()),
        }
    }
}

fn texts() -> Vec<String> {
    catalogue(Dialect::Sqlite).expect("kept valid by a test")
}

/// A database for each side; which of them is made first alternates.
fn databases(size: Cardinality, making: usize) -> (Connection, Connection) {
    let (first, second) = (database(size), database(size));
    if making.is_multiple_of(2) { (first, second) } else { (second, first) }
}

fn database(size: Cardinality) -> Connection {
    let connection = Connection::open_in_memory().expect("memory is there");
    memory::load(&connection, size, 1);
    connection
}

fn conn(database: Connection) -> SqliteConn<Monotonic> {
    SqliteConn::prepare(database, &texts(), Lane::new(false), Monotonic::start())
        .expect("kept valid by a test")
}

fn new_orders(size: Cardinality, seed: u64, count: usize) -> Vec<Call> {
    let mut inputs = Inputs::new(size, Data::c_load_of(1), seed, 0);
    std::iter::from_fn(|| Some(inputs.draw()))
        .filter(|call| matches!(call, Call::NewOrder(_)))
        .take(count)
        .collect()
}

// Never inlined, so that a profile tells the sides apart.

#[inline(never)]
fn go_orders_by_hand(by_hand: &mut ByHand<'_>, batch: &[Call]) -> u64 {
    batch.iter().map(|call| said(&by_hand.run(call).expect("memory takes every order"))).sum()
}

#[inline(never)]
fn go_orders_through_seam(session: &mut Seam, batch: &[Call]) -> u64 {
    let mut run = |call| {
        let mut work = CallWork::default();
        said(&at_once(session.run(call, &mut work)).expect("memory takes every order"))
    };
    batch.iter().map(&mut run).sum()
}

fn said(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Placed(placed) => placed.total_amount.0 as u64 + u64::from(placed.o_id),
        _ => 0,
    }
}

#[inline(never)]
fn go_reads_by_hand(by_hand: &mut ByHand<'_>, batch: &[u32]) -> u64 {
    by_hand.begin().expect("memory can be read");
    let prices = batch.iter().map(|&i_id| price(by_hand.item(i_id).expect("memory can be read"))).sum();
    by_hand.end().expect("memory can be read");
    prices
}

#[inline(never)]
fn go_reads_through_seam<C: SqlConn>(conn: &mut C, batch: &[u32]) -> u64 {
    let reads = async {
        conn.begin(TxKind::Read).await?;
        let mut prices = 0;
        for &i_id in batch {
            prices += price(conn.row(Stmt::ReadItem.id(), &[i_id.into()], item).await?);
        }
        conn.commit().await?;
        Ok::<_, Fault>(prices)
    };
    at_once(reads).expect("memory can be read")
}

type Item = (Cents, Text<24>, bool);

/// As the transactions read an item.
fn item(row: &dyn Columns) -> Result<Item, ColumnError> {
    let name = Text::from(row.text(1)?).map_err(|_| ColumnError::new(1, "a name"))?;
    Ok((Cents(row.int(0)?), name, row.text(2)?.contains("ORIGINAL")))
}

fn price(item: Option<Item>) -> u64 {
    item.map_or(0, |(Cents(price), name, original)| price as u64 + name.len() as u64 + u64::from(original))
}

/// A few calls on small data.
fn count() {
    let size =
        Cardinality { items: 2_000, customers: 100, names: 30, orders: 100, undelivered: 30, warehouses: 1 };
    let (for_hand, for_seam) = (database(size), database(size));
    let mut sides = Sides::prepare(&for_hand, for_seam);
    let calls = new_orders(size, 1, 200);
    let by_hand = go_orders_by_hand(&mut sides.by_hand, &calls);
    let through_seam = go_orders_through_seam(&mut sides.seam, &calls);
    assert_eq!(by_hand, through_seam, "both sides must answer alike");
    let keys: Vec<u32> = (1..=size.items).collect();
    let mut seam = Timed::new(conn(database(size)), Monotonic::start());
    assert_eq!(go_reads_by_hand(&mut sides.by_hand, &keys), go_reads_through_seam(&mut seam, &keys));
}
