//! A connection with its statements.

use super::value::{self, Bound, ParameterType};
use crate::fault::{of_driver, unreached};
use futures_util::TryStreamExt as _;
use model::{DefectKind, Fault, OpenError};
use sql::{ColumnError, Columns, Dialect, Param, Read, ServerUrl, SqlConn, StmtId, Take, TxKind, postgres};
use sqlx::postgres::{PgArguments, PgConnection, PgRow, PgStatement};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Either, Error, Executor as _, Postgres, Row as _,
    SqlSafeStr as _, Statement as _, ValueRef as _,
};

/// A statement, with the types of its parameters and columns as the server described them.
struct Prepared {
    statement: PgStatement,
    params: Box<[ParameterType]>,
    columns: Box<[ParameterType]>,
}

impl Prepared {
    fn new(statement: PgStatement) -> Prepared {
        let params = match statement.parameters() {
            Some(Either::Left(types)) => types.iter().map(ParameterType::of).collect(),
            Some(Either::Right(_)) | None => Box::default(),
        };
        let columns =
            statement.columns().iter().map(|column| ParameterType::of(column.type_info())).collect();
        Prepared { statement, params, columns }
    }

    /// What does not fit its parameter is found out when the query runs.
    #[inline]
    fn bind(&self, params: &[Param<'_>]) -> Query<'_, Postgres, PgArguments> {
        let bound =
            self.params.iter().zip(params).map(|(wanted, param)| Bound { param: *param, wanted: *wanted });
        bound.fold(self.statement.query(), Query::bind)
    }
}

/// A connection to PostgreSQL.
pub struct SqlxPostgresConn {
    conn: PgConnection,
    statements: Vec<Prepared>,
    /// What the transaction of now is, or the last one was.
    tx: TxKind,
    /// Whether a transaction is open, as far as we know.
    open: bool,
    /// Whether it has failed; the server would answer a commit by a rollback.
    failed: bool,
}

impl std::fmt::Debug for SqlxPostgresConn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlxPostgresConn").field("statements", &self.statements.len()).finish_non_exhaustive()
    }
}

impl SqlxPostgresConn {
    /// Prepares statements, whose parameters are written `?1`, `?2`, …. Their number is their place in `statements`.
    pub(crate) async fn prepare(
        mut conn: PgConnection,
        statements: &[String],
        url: &ServerUrl,
    ) -> Result<SqlxPostgresConn, OpenError> {
        let mut prepared = Vec::with_capacity(statements.len());
        for text in statements {
            // Without types of ours: the server finds them.
            let asked = conn.prepare(AssertSqlSafe(sql::dollars(text)).into_sql_str()).await;
            prepared.push(Prepared::new(asked.map_err(|error| match &error {
                Error::Database(said) => {
                    sql::not_taken(url.place(), text, said.message(), &fault(&error, false))
                }
                error => super::connect::open_error(url, error),
            })?));
        }
        Ok(SqlxPostgresConn { conn, statements: prepared, tx: TxKind::Write, open: false, failed: false })
    }

    async fn control(&mut self, text: &'static str) -> Result<(), Error> {
        self.conn.execute(text).await.map(drop)
    }

    /// The fault of a statement, after which the transaction can only be rolled back. One that is a transaction of its own
    /// was to commit as well.
    #[cold]
    fn fault(&mut self, error: &Error) -> Fault {
        self.failed = true;
        fault(error, self.tx == TxKind::OneWrite)
    }

    /// Gives every row of a statement to `take`, up to the first that it refuses.
    #[inline]
    async fn each(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        mut take: impl FnMut(&Current<'_>) -> Result<(), ColumnError>,
    ) -> Result<(), Fault> {
        let prepared = &self.statements[usize::from(stmt.0)];
        let mut refused = Ok(());
        let result = {
            let mut rows = prepared.bind(params).fetch(&mut self.conn);
            // To the end, also when a row was refused: what the server says last belongs to this statement.
            loop {
                match rows.try_next().await {
                    Ok(Some(row)) if refused.is_ok() => {
                        refused = take(&Current { row: &row, kinds: &prepared.columns });
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            }
        };
        result.map_err(|error| self.fault(&error))?;
        Ok(refused?)
    }
}

#[cold]
fn fault(error: &Error, at_commit: bool) -> Fault {
    match error {
        Error::Database(error) => {
            postgres::fault(error.code().as_deref().unwrap_or_default(), at_commit, error.message())
        }
        error => of_driver(error, at_commit),
    }
}

impl SqlConn for SqlxPostgresConn {
    const DIALECT: Dialect = Dialect::Postgres;

    /// A transaction that writes takes the isolation of the session, which is that of the URL.
    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        if self.open {
            // The transaction before was given up in its middle; a second `begin` would only be warned about.
            self.rollback().await.map_err(unreached)?;
        }
        self.tx = tx;
        self.failed = false;
        let text = match tx {
            TxKind::Read => "begin isolation level repeatable read read only",
            TxKind::Write => "begin",
            TxKind::OneRead | TxKind::OneWrite => return Ok(()),
        };
        self.open = true;
        self.control(text).await.map_err(|error| {
            self.open = false;
            unreached(fault(&error, false))
        })
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        if self.failed {
            self.rollback().await?;
            return Err(Fault::defect(
                DefectKind::Engine,
                "a transaction was to be committed after an error",
            ));
        }
        if self.tx.is_one_statement() {
            return Ok(());
        }
        let result = self.control("commit").await;
        // Whatever was answered, the transaction is over.
        self.open = false;
        result.map_err(|error| fault(&error, true))
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        if !self.open {
            return Ok(());
        }
        self.control("rollback").await.map_err(|error| fault(&error, false))?;
        self.open = false;
        Ok(())
    }

    async fn is_alive(&mut self) -> bool {
        self.conn.ping().await.is_ok()
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let query = self.statements[usize::from(stmt.0)].bind(params);
        let result = query.execute(&mut self.conn).await;
        result.map(|done| done.rows_affected()).map_err(|error| self.fault(&error))
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        let prepared = &self.statements[usize::from(stmt.0)];
        // sqlx reads to the end of the answer here, past the first row.
        match prepared.bind(params).fetch_optional(&mut self.conn).await {
            Ok(Some(row)) => Ok(Some(read(&Current { row: &row, kinds: &prepared.columns })?)),
            Ok(None) => Ok(None),
            Err(error) => Err(self.fault(&error)),
        }
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

/// The row at hand, and what its columns are.
struct Current<'a> {
    row: &'a PgRow,
    kinds: &'a [ParameterType],
}

impl Current<'_> {
    #[inline]
    fn value(&self, index: usize) -> Result<(ParameterType, Option<&[u8]>), ColumnError> {
        match (self.kinds.get(index), self.row.try_get_raw(index)) {
            (Some(kind), Ok(value)) if value.is_null() => Ok((*kind, None)),
            (Some(kind), Ok(value)) => Ok((*kind, value.as_bytes().ok())),
            _ => Err(ColumnError::new(index, "there")),
        }
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        let (kind, raw) = self.value(index)?;
        raw.and_then(|raw| value::int(kind, raw)).ok_or_else(|| ColumnError::new(index, "a whole number"))
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        let (kind, raw) = self.value(index)?;
        let Some(raw) = raw else { return Ok(None) };
        value::int(kind, raw).map(Some).ok_or_else(|| ColumnError::new(index, "a whole number or null"))
    }

    fn scaled(&self, index: usize, digits: u32) -> Result<i64, ColumnError> {
        let (kind, raw) = self.value(index)?;
        raw.and_then(|raw| value::scaled(kind, raw, digits))
            .ok_or_else(|| ColumnError::new(index, "a number of so few digits"))
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        let (kind, raw) = self.value(index)?;
        raw.and_then(|raw| value::text(kind, raw)).ok_or_else(|| ColumnError::new(index, "a text"))
    }
}
