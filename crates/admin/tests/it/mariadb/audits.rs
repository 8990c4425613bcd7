//! Every audit passes what is right and bites what is wrong, as on SQLite.

use super::Database;
use crate::support::{self, TABLES};
use admin::{AuditGroup, AuditQuery, AuditRows, store};
use model::Nanos;
use sql::{Dialect, Value};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use workload_tpcc::audit::{self, AuditOutcome, Context};
use workload_tpcc::{Cardinality, StoredTally};

/// Names of the audits that failed.
fn failed(database: &Database) -> BTreeSet<String> {
    let context = Context::fresh(Cardinality::tiny());
    let groups = audit::audits(Dialect::MySql).unwrap();
    let query = |audit: &audit::Audit| AuditQuery {
        name: audit.name.clone(),
        sql: audit.query.clone(),
        rows_max: audit.rows_max,
    };
    let asked: Vec<AuditGroup> = groups
        .iter()
        .map(|group| AuditGroup {
            prepare: group.prepare.clone(),
            queries: group.audits.iter().map(query).collect(),
            params: context.params(),
        })
        .collect();
    let witness = store(&database.url);
    let found = witness.audit_all(&asked, 2, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    let audits = groups.into_iter().flat_map(|group| group.audits);
    audits
        .zip(found.rows)
        .filter_map(|(audit, AuditRows { name, rows, .. })| {
            assert_eq!(audit.name, name, "rows come in the order of the queries");
            let rows = rows.unwrap_or_else(|why| panic!("{name}: {why}"));
            let finding = audit.judge(&rows, &context);
            assert!(!finding.sentence.contains("do not make sense"), "{name}: {rows:?}");
            (finding.verdict == AuditOutcome::Failed).then_some(audit.name)
        })
        .collect()
}

/// Tables of a run that was made on SQLite, copied value by value.
fn after_a_run() -> Database {
    let folder = tempfile::tempdir().unwrap();
    let file = support::tiny(folder.path());
    support::run_calls(&file, Cardinality::tiny(), 1_500);
    let database = Database::tiny();
    let source = rusqlite::Connection::open(&file.path).unwrap();
    let columns = store(&database.url).columns().unwrap();
    let tables: BTreeSet<&str> = columns.iter().map(|column| column.table.as_str()).collect();
    for table in tables.into_iter().filter(|table| *table != "stackmark_load") {
        let columns: Vec<_> = columns.iter().filter(|column| column.table == table).collect();
        // As text that MariaDB reads: money by its scale, dates from seconds.
        let values: Vec<String> = columns
            .iter()
            .map(|column| {
                let name = &column.column;
                match column.kind.as_str() {
                    kind if kind.ends_with(",2)") => {
                        format!("printf('%d.%02d', {name} / 100, abs({name}) % 100)")
                    }
                    kind if kind.ends_with(",4)") => format!("printf('%.4f', {name} / 10000.0)"),
                    "datetime" => format!("datetime({name}, 'unixepoch')"),
                    _ => format!("cast({name} as text)"),
                }
            })
            .collect();
        let mut select = source.prepare(&format!("select {} from {table}", values.join(", "))).unwrap();
        let rows: Vec<String> = select
            .query_map([], |row| {
                let cells: Vec<String> = (0..columns.len())
                    .map(|index| row.get::<_, Option<String>>(index).unwrap())
                    .map(|cell| cell.map_or("null".into(), |cell| format!("'{}'", cell.replace('\'', "''"))))
                    .collect();
                Ok(format!("({})", cells.join(", ")))
            })
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let names: Vec<&str> = columns.iter().map(|column| column.column.as_str()).collect();
        database.execute(&format!("delete from {table}"));
        for rows in rows.chunks(1_000) {
            let rows = rows.join(", ");
            database.execute(&format!("insert into {table} ({}) values {rows}", names.join(", ")));
        }
    }
    database
}

/// An audit, and a change that only a broken system makes.
const FAULTS: &[(&str, &str)] = &[
    ("warehouse-ytd", "update warehouse set w_ytd = w_ytd - 0.01 where w_id = 2"),
    ("next-order-numbers", "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = 1 and d_id = 3"),
    (
        "new-order-gaps",
        "delete from new_order where no_w_id = 2 and no_d_id = 1 and no_o_id = (select * from (select max(no_o_id) - 1 from new_order where no_w_id = 2 and no_d_id = 1) as second)",
    ),
    (
        "district-line-counts",
        "delete from order_line where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 30 and ol_number = 2",
    ),
    ("carriers", "update orders set o_carrier_id = null where o_w_id = 1 and o_d_id = 1 and o_id = 5"),
    ("carriers", "insert into new_order (no_w_id, no_d_id, no_o_id) values (1, 1, 9999)"),
    ("order-line-counts", "delete from order_line where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 33"),
    (
        "delivery-dates",
        "update order_line set ol_delivery_d = null where ol_w_id = 1 and ol_d_id = 2 and ol_o_id = 7 and ol_number = 1",
    ),
    (
        "warehouse-history",
        "update warehouse set w_ytd = w_ytd + 1 where w_id = 1; update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1",
    ),
    ("district-history", "update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1"),
    (
        "customer-balances",
        "update customer set c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    ("delivered-orders", "delete from new_order where no_w_id = 1 and no_d_id = 5 order by no_o_id limit 1"),
    (
        "customer-balances-and-payments",
        "update customer set c_balance = c_balance + 0.01 where c_w_id = 2 and c_d_id = 4 and c_id = 4",
    ),
    (
        "payment-counters",
        "update customer set c_payment_cnt = c_payment_cnt - 1 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    ("payment-counters", "delete from history limit 1"),
    (
        "delivery-counters",
        "update customer set c_delivery_cnt = c_delivery_cnt + 1 where c_w_id = 1 and c_d_id = 4 and c_id = 4",
    ),
    (
        "line-ranges",
        "update order_line set ol_quantity = 11 where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 30 and ol_number = 1",
    ),
    ("orphaned-lines", "delete from orders where o_w_id = 1 and o_d_id = 1 and o_id = 30"),
    ("order-numbers", "delete from orders where o_w_id = 1 and o_d_id = 1 and o_id = 30"),
    (
        "unknown-items",
        "update order_line set ol_i_id = 101 where ol_w_id = 1 and ol_d_id = 1 and ol_o_id = 30 and ol_number = 1",
    ),
    ("sold-without-stock", "update order_line set ol_i_id = 101 where ol_o_id > 30 limit 1"),
    (
        "all-local",
        "update orders set o_all_local = 1 - o_all_local where o_w_id = 1 and o_d_id = 1 and o_id = 30",
    ),
    ("stock-counters", "update stock set s_ytd = s_ytd + 1 where s_w_id = 1 and s_i_id = 1"),
    ("stock-counters", "update stock set s_quantity = 9 where s_w_id = 2 and s_i_id = 7"),
    ("line-amounts", "update order_line set ol_amount = ol_amount + 0.01 where ol_o_id > 30 limit 1"),
    ("payment-amounts", "update history set h_amount = 5000.01 limit 1"),
    ("payment-amounts", "update history set h_amount = 0.99 limit 1"),
    ("line-texts", "update order_line set ol_dist_info = lower(ol_dist_info) where ol_o_id > 30"),
    ("payment-texts", "update history set h_data = 'paid'"),
    ("run-dates", "update orders set o_entry_d = '6000-01-01' where o_id > 30"),
    ("cardinality", "delete from customer where c_w_id = 1 and c_d_id = 1 and c_id = 30"),
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
        "update customer set c_data = concat(left(c_data, 40), replace(substr(c_data, 41), ' ', '_')) where c_credit = 'BC'",
    ),
    (
        "remote-lines",
        "update order_line set ol_supply_w_id = 3 - ol_w_id where ol_o_id > 30 and ol_number < 3",
    ),
    ("remote-payments", "update history set h_c_w_id = h_w_id"),
];

#[test]
fn every_audit_passes_what_is_right_and_bites_its_fault_injector() {
    let fresh = Database::tiny();
    assert_eq!(failed(&fresh), BTreeSet::new());
    let honest = after_a_run();
    assert_eq!(failed(&honest), BTreeSet::new());
    let broken = Database::new();
    store(&honest.url).copy_to(&broken.url, false).unwrap();
    let honest = honest.url.database.replace('`', "``");
    for (audit, change) in FAULTS.iter().chain(support::FAULTS_EVERYWHERE) {
        broken.execute(change);
        let failed = failed(&broken);
        assert!(failed.contains(*audit), "{audit} did not see `{change}`; failed: {failed:?}");
        // Cheaper than a copy of the database for each.
        let restored = TABLES.iter().filter(|table| change.contains(*table));
        let restored = restored.map(|table| {
            format!("delete from {table}; insert into {table} select * from `{honest}`.{table};")
        });
        broken.execute(&restored.collect::<String>());
    }
    assert_eq!(failed(&broken), BTreeSet::new(), "what is left after all of them");
    let covered: BTreeSet<&str> =
        FAULTS.iter().chain(support::FAULTS_EVERYWHERE).map(|(audit, _)| *audit).collect();
    // Skew needs more data than is tiny; its judges have tests of their own.
    let elsewhere = ["item-skew", "customer-skew"];
    for audit in audit::audits(Dialect::MySql).unwrap().into_iter().flat_map(|group| group.audits) {
        assert!(
            covered.contains(audit.name.as_str()) || elsewhere.contains(&audit.name.as_str()),
            "{}",
            audit.name
        );
    }
}

#[test]
fn tallies_are_what_the_ledger_reads() {
    let database = after_a_run();
    let witness = store(&database.url);
    let rows = witness.rows(&audit::district_tallies(Dialect::MySql).unwrap(), &[]).unwrap();
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
    assert_eq!(sum(|tally| tally.payments), count("select count(*) from history"));
    assert_eq!(sum(|tally| tally.ytd), count("select sum(h_amount) * 100 from history"));
    assert_eq!(sum(|tally| tally.amount), count("select sum(ol_amount) * 100 from order_line"));
}
