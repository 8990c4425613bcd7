//! Databases made, copied and removed.

use super::connect::{block_on, code, code_of, connect, connect_to_server, ident, text};
use super::error::{Cause, PlaceError, named};
use super::files::{Folders, side_by_side};
use super::inspect::{drop_tables, lock_name, look, release};
use super::record::{self, Record};
use crate::{Contents, Found};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use sql::ServerUrl;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The statement that makes the URL's database if there is none.
pub(crate) fn creation(url: &ServerUrl) -> String {
    let name = ident(&url.database);
    format!("create database if not exists {name} character set utf8mb4 collate utf8mb4_bin")
}

fn failed(doing: &'static str, url: &ServerUrl, source: impl Into<Cause>) -> PlaceError {
    PlaceError::Failed { doing, database: named(url), source: source.into() }
}

fn on_server(url: &ServerUrl, doing: &'static str, statement: &str) -> Result<(), PlaceError> {
    block_on(async {
        let mut conn = connect_to_server(url).await?;
        conn.query_drop(statement).await?;
        conn.disconnect().await
    })
    .map_err(Cause::from)
    .and_then(|result| Ok(result?))
    .map_err(|error| failed(doing, url, error))
}

/// Makes the URL's database; one that is there is left as it is.
///
/// # Errors
/// When the server cannot be reached, or does not let us.
pub fn create_database(url: &ServerUrl) -> Result<(), PlaceError> {
    on_server(url, "create", &creation(url))
}

/// Drops the URL's database with everything in it, ours or not; none there is no error.
///
/// # Errors
/// When the server cannot be reached, or does not let us.
pub fn drop_database(url: &ServerUrl) -> Result<(), PlaceError> {
    on_server(url, "drop", &format!("drop database if exists {}", ident(&url.database)))
}

/// Removes what a load made from the URL's database, also where it was interrupted; other tables and the database stay.
/// Nothing there is no error.
///
/// # Errors
/// When what is there is not ours, when a loader is at work, and for whatever the server says.
pub fn remove(url: &ServerUrl) -> Result<(), PlaceError> {
    let result = block_on(async {
        let mut conn = match connect(url).await {
            Err(error) if code_of(&error) == Some(code::UNKNOWN_DATABASE) => return Ok(()),
            result => result.map_err(|error| failed("remove", url, error))?,
        };
        let cleared = clear(&mut conn, url).await;
        let released = release(conn, url).await.map_err(|error| failed("remove", url, error));
        cleared.and(released)
    });
    result.map_err(|error| failed("remove", url, error))?
}

/// Removes what is ours, or refuses; the loader's lock is ours afterwards.
async fn clear(conn: &mut Conn, url: &ServerUrl) -> Result<(), PlaceError> {
    let said = |error: Error| failed("remove", url, error);
    let asked = format!("select get_lock({}, 0)", text(&lock_name(url)));
    let taken: Option<Option<i64>> = conn.query_first(asked).await.map_err(said)?;
    if taken.flatten() != Some(1) {
        return Err(PlaceError::InUse(named(url)));
    }
    let tables = match record::read(conn).await.map_err(said)? {
        Record::Loading { tables, .. } => tables,
        Record::Complete(contents) => contents.tables.into_iter().map(|table| table.name).collect(),
        Record::None | Record::Strange => match look(conn, url).await.map_err(said)? {
            Found::Foreign { what, .. } => return Err(PlaceError::Foreign { database: named(url), what }),
            Found::Absent | Found::Incomplete { .. } | Found::Complete(_) => return Ok(()),
        },
    };
    drop_tables(conn, &tables).await.map_err(said)
}

/// Copies a loaded database to another one on the same server, which is made if there is none; what was loaded there
/// before is gone. The record is copied last.
///
/// Where the server's data folder is ours, as that of a private one is, tables are copied as files. Elsewhere they are
/// copied side by side by `insert … select` into empty ones without checks, which InnoDB builds from sorted pages with
/// their indexes.
///
/// # Errors
/// When the template is not complete, what is in the way is not ours, or they are not on one server; and for whatever
/// the server says: what was copied until then is an incomplete load.
pub fn restore(template: &ServerUrl, to: &ServerUrl) -> Result<(), PlaceError> {
    let same = template.place() == to.place() && template.user == to.user;
    if !same || template.database == to.database {
        return Err(PlaceError::Apart { from: named(template), to: named(to) });
    }
    create_database(to)?;
    let said = |error: Error| failed("copy to", to, error);
    let result = block_on(async {
        let mut conn = connect(to).await.map_err(said)?;
        let contents = complete_in(template).await?;
        let copied = match clear(&mut conn, to).await {
            Ok(()) => {
                copy(&mut conn, template, to, &contents).await.map_err(|error| failed("copy to", to, error))
            }
            refused => refused,
        };
        copied.and(release(conn, to).await.map_err(said))
    });
    result.map_err(|error| failed("copy to", to, error))?
}

async fn complete_in(template: &ServerUrl) -> Result<Box<Contents>, PlaceError> {
    let said = |error: Error| failed("read", template, error);
    let mut conn = connect(template).await.map_err(said)?;
    let found = look(&mut conn, template).await.map_err(said)?;
    conn.disconnect().await.map_err(said)?;
    match found {
        Found::Complete(contents) => Ok(contents),
        Found::Absent | Found::Incomplete { .. } | Found::Foreign { .. } => {
            Err(PlaceError::Missing(named(template)))
        }
    }
}

async fn copy(
    conn: &mut Conn,
    template: &ServerUrl,
    to: &ServerUrl,
    contents: &Contents,
) -> Result<(), Cause> {
    let mut tables: Vec<(&str, u64)> =
        contents.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    record::begin(conn, &names, measure::unix_seconds()).await?;
    conn.query_drop("set session foreign_key_checks = 0").await?;
    for name in &names {
        let shown = format!("show create table {}.{}", ident(&template.database), ident(name));
        let created: Option<(String, String)> = conn.query_first(shown).await?;
        let (_, statement) =
            created.ok_or_else(|| Cause::Answer(format!("the server does not say how {name} was made")))?;
        conn.query_drop(statement).await?;
    }
    tables.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let largest_first: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    match Folders::open(conn, template, to, &largest_first).await? {
        Some(folders) => folders.copy(conn, template, to, &largest_first).await?,
        None => {
            let next = AtomicUsize::new(0);
            side_by_side(|| block_on(copy_rows(template, to, &largest_first, &next))?)?;
        }
    }
    let names: Vec<String> = names.into_iter().map(ident).collect();
    conn.query_drop(format!("analyze table {}", names.join(", "))).await?;
    Ok(record::complete(conn, contents).await?)
}

async fn copy_rows(
    template: &ServerUrl,
    to: &ServerUrl,
    tables: &[&str],
    next: &AtomicUsize,
) -> Result<(), Cause> {
    let mut conn = connect(to).await?;
    // Read committed: reading the template locks no row of it.
    conn.query_drop("set session transaction isolation level read committed").await?;
    conn.query_drop("set session unique_checks = 0, foreign_key_checks = 0").await?;
    while let Some(table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
        let (from, table) = (ident(&template.database), ident(table));
        conn.query_drop(format!("insert into {table} select * from {from}.{table}")).await?;
    }
    Ok(conn.disconnect().await?)
}
