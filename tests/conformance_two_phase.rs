//! Transfers between two stores by two-phase commit, on both engines that keep branches.

use stackmark_tests::beds::{OnMariaDb, OnPostgres};
use stackmark_tests::two_phase::{two_stores_are_as_one, what_a_dead_coordinator_leaves_is_decided};

#[test]
fn two_stores_on_postgresql_are_as_one() {
    two_stores_are_as_one::<OnPostgres>();
}

#[test]
fn two_stores_on_mariadb_are_as_one() {
    two_stores_are_as_one::<OnMariaDb>();
}

#[test]
fn what_a_dead_coordinator_leaves_on_postgresql_is_decided() {
    what_a_dead_coordinator_leaves_is_decided::<OnPostgres>();
}

#[test]
fn what_a_dead_coordinator_leaves_on_mariadb_is_decided() {
    what_a_dead_coordinator_leaves_is_decided::<OnMariaDb>();
}
