//! The witness: reads what is stored through plain connections of its own, whatever adapter wrote it.

use super::inspect::open_to_read;
use crate::{AuditGroup, AuditRows, Audited};
use measure::Monotonic;
use model::{Clock, Nanos};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags};
use sql::{SqliteUrl, Value};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Why nothing could be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// Somebody is writing: what several connections read would not belong together.
    #[error("{} is being written to; audits need it at rest", .0.display())]
    InUse(PathBuf),
    /// Anything else that SQLite says.
    #[error("could not read {}", file.display())]
    Failed {
        /// The database.
        file: PathBuf,
        /// What was said.
        source: rusqlite::Error,
    },
}

/// Audits a database.
#[derive(Debug)]
pub struct Witness {
    url: SqliteUrl,
    conn: Connection,
}

/// Bytes of page cache of each connection of an audit.
const CACHE_KIB: u32 = 32 << 10;
/// Bytes of the database that an audit reads through a memory map: as much as SQLite allows by default.
const MMAP_BYTES: u32 = 0x7fff_0000;

impl Witness {
    /// Opens a database to look at it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(url: &SqliteUrl) -> Result<Witness, AuditError> {
        let conn = open_to_read(url).map_err(|error| refused(url, error))?;
        conn.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))
            .map_err(|error| refused(url, error))?;
        Ok(Witness { url: url.clone(), conn })
    }

    /// All rows of one query.
    ///
    /// # Errors
    /// For whatever SQLite says.
    pub fn rows(&self, sql: &str, params: &[i64]) -> Result<Vec<Vec<Value>>, AuditError> {
        rows(&self.conn, sql, params, usize::MAX).map_err(|error| refused(&self.url, error))
    }

    /// Runs every group on up to `threads` read-only connections, and gives up at `deadline` (a span from now) or when
    /// `stop` is set: running statements are interrupted, and what is missing says so in its rows.
    ///
    /// The write lock is held meanwhile, so that all connections see one state; where we may not write to the file, its
    /// users are trusted to leave it alone.
    ///
    /// # Errors
    /// When the lock cannot be had, or no connection can be opened.
    pub fn audit_all(
        &self,
        groups: &[AuditGroup],
        threads: usize,
        deadline: Nanos,
        stop: &AtomicBool,
    ) -> Result<Audited, AuditError> {
        let guard = self.hold_still()?;
        let clock = Monotonic::start();
        let connections: Vec<Connection> = (0..threads.clamp(1, groups.len().max(1)))
            .map(|_| self.reader())
            .collect::<rusqlite::Result<_>>()
            .map_err(|error| refused(&self.url, error))?;
        let handles: Vec<InterruptHandle> =
            connections.iter().map(Connection::get_interrupt_handle).collect();
        let results: Mutex<Vec<(usize, Vec<AuditRows>)>> = Mutex::default();
        let (next, gave_up) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (ending, ended) = crossbeam_channel::bounded::<()>(0);
            for conn in connections {
                let ending = ending.clone();
                let (results, next, gave_up, clock) = (&results, &next, &gave_up, &clock);
                scope.spawn(move || {
                    while let Some((number, group)) = pick(groups, next) {
                        let found = audit(&conn, group, clock, gave_up);
                        results.lock().expect("no holder panics").push((number, found));
                    }
                    drop(ending);
                });
            }
            drop(ending);
            // Nothing is ever sent: the channel closes when the last thread ends.
            while ended.recv_timeout(Duration::from_millis(20))
                == Err(crossbeam_channel::RecvTimeoutError::Timeout)
            {
                if stop.load(Ordering::Relaxed) || clock.now() > deadline {
                    gave_up.store(true, Ordering::Relaxed);
                    handles.iter().for_each(InterruptHandle::interrupt);
                }
            }
        });
        drop(guard);
        let mut results = results.into_inner().expect("no holder panics");
        results.sort_by_key(|(number, _)| *number);
        let rows = results.into_iter().flat_map(|(_, found)| found).collect();
        Ok(Audited { rows, took: clock.now() })
    }

    /// Takes the write lock without writing. `None` where we may not write.
    fn hold_still(&self) -> Result<Option<Connection>, AuditError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let hold = || -> rusqlite::Result<Connection> {
            let conn = Connection::open_with_flags(&self.url.path, flags)?;
            conn.busy_timeout(Duration::from_millis(u64::from(self.url.busy_ms)))?;
            conn.execute_batch("begin immediate")?;
            Ok(conn)
        };
        match hold() {
            Ok(conn) => Ok(Some(conn)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => Ok(None),
            Err(error) => Err(refused(&self.url, error)),
        }
    }

    fn reader(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.url.path, flags)?;
        conn.busy_timeout(Duration::from_millis(u64::from(self.url.busy_ms)))?;
        // Through a memory map: SQLite's own page cache has one lock for the whole process as it is compiled here.
        conn.execute_batch(&format!("pragma cache_size=-{CACHE_KIB}; pragma mmap_size={MMAP_BYTES}"))?;
        Ok(conn)
    }
}

fn refused(url: &SqliteUrl, error: rusqlite::Error) -> AuditError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => AuditError::InUse(url.path.clone()),
        _ => AuditError::Failed { file: url.path.clone(), source: error },
    }
}

/// What SQLite said, without the statement that it repeats.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) => {
            msg.clone()
        }
        error => error.to_string(),
    }
}

fn pick<'a>(groups: &'a [AuditGroup], next: &AtomicUsize) -> Option<(usize, &'a AuditGroup)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    groups.get(number).map(|group| (number, group))
}

fn audit(conn: &Connection, group: &AuditGroup, clock: &Monotonic, gave_up: &AtomicBool) -> Vec<AuditRows> {
    let mut since = clock.now();
    let clause = |error: &rusqlite::Error| match gave_up.load(Ordering::Relaxed) {
        true => "not finished in time, or stopped".to_owned(),
        false => said(error),
    };
    let mut prepared = Ok(());
    for statement in &group.prepare {
        if prepared.is_ok() {
            prepared = rows(conn, statement, &group.params, 0).map(|_| ()).map_err(|error| clause(&error));
        }
    }
    let mut found = Vec::with_capacity(group.queries.len());
    for query in &group.queries {
        let rows = match &prepared {
            Ok(()) if gave_up.load(Ordering::Relaxed) => Err("not finished in time, or stopped".to_owned()),
            Ok(()) => rows(conn, &query.sql, &group.params, query.rows_max).map_err(|error| clause(&error)),
            Err(clause) => Err(clause.clone()),
        };
        let now = clock.now();
        found.push(AuditRows { name: query.name.clone(), rows, took: now - since });
        since = now;
    }
    found
}

/// The first `rows_max` rows of a statement.
fn rows(conn: &Connection, sql: &str, params: &[i64], rows_max: usize) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut statement = conn.prepare(sql)?;
    for (place, value) in (1..=statement.parameter_count()).zip(params) {
        statement.raw_bind_parameter(place, value)?;
    }
    let columns = statement.column_count();
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if found.len() == rows_max {
            break;
        }
        found.push(
            (0..columns).map(|column| row.get_ref(column).map(owned)).collect::<rusqlite::Result<_>>()?,
        );
    }
    Ok(found)
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Text(format!("{} bytes", bytes.len())),
    }
}
