//! Databases as a whole: made, copied, removed.

use super::error::Cause;
use super::inspect::look;
use super::record;
use super::session::{Session, quoted};
use crate::Found;
use sql::ServerUrl;
use tokio_postgres::error::SqlState;

/// Why a database could not be made, copied or removed.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing there.
    #[error("there is no database {0}")]
    Missing(String),
    /// There is one already.
    #[error("there is a database {0} already")]
    Exists(String),
    /// Others are connected to it; nobody's session is ended.
    #[error("{0} is in use by others")]
    InUse(String),
    /// It holds tables that are not ours.
    #[error("{database} is not ours: {what}; name another database, or remove it yourself")]
    Foreign {
        /// The database: its URL without a password.
        database: String,
        /// What it is.
        what: String,
    },
    /// The server has no space left.
    #[error("the server has no space left for {0}")]
    Full(String),
    /// Anything else that the server says.
    #[error("could not {doing} {database}")]
    Failed {
        /// A verb: `copy`.
        doing: &'static str,
        /// The database.
        database: String,
        /// What was said.
        source: Cause,
    },
}

/// Databases that every server has: one of them is connected to while another is made or removed.
const MAINTENANCE: [&str; 2] = ["postgres", "template1"];
/// The first server that can copy a database page by page through its log as well as file by file.
const WAL_LOG_SINCE: i64 = 150_000;

fn failed(doing: &'static str, url: &ServerUrl, source: Cause) -> PlaceError {
    let database = url.to_string();
    match &source {
        Cause::NoDatabase(_) => return PlaceError::Missing(database),
        Cause::Engine(error) => match error.code() {
            Some(code) if *code == SqlState::INVALID_CATALOG_NAME => return PlaceError::Missing(database),
            Some(code) if *code == SqlState::DUPLICATE_DATABASE => return PlaceError::Exists(database),
            _ => {}
        },
        Cause::System(_) | Cause::Open(_) | Cause::Form(_) => {}
    }
    if source.is_full() {
        PlaceError::Full(database)
    } else if source.is_in_use() {
        PlaceError::InUse(database)
    } else {
        PlaceError::Failed { doing, database, source }
    }
}

/// A session beside the database that is worked on.
fn beside(url: &ServerUrl) -> Result<Session, Cause> {
    let mut last = None;
    for database in MAINTENANCE.into_iter().filter(|name| *name != url.database) {
        match Session::open_database(url, database) {
            Err(Cause::NoDatabase(name)) => last = Some(Cause::NoDatabase(name)),
            result => return result,
        }
    }
    Err(last.unwrap_or_else(|| Cause::Form("there is no database to connect to beside it".into())))
}

/// Makes the URL's database, empty.
///
/// # Errors
/// [`PlaceError::Exists`], and for whatever the server says: above all that the user may not.
pub fn create_database(url: &ServerUrl) -> Result<(), PlaceError> {
    let make = || beside(url)?.batch(&format!("create database {}", quoted(&url.database)));
    make().map_err(|source| failed("create", url, source))
}

/// Removes the URL's database, whatever it holds. None there is no error.
///
/// # Errors
/// [`PlaceError::InUse`] when others are connected to it, and for whatever the server says.
pub fn drop_database(url: &ServerUrl) -> Result<(), PlaceError> {
    let remove = || beside(url)?.batch(&format!("drop database if exists {}", quoted(&url.database)));
    remove().map_err(|source| failed("remove", url, source))
}

/// Copies a database over another on the same server, file by file where the server can. What was at `to` before is gone,
/// if it was ours or held no tables; anything else is refused. Nobody's session is ended.
///
/// # Errors
/// When the template is missing, when others are connected to either, when `to` holds tables that are not ours, when space
/// runs out, and for whatever the server says.
pub fn restore(template: &ServerUrl, to: &ServerUrl) -> Result<(), PlaceError> {
    copy(template, to, &|session| {
        Ok(if session.version_num() < WAL_LOG_SINCE { "" } else { " strategy file_copy" })
    })
}

/// The same through the server's log, where it can and that leaves the log room. File by file takes a checkpoint, and after that
/// the log of each page's first change holds the whole page: whoever works on such a copy works in the state right after a
/// checkpoint for half a minute and more. What went through the log is on disk, but the files are not flushed.
///
/// # Errors
/// As [`restore`].
pub fn restore_through_log(template: &ServerUrl, to: &ServerUrl) -> Result<(), PlaceError> {
    copy(template, to, &|session| logged(session, &template.database))
}

fn copy(
    template: &ServerUrl,
    to: &ServerUrl,
    strategy: &dyn Fn(&Session) -> Result<&'static str, Cause>,
) -> Result<(), PlaceError> {
    ensure_ours(to)?;
    drop_database(to)?;
    let make = || {
        let session = beside(template)?;
        let how = strategy(&session)?;
        let (name, from) = (quoted(&to.database), quoted(&template.database));
        session.batch(&format!("create database {name} template {from}{how}"))
    };
    make().map_err(|source| failed("copy", template, source))
}

/// How to copy through the log. The server asks for a checkpoint when the log since the last one is about half of `max_wal_size`:
/// a third of that may be the copy's.
fn logged(session: &Session, template: &str) -> Result<&'static str, Cause> {
    if session.version_num() < WAL_LOG_SINCE {
        return Ok("");
    }
    let text = "select 6 * pg_database_size($1::text) <= pg_size_bytes(current_setting('max_wal_size'))";
    let fits: bool = session.wait(session.client().query_one(text, &[&template]))?.get(0);
    Ok(if fits { " strategy wal_log" } else { " strategy file_copy" })
}

fn ensure_ours(url: &ServerUrl) -> Result<(), PlaceError> {
    let found = Session::open(url).and_then(|session| look(&session, url));
    match found {
        Err(Cause::NoDatabase(_)) => Ok(()),
        Err(source) => Err(failed("read", url, source)),
        Ok((Found::Foreign { what, .. }, _)) => Err(PlaceError::Foreign { database: url.to_string(), what }),
        Ok((Found::Incomplete { running: true, .. }, _)) => Err(PlaceError::InUse(url.to_string())),
        Ok((Found::Absent | Found::Incomplete { .. } | Found::Complete(_), _)) => Ok(()),
    }
}

/// Removes what a load of ours has made, also an interrupted one, and leaves the database. Nothing there is no error.
///
/// # Errors
/// [`PlaceError::Missing`] without a database, [`PlaceError::InUse`] when somebody uses the tables, and for whatever the
/// server says.
pub fn remove(url: &ServerUrl) -> Result<(), PlaceError> {
    let remove = || {
        let session = Session::open(url)?;
        match record::read(&session)? {
            Some(recorded) => record::remove(&session, &recorded),
            None => Ok(()),
        }
    };
    remove().map_err(|source| failed("remove", url, source))
}
