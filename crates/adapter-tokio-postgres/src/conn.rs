//! A connection with its statements, for a session that owns it.

use crate::tx::{self, Control, Transacting, Tx};
use crate::value::{self, Bound};
use crate::{Connected, Link, fault};
use futures_util::StreamExt as _;
use futures_util::future::{try_join, try_join_all};
use model::{Conflict, DefectKind, Fault, Nanos};
use sql::{
    BranchId, ColumnError, Columns, Dialect, LOCK_WAIT_S, Param, Read, SqlConn, StmtId, Take, TwoPhase,
    TxKind,
};
use std::pin::pin;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Error, Row, RowStream, Statement};

/// A connection to PostgreSQL, through a client of tokio-postgres whose connection is polled by whoever waits.
#[derive(Debug)]
pub struct PostgresConn {
    client: Client,
    link: Link,
    /// The workload's, and ours behind them.
    statements: Vec<Statement>,
    workload_statements: usize,
    tx: Tx,
    /// What it will be prepared as, if it is a branch of several.
    branch: Option<BranchId>,
}

impl PostgresConn {
    /// Prepares statements on an open connection, in one round trip. Their number is their place in `statements`, whose
    /// parameters are written `?1`, `?2`, ….
    ///
    /// # Errors
    /// When a statement does not fit the schema, or the connection breaks.
    pub async fn prepare(connected: Connected, statements: &[String]) -> Result<PostgresConn, Error> {
        let Connected { client, mut link, .. } = connected;
        let texts: Vec<String> = statements
            .iter()
            .map(|text| sql::dollars(text))
            .chain(Control::TEXTS.map(String::from))
            .collect();
        let prepared = try_join_all(texts.iter().map(|text| client.prepare(text)));
        let prepared = link.until(prepared).await?;
        Ok(PostgresConn {
            client,
            link,
            statements: prepared,
            workload_statements: statements.len(),
            tx: Tx::new(),
            branch: None,
        })
    }

    /// Gives every row of a statement to `take`, up to the first that it refuses.
    #[inline]
    async fn each(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        mut take: impl FnMut(&Current<'_>) -> Result<(), ColumnError>,
    ) -> Result<(), Fault> {
        let statement = &self.statements[usize::from(stmt.0)];
        let params = params.iter().map(|param| Bound(*param));
        let (client, mut refused) = (&self.client, Ok(()));
        let asked = async {
            let rows: RowStream = client.query_raw(statement, params).await?;
            let mut rows = pin!(rows);
            // To the end, also when a row was refused: the next statement must find the connection idle.
            while let Some(row) = rows.next().await {
                let row = row?;
                if refused.is_ok() {
                    refused = take(&Current(&row));
                }
            }
            Ok(())
        };
        if let Err(error) = self.link.until(asked).await {
            return Err(self.tx.fault(&error));
        }
        Ok(refused?)
    }
}

/// Sends a statement when it is first polled.
async fn execute(client: &Client, statement: &Statement, params: &[Param<'_>]) -> Result<u64, Error> {
    client.execute_raw(statement, params.iter().map(|param| Bound(*param))).await
}

impl Transacting for PostgresConn {
    fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    fn is_connected(&self) -> bool {
        self.link.is_open()
    }

    async fn control(&mut self, control: Control) -> Result<(), Error> {
        let statement = &self.statements[self.workload_statements + control as usize];
        let nothing: [Bound<'_>; 0] = [];
        self.link.until(self.client.execute_raw(statement, nothing)).await.map(drop)
    }
}

impl SqlConn for PostgresConn {
    const DIALECT: Dialect = Dialect::Postgres;
    const IDLE_MAX: Nanos = Link::IDLE_MAX;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        tx::begin(self, tx).await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        tx::commit(self).await
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        tx::rollback(self).await
    }

    async fn is_alive(&mut self) -> bool {
        self.link.look().await
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let statement = &self.statements[usize::from(stmt.0)];
        let params = params.iter().map(|param| Bound(*param));
        let asked = self.client.execute_raw(statement, params);
        self.link.until(asked).await.map_err(|error| self.tx.fault(&error))
    }

    async fn begin_with(&mut self, statements: &[(StmtId, &[Param<'_>])]) -> Result<Vec<u64>, Fault> {
        tx::start(self, TxKind::Write).await?;
        self.tx.open = true;
        let begin = self.workload_statements + Control::BeginWrite as usize;
        let begin = execute(&self.client, &self.statements[begin], &[]);
        let asked = statements
            .iter()
            .map(|(stmt, params)| execute(&self.client, &self.statements[usize::from(stmt.0)], params));
        // What is joined is sent in its order when it is first polled, before the first response.
        let answered = self.link.until(try_join(begin, try_join_all(asked))).await;
        answered.map(|(_, changed)| changed).map_err(|error| self.tx.fault(&error))
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

/// What a server says to whoever decides a branch that is not there: undefined object.
const NO_BRANCH: &str = "42704";
/// To whoever prepares a branch that is there already: it is left from an attempt that no one has decided yet.
const BRANCH_EXISTS: &str = "42710";

impl PostgresConn {
    async fn batch(&mut self, text: &str) -> Result<(), Error> {
        self.link.until(self.client.batch_execute(text)).await
    }

    async fn decide(&mut self, text: &str) -> Result<bool, Fault> {
        match self.batch(text).await {
            Ok(()) => Ok(true),
            Err(error) if error.code().is_some_and(|code| code.code() == NO_BRANCH) => Ok(false),
            Err(error) => Err(fault(&error, true)),
        }
    }

    async fn column(&mut self, query: &str) -> Result<Vec<String>, Fault> {
        let rows = self.link.until(self.client.query(query, &[])).await;
        let rows = rows.map_err(|error| fault(&error, false))?;
        let values: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        values.map_err(|error| fault(&error, false))
    }
}

impl TwoPhase for PostgresConn {
    async fn enlist(&mut self) -> Result<String, Fault> {
        let set = format!("set lock_timeout = '{LOCK_WAIT_S}s'");
        self.batch(&set).await.map_err(|error| fault(&error, false))?;
        let kept = self.column("select current_setting('max_prepared_transactions')").await?;
        if kept == ["0"] {
            let why = "the server keeps no prepared transactions; set max_prepared_transactions to its max_connections";
            return Err(Fault::defect(DefectKind::Engine, why));
        }
        Ok(self.column("select current_database()::text").await?.swap_remove(0))
    }

    async fn begin_branch(&mut self, id: BranchId) -> Result<(), Fault> {
        self.begin(TxKind::Write).await?;
        self.branch = Some(id);
        Ok(())
    }

    async fn prepare(&mut self) -> Result<(), Fault> {
        let id = self.branch.take().ok_or_else(|| Fault::defect(DefectKind::Engine, "there is no branch"))?;
        self.tx.open = false;
        let prepared = self.batch(&format!("prepare transaction '{id}'")).await;
        prepared.map_err(|error| match error.code() {
            Some(code) if code.code() == BRANCH_EXISTS => Fault::Conflict(Conflict::Busy),
            _ => fault(&error, false),
        })
    }

    async fn commit_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        self.decide(&format!("commit prepared '{id}'")).await
    }

    async fn rollback_prepared(&mut self, id: BranchId) -> Result<bool, Fault> {
        self.decide(&format!("rollback prepared '{id}'")).await
    }

    async fn prepared(&mut self) -> Result<Vec<BranchId>, Fault> {
        let found =
            "select gid from pg_prepared_xacts where database = current_database() and owner = current_user";
        Ok(self.column(found).await?.iter().filter_map(|id| BranchId::parse(id)).collect())
    }
}

/// The row at hand.
struct Current<'a>(&'a Row);

/// A column as it came.
struct Raw<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Raw<'a>, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Current<'_> {
    #[inline]
    fn value(&self, index: usize) -> Result<(&Type, Option<&[u8]>), ColumnError> {
        match (self.0.columns().get(index), self.0.try_get::<_, Raw<'_>>(index)) {
            (Some(column), Ok(Raw(raw))) => Ok((column.type_(), raw)),
            _ => Err(ColumnError::new(index, "there")),
        }
    }
}

impl Columns for Current<'_> {
    fn int(&self, index: usize) -> Result<i64, ColumnError> {
        let (found, raw) = self.value(index)?;
        raw.and_then(|raw| value::int(found, raw)).ok_or_else(|| ColumnError::new(index, "a whole number"))
    }

    fn int_or_null(&self, index: usize) -> Result<Option<i64>, ColumnError> {
        let (found, raw) = self.value(index)?;
        let Some(raw) = raw else { return Ok(None) };
        value::int(found, raw).map(Some).ok_or_else(|| ColumnError::new(index, "a whole number or null"))
    }

    fn scaled(&self, index: usize, digits: u32) -> Result<i64, ColumnError> {
        let (found, raw) = self.value(index)?;
        raw.and_then(|raw| value::scaled(found, raw, digits))
            .ok_or_else(|| ColumnError::new(index, "a number of so few digits"))
    }

    fn text(&self, index: usize) -> Result<&str, ColumnError> {
        let (found, raw) = self.value(index)?;
        raw.and_then(|raw| value::text(found, raw)).ok_or_else(|| ColumnError::new(index, "a text"))
    }
}
