//! Spider: a MariaDB whose tables have their rows on other servers, its data nodes. Loads spread tables over those that are named
//! `stackmark_…` among the servers of the head (`create server`). Definitions are per node, so the head executes each there, too.
//!
//! What a load makes on data nodes is ours by a mark: a table there has the text that the record of the load on the head has. Whatever the
//! head calls a server later, nothing is dropped on one without the mark.

use super::session::{Session, ident, text};
use crate::engine::{Conn as _, Making};
use crate::error::{Cause, CauseKind};
use crate::record::TABLE;
use model::rows::Table;
use mysql_async::prelude::Queryable;
use serde::{Deserialize, Serialize};
use sql::ServerUrl;

/// Whether the server has the engine.
const LOADED: &str = "select count(*) from information_schema.engines where engine = 'SPIDER' and support in ('YES', 'DEFAULT')";
/// The data nodes, in the order of their names.
const SERVERS: &str = "select server_name from mysql.servers \
    where wrapper = 'mysql' and server_name like 'stackmark\\\\_%' order by server_name";
/// In the record: [`Spread`] as JSON.
const NOTE: &str = "spider";
/// The table with the mark in a database on a data node.
const MARK: &str = "stackmark_mark";
/// A temporary table for answers of data nodes.
const ANSWERS: &str = "stackmark_answer";
/// The database that each data node has.
const ANYWHERE: &str = "information_schema";
/// What a data node must have as the head has it: results show the head's.
const FLUSHING: &str = "concat_ws(', ', @@innodb_flush_log_at_trx_commit, @@innodb_flush_log_at_timeout, @@innodb_doublewrite, \
    @@innodb_flush_method, @@log_bin, @@sync_binlog)";

/// Where rows of a database are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Spread {
    /// The data nodes, as the head names them.
    servers: Vec<String>,
    mark: String,
}

impl Spread {
    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }
}

/// What a load finds out of the data nodes of a server.
pub(super) enum Head {
    /// It has none.
    No,
    /// It has the engine, and does not show us its servers.
    Hidden,
    Of(Vec<String>),
}

pub(super) fn head(session: &mut Session) -> Result<Head, Cause> {
    let loaded: Option<i64> = session.wait(async |conn| conn.query_first(LOADED).await)?;
    if loaded != Some(1) {
        return Ok(Head::No);
    }
    match session.wait(async |conn| conn.query::<String, _>(SERVERS).await) {
        Err(cause) if cause.kind == CauseKind::Denied => Ok(Head::Hidden),
        Err(cause) => Err(cause),
        Ok(servers) if servers.is_empty() => Ok(Head::No),
        Ok(servers) => Ok(Head::Of(servers)),
    }
}

/// Where rows of a database are, as a load of ours has noted; nowhere else where there is no such load.
pub(super) fn noted(session: &mut Session, database: &str) -> Result<Spread, Cause> {
    let asked = "select count(*) from information_schema.tables where table_schema = ? and table_name = ?";
    let there: Option<i64> = session.wait(async |conn| conn.exec_first(asked, (database, TABLE)).await)?;
    if there != Some(1) {
        return Ok(Spread::default());
    }
    let asked = format!("select value from {}.{TABLE} where name = '{NOTE}'", ident(database));
    match session.wait(async |conn| conn.query_first::<String, _>(asked).await) {
        // Someone else's table of that name.
        Err(cause) if cause.kind == CauseKind::NoColumn => Ok(Spread::default()),
        Err(cause) => Err(cause),
        Ok(value) => Ok(value.and_then(|value| serde_json::from_str(&value).ok()).unwrap_or_default()),
    }
}

/// What names a data node and a database on it to Spider, which has no quotes within names.
fn way(server: &str, database: &str) -> Result<String, Cause> {
    let is_plain = |name: &str| !name.contains(['"', '\'', '\\', '.', ' ', '`']);
    match is_plain(server) && is_plain(database) {
        true => Ok(format!("srv \"{server}\", database \"{database}\"")),
        false => Err(Cause::other(format!("Spider takes no names such as {server} and {database}"))),
    }
}

/// Executes a statement on a data node; what it answers is put into a table of the head.
fn direct(
    session: &mut Session,
    server: &str,
    database: &str,
    statement: &str,
    answers: &str,
) -> Result<(), Cause> {
    let way = way(server, database)?;
    let asked = format!("select spider_direct_sql({}, {}, {})", text(statement), text(answers), text(&way));
    let failed = |cause: Cause| Cause::new(cause.kind, format!("data node {server}: {cause}"));
    let done: Option<i64> = session.wait(async |conn| conn.query_first(asked).await).map_err(failed)?;
    match done {
        Some(1) => Ok(()),
        _ => Err(Cause::other(format!("data node {server} did not execute: {statement}"))),
    }
}

fn on(session: &mut Session, server: &str, statement: &str) -> Result<(), Cause> {
    direct(session, server, ANYWHERE, statement, "")
}

fn on_each(session: &mut Session, servers: &[String], statement: &str) -> Result<(), Cause> {
    servers.iter().try_for_each(|server| on(session, server, statement))
}

/// The first value that a data node answers with in a database of its own. `near` is one of the head.
fn ask(session: &mut Session, near: &str, server: &str, there: &str, query: &str) -> Result<String, Cause> {
    way(server, near)?;
    let answers = format!("{}.{ANSWERS}", ident(near));
    session.batch(&format!(
        "create or replace temporary table {answers} (answer varchar(512)) engine = memory"
    ))?;
    direct(session, server, there, query, &format!("{near}.{ANSWERS}"))?;
    let answer: Option<String> =
        session.wait(async |conn| conn.query_first(format!("select answer from {answers}")).await)?;
    session.batch(&format!("drop temporary table {answers}"))?;
    answer.ok_or_else(|| Cause::other(format!("data node {server} did not answer: {query}")))
}

/// Whether a data node has tables in a database, of these names or at all but for the mark.
fn has_tables(
    session: &mut Session,
    near: &str,
    server: &str,
    database: &str,
    names: &[&str],
) -> Result<bool, Cause> {
    let quoted: Vec<String> = names.iter().map(|name| text(name)).collect();
    let among = match names {
        [] => format!("table_name <> '{MARK}'"),
        _ => format!("table_name in ({})", quoted.join(", ")),
    };
    let query = format!(
        "select count(*) from information_schema.tables where table_schema = {} and {among}",
        text(database)
    );
    Ok(ask(session, near, server, ANYWHERE, &query)? != "0")
}

/// Fails where a data node does not have the mark of a load. `near` is a database of the head.
fn ensure_marked(session: &mut Session, near: &str, spread: &Spread, database: &str) -> Result<(), Cause> {
    for server in &spread.servers {
        let query = format!("select mark from {MARK}");
        let is_marked = has_tables(session, near, server, database, &[MARK])?
            && ask(session, near, server, database, &query)? == spread.mark;
        if !is_marked {
            return Err(Cause::other(format!(
                "data node {server} does not have the rows of {database}: the load found them on another server of that name\n\
                 hint: `create or replace server {server} …` with the address that it had"
            )));
        }
    }
    Ok(())
}

/// Fails where the data nodes of a head do not flush as the head does, whose settings are shown.
pub(super) fn ensure_alike(session: &mut Session, url: &ServerUrl) -> Result<(), Cause> {
    let Spread { servers, .. } = noted(session, &url.database)?;
    if servers.is_empty() {
        return Ok(());
    }
    let query = format!("select {FLUSHING}");
    let head: Option<String> = session.wait(async |conn| conn.query_first(&query).await)?;
    let head = head.unwrap_or_default();
    for server in &servers {
        let there = ask(session, &url.database, server, ANYWHERE, &query)?;
        if there != head {
            return Err(Cause::other(format!(
                "data node {server} flushes in another way than the head: {there} instead of {head}\nhint: set \
                 innodb_flush_log_at_trx_commit, innodb_flush_log_at_timeout, innodb_doublewrite, innodb_flush_method, log_bin \
                 and sync_binlog alike on all servers"
            )));
        }
    }
    Ok(())
}

/// The sum of what the data nodes of this database answer to a question for bytes.
pub(super) fn bytes(session: &mut Session, query: &str) -> Result<u64, Cause> {
    let database = session.database().to_owned();
    let mut sum = 0;
    for server in noted(session, &database)?.servers {
        let answer = ask(session, &database, &server, &database, query)?;
        sum += answer
            .parse::<u64>()
            .map_err(|_| Cause::other(format!("data node {server} has {answer} bytes")))?;
    }
    Ok(sum)
}

/// Gathers statistics of a table on its data nodes.
pub(super) fn analyze(session: &mut Session, table: &str) -> Result<(), Cause> {
    let database = session.database().to_owned();
    let analyze = format!("analyze table {}.{}", ident(&database), ident(table));
    for server in noted(session, &database)?.servers {
        if has_tables(session, &database, &server, &database, &[table])? {
            on(session, &server, &analyze)?;
        }
    }
    Ok(())
}

/// Makes a database on data nodes that have none of these tables, and marks it as ours.
fn begin(
    session: &mut Session,
    servers: Vec<String>,
    database: &str,
    names: &[&str],
) -> Result<Spread, Cause> {
    let marked: Vec<&str> = names.iter().copied().chain([MARK]).collect();
    for server in &servers {
        // What is there is not ours: it would have been dropped.
        if has_tables(session, database, server, database, &marked)? {
            return Err(Cause::other(format!(
                "database {database} of data node {server} already has tables of these names, which were not loaded through this server"
            )));
        }
    }
    let mark: Option<String> = session.wait(async |conn| conn.query_first("select uuid()").await)?;
    let spread = Spread { servers, mark: mark.unwrap_or_default() };
    session.note(&[(NOTE, &serde_json::to_string(&spread).expect("plain data"))])?;
    let name = ident(database);
    let create = format!("create database if not exists {name} character set utf8mb4 collate utf8mb4_bin");
    on_each(session, &spread.servers, &create)?;
    let make = format!("create table {name}.{MARK} (mark varchar(64) not null primary key) engine = InnoDB");
    on_each(session, &spread.servers, &make)?;
    on_each(session, &spread.servers, &format!("insert into {name}.{MARK} values ({})", text(&spread.mark)))?;
    Ok(spread)
}

/// Spreads empty tables over the data nodes, with their indexes; false where there are none, or nothing to spread.
pub(super) fn spread(session: &mut Session, making: &Making<'_>) -> Result<bool, Cause> {
    let Head::Of(servers) = head(session)? else { return Ok(false) };
    let tables: Vec<(&Table, &str)> =
        making.tables.iter().filter_map(|table| Some((table, table.spread_by?))).collect();
    if tables.is_empty() {
        return Ok(false);
    }
    if let Some(why) = making.not_on_spider {
        return Err(Cause::other(format!(
            "its rows would be on the data nodes of Spider: {why}\nhint: use a server without servers named stackmark_…"
        )));
    }
    if making.references {
        return Err(Cause::other(
            "foreign keys are not enforced across data nodes of Spider\nhint: leave --foreign-keys out",
        ));
    }
    let database = session.database().to_owned();
    let names: Vec<&str> = making.tables.iter().map(|table| table.name).collect();
    let Spread { servers, .. } = begin(session, servers, &database, &names)?;
    making.indexes.iter().try_for_each(|index| session.batch(index))?;
    for (table, column) in tables {
        let made = definition(session, &database, table.name)?;
        servers.iter().try_for_each(|server| direct(session, server, &database, &made, ""))?;
        let linked = linked(&made, &database, table.name, column, &servers)?;
        session.batch(&format!("drop table {}", ident(table.name)))?;
        session.batch(&linked)?;
    }
    Ok(true)
}

/// The statement that makes a table as it is now.
pub(super) fn definition(session: &mut Session, database: &str, table: &str) -> Result<String, Cause> {
    let shown = format!("show create table {}.{}", ident(database), ident(table));
    let created: Option<(String, String)> = session.wait(async |conn| conn.query_first(shown).await)?;
    let (_, statement) =
        created.ok_or_else(|| Cause::other(format!("the server does not show the definition of {table}")))?;
    Ok(statement)
}

/// The definition of a table of the head whose rows are on data nodes, by the remainder of a column's value.
fn linked(
    made: &str,
    database: &str,
    table: &str,
    column: &str,
    servers: &[String],
) -> Result<String, Cause> {
    let (before, after) = made
        .rsplit_once("ENGINE=InnoDB")
        .ok_or_else(|| Cause::other(format!("{table} was not made with InnoDB: {made}")))?;
    let comment = format!("wrapper \"mysql\", {}, table \"{table}\"", of_database(database));
    let part = |(number, server): (usize, &String)| {
        format!("partition p{number} comment = {}", text(&format!("srv \"{server}\"")))
    };
    let parts: Vec<String> = servers.iter().enumerate().map(part).collect();
    Ok(format!(
        "{before}ENGINE=SPIDER{after} comment = {} partition by hash ({}) ({})",
        text(&comment),
        ident(column),
        parts.join(", ")
    ))
}

fn of_database(database: &str) -> String {
    format!("database \"{database}\"")
}

/// Drops tables of a load on the data nodes that they are on. `session` uses the database of the load.
pub(super) fn drop_tables(session: &mut Session, database: &str, tables: &[String]) -> Result<(), Cause> {
    let spread = noted(session, database)?;
    for server in &spread.servers {
        // Where a load came to its end before the mark was made, it has made nothing else.
        if !has_tables(session, database, server, database, &[MARK])? {
            let names: Vec<&str> = tables.iter().map(String::as_str).collect();
            if !has_tables(session, database, server, database, &names)? {
                continue;
            }
        }
        let one = Spread { servers: vec![server.clone()], mark: spread.mark.clone() };
        ensure_marked(session, database, &one, database)?;
        // The mark last: as long as it stands, the others can be told from others' tables.
        for table in tables.iter().map(String::as_str).chain([MARK]) {
            on(session, server, &format!("drop table if exists {}.{}", ident(database), ident(table)))?;
        }
    }
    Ok(())
}

/// Drops what a database of ours has on data nodes, and the databases there that are empty then.
pub(super) fn remove(session: &mut Session, database: &str) -> Result<(), Cause> {
    let Spread { servers, .. } = noted(session, database)?;
    if servers.is_empty() {
        return Ok(());
    }
    let asked =
        "select table_name from information_schema.tables where table_schema = ? and engine = 'SPIDER'";
    let tables: Vec<String> = session.wait(async |conn| conn.exec(asked, (database,)).await)?;
    drop_tables(session, database, &tables)?;
    for server in &servers {
        if !has_tables(session, database, server, database, &[])? {
            on(session, server, &format!("drop database if exists {}", ident(database)))?;
        }
    }
    Ok(())
}

/// Makes a database for a copy on the data nodes of its template.
pub(super) fn begin_copy(
    session: &mut Session,
    template: &str,
    to: &str,
    names: &[&str],
) -> Result<Spread, Cause> {
    let spread = noted(session, template)?;
    match spread.is_empty() {
        true => Ok(spread),
        false => begin(session, spread.servers, to, names),
    }
}

/// Makes an empty table like one of a template on the same data nodes, if that is how its rows are kept; gives the definition for the
/// head.
pub(super) fn like(
    session: &mut Session,
    spread: &Spread,
    template: &str,
    to: &str,
    table: &str,
    shown: &str,
) -> Result<Option<String>, Cause> {
    if spread.is_empty() || !shown.contains("ENGINE=SPIDER") {
        return Ok(None);
    }
    let of = of_database(template);
    if !shown.contains(&of) {
        return Err(Cause::other(format!("{table} is not on data nodes in {of}: {shown}")));
    }
    let (name, like) = (ident(table), ident(template));
    on_each(session, &spread.servers, &format!("create table {}.{name} like {like}.{name}", ident(to)))?;
    Ok(Some(shown.replacen(&of, &of_database(to), 1)))
}

/// Copies the rows of tables from one database to another on each data node, all data nodes at once, and gathers statistics.
pub(super) fn copy_rows(
    url: &ServerUrl,
    spread: &Spread,
    template: &str,
    tables: &[&str],
) -> Result<(), Cause> {
    std::thread::scope(|scope| {
        let copy = |server: &str| {
            let mut session = Session::open(url, true)?;
            tables.iter().try_for_each(|table| {
                let (from, to, table) = (ident(template), ident(&url.database), ident(table));
                on(&mut session, server, &format!("insert into {to}.{table} select * from {from}.{table}"))?;
                on(&mut session, server, &format!("analyze table {to}.{table}"))
            })
        };
        let copying: Vec<_> = spread.servers.iter().map(|server| scope.spawn(move || copy(server))).collect();
        copying.into_iter().try_for_each(|copying| copying.join().expect("it does not panic"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_linked_to_one_on_each_data_node() {
        let made = "CREATE TABLE `t` (\n  `a` int(11) NOT NULL,\n  PRIMARY KEY (`a`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";
        let servers = ["stackmark_1".to_owned(), "stackmark_2".to_owned()];
        let linked = linked(made, "bank", "t", "a", &servers).unwrap();
        assert!(linked.ends_with(
            ") ENGINE=SPIDER DEFAULT CHARSET=utf8mb4 comment = 'wrapper \"mysql\", database \"bank\", table \"t\"' \
             partition by hash (`a`) (partition p0 comment = 'srv \"stackmark_1\"', partition p1 comment = 'srv \"stackmark_2\"')"
        ), "{linked}");
        assert!(super::linked("create table t (a int) ENGINE=Aria", "bank", "t", "a", &servers).is_err());
        for database in ["a\"b", "a'b", "a.b", "a b", "a\\b"] {
            assert!(way("stackmark_1", database).is_err(), "{database}");
        }
    }
}
