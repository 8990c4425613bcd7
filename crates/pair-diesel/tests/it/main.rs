//! Diesel on SQLite and on a real PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod postgres;
mod sqlite;
mod support;
