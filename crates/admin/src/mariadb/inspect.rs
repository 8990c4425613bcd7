//! What lies in a database, without changing it.

use super::connect::{block_on, code, code_of, connect, ident, text};
use super::error::{Cause, named};
use super::record::{self, Record};
use crate::Found;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use sql::{ColumnInfo, ServerUrl};

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
#[error("could not read {database}")]
pub struct InspectError {
    /// Where: `tpcc on 127.0.0.1:3306`.
    pub database: String,
    /// What was said.
    pub source: Cause,
}

/// Says what lies in a database, and changes nothing. A database that does not exist is [`Found::Absent`].
///
/// # Errors
/// When the server cannot be reached, does not let us in, or does not let us read.
pub fn inspect(url: &ServerUrl) -> Result<Found, InspectError> {
    on_connection(url, async || {
        let mut conn = match connect(url).await {
            Err(error) if code_of(&error) == Some(code::UNKNOWN_DATABASE) => return Ok(Found::Absent),
            result => result?,
        };
        let found = look(&mut conn, url).await?;
        conn.disconnect().await?;
        Ok(found)
    })
}

/// Tables, columns and types of a database, whoever made it, in the order of their tables' names.
///
/// # Errors
/// As for [`inspect`].
pub fn columns(url: &ServerUrl) -> Result<Vec<ColumnInfo>, InspectError> {
    on_connection(url, async || {
        let mut conn = connect(url).await?;
        let asked = "select table_name, column_name, column_type, is_nullable = 'NO' and column_default is null \
                       and extra not like '%auto_increment%' and extra not like '%generated%' \
                     from information_schema.columns \
                     where table_schema = database() order by table_name, ordinal_position";
        let rows: Vec<(String, String, String, bool)> = conn.query(asked).await?;
        conn.disconnect().await?;
        let column = |(table, column, kind, must_be_given)| ColumnInfo { table, column, kind, must_be_given };
        Ok(rows.into_iter().map(column).collect())
    })
}

fn on_connection<T>(url: &ServerUrl, ask: impl AsyncFnOnce() -> Result<T, Error>) -> Result<T, InspectError> {
    let answer = block_on(ask()).map_err(Cause::from).and_then(|answer| Ok(answer?));
    answer.map_err(|source| InspectError { database: named(url), source })
}

/// The lock that a loader holds; at most 64 characters, whatever the database is called. Locks are one name space for
/// the whole server.
pub(crate) fn lock_name(url: &ServerUrl) -> String {
    format!("stackmark_load_{:016x}", xxhash_rust::xxh3::xxh3_64(url.database.as_bytes()))
}

/// Lets go of the loader's lock, and only then of the connection: a server takes its time to see that one has ended.
pub(crate) async fn release(mut conn: Conn, url: &ServerUrl) -> Result<(), Error> {
    let asked = format!("do release_lock({})", text(&lock_name(url)));
    if conn.query_drop(asked.as_str()).await.is_err() {
        // Again, because what was to kill an earlier statement may have hit this one.
        conn.query_drop(asked.as_str()).await?;
    }
    conn.disconnect().await
}

/// What is there, seen through an open connection.
pub(crate) async fn look(conn: &mut Conn, url: &ServerUrl) -> Result<Found, Error> {
    match record::read(conn).await? {
        Record::Complete(contents) => return Ok(Found::Complete(contents)),
        Record::Loading { since, .. } => {
            let asked = format!("select is_used_lock({})", text(&lock_name(url)));
            let holder: Option<Option<u64>> = conn.query_first(asked).await?;
            let what = format!("{} in {}", record::TABLE, named(url));
            return Ok(Found::Incomplete { what, since, running: holder.flatten().is_some() });
        }
        Record::None | Record::Strange => {}
    }
    let tables = tables(conn).await?;
    let what = match tables.as_slice() {
        [] => return Ok(Found::Absent),
        few if few.len() <= 12 => {
            format!("a database with the tables {} and no record of a load by this kit", few.join(", "))
        }
        many => format!("a database with {} tables and no record of a load by this kit", many.len()),
    };
    Ok(Found::Foreign { what, tables })
}

/// Names of all tables and views.
pub(crate) async fn tables(conn: &mut Conn) -> Result<Vec<String>, Error> {
    conn.query(
        "select table_name from information_schema.tables where table_schema = database() order by table_name",
    )
    .await
}

/// Drops tables that are ours, if they are there, and the record last: as long as it stands, they can be told from
/// others.
pub(crate) async fn drop_tables(conn: &mut Conn, tables: &[String]) -> Result<(), Error> {
    conn.query_drop("set session foreign_key_checks = 0").await?;
    for table in tables.iter().map(String::as_str).chain([record::TABLE]) {
        conn.query_drop(format!("drop table if exists {}", ident(table))).await?;
    }
    conn.query_drop("set session foreign_key_checks = 1").await
}
