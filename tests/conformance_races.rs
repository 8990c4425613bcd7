//! Races on one database: eight sessions at once, straight and through HTTP, and two lanes that know nothing of each
//! other, as two processes would. Nothing is lost, nothing is done twice; and a session that dies in mid-transaction
//! leaves nothing behind and no one waiting.

use adapter_rusqlite::{Lane, SqliteConn, connect};
use model::{CallWork, Cents, Doubt, Fault, Inputs as _, Ledger as _, Refusal, RetryPolicy, Session, Target};
use stackmark_tests::calls::{at_once, drive_tpcc, inputs, now, runtime};
use stackmark_tests::served::Served;
use stackmark_tests::store::{SqliteTarget, Store, statements};
use stackmark_tests::tamper::{TamperedOpener, Tampering};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use workload_tpcc::{
    Call, Cardinality, Claims, Delivery, Ledger, Line, NewOrder, Outcome, Payment, SqlSession, SqlTarget,
    Stmt, Tpcc, Who,
};

/// Sessions at once.
const SESSIONS: u32 = 8;

type Answers = Vec<Vec<Result<Outcome, Fault>>>;

/// How calls reach the store.
#[derive(Debug, Clone, Copy)]
enum Way {
    Direct,
    Http,
    /// Directly, with commits that calls share; with a rollback journal readers take part.
    Grouped(&'static str),
}

const WAYS: [Way; 4] = [Way::Direct, Way::Http, Way::Grouped("wal"), Way::Grouped("truncate")];

impl Way {
    fn store(self) -> Store {
        let journal = if let Way::Grouped(journal) = self { journal } else { "wal" };
        Store::new(Cardinality::tiny(), &format!("synchronous=normal&journal={journal}"))
    }
}

/// Makes eight lists of calls at once on a fresh store, in each way, and gives store and answers to `check`.
fn in_every_way(list: impl Fn(u32, &Store) -> Vec<Call>, check: impl Fn(&Store, &Answers)) {
    for way in WAYS {
        let store = way.store();
        let lists: Vec<Vec<Call>> = (0..SESSIONS).map(|worker| list(worker, &store)).collect();
        let answers = match way {
            Way::Direct => at_once(&[&store.target()], &lists),
            Way::Http => {
                let served = Served::start(store.target(), store.size, SESSIONS);
                at_once(&[&served.target()], &lists)
            }
            Way::Grouped(_) => at_once(&[&store.grouped()], &lists),
        };
        check(&store, &answers);
        store.assert_sound();
    }
}

fn order(c_id: u32, unused: bool) -> Call {
    let line = |i_id: u32| Line { i_id, supply_w_id: i_id % 2 + 1, quantity: i_id % 10 + 1 };
    let mut lines: arrayvec::ArrayVec<Line, 15> = (0..5).map(|at| line((c_id * 7 + at) % 100 + 1)).collect();
    if unused {
        lines[4].i_id = 101;
    }
    Call::NewOrder(NewOrder { w_id: 1, d_id: 3, c_id, lines })
}

#[test]
fn orders_placed_at_once_in_one_district_get_numbers_without_twins_and_gaps() {
    in_every_way(
        |worker, _| (0..40).map(|turn| order((worker * 40 + turn) % 30 + 1, turn % 9 == 0)).collect(),
        |store, answers| {
            let mut numbers = Vec::new();
            for answer in answers.iter().flatten() {
                match answer.as_ref().unwrap() {
                    Outcome::Placed(placed) => numbers.push(placed.o_id),
                    Outcome::Unused(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            numbers.sort_unstable();
            let expected: Vec<u32> = (31..31 + numbers.len() as u32).collect();
            assert_eq!(numbers, expected);
            assert_eq!(numbers.len(), 8 * 35);
            let next = store.number("select d_next_o_id from district where d_w_id = 1 and d_id = 3");
            assert_eq!(next, i64::from(numbers[numbers.len() - 1]) + 1);
        },
    );
}

#[test]
fn payments_made_at_once_to_one_customer_lose_not_a_cent() {
    let amount = |worker: u32, turn: u32| i64::from(100 + worker * 1_000 + turn * 37);
    in_every_way(
        |worker, _| {
            (0..40)
                .map(|turn| {
                    let h_amount = Cents(amount(worker, turn));
                    let customer = Who::Id(5);
                    Call::Payment(Payment { w_id: 1, d_id: 2, c_w_id: 2, c_d_id: 4, customer, h_amount })
                })
                .collect()
        },
        |store, answers| {
            let fresh = Store::tiny();
            let paid: i64 =
                (0..SESSIONS).flat_map(|worker| (0..40).map(move |turn| amount(worker, turn))).sum();
            assert_eq!(answers.iter().flatten().filter(|answer| answer.is_ok()).count(), 320);
            for (query, expected) in [
                ("select w_ytd from warehouse where w_id = 1", paid),
                ("select d_ytd from district where d_w_id = 1 and d_id = 2", paid),
                ("select c_balance from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5", -paid),
                ("select c_ytd_payment from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5", paid),
                ("select c_payment_cnt from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5", 320),
                ("select sum(h_amount) from history", paid),
                ("select count(*) from history", 320),
            ] {
                assert_eq!(store.number(query) - fresh.number(query), expected, "{query}");
            }
            // Each answer shows the balance that its own payment left: no two are alike.
            let mut balances: Vec<i64> = answers
                .iter()
                .flatten()
                .map(|answer| match answer {
                    Ok(Outcome::Paid(paid)) => paid.customer.c_balance.0,
                    other => panic!("{other:?}"),
                })
                .collect();
            balances.sort_unstable();
            balances.dedup();
            assert_eq!(balances.len(), 320);
        },
    );
}

#[test]
fn deliveries_made_at_once_deliver_each_order_once() {
    in_every_way(
        // Nine orders wait in each district: most of these find nothing left.
        |worker, _| {
            let call = |turn: u32| Delivery { w_id: turn % 2 + 1, o_carrier_id: worker + 1 };
            (0..10).map(|turn| Call::Delivery(call(turn))).collect()
        },
        |store, answers| {
            let mut delivered: BTreeMap<(u32, usize), Vec<u32>> = BTreeMap::new();
            for answers in answers {
                for (turn, answer) in (0..).zip(answers) {
                    let Ok(Outcome::Delivered(found)) = answer else { panic!("{answer:?}") };
                    for (district, o_id) in found.o_ids.iter().enumerate() {
                        delivered.entry((turn % 2 + 1, district)).or_default().extend(o_id);
                    }
                }
            }
            assert_eq!(delivered.len(), 20);
            for o_ids in delivered.values_mut() {
                o_ids.sort_unstable();
                assert_eq!(*o_ids, (22..=30).collect::<Vec<_>>());
            }
            assert_eq!(store.number("select count(*) from new_order"), 0);
        },
    );
}

#[test]
fn the_whole_mix_from_eight_sessions_leaves_sound_data_in_every_way() {
    for way in WAYS {
        let store = way.store();
        let before = store.tallies();
        let trial = match way {
            Way::Direct => drive_tpcc(&store, store.target(), SESSIONS, 3_000, 3),
            Way::Http => {
                let served = Served::start(store.target(), store.size, SESSIONS);
                drive_tpcc(&store, served.target(), SESSIONS, 3_000, 3)
            }
            Way::Grouped(_) => drive_tpcc(&store, store.grouped(), SESSIONS, 3_000, 3),
        };
        assert_eq!(trial.failure, None);
        let found = store.find(&before, &Claims::of(&trial.ledger, true));
        assert!(found.failed().is_empty(), "{:#?}", found.failed());
        store.assert_sound();
        // With a lane of their own no one of one process meets a conflict.
        let call_counts: Vec<_> = trial.totals.kinds.iter().map(|kind| kind.call_counts).collect();
        assert!(
            call_counts.iter().all(|call_counts| call_counts.conflict == 0 && call_counts.in_doubt == 0),
            "{call_counts:?}"
        );
    }
}

/// Two targets that know nothing of each other, as two processes would not.
fn strangers(store: &Store, attempts_max: u32) -> [SqliteTarget; 2] {
    [(); 2].map(|()| {
        let mut target = store.target();
        target.policy = RetryPolicy { attempts_max, reopens: false };
        target
    })
}

/// Makes calls from both sides and audits the store against the acknowledged calls. Returns the number of remaining
/// conflicts, which may be zero.
fn contend(options: &str, attempts_max: u32, calls: u32) -> usize {
    let store = Store::new(Cardinality::tiny(), options);
    let before = store.tallies();
    let targets = strangers(&store, attempts_max);
    let list = |worker| {
        let mut stream = inputs(&store, 5, worker);
        (0..calls).map(|_| stream.draw()).collect()
    };
    let lists: Vec<Vec<Call>> = (0..SESSIONS).map(list).collect();
    let answers = at_once(&[&targets[0], &targets[1]], &lists);
    let mut ledger = Ledger::new(store.size);
    let mut conflicts = 0;
    for (call, answer) in lists.iter().flatten().zip(answers.iter().flatten()) {
        match answer {
            Ok(_) => {}
            Err(Fault::Conflict(_)) => conflicts += 1,
            Err(other) => panic!("{options}: {call:?}: {other}"),
        }
        ledger.post(call, answer);
    }
    drop(targets);
    // Nothing is in doubt, so the store holds exactly what was acknowledged.
    let found = store.find(&before, &Claims::of(&ledger, true));
    assert!(found.failed().is_empty(), "{options}: {:#?} {:#?}", found.failed(), found.ledger);
    store.assert_sound();
    conflicts
}

#[test]
fn two_processes_on_one_file_wait_for_each_other_and_lose_nothing() {
    for journal in ["wal", "truncate"] {
        let conflicts = contend(&format!("journal={journal}&synchronous=off&busy_ms=60000"), 10, 150);
        assert_eq!(conflicts, 0, "{journal}: the busy timeout is longer than all calls together");
    }
}

#[test]
fn two_processes_that_do_not_wait_apply_nothing_of_what_conflicts() {
    // Retried, too: what the retries do is stored once.
    for journal in ["wal", "truncate"] {
        contend(&format!("journal={journal}&synchronous=off&busy_ms=1"), 10, 100);
        contend(&format!("journal={journal}&synchronous=off&busy_ms=0"), 1, 400);
    }
}

#[test]
fn a_call_that_meets_a_writer_is_a_conflict_and_passes_when_the_writer_is_gone() {
    for journal in ["wal", "truncate"] {
        let store = Store::new(Cardinality::tiny(), &format!("journal={journal}&synchronous=off&busy_ms=0"));
        let before = state(&store);
        let [target, _] = strangers(&store, 3);
        let mut session = now(target.open(0)).unwrap();
        let other = store.connection();
        other.execute_batch("begin immediate").unwrap();
        let mut work = CallWork::default();
        let answer = now(session.run(&order(1, false), &mut work));
        assert!(matches!(answer, Err(Fault::Conflict(_))), "{journal}: {answer:?}");
        assert_eq!(work.attempts, 3, "{journal}");
        other.execute_batch("rollback").unwrap();
        assert_eq!(state(&store), before, "{journal}");
        let answer = now(session.run(&order(1, false), &mut CallWork::default()));
        assert!(matches!(answer, Ok(Outcome::Placed(_))), "{journal}: {answer:?}");
        drop(session);
        store.assert_sound();
    }
}

/// A session that comes to grief at its second line of an order.
fn doomed(store: &Store, tampering: Tampering) -> impl Target<Tpcc, Session: Session<Tpcc>> + use<> {
    let opener = TamperedOpener { opener: store.opener(statements()), tampering };
    SqlTarget::new(opener, measure::Monotonic::start())
}

/// What an order changes, and nothing else does here.
fn state(store: &Store) -> [i64; 4] {
    [
        store.number("select sum(d_next_o_id) from district"),
        store.number("select count(*) from orders"),
        store.number("select count(*) from order_line"),
        store.number("select sum(s_ytd) from stock"),
    ]
}

#[test]
fn a_session_dropped_in_mid_transaction_leaves_its_lane_free_and_nothing_applied() {
    for journal in ["wal", "truncate"] {
        let store = Store::new(Cardinality::tiny(), &format!("journal={journal}&synchronous=off"));
        let before = state(&store);
        let target = doomed(&store, Tampering::Stalls(Stmt::InsertOrderLine.id()));
        let mut session = now(target.open(0)).unwrap();
        let call = order(1, false);
        {
            let mut work = CallWork::default();
            let mut call = pin!(session.run(&call, &mut work));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(session);
        assert_eq!(state(&store), before);
        // One lane for the target: who takes a payment now passes where the dropped one stood.
        let mut next = now(target.open(1)).unwrap();
        let payment =
            Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer: Who::Id(1), h_amount: Cents(100) };
        now(next.run(&Call::Payment(payment), &mut CallWork::default())).unwrap();
        drop(next);
        store.assert_sound();
    }
}

#[test]
fn a_session_that_panics_in_mid_transaction_leaves_its_lane_free_and_nothing_applied() {
    let store = Store::new(Cardinality::tiny(), "synchronous=off");
    let before = state(&store);
    let target = doomed(&store, Tampering::Panics(Stmt::InsertOrderLine.id()));
    std::thread::scope(|scope| {
        let crash = || {
            let mut session = now(target.open(0)).unwrap();
            now(session.run(&order(1, false), &mut CallWork::default()))
        };
        scope.spawn(crash).join().unwrap_err();
    });
    assert_eq!(state(&store), before);
    let mut next = now(target.open(1)).unwrap();
    let payment =
        Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer: Who::Id(1), h_amount: Cents(100) };
    now(next.run(&Call::Payment(payment), &mut CallWork::default())).unwrap();
    drop(next);
    store.assert_sound();
}

#[test]
fn a_server_whose_session_panics_answers_the_next_call_and_has_applied_nothing() {
    let store = Store::new(Cardinality::tiny(), "synchronous=off");
    let before = state(&store);
    let served = Served::start(doomed(&store, Tampering::Panics(Stmt::InsertOrderLine.id())), store.size, 1);
    let payment =
        Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer: Who::Id(1), h_amount: Cents(100) };
    let calls =
        vec![order(1, false), Call::Payment(payment.clone()), order(2, false), Call::Payment(payment)];
    let answers = at_once(&[&served.target()], &[calls]).remove(0);
    assert!(matches!(answers[0], Err(Fault::Defect(_) | Fault::InDoubt(_))), "{:?}", answers[0]);
    assert!(matches!(answers[1], Ok(Outcome::Paid(_))), "{:?}", answers[1]);
    assert!(answers[2].is_err(), "{:?}", answers[2]);
    assert!(matches!(answers[3], Ok(Outcome::Paid(_))), "{:?}", answers[3]);
    assert!(served.log().iter().any(|line| line.contains("panicked")), "{:?}", served.log());
    drop(served);
    assert_eq!(state(&store), before);
    store.assert_sound();
}

/// Whether a future is dropped before it is ready: it is polled three times, and no more often.
async fn given_up<T>(call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    for _ in 0..3 {
        if let Poll::Ready(value) = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await {
            return Some(value);
        }
        tokio::task::yield_now().await;
    }
    None
}

#[test]
fn clients_that_hang_up_leave_each_call_whole_or_unmade() {
    // A call that writes is still at its commit when its client has looked three times.
    let slow = "journal=truncate&synchronous=full&shared_memory=off&sync_delay=5ms";
    let store = Store::new(Cardinality::tiny(), slow);
    let before = store.tallies();
    let served = Served::start(store.target(), store.size, 4);
    let target = served.target();
    let mut ledger = Ledger::new(store.size);
    let mut doubtful = 0;
    runtime().block_on(async {
        let mut stream = inputs(&store, 6, 0);
        let mut session = target.open(0).await.expect("a server that runs");
        for turn in 0..1_500 {
            // On a busy machine more calls end before their client has looked three times.
            if turn >= 150 && doubtful > 20 {
                break;
            }
            let call = stream.draw();
            let mut work = CallWork::default();
            let whole = if turn % 3 == 0 {
                given_up(session.run(&call, &mut work)).await
            } else {
                Some(session.run(&call, &mut work).await)
            };
            if whole.is_none() {
                doubtful += 1;
                session = target.open(0).await.expect("a server that runs");
            }
            let answer = whole.unwrap_or(Err(Fault::InDoubt(Doubt::Deadline)));
            assert!(matches!(answer, Ok(_) | Err(Fault::InDoubt(_))), "{call:?}: {answer:?}");
            ledger.post(&call, &answer);
        }
    });
    // The server ends what it has begun before it stops.
    drop(served);
    assert!(doubtful > 20, "only {doubtful} calls were given up: this test has shown little");
    let found = store.find(&before, &Claims::of(&ledger, true));
    assert!(found.failed().iter().all(|name| name.contains("remote")), "{:#?}", found.failed());
    store.assert_sound();
}

#[test]
fn a_full_disk_refuses_calls_and_leaves_nothing_half_done() {
    for journal in ["wal", "truncate"] {
        let store = Store::new(Cardinality::tiny(), &format!("journal={journal}&synchronous=off"));
        let before = store.tallies();
        // A limit of this connection: the file may not grow from now on, as if the disk were full.
        let connection = connect(store.file()).expect("a store that was just made");
        connection.pragma_update(None, "max_page_count", 1).expect("a setting of the connection alone");
        let (lane, clock) = (Lane::new(journal != "wal"), measure::Monotonic::start());
        let connection = SqliteConn::prepare(connection, &statements(), lane, clock);
        let mut session = SqlSession::new(connection.expect("the store's own statements"), clock);
        let mut ledger = Ledger::new(store.size);
        let mut refused = 0;
        let mut stream = inputs(&store, 6, 0);
        for _ in 0..2_000 {
            let call = stream.draw();
            let answer = now(session.run(&call, &mut CallWork::default()));
            match &answer {
                Ok(_) => {}
                Err(Fault::Refused(Refusal::Unwritable(_))) => refused += 1,
                Err(other) => panic!("{journal}: {call:?}: {other}"),
            }
            ledger.post(&call, &answer);
        }
        drop(session);
        assert!(refused > 100, "{journal}: {refused} calls were refused; the file was never full");
        let found = store.find(&before, &Claims::of(&ledger, true));
        let exact = |name: &String| !name.contains("remote") && !name.contains("skew");
        assert!(!found.failed().iter().any(exact), "{journal}: {:#?}", found.failed());
    }
}
