//! The settings of a database file, read back.

use super::error::Cause;
use super::inspect::{InspectError, open_to_read};
use super::place::beside;
use rusqlite::Connection;
use sql::SqliteUrl;
use std::fs;

/// What is in force for a connection opened with a URL, as SQLite reads it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// SQLite's version.
    pub version: String,
    /// `wal`, `delete`, …: what is stored in the file; the other rollback modes belong to a connection.
    pub journal_mode: String,
    /// Bytes of a page.
    pub page_size: u64,
    /// Pages of the file.
    pub page_count: u64,
    /// Of these, unused.
    pub free_pages: u64,
    /// Bytes of the database file.
    pub file_bytes: u64,
    /// Bytes of its write-ahead log; 0 where there is none.
    pub wal_bytes: u64,
    /// Compile options that a result may depend on, sorted.
    pub compile_options: Vec<String>,
}

impl Settings {
    /// Names and values for a report.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: String| (name.to_owned(), value);
        vec![
            pair("sqlite_version", self.version.clone()),
            pair("journal_mode", self.journal_mode.clone()),
            pair("page_size", self.page_size.to_string()),
            pair("file_bytes", self.file_bytes.to_string()),
            pair("wal_bytes", self.wal_bytes.to_string()),
            pair("compile_options", self.compile_options.join(" ")),
        ]
    }
}

/// The settings of a database.
///
/// # Errors
/// When it cannot be read.
pub fn settings(url: &SqliteUrl) -> Result<Settings, InspectError> {
    read(url).map_err(|source| InspectError { file: url.path.clone(), source })
}

fn read(url: &SqliteUrl) -> Result<Settings, Cause> {
    let conn = open_to_read(url)?;
    Ok(Settings {
        version: rusqlite::version().to_owned(),
        journal_mode: conn.query_row("pragma journal_mode", [], |row| row.get(0))?,
        page_size: count(&conn, "page_size")?,
        page_count: count(&conn, "page_count")?,
        free_pages: count(&conn, "freelist_count")?,
        file_bytes: fs::metadata(&url.path)?.len(),
        wal_bytes: fs::metadata(beside(&url.path, "-wal")).map_or(0, |about| about.len()),
        compile_options: compile_options(&conn)?,
    })
}

fn count(conn: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    let value: i64 = conn.query_row(&format!("pragma {pragma}"), [], |row| row.get(0))?;
    Ok(u64::try_from(value).unwrap_or(0))
}

/// Those that change what an operation costs or survives; the others say which functions exist.
fn compile_options(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    const MATTER: &[&str] = &[
        "ATOMIC",
        "DEFAULT_CACHE_SIZE",
        "DEFAULT_MEMSTATUS",
        "DEFAULT_MMAP_SIZE",
        "DEFAULT_PAGE_SIZE",
        "DEFAULT_SYNCHRONOUS",
        "DEFAULT_WAL_SYNCHRONOUS",
        "DIRECT_OVERFLOW_READ",
        "ENABLE_API_ARMOR",
        "ENABLE_MEMORY_MANAGEMENT",
        "ENABLE_STAT4",
        "MAX_WORKER_THREADS",
        "MUTEX",
        "SECURE_DELETE",
        "SYSTEM_MALLOC",
        "TEMP_STORE",
        "THREADSAFE",
    ];
    let mut options = conn.prepare("pragma compile_options")?;
    let mut found = options
        .query_map([], |row| row.get::<_, String>(0))?
        .filter(|option| {
            option.as_ref().map_or(true, |name| MATTER.iter().any(|want| name.starts_with(want)))
        })
        .collect::<rusqlite::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}
