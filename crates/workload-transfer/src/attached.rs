//! Transfers between two stores by one commit, where an engine can commit in both of them at once.
//!
//! It is one transaction with both parts, so that there is nothing to decide, to relay or to recover. Accounts are locked in the
//! order of the stores by the session that begins the transaction.

use crate::router::Way;
use crate::{Call, Outcome, Router, SqlSession, Transfer, Transfers};
use model::{CallWork, Clock, DefectKind, Fault, Session, StatementTimes};
use sql::{Attached, SqlConn, TxKind};

/// A session in each store, and one over all of them.
#[derive(Debug)]
pub struct AttachedSession<C, K> {
    stores: Vec<SqlSession<C, K>>,
    over_all: SqlSession<C, K>,
    router: Router,
    /// The store of the last call; `None` where it crossed.
    last: Option<usize>,
}

impl<C: Attached, K: Clock> AttachedSession<C, K> {
    /// A session over one in each store, in their order, and one whose connection reaches all of them.
    pub const fn new(
        stores: Vec<SqlSession<C, K>>,
        over_all: SqlSession<C, K>,
        router: Router,
    ) -> AttachedSession<C, K> {
        AttachedSession { stores, over_all, router, last: None }
    }
}

async fn cross<C: Attached, K: Clock>(
    session: &mut SqlSession<C, K>,
    asked: &Transfer,
    ends: [usize; 2],
) -> Result<Outcome, Fault> {
    session.conn.within(ends);
    session.conn.begin(TxKind::Write).await?;
    let made = parts(session, asked, ends).await;
    session.end(made).await
}

async fn parts<C: Attached, K: Clock>(
    session: &mut SqlSession<C, K>,
    asked: &Transfer,
    [source, target]: [usize; 2],
) -> Result<Outcome, Fault> {
    session.conn.at(source);
    let (outcome, taken) = session.take(asked).await?;
    session.conn.at(target);
    match taken && !session.give(asked).await? {
        true => Err(Fault::defect(DefectKind::BadData, "money has arrived that was not sent")),
        false => Ok(outcome),
    }
}

impl<C: Attached, K: Clock> Session<Transfers> for AttachedSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let Way { here, crosses } = self.router.way(call)?;
        self.last = crosses.is_none().then_some(here);
        let Some((crossed, to)) = crosses else { return self.stores[here].run(call, work).await };
        self.over_all.conn.start(work);
        let result = cross(&mut self.over_all, crossed, [here, to]).await;
        self.over_all.conn.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.last.map_or(&self.over_all, |store| &self.stores[store]).statement_times()
    }
}
