//! TPC-C by hand for one engine: styles whose point is not to send one statement at a time.

pub mod mysql;
pub mod postgres;
