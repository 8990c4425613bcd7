//! Statements on a PostgreSQL database that was just loaded are planned for tables that will grow; and plans are read on all servers.

use admin::store;
use sql::Dialect::Postgres;
use stackmark_tests::loaded_db::LoadedDb;
use stackmark_tests::plans::scans_of_empty_tables;
use stackmark_tests::test_engines::{OnMariaDb, OnPostgres, TestEngine};
use targets::Driven;
use workload::Benchmark as _;

fn check<W: Driven>(size: W::Extent, statements: Vec<Vec<String>>) {
    let scans = scans_of_empty_tables::<W>(size, &statements.concat());
    assert!(scans.is_empty(), "{}", scans.join("\n\n"));
}

#[test]
fn statements_of_bookings_scan_no_table_that_will_grow() {
    use workload_booking::{Bookings, catalogue, notifying_catalogue, relay_catalogue};
    let statements = [catalogue(Postgres), notifying_catalogue(), relay_catalogue(Postgres)];
    check::<Bookings>(Bookings::tiny(), statements.map(Result::unwrap).into());
}

#[test]
fn statements_of_transfers_scan_no_table_that_will_grow() {
    use workload_transfer::{Transfers, catalogue, expiry_catalogue, relay_catalogue, router_catalogue};
    let statements = [catalogue, expiry_catalogue, relay_catalogue, router_catalogue];
    let mut statements = statements.map(|of| of(Postgres).unwrap()).concat();
    // The relay sorts what is pending for a store, which it removes.
    statements.retain(|statement| !statement.contains("from outbox\nwhere target between"));
    check::<Transfers>(Transfers::tiny(), vec![statements]);
}

#[test]
fn statements_of_tpcb_scan_no_table_that_will_grow() {
    check::<workload_tpcb::Tpcb>(
        workload_tpcb::Tpcb::tiny(),
        vec![workload_tpcb::catalogue(Postgres).unwrap()],
    );
}

/// Statements that an engine does not explain, and the plan of each other one.
fn plans<W: Driven, B: TestEngine>() -> (Vec<&'static str>, Vec<(&'static str, String)>) {
    let loaded_db = LoadedDb::<W>::on::<B>(W::tiny());
    let statements = W::statements(B::DIALECT).expect("kept by a test of the workload");
    let texts: Vec<&str> = statements.iter().map(|(_, text)| text.as_str()).collect();
    let found = store(loaded_db.place()).plans(&texts).expect("the database was just loaded");
    assert_eq!(found.len(), statements.len());
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for ((name, _), plan) in statements.iter().zip(found) {
        match plan {
            Some(plan) => with.push((*name, plan)),
            None => without.push(*name),
        }
    }
    (without, with)
}

fn plan_of<'a>(plans: &'a [(&str, String)], statement: &str) -> &'a str {
    &plans.iter().find(|(name, _)| *name == statement).expect("it has a plan").1
}

#[test]
fn postgresql_explains_every_statement_of_every_workload() {
    use plans as of;
    let (without, plans) = of::<workload_tpcc::Tpcc, OnPostgres>();
    assert!(without.is_empty(), "{without:?}");
    assert!(plan_of(&plans, "read_item").ends_with(" on item"), "{plans:?}");
    assert_eq!(plan_of(&plans, "insert_history"), "Insert on history > Result");
    assert!(of::<workload_tpcb::Tpcb, OnPostgres>().0.is_empty());
    assert!(of::<workload_catalogue::FoodCatalogue, OnPostgres>().0.is_empty());
    assert!(of::<workload_transfer::Transfers, OnPostgres>().0.is_empty());
    assert!(of::<workload_booking::Bookings, OnPostgres>().0.is_empty());
}

#[test]
fn mariadb_explains_what_finds_rows() {
    let (without, plans) = plans::<workload_tpcc::Tpcc, OnMariaDb>();
    assert_eq!(plan_of(&plans, "read_item"), "item const PRIMARY");
    // They find no rows to begin with.
    assert_eq!(
        without,
        ["insert_order", "insert_new_order", "insert_order_line", "insert_history", "read_date"]
    );
    assert_eq!(plan_of(&plans, "customers_by_name"), "customer ref customer_name, Using index");
    assert_eq!(plan_of(&plans, "pay_customer"), "customer range PRIMARY");
}

#[test]
fn a_plan_follows_its_table() {
    let loaded_db = LoadedDb::<workload_tpcb::Tpcb>::on::<OnPostgres>(workload_tpcb::Tpcb::tiny());
    let statement = ["select tid from pgbench_tellers where bid = ?1"];
    let plan = || store(loaded_db.place()).plans(&statement).unwrap().remove(0);
    assert_eq!(plan().as_deref(), Some("Seq Scan on pgbench_tellers"));
    assert_eq!(store(loaded_db.place()).plans(&["select no from such"]).unwrap(), [None]);
}
