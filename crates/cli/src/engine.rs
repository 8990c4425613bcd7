//! The control plane of whichever engine a URL belongs to.

use admin::{AuditGroup, Audited, Found, LoadPlan, LoadProgress, Loaded};
use anyhow::{Context, Result, bail};
use model::Nanos;
use sql::{DbUrl, SqliteUrl, Value};
use std::sync::atomic::AtomicBool;

/// The URL of a file.
///
/// # Errors
/// For the URL of a server.
pub(crate) fn sqlite_only(url: &DbUrl) -> Result<&SqliteUrl> {
    match url {
        DbUrl::Sqlite(url) => Ok(url),
        DbUrl::Server(_) => bail!("{} is not a SQLite database", place(url)),
    }
}

/// How messages call a database: a file, or a database at an address.
pub(crate) fn place(url: &DbUrl) -> String {
    match url {
        DbUrl::Sqlite(url) => url.path.display().to_string(),
        DbUrl::Server(url) => format!("database `{}` at {}", url.database, url.place()),
    }
}

/// What lies at an address.
pub(crate) fn inspect(url: &DbUrl) -> Result<Found> {
    match url {
        DbUrl::Sqlite(url) => Ok(admin::sqlite::inspect(url)?),
        DbUrl::Server(_) => bail!("not yet"),
    }
}

/// Loads, whatever the engine.
pub(crate) fn load(
    url: &DbUrl,
    plan: LoadPlan,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded> {
    match url {
        DbUrl::Sqlite(url) => Ok(admin::sqlite::load(url, plan, &mut |at| progress(at), stop)?),
        DbUrl::Server(_) => bail!("not yet"),
    }
}

/// Makes `to` a copy of `from`, on the same server or in the same file system.
pub(crate) fn restore(from: &DbUrl, to: &DbUrl) -> Result<()> {
    match (from, to) {
        (DbUrl::Sqlite(from), DbUrl::Sqlite(to)) => admin::sqlite::restore(from, to)?,
        _ => bail!("not yet"),
    }
    Ok(())
}

/// Removes a database of ours.
pub(crate) fn remove(url: &DbUrl) -> Result<()> {
    match url {
        DbUrl::Sqlite(url) => admin::sqlite::remove(url)?,
        DbUrl::Server(_) => bail!("not yet"),
    }
    Ok(())
}

/// All rows of one query of the witness.
pub(crate) fn rows(url: &DbUrl, query: &str) -> Result<Vec<Vec<Value>>> {
    match url {
        DbUrl::Sqlite(url) => Ok(admin::sqlite::Witness::open(url)?.rows(query, &[])?),
        DbUrl::Server(_) => bail!("not yet"),
    }
}

/// Runs the audits' queries.
pub(crate) fn audit_all(
    url: &DbUrl,
    groups: &[AuditGroup],
    threads: usize,
    deadline: Nanos,
    stop: &AtomicBool,
) -> Result<Audited> {
    match url {
        DbUrl::Sqlite(url) => {
            Ok(admin::sqlite::Witness::open(url)?.audit_all(groups, threads, deadline, stop)?)
        }
        DbUrl::Server(_) => bail!("not yet"),
    }
}
