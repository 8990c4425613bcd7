//! Counts and clocks what a transaction does: the work fingerprint of a call comes from here for every adapter.

use crate::{Dialect, Grouping, Param, Read, SqlConn, StmtId, TxKind};
use model::{Clock, Effort, Fault, Nanos};

/// Wraps a connection.
///
/// Four clock readings a transaction and not two a statement: 46 statements of a New-Order at 50 ns each would be more
/// than the whole seam may cost. What lies between begin and commit is therefore one span, logic included.
#[derive(Debug)]
pub struct Timed<C, K> {
    conn: C,
    clock: K,
    effort: Effort,
    begun: Nanos,
}

impl<C: SqlConn, K: Clock> Timed<C, K> {
    /// Wraps a connection.
    pub fn new(conn: C, clock: K) -> Timed<C, K> {
        Timed { conn, clock, effort: Effort::default(), begun: Nanos::ZERO }
    }

    /// Adds what was done since the last time to `effort`.
    pub fn settle(&mut self, effort: &mut Effort) {
        *effort += std::mem::take(&mut self.effort);
    }

    #[inline]
    fn count(&mut self, rows: u32) {
        self.effort.statements += 1;
        self.effort.rows += rows;
    }
}

impl<C: SqlConn, K: Clock> SqlConn for Timed<C, K> {
    const DIALECT: Dialect = C::DIALECT;

    #[inline]
    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        let asked = self.clock.now();
        let result = self.conn.begin(tx).await;
        self.begun = self.clock.now();
        let waited = self.conn.waited();
        self.effort.attempts += 1;
        self.effort.spent.pool += waited;
        self.effort.spent.begin += self.begun - asked - waited;
        result
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Fault> {
        let asked = self.clock.now();
        let result = self.conn.commit().await;
        self.effort.spent.statements += asked - self.begun;
        self.effort.spent.commit += self.clock.now() - asked;
        if result.is_ok() {
            self.effort.commits += 1;
            if let Some(grouping) = self.conn.grouping() {
                self.effort.grouped += 1;
                self.effort.groups += u32::from(grouping == Grouping::First);
            }
        }
        result
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        let asked = self.clock.now();
        let result = self.conn.rollback().await;
        self.effort.spent.statements += asked - self.begun;
        self.effort.spent.commit += self.clock.now() - asked;
        result
    }

    #[inline]
    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        let result = self.conn.exec(stmt, params).await;
        if let Ok(changed) = &result {
            self.count(*changed as u32);
        }
        result
    }

    #[inline]
    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        // Looked at where it lies: taken apart and put together again, each row would be copied once more.
        let result = self.conn.row(stmt, params, read).await;
        if let Ok(row) = &result {
            self.count(u32::from(row.is_some()));
        }
        result
    }

    #[inline]
    async fn rows<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
        into: &mut Vec<T>,
    ) -> Result<(), Fault> {
        let before = into.len();
        self.conn.rows(stmt, params, read, into).await?;
        self.count((into.len() - before) as u32);
        Ok(())
    }
}
