//! What lies at an address, without changing it.

use super::error::Cause;
use super::place::loading;
use super::record;
use crate::Found;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use sql::SqliteUrl;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
#[error("could not read {}", file.display())]
pub struct InspectError {
    /// The file.
    pub file: PathBuf,
    /// What was said.
    pub source: Cause,
}

/// Says what lies at an address, and changes nothing.
///
/// # Errors
/// When the file cannot be read: no permission, a folder, locked for longer than the URL's `busy_ms`.
pub fn inspect(url: &SqliteUrl) -> Result<Found, InspectError> {
    look(url).map_err(|source| InspectError { file: url.path.clone(), source })
}

fn look(url: &SqliteUrl) -> Result<Found, Cause> {
    let file = &url.path;
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(unfinished(file)?),
        Err(error) => return Err(error.into()),
        Ok(about) if about.is_dir() => {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder").into());
        }
        Ok(about) if about.len() == 0 => return Ok(unfinished(file)?),
        // SQLite takes what is shorter than its smallest page for an empty database, and would write over it.
        Ok(about) if about.len() < 512 => return Ok(no_database()),
        Ok(_) => {}
    }
    // The file's header is left to SQLite: closing a file of our own would drop every lock that SQLite holds on it in
    // this process.
    match read(url) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => Ok(no_database()),
        result => Ok(result?),
    }
}

fn no_database() -> Found {
    Found::Foreign { what: "a file that is no SQLite database".into(), tables: Vec::new() }
}

/// Opens a database for reading. Not with SQLite's read-only flag: such a connection cannot clear away the files of a
/// write-ahead log when it closes, and would leave them lying about.
pub(crate) fn open_to_read(url: &SqliteUrl) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&url.path, flags)?;
    conn.busy_timeout(Duration::from_millis(u64::from(url.busy_ms)))?;
    conn.execute_batch("pragma query_only=on")?;
    Ok(conn)
}

fn read(url: &SqliteUrl) -> rusqlite::Result<Found> {
    let conn = open_to_read(url)?;
    if let Some(contents) = record::read(&conn)? {
        return Ok(Found::Complete(Box::new(contents)));
    }
    let mut names = conn.prepare(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name",
    )?;
    let tables = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let what = match tables.as_slice() {
        [] => "a SQLite database without tables".into(),
        few if few.len() <= 12 => {
            format!(
                "a SQLite database with the tables {} and no record of a load by this kit",
                few.join(", ")
            )
        }
        many => format!("a SQLite database with {} tables and no record of a load by this kit", many.len()),
    };
    Ok(Found::Foreign { what, tables })
}

fn unfinished(file: &Path) -> io::Result<Found> {
    let file = loading(file);
    let about = match fs::metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        result => result?,
    };
    let since = about.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let running = is_locked(&file);
    Ok(Found::Incomplete { what: file.display().to_string(), since, running })
}

/// Whether a loader holds its lock. A file that cannot be opened is taken for abandoned.
pub(crate) fn is_locked(file: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    File::open(file).is_ok_and(|file| {
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}
