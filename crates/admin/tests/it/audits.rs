//! Every audit passes what is right and bites what is wrong.

use crate::support::{self, execute, findings, run_calls, tiny};
use admin::store;
use rusqlite::Connection;
use sql::{Dialect, SqliteUrl, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use workload_tpcc::audit::{self, AuditOutcome, Context};
use workload_tpcc::{Cardinality, StoredTally};

/// Calls that a tiny database has seen: enough that every table has changed, few enough that new orders wait.
const CALLS: usize = 1_500;

/// A tiny database after a run, made once and copied by each test.
fn after_a_run(name: &str) -> (tempfile::TempDir, SqliteUrl) {
    let bytes = rig::for_tests::fixture("admin-after-a-run", || {
        let folder = tempfile::tempdir().unwrap();
        let url = tiny(folder.path());
        run_calls(&url, Cardinality::tiny(), CALLS);
        admin::sqlite::checkpoint(&url).unwrap();
        fs::read(&url.path).unwrap()
    });
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join(name);
    fs::write(&file, bytes).unwrap();
    (folder, SqliteUrl::file(file))
}

fn failed(url: &SqliteUrl) -> BTreeSet<String> {
    findings(url, Cardinality::tiny())
        .into_iter()
        .filter(|(_, finding)| finding.verdict == AuditOutcome::Failed)
        .map(|(audit, _)| audit.name)
        .collect()
}

#[test]
fn a_fresh_load_and_a_right_run_violate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let url = tiny(folder.path());
    assert_eq!(failed(&url), BTreeSet::new());
    let (_folder, url) = after_a_run("run.db");
    let found = findings(&url, Cardinality::tiny());
    for (audit, finding) in &found {
        assert_ne!(
            finding.verdict,
            AuditOutcome::Failed,
            "{}: {} {:?}",
            audit.name,
            finding.sentence,
            finding.details
        );
    }
    // Figures of so little data tell little; everything else is told.
    let untold: Vec<&str> = found
        .iter()
        .filter(|(_, finding)| finding.verdict == AuditOutcome::Inconclusive)
        .map(|(audit, _)| audit.name.as_str())
        .collect();
    assert!(
        untold.iter().all(|name| [
            "remote-lines",
            "remote-payments",
            "item-skew",
            "customer-skew",
            "bad-credit"
        ]
        .contains(name)),
        "{untold:?}"
    );
}

/// An audit, and a change that only a broken system makes; several where one audit watches several things.
const FAULTS: &[(&str, &str)] = &[
    // Conditions 1 to 12.
    ("warehouse-ytd", "update warehouse set w_ytd = w_ytd - 1 where w_id = 2"),
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
        "update order_line set ol_delivery_d = 1 where (ol_w_id, ol_d_id, ol_o_id) in (select no_w_id, no_d_id, no_o_id from new_order limit 1)",
    ),
    (
        "warehouse-history",
        "update warehouse set w_ytd = w_ytd + 100 where w_id = 1; update district set d_ytd = d_ytd + 100 where d_w_id = 1 and d_id = 1",
    ),
    (
        "district-history",
        "update district set d_ytd = d_ytd + 100 where d_w_id = 1 and d_id = 1; update district set d_ytd = d_ytd - 100 where d_w_id = 1 and d_id = 2",
    ),
    (
        "customer-balances",
        "update customer set c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    (
        "delivered-orders",
        "delete from new_order where no_w_id = 1 and no_d_id = 5 and no_o_id = (select min(no_o_id) from new_order where no_w_id = 1 and no_d_id = 5)",
    ),
    (
        "customer-balances-and-payments",
        "update customer set c_balance = c_balance + 1 where c_w_id = 2 and c_d_id = 4 and c_id = 4",
    ),
    // A lost update in Payment, a lost row of history.
    (
        "payment-counters",
        "update customer set c_payment_cnt = c_payment_cnt - 1 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    ("payment-counters", "delete from history where rowid = 10"),
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
    // A rolled-back order that left rows; a dropped order.
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
    // Remote lines that take from the home warehouse's stock; counters forgotten; stock never filled up.
    ("stock-counters", "update stock set s_ytd = s_ytd + 1 where s_w_id = 1 and s_i_id = 1"),
    ("stock-counters", "update stock set s_remote_cnt = s_remote_cnt + 1 where s_w_id = 1 and s_i_id = 1"),
    ("stock-counters", "update stock set s_order_cnt = 0"),
    ("stock-counters", "update stock set s_quantity = 9 where s_w_id = 2 and s_i_id = 7"),
    ("line-amounts", "update order_line set ol_amount = ol_amount / 100 * 100 where ol_o_id > 30"),
    (
        "payment-amounts",
        "update history set h_amount = 500001 where rowid = (select max(rowid) from history)",
    ),
    ("payment-amounts", "update history set h_amount = 99 where rowid = (select max(rowid) from history)"),
    ("line-texts", "update order_line set ol_dist_info = lower(ol_dist_info) where ol_o_id > 30"),
    ("payment-texts", "update history set h_data = 'paid'"),
    ("run-dates", "update orders set o_entry_d = 200000000000 where o_id > 30"),
    ("cardinality", "delete from customer where c_w_id = 1 and c_d_id = 1 and c_id = 30"),
    ("cardinality", "delete from stock where s_w_id = 2 and s_i_id = 100"),
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
    for (audit, change) in FAULTS.iter().chain(support::FAULTS_EVERYWHERE) {
        let (_folder, url) = after_a_run("broken.db");
        execute(&url, change);
        let failed = failed(&url);
        assert!(failed.contains(*audit), "{audit} did not see `{change}`; failed: {failed:?}");
    }
}

#[test]
fn no_audit_is_without_a_fault_injector() {
    let covered: BTreeSet<&str> =
        FAULTS.iter().chain(support::FAULTS_EVERYWHERE).map(|(audit, _)| *audit).collect();
    // Skew needs more data than is tiny; its judges have tests of their own.
    let elsewhere = ["item-skew", "customer-skew"];
    for group in audit::audits(Dialect::Sqlite).unwrap() {
        for audit in group.audits {
            assert!(
                covered.contains(audit.name.as_str()) || elsewhere.contains(&audit.name.as_str()),
                "{}",
                audit.name
            );
        }
    }
}

#[test]
fn a_violation_is_described_and_a_flood_is_cut_short() {
    let (_folder, url) = after_a_run("broken.db");
    execute(
        &url,
        "update customer set c_balance = c_balance + 1; update warehouse set w_ytd = w_ytd + 7 where w_id = 2",
    );
    let found = findings(&url, Cardinality::tiny());
    let of = |name: &str| found.iter().find(|(audit, _)| audit.name == name).unwrap().1.clone();
    let flood = of("customer-balances");
    assert_eq!(flood.details.len(), 5);
    assert!(flood.sentence.starts_with("violated more than 5 times"), "{}", flood.sentence);
    let one = of("warehouse-ytd");
    assert!(one.details[0].starts_with("warehouse 2, received "), "{:?}", one.details);
}

#[test]
fn skew_is_counted_over_the_run_s_rows() {
    let (_folder, url) = after_a_run("run.db");
    let witness = store(&url);
    let count = |text: &str| witness.rows(text, &[]).unwrap()[0][0].int().unwrap() as u64;
    let orders = count("select count(*) from orders where o_id > 30");
    let lines = count("select count(*) from order_line where ol_o_id > 30");
    let top_items = count(
        "select sum(n) from (select count(*) as n from order_line where ol_o_id > 30 group by ol_i_id order by 1 desc limit 10)",
    );
    let found = findings(&url, Cardinality::tiny());
    let figure = |name: &str| found.iter().find(|(audit, _)| audit.name == name).unwrap().1.figure.unwrap();
    assert_eq!(figure("item-skew").samples, lines);
    assert!((figure("item-skew").measured - top_items as f64 / lines as f64).abs() < 1e-9);
    assert_eq!(figure("customer-skew").samples, orders);
}

#[test]
fn tallies_are_what_the_ledger_reads() {
    let (_folder, url) = after_a_run("run.db");
    let witness = store(&url);
    let rows = witness.rows(&audit::district_tallies(Dialect::Sqlite).unwrap(), &[]).unwrap();
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
    assert_eq!(sum(|tally| tally.ytd), count("select sum(h_amount) from history"));
}

/// What keeps all audits of ten warehouses within seconds, checked where it cannot depend on the machine.
#[test]
fn each_large_table_is_read_as_a_whole_by_few_audits() {
    let (_folder, url) = after_a_run("run.db");
    let conn = Connection::open(&url.path).unwrap();
    let (_, groups) = support::groups(&Context::fresh(Cardinality::tiny()));
    let mut plans = Vec::new();
    for group in &groups {
        for text in group.prepare.iter().chain(group.queries.iter().map(|query| &query.sql)) {
            let mut explain = conn.prepare(&format!("explain query plan {text}")).unwrap();
            let steps = explain.raw_query().mapped(|row| row.get::<_, String>(3));
            plans.extend(steps.map(|step| (text.clone(), step.unwrap())));
            if text.starts_with("create") {
                conn.execute_batch(text).unwrap();
            }
        }
    }
    // A look at any one row is not a reading of the whole.
    let wholly = |table: &str| {
        let reads =
            |step: &str| step == format!("SCAN {table}") || step.starts_with(&format!("SCAN {table} "));
        plans.iter().filter(|(text, step)| reads(step) && !text.contains("limit 1)")).count()
    };
    // Customers also by the index of their names alone.
    assert_eq!(["order_line", "stock", "customer", "history"].map(wholly), [1, 2, 3, 5]);
    // An index made for one query, over a table and not over a handful of sums, is a join that lacks one.
    let lacking = |step: &str| {
        step.contains("AUTOMATIC")
            && ["order_line", "orders", "stock", "customer", "history", "_sums"]
                .iter()
                .any(|name| step.contains(name))
    };
    let found: Vec<_> = plans.iter().filter(|(_, step)| lacking(step)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// A tool that keeps money in floats of whole units, and knows nothing of us.
#[test]
fn a_database_of_another_kit_is_judged_by_its_sums() {
    let (_folder, url) = after_a_run("other.db");
    execute(
        &url,
        "drop table stackmark_load;
         create table history_f as select h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount / 100.0 as h_amount, h_data from history;
         drop table history; alter table history_f rename to history;
         create table warehouse_f as select w_id, w_name, w_ytd / 100.0 as w_ytd from warehouse;
         drop table warehouse; alter table warehouse_f rename to warehouse;
         create table district_f as select d_id, d_w_id, d_name, d_ytd / 100.0 as d_ytd, d_next_o_id from district;
         drop table district; alter table district_f rename to district;
         create table customer_f as select c_id, c_d_id, c_w_id, c_last, c_credit, c_credit_lim / 100.0 as c_credit_lim, c_balance / 100.0 as c_balance, c_ytd_payment / 100.0 as c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data from customer;
         drop table customer; alter table customer_f rename to customer;
         create table item_f as select i_id, i_price / 100.0 as i_price, i_data from item;
         drop table item; alter table item_f rename to item;
         create table order_line_f as select ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount / 100.0 as ol_amount, ol_dist_info from order_line;
         drop table order_line; alter table order_line_f rename to order_line;",
    );
    // What another tool notes of customers with bad credit is its own matter, and so is how long its texts are.
    execute(
        &url,
        "update stock set s_data = 'x'; update item set i_data = 'x'; update customer set c_data = 'x'",
    );
    let of_others = Context { ours: false, ..Context::fresh(Cardinality::tiny()) };
    let failed = || -> BTreeSet<String> {
        let found = support::findings_in(&url, &of_others).into_iter();
        found.filter(|(_, one)| one.verdict == AuditOutcome::Failed).map(|(audit, _)| audit.name).collect()
    };
    assert_eq!(failed(), BTreeSet::new());
    execute(&url, "update warehouse set w_ytd = w_ytd + 0.01 where w_id = 1");
    assert_eq!(failed(), BTreeSet::from(["warehouse-ytd".to_owned(), "warehouse-history".to_owned()]));
}
