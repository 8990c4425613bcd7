//! What each way of a server to answer and to misbehave becomes, and what a call costs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocations;
mod faults;
mod reach;
mod requests;
mod rogue;
mod toy;
