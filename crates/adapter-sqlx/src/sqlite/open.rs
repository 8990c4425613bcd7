//! Opening a connection with the settings of a URL, and reading back what is really in force.

use crate::{ADAPTER, SqlxSqliteConn};
use model::{Home, OpenError, Stack};
use sql::{Journal, SqlOpener, SqliteAnswers, SqliteSettings, SqliteUrl, Storage, Synchronous};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Error};
use std::time::Duration;
use tokio::sync::Mutex;

/// Opens connections to one SQLite file.
#[derive(Debug)]
pub struct SqlxSqlite {
    url: SqliteUrl,
    statements: Vec<String>,
    settings: SqliteSettings,
    /// Held while a connection is opened: the first one to a file makes its log again and keeps everybody out for a moment,
    /// which under a short busy timeout is a failure to open.
    opening: Mutex<()>,
}

impl SqlxSqlite {
    /// Checks that the file can be opened as the URL says and that the statements fit its schema, and reads back what is in
    /// force. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] when the file is missing, or locked by others for longer than the URL's `busy_ms`;
    /// [`OpenError::Unusable`] when it is not a database, or a setting or a statement does not take.
    pub async fn reach(url: &SqliteUrl, statements: Vec<String>) -> Result<SqlxSqlite, OpenError> {
        let (conn, settings) = connect(url).await?;
        let conn = SqlxSqliteConn::prepare(conn, &statements, url).await?;
        // Dropped, it would be closed some time later on its thread; the last one to a file keeps everybody out meanwhile.
        conn.close().await.map_err(|error| open_error(url, &error))?;
        Ok(SqlxSqlite { url: url.clone(), statements, settings, opening: Mutex::new(()) })
    }
}

impl SqlOpener for SqlxSqlite {
    type Conn = SqlxSqliteConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<SqlxSqliteConn, OpenError> {
        let _alone = self.opening.lock().await;
        let (conn, _) = connect(&self.url).await?;
        SqlxSqliteConn::prepare(conn, &self.statements, &self.url).await
    }

    fn stack(&self) -> Stack {
        let mut stack = Stack { style: "plain".into(), ..self.settings.stack(ADAPTER) };
        let writers = format!("begin immediate, busy timeout {} ms", self.url.busy_ms);
        stack.settings.push(("writers".into(), writers));
        stack
    }
}

/// Opens an existing database file, puts the URL's settings in force, and reads them back.
async fn connect(url: &SqliteUrl) -> Result<(SqliteConnection, SqliteSettings), OpenError> {
    if !url.path.is_file() {
        let what = url.path.display().to_string();
        return Err(OpenError::Unreachable { what, why: "there is no such file".into() });
    }
    let fail = |error: Error| open_error(url, &error);
    let mut conn = open(url).await?;
    let found = read_back(&mut conn, url.storage).await.map_err(fail)?;
    found.held_to(url)?;
    Ok((conn, found))
}

async fn open(url: &SqliteUrl) -> Result<SqliteConnection, OpenError> {
    let fail = |error: Error| open_error(url, &error);
    if !url.storage.is_slow() {
        return options(url).connect().await.map_err(fail);
    }
    if !url.storage.shared_memory {
        // A file keeps a write-ahead log as its mode, and then no one without shared memory can open it to change that:
        // it has to be done where the file was made.
        options(url).connect().await.map_err(fail)?.close().await.map_err(fail)?;
    }
    let vfs = slow_storage::register(url.storage).map_err(|error| OpenError::Unusable {
        what: url.path.display().to_string(),
        why: error.to_string(),
    })?;
    // SQLite refuses a VFS that it does not know, so what is open is on it.
    options(url).vfs(vfs).connect().await.map_err(fail)
}

fn options(url: &SqliteUrl) -> SqliteConnectOptions {
    let kib = url.cache / 1024;
    SqliteConnectOptions::new()
        .filename(&url.path)
        .create_if_missing(false)
        .busy_timeout(Duration::from_millis(u64::from(url.busy_ms)))
        .statement_cache_capacity(crate::STATEMENTS_MAX)
        .journal_mode(match url.journal {
            Journal::Wal => SqliteJournalMode::Wal,
            Journal::Delete => SqliteJournalMode::Delete,
            Journal::Truncate => SqliteJournalMode::Truncate,
            Journal::Persist => SqliteJournalMode::Persist,
            Journal::Memory => SqliteJournalMode::Memory,
            Journal::Off => SqliteJournalMode::Off,
        })
        .synchronous(match url.synchronous {
            Synchronous::Off => SqliteSynchronous::Off,
            Synchronous::Normal => SqliteSynchronous::Normal,
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Extra => SqliteSynchronous::Extra,
        })
        // Negative: in KiB and not in pages.
        .pragma("cache_size", format!("-{kib}"))
        .pragma("mmap_size", url.mmap.to_string())
        .pragma("wal_autocheckpoint", url.checkpoint.to_string())
        .pragma("temp_store", "memory")
        // No one reads a log of statements here, and one would cost time.
        .disable_statement_logging()
}

/// Asks a connection for what is in force.
async fn read_back(conn: &mut SqliteConnection, storage: Storage) -> Result<SqliteSettings, Error> {
    Ok(SqliteSettings::of(SqliteAnswers {
        version: sqlx::query_scalar("select sqlite_version()").fetch_one(&mut *conn).await?,
        journal: sqlx::query_scalar("pragma journal_mode").fetch_one(&mut *conn).await?,
        synchronous: number(conn, "pragma synchronous").await?,
        page_size: number(conn, "pragma page_size").await?,
        cache_size: number(conn, "pragma cache_size").await?,
        mmap_size: number(conn, "pragma mmap_size").await.ok(),
        wal_autocheckpoint: number(conn, "pragma wal_autocheckpoint").await?,
        compile_options: sqlx::query_scalar("pragma compile_options").fetch_all(&mut *conn).await?,
        storage,
    }))
}

async fn number(conn: &mut SqliteConnection, pragma: &'static str) -> Result<i64, Error> {
    sqlx::query_scalar(pragma).fetch_one(conn).await
}

/// A file that others hold locked for longer than the busy timeout may be there for us later; anything else will not.
pub(super) fn open_error(url: &SqliteUrl, error: &Error) -> OpenError {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    let what = url.path.display().to_string();
    match error {
        Error::Database(error) => {
            let code: i32 = error.code().and_then(|code| code.parse().ok()).unwrap_or(1);
            let why = error.message().to_owned();
            match code & 0xff {
                BUSY | LOCKED => OpenError::Unreachable { what, why },
                _ => OpenError::Unusable { what, why },
            }
        }
        error => crate::fault::open_error(what, error),
    }
}
