//! Why something was not done, by what the user does next: the same for every engine.

use crate::LoadRecord;
use model::{DRIVER_PANICKED, OpenError};
use std::io;

/// What the system, a driver or a server said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Cause {
    pub(crate) kind: CauseKind,
    pub(crate) text: String,
}

/// What a cause is to whoever must react to it. Engines say it in their own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CauseKind {
    /// No space is left, for the file, for the user or on the server.
    Full,
    /// Someone holds a lock, or is connected.
    InUse,
    /// There is no such database.
    Missing,
    /// There is such a database already.
    Exists,
    /// No one but an owner or administrator may do it.
    Denied,
    /// A pooler answers, and not the server.
    Pooled,
    /// The engine cannot do it: it only speaks the protocol of one that can.
    Unsupported,
    /// A table has no such column: it is not what it is called.
    NoColumn,
    /// Given up because something else had failed, or the user wanted it.
    CutShort,
    /// The system's own words for it.
    System(io::ErrorKind),
    Other,
}

impl Cause {
    pub(crate) fn new(kind: CauseKind, text: impl Into<String>) -> Cause {
        Cause { kind, text: text.into() }
    }

    /// What no engine has said: its answer makes no sense, or rows do not fit.
    pub(crate) fn other(text: impl Into<String>) -> Cause {
        Cause::new(CauseKind::Other, text)
    }

    /// What a driver answered, where it did not panic.
    pub(crate) fn of_driver<T, E: Into<Cause>>(caught: Result<Result<T, E>, String>) -> Result<T, Cause> {
        match caught {
            Ok(answer) => answer.map_err(Into::into),
            Err(panic) => Err(Cause::other(format!("{DRIVER_PANICKED}: {panic}"))),
        }
    }

    /// Of who stops because the load is over for another reason.
    pub(crate) fn cut_short() -> Cause {
        Cause::new(CauseKind::CutShort, "stopped")
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Cause {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                CauseKind::Full
            }
            kind => CauseKind::System(kind),
        };
        Cause::new(kind, error.to_string())
    }
}

impl From<OpenError> for Cause {
    fn from(error: OpenError) -> Cause {
        Cause::other(error.to_string())
    }
}

/// Why something was not done. Nothing that is not ours has been touched in any case, and what is ours only where that was
/// asked for. `place` is a file, or a database and its server without a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An earlier load did not finish.
    #[error("{place}: incomplete load\nhint: reload with `{reload}`")]
    Interrupted {
        place: String,
        /// The command, from the caller.
        reload: String,
    },
    /// Another process is loading there now.
    #[error("another process is loading into {0} now")]
    Running(String),
    /// The database was loaded with something else.
    #[error("{place} has {there}; requested {asked}{note}\nhint: replace it with `{reload}`")]
    Other {
        place: String,
        there: Box<LoadRecord>,
        asked: Box<LoadRecord>,
        /// What differs when both read the same: size or schema; empty otherwise.
        note: &'static str,
        /// The command, from the caller.
        reload: String,
    },
    /// Not ours: never written to, whatever is asked.
    #[error("{place} was not created by Stackmark: {what}; {advice}")]
    Foreign {
        /// The file or database.
        place: String,
        what: String,
        /// What would be right.
        advice: &'static str,
    },
    /// Someone uses it; no one's session is ended.
    #[error("{place} is {how}")]
    InUse {
        /// The file or database.
        place: String,
        /// By whom: `in use by others`.
        how: &'static str,
    },
    /// The file's place cannot be written to: folder missing, no permission, read-only.
    #[error("could not create {place}: {hint}")]
    Place {
        place: String,
        /// What would be right.
        hint: String,
        /// The system's message.
        source: Cause,
    },
    /// Too little room, found before anything was written.
    #[error("about {} MB are needed for {place}, and {} MB are free", needed / 1_000_000, free / 1_000_000)]
    NoRoom {
        place: String,
        /// Bytes needed, estimated from the first rows of each table.
        needed: u64,
        /// Bytes free to us.
        free: u64,
    },
    /// Room ran out. What had been written is removed.
    #[error("no space was left for {place}{}", after(*written))]
    Full {
        /// The file, or the database on the server that has no space.
        place: String,
        /// Rows that a load had handed over so far; 0 for a copy.
        written: u64,
    },
    /// The user stopped. What was written is left, and is recognised.
    #[error("stopped; {place} is left incomplete\nhint: reload with `{reload}`")]
    Stopped {
        place: String,
        /// The command, from the caller.
        reload: String,
    },
    /// What was read back is not what was written: a fault of the disk, of the engine or of ours. What was written is
    /// removed.
    #[error("table {table} reads back as {read}, written were {written}")]
    Mismatch {
        table: String,
        /// Rows and checksum written.
        written: String,
        /// Rows and checksum read back.
        read: String,
    },
    #[error("there is no {0}")]
    Missing(String),
    /// There is one already.
    #[error("there is a database {0} already")]
    Exists(String),
    /// Source and copy are of different engines, on different servers or the same.
    #[error("{from} cannot be copied to {to}: both must be databases of one server, or files")]
    Apart { from: String, to: String },
    /// Anything else. What a load had written is removed, if the engine still answers.
    #[error("could not {doing} {place}")]
    Failed {
        /// A verb: `write`.
        doing: &'static str,
        /// The file or database.
        place: String,
        source: Cause,
    },
}

impl Error {
    /// Whether the server has said that nothing was made: it is there already, or we may not.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Failed { source, .. } if matches!(source.kind, CauseKind::Exists | CauseKind::Denied))
    }
}

fn after(written: u64) -> String {
    match written {
        0 => String::new(),
        rows => format!(" after {rows} rows; what was written is removed"),
    }
}
