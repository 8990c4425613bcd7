//! Calls that meet: orders in one district, payments of one customer, deliveries of one warehouse.

use crate::{Call, Cardinality, Delivery, Line, NewOrder, Outcome, Payment, Tpcc, Who};
use contract::{Race, Raced};
use model::Cents;
use std::collections::BTreeSet;

/// Calls that meet.
const MEET: u32 = 8;
/// Districts of a warehouse (1.2.1).
const DISTRICTS: u32 = 10;
const AMOUNT: Cents = Cents(100);

pub(crate) fn races(size: &Cardinality, _salt: u32, round: u32) -> Vec<Race<Tpcc>> {
    let (w_id, d_id) = (1, round % DISTRICTS + 1);
    let c_id = round % size.customers + 1;
    let line = |i_id| Line { i_id, supply_w_id: w_id, quantity: 1 };
    let items = size.items;
    let order = |first: u32| {
        // In ascending order, so that no two orders wait for each other's stock in a circle.
        let items: BTreeSet<u32> = (0..5).map(|at| (first + at) % items + 1).collect();
        Call::NewOrder(NewOrder { w_id, d_id, c_id, lines: items.into_iter().map(line).collect() })
    };
    let pay = || {
        let customer = Who::Id(c_id);
        Call::Payment(Payment { w_id, d_id, c_w_id: w_id, c_d_id: d_id, customer, h_amount: AMOUNT })
    };
    let deliver = |o_carrier_id| Call::Delivery(Delivery { w_id, o_carrier_id });
    vec![
        Race {
            name: "duplicate-order-id",
            rule: "orders in one district at the same moment get numbers that follow each other",
            before: vec![],
            together: (0..MEET).map(order).collect(),
            after: vec![],
            judge: Box::new(numbers),
        },
        Race {
            name: "lost-update",
            rule: "payments of one customer at the same moment are all in the balance",
            before: vec![pay()],
            together: (0..MEET).map(|_| pay()).collect(),
            after: vec![pay()],
            judge: Box::new(balances),
        },
        Race {
            name: "double-delivery",
            rule: "deliveries of one warehouse at the same moment deliver no order twice",
            before: vec![order(0)],
            together: (1..=MEET / 2).map(deliver).collect(),
            after: vec![],
            judge: Box::new(deliveries),
        },
    ]
}

fn numbers(raced: &Raced<Tpcc>) -> Result<(), String> {
    let number = |outcome: &Outcome| match outcome {
        Outcome::Placed(placed) => Some(placed.o_id),
        _ => None,
    };
    let mut found: Vec<u32> = raced.met().filter_map(number).collect();
    found.sort_unstable();
    match found.windows(2).all(|two| two[1] - two[0] == 1) {
        true => Ok(()),
        false => Err(format!("the order numbers {found:?} do not follow each other, each once")),
    }
}

fn balances(raced: &Raced<Tpcc>) -> Result<(), String> {
    // Wide enough for whatever a server answers.
    let balance = |outcome: &Outcome| match outcome {
        Outcome::Paid(paid) => Some(i128::from(paid.customer.c_balance.0)),
        _ => None,
    };
    let (Some(first), Some(last)) = (balance(&raced.before[0]), balance(&raced.after[0])) else {
        return Err("a payment was answered with something else".into());
    };
    let amount = i128::from(AMOUNT.0);
    let mut found: Vec<i128> = raced.met().filter_map(balance).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    let wanted: Vec<i128> = (1..).map(|more| first - more * amount).take(found.len()).collect();
    if found != wanted {
        return Err(format!(
            "from {first}, the balances {wanted:?} were expected, each once; found {found:?}"
        ));
    }
    let wanted = first - (found.len() as i128 + 1) * amount;
    match last == wanted {
        true => Ok(()),
        false => Err(format!("the balance should be {wanted} after all payments, and is {last}")),
    }
}

fn deliveries(raced: &Raced<Tpcc>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for outcome in raced.met() {
        let Outcome::Delivered(delivered) = outcome else { continue };
        for (district, order) in (1..).zip(&delivered.o_ids) {
            if let Some(order) = order
                && !seen.insert((district, *order))
            {
                return Err(format!("order {order} of district {district} was delivered twice"));
            }
        }
    }
    Ok(())
}
