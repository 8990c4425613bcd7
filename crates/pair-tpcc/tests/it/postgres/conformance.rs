//! Both styles on a real PostgreSQL, held to the golden vectors and the oracle.

use super::support::{number, tiny, wait};
use measure::Monotonic;
use model::{CallWork, OpenError, Session, Target, Tier};
use pair_tpcc::postgres::{PipelinedTarget, ProcedureTarget};
use sql::{Isolation, ServerUrl};
use std::future::Future;
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{Call, Delivery, Line, NewOrder, Outcome, Tpcc};

fn conforms<T: Target<Tpcc>>(reach: impl Future<Output = Result<T, OpenError>>, style: &str, random: u32) {
    wait(async {
        let target = reach.await.unwrap();
        assert_eq!((target.stack().style.as_str(), target.stack().durability.tier), (style, Tier::Volatile));
        let mut session = target.open(0).await.unwrap();
        let plan = ConformancePlan::golden(1, random);
        let done = conform(&mut session, &plan).await.unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(done.golden > 0 && done.random == random && done.declined > 0, "{done:?}");
    });
}

#[test]
fn pipelined_answers_what_the_vectors_and_the_oracle_say() {
    let url = tiny("pipelined");
    conforms(PipelinedTarget::reach(&url, Monotonic::start()), "pipelined", 400);
}

#[test]
fn procedures_answer_what_the_vectors_and_the_oracle_say() {
    let url = tiny("procedure");
    conforms(ProcedureTarget::reach(&url, Monotonic::start()), "procedure", 400);
    // Of the functions nothing is left, once the server has noticed that the session is gone.
    let left = || number(&url, "select count(*) from pg_proc where proname in ('new_order', 'stock_level')");
    assert!((0..1_000).any(|_| left() == 0), "{} are left", left());
}

#[test]
fn both_do_so_at_serializable() {
    let url = |name| ServerUrl { isolation: Isolation::Serializable, ..tiny(name) };
    let (one, other) = (url("pipelined_serializable"), url("procedure_serializable"));
    conforms(PipelinedTarget::reach(&one, Monotonic::start()), "pipelined", 300);
    conforms(ProcedureTarget::reach(&other, Monotonic::start()), "procedure", 300);
}

fn order(items: [u32; 5]) -> Call {
    let lines = items.into_iter().map(|i_id| Line { i_id, supply_w_id: 1, quantity: 3 }).collect();
    Call::NewOrder(NewOrder { w_id: 1, d_id: 1, c_id: 1, lines })
}

/// Statements, commits and rows of an order, of one with an item twice, of one with an unused item, and of a delivery.
async fn works<T: Target<Tpcc>>(target: T) -> Vec<(u32, u32, u32, u32)> {
    let mut session = target.open(0).await.unwrap();
    let delivery = Call::Delivery(Delivery { w_id: 2, o_carrier_id: 1 });
    let calls = [order([5, 4, 3, 2, 1]), order([5, 4, 5, 2, 1]), order([5, 101, 3, 2, 1]), delivery];
    let mut works = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let mut work = CallWork::default();
        let outcome = session.run(call, &mut work).await.unwrap();
        assert_eq!(matches!(outcome, Outcome::Unused(_)), index == 2, "{outcome:?}");
        assert!(work.spent.statements > model::Nanos::ZERO);
        works.push((work.attempts, work.statements, work.rows, work.commits));
    }
    works
}

#[test]
fn work_says_what_was_sent() {
    let url = tiny("works");
    let piped = wait(async { works(PipelinedTarget::reach(&url, Monotonic::start()).await.unwrap()).await });
    assert_eq!(piped, [(1, 2, 6, 1), (1, 3, 6, 1), (1, 3, 6, 0), (1, 1, 10, 1)]);
    let called = wait(async { works(ProcedureTarget::reach(&url, Monotonic::start()).await.unwrap()).await });
    assert_eq!(called, [(1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 0, 0), (1, 1, 1, 1)]);
}

/// Lines of such an order are taken in several rounds, and the unused item is in one of them.
async fn unused_beside_repeated<T: Target<Tpcc>>(target: T) {
    let mut session = target.open(0).await.unwrap();
    for items in [[101, 5, 5, 2, 1], [5, 4, 5, 5, 101], [101, 5, 101, 5, 1]] {
        let outcome = session.run(&order(items), &mut CallWork::default()).await.unwrap();
        assert!(matches!(outcome, Outcome::Unused(_)), "{items:?}: {outcome:?}");
        let outcome = session.run(&order([5, 4, 5, 5, 1]), &mut CallWork::default()).await.unwrap();
        let Outcome::Placed(placed) = outcome else { panic!("{outcome:?}") };
        let left: Vec<i64> = placed.lines.iter().map(|line| line.s_quantity).collect();
        let taken = |before: i64, after: i64| after == before - 3 || after == before - 3 + 91;
        assert!(placed.lines.len() == 5 && taken(left[0], left[2]) && taken(left[2], left[3]), "{left:?}");
    }
}

#[test]
fn an_unused_item_undoes_an_order_that_has_another_item_twice() {
    let url = tiny("unused_beside_repeated");
    wait(async {
        unused_beside_repeated(PipelinedTarget::reach(&url, Monotonic::start()).await.unwrap()).await;
        unused_beside_repeated(ProcedureTarget::reach(&url, Monotonic::start()).await.unwrap()).await;
    });
}
