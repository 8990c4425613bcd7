//! Transfers between two stores by a saga, on every engine.

use stackmark_tests::beds::{OnMariaDb, OnPostgres, OnSqlite};
use stackmark_tests::sagas::{
    attached_files_are_as_one, two_stores_settle, what_a_dead_relay_leaves_is_settled,
    what_is_refused_goes_back, who_dies_between_debit_and_credit_is_caught, wrongs_between_stores_are_caught,
};

#[test]
fn sagas_on_sqlite_settle() {
    two_stores_settle::<OnSqlite>();
}

#[test]
fn what_a_dead_relay_leaves_on_sqlite_is_settled() {
    what_a_dead_relay_leaves_is_settled::<OnSqlite>();
}

#[test]
fn what_is_refused_on_sqlite_goes_back() {
    what_is_refused_goes_back::<OnSqlite>();
}

#[test]
fn wrongs_between_stores_on_sqlite_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
    wrongs_between_stores_are_caught::<OnSqlite>();
}

#[test]
fn sagas_on_postgresql_settle() {
    two_stores_settle::<OnPostgres>();
}

#[test]
fn what_a_dead_relay_leaves_on_postgresql_is_settled() {
    what_a_dead_relay_leaves_is_settled::<OnPostgres>();
}

#[test]
fn what_is_refused_on_postgresql_goes_back() {
    what_is_refused_goes_back::<OnPostgres>();
}

#[test]
fn wrongs_between_stores_on_postgresql_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
    wrongs_between_stores_are_caught::<OnPostgres>();
}

#[test]
fn sagas_on_mariadb_settle() {
    two_stores_settle::<OnMariaDb>();
}

#[test]
fn what_a_dead_relay_leaves_on_mariadb_is_settled() {
    what_a_dead_relay_leaves_is_settled::<OnMariaDb>();
}

#[test]
fn what_is_refused_on_mariadb_goes_back() {
    what_is_refused_goes_back::<OnMariaDb>();
}

#[test]
fn wrongs_between_stores_on_mariadb_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
    wrongs_between_stores_are_caught::<OnMariaDb>();
}

#[test]
fn who_dies_between_debit_and_credit_on_sqlite_is_caught() {
    who_dies_between_debit_and_credit_is_caught::<OnSqlite>();
}

#[test]
fn who_dies_between_debit_and_credit_on_postgresql_is_caught() {
    who_dies_between_debit_and_credit_is_caught::<OnPostgres>();
}

#[test]
fn who_dies_between_debit_and_credit_on_mariadb_is_caught() {
    who_dies_between_debit_and_credit_is_caught::<OnMariaDb>();
}

#[test]
fn attached_files_on_sqlite_are_as_one() {
    attached_files_are_as_one();
}
