//! The files around a database, and how one is put in the place of another.

use super::conn::Session;
use crate::engine::Engine as _;
use crate::error::{Cause, CauseKind, Error};
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

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

/// Removes a database with its log, its index of the log and its journal: the database first, because an old log next to
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

/// Why a file cannot be made or read where it should be, and what would be right.
pub(crate) fn refused(file: &Path, source: Cause) -> Error {
    let place = folder(file).display();
    let CauseKind::System(kind) = source.kind else { return unopened(file, source) };
    let hint = match kind {
        io::ErrorKind::NotFound if folder(file).is_dir() => {
            format!("the folder {place} takes no new files; name another one")
        }
        io::ErrorKind::NotFound => format!("the folder {place} does not exist; create it first"),
        io::ErrorKind::NotADirectory => format!("{place} is not a folder"),
        io::ErrorKind::PermissionDenied => {
            format!("no permission for {place}; name a file in a folder of yours")
        }
        io::ErrorKind::ReadOnlyFilesystem => format!("{place} is on a read-only file system"),
        io::ErrorKind::IsADirectory => "it is a folder; name a file".to_owned(),
        _ => return unopened(file, source),
    };
    Error::Place { place: file.display().to_string(), hint, source }
}

fn unopened(file: &Path, source: Cause) -> Error {
    Error::Failed { doing: "open", place: file.display().to_string(), source }
}

/// See [`checkpoint`](super::checkpoint).
pub(crate) fn checkpoint(file: &super::File) -> Result<(), Error> {
    if !file.0.path.exists() {
        return Err(Error::Missing(format!("database at {}", file.place())));
    }
    let fold = || {
        let conn = file.open(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get::<_, i64>(0))
    };
    match fold() {
        Ok(0) => Ok(()),
        Ok(_) => Err(Error::InUse { place: file.place(), how: file.used() }),
        Err(error) => Err(file.failed("checkpoint", error.into())),
    }
}

/// Copies a database over another, sharing blocks where the file system can, and flushes the copy. The source is
/// checkpointed first. The copy is in the journal mode of its new address, as if it had been loaded there: left to its users, the
/// first of them would have to change it while others open. This process must have neither of them open: closing the source after copying would drop the locks that
/// SQLite holds on it. Nothing but a file with the ending `.loading` is left behind by a failed copy, and it is removed by the
/// next one.
pub(crate) fn copy(from: &super::File, to: &super::File) -> Result<(), Error> {
    checkpoint(from)?;
    to.ensure_replaceable()?;
    let copy = loading(&to.0.path);
    let made = remove_database(&copy)
        // Where the file system can, this shares blocks: what it calls (on Linux `copy_file_range`, on macOS `clonefile`)
        // asks for that first.
        .and_then(|()| fs::copy(&from.0.path, &copy))
        .map_err(Cause::from)
        .and_then(|_| {
            let mut session =
                Session::new(Connection::open_with_flags(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?);
            session.keep_journal(to.0.journal)?;
            session.close()?;
            File::open(&copy)?.sync_all()?;
            Ok(put_in_place(&copy, &to.0.path)?)
        });
    made.map_err(|error| {
        // The first failure is the one to report; what cannot be removed now is removed by the next copy or load.
        let _ = remove_database(&copy);
        to.failed("copy to", error)
    })
}
