//! What hiding the type of a session costs: pgbench's transaction on SQLite in memory, through the session as its adapter
//! makes it and through the pointer by which every trial drives it, in one process, in small alternating batches.
//!
//! CPU time of the thread, as in `adapter_tax`. Both sides run in their turn on both of a pair of databases, because two
//! databases never lie alike in memory.

use adapter_rusqlite::{Lane, SqliteConn};
use measure::Monotonic;
use model::{AnySession, CallWork, Home, Inputs as _, Session};
use rusqlite::Connection;
use sql::Dialect;
use stackmark_benches::pairs::{Ratio, Side, cpu_seconds, turns};
use stackmark_benches::{at_once, memory, output};
use workload_tpcb::{Call, Cardinality, Data, Inputs, SqlSession, Tpcb, catalogue, schema};

/// Pairs of databases, made again.
const MAKINGS: usize = 8;
/// Pairs of batches on a pair of databases.
const PAIRS: usize = 1_000;
/// Pairs that fill caches and are not counted.
const WARM_UP: usize = 100;
const CALLS_A_BATCH: usize = 100;
/// What the pointer may cost.
const RATIO_MAX: f64 = 1.003;

type Plain = SqlSession<SqliteConn<Monotonic>, Monotonic>;

fn main() {
    let (mut plain, mut erased, mut by_making) = (Vec::new(), Vec::new(), Vec::new());
    for making in 0..MAKINGS {
        let (a, b) = measure(making);
        by_making.push(Ratio::of(&a, &b).median * 100.0);
        plain.extend(a);
        erased.extend(b);
    }
    let micros = |figures: &[f64]| {
        let each: Vec<f64> = figures.iter().map(|seconds| seconds / CALLS_A_BATCH as f64 * 1e6).collect();
        format!("{} µs", output::spread(&each, 2))
    };
    output::title(
        "TPC-B on SQLite in memory, a session behind a pointer against the same in the open, CPU time",
    );
    output::figure("a call, in the open", &micros(&plain));
    output::figure("a call, behind a pointer", &micros(&erased));
    let ratio = Ratio::of(&plain, &erased);
    output::ratio("  ratio", ratio);
    output::figure("  by pair of databases", &format!("{} %", output::spread(&by_making, 2)));
    output::goal(&format!("at most {:.1} %", RATIO_MAX * 100.0), ratio.median <= RATIO_MAX);
}

/// CPU seconds of the batches of both sides on one pair of databases. Which of them was made first alternates.
fn measure(making: usize) -> (Vec<f64>, Vec<f64>) {
    let (first, second) = (session(), session());
    let (mut open, hidden) = if making.is_multiple_of(2) { (first, second) } else { (second, first) };
    let mut hidden = AnySession::new(hidden, Home::Thread);
    let mut inputs = Inputs::new(Cardinality::standard(1), 1 + making as u64, 0);
    let calls: Vec<Call> = (0..(WARM_UP + PAIRS) * CALLS_A_BATCH).map(|_| inputs.draw()).collect();
    let (mut plain, mut erased) = (Vec::new(), Vec::new());
    for (pair, sides) in turns(WARM_UP + PAIRS).enumerate() {
        let batch = &calls[pair * CALLS_A_BATCH..][..CALLS_A_BATCH];
        for side in sides {
            match side {
                Side::A => plain.push(cpu_seconds(|| go_open(&mut open, batch))),
                Side::B => erased.push(cpu_seconds(|| go_hidden(&mut hidden, batch))),
            }
        }
    }
    plain.drain(..WARM_UP);
    erased.drain(..WARM_UP);
    (plain, erased)
}

fn session() -> Plain {
    let connection = Connection::open_in_memory().expect("memory is there");
    let schema = schema(Dialect::Sqlite).expect("kept valid by a test");
    memory::fill(&connection, &schema, &Data::new(Cardinality::standard(1)));
    let texts = catalogue(Dialect::Sqlite).expect("kept valid by a test");
    let conn = SqliteConn::prepare(connection, &texts, Lane::new(false), Monotonic::start());
    SqlSession::new(conn.expect("kept valid by a test"), Monotonic::start())
}

// Never inlined, so that a profile tells the sides apart.

#[inline(never)]
fn go_open(session: &mut Plain, batch: &[Call]) {
    go(session, batch);
}

#[inline(never)]
fn go_hidden(session: &mut AnySession<Tpcb>, batch: &[Call]) {
    go(session, batch);
}

#[inline(always)]
fn go(session: &mut impl Session<Tpcb>, batch: &[Call]) {
    for call in batch {
        let mut work = CallWork::default();
        at_once(session.run(call, &mut work)).expect("memory takes every call");
    }
}
