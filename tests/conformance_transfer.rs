//! Transfers on every engine: conformance and many sessions at once, on both routes; and fault injectors.

use stackmark_tests::injected::{
    all_are_caught, every_audit_is_failed, is_right, row_changes_are_caught, the_mix_is_sound_on_both_routes,
};
use stackmark_tests::routes::Route;
use stackmark_tests::sagas;
use stackmark_tests::test_engines::{OnMariaDb, OnPostgres, OnSqlite, TestEngine};
use stackmark_tests::two_phase::none_left;
use std::collections::BTreeSet;
use workload_transfer::{Crossing, Transfers};

fn are_right_on_both_routes<B: TestEngine>() {
    [Route::Direct, Route::Http]
        .into_iter()
        .for_each(|route| is_right::<B, Transfers>(Crossing::None, route));
    let _together = none_left();
    the_mix_is_sound_on_both_routes::<B, Transfers>();
}

/// Audits that only faults between stores violate: those of sagas, and one by a coordinator that died, in the tests of two-phase commit.
fn between_stores() -> BTreeSet<&'static str> {
    let of_sagas = sagas::WRONGS.iter().flat_map(|wrong| wrong.caught_by).copied();
    of_sagas.filter(|name| *name != "ledger").chain(["prepared-branches"]).collect()
}

#[test]
fn transfers_on_sqlite_are_right_on_both_routes() {
    are_right_on_both_routes::<OnSqlite>();
}

#[test]
fn transfers_on_postgresql_are_right_on_both_routes() {
    are_right_on_both_routes::<OnPostgres>();
}

#[test]
fn transfers_on_mariadb_are_right_on_both_routes() {
    are_right_on_both_routes::<OnMariaDb>();
}

#[test]
fn fault_injectors_of_transfers_on_sqlite_are_caught_by_exactly_the_audits_that_they_violate() {
    all_are_caught::<OnSqlite, Transfers>();
}

#[test]
fn row_changes_in_transfers_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    let _together = none_left();
    row_changes_are_caught::<OnPostgres, Transfers>(&between_stores());
}

#[test]
fn row_changes_in_transfers_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    let _together = none_left();
    row_changes_are_caught::<OnMariaDb, Transfers>(&between_stores());
}

#[test]
fn every_audit_of_transfers_is_failed_by_a_fault_injector() {
    every_audit_is_failed::<Transfers>(&between_stores());
}

/// Fault injectors driven on servers.
mod extended {
    use super::*;

    #[test]
    fn fault_injectors_of_transfers_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
        let _together = none_left();
        all_are_caught::<OnPostgres, Transfers>();
    }

    #[test]
    fn fault_injectors_of_transfers_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
        let _together = none_left();
        all_are_caught::<OnMariaDb, Transfers>();
    }
}
