//! The control plane on each engine.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audits;
mod loads;
mod mariadb;
mod postgres;
mod probes;
mod support;
mod witness;
