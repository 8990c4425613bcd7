use super::*;
use crate::Call;
use model::{CallWork, Conflict, Fault};
use std::fmt::Write;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a session in memory never waits"),
    }
}

/// An oracle that answers in its own way.
struct Broken<F> {
    oracle: Oracle,
    answer: F,
}

impl<F: FnMut(&mut Oracle, &Call) -> CallResult + Send> Session<Tpcb> for Broken<F> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> CallResult {
        work.attempts += 1;
        (self.answer)(&mut self.oracle, call)
    }
}

fn run(
    plan: &ConformancePlan,
    answer: impl FnMut(&mut Oracle, &Call) -> CallResult + Send,
) -> Result<Conformance, Disagreement> {
    now(conform(&mut Broken { oracle: Oracle::new(&Data::new(plan.size)), answer }, plan))
}

/// What is said of a session that answers like this.
fn caught(answer: impl FnMut(&mut Oracle, &Call) -> CallResult + Send) -> Disagreement {
    run(&ConformancePlan::golden(5, 1_000), answer).expect_err("the session is broken")
}

#[test]
fn the_committed_vectors_are_what_the_oracle_says() {
    let committed = include_str!("../../spec/vectors/tpcb.jsonl");
    let mut differing = String::new();
    for (number, (committed, recorded)) in (0..).zip(committed.lines().zip(recorded().lines())) {
        if committed != recorded {
            writeln!(differing, "line {number}:\n- {committed}\n+ {recorded}").unwrap();
        }
    }
    assert!(differing.is_empty() && committed == recorded(), "run the example `vectors`\n{differing}");
}

/// Worked out by hand from the calls, not by code.
#[test]
fn the_recorded_balances_are_right() {
    let golden = vectors::golden();
    let balances: Vec<i64> =
        golden.iter().filter_map(|(_, answer)| Some(answer.as_ref().ok()?.abalance)).collect();
    // Account 1: +5000, −5000, twice nothing, +1, −1. The last account: −5000, +5000.
    assert_eq!(balances[..8], [5_000, -5_000, 0, 0, 0, 0, 1, 0]);
    // The account in the middle, once through each of the three branches: 101, 102, 103.
    assert_eq!(balances[8..14], [101, 203, 306, 7, 306, 7]);
    // Eight times up, sixteen times down, and six rejected calls later nothing has moved.
    assert_eq!((balances[21], balances[37]), (40_000, -40_000));
    assert_eq!(balances[38..], [-40_000, -40_000, -40_000, -40_000, -40_000, -40_000, -39_997, 0, 0]);
}

#[test]
fn the_oracle_agrees_with_itself_on_any_data() {
    let done = run(&ConformancePlan::golden(5, 2_000), |oracle, call| oracle.answer(call)).unwrap();
    assert_eq!((done.golden, done.scripted, done.random, &done.kinds[..]), (53, 0, 2_000, &[2_053][..]));
    assert!(done.rejected > 60 && done.declined == 0, "{done:?}");
    for (branches, accounts) in [(1, 2), (2, 100_000), (7, 3)] {
        let size = Cardinality::of(branches, accounts, 10);
        let plan = ConformancePlan { size, seed: 1, random_calls: 500 };
        let done = run(&plan, |oracle, call| oracle.answer(call)).unwrap();
        assert_eq!((done.golden, done.random), (0, 500));
        assert!(done.scripted > 45, "{done:?}");
    }
}

/// The script reaches over all branches, and so asks whether what reaches over two stores is rejected.
#[test]
fn data_over_several_stores_is_asked_for_calls_within_one_and_over_two() {
    let size = Cardinality { shards: 2, ..Cardinality::tiny() };
    let plan = ConformancePlan { size, seed: 5, random_calls: 500 };
    let done = run(&plan, |oracle, call| oracle.answer(call)).unwrap();
    assert_eq!((done.golden, done.random), (0, 500));
    assert!((100..400).contains(&done.rejected), "{done:?}");
    let careless = |oracle: &mut Oracle, call: &Call| match oracle.answer(call) {
        Err(_) if call.tid == 30 => Ok(Outcome { abalance: 0 }),
        answer => answer,
    };
    assert!(run(&plan, careless).unwrap_err().what.contains("to be rejected"));
}

#[test]
fn a_balance_from_before_the_update_is_caught_at_once() {
    let found = caught(|oracle, call| {
        oracle.answer(call).map(|outcome| Outcome { abalance: outcome.abalance - call.delta })
    });
    assert_eq!((found.number, &*found.what), (1, "abalance: expected 5000, found 0"));
    assert_eq!(
        found.to_string(),
        r#"golden call 1, tpcb {"aid":1,"tid":1,"bid":1,"delta":5000}: abalance: expected 5000, found 0"#
    );
}

#[test]
fn an_update_that_is_lost_is_caught_when_the_account_is_next_seen() {
    let found = caught(|oracle, call| {
        let before = oracle.accounts.clone();
        let answer = oracle.answer(call);
        if call.delta == 7 {
            oracle.accounts = before;
        }
        answer
    });
    assert_eq!(found.what, "abalance: expected 7, found 0");
}

#[test]
fn a_rejected_call_that_leaves_the_account_changed_is_caught_at_the_next() {
    let found = caught(|oracle, call| {
        let answer = oracle.answer(call);
        if let (Err(_), Some(balance)) = (&answer, oracle.accounts.get_mut(call.aid as usize - 1)) {
            *balance += call.delta;
        }
        answer
    });
    assert_eq!(found.what, "abalance: expected -40000, found -39500");
}

#[test]
fn a_session_that_takes_what_it_should_reject_is_caught() {
    let found = caught(|oracle, call| oracle.answer(call).or(Ok(Outcome { abalance: 0 })));
    assert!(found.what.contains("to be rejected (defect: unknown-id), found an outcome"), "{found}");
}

#[test]
fn a_session_that_fails_is_caught() {
    let found = caught(|_, _| Err(Fault::Conflict(Conflict::Busy)));
    assert_eq!((found.number, &*found.found), (1, "conflict: busy"));
    let found = caught(|oracle, call| oracle.answer(call).map_err(|_| Fault::Conflict(Conflict::Busy)));
    assert!(found.what.contains("found another fault: conflict: busy"), "{found}");
}

#[test]
fn sixteen_bits_are_too_few() {
    let found = caught(|oracle, call| {
        oracle.answer(call).map(|outcome| Outcome { abalance: i64::from(outcome.abalance as i16) })
    });
    assert_eq!(found.what, "abalance: expected 35000, found -30536");
}

#[test]
fn conformance_may_run_on_any_executor() {
    fn sendable(_: impl Send) {}
    let plan = ConformancePlan::golden(0, 0);
    let answer = |oracle: &mut Oracle, call: &Call| oracle.answer(call);
    sendable(conform(&mut Broken { oracle: Oracle::new(&Data::new(plan.size)), answer }, &plan));
}
