//! A connection with its statements.

use crate::Current;
use model::{Cents, DefectKind, Doubt, Fault, OpenError, Refusal};
use mysql_async::prelude::Queryable;
use mysql_async::{BinaryProtocol, Conn, Error, Params, QueryResult, Statement, Value};
use sql::{
    ColumnError, Columns, Dialect, Param, Read, SqlConn, StmtId, Take, TxKind, mysql_fault, positional,
};

/// A statement with the parameter that belongs to each of its question marks.
struct Prepared {
    statement: Statement,
    order: Vec<u16>,
}

/// A connection whose statements are prepared.
pub struct MySqlConn {
    conn: Conn,
    statements: Vec<Prepared>,
    /// What the transaction of now is, or the last one was.
    tx: TxKind,
    /// Whether one may be open that was begun here.
    open: bool,
}

impl std::fmt::Debug for MySqlConn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MySqlConn").field("statements", &self.statements.len()).finish_non_exhaustive()
    }
}

impl MySqlConn {
    /// Prepares statements, whose parameters are written `?1`, `?2`, …, on an open connection. A statement's number is
    /// its place in `statements`. `what` names the server in errors.
    ///
    /// # Errors
    /// [`OpenError::Unusable`] when a statement does not fit the schema or the server's dialect, and
    /// [`OpenError::Unreachable`] when the connection breaks.
    pub async fn prepare(mut conn: Conn, statements: &[String], what: &str) -> Result<MySqlConn, OpenError> {
        let mut prepared = Vec::with_capacity(statements.len());
        for text in statements {
            let positional = positional(text);
            let statement = conn.prep(positional.text).await.map_err(|error| match error {
                Error::Server(error) => OpenError::Unusable {
                    what: what.to_owned(),
                    why: format!("it does not take the statement `{}`: {}", brief(text), error.message),
                },
                error => OpenError::Unreachable { what: what.to_owned(), why: error.to_string() },
            })?;
            prepared.push(Prepared { statement, order: positional.order });
        }
        Ok(MySqlConn { conn, statements: prepared, tx: TxKind::Write, open: false })
    }

    /// Calls a procedure that holds a whole transaction: its rows go to `each` with the number of their result set, from
    /// 0.
    ///
    /// A procedure that writes must give its rows before it commits, and commit last. What came before an error then
    /// tells whether the commit had been reached: an error before the first row means that nothing was applied, and
    /// after the caller's [`SqlConn::rollback`] the connection can be used again.
    ///
    /// # Errors
    /// As [`SqlConn::exec`]; what cut a commit short, or may have, is `InDoubt(CommitUnanswered)` if `writes`.
    pub async fn call(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        writes: bool,
        each: &mut (dyn FnMut(usize, &dyn Columns) -> Result<(), ColumnError> + Send),
    ) -> Result<(), Fault> {
        let (mut answered, mut unreadable) = (false, None);
        let lost = if writes { Doubt::CommitUnanswered } else { Doubt::ConnectionLost };
        let told = |error: Error, answered: bool| fault(error, writes && answered, lost);
        let mut result = self.run(stmt, params).await.map_err(|error| told(error, false))?;
        let mut set = 0;
        while !result.is_empty() {
            while let Some(row) = result.next().await.map_err(|error| told(error, answered))? {
                answered = true;
                if unreadable.is_none() {
                    unreadable = each(set, &Current(&row)).err();
                }
            }
            set += 1;
        }
        result.drop_result().await.map_err(|error| told(error, answered))?;
        unreadable.map_or(Ok(()), |error| Err(error.into()))
    }

    /// What an error of a statement means in the transaction of now. One that is a transaction of its own was to commit as
    /// well.
    fn faults(&self) -> impl Fn(Error) -> Fault + Copy + use<> {
        let commits = self.tx == TxKind::OneWrite;
        let lost = if commits { Doubt::CommitUnanswered } else { Doubt::ConnectionLost };
        move |error| fault(error, commits, lost)
    }

    #[inline]
    async fn run(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
    ) -> Result<QueryResult<'_, 'static, BinaryProtocol>, Error> {
        let Prepared { statement, order } = &self.statements[usize::from(stmt.0)];
        let values = order.iter().map(|index| value(params[usize::from(*index)])).collect::<Vec<_>>();
        let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
        self.conn.exec_iter(statement, params).await
    }
}

/// The beginning of a statement, for a message.
fn brief(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(60).collect()
}

#[inline]
fn value(param: Param<'_>) -> Value {
    match param {
        Param::Int(value) => Value::Int(value),
        Param::Cents(cents) => Value::Bytes(decimal(cents)),
        Param::Text(text) => Value::Bytes(text.as_bytes().to_vec()),
        Param::Null => Value::NULL,
    }
}

/// An amount as the text of a decimal. The driver has no other form that the server takes exactly.
fn decimal(Cents(cents): Cents) -> Vec<u8> {
    let (units, rest) = (cents.unsigned_abs() / 100, cents.unsigned_abs() % 100);
    let mut digits = itoa::Buffer::new();
    let mut text = Vec::with_capacity(24);
    if cents < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(digits.format(units).as_bytes());
    text.extend_from_slice(&[b'.', b'0' + (rest / 10) as u8, b'0' + (rest % 10) as u8]);
    text
}

impl SqlConn for MySqlConn {
    const DIALECT: Dialect = Dialect::MySql;

    /// A read-only transaction has its snapshot at REPEATABLE READ.
    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        if self.open {
            // The transaction before was given up in its middle; `start transaction` would commit it, and a statement by
            // itself would join it.
            self.rollback().await.map_err(unreached)?;
        }
        self.tx = tx;
        let text = match tx {
            TxKind::Read => "start transaction read only",
            TxKind::Write => "start transaction",
            TxKind::OneRead | TxKind::OneWrite => return Ok(()),
        };
        self.open = true;
        self.conn.query_drop(text).await.map_err(|error| unreached(engine(error)))
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        if self.tx.is_one_statement() {
            return Ok(());
        }
        let result = self.conn.query_drop("commit").await;
        result.map_err(|error| fault(error, true, Doubt::CommitUnanswered))?;
        self.open = false;
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        // Also where nothing was begun here: a procedure may have.
        if !self.tx.is_one_statement() {
            self.conn.query_drop("rollback").await.map_err(engine)?;
            self.open = false;
        }
        Ok(())
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let told = self.faults();
        let result = self.run(stmt, params).await.map_err(told)?;
        let changed = result.affected_rows();
        result.drop_result().await.map_err(told)?;
        Ok(changed)
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        let told = self.faults();
        let mut result = self.run(stmt, params).await.map_err(told)?;
        let row = result.next().await.map_err(told)?;
        let read = row.map(|row| read(&Current(&row))).transpose();
        // Rows that nobody reads are read past even if this one could not be read.
        result.drop_result().await.map_err(told)?;
        Ok(read?)
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        let told = self.faults();
        let mut result = self.run(stmt, params).await.map_err(told)?;
        while let Some(row) = result.next().await.map_err(told)? {
            take(state, &Current(&row))?;
        }
        result.drop_result().await.map_err(told)
    }
}

/// The fault of what commits nothing.
#[cold]
fn engine(error: Error) -> Fault {
    fault(error, false, Doubt::ConnectionLost)
}

/// Without a transaction nothing of the call has reached the tables, whatever happened to the connection.
#[cold]
fn unreached(fault: Fault) -> Fault {
    match fault {
        Fault::InDoubt(_) => Fault::Refused(Refusal::Unreachable),
        fault @ (Fault::Conflict(_) | Fault::Refused(_) | Fault::Defect(_)) => fault,
    }
}

/// What the driver's errors mean; `lost` where the connection broke.
#[cold]
fn fault(error: Error, at_commit: bool, lost: Doubt) -> Fault {
    match error {
        Error::Server(error) => mysql_fault(error.code, at_commit, &error.message),
        Error::Io(_) => Fault::InDoubt(lost),
        Error::Driver(
            mysql_async::DriverError::ConnectionClosed | mysql_async::DriverError::PacketOutOfOrder,
        ) => Fault::InDoubt(lost),
        error @ (Error::Driver(_) | Error::Other(_) | Error::Url(_)) => {
            Fault::defect(DefectKind::Engine, error.to_string())
        }
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
            assert_eq!(String::from_utf8(decimal(Cents(cents))).unwrap(), expected);
        }
    }
}
