//! A connection with its statements.

use super::columns::Current;
use crate::fault::{of_driver, unreached};
use futures_util::TryStreamExt as _;
use model::{Cents, Fault, OpenError};
use sql::{
    ColumnError, Dialect, Param, Read, ServerUrl, SqlConn, StmtId, Take, TxKind, mysql_fault, positional,
};
use sqlx::mysql::{MySqlArguments, MySqlConnection, MySqlDatabaseError, MySqlStatement};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection as _, Error, Executor as _, MySql, SqlSafeStr as _, Statement as _};
use std::fmt::Write as _;

/// A statement with the parameter that belongs to each of its question marks.
struct Prepared {
    statement: MySqlStatement,
    order: Vec<u16>,
}

impl Prepared {
    #[inline]
    fn bind(&self, params: &[Param<'_>]) -> Query<'_, MySql, MySqlArguments> {
        let bound = self.order.iter().map(|index| params[usize::from(*index)]);
        bound.fold(self.statement.query(), |query, param| match param {
            Param::Int(value) => query.bind(value),
            Param::Cents(cents) => query.bind(decimal(cents)),
            Param::Text(text) => query.bind(text),
            Param::Null => query.bind(None::<i64>),
        })
    }
}

/// An amount as the text of a decimal: the server takes no other form exactly.
fn decimal(Cents(cents): Cents) -> String {
    let (units, rest) = (cents.unsigned_abs() / 100, cents.unsigned_abs() % 100);
    let mut text = String::with_capacity(24);
    let sign = if cents < 0 { "-" } else { "" };
    write!(text, "{sign}{units}.{rest:02}").expect("a text takes everything");
    text
}

/// A connection to MariaDB.
pub struct SqlxMySqlConn {
    conn: MySqlConnection,
    statements: Vec<Prepared>,
    /// What the transaction of now is, or the last one was.
    tx: TxKind,
    /// Whether a transaction may be open.
    open: bool,
}

impl std::fmt::Debug for SqlxMySqlConn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlxMySqlConn").field("statements", &self.statements.len()).finish_non_exhaustive()
    }
}

impl SqlxMySqlConn {
    /// Prepares statements, whose parameters are written `?1`, `?2`, …. Their number is their place in `statements`.
    pub(crate) async fn prepare(
        mut conn: MySqlConnection,
        statements: &[String],
        url: &ServerUrl,
    ) -> Result<SqlxMySqlConn, OpenError> {
        let mut prepared = Vec::with_capacity(statements.len());
        for text in statements {
            let positional = positional(text);
            let asked = conn.prepare(AssertSqlSafe(positional.text).into_sql_str()).await;
            let statement = asked.map_err(|error| match &error {
                Error::Database(said) => {
                    sql::not_taken(url.place(), text, said.message(), &fault(&error, false))
                }
                error => super::connect::open_error(url, error),
            })?;
            prepared.push(Prepared { statement, order: positional.order });
        }
        Ok(SqlxMySqlConn { conn, statements: prepared, tx: TxKind::Write, open: false })
    }

    /// What an error of a statement means in the transaction of now. One that is a transaction of its own was to commit as
    /// well.
    fn faults(&self) -> impl Fn(Error) -> Fault + Copy + use<> {
        let commits = self.tx == TxKind::OneWrite;
        move |error| fault(&error, commits)
    }

    async fn control(&mut self, text: &'static str) -> Result<(), Error> {
        self.conn.execute(text).await.map(drop)
    }

    /// Gives every row of a statement to `take`, up to the first that it refuses.
    #[inline]
    async fn each(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        mut take: impl FnMut(&Current<'_>) -> Result<(), ColumnError>,
    ) -> Result<(), Fault> {
        let listed = self.faults();
        let query = self.statements[usize::from(stmt.0)].bind(params);
        let mut rows = query.fetch(&mut self.conn);
        let mut refused = Ok(());
        // To the end, also when a row was refused: what the server says last belongs to this statement, and not to the
        // next one, where sqlx would otherwise find it.
        while let Some(row) = rows.try_next().await.map_err(listed)? {
            if refused.is_ok() {
                refused = take(&Current(&row));
            }
        }
        Ok(refused?)
    }
}

#[cold]
fn fault(error: &Error, at_commit: bool) -> Fault {
    match error {
        Error::Database(error) => {
            let number = error.try_downcast_ref::<MySqlDatabaseError>().map_or(0, MySqlDatabaseError::number);
            mysql_fault(number, at_commit, error.message())
        }
        error => of_driver(error, at_commit),
    }
}

impl SqlConn for SqlxMySqlConn {
    const DIALECT: Dialect = Dialect::MySql;

    /// A read-only transaction has its snapshot at REPEATABLE READ.
    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        if self.open {
            // The transaction before was given up in its middle; `start transaction` would commit it.
            self.rollback().await.map_err(unreached)?;
        }
        self.tx = tx;
        let text = match tx {
            TxKind::Read => "start transaction read only",
            TxKind::Write => "start transaction",
            TxKind::OneRead | TxKind::OneWrite => return Ok(()),
        };
        // Without a transaction nothing of the call has reached the tables, whatever happened to the connection.
        self.open = true;
        self.control(text).await.map_err(|error| unreached(fault(&error, false)))
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        if self.tx.is_one_statement() {
            return Ok(());
        }
        self.control("commit").await.map_err(|error| fault(&error, true))?;
        self.open = false;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        if self.open {
            self.control("rollback").await.map_err(|error| fault(&error, false))?;
            self.open = false;
        }
        Ok(())
    }

    async fn is_alive(&mut self) -> bool {
        self.conn.ping().await.is_ok()
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let listed = self.faults();
        let query = self.statements[usize::from(stmt.0)].bind(params);
        query.execute(&mut self.conn).await.map(|done| done.rows_affected()).map_err(listed)
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        let mut first = None;
        self.each(stmt, params, |row| {
            if first.is_none() {
                first = Some(read(row)?);
            }
            Ok(())
        })
        .await?;
        Ok(first)
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.each(stmt, params, |row| take(state, row)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_sent_as_a_decimal() {
        for (cents, expected) in [
            (0, "0.00"),
            (5, "0.05"),
            (-5, "-0.05"),
            (123_405, "1234.05"),
            (i64::MIN, "-92233720368547758.08"),
        ] {
            assert_eq!(decimal(Cents(cents)), expected);
        }
    }
}
