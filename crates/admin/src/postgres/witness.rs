//! The witness: reads what is stored through plain connections of its own, whatever adapter wrote it.

use super::binary::numeric;
use super::error::Cause;
use super::session::{Canceller, Session};
use crate::{AuditGroup, AuditRows, Audited};
use measure::Monotonic;
use model::{Clock, Nanos};
use sql::{ServerUrl, Value, dollars};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, IsolationLevel, Row, Transaction};

/// Why nothing could be audited.
#[derive(Debug, thiserror::Error)]
#[error("could not read {database}")]
pub struct AuditError {
    /// The database: its URL without a password.
    pub database: String,
    /// What was said.
    pub source: Cause,
}

/// Audits a database.
pub struct Witness {
    url: ServerUrl,
    session: Session,
}

/// Settings of each connection of an audit: sums over all rows are hashed in memory, and by several processes. Temporary
/// tables are large and hardly known to the planner, which would sort them to merge them; and a query of one second does
/// not earn back its compilation.
const SETTINGS: &str = "set work_mem = '64MB'; set temp_buffers = '64MB'; set max_parallel_workers_per_gather = 2; \
                        set min_parallel_table_scan_size = '1MB'; set parallel_setup_cost = 100; \
                        set enable_mergejoin = off; set jit = off";
/// The first server that notices in mid-statement that its client is gone.
const CLIENT_CHECK_SINCE: i64 = 140_000;
/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH: i64 = 946_684_800;
const GAVE_UP: &str = "not finished in time, or stopped";

impl Witness {
    /// Opens a database to look at it.
    ///
    /// # Errors
    /// When nobody answers, we are not let in, or there is no such database.
    pub fn open(url: &ServerUrl) -> Result<Witness, AuditError> {
        let open = || {
            let session = reader(url)?;
            session.batch("set default_transaction_read_only = on")?;
            Ok(session)
        };
        let session = open().map_err(|source| refused(url, source))?;
        Ok(Witness { url: url.clone(), session })
    }

    /// All rows of one query, whose parameters are written `?1`, `?2`, …
    ///
    /// # Errors
    /// For whatever the server says.
    pub fn rows(&self, sql: &str, params: &[i64]) -> Result<Vec<Vec<Value>>, AuditError> {
        let client = self.session.client();
        let read = async {
            let (text, types) = (dollars(sql), vec![Type::INT8; params.len()]);
            let statement = client.prepare_typed(&text, &types).await?;
            let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| param as _).collect();
            client.query(&statement, &params).await
        };
        let rows = self.session.wait(read).map_err(|source| refused(&self.url, source))?;
        Ok(rows.iter().map(values).collect())
    }

    /// Runs every group on up to `threads` connections that all see one state, and gives up at `deadline` (a span from now)
    /// or when `stop` is set: statements are cancelled on the server, and what is missing says so in its rows.
    ///
    /// Others may go on writing meanwhile; the state is that of the moment when the audit begins.
    ///
    /// # Errors
    /// When no connection can be opened.
    pub fn audit_all(
        &self,
        groups: &[AuditGroup],
        threads: usize,
        deadline: Nanos,
        stop: &AtomicBool,
    ) -> Result<Audited, AuditError> {
        let clock = Monotonic::start();
        let count = threads.clamp(1, groups.len().max(1));
        let sessions = (0..count).map(|_| reader(&self.url)).collect::<Result<Vec<_>, _>>();
        let mut sessions = sessions.map_err(|source| refused(&self.url, source))?;
        for session in &sessions {
            // Should we be gone by then, the server ends the statement by itself.
            session
                .batch(&format!(
                    "set statement_timeout = {}",
                    deadline.as_millis_f64().clamp(1_000.0, 86_400_000.0) as u64
                ))
                .map_err(|source| refused(&self.url, source))?;
        }
        // Lives until all have ended: what is exported is valid as long as this transaction.
        let holder = reader(&self.url).map_err(|source| refused(&self.url, source))?;
        let snapshot = export(&holder).map_err(|source| refused(&self.url, source))?;
        let cancellers: Vec<Canceller> = sessions.iter().map(Session::canceller).collect();
        let results: Mutex<Vec<(usize, Vec<AuditRows>)>> = Mutex::default();
        let (next, gave_up) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (ending, ended) = crossbeam_channel::bounded::<()>(0);
            for session in &mut sessions {
                let ending = ending.clone();
                let (results, next, gave_up, clock, snapshot) =
                    (&results, &next, &gave_up, &clock, &snapshot);
                scope.spawn(move || {
                    while let Some((number, group)) = pick(groups, next) {
                        let found =
                            session.with(async |client| audit(client, group, snapshot, clock, gave_up).await);
                        results.lock().expect("no holder panics").push((number, found));
                    }
                    drop(ending);
                });
            }
            drop(ending);
            // Nothing is ever sent: the channel closes when the last thread ends.
            while ended.recv_timeout(Duration::from_millis(20))
                == Err(crossbeam_channel::RecvTimeoutError::Timeout)
            {
                if stop.load(Ordering::Relaxed) || clock.now() > deadline {
                    gave_up.store(true, Ordering::Relaxed);
                    cancellers.iter().for_each(Canceller::cancel);
                }
            }
        });
        drop(holder);
        let mut results = results.into_inner().expect("no holder panics");
        results.sort_by_key(|(number, _)| *number);
        let rows = results.into_iter().flat_map(|(_, found)| found).collect();
        Ok(Audited { rows, took: clock.now() })
    }
}

fn reader(url: &ServerUrl) -> Result<Session, Cause> {
    let session = Session::open(url)?;
    session.batch(SETTINGS)?;
    if session.version_num() >= CLIENT_CHECK_SINCE {
        // Not every system can notice it; then the deadline ends the statement.
        let _ = session.batch("set client_connection_check_interval = '1s'");
    }
    Ok(session)
}

fn export(holder: &Session) -> Result<String, Cause> {
    holder.batch("begin isolation level repeatable read, read only")?;
    Ok(holder.wait(holder.client().query_one("select pg_export_snapshot()", &[]))?.get(0))
}

fn refused(url: &ServerUrl, source: Cause) -> AuditError {
    AuditError { database: url.to_string(), source }
}

fn pick<'a>(groups: &'a [AuditGroup], next: &AtomicUsize) -> Option<(usize, &'a AuditGroup)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    groups.get(number).map(|group| (number, group))
}

/// Runs a group in a transaction of its own, which is rolled back: its temporary tables are gone with it.
async fn audit(
    client: &mut Client,
    group: &AuditGroup,
    snapshot: &str,
    clock: &Monotonic,
    gave_up: &AtomicBool,
) -> Vec<AuditRows> {
    let mut since = clock.now();
    let clause = |error: &tokio_postgres::Error| match gave_up.load(Ordering::Relaxed) {
        true => GAVE_UP.to_owned(),
        false => super::error::said(error),
    };
    let mut prepared = prepare(client, group, snapshot).await.map_err(|error| clause(&error));
    let mut found = Vec::with_capacity(group.queries.len());
    for query in &group.queries {
        let rows = match &mut prepared {
            Ok(_) if gave_up.load(Ordering::Relaxed) => Err(GAVE_UP.to_owned()),
            Ok(transaction) => {
                let rows = apart(transaction, &query.sql, &group.params, query.rows_max).await;
                rows.map_err(|error| clause(&error))
            }
            Err(clause) => Err(clause.clone()),
        };
        let now = clock.now();
        found.push(AuditRows { name: query.name.clone(), rows, took: now - since });
        since = now;
    }
    if let Ok(transaction) = prepared {
        // Where even this fails the connection is gone, and the transaction with it.
        let _ = transaction.rollback().await;
    }
    found
}

/// Begins in the state of the snapshot and makes the temporary tables; from there on nothing can be written.
async fn prepare<'a>(
    client: &'a mut Client,
    group: &AuditGroup,
    snapshot: &str,
) -> Result<Transaction<'a>, tokio_postgres::Error> {
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await?;
    transaction.batch_execute(&format!("set transaction snapshot '{snapshot}'")).await?;
    for statement in &group.prepare {
        let text = dollars(statement);
        if text == *statement {
            transaction.batch_execute(&text).await?;
        } else {
            rows(&transaction, statement, &group.params, 1).await?;
        }
    }
    transaction.batch_execute("set transaction read only").await?;
    Ok(transaction)
}

/// A query whose failure takes only itself along.
async fn apart(
    transaction: &mut Transaction<'_>,
    sql: &str,
    params: &[i64],
    rows_max: usize,
) -> Result<Vec<Vec<Value>>, tokio_postgres::Error> {
    let savepoint = transaction.savepoint("query").await?;
    let found = rows(&savepoint, sql, params, rows_max).await;
    savepoint.rollback().await?;
    found
}

/// The first `rows_max` rows of a statement; the server makes no more.
async fn rows(
    transaction: &Transaction<'_>,
    sql: &str,
    params: &[i64],
    rows_max: usize,
) -> Result<Vec<Vec<Value>>, tokio_postgres::Error> {
    let statement = transaction.prepare_typed(&dollars(sql), &vec![Type::INT8; params.len()]).await?;
    let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| param as _).collect();
    let portal = transaction.bind(&statement, &params).await?;
    // Zero would stand for all of them.
    let rows_max = i32::try_from(rows_max.max(1)).unwrap_or(i32::MAX);
    Ok(transaction.query_portal(&portal, rows_max).await?.iter().map(values).collect())
}

fn values(row: &Row) -> Vec<Value> {
    (0..row.len()).map(|column| row.get::<_, Read>(column).0).collect()
}

/// A value of any type that can be told in a word.
struct Read(Value);

impl<'a> FromSql<'a> for Read {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Read, Box<dyn std::error::Error + Sync + Send>> {
        let value = match *kind {
            Type::BOOL => Value::Int(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Value::Int(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => number(raw),
            Type::TIMESTAMP | Type::TIMESTAMPTZ => match raw.first_chunk() {
                Some(micros) => Value::Int(i64::from_be_bytes(*micros).div_euclid(1_000_000) + EPOCH),
                None => Value::Null,
            },
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => {
                Value::Text(String::from_utf8_lossy(raw).trim_end_matches(' ').to_owned())
            }
            _ => Value::Text(format!("{} bytes of type {kind}", raw.len())),
        };
        Ok(Read(value))
    }

    fn from_sql_null(_: &Type) -> Result<Read, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Read(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Exact where it is whole.
fn number(raw: &[u8]) -> Value {
    let Some((value, scale)) = numeric(raw) else { return Value::Text("not a number".into()) };
    let unit = 10_i128.pow(scale.min(38));
    match i64::try_from(value / unit) {
        Ok(whole) if value % unit == 0 => Value::Int(whole),
        _ => Value::Real(value as f64 / unit as f64),
    }
}
