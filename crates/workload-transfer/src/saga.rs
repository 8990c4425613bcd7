//! Transfers between two stores by a saga: a call ends where its source is, and a relay does the rest.
//!
//! The source's part commits with a row of the outbox. A [`SagaRelay`] brings what it finds there to the store of the target, where
//! a row of the inbox keeps a transfer from being done twice, and settles the transfer in the store of its source; what is
//! refused is returned. Nothing is locked in two stores at once, so that no one waits for a store that is away but the
//! money that is on its way there. Whatever a relay leaves half done the next one finds in the outbox, and several may
//! work side by side.

use crate::router::Way;
use crate::{Call, Key, Outcome, Router, SqlSession, Transfer, Transfers};
use model::random::Random;
use model::{CallWork, Clock, DefectKind, Fault, Session, StatementTimes};
use sql::{Catalogue, CatalogueError, Dialect, Param, SqlConn, TxKind};

sql::statements! {
    ReadOutbox = "read_outbox",
    InsertInbox = "insert_inbox",
    LockTargets = "lock_targets",
    RefuseCredits = "refuse_credits",
    CreditAccounts = "credit_accounts",
    InsertCredits = "insert_credits",
    ReadInbox = "read_inbox",
    InsertSettlement = "insert_settlement",
    SettleTransfers = "settle_transfers",
    RefundTransfer = "refund_transfer",
    RefundAccount = "refund_account",
    InsertRefund = "insert_refund",
    DeleteMessages = "delete_messages",
    DeleteSettlement = "delete_settlement",
}

/// Names of the statements of a relay, in their order.
pub const RELAY_STATEMENTS: &[&str] = Stmt::NAMES;

/// The statements of a relay for an engine, in the order in which a [`SagaRelay`] numbers them.
pub fn relay_catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/transfer/relay.sql"))?;
    let own = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return canonical.select(Stmt::NAMES),
        Dialect::Postgres => include_str!("../spec/sql/transfer/relay.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/transfer/relay.mysql.sql"),
    };
    canonical.overridden(&Catalogue::parse(own)?)?.select(Stmt::NAMES)
}

/// A session in each store, whose transfers to other stores are left to a relay.
#[derive(Debug)]
pub struct SagaSession<C, K> {
    stores: Vec<SqlSession<C, K>>,
    router: Router,
    /// The store of the last call.
    last: usize,
}

impl<C: SqlConn, K: Clock> SagaSession<C, K> {
    /// A session over one in each store, in their order.
    pub const fn new(stores: Vec<SqlSession<C, K>>, router: Router) -> SagaSession<C, K> {
        SagaSession { stores, router, last: 0 }
    }

    /// Looks at the connection to a call's store before the call is recorded elsewhere.
    ///
    /// # Errors
    /// [`Refusal::Unreachable`](model::Refusal::Unreachable): it was closed between calls.
    pub async fn check_alive(&mut self, call: &Call) -> Result<(), Fault> {
        let Way { here, .. } = self.router.way(call)?;
        self.stores[here].conn.check_alive().await
    }
}

impl<C: SqlConn, K: Clock> Session<Transfers> for SagaSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let Way { here, crosses } = self.router.way(call)?;
        self.last = here;
        self.stores[here].in_store(call, crosses.is_some(), work).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.stores[self.last].statement_times()
    }
}

/// Most messages that a relay takes at once, and as many as it takes unless another number is chosen: the statements for many rows have
/// so many.
pub const RELAY_BATCH: u32 = 64;
const BATCH: usize = RELAY_BATCH as usize;
/// What the store of a target has made of a transfer, as it is stored there.
const REFUSED: i64 = 2;
/// States of a transfer, as they are stored.
const SETTLED: i64 = 4;
const REFUNDED: i64 = 5;

/// Every way from one of so many stores to another, in the same order for all relays.
pub fn directions(stores: usize) -> Vec<(usize, usize)> {
    let all = (0..stores).flat_map(|from| (0..stores).map(move |to| (from, to)));
    all.filter(|(from, to)| from != to).collect()
}

/// What a relay has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relayed {
    /// Transfers whose money has arrived.
    pub settled: u64,
    /// Transfers whose money was returned.
    pub refunded: u64,
    /// Batches that were made of them.
    pub batches: u64,
}

/// A transfer that is on its way.
#[derive(Debug, Clone, Copy)]
struct Message {
    /// When it was accepted, by its store's clock.
    created: i64,
    transfer: Transfer,
    refused: bool,
}

impl Message {
    /// Its key with its source, as they are stored.
    fn names(&self) -> [Param<'static>; 4] {
        let [run, worker, sequence] = self.transfer.key.columns().map(Param::Int);
        [run, worker, sequence, self.transfer.source.into()]
    }
}

/// A connection to each store, for what transfers have left to be done.
#[derive(Debug)]
pub struct SagaRelay<C> {
    stores: Vec<C>,
    /// From which store to which it relays.
    directions: Vec<(usize, usize)>,
    batch_max: u32,
    router: Router,
    /// Names batches, which no other relay may name alike.
    names: Random,
    done: Relayed,
}

impl<C: SqlConn> SagaRelay<C> {
    /// A relay over connections whose statements are those of [`relay_catalogue`], in the order of the stores, and a
    /// stream of random numbers that no other relay has. It relays in these [`directions`], 1 to [`RELAY_BATCH`] messages at once.
    pub fn new(
        stores: Vec<C>,
        directions: Vec<(usize, usize)>,
        batch_max: u32,
        router: Router,
        names: Random,
    ) -> SagaRelay<C> {
        let batch_max = batch_max.clamp(1, RELAY_BATCH);
        SagaRelay { stores, directions, batch_max, router, names, done: Relayed::default() }
    }

    /// Relays a batch in each direction. Gives how much it has done since the last time, and what went wrong in which
    /// store, if anything did: in the other directions it was done all the same.
    pub async fn turn(&mut self) -> (Relayed, Result<(), (usize, Fault)>) {
        let mut wrong = Ok(());
        for at in 0..self.directions.len() {
            let (from, to) = self.directions[at];
            if let Err(fault) = self.relay(from, to).await {
                wrong = wrong.and(Err(fault));
            }
        }
        (std::mem::take(&mut self.done), wrong)
    }

    async fn relay(&mut self, from: usize, to: usize) -> Result<(), (usize, Fault)> {
        let within = self.router.ids(to);
        let batch = self.names.range(1, i64::MAX);
        let Ok([source, target]) = self.stores.get_disjoint_mut([from, to]) else { return Ok(()) };
        let read = read(source, within, self.batch_max).await;
        let mut messages = read.map_err(|fault| (from, fault))?;
        if messages.is_empty() {
            return Ok(());
        }
        let applied = give(target, batch, &mut messages).await;
        applied.map_err(|fault| (to, fault))?;
        let (settled, refunded) = settle(source, batch, &messages).await.map_err(|fault| (from, fault))?;
        self.done.settled += settled;
        self.done.refunded += refunded;
        self.done.batches += 1;
        Ok(())
    }
}

async fn read<C: SqlConn>(source: &mut C, within: [u32; 2], most: u32) -> Result<Vec<Message>, Fault> {
    let take = |row: &dyn sql::Columns| {
        let mut values = [0; 7];
        for (index, value) in values.iter_mut().enumerate() {
            *value = row.int(index)?;
        }
        Ok(values)
    };
    let mut rows = Vec::with_capacity(BATCH);
    let [first, last] = within.map(Param::from);
    source.begin(TxKind::OneRead).await?;
    source.rows(Stmt::ReadOutbox.id(), &[first, last, most.into()], take, &mut rows).await?;
    source.commit().await?;
    let message = |&[created, run, worker, sequence, source, target, amount]: &[i64; 7]| {
        let key = Key::from_columns([run, worker, sequence])?;
        let (source, target) = (u32::try_from(source).ok()?, u32::try_from(target).ok()?);
        Some(Message { created, transfer: Transfer { key, source, target, amount }, refused: false })
    };
    let messages: Option<Vec<Message>> = rows.iter().map(message).collect();
    messages.ok_or_else(|| Fault::defect(DefectKind::BadData, "a message is not that of a transfer"))
}

/// Ends a transaction as its statements have: their fault explains more than that of a roll-back.
pub(crate) async fn end<C: SqlConn, T>(conn: &mut C, done: Result<T, Fault>) -> Result<T, Fault> {
    match done {
        Ok(done) => conn.commit().await.map(|()| done),
        Err(fault) => {
            let _ = conn.rollback().await;
            Err(fault)
        }
    }
}

/// Parameters of a statement for many rows, of which the last is there again in place of those that are missing.
fn many<'a, const N: usize>(rows: impl ExactSizeIterator<Item = [Param<'a>; N]>) -> Vec<Param<'a>> {
    let mut params: Vec<Param<'a>> = rows.flatten().collect();
    while let Some(last) = params.len().checked_sub(N).filter(|_| params.len() < BATCH * N) {
        params.extend_from_within(last..);
    }
    params
}

/// Gives what is new of a batch to its accounts, and notes of each whether it was refused.
async fn give<C: SqlConn>(target: &mut C, batch: i64, messages: &mut [Message]) -> Result<(), Fault> {
    target.begin(TxKind::Write).await?;
    let applied = applied(target, batch, messages).await;
    end(target, applied).await
}

async fn applied<C: SqlConn>(target: &mut C, batch: i64, messages: &mut [Message]) -> Result<(), Fault> {
    let batch = Param::Int(batch);
    let rows = messages.iter().map(|message| {
        let [run, worker, sequence, source] = message.names();
        let Transfer { target, amount, .. } = message.transfer;
        [run, worker, sequence, source, target.into(), amount.into(), batch]
    });
    let new = target.exec(Stmt::InsertInbox.id(), &many(rows)).await?;
    let mut all_known = true;
    if new > 0 {
        let mut known = Vec::with_capacity(BATCH);
        target.rows(Stmt::LockTargets.id(), &[batch], |row| row.int(0), &mut known).await?;
        all_known = messages.iter().all(|message| known.contains(&message.transfer.target.into()));
        if !all_known {
            target.exec(Stmt::RefuseCredits.id(), &[batch]).await?;
        }
        target.exec(Stmt::CreditAccounts.id(), &[batch]).await?;
        target.exec(Stmt::InsertCredits.id(), &[batch]).await?;
    }
    if all_known && new == messages.len() as u64 {
        return Ok(());
    }
    // Some were there before, or were refused.
    for message in messages {
        let state = target.row(Stmt::ReadInbox.id(), &message.names(), |row| row.int(0)).await?;
        let state = state.ok_or_else(|| {
            Fault::defect(DefectKind::BadData, "a message that was taken is not in the inbox")
        })?;
        message.refused = state == REFUSED;
    }
    Ok(())
}

/// Settles a batch where it came from. Gives how many transfers have arrived and how many were returned, of those that
/// no one had settled before.
async fn settle<C: SqlConn>(source: &mut C, batch: i64, messages: &[Message]) -> Result<(u64, u64), Fault> {
    source.begin(TxKind::Write).await?;
    let settled = settled(source, batch, messages).await;
    end(source, settled).await
}

async fn settled<C: SqlConn>(source: &mut C, batch: i64, messages: &[Message]) -> Result<(u64, u64), Fault> {
    let mut refunded = 0;
    for message in messages.iter().filter(|message| message.refused) {
        refunded += u64::from(refund(source, message).await?);
    }
    let batch = Param::Int(batch);
    let rows = messages.iter().map(|message| {
        let [run, worker, sequence, from] = message.names();
        let state = if message.refused { REFUNDED } else { SETTLED };
        [batch, message.created.into(), run, worker, sequence, from, state.into()]
    });
    source.exec(Stmt::InsertSettlement.id(), &many(rows)).await?;
    let settled = source.exec(Stmt::SettleTransfers.id(), &[batch]).await?;
    source.exec(Stmt::DeleteMessages.id(), &[batch]).await?;
    source.exec(Stmt::DeleteSettlement.id(), &[batch]).await?;
    Ok((settled, refunded))
}

/// Gives the money back, unless someone has done so.
async fn refund<C: SqlConn>(source: &mut C, message: &Message) -> Result<bool, Fault> {
    if source.exec(Stmt::RefundTransfer.id(), &message.names()).await? == 0 {
        return Ok(false);
    }
    let Transfer { source: account, amount, .. } = message.transfer;
    if source.exec(Stmt::RefundAccount.id(), &[account.into(), amount.into()]).await? != 1 {
        return Err(Fault::defect(DefectKind::BadData, "an account that has paid is not there any more"));
    }
    let [run, worker, sequence, from] = message.names();
    source.exec(Stmt::InsertRefund.id(), &[run, worker, sequence, from, amount.into()]).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relays_files_hold_what_the_code_asks_for() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            let texts = relay_catalogue(dialect).unwrap();
            assert_eq!(texts.len(), Stmt::NAMES.len());
            assert!(texts[0].ends_with("limit ?3"), "{}", texts[0]);
            for many in [Stmt::InsertInbox, Stmt::InsertSettlement] {
                assert!(texts[many.id().0 as usize].contains(&format!("?{}", BATCH * 7)), "{dialect:?}");
            }
        }
    }

    #[test]
    fn rows_that_are_missing_are_the_last_one_again() {
        let params = many([1_i64, 2].into_iter().map(|row| [Param::Int(row), Param::Int(-row)]));
        assert_eq!(params.len(), BATCH * 2);
        assert_eq!(params[..4], [1_i64, -1, 2, -2].map(Param::Int));
        assert!(params[2..].chunks_exact(2).all(|row| *row == [2_i64, -2].map(Param::Int)));
    }
}
