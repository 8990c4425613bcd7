//! TPC-C through Diesel, as someone writes it who knows Diesel: tables declared once, structs for what is read and
//! written, typed queries whose SQL and prepared statements Diesel keeps for each connection, an order's lines inserted by
//! one statement. Its answers, locks and isolation are those of the plain style, so that both can run next to each other.
//!
//! What differs from the plain style, and is what a query builder costs or saves: SQL is built from types, though mostly
//! once; texts are owned; the lines of an order are one statement, which is prepared again each time; `limit 1` is a
//! parameter; begin and commit are sent as text. An ORM is a driver and a style in one, so that a comparison with the plain
//! style tells what both cost together.
//!
//! [`DieselSqlite`] lets writers through the same lane as the adapter of rusqlite, which differs from it in nothing else
//! than Diesel. [`DieselPostgres`] stands on libpq, compiled in without TLS.

#![expect(
    clippy::duplicate_mod,
    reason = "the transactions are compiled for each engine, to queries of static types"
)]

mod postgres;
mod rows;
mod rules;
mod schema;
mod session;
mod sqlite;
mod value;
mod work;

pub use postgres::{DieselPostgres, PostgresSession};
pub use sqlite::{DieselSqlite, SqliteSession};

// Links the libpq that is compiled in, and not one of the system.
use pq_sys as _;

/// The crate between us and the engines, and its version, which a test holds to the manifest.
const ADAPTER: (&str, &str) = ("diesel", "2.3.14");
/// How transactions are expressed.
const STYLE: &str = "orm";

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        let (name, version) = super::ADAPTER;
        assert!(manifest.contains(&format!("{name} = {{ version = \"={version}\"")));
    }
}
