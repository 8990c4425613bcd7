//! A connection with its statements.

use crate::Lane;
use crate::lane::Pass;
use model::{Cents, Clock, DefectKind, Fault, Nanos};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement};
use self_cell::self_cell;
use sql::{ColumnError, Columns, Dialect, Param, Read, SqlConn, StmtId, TxKind, sqlite_fault};

type Statements<'a> = Vec<Statement<'a>>;

self_cell!(
    struct Prepared {
        owner: Connection,
        #[not_covariant]
        dependent: Statements,
    }
);

/// The statements of a connection are used by whoever owns the connection, and go with it.
struct Owned(Prepared);

// SAFETY: `Statement` is not `Send` because it borrows its `Connection`, which is not `Sync`. Both live in one cell that
// is only ever moved and used as a whole, through `&mut`; SQLite is compiled with mutexes for its globals (serialized
// or multi-thread mode), which allows a connection and its statements to move between threads.
#[expect(unsafe_code, reason = "a connection and its statements move together")]
unsafe impl Send for Owned {}

/// Numbers of the statements that we add behind the workload's.
#[derive(Clone, Copy)]
enum Control {
    BeginRead,
    BeginWrite,
    Commit,
    Rollback,
}

const CONTROL: [&str; 4] = ["begin deferred", "begin immediate", "commit", "rollback"];

/// A connection to SQLite. Blocking: its futures never wait.
pub struct SqliteConn<K> {
    prepared: Owned,
    workload_statements: usize,
    lane: Lane,
    pass: Option<Pass>,
    waited: Nanos,
    clock: K,
}

impl<K> std::fmt::Debug for SqliteConn<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteConn").field("statements", &self.workload_statements).finish_non_exhaustive()
    }
}

impl<K: Clock> SqliteConn<K> {
    /// Prepares the statements on an open connection. Their number is their place in `statements`.
    ///
    /// # Errors
    /// When a statement does not fit the schema.
    pub fn prepare(
        connection: Connection,
        statements: &[String],
        lane: Lane,
        clock: K,
    ) -> rusqlite::Result<SqliteConn<K>> {
        let prepared = Prepared::try_new(connection, |connection| {
            let texts = statements.iter().map(String::as_str).chain(CONTROL);
            texts.map(|text| connection.prepare(text)).collect()
        })?;
        Ok(SqliteConn {
            prepared: Owned(prepared),
            workload_statements: statements.len(),
            lane,
            pass: None,
            waited: Nanos::ZERO,
            clock,
        })
    }

    fn control(&mut self, control: Control) -> rusqlite::Result<()> {
        let index = self.workload_statements + control as usize;
        self.prepared.0.with_dependent_mut(|_, statements| statements[index].raw_execute()).map(drop)
    }

    fn in_transaction(&self) -> bool {
        !self.prepared.0.borrow_owner().is_autocommit()
    }

    fn leave(&mut self) {
        if let Some(pass) = self.pass.take() {
            pass.leave();
        }
    }

    /// Whatever the engine did by itself: no transaction is open afterwards, and the lane is free.
    fn abandon(&mut self) -> rusqlite::Result<()> {
        let result = if self.in_transaction() { self.control(Control::Rollback) } else { Ok(()) };
        self.leave();
        result
    }

    /// Binds and uses a statement. Faults are made where they happen, and so cost only when they do.
    #[inline]
    fn run<T>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        use_it: impl FnOnce(&mut Statement<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.prepared.0.with_dependent_mut(|_, statements| {
            let statement = &mut statements[usize::from(stmt.0)];
            for (index, param) in (1..).zip(params) {
                match *param {
                    Param::Int(value) | Param::Cents(Cents(value)) => {
                        statement.raw_bind_parameter(index, value)
                    }
                    Param::Text(value) => statement.raw_bind_parameter(index, value),
                }
                .map_err(engine)?;
            }
            use_it(statement)
        })
    }
}

impl<K: Clock> SqlConn for SqliteConn<K> {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        if self.pass.is_some() || self.in_transaction() {
            // The transaction before was given up in its middle: its future was dropped, or a caller panicked and went on.
            // Waiting for our own pass would never end.
            self.abandon().map_err(|error| fault(&error, false))?;
        }
        let write = tx == TxKind::Write;
        if write || self.lane.readers_pass() {
            let pass = self.lane.try_enter(write).unwrap_or_else(|| {
                let came = self.clock.now();
                let pass = self.lane.enter(write);
                self.waited = self.clock.now() - came;
                pass
            });
            self.pass = Some(pass);
        }
        self.control(if write { Control::BeginWrite } else { Control::BeginRead }).map_err(|error| {
            self.leave();
            fault(&error, false)
        })
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        match self.control(Control::Commit) {
            Ok(()) => {
                self.leave();
                Ok(())
            }
            Err(error) => {
                // Busy leaves the transaction open and unapplied: another process still reads under a rollback
                // journal, and the busy timeout has passed. Rolling back makes it a plain conflict.
                let fault = fault(&error, true);
                match self.abandon() {
                    Ok(()) => Err(fault),
                    Err(error) => Err(self::fault(&error, true)),
                }
            }
        }
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.abandon().map_err(|error| fault(&error, false))
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.run(stmt, params, |statement| Ok(statement.raw_execute().map_err(engine)? as u64))
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.run(stmt, params, |statement| {
            let mut rows = statement.raw_query();
            match rows.next().map_err(engine)? {
                Some(row) => Ok(Some(read(&Current(row))?)),
                None => Ok(None),
            }
        })
    }

    async fn rows<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
        into: &mut Vec<T>,
    ) -> Result<(), Fault> {
        self.run(stmt, params, |statement| {
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next().map_err(engine)? {
                into.push(read(&Current(row))?);
            }
            Ok(())
        })
    }

    fn waited(&mut self) -> Nanos {
        std::mem::take(&mut self.waited)
    }
}

impl<K> Drop for SqliteConn<K> {
    /// A session that is dropped in mid-transaction must not keep the lane; closing the connection rolls back.
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            if !self.prepared.0.borrow_owner().is_autocommit() {
                let index = self.workload_statements + Control::Rollback as usize;
                // If this fails too, closing the connection undoes the transaction all the same.
                let _ = self.prepared.0.with_dependent_mut(|_, statements| statements[index].raw_execute());
            }
            pass.leave();
        }
    }
}

/// The fault of a statement.
#[cold]
fn engine(error: rusqlite::Error) -> Fault {
    fault(&error, false)
}

#[cold]
fn fault(error: &rusqlite::Error, at_commit: bool) -> Fault {
    match error {
        rusqlite::Error::SqliteFailure(failure, message) => {
            sqlite_fault(failure.extended_code, at_commit, message.as_deref().unwrap_or("no message"))
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => {
            sqlite_fault(error.extended_code, at_commit, msg)
        }
        other => Fault::defect(DefectKind::Engine, other.to_string()),
    }
}

/// The row that a statement stands on.
struct Current<'a>(&'a Row<'a>);

impl Current<'_> {
    #[inline]
    fn value(&self, index: usize) -> Result<ValueRef<'_>, ColumnError> {
        self.0.get_ref(index).map_err(|_| ColumnError::new(index, "there"))
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        match self.value(index)? {
            ValueRef::Integer(value) => Ok(value),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => {
                Err(ColumnError::new(index, "a whole number"))
            }
        }
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        match self.value(index)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(value) => Ok(Some(value)),
            ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => {
                Err(ColumnError::new(index, "a whole number or null"))
            }
        }
    }

    /// Money and rates are stored as whole numbers of their last digit.
    fn scaled(&self, index: usize, _digits: u32) -> Result<i64, ColumnError> {
        self.int(index)
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        match self.value(index)? {
            ValueRef::Text(bytes) => {
                std::str::from_utf8(bytes).map_err(|_| ColumnError::new(index, "valid UTF-8"))
            }
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
                Err(ColumnError::new(index, "a text"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Monotonic;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn at_once<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("a blocking connection never waits"),
        }
    }

    #[test]
    fn a_transaction_that_was_given_up_is_undone_by_the_next_one() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("create table t (x integer)").unwrap();
        let statements = ["insert into t values (?1)".to_owned(), "select count(*) from t".to_owned()];
        let (insert, count) = (StmtId(0), StmtId(1));
        let mut conn =
            SqliteConn::prepare(connection, &statements, Lane::new(false), Monotonic::start()).unwrap();

        at_once(conn.begin(TxKind::Write)).unwrap();
        assert_eq!(at_once(conn.exec(insert, &[Param::Int(1)])), Ok(1));
        // Neither committed nor rolled back.
        at_once(conn.begin(TxKind::Write)).unwrap();
        assert_eq!(at_once(conn.row(count, &[], |row| row.int(0))), Ok(Some(0)));
        assert_eq!(at_once(conn.exec(insert, &[Param::Int(2)])), Ok(1));
        at_once(conn.commit()).unwrap();
        at_once(conn.begin(TxKind::Read)).unwrap();
        assert_eq!(at_once(conn.row(count, &[], |row| row.int(0))), Ok(Some(1)));
    }
}
