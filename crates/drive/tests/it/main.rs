//! The load generator at work, on sessions that need no engine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocations;
mod rounds;
mod toy;
mod trials;
