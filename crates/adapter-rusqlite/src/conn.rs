//! A connection with its statements.

use crate::Lane;
use crate::lane::Pass;
use crate::prepared::{Prepared, fault};
use model::{Clock, Fault, Nanos};
use rusqlite::Connection;
use sql::{Attached, Dialect, Param, Read, SqlConn, StmtId, Take, TxKind};

/// Numbers of the statements that we add behind the workload's.
#[derive(Clone, Copy)]
enum Control {
    BeginRead,
    BeginWrite,
    Commit,
    Rollback,
}

const CONTROL: [&str; 4] = ["begin deferred", "begin immediate", "commit", "rollback"];

/// Several files behind one connection.
pub(crate) struct Files {
    /// In the order of the files.
    lanes: Vec<Lane>,
    /// The lanes of the next transaction, in that order, and what was given to enter the second.
    within: [usize; 2],
    second: Option<Pass>,
    /// Statements of each file, and where those of the file of now begin.
    each: usize,
    base: u16,
}

impl Files {
    pub(crate) const fn new(lanes: Vec<Lane>, each: usize) -> Files {
        Files { lanes, within: [0, 0], second: None, each, base: 0 }
    }
}

/// A connection to SQLite. Blocking: its futures never wait.
pub struct SqliteConn<K> {
    prepared: Prepared,
    lane: Lane,
    pass: Option<Pass>,
    /// Those of a connection that has several.
    files: Option<Files>,
    /// Whether the statement of now is a transaction of its own.
    one_read: bool,
    waited: Nanos,
    clock: K,
}

impl<K> std::fmt::Debug for SqliteConn<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteConn")
            .field("statements", &self.prepared.workload_statements())
            .finish_non_exhaustive()
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
        let prepared = Prepared::new(connection, statements, &CONTROL)?;
        Ok(SqliteConn {
            prepared,
            lane,
            pass: None,
            files: None,
            one_read: false,
            waited: Nanos::ZERO,
            clock,
        })
    }

    /// The same connection with several files, whose statements it has.
    pub(crate) fn over(mut self, files: Files) -> SqliteConn<K> {
        self.files = Some(files);
        self
    }

    fn control(&mut self, control: Control) -> rusqlite::Result<()> {
        self.prepared.control(control as usize)
    }

    fn leave(&mut self) {
        // What was entered last is left first.
        if let Some(pass) = self.files.as_mut().and_then(|files| files.second.take()) {
            pass.leave();
        }
        if let Some(pass) = self.pass.take() {
            pass.leave();
        }
    }

    /// Enters the lanes of the files that the transaction is in, in their order, so that no one waits in a circle.
    fn enter(&mut self, write: bool) {
        let Some(files) = &mut self.files else {
            self.pass = Some(pass(&self.lane, write, &self.clock, &mut self.waited));
            return;
        };
        let [a, b] = files.within;
        let (first, second) = (a.min(b), a.max(b));
        self.pass = Some(pass(&files.lanes[first], write, &self.clock, &mut self.waited));
        if first != second {
            files.second = Some(pass(&files.lanes[second], write, &self.clock, &mut self.waited));
        }
    }

    /// The number of a statement for the file of now.
    fn here(&self, stmt: StmtId) -> StmtId {
        match &self.files {
            Some(files) => StmtId(files.base + stmt.0),
            None => stmt,
        }
    }

    /// Whatever the engine did by itself: no transaction is open afterwards, and the lane is free.
    fn abandon(&mut self) -> rusqlite::Result<()> {
        let result = if self.prepared.in_transaction() { self.control(Control::Rollback) } else { Ok(()) };
        self.leave();
        result
    }
}

impl<K: Clock> SqlConn for SqliteConn<K> {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        if self.pass.is_some() || self.prepared.in_transaction() {
            // The transaction before was given up in its middle: its future was dropped, or a caller panicked and went on.
            // Waiting for our own pass would never end.
            self.abandon().map_err(|error| fault(&error, false))?;
        }
        let write = tx.writes();
        if write || self.lane.readers_pass() {
            self.enter(write);
        }
        // A statement that writes gets a transaction all the same: by itself it may commit only when it is reset, after its
        // row was given, and no one would be told that this failed.
        self.one_read = tx == TxKind::OneRead;
        if self.one_read {
            return Ok(());
        }
        // Of several files those that are not written stay free: each is taken when it is first written.
        let at_once = write && self.files.is_none();
        self.control(if at_once { Control::BeginWrite } else { Control::BeginRead }).map_err(|error| {
            self.leave();
            fault(&error, false)
        })
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        if self.one_read {
            self.leave();
            return Ok(());
        }
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
        self.prepared.exec(self.here(stmt), params)
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.prepared.row(self.here(stmt), params, read)
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.prepared.fold(self.here(stmt), params, state, take)
    }

    fn waited(&mut self) -> Nanos {
        std::mem::take(&mut self.waited)
    }
}

impl<K: Clock> Attached for SqliteConn<K> {
    fn within(&mut self, stores: [usize; 2]) {
        if let Some(files) = &mut self.files {
            files.within = stores;
        }
    }

    fn at(&mut self, store: usize) {
        if let Some(files) = &mut self.files {
            files.base = (store * files.each) as u16;
        }
    }
}

/// A pass of a lane, and how long it was waited for.
fn pass<K: Clock>(lane: &Lane, write: bool, clock: &K, waited: &mut Nanos) -> Pass {
    lane.try_enter(write).unwrap_or_else(|| {
        let came = clock.now();
        let pass = lane.enter(write);
        *waited += clock.now() - came;
        pass
    })
}

impl<K> Drop for SqliteConn<K> {
    /// A session that is dropped in mid-transaction must not keep the lane; closing the connection rolls back.
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            if self.prepared.in_transaction() {
                // If this fails too, closing the connection undoes the transaction all the same.
                let _ = self.prepared.control(Control::Rollback as usize);
            }
            pass.leave();
        }
        // Passes that are left over go with their values.
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::at_once;
    use measure::Monotonic;

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
