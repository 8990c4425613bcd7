//! Opening a connection with the settings of a URL, and reading back what is really in force.

use super::fault::code;
use ::sql::{SqliteAnswers, SqliteSettings, SqliteUrl, Storage};
use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use model::OpenError;
use std::fmt::Write as _;
use std::path::Path;

/// Opens an existing database file, puts the URL's settings in force, and reads them back.
pub(super) fn connect(url: &SqliteUrl) -> Result<(SqliteConnection, SqliteSettings), OpenError> {
    if !url.path.is_file() {
        let what = url.path.display().to_string();
        return Err(OpenError::Unreachable { what, why: "there is no such file".into() });
    }
    let fail = |error: diesel::result::Error| refused(url, &error.to_string());
    let mut conn = open(url)?;
    conn.batch_execute(&pragmas(url)).map_err(fail)?;
    let found = read_back(&mut conn, url.storage).map_err(fail)?;
    found.held_to(url)?;
    Ok((conn, found))
}

/// Through the VFS of the URL's storage: SQLite refuses one that it does not know, so what is open is on it.
fn open(url: &SqliteUrl) -> Result<SqliteConnection, OpenError> {
    let through = |vfs: &str| {
        SqliteConnection::establish(&(uri(&url.path) + vfs)).map_err(|error| refused(url, &error.to_string()))
    };
    if !url.storage.is_slow() {
        return through("");
    }
    if !url.storage.shared_memory {
        // A file keeps a write-ahead log as its mode, and then no one without shared memory can open it to change that:
        // it has to be done where the file was made.
        let (busy_ms, journal) = (url.busy_ms, url.journal.name());
        let text = format!("pragma busy_timeout = {busy_ms}; pragma journal_mode = {journal}");
        through("")?.batch_execute(&text).map_err(|error| refused(url, &error.to_string()))?;
    }
    let vfs = slow_storage::register(url.storage).map_err(|error| refused(url, &error.to_string()))?;
    through(&format!("&vfs={vfs}"))
}

/// The file as a URI, whose special characters are percent-encoded. It is not made if it is missing.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            byte => write!(uri, "%{byte:02X}").expect("a text takes everything"),
        }
    }
    uri + "?mode=rw"
}

fn pragmas(url: &SqliteUrl) -> String {
    let (journal, synchronous) = (url.journal.name(), url.synchronous.name());
    let SqliteUrl { mmap, checkpoint, busy_ms, .. } = url;
    // A negative size of the cache is in KiB and not in pages.
    let cache_kib = url.cache / 1024;
    format!(
        "pragma busy_timeout = {busy_ms}; pragma journal_mode = {journal}; pragma synchronous = {synchronous}; \
         pragma cache_size = -{cache_kib}; pragma mmap_size = {mmap}; pragma wal_autocheckpoint = {checkpoint}; \
         pragma temp_store = memory"
    )
}

/// Asks for what is in force.
fn read_back(conn: &mut SqliteConnection, storage: Storage) -> QueryResult<SqliteSettings> {
    Ok(SqliteSettings::of(SqliteAnswers {
        version: word(conn, "select sqlite_version()")?,
        journal: word(conn, "pragma journal_mode")?,
        synchronous: number(conn, "pragma synchronous")?,
        page_size: number(conn, "pragma page_size")?,
        cache_size: number(conn, "pragma cache_size")?,
        mmap_size: number(conn, "pragma mmap_size").ok(),
        wal_autocheckpoint: number(conn, "pragma wal_autocheckpoint")?,
        compile_options: sql::<Text>("pragma compile_options").load(conn)?,
        storage,
    }))
}

fn number(conn: &mut SqliteConnection, text: &str) -> QueryResult<i64> {
    sql::<BigInt>(text).get_result(conn)
}

fn word(conn: &mut SqliteConnection, text: &str) -> QueryResult<String> {
    sql::<Text>(text).get_result(conn)
}

/// A file that others hold locked for longer than the busy timeout may be there for us later; anything else will not.
fn refused(url: &SqliteUrl, said: &str) -> OpenError {
    let (what, why) = (url.path.display().to_string(), said.to_owned());
    match code(said) {
        5 | 6 => OpenError::Unreachable { what, why },
        _ => OpenError::Unusable { what, why },
    }
}
