//! Rows of payments that no one asked for.

use crate::faulty::spelled;
use sql::Dialect;
use workload_tpcc::Payment;

/// An amount of cents in an engine's words.
pub(super) fn money(dialect: Dialect, cents: i64) -> String {
    match dialect {
        Dialect::Sqlite => cents.to_string(),
        Dialect::Postgres | Dialect::MySql => format!("{}.{:02}", cents / 100, cents % 100),
    }
}

/// A second payment like the first, complete in itself.
pub(super) fn pay_again(dialect: Dialect, call: &Payment, c_id: u32) -> Vec<String> {
    let &Payment { w_id, d_id, c_w_id, c_d_id, h_amount, .. } = call;
    let amount = money(dialect, h_amount.0);
    vec![
        format!("update warehouse set w_ytd = w_ytd + {amount} where w_id = {w_id}"),
        format!("update district set d_ytd = d_ytd + {amount} where d_w_id = {w_id} and d_id = {d_id}"),
        format!(
            "update customer set c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, \
             c_payment_cnt = c_payment_cnt + 1 where c_w_id = {c_w_id} and c_d_id = {c_d_id} and c_id = {c_id}"
        ),
        spelled(
            dialect,
            &format!(
                "insert into history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 values ({c_id}, {c_d_id}, {c_w_id}, {d_id}, {w_id}, {{now}}, {amount}, '')"
            ),
        ),
    ]
}
