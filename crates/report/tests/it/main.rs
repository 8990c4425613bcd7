//! Documents in, reports out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod earlier;
mod files;
mod problems;
mod progress;
mod report;
mod short_line;
mod sizes;
mod snapshots;
mod statements;
