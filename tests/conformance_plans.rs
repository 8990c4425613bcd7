//! Statements on a PostgreSQL database that was just loaded are planned for tables that will grow.

use sql::Dialect::Postgres;
use stackmark_tests::plans::scans_of_empty_tables;
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
