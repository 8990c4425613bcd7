//! One connection, as the transactions see it.

use crate::Dialect;
use model::{Cents, Defect, DefectKind, Fault, Home, Nanos, OpenError, Stack};
use std::future::Future;

/// The number of a statement that was prepared when the connection opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtId(pub u16);

/// What a transaction is going to do, which decides how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxKind {
    /// Reads only, of one snapshot.
    Read,
    /// Writes; engines with one writer take the write lock at once.
    Write,
    /// One statement that only reads, a transaction of its own: nothing is sent to begin or commit it.
    OneRead,
    /// One statement that writes, likewise. SQLite takes the write lock for it as for `Write` where writers queue for that
    /// (`adapter-rusqlite`), because it has no round trip to save there.
    OneWrite,
}

impl TxKind {
    /// Whether it is one statement, a transaction of its own.
    #[must_use]
    pub const fn is_one_statement(self) -> bool {
        match self {
            TxKind::OneRead | TxKind::OneWrite => true,
            TxKind::Read | TxKind::Write => false,
        }
    }

    #[must_use]
    pub const fn writes(self) -> bool {
        match self {
            TxKind::Write | TxKind::OneWrite => true,
            TxKind::Read | TxKind::OneRead => false,
        }
    }
}

/// A transaction's part in a commit that it could share with those of other sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// It was the first that the commit made durable, perhaps the only one, and stands for the commit where commits are
    /// counted.
    First,
    /// Another one stands for it.
    Joined,
}

/// A parameter, on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// A whole number: ids, counts, seconds since 1970 where the column is a date.
    Int(i64),
    /// An amount of money. Adapters give it the form of the column: cents in SQLite, a decimal elsewhere.
    Cents(Cents),
    Text(&'a str),
    /// Null, of whatever type the statement wants there.
    Null,
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Param::Int(value)
    }
}

impl From<u32> for Param<'_> {
    fn from(value: u32) -> Self {
        Param::Int(i64::from(value))
    }
}

impl From<Cents> for Param<'_> {
    fn from(value: Cents) -> Self {
        Param::Cents(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Param::Text(value)
    }
}

/// `None` is null.
impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// The columns of the current row. One virtual call a column, about 2 ns.
pub trait Columns {
    /// A whole number, whatever its width; a decimal without a fraction; a date as seconds since 1970 in UTC.
    ///
    /// # Errors
    /// When the column is null or of another type.
    fn int(&self, index: usize) -> Result<i64, ColumnError>;
    /// The same, or null.
    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError>;
    /// A decimal as the whole number of its last digit: `digits` 2 for money, 4 for rates. A whole-number column
    /// holds that number already in SQLite, which has no decimals, and whole units in PostgreSQL and MariaDB.
    ///
    /// # Errors
    /// When the column is null or of another type, or has a fraction that `digits` cannot hold.
    fn scaled(&self, index: usize, digits: u32) -> Result<i64, ColumnError>;
    /// A text.
    ///
    /// # Errors
    /// When the column is null or of another type.
    fn text(&self, index: usize) -> Result<&str, ColumnError>;
}

/// Decodes a row inside the adapter into a small owned value.
pub type Read<T> = fn(&dyn Columns) -> Result<T, ColumnError>;

/// Takes a row, inside the adapter, into what has been made of those before it.
pub type Take<S> = fn(&mut S, &dyn Columns) -> Result<(), ColumnError>;

/// A column that is not what the statement promises. One word, so that what a column gives comes back in registers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {} is not {}", .0.0, .0.1)]
pub struct ColumnError(Box<(usize, &'static str)>);

impl ColumnError {
    /// The column at `index`, from 0, is not what was `wanted`.
    #[cold]
    pub fn new(index: usize, wanted: &'static str) -> ColumnError {
        ColumnError(Box::new((index, wanted)))
    }
}

impl From<ColumnError> for Fault {
    fn from(error: ColumnError) -> Fault {
        Fault::Defect(Box::new(Defect { kind: DefectKind::BadData, what: error.to_string() }))
    }
}

/// A connection with its statements prepared.
///
/// After an error the transaction is still open unless the fault is `InDoubt`; the caller rolls back.
///
/// A transaction of one statement ([`TxKind::OneRead`], [`TxKind::OneWrite`]) is begun and committed like any other, and
/// counts as one, but that statement is all that reaches a server: if it succeeds it is committed, if it fails there is
/// nothing to undo, and an answer of `OneWrite` that got lost is `InDoubt(CommitUnanswered)`. A connection that is gone is
/// found by it, and not by begin. Whoever executes several in one such transaction has several transactions: each may be
/// kept whatever becomes of the others, also when they are rolled back.
pub trait SqlConn: Send + 'static {
    /// The engine's dialect.
    const DIALECT: Dialect;
    /// How long it may be idle before [`SqlConn::is_alive`] is asked; little where that sends nothing.
    const IDLE_MAX: Nanos = crate::IDLE_MAX;

    fn begin(&mut self, tx: TxKind) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Commits. An answer that got lost is `InDoubt`; on a conflict nothing was applied and the transaction is gone.
    fn commit(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Rolls back, also when the engine has already done so by itself.
    fn rollback(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Executes a statement without rows and gives the number of rows changed.
    fn exec(&mut self, stmt: StmtId, params: &[Param<'_>])
    -> impl Future<Output = Result<u64, Fault>> + Send;
    /// Begins a transaction that writes, and executes statements without rows; in one round trip where the driver sends statements
    /// before the responses to earlier ones have arrived. All are executed, whatever the others change. Gives how many rows
    /// each has changed; the first error is the one that is returned.
    fn begin_with(
        &mut self,
        statements: &[(StmtId, &[Param<'_>])],
    ) -> impl Future<Output = Result<Vec<u64>, Fault>> + Send {
        async move {
            self.begin(TxKind::Write).await?;
            let mut changed = Vec::with_capacity(statements.len());
            for (stmt, params) in statements {
                changed.push(self.exec(*stmt, params).await?);
            }
            Ok(changed)
        }
    }
    /// The first row, if there is one. The statement is then finished.
    fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> impl Future<Output = Result<Option<T>, Fault>> + Send;
    /// Every row, taken one after the other where it lies: for many rows, of which nothing else is to be kept.
    fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Every row, appended to `into`.
    fn rows<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
        into: &mut Vec<T>,
    ) -> impl Future<Output = Result<(), Fault>> + Send {
        async move {
            let take = |(read, into): &mut (Read<T>, &mut Vec<T>), row: &dyn Columns| {
                into.push(read(row)?);
                Ok(())
            };
            self.fold(stmt, params, &mut (read, into), take).await
        }
    }
    /// Whether the connection is still open, found without executing anything. A server may close one that has been idle; what
    /// begins a transaction finds that out before anything is executed, and what is a transaction of its own does not.
    fn is_alive(&mut self) -> impl Future<Output = bool> + Send {
        async { true }
    }
    /// How long the last begin waited for a connection or a write lane; zero after it was asked.
    fn waited(&mut self) -> Nanos {
        Nanos::ZERO
    }
    /// The part of the last transaction in the commit that it could share; nothing where each has its own, and after it was
    /// asked.
    fn grouping(&mut self) -> Option<Grouping> {
        None
    }
}

/// Opens connections of one engine through one driver, with a workload's statements prepared.
pub trait SqlOpener: Send + Sync + 'static {
    type Conn: SqlConn;
    /// Whether the driver blocks.
    const HOME: Home;

    fn open(&self) -> impl Future<Output = Result<Self::Conn, OpenError>> + Send;

    /// The stack without the style, read back from the engine.
    fn stack(&self) -> Stack;
}
