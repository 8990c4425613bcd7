//! Why something did not happen on a server, by what the user does next.

use super::connect::{code, code_of};
use crate::LoadRecord;
use sql::ServerUrl;

/// What the system, the driver or the server said.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The system.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// The driver, or the server through it.
    #[error(transparent)]
    Engine(#[from] mysql_async::Error),
    /// What the server answers makes no sense to us.
    #[error("{0}")]
    Answer(String),
}

impl Cause {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Cause::Engine(error) => code_of(error),
            Cause::System(_) | Cause::Answer(_) => None,
        }
    }

    /// Given up because something else had failed, or the user wanted it.
    pub(crate) fn is_cut_short(&self) -> bool {
        matches!(self, Cause::System(error) if error.kind() == std::io::ErrorKind::Interrupted)
            || matches!(self, Cause::Engine(mysql_async::Error::Other(error))
                if error.downcast_ref::<mysql_async::LocalInfileError>().is_some())
    }

    pub(crate) fn is_full(&self) -> bool {
        matches!(self.code(), Some(code::RECORD_FILE_FULL | code::DISK_FULL))
    }
}

/// A database on its server, for messages: `tpcc on 127.0.0.1:3306`.
pub(crate) fn named(url: &ServerUrl) -> String {
    format!("{} on {}", url.database, url.place())
}

/// Why a load did not happen. Tables that are not ours have not been touched in any case.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An earlier load did not finish.
    #[error("{database} holds a load that was interrupted; start it anew with `{start_anew}`")]
    Interrupted {
        /// Where: `tpcc on 127.0.0.1:3306`.
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
        /// Where.
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
        /// Where.
        database: String,
        /// What it is.
        what: String,
    },
    /// The server cannot be reached, or does not let us in.
    #[error("could not open {database}")]
    Unreachable {
        /// Where.
        database: String,
        /// What was said.
        source: Cause,
    },
    /// The server's disk is full. The tables of this load are removed.
    #[error("the server has no space left for {database} after {written} rows; what was written is removed")]
    Full {
        /// Where.
        database: String,
        /// Rows sent so far.
        written: u64,
    },
    /// The user gave up. What was written is left, and is recognised.
    #[error("stopped; {database} is left incomplete; start anew with `{start_anew}`")]
    Stopped {
        /// Where.
        database: String,
        /// The command, from the caller.
        start_anew: String,
    },
    /// What was read back is not what was written: a fault of the server or of ours. The tables of this load are
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
    /// Anything else. The tables of this load are removed where the server still answers.
    #[error("could not {doing} {database}")]
    Failed {
        /// A verb: `write`.
        doing: &'static str,
        /// Where.
        database: String,
        /// What was said.
        source: Cause,
    },
}

/// Why a database could not be made, copied or removed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing that was loaded whole is there.
    #[error("there is no complete load in {0}")]
    Missing(String),
    /// What is there is not ours.
    #[error("{database} is not ours: {what}")]
    Foreign {
        /// Where.
        database: String,
        /// What it is.
        what: String,
    },
    /// A loader is at work there.
    #[error("{0} is being loaded by another process")]
    InUse(String),
    /// Source and copy are on different servers.
    #[error("{from} and {to} are not on the same server")]
    Apart {
        /// The source.
        from: String,
        /// The copy.
        to: String,
    },
    /// Anything else that the server says.
    #[error("could not {doing} {database}")]
    Failed {
        /// A verb: `copy to`.
        doing: &'static str,
        /// Where.
        database: String,
        /// What was said.
        source: Cause,
    },
}
