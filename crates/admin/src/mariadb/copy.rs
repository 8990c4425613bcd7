//! A loaded database copied to another one on the same server. The record is copied last.
//!
//! On a private server, whose data folder is ours, tables are copied as files, and on each node of a private cluster those of that node:
//! what is done to a tablespace is not replicated. Rows on data nodes of Spider are copied there. Elsewhere, also where we could write to a folder of someone's server, they are copied
//! side by side by `insert … select` into empty ones without checks, which InnoDB builds from sorted pages with their indexes.

use super::files::{Folders, side_by_side};
use super::session::{Session, ident};
use super::{Database, cluster, spider};
use crate::engine::{Conn as _, Engine as _};
use crate::error::{Cause, Error};
use crate::server::Claimed;
use crate::{Contents, Found, record};
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
    ours: bool,
) -> Result<(), Cause> {
    let mut tables: Vec<(&str, u64)> =
        contents.tables.iter().map(|table| (table.name.as_str(), table.rows)).collect();
    let names: Vec<&str> = tables.iter().map(|(name, _)| *name).collect();
    claimed.begin(&names)?;
    let session = &mut claimed.session;
    session.batch("set session foreign_key_checks = 0")?;
    let elsewhere = spider::begin_copy(session, &template.database, &to.database, &names)?;
    let mut spread = Vec::new();
    for name in &names {
        let shown = spider::definition(session, &template.database, name)?;
        let linked = spider::like(session, &elsewhere, &template.database, &to.database, name, &shown)?;
        spread.extend(linked.is_some().then_some(*name));
        session.batch(linked.as_deref().unwrap_or(&shown))?;
    }
    tables.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let (spread, whole): (Vec<&str>, Vec<&str>) =
        tables.iter().map(|(name, _)| *name).partition(|name| spread.contains(name));
    if !(ours && spread.is_empty() && copy_files(template, to, &whole)?) {
        let next = AtomicUsize::new(0);
        side_by_side(|| copy_rows(template, to, &whole, &next))?;
    }
    spider::copy_rows(to, &elsewhere, &template.database, &spread)?;
    let names: Vec<String> = names.into_iter().map(ident).collect();
    session.batch(&format!("analyze table {}", names.join(", ")))?;
    record::complete(session, contents)
}

/// Copies tables as files, on each node; false where that cannot be done.
fn copy_files(template: &ServerUrl, to: &ServerUrl, tables: &[&str]) -> Result<bool, Cause> {
    let nodes: Vec<(ServerUrl, ServerUrl)> = template.nodes().into_iter().zip(to.nodes()).collect();
    let mut opened = Vec::new();
    for (template, to) in &nodes {
        // The database and its tables were made on the first node.
        let mut session = if nodes.len() > 1 { cluster::caught_up(to)? } else { Session::open(to, true)? };
        session.batch("set session foreign_key_checks = 0")?;
        let Some(folders) = Folders::open(&mut session, template, to, tables)? else { return Ok(false) };
        opened.push((session, folders, template, to));
    }
    for (session, folders, template, to) in &mut opened {
        folders.copy(session, template, to, tables)?;
    }
    Ok(true)
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
