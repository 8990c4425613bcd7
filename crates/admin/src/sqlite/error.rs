//! Why a load did not happen, by what the user does next.

use crate::LoadRecord;
use std::path::PathBuf;

/// What the system or the engine said.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The system.
    #[error(transparent)]
    System(#[from] std::io::Error),
    /// SQLite.
    #[error(transparent)]
    Engine(#[from] rusqlite::Error),
}

impl Cause {
    /// No space is left, for the file or for the user.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Cause::System(error) => {
                matches!(
                    error.kind(),
                    std::io::ErrorKind::StorageFull
                        | std::io::ErrorKind::QuotaExceeded
                        | std::io::ErrorKind::FileTooLarge
                )
            }
            Cause::Engine(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Cause::System(_) => false,
            Cause::Engine(error) => matches!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
            ),
        }
    }
}

/// Why a load did not happen. In no case has `FILE` itself been touched, except where its replacement had been asked for.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An earlier load did not finish.
    #[error("{} holds a load that was interrupted; start it anew with `{start_anew}`", file.display())]
    Interrupted {
        /// `FILE.loading`.
        file: PathBuf,
        /// The command, from the caller.
        start_anew: String,
    },
    /// Another process is loading there now.
    #[error("another process is loading into {} now", .0.display())]
    Running(PathBuf),
    /// The file was loaded with something else.
    #[error("{} holds {there}; asked for is {asked}{note}; replace it with `{start_anew}`", file.display())]
    Other {
        /// The database.
        file: PathBuf,
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
    #[error("{} is not ours: {what}; name another file, or remove it yourself", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// What it is.
        what: String,
    },
    /// Somebody has the database open that should be replaced.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// The file's place cannot be written to: folder missing, no permission, read-only.
    #[error("could not create {}: {hint}", file.display())]
    Place {
        /// The file.
        file: PathBuf,
        /// What would be right.
        hint: String,
        /// What the system said.
        source: Cause,
    },
    /// Too little room, found before anything was written.
    #[error("about {} MB are needed for {}, and {} MB are free", needed / 1_000_000, file.display(), free / 1_000_000)]
    NoRoom {
        /// The file.
        file: PathBuf,
        /// Bytes needed, estimated from the first rows of each table.
        needed: u64,
        /// Bytes free to us.
        free: u64,
    },
    /// Room ran out while loading. What had been written is removed.
    #[error("no space was left for {} after {written} rows; what was written is removed", file.display())]
    Full {
        /// The file.
        file: PathBuf,
        /// Rows handed to SQLite so far.
        written: u64,
    },
    /// The user gave up. `FILE.loading` is left, and is recognised.
    #[error("stopped; {} is left incomplete; start anew with `{start_anew}`", file.display())]
    Stopped {
        /// `FILE.loading`.
        file: PathBuf,
        /// The command, from the caller.
        start_anew: String,
    },
    /// What was read back is not what was written: a fault of the disk, of SQLite or of ours. What was written is
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
    /// Anything else. What had been written is removed.
    #[error("could not {doing} {}", file.display())]
    Failed {
        /// A verb: `write`.
        doing: &'static str,
        /// The file.
        file: PathBuf,
        /// What was said.
        source: Cause,
    },
}
