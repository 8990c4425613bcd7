//! What lies at an address.

use crate::record::Contents;

/// What lies at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing, an empty file, or a database without tables.
    Absent,
    /// No database, and a load that has not finished.
    Incomplete {
        /// Where it stands: `bench.db.loading`.
        what: String,
        /// When it was last written to, in seconds since 1970.
        since: u64,
        /// Whether a process is loading now; otherwise it was interrupted.
        running: bool,
    },
    /// A database that we loaded whole. Runs may have changed it since.
    Complete(Box<Contents>),
    /// Something else, in a few words: `a SQLite database with the tables item, stock and no record of a load`.
    Foreign {
        /// The words.
        what: String,
        /// Its tables, empty where it is no database. Audits may still apply to them.
        tables: Vec<String>,
    },
}
