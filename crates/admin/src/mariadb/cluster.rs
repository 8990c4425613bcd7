//! Several nodes of one address: whether they are of one Galera cluster, and have the same rows.

use super::session::{Session, ident};
use crate::engine::Conn as _;
use crate::error::Cause;
use mysql_async::prelude::Queryable;
use sql::ServerUrl;
use std::collections::BTreeMap;

/// The cluster that a node is of: a name and a value, which is empty of one that is of none. MySQL has no such row.
const CLUSTER: &str = "show global status like 'wsrep_cluster_state_uuid'";
/// Tables with rows.
const TABLES: &str = "select table_name from information_schema.tables \
                      where table_schema = database() and table_type in ('BASE TABLE', 'SYSTEM VERSIONED') order by table_name";

/// Reaches each node, and fails where one address has nodes that are not of one cluster.
pub(super) fn ensure_one(url: &ServerUrl) -> Result<(), Cause> {
    if url.others.is_empty() {
        return Session::open(url, true).map(drop);
    }
    let mut first = None;
    for node in url.nodes() {
        // The database may be on the way to it.
        let mut session = Session::open(&node, false)?;
        let cluster: Option<(String, String)> = session.wait(async |conn| conn.query_first(CLUSTER).await)?;
        let cluster = cluster.map_or_else(String::new, |(_, cluster)| cluster);
        let is_other = first.as_ref().is_some_and(|(_, known)| *known != cluster);
        if cluster.is_empty() || is_other {
            let why = match &first {
                Some((known, _)) if is_other => format!("it is not in the Galera cluster of {known}"),
                _ => "it is in no Galera cluster".to_owned(),
            };
            let place = node.place();
            return Err(Cause::other(format!(
                "{place}: {why}\nhint: list several hosts in one address only for nodes of the same cluster"
            )));
        }
        first.get_or_insert((node.place(), cluster));
    }
    Ok(())
}

/// The tables of which some node has other rows than the first, each with where; nothing where there is one node.
pub(super) fn differing(url: &ServerUrl) -> Result<Option<Vec<String>>, Cause> {
    if url.others.is_empty() {
        return Ok(None);
    }
    let nodes = url.nodes();
    let expected = checksums(&nodes[0])?;
    let mut found = Vec::new();
    for node in &nodes[1..] {
        let stored = checksums(node)?;
        let names = expected.keys().chain(stored.keys().filter(|name| !expected.contains_key(*name)));
        let other = names.filter(|name| expected.get(*name) != stored.get(*name));
        found.extend(other.map(|name| format!("{name} at {}", node.place())));
    }
    Ok(Some(found))
}

/// A connection to the database on a node of a cluster, which first applies what the others have committed: also the database itself may
/// have been made on another.
pub(super) fn caught_up(node: &ServerUrl) -> Result<Session, Cause> {
    let mut session = Session::open(node, false)?;
    session.batch("set session wsrep_sync_wait = 15")?;
    // It is the question that waits.
    session.batch("select 1")?;
    session.batch(&format!("use {}", ident(&node.database)))?;
    Ok(session)
}

/// A checksum of each table, once the node has applied what the others have committed.
fn checksums(node: &ServerUrl) -> Result<BTreeMap<String, Option<u64>>, Cause> {
    let mut session = caught_up(node)?;
    let tables: Vec<String> = session.wait(async |conn| conn.query(TABLES).await)?;
    if tables.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names: Vec<String> = tables.iter().map(|table| ident(table)).collect();
    let asked = format!("checksum table {} extended", names.join(", "));
    let rows: Vec<(String, Option<u64>)> = session.wait(async |conn| conn.query(asked).await)?;
    if let Some((name, _)) = rows.iter().find(|(_, sum)| sum.is_none()) {
        return Err(Cause::other(format!("{} has no checksum of {name}", node.place())));
    }
    // Each is named with its database.
    Ok(rows
        .into_iter()
        .map(|(name, sum)| (name.split('.').next_back().unwrap_or_default().to_owned(), sum))
        .collect())
}
