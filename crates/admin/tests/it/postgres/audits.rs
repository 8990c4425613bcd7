//! Every audit passes what is right and bites what is wrong, on PostgreSQL too.

use super::support::{empty, execute, load_after_a_run, tiny};
use crate::support::{self, TABLES};
use admin::{AuditGroup, AuditQuery, AuditRows, store};
use model::Nanos;
use sql::{Dialect, ServerUrl, Value};
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use workload_tpcc::audit::{self, AuditOutcome, Context};
use workload_tpcc::{Cardinality, StoredTally};

/// A tiny database after a run, loaded once.
fn after_a_run() -> &'static ServerUrl {
    static MADE: OnceLock<ServerUrl> = OnceLock::new();
    MADE.get_or_init(|| {
        let url = empty("after_a_run");
        load_after_a_run(&url, 1_500);
        url
    })
}

fn findings(url: &ServerUrl) -> Vec<(String, AuditOutcome, String)> {
    let context = Context::fresh(Cardinality::tiny());
    let groups = audit::audits(Dialect::Postgres).unwrap();
    let asked: Vec<AuditGroup> = groups
        .iter()
        .map(|group| AuditGroup {
            prepare: group.prepare.clone(),
            queries: group
                .audits
                .iter()
                .map(|audit| AuditQuery {
                    name: audit.name.clone(),
                    sql: audit.query.clone(),
                    rows_max: audit.rows_max,
                })
                .collect(),
            params: context.params(),
        })
        .collect();
    let witness = store(url);
    let found = witness.audit_all(&asked, 2, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    let audits = groups.into_iter().flat_map(|group| group.audits);
    audits
        .zip(found.rows)
        .map(|(audit, AuditRows { name, rows, .. })| {
            let rows = rows.unwrap_or_else(|why| panic!("{name}: {why}"));
            let finding = audit.judge(&rows, &context);
            (name, finding.verdict, format!("{}: {:?}", finding.sentence, finding.details))
        })
        .collect()
}

fn failed(url: &ServerUrl) -> BTreeSet<String> {
    let found = findings(url).into_iter().filter(|(_, verdict, _)| *verdict == AuditOutcome::Failed);
    found.map(|(name, _, _)| name).collect()
}

#[test]
fn a_fresh_load_and_a_right_run_violate_nothing() {
    assert_eq!(failed(&tiny("fresh")), BTreeSet::new());
    for (name, verdict, sentence) in findings(after_a_run()) {
        assert_ne!(verdict, AuditOutcome::Failed, "{name}: {sentence}");
        let few = ["remote-lines", "remote-payments", "item-skew", "customer-skew", "bad-credit"];
        // Figures of so little data tell little; that they make sense is told either way.
        assert!(verdict == AuditOutcome::Passed || few.contains(&name.as_str()), "{name}: {sentence}");
        assert!(!sentence.contains("do not make sense"), "{name}: {sentence}");
    }
}

/// An audit, and a change that only a broken system makes; several where one audit watches several things.
const FAULTS: &[(&str, &str)] = &[
    ("warehouse-ytd", "update warehouse set w_ytd = w_ytd - 0.01 where w_id = 2"),
    ("next-order-numbers", "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = 1 and d_id = 3"),
    (
        "next-order-numbers",
        "delete from new_order where no_w_id = 1 and no_d_id = 1 and no_o_id = (select max(no_o_id) from new_order where no_w_id = 1 and no_d_id = 1)",
    ),
    (
        "new-order-gaps",
        "delete from new_order where no_w_id = 2 and no_d_id = 1 and no_o_id = (select max(no_o_id) - 1 from new_order where no_w_id = 2 and no_d_id = 1)",
    ),
    (
        "district-line-counts",
        "delete from order_line where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 40 and ol_number = 2",
    ),
    ("carriers", "update orders set o_carrier_id = null where o_w_id = 1 and o_d_id = 1 and o_id = 5"),
    ("carriers", "insert into new_order (no_w_id, no_d_id, no_o_id) values (1, 1, 9999)"),
    (
        "order-line-counts",
        "update orders set o_ol_cnt = o_ol_cnt + 1 where o_w_id = 2 and o_d_id = 10 and o_id = 31",
    ),
    ("order-line-counts", "delete from order_line where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 33"),
    (
        "delivery-dates",
        "update order_line set ol_delivery_d = null where ol_w_id = 1 and ol_d_id = 2 and ol_o_id = 7 and ol_number = 1",
    ),
    (
        "delivery-dates",
        "update order_line set ol_delivery_d = now() where (ol_w_id, ol_d_id, ol_o_id) in (select no_w_id, no_d_id, no_o_id from new_order limit 1)",
    ),
    (
        "warehouse-history",
        "update warehouse set w_ytd = w_ytd + 1 where w_id = 1; update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1",
    ),
    (
        "district-history",
        "update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1; update district set d_ytd = d_ytd - 1 where d_w_id = 1 and d_id = 2",
    ),
    (
        "customer-balances",
        "update customer set c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    (
        "delivered-orders",
        "delete from new_order where no_w_id = 1 and no_d_id = 5 and no_o_id = (select min(no_o_id) from new_order where no_w_id = 1 and no_d_id = 5)",
    ),
    (
        "customer-balances-and-payments",
        "update customer set c_balance = c_balance + 0.01 where c_w_id = 2 and c_d_id = 4 and c_id = 4",
    ),
    (
        "payment-counters",
        "update customer set c_payment_cnt = c_payment_cnt - 1 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    ("payment-counters", "delete from history where ctid = (select ctid from history limit 1)"),
    (
        "delivery-counters",
        "update customer set c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    (
        "line-ranges",
        "update order_line set ol_quantity = 11 where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 33 and ol_number = 1",
    ),
    (
        "line-ranges",
        "update order_line set ol_number = 16 where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 33 and ol_number = 1",
    ),
    ("orphaned-lines", "delete from orders where o_w_id = 1 and o_d_id = 1 and o_id = 35"),
    ("order-numbers", "delete from orders where o_w_id = 1 and o_d_id = 1 and o_id = 35"),
    ("order-numbers", "update orders set o_id = 0 where o_w_id = 1 and o_d_id = 1 and o_id = 1"),
    (
        "unknown-items",
        "update order_line set ol_i_id = 101 where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 33 and ol_number = 1",
    ),
    (
        "sold-without-stock",
        "update order_line set ol_i_id = 101 where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 33 and ol_number = 1",
    ),
    (
        "sold-without-stock",
        "delete from item where i_id = (select ol_i_id from order_line where ol_o_id = 33 limit 1)",
    ),
    (
        "all-local",
        "update orders set o_all_local = 1 - o_all_local where o_w_id = 1 and o_d_id = 1 and o_id = 33",
    ),
    ("stock-counters", "update stock set s_ytd = s_ytd + 1 where s_w_id = 1 and s_i_id = 1"),
    ("stock-counters", "update stock set s_remote_cnt = s_remote_cnt + 1 where s_w_id = 1 and s_i_id = 1"),
    ("stock-counters", "update stock set s_order_cnt = 0"),
    ("stock-counters", "update stock set s_quantity = 9 where s_w_id = 2 and s_i_id = 7"),
    ("line-amounts", "update order_line set ol_amount = trunc(ol_amount) where ol_o_id > 30"),
    ("payment-amounts", "update history set h_amount = 5000.01 where ctid = (select max(ctid) from history)"),
    ("payment-amounts", "update history set h_amount = 0.99 where ctid = (select max(ctid) from history)"),
    ("line-texts", "update order_line set ol_dist_info = lower(ol_dist_info) where ol_o_id > 30"),
    ("payment-texts", "update history set h_data = 'paid'"),
    ("run-dates", "update orders set o_entry_d = timestamp '6000-01-01' where o_id > 30"),
    ("cardinality", "delete from customer where c_w_id = 1 and c_d_id = 1 and c_id = 30"),
    ("cardinality", "delete from stock where s_w_id = 2 and s_i_id = 100"),
    ("cardinality", "delete from stock where s_w_id = 2"),
    ("bad-credit", "update customer set c_credit = 'BC' where c_id % 2 = 0"),
    // A customer without an order, whom Order-Status would ask for in vain.
    ("order-customers", "update orders set o_c_id = 1 where o_w_id = 1 and o_d_id = 1 and o_c_id = 7"),
    // A name of which a district has no one, whom Payment would ask for in vain.
    (
        "last-names",
        "update customer set c_last = 'BARBARBAR' where c_w_id = 2 and c_d_id = 3 and c_last = 'BARBAREING'",
    ),
    ("last-names", "update customer set c_last = 'barbarpri' where c_last = 'BARBARPRI'"),
    // What Payment notes of such a customer is lost.
    ("bad-credit-data", "update customer set c_data = 'nothing' where c_credit = 'BC'"),
    // Of two payments at once only one is noted.
    (
        "bad-credit-data",
        "update customer set c_data = substr(c_data, 1, 40) || replace(substr(c_data, 41), ' ', '_') where c_credit = 'BC'",
    ),
    (
        "remote-lines",
        "update order_line set ol_supply_w_id = 3 - ol_w_id where ol_o_id > 30 and ol_number < 3",
    ),
    ("remote-payments", "update history set h_c_w_id = h_w_id"),
];

#[test]
fn every_audit_bites_its_fault_injector() {
    let url = empty("to_be_broken");
    load_after_a_run(&url, 1_500);
    execute(&url, "create schema kept");
    for table in TABLES {
        execute(&url, &format!("create table kept.{table} as table {table}"));
    }
    for (audit, change) in FAULTS.iter().chain(support::FAULTS_EVERYWHERE) {
        execute(&url, change);
        let failed = failed(&url);
        assert!(failed.contains(*audit), "{audit} did not see `{change}`; failed: {failed:?}");
        // Cheaper than a copy of the database for each.
        let restored = TABLES.iter().filter(|table| change.contains(*table));
        let restored =
            restored.map(|table| format!("truncate {table}; insert into {table} table kept.{table};"));
        execute(&url, &restored.collect::<String>());
    }
    assert_eq!(self::failed(&url), BTreeSet::new(), "what is left after all of them");
}

#[test]
fn no_audit_is_without_a_fault_injector() {
    let covered: BTreeSet<&str> =
        FAULTS.iter().chain(support::FAULTS_EVERYWHERE).map(|(audit, _)| *audit).collect();
    // Skew needs more data than is tiny; its judges have tests of their own.
    let elsewhere = ["item-skew", "customer-skew"];
    for audit in audit::audits(Dialect::Postgres).unwrap().into_iter().flat_map(|group| group.audits) {
        let name = audit.name.as_str();
        assert!(covered.contains(name) || elsewhere.contains(&name), "{name}");
    }
}

#[test]
fn tallies_are_whole_cents_and_what_the_ledger_reads() {
    let witness = store(after_a_run());
    let rows = witness.rows(&audit::district_tallies(Dialect::Postgres).unwrap(), &[]).unwrap();
    let tallies: Vec<StoredTally> = rows
        .iter()
        .map(|row| row.iter().filter_map(Value::int).collect::<Vec<_>>())
        .map(|row| StoredTally::from_row(&row).unwrap())
        .collect();
    assert_eq!(tallies.len(), 20);
    assert_eq!((tallies[0].w_id, tallies[0].d_id, tallies[19].w_id, tallies[19].d_id), (1, 1, 2, 10));
    let sum = |of: fn(&StoredTally) -> i64| tallies.iter().map(of).sum::<i64>();
    let count = |text: &str| witness.rows(text, &[]).unwrap()[0][0].int().unwrap();
    assert_eq!(sum(|tally| tally.next_o_id - 1), count("select count(*) from orders"));
    assert_eq!(sum(|tally| tally.lines), count("select count(*) from order_line"));
    assert_eq!(sum(|tally| tally.undelivered), count("select count(*) from new_order"));
    assert_eq!(sum(|tally| tally.payments), count("select count(*) from history"));
    assert_eq!(sum(|tally| tally.ytd), count("select sum(h_amount) * 100 from history"));
    assert_eq!(sum(|tally| tally.amount), count("select sum(ol_amount) * 100 from order_line"));
}
