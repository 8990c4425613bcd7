//! A loaded database copied to another one on the same server. The record is copied last.
//!
//! Where the server's data folder is ours, as that of a private one is, tables are copied as files. Elsewhere they are copied
//! side by side by `insert … select` into empty ones without checks, which InnoDB builds from sorted pages with their indexes.

use super::Database;
use super::files::{Folders, side_by_side};
use super::session::{Session, ident};
use crate::engine::{Conn as _, Engine as _};
use crate::error::{Cause, Error};
use crate::server::Claimed;
use crate::{Contents, Found, record};
use mysql_async::prelude::Queryable;
use sql::ServerUrl;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a template holds, which must be whole.
pub(crate) fn complete_in(template: &Database) -> Result<Box<Contents>, Error> {
    match template.look().map_err(|source| template.failed("read", source))? {
        Found::Complete(contents) => Ok(contents),
        Found::Absent | Found::Incomplete { .. } | Found::Foreign { .. } => {
            Err(Error::Missing(format!("complete load in {}", template.place())))
        }
    }
}

/// Copies over what was loaded at `to` before. What was copied when this fails is an incomplete load.
pub(crate) fn copy(
    claimed: &mut Claimed<'_, Database>,
    template: &ServerUrl,
    to: &ServerUrl,
    contents: &Contents,
) -> Result<(), Cause> {
    let mut tables: Vec<(&str, u64)> =
        contents.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    claimed.begin(&names)?;
    let session = &mut claimed.session;
    session.batch("set session foreign_key_checks = 0")?;
    for name in &names {
        let shown = format!("show create table {}.{}", ident(&template.database), ident(name));
        let created: Option<(String, String)> = session.wait(async |conn| conn.query_first(shown).await)?;
        let (_, statement) = created
            .ok_or_else(|| Cause::other(format!("the server does not show the definition of {name}")))?;
        session.batch(&statement)?;
    }
    tables.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let largest_first: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    match Folders::open(session, template, to, &largest_first)? {
        Some(folders) => folders.copy(session, template, to, &largest_first)?,
        None => {
            let next = AtomicUsize::new(0);
            side_by_side(|| copy_rows(template, to, &largest_first, &next))?;
        }
    }
    let names: Vec<String> = names.into_iter().map(ident).collect();
    session.batch(&format!("analyze table {}", names.join(", ")))?;
    record::complete(session, contents)
}

fn copy_rows(template: &ServerUrl, to: &ServerUrl, tables: &[&str], next: &AtomicUsize) -> Result<(), Cause> {
    let mut session = Session::open(to, true)?;
    // Read committed: reading the template locks no row of it.
    session.batch("set session transaction isolation level read committed")?;
    session.batch("set session unique_checks = 0, foreign_key_checks = 0")?;
    while let Some(table) = tables.get(next.fetch_add(1, Ordering::Relaxed)) {
        let (from, table) = (ident(&template.database), ident(table));
        session.batch(&format!("insert into {table} select * from {from}.{table}"))?;
    }
    Ok(())
}
