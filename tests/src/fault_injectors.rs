//! Everybody who does wrong, and what must notice: for each audit of the stored data and each measure of the ledger at
//! least one.

mod payments;
mod shape;

use crate::faulty::{Edit, Edits, Trick, spelled};
use crate::tamper::Tampering;
use model::Cents;
use sql::Dialect;
use workload_tpcc::{Call, Outcome, Payment, Stmt};

use payments::{money, pay_again};
pub use shape::SHAPE;

/// One way to do wrong.
#[derive(Debug, Clone, Copy)]
pub struct FaultInjector {
    pub what: &'static str,
    pub trick: Trick,
    /// Workers; more than one only where it takes a race.
    pub workers: u32,
    /// Every audit that notices, and no other does.
    pub caught_by: &'static [&'static str],
}

const fn edits(
    what: &'static str,
    edits: &'static [Edit],
    caught_by: &'static [&'static str],
) -> FaultInjector {
    FaultInjector { what, trick: Trick::Statements([edits; 3]), workers: 1, caught_by }
}

const fn edits_of(what: &'static str, edits: Edits, caught_by: &'static [&'static str]) -> FaultInjector {
    FaultInjector { what, trick: Trick::Statements(edits), workers: 1, caught_by }
}

const fn tampers(
    what: &'static str,
    tampering: Tampering,
    caught_by: &'static [&'static str],
) -> FaultInjector {
    FaultInjector { what, trick: Trick::Connection(tampering), workers: 1, caught_by }
}

const fn behind(what: &'static str, trick: Trick, caught_by: &'static [&'static str]) -> FaultInjector {
    FaultInjector { what, trick, workers: 1, caught_by }
}

/// Leaves the number of an order as it was, by and by.
pub(crate) const TWICE: &str =
    "d_next_o_id + case when d_next_o_id = 31 or d_ytd * {cents} % 3 > 0 then 1 else 0 end";

const REPLACING: &[Edit] = &[
    (Stmt::ClaimOrderId, "d_next_o_id + 1", TWICE),
    (
        Stmt::InsertOrder,
        "?5, ?6)",
        "?5, ?6) on conflict (o_w_id, o_d_id, o_id) do update set o_c_id = excluded.o_c_id, o_carrier_id = null, \
         o_ol_cnt = excluded.o_ol_cnt, o_all_local = excluded.o_all_local",
    ),
    (Stmt::InsertNewOrder, "?3)", "?3) on conflict do nothing"),
    (
        Stmt::InsertOrderLine,
        "?9)",
        "?9) on conflict (ol_w_id, ol_d_id, ol_o_id, ol_number) do update set ol_i_id = excluded.ol_i_id, \
         ol_supply_w_id = excluded.ol_supply_w_id, ol_delivery_d = null, ol_quantity = excluded.ol_quantity, \
         ol_amount = excluded.ol_amount, ol_dist_info = excluded.ol_dist_info",
    ),
];

const REPLACING_ON_MARIADB: &[Edit] = &[
    (Stmt::ClaimOrderId, "d_next_o_id + 1", TWICE),
    (Stmt::InsertOrder, "insert into", "replace into"),
    (Stmt::InsertNewOrder, "insert into", "replace into"),
    (Stmt::InsertOrderLine, "insert into", "replace into"),
];

const AHEAD: &[Edit] = &[
    (Stmt::ClaimOrderId, "d_next_o_id + 1", "d_next_o_id + 2"),
    (Stmt::ClaimOrderId, "returning d_next_o_id - 1", "returning d_next_o_id - 2"),
];

const AHEAD_ON_MARIADB: &[Edit] = &[
    (Stmt::ClaimOrderId, "d_next_o_id + 1", "d_next_o_id + 2"),
    (Stmt::ReadClaim, "d_next_o_id - 1", "d_next_o_id - 2"),
];

/// Those whose work shows on tiny data, after a thousand calls.
pub const EXACT: &[FaultInjector] = &[
    // New-Order.
    edits(
        "one piece is stored, charged and taken from stock, however many were ordered",
        &[
            (Stmt::InsertOrderLine, "?7, ?8, ?9", "1, (?8 - 0.00) / (?7 + 0), ?9"),
            (Stmt::UpdateStock, "s_ytd + ?4", "s_ytd + case when ?4 > 1 then 1 else ?4 end"),
        ],
        &["ledger: order amounts", "ledger: stock of the warehouse", "ledger: contents of order lines"],
    ),
    // Payment.
    FaultInjector {
        what: "payments read w_ytd and write it back, and lose those in between",
        trick: Trick::Around {
            before: |dialect, call| match call {
                Call::Payment(call) => {
                    let read = match dialect {
                        Dialect::Sqlite => "w_ytd",
                        Dialect::Postgres => "(w_ytd * 100)::bigint",
                        Dialect::MySql => "cast(w_ytd * 100 as signed)",
                    };
                    Some(format!("select {read} from warehouse where w_id = {}", call.w_id))
                }
                _ => None,
            },
            after: |dialect, call, answer, read| match (call, answer) {
                (Call::Payment(call), Ok(_)) => {
                    let paid = money(dialect, read + call.h_amount.0);
                    vec![format!("update warehouse set w_ytd = {paid} where w_id = {}", call.w_id)]
                }
                _ => Vec::new(),
            },
        },
        workers: 4,
        caught_by: &["warehouse-ytd", "warehouse-history"],
    },
    edits(
        "payments write the customer's balance absolutely",
        &[
            (Stmt::PayCustomer, "c_balance - ", "0 * c_balance - "),
            (Stmt::PayCustomerWithData, "c_balance - ", "0 * c_balance - "),
        ],
        &["customer-balances", "customer-balances-and-payments"],
    ),
    edits(
        "payments are not added to what the customer has paid",
        &[(Stmt::PayCustomer, "c_ytd_payment + ", "c_ytd_payment + 0.00 * ")],
        &["customer-balances-and-payments", "payment-counters"],
    ),
    edits(
        "payments are not counted",
        &[(Stmt::PayCustomer, "c_payment_cnt + 1", "c_payment_cnt")],
        &["payment-counters"],
    ),
    edits(
        "the district gets nothing of a payment",
        &[(Stmt::PayDistrict, "d_ytd + ", "d_ytd + 0.00 * ")],
        &["warehouse-ytd", "district-history", "ledger: money received"],
    ),
    edits(
        "the warehouse and the district get a cent too much",
        &[
            (Stmt::PayWarehouse, "w_ytd + ", "w_ytd + {cent} + "),
            (Stmt::PayDistrict, "d_ytd + ", "d_ytd + {cent} + "),
        ],
        &["warehouse-history", "district-history", "ledger: money received"],
    ),
    edits(
        "history says less than was paid",
        &[(Stmt::InsertHistory, "{now}, ?6", "{now}, ?6 - {cent}")],
        &[
            "customer-balances",
            "payment-counters",
            "warehouse-history",
            "district-history",
            "bad-credit-data",
            "ledger: contents of payments",
        ],
    ),
    behind(
        "money is created: someone pays what no one was asked for",
        Trick::behind(|dialect, call, answer, _| match (call, answer) {
            (Call::Payment(call), Ok(Outcome::Paid(paid))) => pay_again(dialect, call, paid.customer.c_id),
            _ => Vec::new(),
        }),
        &[
            "ledger: payments",
            "ledger: money received",
            "bad-credit-data",
            "ledger: contents of payments",
            "payment-texts",
        ],
    ),
    behind(
        "twice the amount is paid",
        Trick::Instead(|call| match call {
            Call::Payment(call) => {
                // As much as the column holds on every engine.
                Call::Payment(Payment { h_amount: Cents((call.h_amount.0 * 2).min(999_999)), ..call })
            }
            other => other,
        }),
        &["payment-amounts", "ledger: money received", "ledger: contents of payments"],
    ),
    edits(
        "who pays gets bad credit",
        &[(Stmt::PayCustomer, "c_balance = ", "c_credit = 'BC', c_balance = ")],
        &["bad-credit", "bad-credit-data"],
    ),
    // New-Order.
    edits_of(
        "order numbers are given twice, and the later order takes the place of the earlier",
        [REPLACING, REPLACING, REPLACING_ON_MARIADB],
        &[
            "ledger: order amounts",
            "customer-balances",
            "customer-balances-and-payments",
            "delivered-orders",
            "delivery-counters",
            "district-line-counts",
            "order-line-counts",
            "stock-counters",
            "ledger: order lines",
            "ledger: orders delivered",
            "ledger: orders placed",
            "ledger: contents of deliveries",
            "ledger: contents of orders",
            "ledger: contents of order lines",
        ],
    ),
    edits(
        "every other order number is left out",
        &[(Stmt::ClaimOrderId, "d_next_o_id + 1", "d_next_o_id + 2")],
        &["new-order-gaps", "order-numbers", "ledger: orders delivered", "ledger: orders placed"],
    ),
    edits_of(
        "the district's next order number runs ahead",
        [AHEAD, AHEAD, AHEAD_ON_MARIADB],
        &[
            "new-order-gaps",
            "next-order-numbers",
            "order-numbers",
            "ledger: orders delivered",
            "ledger: orders placed",
        ],
    ),
    edits(
        "the third line of an order is dropped",
        &[(
            Stmt::InsertOrderLine,
            "values (?1, ?2, ?3, ?4, ?5, ?6, null, ?7, ?8, ?9)",
            "select ?1, ?2, ?3, ?4 + 0, ?5, ?6, null, ?7, ?8, ?9 from warehouse where w_id = ?1 and ?4 <> 3",
        )],
        &[
            "ledger: order amounts",
            "all-local",
            "district-line-counts",
            "line-ranges",
            "order-line-counts",
            "stock-counters",
            "ledger: contents of order lines",
        ],
    ),
    edits(
        "orders say one line more or less, by turns",
        &[(Stmt::InsertOrder, "?5, ?6", "?5 + 1 - 2 * (?3 % 2), ?6")],
        &["district-line-counts", "order-line-counts", "ledger: order lines", "ledger: contents of orders"],
    ),
    edits(
        "orders say one line less",
        &[(Stmt::InsertOrder, "?5, ?6", "?5 - 1, ?6")],
        &["district-line-counts", "order-line-counts", "ledger: order lines", "ledger: contents of orders"],
    ),
    edits(
        "lines are numbered from two",
        &[(Stmt::InsertOrderLine, "?3, ?4,", "?3, ?4 + 1,")],
        &["line-ranges", "ledger: contents of order lines"],
    ),
    edits(
        "lines name items that are not sold",
        &[(Stmt::InsertOrderLine, "?4, ?5,", "?4, ?5 + 1000000,")],
        &["unknown-items", "stock-counters", "sold-without-stock", "ledger: contents of order lines"],
    ),
    edits(
        "lines name a supplier that is not there",
        &[(Stmt::InsertOrderLine, "?5, ?6,", "?5, ?6 + 1000,")],
        &[
            "all-local",
            "stock-counters",
            "sold-without-stock",
            "remote-lines",
            "ledger: contents of order lines",
        ],
    ),
    edits(
        "every order says that it is local",
        &[(Stmt::InsertOrder, "?5, ?6", "?5, 1 + 0 * ?6")],
        &["all-local", "ledger: contents of orders"],
    ),
    edits(
        "lines cost a cent too much",
        &[(Stmt::InsertOrderLine, "?8, ?9", "?8 + {cent}, ?9")],
        &["ledger: order amounts", "line-amounts"],
    ),
    edits(
        "stock loses updates",
        &[(Stmt::UpdateStock, "s_ytd + ?4", "?4")],
        &["stock-counters", "ledger: stock of the warehouse"],
    ),
    edits(
        "stock is never refilled",
        &[(Stmt::UpdateStock, "s_quantity = ?3", "s_quantity = ?3 - 91")],
        &["stock-counters", "ledger: stock of the warehouse"],
    ),
    edits(
        "orders empty s_data of their stocks",
        &[(Stmt::UpdateStock, "s_ytd = ", "s_data = '', s_ytd = ")],
        &["loaded-texts"],
    ),
    edits(
        "orders empty s_dist_01 to s_dist_10, and store an empty ol_dist_info",
        &[
            (
                Stmt::UpdateStock,
                "s_ytd = ",
                "s_dist_01 = '', s_dist_02 = '', s_dist_03 = '', s_dist_04 = '', s_dist_05 = '', s_dist_06 = '', \
                 s_dist_07 = '', s_dist_08 = '', s_dist_09 = '', s_dist_10 = '', s_ytd = ",
            ),
            (Stmt::InsertOrderLine, "?8, ?9", "?8, substr(?9, 1, 0)"),
        ],
        &["line-texts"],
    ),
    edits(
        "payments empty c_data of customers with good credit",
        &[(Stmt::PayCustomer, "c_balance = ", "c_data = '', c_balance = ")],
        &["loaded-texts"],
    ),
    edits(
        "some orders are not put in line for delivery",
        &[(
            Stmt::InsertNewOrder,
            "values (?1, ?2, ?3)",
            "select ?1, ?2, ?3 from warehouse where w_id = ?1 and ?3 % 5 > 0",
        )],
        &["carriers", "delivered-orders", "new-order-gaps", "ledger: orders delivered"],
    ),
    edits(
        "stock never goes down",
        &[(Stmt::UpdateStock, "s_quantity = ?3", "s_quantity = s_quantity + 0 * ?3")],
        &["ledger: stock of the warehouse"],
    ),
    edits(
        "what is noted of bad credit is lost",
        &[(
            Stmt::PayCustomerWithData,
            ", c_data = ?5",
            ", c_data = case when ?5 = '' then ?5 else c_data end",
        )],
        &["bad-credit-data"],
    ),
    edits(
        "the order is another customer's",
        &[(Stmt::InsertOrder, "?3, ?4,", "?3, ?4 % 30 + 1,")],
        &["ledger: contents of orders"],
    ),
    edits(
        "another item is stored than the one that was taken from stock and charged",
        &[(Stmt::InsertOrderLine, "?4, ?5,", "?4, ?5 % 100 + 1,")],
        &["ledger: contents of order lines", "line-amounts", "stock-counters", "line-texts"],
    ),
    edits(
        "history says that another customer paid",
        &[(Stmt::InsertHistory, "?2, ?3,", "?2, ?3 % 30 + 1,")],
        &["ledger: contents of payments", "bad-credit-data", "customer-balances", "payment-counters"],
    ),
    edits(
        "history says that the customer is one of another district",
        &[(Stmt::InsertHistory, "?1, ?2,", "?1, ?2 % 10 + 1,")],
        &["ledger: contents of payments", "bad-credit-data", "customer-balances", "payment-counters"],
    ),
    edits(
        "history cuts the names of warehouse and district",
        &[(Stmt::InsertHistory, "?6, ?7", "?6, substr(?7, 2)")],
        &["payment-texts"],
    ),
    edits("orders are dated years ago", &[(Stmt::InsertOrder, "{now}", "{old}")], &["run-dates"]),
    edits("deliveries are dated years ago", &[(Stmt::DeliverLines, "{now}", "{old}")], &["run-dates"]),
    edits("payments are dated years ago", &[(Stmt::InsertHistory, "{now}", "{old}")], &["run-dates"]),
    edits(
        "payments have the date of those that were loaded",
        &[(Stmt::InsertHistory, "{now}", "{loaded}")],
        &["run-dates"],
    ),
    edits(
        "lines are labelled for another district",
        &[(Stmt::InsertOrderLine, "?8, ?9", "?8, lower(?9)")],
        &["line-texts"],
    ),
    edits(
        "lines name the other warehouse as their supplier",
        &[(Stmt::InsertOrderLine, "?5, ?6,", "?5, 3 - ?6,")],
        &["all-local", "stock-counters", "ledger: contents of order lines", "remote-lines", "line-texts"],
    ),
    behind(
        "other orders are said to be delivered than were",
        Trick::Lie(|_, outcome| {
            if let Outcome::Delivered(delivered) = outcome {
                delivered.o_ids.iter_mut().flatten().for_each(|o_id| *o_id += 1_000);
            }
        }),
        &["ledger: contents of deliveries"],
    ),
    edits(
        "another carrier delivers",
        &[(Stmt::CarryOrder, "o_carrier_id = ?4", "o_carrier_id = ?4 % 10 + 1")],
        &["ledger: contents of deliveries"],
    ),
    behind(
        "orders that were loaded are given to another customer",
        Trick::behind(|_, _, _, _| {
            vec!["update orders set o_c_id = 1 where o_w_id = 1 and o_d_id = 1 and o_id in (22, 23)".into()]
        }),
        &["order-customers", "ledger: contents of orders"],
    ),
    edits(
        "names are kept as the service likes to write them, and found all the same",
        &[
            (Stmt::PayCustomer, "c_payment_cnt + 1", "c_payment_cnt + 1, c_last = lower(c_last)"),
            (Stmt::PayCustomerWithData, "c_payment_cnt + 1", "c_payment_cnt + 1, c_last = lower(c_last)"),
            (Stmt::CustomersByName, "c_last = ?3", "upper(c_last) = ?3"),
            (Stmt::ReadCustomer, "c_last", "upper(c_last)"),
            (Stmt::CustomerTerms, "c_last", "upper(c_last)"),
            (Stmt::CustomerStatus, "c_last", "upper(c_last)"),
        ],
        &["last-names"],
    ),
    // Roll-backs.
    tampers(
        "a rolled-back order is kept",
        Tampering::KeepsWhatIsRolledBack,
        &[
            "ledger: order amounts",
            "district-line-counts",
            "order-line-counts",
            "ledger: order lines",
            "ledger: orders placed",
            "ledger: contents of orders",
            "ledger: contents of order lines",
        ],
    ),
    behind(
        "rolling back leaves the header of the order",
        Trick::behind(|dialect, call, answer, _| match (call, answer) {
            (Call::NewOrder(call), Ok(Outcome::Unused(unused))) => {
                let (w_id, d_id, o_id) = (call.w_id, call.d_id, unused.o_id + 1_000);
                let order = format!(
                    "insert into orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                     select {w_id}, {d_id}, {o_id}, {}, {{now}}, null, {}, 1 from warehouse where w_id = {w_id} \
                     and not exists (select 1 from orders where o_w_id = {w_id} and o_d_id = {d_id} and o_id = {o_id})",
                    call.c_id,
                    call.lines.len()
                );
                vec![spelled(dialect, &order)]
            }
            _ => Vec::new(),
        }),
        &[
            "carriers",
            "delivered-orders",
            "district-line-counts",
            "next-order-numbers",
            "order-line-counts",
            "order-numbers",
            "ledger: order lines",
            "ledger: contents of orders",
        ],
    ),
    behind(
        "rolling back leaves what was taken from stock",
        Trick::behind(|_, call, answer, _| match (call, answer) {
            (Call::NewOrder(call), Ok(Outcome::Unused(_))) => {
                let line = &call.lines[0];
                vec![format!(
                    "update stock set s_ytd = s_ytd + {}, s_order_cnt = s_order_cnt + 1 where s_w_id = {} and s_i_id = {}",
                    line.quantity, line.supply_w_id, line.i_id
                )]
            }
            _ => Vec::new(),
        }),
        &["stock-counters", "ledger: stock of the warehouse"],
    ),
    behind(
        "rolling back leaves a line",
        Trick::behind(|_, call, answer, _| match (call, answer) {
            (Call::NewOrder(call), Ok(Outcome::Unused(unused))) => {
                let (w_id, d_id, o_id) = (call.w_id, call.d_id, unused.o_id + 1_000);
                vec![format!(
                    "insert into order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
                     ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
                     select {w_id}, {d_id}, {o_id}, 1, i_id, {w_id}, null, 5, 5 * i_price, '' from item where i_id = 1 \
                     and not exists (select 1 from order_line \
                     where ol_w_id = {w_id} and ol_d_id = {d_id} and ol_o_id = {o_id})"
                )]
            }
            _ => Vec::new(),
        }),
        &[
            "ledger: order amounts",
            "district-line-counts",
            "line-ranges",
            "orphaned-lines",
            "stock-counters",
            "ledger: contents of order lines",
            "line-texts",
        ],
    ),
    // Delivery.
    edits(
        "the first line of an order is not delivered, and Order-Status covers it up",
        &[
            (Stmt::DeliverLines, "ol_o_id = ?3", "ol_o_id = ?3 and ol_number > 1"),
            (Stmt::OrderLines, "ol_delivery_d", "max(ol_delivery_d) over ()"),
        ],
        &["delivery-dates", "customer-balances", "customer-balances-and-payments"],
    ),
    edits(
        "what is delivered is not charged",
        &[(Stmt::CreditCustomer, "c_balance + ", "c_balance + 0.00 * ")],
        &["customer-balances", "customer-balances-and-payments"],
    ),
    edits(
        "deliveries are not counted",
        &[(Stmt::CreditCustomer, "c_delivery_cnt + 1", "c_delivery_cnt")],
        &["delivered-orders", "delivery-counters"],
    ),
    edits(
        "a delivered order has no carrier, and Order-Status covers it up",
        &[
            (Stmt::CarryOrder, "o_carrier_id = ?4", "o_carrier_id = nullif(?4 + 0, ?4)"),
            (
                Stmt::NewestOrder,
                "o_carrier_id",
                "(select case when max(ol_delivery_d) is not null then 1 end from order_line
                  where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id)",
            ),
        ],
        &["carriers", "delivery-counters", "delivery-dates", "ledger: contents of deliveries"],
    ),
    edits(
        "the newest order is delivered instead of the oldest",
        &[(Stmt::OldestNewOrder, "order by no_o_id", "order by no_o_id desc")],
        &["new-order-gaps", "next-order-numbers"],
    ),
    // Commits.
    tampers(
        "an order is acknowledged and never committed",
        Tampering::ForgetsCommit(Stmt::InsertNewOrder.id(), 5),
        &[
            "ledger: order amounts",
            "ledger: orders placed",
            "ledger: order lines",
            "ledger: contents of orders",
            "ledger: contents of order lines",
        ],
    ),
    tampers(
        "a payment is acknowledged and never committed",
        Tampering::ForgetsCommit(Stmt::InsertHistory.id(), 5),
        &["ledger: payments", "ledger: money received", "ledger: contents of payments"],
    ),
    tampers(
        "a delivery is acknowledged and never committed",
        Tampering::ForgetsCommit(Stmt::DeleteNewOrder.id(), 5),
        &["ledger: orders delivered", "ledger: contents of deliveries"],
    ),
    // No one asked.
    behind(
        "a customer appears",
        Trick::behind(|_, _, _, _| {
            let kept = "c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
                        c_phone, c_since, c_credit, c_credit_lim, c_discount, c_data";
            vec![format!(
                "insert into customer (c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, {kept}) \
                 select c_id + 1000, 0, 0, 0, 0, {kept} from customer where c_w_id = 1 and c_d_id = 1 and c_id = 1 \
                 and not exists (select 1 from customer where c_id > 1000)"
            )]
        }),
        &["cardinality"],
    ),
];

/// Those whose work no audit of the data can see, because the data is one that a right service could have left; no one
/// but conformance would stand against them. There is none: each row that a call writes is audited or added up.
pub const UNSEEN: &[(&str, &[Edit])] = &[];
