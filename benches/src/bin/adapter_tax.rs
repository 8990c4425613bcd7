//! What the inner seam costs: whole New-Orders through `SqlSession` against the same statements by hand, in one process,
//! each on a database in memory of its own, in alternating batches.

use adapter_rusqlite::{Lane, SqliteConn};
use measure::Monotonic;
use model::{Effort, Inputs as _, Session};
use rusqlite::Connection;
use sql::Dialect;
use stackmark_benches::by_hand::ByHand;
use stackmark_benches::{memory, pairs};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use workload_tpcc::{Call, Cardinality, Data, Inputs, NewOrder, Outcome, SqlSession, catalogue};

const ROUNDS: usize = 800;
const CALLS_A_ROUND: usize = 100;
/// Rounds that fill caches and are not counted.
const WARM_UP: usize = 40;

/// Runs a future that never waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("blocking sessions never wait"),
    }
}

fn orders(count: usize) -> Vec<NewOrder> {
    let mut inputs = Inputs::new(Cardinality::standard(1), Data::c_load_of(1), 1, 0);
    std::iter::from_fn(|| Some(inputs.draw()))
        .filter_map(|call| if let Call::NewOrder(order) = call { Some(order) } else { None })
        .take(count)
        .collect()
}

fn placed(outcome: &Outcome) -> u32 {
    match outcome {
        Outcome::Placed(placed) => placed.o_id,
        _ => 0,
    }
}

#[expect(clippy::print_stdout, reason = "a bench prints its figures")]
fn main() {
    let texts = catalogue(Dialect::Sqlite).expect("kept valid by a test");
    let size = Cardinality::standard(1);
    let by_hand_db = Connection::open_in_memory().expect("memory is there");
    let through_seam_db = Connection::open_in_memory().expect("memory is there");
    memory::load(&by_hand_db, size, 1);
    memory::load(&through_seam_db, size, 1);
    let mut by_hand = ByHand::prepare(&by_hand_db, &texts).expect("kept valid by a test");
    let conn = SqliteConn::prepare(through_seam_db, &texts, Lane::new(false), Monotonic::start())
        .expect("kept valid by a test");
    let mut session = SqlSession::new(conn, Monotonic::start());

    let calls = orders(ROUNDS * CALLS_A_ROUND);
    let (mut hand, mut seam, mut same) = (Vec::new(), Vec::new(), 0usize);
    for (round, batch) in calls.chunks(CALLS_A_ROUND).enumerate() {
        let (mut hand_ids, mut seam_ids) = (0u64, 0u64);
        let mut go_hand = || {
            for call in batch {
                let outcome = by_hand.new_order(call).expect("memory takes every order");
                hand_ids += u64::from(placed(&outcome));
            }
        };
        let mut go_seam = || {
            for call in batch {
                let mut effort = Effort::default();
                let call = Call::NewOrder(call.clone());
                let outcome = at_once(session.run(&call, &mut effort)).expect("memory takes every order");
                seam_ids += u64::from(placed(&outcome));
            }
        };
        if round % 2 == 0 {
            hand.push(pairs::seconds(&mut go_hand));
            seam.push(pairs::seconds(&mut go_seam));
        } else {
            seam.push(pairs::seconds(&mut go_seam));
            hand.push(pairs::seconds(&mut go_hand));
        }
        same += usize::from(hand_ids == seam_ids);
    }
    assert_eq!(same, ROUNDS, "both ways must place the same orders");
    let (ratio, low, high) = pairs::ratio(&hand[WARM_UP..], &seam[WARM_UP..]);
    let micros = |figures: &[f64]| pairs::median(figures) / CALLS_A_ROUND as f64 * 1e6;
    println!(
        "adapter tax, whole New-Order, SQLite in memory: by hand {:.1} µs, through the seam {:.1} µs, ratio {ratio:.4} \
         ({low:.3} to {high:.3} over {} pairs)",
        micros(&hand),
        micros(&seam),
        hand.len() - WARM_UP,
    );
}
