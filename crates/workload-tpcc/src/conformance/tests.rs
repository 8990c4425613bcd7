mod golden;

use super::*;
use crate::{Call, NewOrder, Outcome, Who};
use contract::Wire;
use contract::conformance::{call_json, describe};
use model::{BasisPoints, CallWork, Cents, Conflict, Fault, Workload};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a session in memory never waits"),
    }
}

/// An oracle that answers in its own way: the number of the call comes first, from 1.
struct Broken<F> {
    oracle: Oracle,
    number: u32,
    answer: F,
}

impl<F: FnMut(u32, &mut Oracle, &Call) -> CallResult + Send> Session<Tpcc> for Broken<F> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> CallResult {
        work.attempts += 1;
        self.number += 1;
        (self.answer)(self.number, &mut self.oracle, call)
    }
}

fn oracle(plan: &ConformancePlan) -> Oracle {
    Oracle::new(&Data::new(plan.size, plan.load_seed))
}

/// What is said of a session that answers like this.
fn caught(answer: impl FnMut(u32, &mut Oracle, &Call) -> CallResult + Send) -> Disagreement {
    let plan = ConformancePlan::golden(5, 1_000);
    let mut session = Broken { oracle: oracle(&plan), number: 0, answer };
    now(conform(&mut session, &plan)).expect_err("the session is broken")
}

/// The numbers of the golden calls for which this holds.
fn golden_calls(holds: impl Fn(&Call, &CallResult) -> bool) -> Vec<u32> {
    let golden = vectors::golden();
    (1..).zip(&golden).filter(|(_, (call, answer))| holds(call, answer)).map(|(number, _)| number).collect()
}

#[test]
fn the_oracle_agrees_with_itself_on_any_data() {
    let plan = ConformancePlan::golden(5, 2_000);
    let done = now(conform(&mut oracle(&plan), &plan)).unwrap();
    assert_eq!((done.golden, done.scripted, done.random), (87, 0, 2_000));
    assert_eq!(done.kinds.iter().sum::<u32>(), 2_087);
    assert!(
        done.kinds.iter().all(|count| *count > 50) && done.declined > 20 && done.rejected == 2,
        "{done:?}"
    );

    let small = Cardinality { warehouses: 1, items: 40, ..Cardinality::tiny() };
    let wide = Cardinality { warehouses: 3, items: 1_000, customers: 60, orders: 60, ..Cardinality::tiny() };
    for (size, load_seed) in [(Cardinality::tiny(), 1), (small, 2), (wide, 3)] {
        let plan = ConformancePlan { size, load_seed, seed: 1, random_calls: 500 };
        let done = now(conform(&mut oracle(&plan), &plan)).unwrap();
        assert_eq!((done.golden, done.random), (0, 500));
        assert!(done.scripted > 50, "{done:?}");
    }
}

/// Everything that crosses a wire, without one.
struct Written(Oracle);

impl Session<Tpcc> for Written {
    async fn run(&mut self, call: &Call, _: &mut CallWork) -> CallResult {
        let sent = call_json::<Tpcc>(call);
        let received =
            Tpcc::decode_call(Tpcc::kind(call), &self.0.size(), &contract::Request::of(sent.as_bytes()))
                .unwrap();
        let answer = self.0.answer(&received)?;
        let answered = describe::<Tpcc>(&Ok(answer));
        Ok(Tpcc::decode_outcome(call, &contract::Answer::of(answered.as_bytes())).unwrap())
    }
}

#[test]
fn calls_and_outcomes_survive_the_wire() {
    let plan = ConformancePlan::golden(6, 2_000);
    let done = now(conform(&mut Written(oracle(&plan)), &plan)).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!((done.golden, done.random), (87, 2_000));
}

#[test]
fn a_wrong_total_is_caught_at_its_call() {
    for from in [1, 20, 200, 700] {
        let mut first = None;
        let found = caught(|number, oracle, call| {
            let mut answer = oracle.answer(call);
            if let (Ok(Outcome::Placed(placed)), true) = (&mut answer, number >= from) {
                placed.total_amount += Cents(1);
                first.get_or_insert(number);
            }
            answer
        });
        assert_eq!((Some(found.number), found.kind), (first, "new-order"));
        assert!(found.what.starts_with("total_amount: expected "), "{found}");
    }
}

#[test]
fn a_disagreement_says_what_was_asked_and_answered() {
    let found = caught(|number, oracle, call| {
        let mut answer = oracle.answer(call);
        if let (Ok(Outcome::Short(short)), 6) = (&mut answer, number) {
            short.low_stock += 1;
        }
        answer
    });
    let expected = Disagreement {
        number: 6,
        origin: Origin::Golden,
        kind: "stock-level",
        call: r#"{"w_id":1,"d_id":1,"threshold":20}"#.into(),
        expected: r#"{"low_stock":6}"#.into(),
        found: r#"{"low_stock":7}"#.into(),
        what: "low_stock: expected 6, found 7".into(),
    };
    assert_eq!(found, expected);
    assert_eq!(
        found.to_string(),
        r#"golden call 6, stock-level {"w_id":1,"d_id":1,"threshold":20}: low_stock: expected 6, found 7"#
    );
}

#[test]
fn a_lost_stock_update_is_caught_when_the_item_is_next_ordered() {
    let found = caught(|_, oracle, call| {
        let before = oracle.stock.clone();
        let answer = oracle.answer(call);
        // An order of 15 lines; none of its updates arrive.
        if matches!(call, Call::NewOrder(NewOrder { d_id: 2, lines, .. }) if lines.len() == 15) {
            oracle.stock = before;
        }
        answer
    });
    // The order of district 9 is the next to take item 79, one piece of which was lost.
    let first = golden_calls(|call, _| matches!(call, Call::NewOrder(NewOrder { d_id: 9, .. })))[0];
    assert_eq!((found.number, &*found.what), (first, "lines[3].s_quantity: expected 89, found 90"));
}

#[test]
fn a_roll_back_that_keeps_the_order_number_is_caught_at_the_next_order() {
    let found = caught(|_, oracle, call| {
        let answer = oracle.answer(call);
        if let (Call::NewOrder(NewOrder { w_id: 1, d_id, .. }), Ok(Outcome::Unused(_))) = (call, &answer) {
            oracle.districts[*d_id as usize - 1].row.d_next_o_id += 1;
        }
        answer
    });
    let unused = golden_calls(|_, answer| matches!(answer, Ok(Outcome::Unused(_))));
    assert_eq!((found.number, &*found.what), (unused[1], "o_id: expected 31, found 32"));
}

#[test]
fn a_roll_back_that_leaves_stock_taken_is_caught() {
    let found = caught(|_, oracle, call| {
        let answer = oracle.answer(call);
        if let (Call::NewOrder(order), Ok(Outcome::Unused(_))) = (call, &answer) {
            for line in order.lines.iter().take_while(|line| line.i_id <= 100) {
                let at = (line.supply_w_id - 1) * 100 + line.i_id - 1;
                oracle.stock[at as usize].s_quantity -= 1;
            }
        }
        answer
    });
    let after = golden_calls(|_, answer| matches!(answer, Ok(Outcome::Unused(_))))[3] + 2;
    assert_eq!(found.number, after);
    assert!(found.what.starts_with("lines[0].s_quantity"), "{found}");
}

#[test]
fn a_lost_payment_is_caught_when_the_customer_is_next_seen() {
    let found = caught(|number, oracle, call| {
        let before = oracle.districts[0].customers.clone();
        let answer = oracle.answer(call);
        if number == 51 {
            oracle.districts[0].customers = before;
        }
        answer
    });
    assert_eq!((found.number, found.kind), (52, "payment"));
    assert!(found.what.starts_with("c_data: expected \"1 1 1 1 1 4789.87 1 1 1 1 1 4889.94 "), "{found}");
}

#[test]
fn the_wrong_namesake_is_caught() {
    let found = caught(|_, oracle, call| {
        let mut call = call.clone();
        if let Call::Payment(payment) = &mut call
            && let Who::LastName(name) = payment.customer
        {
            let customers = &oracle.districts[0].customers;
            let first = customers.iter().find(|customer| customer.c_last == name);
            payment.customer = first.map_or(payment.customer, |customer| Who::Id(customer.c_id));
        }
        oracle.answer(&call)
    });
    // Of one, two and three namesakes the first happens to be meant; of four it is not.
    assert_eq!(found.number, 43);
    assert!(found.what.starts_with("customer.address.city: "), "{found}");
}

#[test]
fn deliveries_in_the_wrong_order_are_caught_at_once() {
    let found = caught(|_, oracle, call| {
        if matches!(call, Call::Delivery(_)) {
            oracle.districts.iter_mut().for_each(|district| district.undelivered.rotate_right(1));
        }
        oracle.answer(call)
    });
    assert_eq!((found.number, &*found.what), (65, "o_ids[0]: expected 22, found 31"));
}

#[test]
fn a_delivery_that_credits_no_one_is_caught() {
    let found = caught(|_, oracle, call| {
        let before: Vec<_> = oracle.districts.iter().map(|district| district.customers.clone()).collect();
        let answer = oracle.answer(call);
        if matches!(call, Call::Delivery(_)) {
            oracle
                .districts
                .iter_mut()
                .zip(before)
                .for_each(|(district, before)| district.customers = before);
        }
        answer
    });
    assert_eq!((found.number, &*found.what), (66, "c_balance: expected 5238248, found -1000"));
}

#[test]
fn a_discount_or_tax_that_is_forgotten_is_caught_at_the_first_order() {
    let first = golden_calls(|call, _| matches!(call, Call::NewOrder(_)))[0];
    for forget in [0, 1, 2] {
        let found = caught(|_, oracle, call| {
            let mut answer = oracle.answer(call);
            if let Ok(Outcome::Placed(placed)) = &mut answer {
                let sum = placed.lines.iter().map(|line| line.ol_amount).sum();
                let mut rates = [placed.c_discount, placed.w_tax, placed.d_tax];
                rates[forget] = BasisPoints(0);
                placed.total_amount = crate::order_total(sum, rates[0], rates[1], rates[2]);
            }
            answer
        });
        assert_eq!(found.number, first, "{found}");
    }
}

#[test]
fn a_session_that_fails_or_takes_what_it_should_reject_is_caught() {
    let fault = Fault::Conflict(Conflict::Busy);
    let found = caught(|_, _, _| Err(fault.clone()));
    assert_eq!((found.number, &*found.found), (1, "conflict: busy"));

    let rejected = golden_calls(|_, answer| answer.is_err());
    let found = caught(|number, oracle, call| {
        let answer = oracle.answer(call);
        if number == rejected[0] { Err(fault.clone()) } else { answer }
    });
    assert_eq!(found.number, rejected[0]);
    let found = caught(|number, oracle, call| {
        let mut call = call.clone();
        if let (Call::OrderStatus(status), true) = (&mut call, number == rejected[1]) {
            status.customer = Who::Id(1);
        }
        oracle.answer(&call)
    });
    assert_eq!(found.number, rejected[1]);
    assert!(found.what.contains("to be rejected"), "{found}");
}

#[test]
fn conformance_may_run_on_any_executor() {
    fn sendable(_: impl Send) {}
    let plan = ConformancePlan::golden(0, 0);
    sendable(conform(&mut oracle(&plan), &plan));
}
