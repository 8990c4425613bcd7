//! Connections that are, stall or panic: what goes wrong below the transactions, where no statement shows it.

use model::{Fault, Home, OpenError, Stack};
use sql::{Dialect, Param, Read, SqlConn, SqlOpener, StmtId, Take, TxKind};
use std::future::pending;

/// What goes wrong inside a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tampering {
    None,
    /// Every so many transactions that ran a statement are rolled back, and reported as committed.
    ForgetsCommit(StmtId, u32),
    KeepsWhatIsRolledBack,
    /// The second execution of a statement in a transaction never returns.
    Stalls(StmtId),
    /// The second execution of a statement in a transaction panics.
    Panics(StmtId),
}

/// Opens connections that are tampered with.
#[derive(Debug)]
pub struct TamperedOpener<O> {
    pub opener: O,
    pub tampering: Tampering,
}

/// A connection that is tampered with.
#[derive(Debug)]
pub struct Tampered<C> {
    conn: C,
    tampering: Tampering,
    /// Executions of the statement in this transaction.
    seen: u32,
    /// Transactions that ran it.
    transactions: u32,
}

impl<C: SqlConn> Tampered<C> {
    async fn meet(&mut self, stmt: StmtId) {
        let watched = match self.tampering {
            Tampering::None | Tampering::KeepsWhatIsRolledBack => return,
            Tampering::ForgetsCommit(watched, _)
            | Tampering::Stalls(watched)
            | Tampering::Panics(watched) => watched,
        };
        self.seen += u32::from(stmt == watched);
        if self.seen == 2 {
            match self.tampering {
                Tampering::Stalls(_) => pending().await,
                Tampering::Panics(_) => panic!("tampered with"),
                Tampering::None | Tampering::ForgetsCommit(..) | Tampering::KeepsWhatIsRolledBack => {}
            }
        }
    }
}

impl<C: SqlConn> SqlConn for Tampered<C> {
    const DIALECT: Dialect = C::DIALECT;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        self.seen = 0;
        self.conn.begin(tx).await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        if let Tampering::ForgetsCommit(_, every) = self.tampering
            && self.seen > 0
        {
            self.transactions += 1;
            if self.transactions.is_multiple_of(every) {
                return self.conn.rollback().await;
            }
        }
        self.conn.commit().await
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        match self.tampering {
            Tampering::KeepsWhatIsRolledBack => self.conn.commit().await,
            _ => self.conn.rollback().await,
        }
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.meet(stmt).await;
        self.conn.exec(stmt, params).await
    }

    async fn begin_with(&mut self, statements: &[(StmtId, &[Param<'_>])]) -> Result<Vec<u64>, Fault> {
        self.seen = 0;
        for (stmt, _) in statements {
            self.meet(*stmt).await;
        }
        self.conn.begin_with(statements).await
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.meet(stmt).await;
        self.conn.row(stmt, params, read).await
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.meet(stmt).await;
        self.conn.fold(stmt, params, state, take).await
    }

    fn waited(&mut self) -> model::Nanos {
        self.conn.waited()
    }
}

impl<O: SqlOpener> SqlOpener for TamperedOpener<O> {
    type Conn = Tampered<O::Conn>;
    const HOME: Home = O::HOME;

    async fn open(&self) -> Result<Self::Conn, OpenError> {
        let conn = self.opener.open().await?;
        Ok(Tampered { conn, tampering: self.tampering, seen: 0, transactions: 0 })
    }

    fn stack(&self) -> Stack {
        self.opener.stack()
    }
}
