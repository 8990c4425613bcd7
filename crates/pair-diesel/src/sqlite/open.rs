//! Opening a connection with the settings of a URL, and reading back what is really in force.

use super::fault::code;
use ::sql::{Journal, SqliteUrl, Storage, Synchronous, sqlite_durability};
use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use model::{Durability, OpenError, Stack, Tier};
use std::fmt::Write as _;
use std::path::Path;

/// What a connection says of itself.
#[derive(Debug)]
pub(super) struct Settings {
    version: String,
    pub(super) journal: String,
    synchronous: String,
    page_bytes: i64,
    cache_bytes: i64,
    mmap_bytes: i64,
    checkpoint_pages: i64,
    /// How SQLite was compiled, as far as it changes what an operation costs or survives.
    compile_options: Vec<String>,
    /// What the storage adds to the machine's own.
    storage: Storage,
    durability: Durability,
}

impl Settings {
    /// The stack without what it shares with that of the other engine.
    pub(super) fn stack(&self) -> Stack {
        let number = |name: &str, value: i64| (name.to_owned(), value.to_string());
        let mut settings = vec![
            ("journal_mode".into(), self.journal.clone()),
            ("synchronous".into(), self.synchronous.clone()),
            number("page_bytes", self.page_bytes),
            number("cache_bytes", self.cache_bytes),
            number("mmap_bytes", self.mmap_bytes),
            number("wal_autocheckpoint_pages", self.checkpoint_pages),
            ("compile_options".into(), self.compile_options.join(", ")),
        ];
        if self.storage.is_slow() {
            settings.push(("storage".into(), self.storage.to_string()));
        }
        Stack {
            engine: "sqlite".into(),
            engine_version: self.version.clone(),
            route: "direct".into(),
            isolation: "serializable (one writer; readers on a snapshot)".into(),
            durability: self.durability.clone(),
            settings,
            ..Stack::default()
        }
    }
}

/// Opens an existing database file, puts the URL's settings in force, and reads them back.
pub(super) fn connect(url: &SqliteUrl) -> Result<(SqliteConnection, Settings), OpenError> {
    if !url.path.is_file() {
        let what = url.path.display().to_string();
        return Err(OpenError::Unreachable { what, why: "there is no such file".into() });
    }
    let fail = |error: diesel::result::Error| refused(url, &error.to_string());
    let mut conn = open(url)?;
    conn.batch_execute(&pragmas(url)).map_err(fail)?;
    let found = read_back(&mut conn, url.storage).map_err(fail)?;
    let (journal, synchronous) = (url.journal.name(), url.synchronous.name());
    if found.journal == journal && found.synchronous == synchronous {
        return Ok((conn, found));
    }
    let (journal_now, synchronous_now) = (&found.journal, &found.synchronous);
    let why = format!(
        "asked for journal={journal} and synchronous={synchronous}, in force are journal={journal_now} and \
         synchronous={synchronous_now}; another process may have the file open"
    );
    Err(OpenError::Unusable { what: url.path.display().to_string(), why })
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
        // A file keeps a write-ahead log as its mode, and then nobody without shared memory can open it to change that:
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
fn read_back(conn: &mut SqliteConnection, storage: Storage) -> QueryResult<Settings> {
    let journal = word(conn, "pragma journal_mode")?;
    let synchronous = Synchronous::numbered(number(conn, "pragma synchronous")?);
    let page_bytes = number(conn, "pragma page_size")?;
    let cache = number(conn, "pragma cache_size")?;
    let mut durability = match (Journal::named(&journal), synchronous) {
        (Some(journal), Some(synchronous)) => sqlite_durability(journal, synchronous),
        _ => Durability { tier: Tier::Volatile, detail: "settings that this version does not know".into() },
    };
    if storage.is_slow() {
        durability.detail += &format!("; on simulated storage ({storage})");
    }
    Ok(Settings {
        storage,
        version: word(conn, "select sqlite_version()")?,
        synchronous: synchronous.map_or("unknown", Synchronous::name).into(),
        page_bytes,
        cache_bytes: if cache < 0 { -cache * 1024 } else { cache * page_bytes },
        // Not answered at all where memory maps are compiled out.
        mmap_bytes: number(conn, "pragma mmap_size").unwrap_or(0),
        checkpoint_pages: number(conn, "pragma wal_autocheckpoint")?,
        compile_options: compile_options(conn)?,
        journal,
        durability,
    })
}

fn number(conn: &mut SqliteConnection, text: &str) -> QueryResult<i64> {
    sql::<BigInt>(text).get_result(conn)
}

fn word(conn: &mut SqliteConnection, text: &str) -> QueryResult<String> {
    sql::<Text>(text).get_result(conn)
}

/// Those that change what an operation costs or survives, as the adapter of rusqlite shows them.
fn compile_options(conn: &mut SqliteConnection) -> QueryResult<Vec<String>> {
    const MATTER: [&str; 10] = [
        "DEFAULT_LOOKASIDE",
        "DEFAULT_MEMSTATUS",
        "DIRECT_OVERFLOW_READ",
        "ENABLE_API_ARMOR",
        "ENABLE_MEMORY_MANAGEMENT",
        "ENABLE_STAT4",
        "MUTEX",
        "SECURE_DELETE",
        "TEMP_STORE",
        "THREADSAFE",
    ];
    let mut found: Vec<String> = sql::<Text>("pragma compile_options").load(conn)?;
    found.retain(|option| MATTER.iter().any(|name| option.starts_with(name)));
    found.sort();
    Ok(found)
}

/// A file that others hold locked for longer than the busy timeout may be there for us later; anything else will not.
fn refused(url: &SqliteUrl, said: &str) -> OpenError {
    let (what, why) = (url.path.display().to_string(), said.to_owned());
    match code(said) {
        5 | 6 => OpenError::Unreachable { what, why },
        _ => OpenError::Unusable { what, why },
    }
}
