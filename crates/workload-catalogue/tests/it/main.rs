//! The contract of the workload.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
