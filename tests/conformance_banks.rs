//! `tpcb` on every engine: conformance and races on both routes, and everybody who does wrong.

use rig::Engine;
use sql::Dialect;
use stackmark_tests::banks::{self, WRONGS};
use stackmark_tests::beds::{OnMariaDb, OnPostgres, OnPostgresSimply, OnSqlite};
use stackmark_tests::routes::{banks_are_right_on_both_routes, wrongs_in_banks_are_caught};
use std::collections::BTreeSet;
use workload_tpcb::audit::audits;

#[test]
fn banks_on_sqlite_are_right_on_both_routes() {
    banks_are_right_on_both_routes::<OnSqlite>();
}

#[test]
fn banks_on_postgresql_are_right_on_both_routes() {
    banks_are_right_on_both_routes::<OnPostgres>();
}

#[test]
fn banks_on_postgresql_by_the_simple_protocol_are_right_on_both_routes() {
    banks_are_right_on_both_routes::<OnPostgresSimply>();
}

#[test]
fn banks_on_mariadb_are_right_on_both_routes() {
    banks_are_right_on_both_routes::<OnMariaDb>();
}

#[test]
fn wrongs_in_banks_on_sqlite_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
    wrongs_in_banks_are_caught::<OnSqlite>();
}

#[test]
fn row_changes_in_banks_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    banks::row_changes_are_caught::<OnPostgres>();
}

#[test]
fn row_changes_in_banks_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    banks::row_changes_are_caught::<OnMariaDb>();
}

#[test]
fn no_audit_of_banks_is_without_somebody_who_offends_it() {
    let caught: BTreeSet<&str> = WRONGS.iter().flat_map(|wrong| wrong.caught_by).copied().collect();
    let mut names: BTreeSet<String> = BTreeSet::from(["ledger".to_owned()]);
    for engine in Engine::ALL.map(stackmark_tests::ground::dialect).into_iter().chain([Dialect::Sqlite]) {
        let groups = audits(engine).expect("kept by a test of the workload");
        names.extend(groups.into_iter().flat_map(|group| group.audits).map(|audit| audit.name));
    }
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), caught);
    assert!(names.len() >= 19, "{names:?}");
}

/// Fault injectors driven on servers, also by the simple protocol.
mod extended {
    use super::*;

    #[test]
    fn wrongs_in_banks_on_postgresql_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_in_banks_are_caught::<OnPostgres>();
    }

    #[test]
    fn wrongs_in_banks_on_mariadb_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_in_banks_are_caught::<OnMariaDb>();
    }

    #[test]
    fn wrongs_in_banks_by_the_simple_protocol_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_in_banks_are_caught::<OnPostgresSimply>();
    }
}
