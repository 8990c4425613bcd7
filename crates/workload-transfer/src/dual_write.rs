//! Transfers between two stores as they are often written, and as none should be: the debit commits, then the credit does, and
//! nothing records that one is to follow.
//!
//! As long as no one dies in between, all is as with the other ways. Who dies there has taken money that arrives nowhere, and
//! answers a key that comes again as if it had. It is here to be caught at that.

use crate::last::Last;
use crate::router::Way;
use crate::{Call, Outcome, Router, SqlSession, Transfer, Transfers};
use model::{CallWork, Clock, DefectKind, Doubt, Fault, Session, StatementTimes};
use sql::{SqlConn, TxKind};

/// A session in each store, and two transactions for a transfer between two of them.
#[derive(Debug)]
pub struct DualWriteSession<C, K> {
    stores: Vec<SqlSession<C, K>>,
    router: Router,
    last: Last,
}

impl<C: SqlConn, K: Clock> DualWriteSession<C, K> {
    /// A session over one in each store, in their order.
    pub fn new(stores: Vec<SqlSession<C, K>>, router: Router) -> DualWriteSession<C, K> {
        DualWriteSession { stores, router, last: Last::default() }
    }

    async fn cross(&mut self, asked: &Transfer, ends: [usize; 2]) -> Result<Outcome, Fault> {
        let Ok([source, target]) = self.stores.get_disjoint_mut(ends) else {
            return Err(Fault::defect(DefectKind::BadCall, "a transfer is in one store"));
        };
        target.conn.check_alive().await?;
        let (outcome, taken) = debit(source, asked).await?;
        if taken {
            credit(target, asked).await.map_err(|fault| match fault {
                // The debit is committed: this call was attempted.
                Fault::Refused(_) => Fault::InDoubt(Doubt::ConnectionLost),
                fault => fault,
            })?;
        }
        Ok(outcome)
    }
}

async fn debit<C: SqlConn, K: Clock>(
    source: &mut SqlSession<C, K>,
    asked: &Transfer,
) -> Result<(Outcome, bool), Fault> {
    source.conn.begin(TxKind::Write).await?;
    let taken = source.take(asked).await;
    source.end(taken).await
}

async fn credit<C: SqlConn, K: Clock>(
    target: &mut SqlSession<C, K>,
    asked: &Transfer,
) -> Result<bool, Fault> {
    target.conn.begin(TxKind::Write).await?;
    let wanted = target.give(asked).await;
    target.end(wanted).await
}

impl<C: SqlConn, K: Clock> Session<Transfers> for DualWriteSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let Way { here, crosses } = self.router.way(call)?;
        let Some((crossed, to)) = crosses else {
            self.last.within(here);
            return self.stores[here].run(call, work).await;
        };
        let ends = [here, to];
        for end in ends {
            self.stores[end].conn.start(work);
        }
        let result = self.cross(crossed, ends).await;
        for end in ends {
            self.stores[end].conn.move_into(work);
        }
        let parts = ends.into_iter().filter_map(|end| self.stores[end].statement_times());
        self.last.across(work.clocked, parts);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.last.statement_times(&self.stores)
    }
}
