//! A bank in a SQLite file: loaded without the loader that users have, called through the driver, read with plain queries.

use adapter_rusqlite::{SqliteConn, SqliteOpener};
use measure::Monotonic;
use model::rows::{Dataset, RowSink};
use model::{CallWork, Fault, Session, Target};
use rusqlite::Connection;
use rusqlite::types::Value;
use sql::{Dialect, SqliteUrl};
use std::pin::pin;
use std::task::{Context as Poller, Poll, Waker};
use tempfile::TempDir;
use workload_tpcb::audit::{AuditOutcome, Context, Finding, audits, tallies};
use workload_tpcb::{
    Call, Cardinality, Data, Outcome, SqlSession, SqlTarget, StoredTally, catalogue, schema,
};

/// Runs a future that never waits: SQLite's block.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Poller::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking driver's futures never wait"),
    }
}

struct Inserts<'a> {
    statement: rusqlite::Statement<'a>,
    row: Vec<Value>,
}

impl RowSink for Inserts<'_> {
    fn int(&mut self, value: i64) {
        self.row.push(Value::Integer(value));
    }
    fn text(&mut self, value: &str) {
        self.row.push(Value::Text(value.to_owned()));
    }
    fn null(&mut self) {
        self.row.push(Value::Null);
    }
    fn end(&mut self) {
        self.statement.execute(rusqlite::params_from_iter(self.row.drain(..))).unwrap();
    }
}

pub(crate) type SqliteSession = SqlSession<SqliteConn<Monotonic>, Monotonic>;

pub(crate) struct Bank {
    folder: TempDir,
    size: Cardinality,
}

impl Bank {
    pub(crate) fn new(size: Cardinality) -> Bank {
        let bank = Bank { folder: tempfile::tempdir().unwrap(), size };
        let mut connection = Connection::open(bank.folder.path().join("tpcb.db")).unwrap();
        let transaction = connection.transaction().unwrap();
        for (_, text) in schema(Dialect::Sqlite).unwrap().iter() {
            transaction.execute_batch(text).unwrap();
        }
        let data = Data::new(size);
        for (number, table) in data.tables().iter().enumerate() {
            let places = vec!["?"; table.columns.len()].join(", ");
            let columns = table.columns.join(", ");
            let insert = format!("insert into {} ({columns}) values ({places})", table.name);
            let mut sink = Inserts { statement: transaction.prepare(&insert).unwrap(), row: Vec::new() };
            (0..table.chunks).for_each(|chunk| data.fill(number, chunk, &mut sink));
        }
        transaction.commit().unwrap();
        bank
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::open(self.folder.path().join("tpcb.db")).unwrap()
    }

    /// A session whose statements may have been tampered with.
    pub(crate) fn session(&self, tamper: impl FnOnce(&mut Vec<String>)) -> SqliteSession {
        let file = self.folder.path().join("tpcb.db");
        // What a crash would leave is none of these tests' concern.
        let url: SqliteUrl =
            format!("sqlite:{}?journal=memory&synchronous=off", file.display()).parse().unwrap();
        let mut statements = catalogue(Dialect::Sqlite).unwrap();
        tamper(&mut statements);
        let clock = Monotonic::start();
        let opener = SqliteOpener::new(&url, statements, clock).unwrap();
        now(SqlTarget::new(opener, clock).open(0)).unwrap()
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.connection().execute_batch(sql).unwrap();
    }

    /// The findings of all audits by name.
    pub(crate) fn audit(&self, history_whole: bool) -> Vec<(String, Finding)> {
        let context = Context { size: self.size, history_whole, ..Context::standard(1) };
        let connection = self.connection();
        let mut found = Vec::new();
        for group in audits(Dialect::Sqlite).unwrap() {
            for statement in &group.prepare {
                rows(&connection, statement, &[]);
            }
            for audit in &group.audits {
                let mut rows = rows(&connection, &audit.query, &context.params());
                rows.truncate(audit.rows_max);
                found.push((audit.name.clone(), audit.judge(&rows, &context)));
            }
        }
        found
    }

    /// Names of the audits that fail.
    pub(crate) fn failed(&self, history_whole: bool) -> Vec<String> {
        let found = self.audit(history_whole).into_iter();
        found.filter(|(_, finding)| finding.verdict == AuditOutcome::Failed).map(|(name, _)| name).collect()
    }

    /// What the ledger audit reads.
    pub(crate) fn tallies(&self) -> Vec<StoredTally> {
        rows(&self.connection(), &tallies(Dialect::Sqlite).unwrap(), &[])
            .iter()
            .map(|row| row.iter().map(|value| value.int().unwrap()).collect::<Vec<i64>>())
            .map(|row| StoredTally::from_row(&row).unwrap())
            .collect()
    }
}

pub(crate) fn rows(connection: &Connection, sql: &str, params: &[i64]) -> Vec<Vec<sql::Value>> {
    let mut statement = connection.prepare(sql).unwrap();
    for (place, value) in (1..=statement.parameter_count()).zip(params) {
        statement.raw_bind_parameter(place, value).unwrap();
    }
    let columns = statement.column_count();
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().unwrap() {
        let value = |column| match row.get::<_, Value>(column).unwrap() {
            Value::Null => sql::Value::Null,
            Value::Integer(value) => sql::Value::Int(value),
            Value::Real(value) => sql::Value::Real(value),
            Value::Text(value) => sql::Value::Text(value),
            Value::Blob(_) => panic!("no blob anywhere"),
        };
        found.push((0..columns).map(value).collect());
    }
    found
}

pub(crate) fn run(session: &mut SqliteSession, call: &Call) -> (Result<Outcome, Fault>, CallWork) {
    let mut work = CallWork::default();
    let result = now(session.run(call, &mut work));
    (result, work)
}
