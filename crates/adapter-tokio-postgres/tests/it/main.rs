//! The adapter on a real PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conformance;
mod faults;
mod listen;
mod simple;
mod support;
