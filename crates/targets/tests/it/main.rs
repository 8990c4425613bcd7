//! Targets on real files.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocations;
mod stores;
