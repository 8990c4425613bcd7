//! Transfers between stores by two-phase commit, on both engines that keep branches: with the decision in the row of the
//! transfer, and in a log of its own, which only the extended tests try on MariaDB.

use stackmark_tests::test_engines::{OnMariaDb, OnPostgres};
use stackmark_tests::two_phase::{
    stores_are_as_one, what_a_dead_coordinator_leaves_is_decided, who_commits_before_the_decision_is_caught,
};
use targets::Style::{TwoPhase, TwoPhaseLog};

#[test]
fn two_stores_on_postgresql_are_as_one() {
    stores_are_as_one::<OnPostgres>(TwoPhase, 2);
}

#[test]
fn four_stores_on_postgresql_are_as_one() {
    stores_are_as_one::<OnPostgres>(TwoPhase, 4);
}

#[test]
fn two_stores_on_postgresql_are_as_one_with_a_log() {
    stores_are_as_one::<OnPostgres>(TwoPhaseLog, 2);
}

#[test]
fn two_stores_on_mariadb_are_as_one() {
    stores_are_as_one::<OnMariaDb>(TwoPhase, 2);
}

#[test]
fn what_a_dead_coordinator_leaves_on_postgresql_is_decided() {
    what_a_dead_coordinator_leaves_is_decided::<OnPostgres>(TwoPhase);
}

#[test]
fn what_a_dead_coordinator_leaves_on_postgresql_is_decided_with_a_log() {
    what_a_dead_coordinator_leaves_is_decided::<OnPostgres>(TwoPhaseLog);
}

#[test]
fn what_a_dead_coordinator_leaves_on_mariadb_is_decided() {
    what_a_dead_coordinator_leaves_is_decided::<OnMariaDb>(TwoPhase);
}

#[test]
fn who_commits_before_the_decision_on_postgresql_is_caught() {
    who_commits_before_the_decision_is_caught::<OnPostgres>(TwoPhase);
}

#[test]
fn who_commits_before_the_decision_on_postgresql_is_caught_with_a_log() {
    who_commits_before_the_decision_is_caught::<OnPostgres>(TwoPhaseLog);
}

#[test]
fn who_commits_before_the_decision_on_mariadb_is_caught() {
    who_commits_before_the_decision_is_caught::<OnMariaDb>(TwoPhase);
}

mod extended {
    use super::*;

    #[test]
    fn two_stores_on_mariadb_are_as_one_with_a_log() {
        stores_are_as_one::<OnMariaDb>(TwoPhaseLog, 2);
    }

    #[test]
    fn what_a_dead_coordinator_leaves_on_mariadb_is_decided_with_a_log() {
        what_a_dead_coordinator_leaves_is_decided::<OnMariaDb>(TwoPhaseLog);
    }

    #[test]
    fn who_commits_before_the_decision_on_mariadb_is_caught_with_a_log() {
        who_commits_before_the_decision_is_caught::<OnMariaDb>(TwoPhaseLog);
    }
}
