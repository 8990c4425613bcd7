//! SQLite: one file, written by one process at a time.
//!
//! Loads happen in `FILE.loading`, without journal and without flushing each step, since one that is cut short is started
//! again and never repaired. The file gets its record, is flushed, and takes the address by a rename: nothing that is not whole
//! ever stands there.
//!
//! In reading order: `place` (the files around a database), `claim` (the right to load), `conn` (a connection, and what it
//! does for loads and audits), and `writer` (rows stored, from the form of `batch`).

pub(crate) mod batch;
mod claim;
mod conn;
mod place;
mod writer;

use crate::engine::{Auditors, Claim, Conn, Engine, Queries};
use crate::error::{Cause, CauseKind, Error};
use crate::record::{self, Recorded};
use crate::{AuditGroup, Found, LoadPlan};
use conn::Session;
use model::Nanos;
use observe::EngineProbe;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use sql::{DbUrl, SqliteUrl, Value};
use std::fs::{self, File as OpenFile, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// A database in a file, which may not be there yet.
pub(crate) struct File(pub(crate) SqliteUrl);

/// Bytes of page cache of each connection of an audit.
const CACHE_KIB: u32 = 32 << 10;
/// Bytes of the database that an audit reads through a memory map: as much as SQLite allows by default.
const MMAP_BYTES: u32 = 0x7fff_0000;
/// Makes the table of the record.
const RECORD: &str =
    "create table stackmark_load (name text primary key, value text not null) strict, without rowid";

static QUERIES: Queries = Queries {
    tables: "select name from sqlite_schema \
             where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name",
    columns: "select t.name, c.name, c.type, c.\"notnull\" and c.dflt_value is null \
              from sqlite_schema t, pragma_table_info(t.name) c \
              where t.type = 'table' and t.name not like 'sqlite\\_%' escape '\\' order by t.name, c.cid",
    // Whatever is declared, sessions do not check it.
    references: "select 0",
    bytes: "select page_count * page_size from pragma_page_count(), pragma_page_size()",
    sessions: "select '', 0, 0 where false",
    // The other journals are chosen by each connection.
    settings: "select 'journal_mode', journal_mode from pragma_journal_mode() where journal_mode = 'wal' \
               union all select 'write-ahead log', case journal_mode when 'wal' then 'on' else 'off' end from pragma_journal_mode() \
               union all select 'page_bytes', cast(page_size as text) from pragma_page_size()",
    // A file is what its connections make of it.
    kept: "select '', '', '', '' where false",
    statement_max: "select 0 where false",
};

impl Engine for File {
    fn place(&self) -> String {
        self.0.path.display().to_string()
    }

    fn unfinished(&self) -> String {
        place::loading(&self.0.path).display().to_string()
    }

    fn nothing(&self) -> String {
        format!("there is no database at {}", self.0.path.display())
    }

    fn advice(&self) -> &'static str {
        "name another file, or remove it yourself"
    }

    fn used(&self) -> &'static str {
        "in use by another process"
    }

    fn queries(&self) -> &'static Queries {
        &QUERIES
    }

    fn look(&self) -> Result<Found, Cause> {
        match look(&self.0)? {
            Found::Absent => Ok(unfinished(&self.0.path)?),
            found => Ok(found),
        }
    }

    fn create(&self) -> Result<(), Error> {
        Ok(())
    }

    fn remove(&self) -> Result<(), Error> {
        place::remove_database(&place::loading(&self.0.path))
            .and_then(|()| place::remove_database(&self.0.path))
            .map_err(|error| self.failed("remove", error.into()))
    }

    fn clear(&self) -> Result<(), Error> {
        self.ensure_replaceable()?;
        self.remove()
    }

    fn copy_to(&self, to: &DbUrl, _: bool) -> Result<(), Error> {
        match to {
            DbUrl::Sqlite(to) if to.path != self.0.path => place::copy(self, &File(to.clone())),
            to => Err(Error::Apart { from: self.place(), to: to.to_string() }),
        }
    }

    fn reader(&self) -> Result<Box<dyn Conn>, Cause> {
        Ok(Box::new(Session::new(open_to_read(&self.0)?)))
    }

    fn auditors(&self, _: &[AuditGroup], threads: usize, _: Nanos) -> Result<Auditors, Cause> {
        let guard = self.hold_still()?;
        let reader = |_| -> Result<Box<dyn Conn>, Cause> {
            let conn = self.open(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            // Through a memory map: SQLite's own page cache has one lock for the whole process as it is compiled here.
            conn.execute_batch(&format!("pragma cache_size=-{CACHE_KIB}; pragma mmap_size={MMAP_BYTES}"))?;
            Ok(Box::new(Session::new(conn)))
        };
        Ok(Auditors { conns: (0..threads).map(reader).collect::<Result<_, _>>()?, guard })
    }

    fn unread(&self, source: Cause) -> Error {
        match source.kind {
            // What several connections read would not belong together.
            CauseKind::InUse => {
                Error::InUse { place: self.place(), how: "being written to; audits need it at rest" }
            }
            _ => Error::Failed { doing: "read", place: self.place(), source },
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(fs::metadata(&self.0.path).ok()?.len())
    }

    fn probe(&self) -> Option<Box<dyn EngineProbe>> {
        None
    }

    fn claim<'a>(&'a self, load: &LoadPlan) -> Result<(Box<dyn Claim + 'a>, Found), Error> {
        claim::take(self, load)
    }

    /// One connection stores what several threads make.
    fn connections(&self, threads: usize) -> (usize, usize) {
        (1, threads)
    }

    fn shares(&self) -> [f64; 4] {
        [0.62, 0.13, 0.24, 0.01]
    }

    fn unusable(&self, source: Cause) -> Error {
        place::refused(&self.0.path, source)
    }
}

impl File {
    fn open(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let conn = Connection::open_with_flags(&self.0.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        conn.busy_timeout(Duration::from_millis(u64::from(self.0.busy_ms)))?;
        Ok(conn)
    }

    /// Fails where what stands there is not ours or is used, or where someone loads next to it.
    fn ensure_replaceable(&self) -> Result<(), Error> {
        self.ensure_ours()?;
        if is_locked(&place::loading(&self.0.path)) {
            return Err(Error::InUse { place: self.unfinished(), how: self.used() });
        }
        claim::ensure_unused(self).map_err(|cause| self.failed("replace", cause))
    }

    /// Takes the write lock without writing. `None` where we may not write: then the file's users are trusted to leave it alone.
    fn hold_still(&self) -> Result<Option<Box<dyn Conn>>, Cause> {
        let hold = || -> rusqlite::Result<Connection> {
            let conn = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            conn.execute_batch("begin immediate")?;
            Ok(conn)
        };
        match hold() {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => Ok(None),
            conn => Ok(Some(Box::new(Session::new(conn?)))),
        }
    }
}

/// What stands at an address, whatever is being loaded next to it.
fn look(url: &SqliteUrl) -> Result<Found, Cause> {
    let foreign = |what: &str| Found::Foreign { what: what.into(), tables: Vec::new() };
    let no_database = || foreign("a file that is not a SQLite database");
    match fs::metadata(&url.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        Err(error) => return Err(error.into()),
        Ok(about) if about.is_dir() => {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder").into());
        }
        Ok(about) if about.len() == 0 => return Ok(Found::Absent),
        // SQLite takes what is shorter than its smallest page for an empty database, and would write over it.
        Ok(about) if about.len() < 512 => return Ok(no_database()),
        Ok(_) => {}
    }
    // The file's header is left to SQLite: closing a file of our own would drop every lock that SQLite holds on it in
    // this process.
    let mut session = match open_to_read(url) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => return Ok(no_database()),
        conn => Session::new(conn?),
    };
    let tables = session.rows(QUERIES.tables, &[], usize::MAX)?;
    let tables: Vec<String> = tables.iter().filter_map(|row| row.first()).map(Value::to_string).collect();
    Ok(match record::read(&mut session, &tables)? {
        Some(Recorded::Complete(contents)) => Found::Complete(contents),
        // Our own loads under way are in another file.
        Some(Recorded::Loading { .. }) | None if tables.is_empty() => {
            foreign("a SQLite database without tables")
        }
        Some(Recorded::Loading { .. }) | None => Found::unrecorded("a SQLite database", tables),
    })
}

fn unfinished(file: &Path) -> io::Result<Found> {
    let file = place::loading(file);
    let about = match fs::metadata(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
        result => result?,
    };
    let since = about.modified()?.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let running = is_locked(&file);
    Ok(Found::Incomplete { what: file.display().to_string(), since, running })
}

/// Whether a loader holds its lock. A file that cannot be opened is taken for abandoned.
fn is_locked(file: &Path) -> bool {
    OpenFile::open(file).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Opens a database for reading. Not with SQLite's read-only flag: such a connection cannot clear away the files of a
/// write-ahead log when it closes, and would leave them lying about.
fn open_to_read(url: &SqliteUrl) -> rusqlite::Result<Connection> {
    let conn = File(url.clone()).open(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch("pragma query_only=on")?;
    conn.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

/// Folds the write-ahead log into the database file and empties it, so that the file alone is the whole database.
///
/// # Errors
/// When another process reads or writes the database, and for whatever the system says.
pub fn checkpoint(url: &SqliteUrl) -> Result<(), Error> {
    place::checkpoint(&File(url.clone()))
}

/// What SQLite said, without the statement that it repeats.
impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Cause {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => CauseKind::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => CauseKind::InUse,
            Some(ErrorCode::OperationInterrupted) => CauseKind::CutShort,
            _ => CauseKind::Other,
        };
        match error {
            rusqlite::Error::SqlInputError { msg, .. } if msg.starts_with("no such column") => {
                Cause::new(CauseKind::NoColumn, msg)
            }
            rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) => {
                Cause::new(kind, msg)
            }
            error => Cause::new(kind, error.to_string()),
        }
    }
}
