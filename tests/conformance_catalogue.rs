//! The catalogue on every engine: conformance in every form and many sessions at once, on both routes; and fault injectors.

use stackmark_tests::catalogues::every_form_is_right_on_both_routes;
use stackmark_tests::injected::{
    all_are_caught, every_audit_is_failed, row_changes_are_caught, the_mix_is_sound_on_both_routes,
};
use stackmark_tests::test_engines::{OnMariaDb, OnPostgres, OnSqlite, TestEngine};
use std::collections::BTreeSet;
use workload_catalogue::FoodCatalogue;

fn is_right_on_both_routes<B: TestEngine>() {
    every_form_is_right_on_both_routes::<B>();
    the_mix_is_sound_on_both_routes::<B, FoodCatalogue>();
}

#[test]
fn the_catalogue_on_sqlite_is_right_on_both_routes() {
    is_right_on_both_routes::<OnSqlite>();
}

#[test]
fn the_catalogue_on_postgresql_is_right_on_both_routes() {
    is_right_on_both_routes::<OnPostgres>();
}

#[test]
fn the_catalogue_on_mariadb_is_right_on_both_routes() {
    is_right_on_both_routes::<OnMariaDb>();
}

#[test]
fn fault_injectors_of_the_catalogue_on_sqlite_are_caught_by_exactly_the_audits_that_they_violate() {
    all_are_caught::<OnSqlite, FoodCatalogue>();
}

#[test]
fn row_changes_in_the_catalogue_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnPostgres, FoodCatalogue>(&BTreeSet::new());
}

#[test]
fn row_changes_in_the_catalogue_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnMariaDb, FoodCatalogue>(&BTreeSet::new());
}

#[test]
fn every_audit_of_the_catalogue_is_failed_by_a_fault_injector() {
    every_audit_is_failed::<FoodCatalogue>(&BTreeSet::new());
}

/// Fault injectors driven on servers.
mod extended {
    use super::*;

    #[test]
    fn fault_injectors_of_the_catalogue_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnPostgres, FoodCatalogue>();
    }

    #[test]
    fn fault_injectors_of_the_catalogue_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnMariaDb, FoodCatalogue>();
    }
}
