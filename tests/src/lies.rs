//! Those whom an answer gives away, or the schema, while the trial runs.

use crate::fault_injectors::TWICE;
use crate::faulty::{Edit, Trick};
use workload_tpcc::{Call, Outcome, Placed, Stmt, Unused, Who, order_total};

/// What is wrong, how it is made so, and words of the failure on SQLite, PostgreSQL and MariaDB.
pub type Defect = (&'static str, Trick, [&'static str; 3]);

const fn edits(what: &'static str, edits: &'static [Edit], words: [&'static str; 3]) -> Defect {
    (what, Trick::Statements([edits; 3]), words)
}

const fn lies(what: &'static str, lie: fn(&Call, &mut Outcome), words: &'static str) -> Defect {
    (what, Trick::Lie(lie), [words; 3])
}

/// Each of these ends the trial with its words, and there is no result.
pub const DEFECTS: &[Defect] = &[
    edits(
        "order numbers are given twice",
        &[(Stmt::ClaimOrderId, "d_next_o_id + 1", TWICE)],
        ["UNIQUE constraint failed: orders", "orders_pkey", "Duplicate entry"],
    ),
    edits(
        "the first line of an order is not delivered",
        &[(Stmt::DeliverLines, "ol_o_id = ?3", "ol_o_id = ?3 and ol_number > 1")],
        ["a line's delivery date disagrees with the order's carrier"; 3],
    ),
    edits(
        "another customer pays",
        &[(Stmt::ReadCustomer, "c_last", "'NOBODY'")],
        ["the payment names another customer"; 3],
    ),
    edits(
        "Order-Status finds no order",
        &[(Stmt::NewestOrder, "o_c_id = ?3", "o_c_id = ?3 + 1000000")],
        ["`newest_order` found no row"; 3],
    ),
    edits(
        "another customer of the name is taken",
        &[(Stmt::CustomersByName, "order by c_first, c_id", "order by c_id")],
        ["of the customers of that name another one is meant"; 3],
    ),
    edits(
        "Order-Status shows the first order",
        &[(Stmt::NewestOrder, "order by o_id desc", "order by o_id")],
        ["the status shows an order older than one known before"; 3],
    ),
    edits(
        "some items that are sold are taken for unused",
        &[(Stmt::ReadItem, "where i_id = ?1", "where i_id = ?1 and i_id % 7 > 0")],
        ["an order of items that are all sold was declined"; 3],
    ),
    edits(
        "an unused item is sold as if it were the one before",
        &[
            (Stmt::ReadItem, "where i_id = ?1", "where i_id = ?1 or i_id = 100 and ?1 = 101"),
            (Stmt::ReadStock, "and s_i_id = ?2", "and (s_i_id = ?2 or s_i_id = 100 and ?2 = 101)"),
        ],
        ["an order for an unused item was accepted"; 3],
    ),
    lies(
        "every order is said to be declined",
        |_, outcome| {
            if let Outcome::Placed(placed) = outcome {
                let &mut Placed { o_id, c_last, c_credit, .. } = placed;
                *outcome = Outcome::Unused(Unused { o_id, c_last, c_credit });
            }
        },
        "an order of items that are all sold was declined",
    ),
    lies(
        "now and then the number of the order before is answered",
        |_, outcome| {
            if let Outcome::Placed(placed) = outcome
                && placed.o_id % 32 == 0
            {
                placed.o_id -= 1;
            }
        },
        "an order number is not above those before it",
    ),
    lies(
        "now and then an order is given a number that no order has",
        |_, outcome| {
            if let Outcome::Placed(placed) = outcome
                && placed.o_id % 32 == 0
            {
                placed.o_id += 1_000;
            }
        },
        "an order has a higher number than there are orders",
    ),
    lies(
        "the tax of the warehouse is another one",
        |_, outcome| retax(outcome, |placed| placed.w_tax.0 += 1),
        "a tax is not as loaded",
    ),
    lies(
        "the tax of the district is another one",
        |_, outcome| retax(outcome, |placed| placed.d_tax.0 += 1),
        "a tax is not as loaded",
    ),
    lies(
        "a discount is given that the customer does not have",
        |_, outcome| retax(outcome, |placed| placed.c_discount.0 += 1),
        "the customer of the order is not as loaded",
    ),
    lies(
        "a stock holds more than it can",
        |_, outcome| {
            if let Outcome::Placed(placed) = outcome {
                placed.lines[0].s_quantity = 101;
            }
        },
        "a stock is not 10 to 100 pieces",
    ),
    lies(
        "now and then a stock has a piece more than orders have left of it",
        |_, outcome| {
            if let Outcome::Placed(placed) = outcome
                && placed.o_id % 4 == 0
                && placed.lines[0].s_quantity < 100
            {
                placed.lines[0].s_quantity += 1;
            }
        },
        "a stock is not what orders have left of it",
    ),
    lies(
        "items are lower in stock than any can be",
        |call, outcome| {
            if let (Call::StockLevel(call), Outcome::Short(short)) = (call, outcome)
                && call.threshold == 10
            {
                short.low_stock = 1;
            }
        },
        "more items are reported below the threshold than possible",
    ),
    lies(
        "a district is skipped that has orders to deliver",
        |_, outcome| {
            if let Outcome::Delivered(delivered) = outcome {
                delivered.o_ids[3] = None;
            }
        },
        "a district is skipped although orders wait for delivery",
    ),
    lies(
        "now and then the order before is said to be delivered",
        |_, outcome| {
            if let Outcome::Delivered(delivered) = outcome {
                delivered
                    .o_ids
                    .iter_mut()
                    .flatten()
                    .filter(|o_id| **o_id % 4 == 0)
                    .for_each(|o_id| *o_id -= 1);
            }
        },
        "an order is delivered twice",
    ),
    lies(
        "an order is said to be delivered that came delivered",
        |_, outcome| {
            if let Outcome::Delivered(delivered) = outcome {
                delivered.o_ids[0] = Some(1);
            }
        },
        "an order is delivered that was loaded as delivered",
    ),
    lies(
        "a payment by name says that another customer paid",
        |call, outcome| {
            if let (Call::Payment(call), Outcome::Paid(paid)) = (call, outcome)
                && matches!(call.customer, Who::LastName(_))
            {
                paid.customer.c_id = paid.customer.c_id % 30 + 1;
            }
        },
        "of the customers of that name another one is meant",
    ),
];

/// Changes what a placed order shows, and what it costs with it.
fn retax(outcome: &mut Outcome, change: impl FnOnce(&mut Placed)) {
    if let Outcome::Placed(placed) = outcome {
        change(placed);
        let sum = placed.lines.iter().map(|line| line.ol_amount).sum();
        placed.total_amount = order_total(sum, placed.c_discount, placed.w_tax, placed.d_tax);
    }
}
