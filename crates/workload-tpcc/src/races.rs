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
    let order_in = |d_id: u32, first: u32| {
        // In ascending order, so that no two orders wait for each other's stock in a circle.
        let items: BTreeSet<u32> = (0..5).map(|at| (first + at) % items + 1).collect();
        Call::NewOrder(NewOrder { w_id, d_id, c_id, lines: items.into_iter().map(line).collect() })
    };
    let order = |first| order_in(d_id, first);
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
            name: "lost-stock",
            rule: "orders of the same items in several districts at the same moment all take from the stock",
            before: vec![],
            together: (1..=MEET).map(|d_id| order_in(d_id, round)).collect(),
            after: vec![],
            judge: Box::new(stocks),
        },
        Race {
            name: "double-delivery",
            rule: "deliveries of one warehouse at the same moment deliver no order twice, and skip none",
            before: (0..MEET / 2).map(order).collect(),
            together: (1..=MEET / 2).map(deliver).collect(),
            after: vec![],
            judge: Box::new(move |raced: &Raced<Tpcc>| deliveries(raced, d_id)),
        },
    ]
}

/// Of each item one piece after the other is gone: from 10 pieces on 91 are added (2.4.2.2), so that all is modulo 91.
fn stocks(raced: &Raced<Tpcc>) -> Result<(), String> {
    let placed = || {
        raced.met().filter_map(|outcome| match outcome {
            Outcome::Placed(placed) => Some(placed),
            _ => None,
        })
    };
    for at in 0..placed().map(|placed| placed.lines.len()).min().unwrap_or(0) {
        let left: Vec<i64> = placed().map(|placed| placed.lines[at].s_quantity).collect();
        let places: BTreeSet<i64> = left.iter().map(|left| left.rem_euclid(91)).collect();
        let follow = |first: &i64| (0..left.len() as i64).all(|n| places.contains(&((first + n) % 91)));
        if places.len() != left.len() || !places.iter().any(follow) {
            return Err(format!(
                "of an item one piece was taken {} times, and these were left: {left:?}",
                left.len()
            ));
        }
    }
    Ok(())
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

/// Of a district in which as many orders waited as there are deliveries.
fn deliveries(raced: &Raced<Tpcc>, full: u32) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for outcome in raced.met() {
        let Outcome::Delivered(delivered) = outcome else { continue };
        for (district, order) in (1..).zip(&delivered.o_ids) {
            if let Some(order) = order
                && !seen.insert((district, *order))
            {
                return Err(format!("order {order} of district {district} was delivered twice"));
            }
            if order.is_none() && district == full {
                return Err(format!("district {district} was skipped although orders waited in it"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Oracle};

    /// What is wrong with the calls of a race that were answered one after the other, after a change.
    fn judged(name: &str, change: fn(&mut Vec<Outcome>)) -> Result<(), String> {
        let size = Cardinality::tiny();
        let mut oracle = Oracle::new(&Data::new(size, 1));
        for round in 0..15 {
            let race = races(&size, 0, round).into_iter().find(|race| race.name == name).unwrap();
            let mut all =
                |calls: &[Call]| calls.iter().map(|call| oracle.answer(call).unwrap()).collect::<Vec<_>>();
            let (before, mut together) = (all(&race.before), all(&race.together));
            change(&mut together);
            let after = all(&race.after);
            (race.judge)(&Raced { before, together: together.into_iter().map(Ok).collect(), after })?;
        }
        Ok(())
    }

    #[test]
    fn what_was_lost_skipped_or_done_twice_is_seen() {
        for name in ["duplicate-order-id", "lost-update", "lost-stock", "double-delivery"] {
            assert_eq!(judged(name, |_| {}), Ok(()), "{name}");
            // A call that was not done leaves no gap.
            assert!(judged(name, |met| met.truncate(7)).is_ok() || name == "lost-update", "{name}");
            let twice = judged(name, |met| met[1] = met[0].clone());
            assert!(twice.is_err(), "{name}");
        }
        let gap = judged("lost-stock", |met| drop(met.remove(3)));
        assert!(gap.unwrap_err().contains("one piece was taken 7 times"));
        let skipped = judged("double-delivery", |met| {
            let Outcome::Delivered(delivered) = &mut met[2] else { return };
            delivered.o_ids.iter_mut().for_each(|order| *order = None);
        });
        assert!(skipped.unwrap_err().contains("was skipped although orders waited"));
    }
}
