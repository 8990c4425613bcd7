//! Why a load did not happen, by what the user does next.

use crate::LoadRecord;
use model::OpenError;
use tokio_postgres::error::SqlState;

/// What the system or the server said.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The system.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// Nobody answers, or we are not let in.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server has no such database.
    #[error("there is no database `{0}` on the server; create it first")]
    NoDatabase(String),
    /// A statement failed.
    #[error("{}", said(.0))]
    Engine(#[from] tokio_postgres::Error),
    /// What is stored is not what we can write or read.
    #[error("{0}")]
    Form(String),
}

impl Cause {
    fn code(&self) -> Option<&SqlState> {
        match self {
            Cause::Engine(error) => error.code(),
            Cause::System(_) | Cause::Open(_) | Cause::NoDatabase(_) | Cause::Form(_) => None,
        }
    }

    /// No space is left on the server.
    pub(crate) fn is_full(&self) -> bool {
        self.code() == Some(&SqlState::DISK_FULL)
    }

    /// Somebody holds a lock, or is connected.
    pub(crate) fn is_in_use(&self) -> bool {
        matches!(self.code(), Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::OBJECT_IN_USE)
    }
}

/// What the server said, in its own words, without what our driver puts around it.
pub(crate) fn said(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    if let Some(error) = error.as_db_error() {
        return match error.detail() {
            Some(detail) => format!("{} ({detail})", error.message()),
            None => error.message().to_owned(),
        };
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
#[error("could not read {database}")]
pub struct InspectError {
    /// The database: its URL without a password.
    pub database: String,
    /// What was said.
    pub source: Cause,
}

/// Why a load did not happen. Nothing but our own tables has been touched, and these only where that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An earlier load did not finish.
    #[error("{database} holds a load that was interrupted; start it anew with `{start_anew}`")]
    Interrupted {
        /// The database: its URL without a password.
        database: String,
        /// The command, from the caller.
        start_anew: String,
    },
    /// Another process is loading there now.
    #[error("another process is loading into {0} now")]
    Running(String),
    /// The database was loaded with something else.
    #[error("{database} holds {there}; asked for is {asked}{note}; replace it with `{start_anew}`")]
    Other {
        /// The database.
        database: String,
        /// What it holds.
        there: Box<LoadRecord>,
        /// What was asked for.
        asked: Box<LoadRecord>,
        /// What differs when both read the same: size or schema; empty otherwise.
        note: &'static str,
        /// The command, from the caller.
        start_anew: String,
    },
    /// Not ours: never written to, whatever is asked.
    #[error("{database} is not ours: {what}; name another database, or empty it yourself")]
    Foreign {
        /// The database.
        database: String,
        /// What it is.
        what: String,
    },
    /// Somebody uses the tables that should be replaced.
    #[error("{0} is in use by others")]
    InUse(String),
    /// Nobody answers, we are not let in, or there is no such database.
    #[error("could not open {database}")]
    Place {
        /// The database.
        database: String,
        /// What was said.
        source: Cause,
    },
    /// Room ran out while loading. What had been written is removed.
    #[error("the server has no space left for {database} after {written} rows; what was written is removed")]
    Full {
        /// The database.
        database: String,
        /// Rows handed to the server so far.
        written: u64,
    },
    /// The user gave up. The tables are left, and recognised as incomplete.
    #[error("stopped; {database} is left incomplete; start anew with `{start_anew}`")]
    Stopped {
        /// The database.
        database: String,
        /// The command, from the caller.
        start_anew: String,
    },
    /// What was read back is not what was written: a fault of the disk, of the server or of ours. What was written is
    /// removed.
    #[error("table {table} reads back as {read}, written were {written}")]
    Mismatch {
        /// The table.
        table: String,
        /// Rows and checksum written.
        written: String,
        /// Rows and checksum read back.
        read: String,
    },
    /// Anything else. What had been written is removed, if the server still answers.
    #[error("could not {doing} {database}")]
    Failed {
        /// A verb: `write`.
        doing: &'static str,
        /// The database.
        database: String,
        /// What was said.
        source: Cause,
    },
}
