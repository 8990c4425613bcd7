//! Transfers between stores by a saga, on every engine.

use stackmark_tests::expiry::{
    an_expired_key_is_not_made_again, old_keys_are_forgotten_once, what_has_not_arrived_is_not_forgotten,
};
use stackmark_tests::log_first::{
    logged_transfers_match_what_is_stored, the_log_of_other_data_is_refused,
    what_a_dead_process_has_logged_is_executed, what_the_store_did_not_allow_is_executed_later,
    what_was_perhaps_published_is_executed,
};
use stackmark_tests::sagas::{
    a_store_that_says_otherwise_is_refused, attached_files_are_as_one, stores_settle,
    what_a_dead_relay_leaves_is_settled, what_is_refused_goes_back,
    who_dies_between_debit_and_credit_is_caught, wrongs_between_stores_are_caught,
};
use stackmark_tests::test_engines::{OnMariaDb, OnPostgres, OnSqlite};

#[test]
fn sagas_on_sqlite_settle() {
    stores_settle::<OnSqlite>(2);
}

#[test]
fn sagas_over_four_files_settle() {
    stores_settle::<OnSqlite>(4);
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
    stores_settle::<OnPostgres>(2);
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
fn sagas_on_mariadb_settle() {
    stores_settle::<OnMariaDb>(2);
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

#[test]
fn keys_on_sqlite_expire() {
    old_keys_are_forgotten_once::<OnSqlite>();
    an_expired_key_is_not_made_again::<OnSqlite>();
    what_has_not_arrived_is_not_forgotten::<OnSqlite>();
}

#[test]
fn keys_on_postgresql_expire() {
    old_keys_are_forgotten_once::<OnPostgres>();
    an_expired_key_is_not_made_again::<OnPostgres>();
    what_has_not_arrived_is_not_forgotten::<OnPostgres>();
}

#[test]
fn keys_on_mariadb_expire() {
    old_keys_are_forgotten_once::<OnMariaDb>();
    an_expired_key_is_not_made_again::<OnMariaDb>();
    what_has_not_arrived_is_not_forgotten::<OnMariaDb>();
}

#[test]
fn a_store_on_sqlite_that_says_otherwise_than_was_loaded_is_refused() {
    a_store_that_says_otherwise_is_refused::<OnSqlite>();
}

#[test]
fn a_store_on_postgresql_that_says_otherwise_than_was_loaded_is_refused() {
    a_store_that_says_otherwise_is_refused::<OnPostgres>();
}

#[test]
fn a_store_on_mariadb_that_says_otherwise_than_was_loaded_is_refused() {
    a_store_that_says_otherwise_is_refused::<OnMariaDb>();
}

#[test]
fn logged_transfers_on_sqlite_match_what_is_stored() {
    logged_transfers_match_what_is_stored::<OnSqlite>();
}

#[test]
fn what_was_logged_on_sqlite_is_executed() {
    what_a_dead_process_has_logged_is_executed::<OnSqlite>();
    what_was_perhaps_published_is_executed::<OnSqlite>();
    what_the_store_did_not_allow_is_executed_later::<OnSqlite>();
}

#[test]
fn logged_transfers_on_postgresql_match_what_is_stored() {
    logged_transfers_match_what_is_stored::<OnPostgres>();
}

#[test]
fn what_was_logged_on_postgresql_is_executed() {
    what_a_dead_process_has_logged_is_executed::<OnPostgres>();
    what_was_perhaps_published_is_executed::<OnPostgres>();
    what_the_store_did_not_allow_is_executed_later::<OnPostgres>();
}

#[test]
fn logged_transfers_on_mariadb_match_what_is_stored() {
    logged_transfers_match_what_is_stored::<OnMariaDb>();
}

#[test]
fn what_was_logged_on_mariadb_is_executed() {
    what_a_dead_process_has_logged_is_executed::<OnMariaDb>();
    what_was_perhaps_published_is_executed::<OnMariaDb>();
    what_the_store_did_not_allow_is_executed_later::<OnMariaDb>();
}

#[test]
fn the_log_of_other_data_on_sqlite_is_refused() {
    the_log_of_other_data_is_refused::<OnSqlite>();
}

mod extended {
    use super::*;

    #[test]
    fn wrongs_between_stores_on_postgresql_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_between_stores_are_caught::<OnPostgres>();
    }

    #[test]
    fn wrongs_between_stores_on_mariadb_are_caught_by_the_audits_that_they_offend_and_by_no_others() {
        wrongs_between_stores_are_caught::<OnMariaDb>();
    }
}
