//! Bookings on every engine: conformance and many sessions at once, on both routes; and fault injectors.

use stackmark_tests::injected::{
    all_are_caught, every_audit_is_failed, is_right, row_changes_are_caught, the_mix_is_sound_on_both_routes,
};
use stackmark_tests::outboxes::{
    a_booking_notifies_an_idle_relay, a_consumer_that_processes_other_messages_is_caught,
    a_lease_is_kept_until_it_has_run_out, a_missing_message_of_a_dual_write_is_detected,
    a_transaction_that_commits_late_is_not_skipped, pipelined_bookings_are_sound,
    two_relays_publish_everything_once, what_was_not_acknowledged_is_published_again,
    who_announces_something_else_is_caught,
};
use stackmark_tests::routes::Route;
use stackmark_tests::sagas::Relayed;
use stackmark_tests::test_engines::{OnMariaDb, OnPostgres, OnSqlite, TestEngine};
use std::collections::BTreeSet;
use workload_booking::{Announcing, Bookings, Form};

fn are_right_on_both_routes<B: TestEngine>() {
    for route in [Route::Direct, Route::Http] {
        is_right::<B, Bookings>(Form::default(), route);
    }
    is_right::<B, Bookings>(Announcing::Row.into(), Route::Direct);
    is_right::<B, Bookings>(Form { announcing: Announcing::Row, is_pipelined: true }, Route::Direct);
    the_mix_is_sound_on_both_routes::<B, Bookings>();
}

#[test]
fn bookings_on_sqlite_are_right_on_both_routes() {
    are_right_on_both_routes::<OnSqlite>();
}

#[test]
fn bookings_on_postgresql_are_right_on_both_routes() {
    are_right_on_both_routes::<OnPostgres>();
}

#[test]
fn bookings_on_mariadb_are_right_on_both_routes() {
    are_right_on_both_routes::<OnMariaDb>();
}

#[test]
fn fault_injectors_of_bookings_on_sqlite_are_caught_by_exactly_the_audits_that_they_violate() {
    all_are_caught::<OnSqlite, Bookings>();
}

#[test]
fn row_changes_in_bookings_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnPostgres, Bookings>(&BTreeSet::new());
}

#[test]
fn row_changes_in_bookings_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
    row_changes_are_caught::<OnMariaDb, Bookings>(&BTreeSet::new());
}

#[test]
fn every_audit_of_bookings_is_failed_by_a_fault_injector() {
    every_audit_is_failed::<Bookings>(&BTreeSet::new());
}

#[test]
fn pipelined_bookings_on_postgresql_are_sound() {
    pipelined_bookings_are_sound::<OnPostgres>();
}

fn an_outbox_is_published<B: Relayed>() {
    two_relays_publish_everything_once::<B>();
    what_was_not_acknowledged_is_published_again::<B>();
}

#[test]
fn an_outbox_on_sqlite_is_published() {
    an_outbox_is_published::<OnSqlite>();
}

#[test]
fn an_outbox_on_postgresql_is_published() {
    an_outbox_is_published::<OnPostgres>();
}

#[test]
fn an_outbox_on_mariadb_is_published() {
    an_outbox_is_published::<OnMariaDb>();
}

#[test]
fn a_transaction_on_postgresql_that_commits_late_is_not_skipped() {
    a_transaction_that_commits_late_is_not_skipped::<OnPostgres>();
}

#[test]
fn a_transaction_on_mariadb_that_commits_late_is_not_skipped() {
    a_transaction_that_commits_late_is_not_skipped::<OnMariaDb>();
}

#[test]
fn one_relay_at_a_time_works_on_an_outbox() {
    a_lease_is_kept_until_it_has_run_out::<OnSqlite>();
    a_lease_is_kept_until_it_has_run_out::<OnPostgres>();
    a_lease_is_kept_until_it_has_run_out::<OnMariaDb>();
}

#[test]
fn who_announces_something_else_than_was_booked_is_caught() {
    who_announces_something_else_is_caught::<OnSqlite>();
}

#[test]
fn a_missing_message_of_a_dual_write_of_bookings_is_detected() {
    a_missing_message_of_a_dual_write_is_detected::<OnSqlite>();
}

#[test]
fn a_consumer_of_bookings_that_processes_other_messages_is_caught() {
    a_consumer_that_processes_other_messages_is_caught::<OnSqlite>();
}

#[test]
fn a_booking_on_postgresql_notifies_an_idle_relay() {
    a_booking_notifies_an_idle_relay::<OnPostgres>();
}

/// Fault injectors driven on servers.
mod extended {
    use super::*;

    #[test]
    fn fault_injectors_of_bookings_on_postgresql_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnPostgres, Bookings>();
    }

    #[test]
    fn fault_injectors_of_bookings_on_mariadb_are_caught_by_exactly_the_audits_that_they_violate() {
        all_are_caught::<OnMariaDb, Bookings>();
    }
}
