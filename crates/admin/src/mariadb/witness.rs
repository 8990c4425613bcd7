//! The witness: reads what is stored through plain connections of its own, whatever adapter wrote it.

use super::connect::{block_on, code, code_of, connect, ident, kill_queries};
use super::error::{Cause, named};
use super::layout::{seconds, units};
use crate::{AuditGroup, AuditRows, Audited};
use measure::Monotonic;
use model::{Clock, Nanos};
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{Column, Conn, Error, Params, Row};
use sql::{ServerUrl, Value, positional};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Why nothing could be audited.
#[derive(Debug, thiserror::Error)]
#[error("could not read {database}")]
pub struct AuditError {
    /// Where: `tpcc on 127.0.0.1:3306`.
    pub database: String,
    /// What was said.
    pub source: Cause,
}

/// Audits a database.
#[derive(Debug)]
pub struct Witness {
    url: ServerUrl,
}

/// How often the deadline and the wish to stop are looked at.
const TICK: Duration = Duration::from_millis(20);
/// How many seconds writers have to end their transactions before an audit.
const WRITERS_WAITED_FOR_S: u32 = 30;
/// Said of what was not answered.
const UNFINISHED: &str = "not finished in time, or stopped";
/// Set on each connection of an audit: sums of ten warehouses are sorted in memory, and joins look rows up by their keys
/// instead of hashing whole tables for each buffer of rows.
const SESSION: &str = "set session tmp_memory_table_size = 268435456, max_heap_table_size = 268435456, \
                       sort_buffer_size = 67108864, join_cache_level = 0";

impl Witness {
    /// Opens a database to look at it.
    ///
    /// # Errors
    /// When the server cannot be reached, or does not let us in.
    pub fn open(url: &ServerUrl) -> Result<Witness, AuditError> {
        let witness = Witness { url: url.clone() };
        witness.run(async {
            let conn = connect(url).await?;
            Ok(conn.disconnect().await?)
        })?;
        Ok(witness)
    }

    /// All rows of one query, read in a transaction that cannot write.
    ///
    /// # Errors
    /// For whatever the server says.
    pub fn rows(&self, sql: &str, params: &[i64]) -> Result<Vec<Vec<Value>>, AuditError> {
        self.run(async {
            let mut conn = connect(&self.url).await?;
            conn.query_drop("start transaction read only").await?;
            let found = rows(&mut conn, sql, params, usize::MAX).await?;
            conn.disconnect().await?;
            Ok(found)
        })
    }

    /// Runs every group on a connection of its own, up to `threads` at a time, and gives up at `deadline` (a span from
    /// now) or when `stop` is set: running queries are killed at the server, and what is missing says so in its rows.
    ///
    /// All connections see one state: the database's tables are locked against writing for the moment in which their
    /// snapshots are taken. Where we may not do that (it needs the privilege `lock tables`), the database's users are
    /// trusted to leave it alone. Nothing can be written but temporary tables.
    ///
    /// # Errors
    /// When a connection cannot be opened.
    pub fn audit_all(
        &self,
        groups: &[AuditGroup],
        threads: usize,
        deadline: Nanos,
        stop: &AtomicBool,
    ) -> Result<Audited, AuditError> {
        let clock = Monotonic::start();
        self.run(async {
            let sessions = self.open_all(groups, deadline).await?;
            let ids: Vec<u32> = sessions.iter().map(|session| session.conn.id()).collect();
            let gave_up = Arc::new(AtomicBool::new(false));
            let turns = Arc::new(Semaphore::new(threads.max(1)));
            // The server does the work; one thread here serves all connections.
            let mut running = JoinSet::new();
            for (number, session) in sessions.into_iter().enumerate() {
                let (group, gave_up, turns) =
                    (groups[number].clone(), Arc::clone(&gave_up), Arc::clone(&turns));
                running.spawn(async move {
                    let _turn = turns.acquire().await.expect("never closed");
                    (number, session.audit(&group, &clock, &gave_up).await)
                });
            }
            let mut results = Vec::with_capacity(groups.len());
            while !running.is_empty() {
                match tokio::time::timeout(TICK, running.join_next()).await {
                    Ok(Some(found)) => results.push(found.expect("no task panics or is cancelled")),
                    Ok(None) => break,
                    Err(_) => {}
                }
                if stop.load(Ordering::Relaxed) || clock.now() > deadline {
                    gave_up.store(true, Ordering::Relaxed);
                    kill_queries(&self.url, &ids).await;
                }
            }
            results.sort_by_key(|(number, _)| *number);
            let rows = results.into_iter().flat_map(|(_, found)| found).collect();
            Ok(Audited { rows, took: clock.now() })
        })
    }

    fn run<T>(&self, ask: impl Future<Output = Result<T, Cause>>) -> Result<T, AuditError> {
        let answer = block_on(ask).map_err(Cause::from).and_then(|answer| answer);
        answer.map_err(|source| AuditError { database: named(&self.url), source })
    }

    /// A connection a group, all with the same snapshot. Temporary tables are made before it is taken, because a
    /// transaction that cannot write cannot make them either.
    async fn open_all(&self, groups: &[AuditGroup], deadline: Nanos) -> Result<Vec<Session>, Cause> {
        // Ends what runs on at the server after we are gone, however we went.
        let limit = deadline.as_secs_f64().ceil().clamp(1.0, 1e6) + 5.0;
        let mut sessions = Vec::with_capacity(groups.len());
        for group in groups {
            let mut conn = connect(&self.url).await?;
            conn.query_drop(format!("{SESSION}, max_statement_time = {limit}")).await?;
            let mut made = Ok(());
            for statement in group.prepare.iter().filter(|statement| makes_table(statement)) {
                if made.is_ok() {
                    made = conn.query_drop(statement).await.map_err(|error| said(&error));
                }
            }
            sessions.push(Session { conn, made });
        }
        let mut guard = connect(&self.url).await?;
        match lock_writers_out(&mut guard).await {
            Ok(()) => {}
            Err(error) if matches!(code_of(&error), Some(code::DATABASE_DENIED | code::TABLE_DENIED)) => {}
            Err(error) => return Err(error.into()),
        }
        for session in &mut sessions {
            // A snapshot lasts for a transaction at this level and not below.
            session.conn.query_drop("set session transaction isolation level repeatable read").await?;
            session.conn.query_drop("start transaction with consistent snapshot, read only").await?;
        }
        guard.disconnect().await?;
        Ok(sessions)
    }
}

/// Keeps everybody from writing to the tables of this database, and of no other on the server, until the connection ends: it
/// waits for transactions that have written there, and all snapshots that are taken meanwhile are the same.
async fn lock_writers_out(guard: &mut Conn) -> Result<(), Error> {
    let tables = "select table_name from information_schema.tables \
                  where table_schema = database() and table_type = 'BASE TABLE'";
    let tables: Vec<String> = guard.query(tables).await?;
    if tables.is_empty() {
        return Ok(());
    }
    let locks: Vec<String> = tables.iter().map(|table| format!("{} read", ident(table))).collect();
    guard.query_drop(format!("set session lock_wait_timeout = {WRITERS_WAITED_FOR_S}")).await?;
    guard.query_drop(format!("lock tables {}", locks.join(", "))).await
}

/// A connection of an audit.
struct Session {
    conn: Conn,
    /// Whether its temporary tables could be made, or why not.
    made: Result<(), String>,
}

impl Session {
    async fn audit(mut self, group: &AuditGroup, clock: &Monotonic, gave_up: &AtomicBool) -> Vec<AuditRows> {
        let mut since = clock.now();
        let clause = |error: &Error| match gave_up.load(Ordering::Relaxed) {
            true => UNFINISHED.to_owned(),
            false => said(error),
        };
        let mut prepared = self.made;
        for statement in group.prepare.iter().filter(|statement| !makes_table(statement)) {
            if prepared.is_ok() {
                prepared = rows(&mut self.conn, statement, &group.params, 0)
                    .await
                    .map(drop)
                    .map_err(|error| clause(&error));
            }
        }
        let mut found = Vec::with_capacity(group.queries.len());
        for query in &group.queries {
            let rows = match &prepared {
                Ok(()) if gave_up.load(Ordering::Relaxed) => Err(UNFINISHED.to_owned()),
                Ok(()) => rows(&mut self.conn, &query.sql, &group.params, query.rows_max)
                    .await
                    .map_err(|error| clause(&error)),
                Err(clause) => Err(clause.clone()),
            };
            let now = clock.now();
            found.push(AuditRows { name: query.name.clone(), rows, took: now - since });
            since = now;
        }
        // All that was asked is answered; temporary tables end with the connection.
        let _ = self.conn.disconnect().await;
        found
    }
}

fn makes_table(statement: &str) -> bool {
    statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("create"))
}

/// What the server said, without its numbers.
fn said(error: &Error) -> String {
    match error {
        Error::Server(said) => said.message.clone(),
        error => error.to_string(),
    }
}

/// The first `rows_max` rows of a statement. The server is told how many are wanted: a broken database can violate a
/// condition millions of times.
async fn rows(conn: &mut Conn, sql: &str, params: &[i64], rows_max: usize) -> Result<Vec<Vec<Value>>, Error> {
    let most = if rows_max == 0 { usize::MAX } else { rows_max };
    conn.query_drop(format!("set session sql_select_limit = {most}")).await?;
    let statement = positional(sql);
    let values: Option<Vec<mysql_async::Value>> = statement
        .order
        .iter()
        .map(|place| params.get(usize::from(*place)).map(|value| mysql_async::Value::Int(*value)))
        .collect();
    // A parameter that nobody gives is left to the server, which says so.
    let values = values.map_or(Params::Empty, Params::Positional);
    let mut result = conn.exec_iter(statement.text, values).await?;
    let mut found = Vec::new();
    while let Some(row) = result.next().await? {
        found.push(owned(row));
    }
    result.drop_result().await?;
    Ok(found)
}

fn owned(row: Row) -> Vec<Value> {
    let columns = row.columns();
    let cells = row.unwrap();
    columns.iter().zip(cells).map(|(column, cell)| value(column, cell)).collect()
}

fn value(column: &Column, cell: mysql_async::Value) -> Value {
    use mysql_async::Value as Cell;
    match cell {
        Cell::NULL => Value::Null,
        Cell::Int(value) => Value::Int(value),
        Cell::UInt(value) => i64::try_from(value).map_or(Value::Real(value as f64), Value::Int),
        Cell::Float(value) => Value::Real(f64::from(value)),
        Cell::Double(value) => Value::Real(value),
        Cell::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            match column.column_type() {
                ColumnType::MYSQL_TYPE_NEWDECIMAL | ColumnType::MYSQL_TYPE_DECIMAL => decimal(&text),
                _ => Value::Text(text.into_owned()),
            }
        }
        date @ (Cell::Date(..) | Cell::Time(..)) => match seconds(&date) {
            Some(seconds) => Value::Int(seconds),
            None => Value::Text(format!("{date:?}")),
        },
    }
}

/// A whole number exactly; anything else as near as a double is.
fn decimal(text: &str) -> Value {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let exact = fraction.bytes().all(|digit| digit == b'0').then(|| units(whole.as_bytes())).flatten();
    match exact {
        Some(value) => Value::Int(value),
        None => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Real),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_a_whole_number_where_it_is_one() {
        assert_eq!(decimal("30000.00"), Value::Int(30_000));
        assert_eq!(decimal("-7"), Value::Int(-7));
        assert_eq!(decimal("-0.05"), Value::Real(-0.05));
        assert_eq!(decimal("99999999999999999999"), Value::Real(1e20));
    }
}
