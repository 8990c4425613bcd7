//! Opening a connection with the settings of a URL, and reading back what is really in force.

use crate::{Lane, SqliteConn};
use model::{Clock, Home, OpenError, Stack};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use slow_storage::storage_of;
use sql::{Journal, SqlOpener, SqliteAnswers, SqliteSettings, SqliteUrl};
use std::time::Duration;

/// Opens connections to one database file.
#[derive(Debug)]
pub struct SqliteOpener<K> {
    pub(crate) url: SqliteUrl,
    pub(crate) statements: Vec<String>,
    pub(crate) lane: Lane,
    pub(crate) clock: K,
    pub(crate) settings: SqliteSettings,
}

impl<K: Clock> SqliteOpener<K> {
    /// Checks that the file can be opened as the URL says. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// When the file is missing or no database, or a setting does not take.
    pub fn new(url: &SqliteUrl, statements: Vec<String>, clock: K) -> Result<SqliteOpener<K>, OpenError> {
        let connection = connect(url)?;
        let settings = read_back(&connection).map_err(|error| refused(url, &error))?;
        let lane = Lane::new(!has_log(&settings));
        Ok(SqliteOpener { url: url.clone(), statements, lane, clock, settings })
    }
}

impl<K: Clock> SqlOpener for SqliteOpener<K> {
    type Conn = SqliteConn<K>;
    const HOME: Home = Home::Thread;

    async fn open(&self) -> Result<SqliteConn<K>, OpenError> {
        self.lane.exclusive(|| {
            let connection = connect(&self.url)?;
            SqliteConn::prepare(connection, &self.statements, self.lane.clone(), self.clock.clone())
                .map_err(|error| refused(&self.url, &error))
        })
    }

    fn stack(&self) -> Stack {
        self.settings.stack(ADAPTER)
    }
}

/// Whether readers go on next to the writer.
pub(crate) fn has_log(settings: &SqliteSettings) -> bool {
    settings.journal == Journal::Wal.name()
}

/// The adapter's name and version. rusqlite does not say its version at run time; a test holds it to the manifest.
pub(crate) const ADAPTER: (&str, &str) = ("rusqlite", "0.39.0");

/// A file that others hold locked for longer than the busy timeout may be there for us later; anything else will not.
pub(crate) fn refused(url: &SqliteUrl, error: &rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            OpenError::Unreachable { what: url.path.display().to_string(), why: error.to_string() }
        }
        _ => unusable(url, &error.to_string()),
    }
}

fn unusable(url: &SqliteUrl, why: &str) -> OpenError {
    OpenError::Unusable { what: url.path.display().to_string(), why: why.to_owned() }
}

/// Opens an existing database file and puts the URL's settings in force.
///
/// # Errors
/// [`OpenError::Unreachable`] when the file is missing, or locked by others for longer than the URL's `busy_ms`;
/// [`OpenError::Unusable`] when it is not a database, or a setting does not take.
pub fn connect(url: &SqliteUrl) -> Result<Connection, OpenError> {
    if !url.path.is_file() {
        let what = url.path.display().to_string();
        return Err(OpenError::Unreachable { what, why: "there is no such file".into() });
    }
    let fail = |error: rusqlite::Error| refused(url, &error);
    let connection = open(url)?;
    connection.busy_timeout(Duration::from_millis(u64::from(url.busy_ms))).map_err(fail)?;
    apply(&connection, url).map_err(fail)?;
    read_back(&connection).map_err(fail)?.held_to(url)?;
    Ok(connection)
}

fn open(url: &SqliteUrl) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fail = |error: rusqlite::Error| refused(url, &error);
    if !url.storage.is_slow() {
        return Connection::open_with_flags(&url.path, flags).map_err(fail);
    }
    if !url.storage.shared_memory {
        // A file keeps a write-ahead log as its mode, and then no one without shared memory can open it to change that:
        // it has to be done where the file was made.
        let plain = Connection::open_with_flags(&url.path, flags).map_err(fail)?;
        plain.busy_timeout(Duration::from_millis(u64::from(url.busy_ms))).map_err(fail)?;
        plain.pragma_update(None, "journal_mode", url.journal.name()).map_err(fail)?;
    }
    let vfs = slow_storage::register(url.storage).map_err(|error| unusable(url, &error.to_string()))?;
    Connection::open_with_flags_and_vfs(&url.path, flags, vfs).map_err(fail)
}

fn apply(connection: &Connection, url: &SqliteUrl) -> rusqlite::Result<()> {
    let kib = i64::try_from(url.cache / 1024).unwrap_or(i64::MAX);
    connection.pragma_update(None, "journal_mode", url.journal.name())?;
    connection.pragma_update(None, "synchronous", url.synchronous.name())?;
    // Negative: in KiB and not in pages.
    connection.pragma_update(None, "cache_size", -kib)?;
    connection.pragma_update(None, "mmap_size", i64::try_from(url.mmap).unwrap_or(i64::MAX))?;
    connection.pragma_update(None, "wal_autocheckpoint", url.checkpoint)?;
    connection.pragma_update(None, "temp_store", "memory")
}

/// Asks a connection for what is in force.
///
/// # Errors
/// Whatever SQLite says, for a file that is not a database among others.
pub fn read_back(connection: &Connection) -> rusqlite::Result<SqliteSettings> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let mut statement = connection.prepare("pragma compile_options")?;
    let options = statement.query_map([], |row| row.get::<_, String>(0))?;
    Ok(SqliteSettings::of(SqliteAnswers {
        version: connection.query_row("select sqlite_version()", [], |row| row.get(0))?,
        journal: connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?,
        synchronous: number("synchronous")?,
        page_size: number("page_size")?,
        cache_size: number("cache_size")?,
        mmap_size: number("mmap_size").ok(),
        wal_autocheckpoint: number("wal_autocheckpoint")?,
        compile_options: options.collect::<rusqlite::Result<_>>()?,
        storage: storage_of(connection),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Tier;

    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("rusqlite = {{ version = \"={}\"", ADAPTER.1)));
    }

    fn check(options: &str, expected: Result<Tier, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        Connection::open(&path).unwrap().execute_batch("create table t (x)").unwrap();
        let url: SqliteUrl = format!("sqlite:{}{options}", path.display()).parse().unwrap();
        match (connect(&url).map(|connection| read_back(&connection).unwrap().durability.tier), expected) {
            (Ok(tier), Ok(expected)) => assert_eq!(tier, expected, "{options}"),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, expected) => panic!("{options}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn settings_take_and_are_read_back() {
        check("", Ok(Tier::Durable));
        check("?journal=delete&synchronous=extra", Ok(Tier::Durable));
        check("?journal=truncate&synchronous=full&cache=2MiB", Ok(Tier::Durable));
        check("?synchronous=normal", Ok(Tier::Delayed));
        check("?journal=off&synchronous=off", Ok(Tier::Volatile));
        check("?sync_delay=1ms&lock_delay=50us&read_delay=50us", Ok(Tier::Durable));
        check("?journal=truncate&shared_memory=off", Ok(Tier::Durable));
    }

    #[test]
    fn simulated_storage_is_said_wherever_durability_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        // As it comes from a load, with a write-ahead log.
        Connection::open(&path)
            .unwrap()
            .execute_batch("pragma journal_mode=wal; create table t (x)")
            .unwrap();
        let text = format!("sqlite:{}?journal=truncate&sync_delay=1ms&shared_memory=off", path.display());
        let url: SqliteUrl = text.parse().unwrap();
        let stack = SqliteOpener::new(&url, Vec::new(), measure::Monotonic::start()).unwrap().stack();
        let storage = "sync +1 ms, no shared memory";
        assert!(stack.settings.contains(&("storage".into(), storage.into())), "{stack:?}");
        assert!(stack.durability.detail.contains("simulated storage (sync +1 ms"), "{stack:?}");
        // What was not parsed is refused by what is in force.
        let url = SqliteUrl { journal: Journal::Wal, ..url };
        let error = connect(&url).unwrap_err().to_string();
        assert!(error.contains("unable to open") || error.contains("in force"), "{error}");
    }

    /// `.cargo/config.toml` says how; a result must show that it took.
    #[test]
    fn sqlite_is_compiled_as_the_repository_says() {
        let options = read_back(&Connection::open_in_memory().unwrap()).unwrap().compile_options;
        for wanted in ["DEFAULT_LOOKASIDE=1200,256", "DEFAULT_MEMSTATUS=0"] {
            assert!(options.iter().any(|option| option == wanted), "{wanted}: {options:?}");
        }
    }

    #[test]
    fn what_is_no_database_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let url = SqliteUrl::file(&path);
        assert!(matches!(connect(&url), Err(OpenError::Unreachable { .. })));
        std::fs::write(&path, "this is a text of more than a few bytes, and no database at all").unwrap();
        let error = connect(&url).unwrap_err().to_string();
        assert!(error.contains("not a database"), "{error}");
    }

    #[test]
    fn a_file_that_is_locked_now_may_be_reached_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let other = Connection::open(&path).unwrap();
        other.execute_batch("create table t (x); begin exclusive").unwrap();
        let url: SqliteUrl = format!("sqlite:{}?journal=truncate&busy_ms=0", path.display()).parse().unwrap();
        assert!(matches!(connect(&url), Err(OpenError::Unreachable { .. })));
        other.execute_batch("commit").unwrap();
        assert!(connect(&url).is_ok());
    }

    /// The first connection to a file that has a log makes that again, and keeps the others out for a moment: more than one
    /// round in fifty failed when nothing put them in order.
    #[test]
    fn sessions_that_open_at_once_keep_no_one_out() {
        let folder = tempfile::tempdir().unwrap();
        for journal in ["wal", "truncate"] {
            let path = folder.path().join(format!("{journal}.db"));
            Connection::open(&path).unwrap().execute_batch("create table t (x)").unwrap();
            let url: SqliteUrl =
                format!("sqlite:{}?journal={journal}&busy_ms=0", path.display()).parse().unwrap();
            for round in 0..100 {
                let opener = SqliteOpener::new(&url, Vec::new(), measure::Monotonic::start()).unwrap();
                let start = std::sync::Barrier::new(8);
                let open = || {
                    start.wait();
                    crate::at_once(opener.open())
                };
                // The last one that closes keeps everybody out too: all stay open until all are.
                let opened: Vec<_> = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                for session in opened {
                    session.unwrap_or_else(|error| panic!("{journal}, round {round}: {error}"));
                }
            }
        }
    }
}
