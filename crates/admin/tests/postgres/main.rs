//! `admin::postgres` on a private PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audits;
mod kits;
mod loads;
mod support;
mod witness;
