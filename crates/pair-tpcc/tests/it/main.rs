//! The styles on real engines.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mysql;
mod postgres;
