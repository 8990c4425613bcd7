//! The control plane of whichever engine a URL belongs to.

use admin::{AuditGroup, Audited, Found, LoadPlan, LoadProgress, Loaded, mariadb, postgres, sqlite};
use anyhow::{Result, bail};
use benchmark::Look;
use model::Nanos;
use sql::{ColumnInfo, DbUrl, Dialect, Value};
use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use targets::place;

/// Runs one body for the engine that a URL belongs to: `$url` is then its own kind of URL, and `$module` what `admin` has
/// for it.
macro_rules! of_engine {
    ($db:expr, $url:ident, $module:ident => $body:expr) => {
        match $db {
            DbUrl::Sqlite($url) => {
                use sqlite as $module;
                $body
            }
            DbUrl::Server($url) => match $url.dialect {
                Dialect::MySql => {
                    use mariadb as $module;
                    $body
                }
                Dialect::Postgres | Dialect::Sqlite => {
                    use postgres as $module;
                    $body
                }
            },
        }
    };
}

/// What lies at an address.
pub(crate) fn inspect(url: &DbUrl) -> Result<Found> {
    let look = || -> Result<Found> { of_engine!(url, url, engine => Ok(engine::inspect(url)?)) };
    look().map_err(|error| clearer(url, error))
}

/// An error of the control plane, or why the measured sessions cannot be opened either, if that is so: the adapters know
/// best what a user can do about it.
fn clearer(url: &DbUrl, error: anyhow::Error) -> anyhow::Error {
    let DbUrl::Server(url) = url else { return error };
    targets::why_closed(url).map_or(error, anyhow::Error::from)
}

/// How messages say that nothing is stored at an address.
pub(crate) fn nothing_at(url: &DbUrl) -> String {
    match url {
        DbUrl::Sqlite(_) => format!("there is no database at {}", place(url)),
        DbUrl::Server(_) => format!("there is nothing in {}", place(url)),
    }
}

/// Loads, whatever the engine.
pub(crate) fn load(
    url: &DbUrl,
    plan: LoadPlan,
    progress: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Loaded> {
    let load =
        || -> Result<Loaded> { of_engine!(url, url, engine => Ok(engine::load(url, plan, progress, stop)?)) };
    load().map_err(|error| if stop.load(Ordering::Relaxed) { error } else { clearer(url, error) })
}

/// Makes `to` a copy of `from`, on the same server or in the same file system. On an engine of ours the copy may go through its
/// log: what that leaves unflushed is for the caller to flush.
pub(crate) fn restore(from: &DbUrl, to: &DbUrl, ours: bool) -> Result<()> {
    match (from, to) {
        (DbUrl::Sqlite(from), DbUrl::Sqlite(to)) => sqlite::restore(from, to)?,
        (DbUrl::Server(from), DbUrl::Server(to)) => match from.dialect {
            Dialect::MySql => mariadb::restore(from, to)?,
            Dialect::Postgres | Dialect::Sqlite if ours => postgres::restore_through_log(from, to)?,
            Dialect::Postgres | Dialect::Sqlite => postgres::restore(from, to)?,
        },
        (from, to) => bail!("{} cannot be copied to {}", place(from), place(to)),
    }
    Ok(())
}

/// Makes an empty database for us; a file needs no making.
pub(crate) fn create(url: &DbUrl) -> Result<()> {
    match url {
        DbUrl::Sqlite(_) => {}
        DbUrl::Server(url) => match url.dialect {
            Dialect::MySql => mariadb::create_database(url)?,
            Dialect::Postgres | Dialect::Sqlite => postgres::create_database(url)?,
        },
    }
    Ok(())
}

/// Removes a database that we made.
pub(crate) fn remove(url: &DbUrl) -> Result<()> {
    match url {
        DbUrl::Sqlite(url) => sqlite::remove(url)?,
        DbUrl::Server(url) => match url.dialect {
            Dialect::MySql => mariadb::drop_database(url)?,
            Dialect::Postgres | Dialect::Sqlite => postgres::drop_database(url)?,
        },
    }
    Ok(())
}

/// All rows of one query of the witness.
pub(crate) fn rows(url: &DbUrl, query: &str) -> Result<Vec<Vec<Value>>> {
    of_engine!(url, url, engine => Ok(engine::Witness::open(url)?.rows(query, &[])?))
}

/// Runs the audits' queries.
pub(crate) fn audit_all(
    url: &DbUrl,
    groups: &[AuditGroup],
    threads: usize,
    deadline: Nanos,
    stop: &AtomicBool,
) -> Result<Audited> {
    of_engine!(url, url, engine => {
        Ok(engine::Witness::open(url)?.audit_all(groups, threads, deadline, stop)?)
    })
}

/// Whether foreign keys are declared among the tables of a database.
pub(crate) fn has_references(url: &DbUrl) -> Result<bool> {
    let schema = match url.dialect() {
        Dialect::Sqlite => return Ok(false),
        Dialect::Postgres => "current_schema()",
        Dialect::MySql => "database()",
    };
    let found = rows(
        url,
        &format!(
            "select count(*) from information_schema.table_constraints where constraint_type = 'FOREIGN KEY' and \
             table_schema = {schema}"
        ),
    )?;
    Ok(found.first().and_then(|row| row.first()?.int()).is_some_and(|count| count > 0))
}

/// Bytes of a database on disk, its log and its neighbours aside; nothing where the engine does not tell us.
pub(crate) fn bytes(url: &DbUrl) -> Option<u64> {
    let query = match url {
        DbUrl::Sqlite(url) => return Some(std::fs::metadata(&url.path).ok()?.len()),
        DbUrl::Server(url) if url.dialect == Dialect::MySql => {
            "select cast(sum(file_size) as signed) from information_schema.innodb_sys_tablespaces where \
             substring_index(name, '/', 1) = database()"
        }
        DbUrl::Server(_) => "select pg_database_size(current_database())",
    };
    u64::try_from(rows(url, query).ok()?.first()?.first()?.int()?).ok()
}

/// Asks the engine about itself while a trial runs; SQLite has nobody to ask.
pub(crate) fn probe(url: &DbUrl) -> Option<Box<dyn observe::EngineProbe>> {
    match url {
        DbUrl::Sqlite(_) => None,
        DbUrl::Server(url) => Some(match url.dialect {
            Dialect::MySql => Box::new(mariadb::Probe::new(url.clone())),
            Dialect::Postgres | Dialect::Sqlite => Box::new(postgres::Probe::new(url.clone())),
        }),
    }
}

/// A database that a workload asks.
pub(crate) struct Asked<'a>(pub(crate) &'a DbUrl);

impl Look for Asked<'_> {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    fn rows(&self, query: &str) -> Result<Vec<Vec<Value>>> {
        rows(self.0, query)
    }

    fn columns(&self) -> Result<Vec<ColumnInfo>> {
        let DbUrl::Server(url) = self.0 else { return Ok(Vec::new()) };
        Ok(match url.dialect {
            Dialect::MySql => mariadb::columns(url)?,
            Dialect::Postgres | Dialect::Sqlite => postgres::columns(url)?,
        })
    }
}
