//! Right answers and sound data on every engine and both routes, sessions at once, and everybody who does wrong, caught.
//!
//! One program, so that what they share is compiled once and each engine is started, and loaded, once.

mod conformance_answers;
mod conformance_banks;
mod conformance_bites;
mod conformance_booking;
mod conformance_catalogue;
mod conformance_hostile;
mod conformance_http;
mod conformance_mariadb;
mod conformance_plans;
mod conformance_port;
mod conformance_postgres;
mod conformance_races;
mod conformance_saga;
mod conformance_sqlite;
mod conformance_transfer;
mod conformance_two_phase;
