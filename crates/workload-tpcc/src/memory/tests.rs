use super::*;
use crate::{Cardinality, Inputs, Oracle, order_total};
use model::{Inputs as _, Workload as _};
use std::collections::BTreeMap;

const SEED: u64 = 5;
/// Enough for every kind of call to come back to the same customers.
const CALLS: usize = 6_000;

/// What the first worker that is lied to says of it, where two make calls by turns and the truth is changed by `lie`.
fn told(
    known: &Arc<Knowledge>,
    items: u32,
    mut lie: impl FnMut(usize, &Call, &mut Outcome),
) -> Result<(), &'static str> {
    let size = Cardinality { items, ..Cardinality::tiny() };
    let mut oracle = Oracle::new(&Data::new(size, SEED));
    let mut workers: Vec<Inputs> =
        [0, 2].map(|worker| Inputs::new(size, Data::c_load_of(SEED), 9, worker).remembering(known)).into();
    for at in 0..CALLS {
        let worker = &mut workers[at % 2];
        let call = worker.draw();
        let mut outcome = oracle.answer(&call).expect("what is drawn can be answered");
        lie(at, &call, &mut outcome);
        crate::Tpcc::check(&call, &outcome).expect("a lie that the call alone does not give away");
        worker.check(&call, &outcome)?;
    }
    Ok(())
}

fn ours() -> Arc<Knowledge> {
    Knowledge::of(Data::new(Cardinality::tiny(), SEED), None, Run::default())
}

/// What the store reports of data that no call has changed.
fn before_any_call() -> Vec<StoredTally> {
    let Cardinality { warehouses, orders, customers, undelivered, .. } = Cardinality::tiny();
    let district = StoredTally {
        next_o_id: i64::from(orders) + 1,
        payments: customers.into(),
        undelivered: undelivered.into(),
        ..StoredTally::default()
    };
    vec![district; (warehouses * DISTRICTS) as usize]
}

fn fresh() -> Arc<Knowledge> {
    let before = before_any_call();
    Knowledge::of(Data::new(Cardinality::tiny(), SEED), Some(&before), Run::default())
}

/// Data of which what was acknowledged may be lost.
fn lossy() -> Arc<Knowledge> {
    let run = Run { lossy: true, ..Run::default() };
    Knowledge::of(Data::new(Cardinality::tiny(), SEED), None, run)
}

fn others() -> Arc<Knowledge> {
    Knowledge::of_others(Cardinality::tiny(), None, Run::default())
}

/// Changes a placed order, and what it costs with it.
fn with_placed(outcome: &mut Outcome, change: impl FnOnce(&mut Placed)) {
    if let Outcome::Placed(placed) = outcome {
        change(placed);
        let sum = placed.lines.iter().map(|line| line.ol_amount).sum();
        placed.total_amount = order_total(sum, placed.c_discount, placed.w_tax, placed.d_tax);
    }
}

#[test]
fn the_truth_is_believed() {
    for known in [ours(), others(), fresh()] {
        assert_eq!(told(&known, 100, |_, _, _| {}), Ok(()));
    }
}

#[test]
fn an_order_has_a_number_that_there_can_be() {
    let beyond = |at: usize, _: &Call, outcome: &mut Outcome| {
        if let (Outcome::Placed(placed), true) = (outcome, at > 1_000) {
            placed.o_id += 100;
        }
    };
    let wrong = Err("an order has a higher number than there are orders");
    for known in [ours(), others()] {
        assert_eq!(told(&known, 100, beyond), wrong);
    }
}

#[test]
fn a_stock_holds_what_orders_have_left_of_it() {
    let more = |of: usize| {
        move |at: usize, _: &Call, outcome: &mut Outcome| {
            if let (Outcome::Placed(placed), true) = (outcome, at > of && at.is_multiple_of(3))
                && placed.lines[0].s_quantity < 100
            {
                placed.lines[0].s_quantity += 1;
            }
        }
    };
    let wrong = Err("a stock is not what orders have left of it");
    for known in [ours(), others()] {
        assert_eq!(told(&known, 100, more(1_000)), wrong);
    }
    // On data that no one has used the first answer is compared with what was loaded.
    let always = |_: usize, _: &Call, outcome: &mut Outcome| {
        if let Outcome::Placed(placed) = outcome
            && placed.lines[0].s_quantity < 100
        {
            placed.lines[0].s_quantity += 1;
        }
    };
    assert_eq!(told(&fresh(), 100, always), wrong);
    // What may be lost is compared with nothing.
    assert_eq!(told(&lossy(), 100, more(0)), Ok(()));
}

#[test]
fn an_order_is_declined_exactly_where_it_names_an_unused_item() {
    let declined = told(&others(), 100, |at, _, outcome| {
        if let (Outcome::Placed(placed), true) = (&outcome, at > 1_000) {
            let &Placed { o_id, c_last, c_credit, .. } = placed;
            *outcome = Outcome::Unused(Unused { o_id, c_last, c_credit });
        }
    });
    assert_eq!(declined, Err("an order of items that are all sold was declined"));
    // 100 items for whoever draws, 101 for whoever answers.
    let known = others();
    let mut worker = Inputs::new(Cardinality::tiny(), 1, 9, 0).remembering(&known);
    let mut oracle = Oracle::new(&Data::new(Cardinality { items: 101, ..Cardinality::tiny() }, SEED));
    let accepted = (0..CALLS).find_map(|_| {
        let call = worker.draw();
        worker.check(&call, &oracle.answer(&call).unwrap()).err()
    });
    assert_eq!(accepted, Some("an order for an unused item was accepted"));
}

#[test]
fn an_order_number_is_given_once_whoever_was_answered() {
    let repeated = |since: usize| {
        let mut last = [0; 11];
        move |at: usize, call: &Call, outcome: &mut Outcome| {
            let Call::NewOrder(NewOrder { w_id: 1, d_id, .. }) = *call else { return };
            with_placed(outcome, |placed| {
                let before = std::mem::replace(&mut last[d_id as usize], placed.o_id);
                if at >= since && before > 0 {
                    placed.o_id = before;
                }
            });
        }
    };
    for known in [ours(), others()] {
        let found = told(&known, 100, repeated(1_000)).unwrap_err();
        let words = ["an order number was given twice", "an order number is not above those before it"];
        assert!(words.contains(&found), "{found}");
    }
    let numbers = OrderNumbers::default();
    assert!((1..=5_000).all(|o_id| numbers.enter(o_id)), "each is new");
    assert!((3_000..=5_000).rev().all(|o_id| !numbers.enter(o_id)), "each was given");
    assert!(numbers.enter(1), "no one can tell any more");
    assert!(
        numbers.enter(5_003) && numbers.enter(5_001) && !numbers.enter(5_003),
        "answers overtake each other"
    );
}

#[test]
fn numbers_entered_at_once_are_given_to_one_only() {
    let numbers = OrderNumbers::default();
    let entered = |_| (1..=2_000).filter(|o_id| numbers.enter(*o_id)).count();
    let new: usize = std::thread::scope(|scope| {
        let threads = [0, 1].map(|thread| scope.spawn(move || entered(thread)));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(new, 2_000);
}

#[test]
fn a_worker_sees_what_it_has_placed() {
    for known in [ours(), others()] {
        let found = told(&known, 100, |at, _, outcome| {
            if let (Outcome::Status(report), true) = (outcome, at > 1_000) {
                report.o_id = report.o_id.saturating_sub(31).max(1);
            }
        });
        assert_eq!(found, Err("the status shows an order older than one known before"));
    }
}

#[test]
fn a_status_shows_what_any_worker_was_answered_before_it_was_asked() {
    let (known, size) = (ours(), Cardinality::tiny());
    let mut oracle = Oracle::new(&Data::new(size, SEED));
    let mut inputs = Inputs::new(size, Data::c_load_of(SEED), 9, 0);
    let order = std::iter::repeat_with(|| inputs.draw()).find_map(|call| match call {
        Call::NewOrder(order) if !order.names_unused(size.items) => Some(order),
        _ => None,
    });
    let order = order.unwrap();
    let (w_id, d_id, customer) = (order.w_id, order.d_id, Who::Id(order.c_id));
    let [status, order] = [Call::OrderStatus(OrderStatus { w_id, d_id, customer }), Call::NewOrder(order)];
    let [mut places, mut asks, mut others] = [0, 1, 2].map(|_| Memory::new(&known));
    let old = oracle.answer(&status).unwrap();
    asks.draw(&status);
    places.draw(&order);
    let placed = oracle.answer(&order).unwrap();
    assert_eq!(places.check(&order, &placed), Ok(()));
    assert_eq!(asks.check(&status, &old), Ok(()), "it was asked before the order was answered");
    let older = Err("the status shows an order older than one known before");
    for worker in [&mut asks, &mut others] {
        worker.draw(&status);
        assert_eq!(worker.check(&status, &old), older);
        let new = oracle.answer(&status).unwrap();
        assert_eq!(worker.check(&status, &new), Ok(()));
    }
}

#[test]
fn of_customers_that_share_a_place_the_later_one_is_known() {
    let last = LastOrders::default();
    let (one, other) = (7, 7 + LAST_MAX as u32);
    assert_eq!(last.find(one), 0);
    for o_id in [5, 3, 8] {
        last.enter(one, o_id);
    }
    assert_eq!((last.find(one), last.find(other)), (8, 0));
    last.enter(other, 2);
    assert_eq!((last.find(one), last.find(other)), (0, 2));
}

#[test]
fn what_no_call_changes_is_as_it_was_loaded() {
    let lie = |known: Arc<Knowledge>, change: fn(&mut Placed)| {
        told(&known, 100, |at, _, outcome| {
            if at > 500 {
                with_placed(outcome, change);
            }
        })
    };
    let taxes: [fn(&mut Placed); 2] = [|placed| placed.w_tax.0 += 1, |placed| placed.d_tax.0 += 1];
    for tax in taxes {
        assert_eq!(lie(ours(), tax), Err("a tax is not as loaded"));
        assert_eq!(lie(others(), tax), Err("a tax is not what it was before"));
    }
    assert_eq!(
        lie(ours(), |placed| placed.c_discount.0 += 1),
        Err("the customer of the order is not as loaded")
    );
    let paid = told(&ours(), 100, |_, _, outcome| {
        if let Outcome::Paid(paid) = outcome {
            paid.customer.c_discount.0 += 1;
        }
    });
    assert_eq!(paid, Err("the payment's customer is not as loaded"));
    assert_eq!(
        lie(ours(), |placed| placed.o_id -= 30),
        Err("the order has the number of one that was loaded")
    );
}

#[test]
fn what_was_loaded_is_answered_whole() {
    type Lie = (fn(&mut Outcome), &'static str);
    fn placed(outcome: &mut Outcome) -> Option<&mut PlacedLine> {
        if let Outcome::Placed(placed) = outcome { placed.lines.last_mut() } else { None }
    }
    fn paid(outcome: &mut Outcome) -> Option<&mut Paid> {
        if let Outcome::Paid(paid) = outcome { Some(paid) } else { None }
    }
    fn status(outcome: &mut Outcome) -> Option<&mut OrderReport> {
        match outcome {
            Outcome::Status(report) if report.o_id <= 30 => Some(report),
            _ => None,
        }
    }
    const ITEM: &str = "an item of the order is not as loaded";
    const CUSTOMER: &str = "the payment's customer is not as loaded";
    const ADDRESS: &str = "an address is not as loaded";
    const ORDER: &str = "an order that was loaded is not as loaded";
    let lies: &[Lie] = &[
        (|outcome| _ = placed(outcome).map(|line| line.i_name.pop()), ITEM),
        (|outcome| _ = placed(outcome).map(|line| line.brand_generic = "B".parse().unwrap()), ITEM),
        (|outcome| _ = paid(outcome).map(|paid| paid.customer.c_first.pop()), CUSTOMER),
        (|outcome| _ = paid(outcome).map(|paid| paid.customer.c_phone.pop()), CUSTOMER),
        (|outcome| _ = paid(outcome).map(|paid| paid.customer.c_since += 1), CUSTOMER),
        (|outcome| _ = paid(outcome).map(|paid| paid.customer.c_credit_lim.0 += 1), CUSTOMER),
        (|outcome| _ = paid(outcome).map(|paid| paid.customer.address.zip.pop()), CUSTOMER),
        (|outcome| _ = paid(outcome).map(|paid| paid.warehouse.city.pop()), ADDRESS),
        (|outcome| _ = paid(outcome).map(|paid| paid.district.state.pop()), ADDRESS),
        (
            |outcome| _ = paid(outcome).and_then(|paid| paid.c_data.as_mut()).map(|data| data.remove(0)),
            "c_data does not begin with the payment",
        ),
        (
            |outcome| _ = status(outcome).map(|report| report.c_first.pop()),
            "the customer of the status is not as loaded",
        ),
        (|outcome| _ = status(outcome).map(|report| report.o_entry_d += 1), ORDER),
        (|outcome| _ = status(outcome).map(|report| report.lines[0].ol_quantity += 1), ORDER),
        (
            |outcome| {
                _ = status(outcome).filter(|report| report.lines.len() > 5).map(|report| report.lines.pop())
            },
            ORDER,
        ),
    ];
    for (at, (lie, wrong)) in lies.iter().enumerate() {
        assert_eq!(told(&ours(), 100, |_, _, outcome| lie(outcome)), Err(*wrong), "lie {at}");
    }
}

#[test]
fn the_lines_of_an_order_stay_as_they_were_placed() {
    const OTHER: &str = "the status shows another date or other lines than the order had before";
    const PRICED: &str = "an amount of the status is not price times quantity";
    let of_run = |outcome: &mut Outcome, change: fn(&mut OrderReport)| match outcome {
        Outcome::Status(report) if report.o_id > 30 && report.lines.len() > 5 => change(report),
        _ => {}
    };
    for known in [ours(), others()] {
        let found = told(&known, 100, |_, _, outcome| of_run(outcome, |report| _ = report.lines.pop()));
        assert_eq!(found, Err(OTHER));
    }
    let dearer = |_: usize, _: &Call, outcome: &mut Outcome| {
        of_run(outcome, |report| report.lines[0].ol_amount.0 += 1);
    };
    let redated = |_: usize, _: &Call, outcome: &mut Outcome| {
        of_run(outcome, |report| report.o_entry_d += 1);
    };
    assert_eq!(told(&ours(), 100, redated), Err(OTHER));
    // Whoever sees first an order that another one has placed knows its prices alone.
    assert!([OTHER, PRICED].contains(&told(&ours(), 100, dearer).unwrap_err()));
}

#[test]
fn an_order_that_was_delivered_keeps_its_carrier() {
    for known in [ours(), others()] {
        let found = told(&known, 100, |_, _, outcome| match outcome {
            Outcome::Status(report) if report.o_id > 21 => {
                report.o_carrier_id = report.o_carrier_id.map(|carrier| carrier % 10 + 1);
            }
            _ => {}
        });
        assert_eq!(found, Err("the status shows another carrier than the order was delivered with"));
    }
    // Numbers that no order has.
    let found = told(&fresh(), 100, |_, _, outcome| {
        if let Outcome::Delivered(delivered) = outcome {
            delivered.o_ids.iter_mut().flatten().for_each(|o_id| *o_id += 10_000);
        }
    });
    assert_eq!(found, Err("an order is delivered that does not exist"));
}

#[test]
fn a_balance_is_what_payments_and_deliveries_have_made_of_it() {
    let wrong = Err("a customer's balance is not what payments and deliveries have made of it");
    let less = |outcome: &mut Outcome| match outcome {
        Outcome::Paid(paid) => paid.customer.c_balance.0 -= 1,
        Outcome::Status(report) => report.c_balance.0 -= 1,
        _ => {}
    };
    for kind in [crate::kind::PAYMENT, crate::kind::ORDER_STATUS] {
        let found = told(&fresh(), 100, |_, call, outcome| {
            if crate::Tpcc::kind(call) == kind {
                less(outcome);
            }
        });
        assert_eq!(found, wrong);
    }
    // Where orders of an earlier run may be delivered no one knows.
    for known in [ours(), others(), lossy()] {
        assert_eq!(told(&known, 100, |_, _, outcome| less(outcome)), Ok(()));
    }
}

#[test]
fn dates_are_those_of_the_run() {
    // Three hours ago.
    let begin = i64::try_from(measure::unix_seconds()).unwrap() - 10_800;
    let run = Run { begin: Some(begin), ..Run::default() };
    let known =
        |before: Option<&Vec<StoredTally>>| Knowledge::of(Data::new(Cardinality::tiny(), SEED), before, run);
    // The truth of someone who takes 1 s for a call, except for `lie`.
    let dated = |known: &Arc<Knowledge>, lie: fn(&Call) -> i64| {
        let mut orders = BTreeMap::new();
        told(known, 100, |at, call, outcome| {
            let date = begin + at as i64 + if at > 4_000 { lie(call) } else { 0 };
            match (call, outcome) {
                (Call::NewOrder(call), Outcome::Placed(placed)) => {
                    orders.insert((call.w_id, call.d_id, placed.o_id), date);
                    placed.o_entry_d = date;
                }
                (Call::OrderStatus(call), Outcome::Status(report)) => {
                    let stored = orders.get(&(call.w_id, call.d_id, report.o_id));
                    report.o_entry_d = stored.copied().unwrap_or(report.o_entry_d);
                }
                (_, Outcome::Paid(paid)) => paid.h_date = date,
                _ => {}
            }
        })
    };
    assert_eq!(dated(&known(None), |_| 0), Ok(()));
    let others: [fn(&Call) -> i64; 2] = [|_| 20_000, |_| -10_000];
    for off in others {
        let found = dated(&known(None), off).unwrap_err();
        assert!(found.ends_with("'s date is not that of its call"), "{found}");
    }
    let payments = |call: &Call| if matches!(call, Call::Payment(_)) { 20_000 } else { 0 };
    let found = dated(&known(None), payments);
    assert_eq!(found, Err("a payment's date is not that of its call"));
    // A status is compared where no other run has left orders behind.
    let past = |_: usize, _: &Call, outcome: &mut Outcome| match outcome {
        Outcome::Placed(placed) => placed.o_entry_d = begin,
        Outcome::Paid(paid) => paid.h_date = begin,
        Outcome::Status(report) if report.o_id > 30 => {
            report.o_entry_d = begin;
            let dates = report.lines.iter_mut().filter_map(|line| line.ol_delivery_d.as_mut());
            dates.for_each(|date| *date = begin - 7_200);
        }
        _ => {}
    };
    assert_eq!(told(&known(None), 100, past), Ok(()));
    let all_new = before_any_call();
    let found = told(&known(Some(&all_new)), 100, past);
    assert_eq!(found, Err("the status shows a date that is not in the run"));
}

#[test]
fn dates_go_on() {
    const BEGIN: i64 = 1_700_000_000;
    // Looks, each as the seconds in which its call was dated and answered.
    let goes_on = |looks: &[(i64, i64)]| {
        let mut going = Going::default();
        looks.iter().all(|(dated, answered)| going.goes_on(BEGIN + dated, BEGIN + answered))
    };
    let steady: Vec<(i64, i64)> = (0..100).map(|at| (at * 3, at * 3 + 1)).collect();
    assert!(goes_on(&steady));
    let still: Vec<(i64, i64)> = steady.iter().map(|(_, answered)| (0, *answered)).collect();
    assert!(!goes_on(&still));
    let slow: Vec<(i64, i64)> = steady.iter().map(|(dated, answered)| (dated / 4, *answered)).collect();
    assert!(!goes_on(&slow));
    let short: Vec<(i64, i64)> = still.iter().copied().take_while(|(_, answered)| *answered < 20).collect();
    assert!(goes_on(&short));
    // A call is dated when it begins, and waits for an outage of the engine to end.
    assert!(goes_on(&[(0, 1), (2, 90), (91, 92), (150, 151), (152, 300), (301, 302)]));
    // Clocks are set back by an hour, and by a second.
    let winter: Vec<(i64, i64)> =
        steady.iter().map(|(dated, answered)| (dated - i64::from(*dated > 100) * 3_600, *answered)).collect();
    assert!(goes_on(&winter));
    let corrected: Vec<(i64, i64)> =
        steady.iter().map(|(dated, answered)| (dated - i64::from(*dated > 100), *answered)).collect();
    assert!(goes_on(&corrected));
    // Few calls are looked at.
    let mut going = Going::default();
    assert_eq!((0..640).filter(|_| going.is_due()).count(), 10);
}

#[test]
fn of_namesakes_the_one_in_the_middle_is_meant() {
    let found = told(&ours(), 100, |_, call, outcome| {
        if let (Call::OrderStatus(call), Outcome::Status(report)) = (call, outcome)
            && matches!(call.customer, Who::LastName(_))
        {
            report.c_id = report.c_id % 30 + 1;
        }
    });
    assert_eq!(found, Err("of the customers of that name another one is meant"));
}

#[test]
fn a_district_is_skipped_only_where_no_order_waits() {
    let skipping = |from: usize| {
        move |at: usize, _: &Call, outcome: &mut Outcome| {
            if let (Outcome::Delivered(delivered), true) = (outcome, at >= from) {
                delivered.o_ids[3] = None;
            }
        }
    };
    let skipped = Err("a district is skipped although orders wait for delivery");
    // Orders of this run wait, whatever waited before.
    assert_eq!(told(&ours(), 100, skipping(1_000)), skipped);
    assert_eq!(told(&others(), 100, skipping(1_000)), skipped);
    // So do those that the store reports, at the first delivery.
    let waiting = |undelivered: i64| {
        let district = |at: u32| StoredTally {
            w_id: at / DISTRICTS + 1,
            d_id: at % DISTRICTS + 1,
            undelivered,
            ..StoredTally::default()
        };
        let stored: Vec<StoredTally> = (0..2 * DISTRICTS).map(district).collect();
        let known = Knowledge::of_others(Cardinality::tiny(), Some(&stored), Run::default());
        let mut worker = Inputs::new(Cardinality::tiny(), 1, 9, 0).remembering(&known);
        let call = std::iter::repeat_with(|| worker.draw()).find(|call| matches!(call, Call::Delivery(_)));
        let o_ids = [None; DISTRICTS as usize].into();
        worker.check(&call.unwrap(), &Outcome::Delivered(Delivered { o_ids }))
    };
    assert_eq!((waiting(0), waiting(1)), (Ok(()), skipped));
}

/// Two deliveries at once may share one order: whichever of them is answered first, the other has taken it.
#[test]
fn what_another_delivery_may_have_taken_does_not_wait() {
    let known = others();
    let draw = |worker: &mut Inputs| {
        std::iter::repeat_with(|| worker.draw()).find(|call| matches!(call, Call::Delivery(_))).unwrap()
    };
    let [mut one, mut other] =
        [0, 2].map(|worker| Inputs::new(Cardinality::tiny(), 1, 9, worker).remembering(&known));
    for queue in &known.queues {
        queue.placed.store(1, Ordering::SeqCst);
    }
    let (first, second) = (draw(&mut one), draw(&mut other));
    let none = Outcome::Delivered(Delivered { o_ids: [None; DISTRICTS as usize].into() });
    assert_eq!(one.check(&first, &none), Ok(()));
    // And now it is known that it was not the first.
    assert!(other.check(&second, &none).is_err());
}

#[test]
fn an_order_is_delivered_once_and_none_that_was_loaded_as_delivered() {
    let mut first = None;
    let twice = told(&others(), 100, |_, call, outcome| {
        if let (Call::Delivery(Delivery { w_id: 1, .. }), Outcome::Delivered(delivered)) = (call, outcome) {
            first = first.or(delivered.o_ids[0]);
            delivered.o_ids[0] = first;
        }
    });
    assert_eq!(twice, Err("an order is delivered twice"));
    let early = |o_id: &mut Option<u32>| *o_id = o_id.map(|o_id| o_id - 21);
    let loaded = told(&ours(), 100, |_, _, outcome| {
        if let Outcome::Delivered(delivered) = outcome {
            delivered.o_ids.iter_mut().for_each(early);
        }
    });
    assert_eq!(loaded, Err("an order is delivered that was loaded as delivered"));
}

#[test]
fn where_what_was_acknowledged_may_be_lost_an_order_may_come_twice() {
    let known = lossy();
    let mut first = None;
    let twice = told(&known, 100, |_, _, outcome| {
        if let Outcome::Delivered(delivered) = outcome {
            first = first.or(delivered.o_ids[0]);
            (delivered.o_ids[0], delivered.o_ids[1]) = (first, None);
        }
    });
    assert_eq!(twice, Ok(()));
}

/// 2.4.3.5: the terminal shows the number that the order would have got.
#[test]
fn an_order_that_is_declined_has_the_number_of_the_next() {
    let numbered = |change: fn(u32) -> u32| {
        told(&fresh(), 100, move |at, _, outcome| {
            if let (Outcome::Unused(unused), true) = (outcome, at > 1_000) {
                unused.o_id = change(unused.o_id);
            }
        })
    };
    assert_eq!(numbered(|o_id| o_id), Ok(()));
    assert_eq!(numbered(|_| 1), Err("an order number is not above those before it"));
    assert_eq!(numbered(|o_id| o_id + 1_000_000), Err("an order has a higher number than there are orders"));
}
