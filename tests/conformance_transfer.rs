//! Transfers on every engine: conformance and many sessions at once, on both routes; and everybody who does wrong.

use sql::Dialect;
use stackmark_tests::beds::{OnMariaDb, OnPostgres, OnSqlite};
use stackmark_tests::sagas;
use stackmark_tests::transfers::{
    WRONGS, it_is_right_on_both_routes, row_changes_are_caught, the_mix_is_sound_on_both_routes,
    wrongs_are_caught,
};
use std::collections::BTreeSet;
use workload_transfer::audit::audits;

#[test]
fn transfers_on_sqlite_are_right_on_both_routes() {
    it_is_right_on_both_routes::<OnSqlite>();
    the_mix_is_sound_on_both_routes::<OnSqlite>();
}

#[test]
fn transfers_on_postgresql_are_right_on_both_routes() {
    it_is_right_on_both_routes::<OnPostgres>();
    the_mix_is_sound_on_both_routes::<OnPostgres>();
}

#[test]
fn transfers_on_mariadb_are_right_on_both_routes() {
    it_is_right_on_both_routes::<OnMariaDb>();
    the_mix_is_sound_on_both_routes::<OnMariaDb>();
}

#[test]
fn wrongs_in_transfers_on_sqlite_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
    wrongs_are_caught::<OnSqlite>();
}

#[test]
fn row_changes_in_transfers_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnPostgres>();
}

#[test]
fn row_changes_in_transfers_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnMariaDb>();
}

#[test]
fn no_audit_of_transfers_is_without_somebody_who_offends_it() {
    let in_one_store = WRONGS.iter().flat_map(|wrong| wrong.caught_by);
    let between_stores = sagas::WRONGS.iter().flat_map(|wrong| wrong.caught_by);
    let caught: BTreeSet<&str> = in_one_store.chain(between_stores).copied().collect();
    let mut names: BTreeSet<String> = BTreeSet::from(["ledger".to_owned()]);
    // By a coordinator that died, in the tests of two-phase commit.
    let caught = &caught | &BTreeSet::from(["prepared-branches"]);
    for engine in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
        let groups = audits(engine).expect("kept by a test of the workload");
        names.extend(groups.into_iter().flat_map(|group| group.audits).map(|audit| audit.name));
    }
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), caught);
}

/// Fault injectors driven on servers.
mod extended {
    use super::*;

    #[test]
    fn wrongs_in_transfers_on_postgresql_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_are_caught::<OnPostgres>();
    }

    #[test]
    fn wrongs_in_transfers_on_mariadb_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_are_caught::<OnMariaDb>();
    }
}
