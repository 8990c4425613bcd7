//! A connection with its statements.

use crate::fault::{of_driver, unreached};
use futures_util::TryStreamExt as _;
use model::{Cents, Fault, OpenError};
use sql::{
    ColumnError, Columns, Dialect, Param, Read, SqlConn, SqliteUrl, StmtId, Take, TxKind, sqlite_fault,
};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow, SqliteStatement};
use sqlx::{
    AssertSqlSafe, Connection as _, Error, Executor as _, Row as _, SqlSafeStr as _, Sqlite, Statement as _,
};

/// A connection to SQLite.
pub struct SqlxSqliteConn {
    conn: SqliteConnection,
    statements: Vec<SqliteStatement>,
    /// What the transaction of now is, or the last one was.
    tx: TxKind,
    /// Whether a transaction is open, as far as we know.
    open: bool,
}

impl std::fmt::Debug for SqlxSqliteConn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlxSqliteConn").field("statements", &self.statements.len()).finish_non_exhaustive()
    }
}

#[inline]
fn bind<'q>(statement: &'q SqliteStatement, params: &[Param<'_>]) -> Query<'q, Sqlite, SqliteArguments> {
    params.iter().fold(statement.query(), |query, param| match *param {
        // Money is stored in cents.
        Param::Int(value) | Param::Cents(Cents(value)) => query.bind(value),
        Param::Text(text) => query.bind(text),
        Param::Null => query.bind(None::<i64>),
    })
}

impl SqlxSqliteConn {
    /// Prepares statements, whose parameters are written `?1`, `?2`, …. Their number is their place in `statements`.
    pub(crate) async fn prepare(
        mut conn: SqliteConnection,
        statements: &[String],
        url: &SqliteUrl,
    ) -> Result<SqlxSqliteConn, OpenError> {
        let mut prepared = Vec::with_capacity(statements.len());
        for text in statements {
            let asked = conn.prepare(AssertSqlSafe(text.as_str()).into_sql_str()).await;
            prepared.push(asked.map_err(|error| match &error {
                Error::Database(said) => sql::not_taken(
                    url.path.display().to_string(),
                    text,
                    said.message(),
                    &fault(&error, false),
                ),
                error => super::open::open_error(url, error),
            })?);
        }
        Ok(SqlxSqliteConn { conn, statements: prepared, tx: TxKind::Write, open: false })
    }

    /// What an error of a statement means in the transaction of now. One that is a transaction of its own was to commit as
    /// well.
    fn faults(&self) -> impl Fn(Error) -> Fault + Copy + use<> {
        let commits = self.tx == TxKind::OneWrite;
        move |error| fault(&error, commits)
    }

    /// Closes the connection, and returns when it is closed.
    pub(crate) async fn close(self) -> Result<(), Error> {
        self.conn.close().await
    }

    /// As a prepared statement too: sqlx would compile the text of its own `begin` again each time.
    async fn control(&mut self, text: &'static str) -> Result<(), Error> {
        sqlx::query(text).execute(&mut self.conn).await.map(drop)
    }

    /// Whatever the engine did by itself: no transaction is open afterwards.
    async fn abandon(&mut self, at_commit: bool) -> Result<(), Fault> {
        if self.open {
            match self.control("rollback").await {
                // A disk that is full, among others, makes SQLite roll back by itself.
                Err(Error::Database(error)) if error.message().contains("no transaction is active") => {}
                result => result.map_err(|error| fault(&error, at_commit))?,
            }
            self.open = false;
        }
        Ok(())
    }
}

#[cold]
fn fault(error: &Error, at_commit: bool) -> Fault {
    match error {
        Error::Database(error) => {
            // The extended result code; SQLITE_ERROR where there should be none.
            let code = error.code().and_then(|code| code.parse().ok()).unwrap_or(1);
            sqlite_fault(code, at_commit, error.message())
        }
        error => of_driver(error, at_commit),
    }
}

impl SqlConn for SqlxSqliteConn {
    const DIALECT: Dialect = Dialect::Sqlite;

    /// A writer waits here for the lock, in SQLite's busy handler and on sqlx's thread; one of one statement waits there.
    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        // The transaction before may have been given up in its middle.
        self.abandon(false).await.map_err(unreached)?;
        self.tx = tx;
        let text = match tx {
            TxKind::Read => "begin deferred",
            TxKind::Write => "begin immediate",
            TxKind::OneRead | TxKind::OneWrite => return Ok(()),
        };
        self.control(text).await.map_err(|error| unreached(fault(&error, false)))?;
        self.open = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        if self.tx.is_one_statement() {
            return Ok(());
        }
        match self.control("commit").await {
            Ok(()) => {
                self.open = false;
                Ok(())
            }
            Err(error) => {
                // Busy leaves the transaction open and unapplied: another connection still reads under a rollback journal,
                // and the busy timeout has passed. Rolling back makes it a plain conflict.
                let fault = fault(&error, true);
                self.abandon(true).await?;
                Err(fault)
            }
        }
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.abandon(false).await
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let listed = self.faults();
        let query = bind(&self.statements[usize::from(stmt.0)], params);
        query.execute(&mut self.conn).await.map(|done| done.rows_affected()).map_err(listed)
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        let listed = self.faults();
        let query = bind(&self.statements[usize::from(stmt.0)], params);
        let row = if self.tx == TxKind::OneWrite {
            // To the end, where it commits: no one would be told of a commit that fails when the statement is reset.
            let rows: Vec<SqliteRow> = query.fetch_all(&mut self.conn).await.map_err(listed)?;
            rows.into_iter().next()
        } else {
            // sqlx resets the statement before it hands out the row.
            query.fetch_optional(&mut self.conn).await.map_err(listed)?
        };
        Ok(row.map(|row| read(&Current(&row))).transpose()?)
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        let listed = self.faults();
        let query = bind(&self.statements[usize::from(stmt.0)], params);
        let mut rows = query.fetch(&mut self.conn);
        // What is not read is thrown away by sqlx's thread, which resets the statement.
        while let Some(row) = rows.try_next().await.map_err(listed)? {
            take(state, &Current(&row))?;
        }
        Ok(())
    }
}

/// The row at hand.
struct Current<'a>(&'a SqliteRow);

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        self.int_or_null(index)?.ok_or_else(|| ColumnError::new(index, "a whole number"))
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        self.0.try_get(index).map_err(|_| ColumnError::new(index, "a whole number or null"))
    }

    /// Money and rates are stored as whole numbers of their last digit.
    fn scaled(&self, index: usize, _digits: u32) -> Result<i64, ColumnError> {
        self.int(index)
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        let found: Result<Option<&str>, Error> = self.0.try_get(index);
        found.ok().flatten().ok_or_else(|| ColumnError::new(index, "a text"))
    }
}
