//! PostgreSQL, MariaDB and SQLite through sqlx, behind the narrow SQL port. It knows no workload.
//!
//! sqlx is used as its users use it: one connection a session, statements prepared once and found again in its cache by
//! their text, values bound one by one, rows taken as they come. It is used through the types of each engine and not
//! through `sqlx::Any`, which would lose types. Where the engines differ, so do the three modules:
//!
//! - **PostgreSQL**: parameters take the types that the server finds for a statement, as with other drivers; amounts of
//!   money are sent and read as decimals, digit by digit. `begin`, `commit` and `rollback` go by the simple protocol, as
//!   in sqlx's own transactions; statements do not share round trips. sqlx reads `PGPASSWORD`, `PGOPTIONS` and the like
//!   where the URL is silent; the settings of a session are therefore read back.
//! - **MariaDB**: amounts travel as the text of a decimal, as the protocol has no other exact form. sqlx always asks the
//!   server to count the rows that an update found, also those that it left as they were. Column descriptions are
//!   decoded again for each result, by sqlx.
//! - **SQLite**: sqlx runs each connection on a thread of its own and passes it one statement at a time, so sessions live
//!   in tasks and every statement costs two changes of thread. There is no fair lane in front of the one writer, as
//!   `adapter-rusqlite` has it: writers begin with `begin immediate` and wait in SQLite's own busy handler, which sleeps
//!   and tries again. That is what an application on sqlx gets; the wait is a part of the time to begin, and cannot be
//!   distinguished from it.

mod fault;
mod mysql;
mod postgres;
mod sqlite;

pub use mysql::{SqlxMySql, SqlxMySqlConn};
pub use postgres::{SqlxPostgres, SqlxPostgresConn};
pub use sqlite::{SqlxSqlite, SqlxSqliteConn};

/// The adapter's name and version. sqlx does not say its version at run time; a test holds it to the manifest.
const ADAPTER: (&str, &str) = ("sqlx", "0.9.0");

/// Statements that a connection keeps prepared; more than any workload has, so that none is ever closed to make room.
const STATEMENTS_MAX: usize = 1_024;

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("sqlx = {{ version = \"={}\"", super::ADAPTER.1)));
    }
}
