//! The files around a database, and how one is put in the place of another.

use super::error::Cause;
use super::inspect::is_locked;
use rusqlite::{Connection, OpenFlags};
use sql::SqliteUrl;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be copied, removed or put in its place.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing there.
    #[error("there is no database at {}", .0.display())]
    Missing(PathBuf),
    /// Another process has it open and is writing, or keeps its log from being folded in.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// No space is left.
    #[error("no space is left for {}", .0.display())]
    Full(PathBuf),
    /// Anything else that the system or SQLite says.
    #[error("could not {doing} {}", file.display())]
    Failed {
        /// A verb: `copy`.
        doing: &'static str,
        /// The file.
        file: PathBuf,
        /// What was said.
        source: Cause,
    },
}

/// `FILE` with something behind its name.
pub(crate) fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    PathBuf::from(name)
}

/// Where a load is written until it is whole.
pub(crate) fn loading(file: &Path) -> PathBuf {
    beside(file, ".loading")
}

/// The folder that holds a file.
pub(crate) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Flushes the folder's entries, so that a rename survives a power failure.
pub(crate) fn flush_folder(file: &Path) -> io::Result<()> {
    File::open(folder(file))?.sync_all()
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Removes a database with its log, its index of the log and its journal: the database first, because an old log beside
/// another database would be taken for that one's.
pub(crate) fn remove_database(file: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        remove_if_there(&beside(file, suffix))?;
    }
    Ok(())
}

/// Puts a whole, flushed database in the place of `file`.
pub(crate) fn put_in_place(whole: &Path, file: &Path) -> io::Result<()> {
    remove_database(file)?;
    fs::rename(whole, file)?;
    flush_folder(file)
}

fn failed(doing: &'static str, file: &Path, source: impl Into<Cause>) -> PlaceError {
    let source = source.into();
    let file = file.to_owned();
    if source.is_full() {
        PlaceError::Full(file)
    } else if source.is_busy() {
        PlaceError::InUse(file)
    } else {
        PlaceError::Failed { doing, file, source }
    }
}

/// Folds the write-ahead log into the database file and empties it, so that the file alone is the whole database.
///
/// # Errors
/// When another process reads or writes the database, and for whatever the system says.
pub fn checkpoint(url: &SqliteUrl) -> Result<(), PlaceError> {
    let file = &url.path;
    if !file.exists() {
        return Err(PlaceError::Missing(file.clone()));
    }
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(file, flags)?;
        conn.busy_timeout(std::time::Duration::from_millis(u64::from(url.busy_ms)))?;
        conn.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get::<_, i64>(0))
    };
    match open() {
        Ok(0) => Ok(()),
        Ok(_) => Err(PlaceError::InUse(file.clone())),
        Err(error) => Err(failed("checkpoint", file, error)),
    }
}

/// Copies a database over another, sharing blocks where the file system can, and flushes the copy. What was there
/// before is gone. The source is checkpointed first. This process must have neither of them open: closing the source
/// after copying would drop the locks that SQLite holds on it.
///
/// # Errors
/// When the source is missing or in use, when space runs out, and for whatever the system says. Nothing but a file with
/// the ending `.loading` is left behind by a failed copy, and it is removed by the next one.
pub fn restore(from: &SqliteUrl, to: &SqliteUrl) -> Result<(), PlaceError> {
    checkpoint(from)?;
    let copy = loading(&to.path);
    if is_locked(&copy) {
        return Err(PlaceError::InUse(copy));
    }
    let made = remove_database(&copy)
        // Where the file system can, this shares blocks: what it calls (on Linux `copy_file_range`, on macOS `clonefile`)
        // asks for that first.
        .and_then(|()| fs::copy(&from.path, &copy))
        .and_then(|_| File::open(&copy)?.sync_all())
        .and_then(|()| put_in_place(&copy, &to.path));
    made.map_err(|error| {
        // The first failure is the one to report; what cannot be removed now is removed by the next copy or load.
        let _ = remove_database(&copy);
        failed("copy to", &to.path, error)
    })
}

/// Removes a database and everything beside it, also what an interrupted load left. Nothing there is no error.
///
/// # Errors
/// For whatever the system says.
pub fn remove(url: &SqliteUrl) -> Result<(), PlaceError> {
    remove_database(&loading(&url.path))
        .and_then(|()| remove_database(&url.path))
        .map_err(|error| failed("remove", &url.path, error))
}
