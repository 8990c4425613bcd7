//! Inputs that are not the standard's, and what must notice: for each item of the input audit at least one.

use crate::faulty::Change;
use workload_tpcc::{Call, Cardinality, NewOrder, Payment, Who};

/// Inputs that are not the standard's.
#[derive(Debug, Clone, Copy)]
pub struct BadInputs {
    /// What is wrong with them.
    pub what: &'static str,
    pub change: Change,
    /// Every item of the input audit that notices, and no other does.
    pub caught_by: &'static [&'static str],
}

const fn bad(what: &'static str, change: Change, caught_by: &'static [&'static str]) -> BadInputs {
    BadInputs { what, change, caught_by }
}

/// What other tools get wrong, and what else the input audit must notice.
pub const INPUTS: &[BadInputs] = &[
    bad(
        "no remote work",
        |_, _, call| {
            Some(match call {
                Call::NewOrder(mut call) => {
                    call.lines.iter_mut().for_each(|line| line.supply_w_id = call.w_id);
                    Call::NewOrder(call)
                }
                Call::Payment(call) => Call::Payment(Payment { c_w_id: call.w_id, ..call }),
                other => other,
            })
        },
        &["remote lines", "remote payments"],
    ),
    bad(
        "uniform keys",
        |random, size, call| {
            let mut any = |most: u32| random.range(1, i64::from(most)) as u32;
            Some(match call {
                Call::NewOrder(mut call) => {
                    call.c_id = any(size.customers);
                    for line in call.lines.iter_mut().filter(|line| line.i_id <= size.items) {
                        line.i_id = any(size.items);
                    }
                    Call::NewOrder(call)
                }
                other => other,
            })
        },
        &["skew of items", "skew of customers"],
    ),
    bad(
        "the constant of NURand is drawn again for each item",
        |random, size, call| {
            Some(match call {
                Call::NewOrder(mut call) => {
                    for line in call.lines.iter_mut().filter(|line| line.i_id <= size.items) {
                        line.i_id = (line.i_id + random.below(8_192) as u32) % size.items + 1;
                    }
                    Call::NewOrder(call)
                }
                other => other,
            })
        },
        &["skew of items"],
    ),
    bad(
        "payments by number only",
        |random, size, call| {
            Some(match call {
                Call::Payment(call) => {
                    let customer = numbered(call.customer, random.below(u64::from(size.customers)));
                    Call::Payment(Payment { customer, ..call })
                }
                other => other,
            })
        },
        &["payments by last name", "skew of customers"],
    ),
    bad(
        "order-status by number only",
        |random, size, call| {
            Some(match call {
                Call::OrderStatus(mut call) => {
                    call.customer = numbered(call.customer, random.below(u64::from(size.customers)));
                    Call::OrderStatus(call)
                }
                other => other,
            })
        },
        &["order-status by last name"],
    ),
    bad(
        "no order is ever rolled back",
        |_, size, call| match &call {
            Call::NewOrder(order) if is_unsellable(order, size) => None,
            _ => Some(call),
        },
        &["orders with an unused item"],
    ),
    bad(
        "orders of five lines",
        |_, size, call| {
            Some(match call {
                Call::NewOrder(mut call) => {
                    // The last line is the one that may be unused.
                    let last = call.lines[call.lines.len() - 1];
                    call.lines.truncate(5);
                    if last.i_id > size.items {
                        call.lines[4] = last;
                    }
                    Call::NewOrder(call)
                }
                other => other,
            })
        },
        &["lines of the most an order may have"],
    ),
    bad(
        "half the order-statuses are left out",
        |random, _, call| (!matches!(call, Call::OrderStatus(_)) || random.chance(1, 2)).then_some(call),
        &["order-status in the mix"],
    ),
    bad(
        "half the deliveries are left out",
        |random, _, call| (!matches!(call, Call::Delivery(_)) || random.chance(1, 2)).then_some(call),
        &["delivery in the mix"],
    ),
    bad(
        "half the stock-levels are left out",
        |random, _, call| (!matches!(call, Call::StockLevel(_)) || random.chance(1, 2)).then_some(call),
        &["stock-level in the mix"],
    ),
    bad(
        "new orders only",
        |_, _, call| matches!(call, Call::NewOrder(_)).then_some(call),
        &[
            "new-order in the mix",
            "payment in the mix",
            "order-status in the mix",
            "delivery in the mix",
            "stock-level in the mix",
        ],
    ),
];

fn numbered(customer: Who, below: u64) -> Who {
    match customer {
        Who::LastName(_) => Who::Id(below as u32 + 1),
        id => id,
    }
}

fn is_unsellable(order: &NewOrder, size: Cardinality) -> bool {
    order.lines.iter().any(|line| line.i_id > size.items)
}
