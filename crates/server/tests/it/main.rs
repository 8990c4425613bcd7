//! The server as its clients meet it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod contract;
mod foods;
mod limits;
mod rig;
#[path = "../../../adapter-http/tests/it/toy/mod.rs"]
mod toy;
