//! A connection with its statements.

use crate::Current;
use model::{Cents, Conflict, DefectKind, Doubt, Fault, OpenError, Refusal};
use mysql_async::prelude::Queryable;
use mysql_async::{BinaryProtocol, Conn, Error, Params, QueryResult, Statement, Value};
use sql::{
    BranchId, ColumnError, Columns, Dialect, LOCK_WAIT_S, Param, Read, SqlConn, StmtId, Take, TwoPhase,
    TxKind, mysql_fault, positional,
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
    /// What it is, if it is a branch of several.
    branch: Option<BranchId>,
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
    /// [`OpenError::Unreachable`] when the connection breaks or the server cannot prepare it now.
    pub async fn prepare(mut conn: Conn, statements: &[String], what: &str) -> Result<MySqlConn, OpenError> {
        let mut prepared = Vec::with_capacity(statements.len());
        for text in statements {
            let positional = positional(text);
            let statement = conn.prep(positional.text).await.map_err(|error| match error {
                Error::Server(error) => {
                    let fault = sql::mysql_fault(error.code, false, &error.message);
                    sql::not_taken(what.to_owned(), text, &error.message, &fault)
                }
                error => OpenError::Unreachable { what: what.to_owned(), why: error.to_string() },
            })?;
            prepared.push(Prepared { statement, order: positional.order });
        }
        Ok(MySqlConn { conn, statements: prepared, tx: TxKind::Write, open: false, branch: None })
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
        let listed = |error: Error, answered: bool| fault(error, writes && answered, lost);
        let mut result = self.run(stmt, params).await.map_err(|error| listed(error, false))?;
        let mut set = 0;
        while !result.is_empty() {
            while let Some(row) = result.next().await.map_err(|error| listed(error, answered))? {
                answered = true;
                if unreadable.is_none() {
                    unreadable = each(set, &Current(&row)).err();
                }
            }
            set += 1;
        }
        result.drop_result().await.map_err(|error| listed(error, answered))?;
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
        if let Some(id) = self.branch.take() {
            self.open = false;
            // After an error the engine may have ended the branch already, and then takes no second end.
            let _ = self.conn.query_drop(format!("xa end '{id}'")).await;
            let gone = self.conn.query_drop(format!("xa rollback '{id}'")).await;
            return match gone {
                Err(Error::Server(error)) if error.code == NO_BRANCH => Ok(()),
                gone => gone.map_err(engine),
            };
        }
        // Also where nothing was begun here: a procedure may have.
        if !self.tx.is_one_statement() {
            self.conn.query_drop("rollback").await.map_err(engine)?;
            self.open = false;
        }
        Ok(())
    }

    async fn is_alive(&mut self) -> bool {
        self.conn.ping().await.is_ok()
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let listed = self.faults();
        let result = self.run(stmt, params).await.map_err(listed)?;
        let changed = result.affected_rows();
        result.drop_result().await.map_err(listed)?;
        Ok(changed)
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        let listed = self.faults();
        let mut result = self.run(stmt, params).await.map_err(listed)?;
        let row = result.next().await.map_err(listed)?;
        let read = row.map(|row| read(&Current(&row))).transpose();
        // Rows that no one reads are read past even if this one could not be read.
        result.drop_result().await.map_err(listed)?;
        Ok(read?)
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        let listed = self.faults();
        let mut result = self.run(stmt, params).await.map_err(listed)?;
        while let Some(row) = result.next().await.map_err(listed)? {
            take(state, &Current(&row))?;
        }
        result.drop_result().await.map_err(listed)
    }
}

/// XAER_NOTA: there is no such branch; or its owner is still connected, and no one else may decide until then.
const NO_BRANCH: u16 = 1397;
/// XAER_DUPID: a branch of that name is left from an attempt that no one has decided yet.
const BRANCH_EXISTS: u16 = 1440;
/// How long who wants a name that is in use waits before it is asked for again.
const BRANCH_RETRY_MS: u32 = 5;

impl MySqlConn {
    async fn decide(&mut self, text: String) -> Result<bool, Fault> {
        match self.conn.query_drop(text).await {
            Ok(()) => Ok(true),
            Err(Error::Server(error)) if error.code == NO_BRANCH => Ok(false),
            Err(error) => Err(fault(error, true, Doubt::CommitUnanswered)),
        }
    }
}

impl TwoPhase for MySqlConn {
    async fn enlist(&mut self) -> Result<String, Fault> {
        let set = format!("set innodb_lock_wait_timeout = {LOCK_WAIT_S}");
        self.conn.query_drop(set).await.map_err(engine)?;
        let name: Option<String> = self.conn.query_first("select database()").await.map_err(engine)?;
        name.ok_or_else(|| Fault::defect(DefectKind::Engine, "the connection has no database"))
    }

    /// The engine wants to know the name before anything is done.
    async fn begin_branch(&mut self, id: BranchId) -> Result<(), Fault> {
        if self.open {
            self.rollback().await.map_err(unreached)?;
        }
        self.tx = TxKind::Write;
        let start = format!("xa start '{id}'");
        // A name that is in use is refused at once. Who comes with the same key waits for whoever has it, as for a lock.
        for _ in 0..LOCK_WAIT_S * 1_000 / BRANCH_RETRY_MS {
            match self.conn.query_drop(&start).await {
                Ok(()) => {
                    (self.open, self.branch) = (true, Some(id));
                    return Ok(());
                }
                Err(Error::Server(error)) if error.code == BRANCH_EXISTS => {
                    // The engine waits, so that this needs no timer of a runtime.
                    let pause = format!("do sleep({})", f64::from(BRANCH_RETRY_MS) / 1_000.0);
                    self.conn.query_drop(pause).await.map_err(|error| unreached(engine(error)))?;
                }
                Err(error) => return Err(unreached(engine(error))),
            }
        }
        Err(Fault::Conflict(Conflict::Busy))
    }

    async fn prepare(&mut self) -> Result<(), Fault> {
        let id = self.branch.ok_or_else(|| Fault::defect(DefectKind::Engine, "there is no branch"))?;
        self.conn.query_drop(format!("xa end '{id}'")).await.map_err(engine)?;
        self.conn.query_drop(format!("xa prepare '{id}'")).await.map_err(engine)?;
        (self.open, self.branch) = (false, None);
        Ok(())
    }

    async fn commit_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        self.decide(format!("xa commit '{id}'")).await
    }

    async fn rollback_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        self.decide(format!("xa rollback '{id}'")).await
    }

    /// Those of all databases of the server.
    async fn prepared(&mut self) -> Result<Vec<BranchId>, Fault> {
        let found: Vec<(i64, i64, i64, Vec<u8>)> = self.conn.query("xa recover").await.map_err(engine)?;
        let names = found.iter().filter_map(|(.., name)| str::from_utf8(name).ok());
        Ok(names.filter_map(BranchId::parse).collect())
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
