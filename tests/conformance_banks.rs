//! `tpcb` on every engine: conformance and many sessions at once, on both routes; and fault injectors.

use stackmark_tests::injected::{
    all_are_caught, every_audit_is_failed, is_right, row_changes_are_caught, the_mix_is_sound_on_both_routes,
};
use stackmark_tests::routes::Route;
use stackmark_tests::test_engines::{OnMariaDb, OnPostgres, OnPostgresSimply, OnSqlite, TestEngine};
use std::collections::BTreeSet;
use workload_tpcb::Tpcb;

fn are_right_on_both_routes<B: TestEngine>() {
    [Route::Direct, Route::Http].into_iter().for_each(|route| is_right::<B, Tpcb>((), route));
    the_mix_is_sound_on_both_routes::<B, Tpcb>();
}

#[test]
fn banks_on_sqlite_are_right_on_both_routes() {
    are_right_on_both_routes::<OnSqlite>();
}

#[test]
fn banks_on_postgresql_are_right_on_both_routes() {
    are_right_on_both_routes::<OnPostgres>();
}

#[test]
fn banks_on_postgresql_by_the_simple_protocol_are_right_on_both_routes() {
    are_right_on_both_routes::<OnPostgresSimply>();
}

#[test]
fn banks_on_mariadb_are_right_on_both_routes() {
    are_right_on_both_routes::<OnMariaDb>();
}

#[test]
fn fault_injectors_of_banks_on_sqlite_are_caught_by_exactly_the_audits_that_they_violate() {
    all_are_caught::<OnSqlite, Tpcb>();
}

#[test]
fn row_changes_in_banks_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnPostgres, Tpcb>(&BTreeSet::new());
}

#[test]
fn row_changes_in_banks_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnMariaDb, Tpcb>(&BTreeSet::new());
}

#[test]
fn every_audit_of_banks_is_failed_by_a_fault_injector() {
    every_audit_is_failed::<Tpcb>(&BTreeSet::new());
}

/// Fault injectors driven on servers, also by the simple protocol.
mod extended {
    use super::*;

    #[test]
    fn fault_injectors_of_banks_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnPostgres, Tpcb>();
    }

    #[test]
    fn fault_injectors_of_banks_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnMariaDb, Tpcb>();
    }

    #[test]
    fn fault_injectors_of_banks_by_the_simple_protocol_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnPostgresSimply, Tpcb>();
    }
}
