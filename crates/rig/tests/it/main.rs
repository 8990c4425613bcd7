//! Real engines: made, limited, killed, and gone with whoever started them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ends;
mod engines;
mod galera;
mod kafka;
mod spider;
