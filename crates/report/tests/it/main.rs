//! Documents in, reports out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod files;
mod loads;
mod report;
mod sizes;
mod statements;
