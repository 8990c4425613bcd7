//! What tables another kit has made.

use super::error::{Cause, InspectError};
use super::session::Session;
use sql::{ColumnInfo, ServerUrl};

/// The columns of all tables that unqualified names mean, by table and place.
///
/// # Errors
/// When the database cannot be read: nobody answers, we are not let in, there is no such database.
pub fn columns(url: &ServerUrl) -> Result<Vec<ColumnInfo>, InspectError> {
    read(url).map_err(|source| InspectError { database: url.to_string(), source })
}

fn read(url: &ServerUrl) -> Result<Vec<ColumnInfo>, Cause> {
    let session = Session::open(url)?;
    let text = "select relname::text, attname::text, format_type(atttypid, atttypmod), attnotnull
          and not atthasdef and attidentity = ''
        from pg_class
        join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
        where relkind in ('r', 'p', 'f', 'v') and pg_table_is_visible(pg_class.oid)
          and relnamespace not in (select oid from pg_namespace
            where nspname like 'pg\\_%' or nspname = 'information_schema')
        order by relname, attnum";
    let rows = session.wait(session.client().query(text, &[]))?;
    Ok(rows
        .iter()
        .map(|row| ColumnInfo {
            table: row.get(0),
            column: row.get(1),
            kind: row.get(2),
            must_be_given: row.get(3),
        })
        .collect())
}
