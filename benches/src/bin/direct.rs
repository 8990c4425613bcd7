//! What the load generator and the seam take from a durable database: the whole mix of TPC-C on a SQLite file (WAL, every
//! commit flushed), one warehouse, one client, by `drive::run` with tape, ledger and checks against a bare loop of the
//! same calls by hand. Blocks take turns, each on a fresh copy of the same database.
//!
//! The loop by hand has its calls drawn beforehand and counts no calls, so drawing and recording count against us.

use adapter_rusqlite::{SqliteOpener, connect};
use drive::{Plan, Stop, TrialProgress};
use measure::{Monotonic, thread_cpu};
use model::{Clock, Inputs as _, Nanos, RetryPolicy, RetryingTarget, Verdict, Workload};
use sql::{Dialect, SqliteUrl};
use stackmark_benches::by_hand::ByHand;
use stackmark_benches::data::{Folder, LOAD_SEED, load_file};
use stackmark_benches::output;
use stackmark_benches::pairs::{Ratio, Side, turns};
use std::sync::Arc;
use workload_tpcc::{Call, Cardinality, Data, Inputs, Ledger, SqlTarget, Tpcc, catalogue};

const PAIRS: usize = 12;
const WARM_UP: Nanos = Nanos::from_millis(150);
const MEASURED: Nanos = Nanos::from_millis(1_000);
const SIZE: Cardinality = Cardinality::standard(1);
/// More than a block can make.
const CALLS_MAX: usize = 20_000;
/// Our share of what can be had by hand.
const SHARE_MIN: f64 = 0.95;

/// What a block gave.
struct Block {
    committed_a_second: f64,
    cpu_micros_a_call: f64,
}

fn main() {
    let folder = Folder::create("direct");
    let (for_hand, for_us) = (folder.url("by-hand.db"), folder.url("ours.db"));
    let _ = load_file(&for_hand, SIZE.warehouses);
    folder.copy(&for_hand, &for_us);
    let (mut by_hand, mut ours, mut flushes) = (Vec::new(), Vec::new(), Vec::new());
    for (seed, sides) in (1..).zip(turns(PAIRS)) {
        flushes.extend(folder.flush_micros());
        for side in sides {
            match side {
                // On a thread of its own, as the load generator's: a new thread has an allocator that is still empty.
                Side::A => by_hand.push(std::thread::scope(|scope| {
                    let block = scope.spawn(|| block_by_hand(&for_hand, seed));
                    block.join().expect("a block that fails has said so")
                })),
                Side::B => ours.push(block_of_ours(&for_us, seed)),
            }
        }
    }
    output::title("TPC-C on a SQLite file, WAL and synchronous=FULL, 1 warehouse, 1 client, whole mix");
    output::figure("a flush of this disk", &format!("{} µs", output::spread(&flushes, 0)));
    let rates = |blocks: &[Block]| figures(blocks, |block| block.committed_a_second);
    output::figure("committed calls, by hand", &format!("{}/s", output::spread(&rates(&by_hand), 0)));
    output::figure("committed calls, ours", &format!("{}/s", output::spread(&rates(&ours), 0)));
    let share = Ratio::of(&rates(&by_hand), &rates(&ours));
    output::ratio("  ours of by hand", share);
    output::goal(&format!("at least {:.0} %", SHARE_MIN * 100.0), share.median >= SHARE_MIN);
    let cpu = |blocks: &[Block]| figures(blocks, |block| block.cpu_micros_a_call);
    output::figure("CPU a call, by hand", &format!("{} µs", output::spread(&cpu(&by_hand), 0)));
    output::figure("CPU a call, ours", &format!("{} µs", output::spread(&cpu(&ours), 0)));
    output::ratio("  ours of by hand", Ratio::of(&cpu(&by_hand), &cpu(&ours)));
}

fn figures(blocks: &[Block], figure: impl Fn(&Block) -> f64) -> Vec<f64> {
    blocks.iter().map(figure).collect()
}

fn inputs(seed: u64) -> Inputs {
    Inputs::new(SIZE, Data::c_load_of(LOAD_SEED), seed, 0)
}

/// As `stackmark run tpcc/sqlite/rusqlite --clients 1` does it.
fn block_of_ours(url: &SqliteUrl, seed: u64) -> Block {
    let texts = catalogue(Dialect::Sqlite).expect("kept valid by a test");
    let clock = Monotonic::start();
    let opener = SqliteOpener::new(url, texts, clock).expect("the copy can be opened");
    let target = SqlTarget::new(opener, clock);
    let target = Arc::new(RetryingTarget::new(target, RetryPolicy::default()));
    let plan = Plan { warmup: WARM_UP, measured: MEASURED, seed, ..Plan::default() };
    let trial = drive::run::<Tpcc, _, _>(
        &plan,
        &target,
        |_| inputs(seed),
        || Ledger::new(SIZE),
        clock,
        &Stop::new(),
        &mut |_: &TrialProgress<'_, Tpcc>| {},
    );
    let trial = trial.expect("the plan is valid and the target opens");
    assert_eq!(trial.failure, None, "a trial that fails is not a measurement");
    let call_counts = trial.totals.call_counts();
    Block {
        committed_a_second: trial.totals.committed() as f64 / trial.span.as_secs_f64(),
        cpu_micros_a_call: trial.cpu.as_secs_f64() * 1e6
            / (call_counts.started + trial.uncounted.started) as f64,
    }
}

fn block_by_hand(url: &SqliteUrl, seed: u64) -> Block {
    let mut inputs = inputs(seed);
    let calls: Vec<Call> = (0..CALLS_MAX).map(|_| inputs.draw()).collect();
    let texts = catalogue(Dialect::Sqlite).expect("kept valid by a test");
    let connection = connect(url).expect("the copy can be opened");
    let mut by_hand = ByHand::prepare(&connection, &texts).expect("kept valid by a test");
    let (clock, cpu_before) = (Monotonic::start(), thread_cpu());
    let (mut made, mut committed) = (0_u64, 0_u64);
    for call in &calls {
        let outcome = by_hand.run(call).expect("no one else uses the copy");
        made += 1;
        let now = clock.now();
        if now > WARM_UP + MEASURED {
            break;
        }
        committed += u64::from(now > WARM_UP && Tpcc::verdict(&outcome) == Verdict::Committed);
    }
    assert!(made < CALLS_MAX as u64, "a block has calls for longer than it takes");
    // Closing folds the log into the file; the load generator's sessions close on the clock as well.
    drop(by_hand);
    drop(connection);
    Block {
        committed_a_second: committed as f64 / MEASURED.as_secs_f64(),
        cpu_micros_a_call: (thread_cpu() - cpu_before).as_secs_f64() * 1e6 / made as f64,
    }
}
