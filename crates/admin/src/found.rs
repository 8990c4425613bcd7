//! What is at an address.

use crate::record::Contents;

/// What is at an address.
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
        what: String,
        /// Its tables, empty where it is not a database. Audits may still apply to them.
        tables: Vec<String>,
    },
}

impl Found {
    /// What a database with these tables is, of which nothing is recorded. `kind` is as in `a SQLite database`.
    pub(crate) fn unrecorded(kind: &str, tables: Vec<String>) -> Found {
        let which = match tables.as_slice() {
            [] => return Found::Absent,
            few if few.len() <= 12 => format!("with the tables {}", few.join(", ")),
            many => format!("with {} tables", many.len()),
        };
        Found::Foreign { what: format!("{kind} {which} and no record of a Stackmark load"), tables }
    }
}
