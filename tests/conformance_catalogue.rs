//! The catalogue on every engine: conformance in every form and many sessions at once, on both routes; and everybody who does
//! wrong.

use sql::Dialect;
use stackmark_tests::beds::{OnMariaDb, OnPostgres, OnSqlite};
use stackmark_tests::catalogues::{
    WRONGS, every_form_is_right_on_both_routes, row_changes_are_caught, the_mix_is_sound_on_both_routes,
    wrongs_are_caught,
};
use std::collections::BTreeSet;
use workload_catalogue::audit::audits;

#[test]
fn the_catalogue_on_sqlite_is_right_on_both_routes() {
    every_form_is_right_on_both_routes::<OnSqlite>();
    the_mix_is_sound_on_both_routes::<OnSqlite>();
}

#[test]
fn the_catalogue_on_postgresql_is_right_on_both_routes() {
    every_form_is_right_on_both_routes::<OnPostgres>();
    the_mix_is_sound_on_both_routes::<OnPostgres>();
}

#[test]
fn the_catalogue_on_mariadb_is_right_on_both_routes() {
    every_form_is_right_on_both_routes::<OnMariaDb>();
    the_mix_is_sound_on_both_routes::<OnMariaDb>();
}

#[test]
fn wrongs_in_the_catalogue_on_sqlite_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
    wrongs_are_caught::<OnSqlite>();
}

#[test]
fn row_changes_in_the_catalogue_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnPostgres>();
}

#[test]
fn row_changes_in_the_catalogue_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnMariaDb>();
}

#[test]
fn no_audit_of_the_catalogue_is_without_somebody_who_offends_it() {
    let caught: BTreeSet<&str> = WRONGS.iter().flat_map(|wrong| wrong.caught_by).copied().collect();
    let mut names: BTreeSet<String> = BTreeSet::from(["ledger".to_owned()]);
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
    fn wrongs_in_the_catalogue_on_postgresql_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_are_caught::<OnPostgres>();
    }

    #[test]
    fn wrongs_in_the_catalogue_on_mariadb_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_are_caught::<OnMariaDb>();
    }
}
