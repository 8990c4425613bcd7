//! The workload on real SQLite, and its contract.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod sqlite;
