//! Transfers between two stores by two-phase commit.
//!
//! The target's part is prepared; the source's part commits, and with it the row of the transfer, which is the decision; then
//! the target's part is committed. What was prepared and is not decided is rolled back (presumed abort). The row is written
//! before anything is prepared, in a transaction that stays open until it decides: whoever wants to know what was decided
//! tries to write the same row, and so waits for those who have not decided yet.
//!
//! With a log the source's part is prepared too, and the decision is a row of its own, which commits by itself over another
//! connection: the form that textbooks have. It is written before anything is prepared too, and for the same reason.

use crate::last::Last;
use crate::oracle::StoredTransfer;
use crate::router::Way;
use crate::{Call, Key, Outcome, Router, SqlSession, State, Transfer, Transfers};
use model::{CallWork, Clock, Conflict, DefectKind, Fault, Session, StatementTimes};
use sql::{BranchId, SqlConn, TwoPhase, TxKind};

/// A session in each store.
#[derive(Debug)]
pub struct TwoPhaseSession<C, K> {
    stores: Vec<SqlSession<C, K>>,
    /// In each store one more for decisions, where they are written by themselves.
    log: Vec<SqlSession<C, K>>,
    branches: Branches,
    router: Router,
    last: Last,
    reached: fn(CommitPhase),
}

/// A moment of a transfer between stores at which its coordinator leaves work to whoever recovers, if it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPhase {
    /// All parts that wait for the decision are prepared, and nothing is decided.
    Prepared,
    /// The decision is committed, and no prepared part is.
    Decided,
}

impl<C: TwoPhase, K: Clock> TwoPhaseSession<C, K> {
    /// A session over one in each store, in their order; and where decisions are to be written by themselves, over another one
    /// in each.
    ///
    /// # Errors
    /// An engine keeps no prepared transactions, or is gone: which store it is.
    pub async fn new(
        mut stores: Vec<SqlSession<C, K>>,
        mut log: Vec<SqlSession<C, K>>,
        router: Router,
    ) -> Result<TwoPhaseSession<C, K>, (usize, Fault)> {
        let branches = Branches::of(&mut stores).await?;
        Branches::of(&mut log).await?;
        let reached = |_| ();
        Ok(TwoPhaseSession { stores, log, branches, router, last: Last::default(), reached })
    }

    /// The same, which calls `reached` in each phase of each transfer between stores.
    #[must_use]
    pub fn watched(self, reached: fn(CommitPhase)) -> TwoPhaseSession<C, K> {
        TwoPhaseSession { reached, ..self }
    }

    async fn cross(&mut self, asked: &Transfer, [from, to]: [usize; 2]) -> Result<Outcome, Fault> {
        let Ok([source, target]) = self.stores.get_disjoint_mut([from, to]) else {
            return Err(Fault::defect(DefectKind::BadCall, "there are not as many stores as the data has"));
        };
        let id = self.branches.id(to, asked.source, asked.key);
        if let Some(log) = self.log.get_mut(from) {
            let own = self.branches.id(from, asked.source, asked.key);
            return logged(log, [source, target], [own, id], asked, from < to, self.reached).await;
        }
        source.conn.begin(TxKind::Write).await?;
        if let Err(fault) = target.conn.begin_branch(id).await {
            let _ = source.conn.rollback().await;
            return Err(fault);
        }
        // The faults of the parts explain more than those of their roll-backs.
        match parts(source, target, asked, from < to).await {
            Err(fault) => {
                let _ = source.conn.rollback().await;
                let _ = target.conn.rollback().await;
                Err(fault)
            }
            // Nothing is moved, and the source's row about it is written by itself. The target's part ends after that of
            // the source, whose statements would count its time once more.
            Ok((outcome, false)) => {
                let committed = source.conn.commit().await;
                let undone = target.conn.rollback().await;
                committed?;
                undone?;
                Ok(outcome)
            }
            Ok((outcome, true)) => {
                decide(source, target, id, self.reached).await?;
                Ok(outcome)
            }
        }
    }
}

/// Both parts, in the order of their stores: of two transfers between the same accounts one waits for the other.
async fn parts<C: TwoPhase, K: Clock>(
    source: &mut SqlSession<C, K>,
    target: &mut SqlSession<C, K>,
    asked: &Transfer,
    source_first: bool,
) -> Result<(Outcome, bool), Fault> {
    let mut wanted = if source_first { false } else { target.give(asked).await? };
    let (outcome, taken) = source.take(asked).await?;
    if source_first && taken {
        wanted = target.give(asked).await?;
    }
    match taken && !wanted {
        true => Err(Fault::defect(DefectKind::BadData, "money has arrived that was not sent")),
        false => Ok((outcome, taken)),
    }
}

/// Prepares the target's part, and commits both.
async fn decide<C: TwoPhase, K: Clock>(
    source: &mut SqlSession<C, K>,
    target: &mut SqlSession<C, K>,
    id: BranchId,
    reached: fn(CommitPhase),
) -> Result<(), Fault> {
    if let Err(fault) = target.conn.prepare().await {
        let _ = source.conn.rollback().await;
        let _ = target.conn.rollback().await;
        // It may have been prepared all the same. What cannot be rolled back now is left to recovery.
        let _ = target.conn.rollback_prepared(id).await;
        return Err(fault);
    }
    reached(CommitPhase::Prepared);
    match source.conn.commit().await {
        Ok(()) => reached(CommitPhase::Decided),
        Err(fault @ Fault::InDoubt(_)) => return Err(fault),
        Err(fault) => {
            let _ = source.conn.rollback().await;
            let _ = target.conn.rollback_prepared(id).await;
            return Err(fault);
        }
    }
    // The money will arrive whatever happens here: it is decided, and recovery commits what this cannot.
    let _ = target.conn.commit_prepared(id).await;
    Ok(())
}

/// Both parts are prepared, then the decision commits, then both are committed.
async fn logged<C: TwoPhase, K: Clock>(
    log: &mut SqlSession<C, K>,
    [source, target]: [&mut SqlSession<C, K>; 2],
    ids: [BranchId; 2],
    asked: &Transfer,
    source_first: bool,
    reached: fn(CommitPhase),
) -> Result<Outcome, Fault> {
    log.conn.begin(TxKind::Write).await?;
    // Whatever ends before the log does is in its time.
    source.conn.counted_elsewhere(true);
    target.conn.counted_elsewhere(true);
    let parted = match log.log(asked).await {
        Ok(true) => branches([&mut *source, &mut *target], ids, asked, source_first).await,
        // It was decided before, and what was answered is with the source.
        Ok(false) => Ok(None),
        Err(fault) => Err(fault),
    };
    source.conn.counted_elsewhere(false);
    target.conn.counted_elsewhere(false);
    if !matches!(parted, Ok(Some(_))) {
        let _ = log.conn.rollback().await;
    }
    let Some(outcome) = parted? else { return in_one_store(source, asked).await };
    reached(CommitPhase::Prepared);
    match log.conn.commit().await {
        Ok(()) => reached(CommitPhase::Decided),
        Err(fault @ Fault::InDoubt(_)) => return Err(fault),
        Err(fault) => {
            let _ = log.conn.rollback().await;
            undo([source, target], ids).await;
            return Err(fault);
        }
    }
    // As with a decision in the source's store: recovery commits what this cannot.
    let _ = source.conn.commit_prepared(ids[0]).await;
    let _ = target.conn.commit_prepared(ids[1]).await;
    Ok(outcome)
}

/// Both parts, prepared; nothing, and nothing is left of them, where no money is to be moved.
async fn branches<C: TwoPhase, K: Clock>(
    [source, target]: [&mut SqlSession<C, K>; 2],
    ids: [BranchId; 2],
    asked: &Transfer,
    source_first: bool,
) -> Result<Option<Outcome>, Fault> {
    let made = async {
        source.conn.begin_branch(ids[0]).await?;
        target.conn.begin_branch(ids[1]).await?;
        parts(source, target, asked, source_first).await
    };
    match made.await {
        Ok((outcome, true)) => {
            let prepared = async {
                target.conn.prepare().await?;
                source.conn.prepare().await
            };
            if let Err(fault) = prepared.await {
                undo([source, target], ids).await;
                return Err(fault);
            }
            Ok(Some(outcome))
        }
        ended => {
            let _ = source.conn.rollback().await;
            let _ = target.conn.rollback().await;
            ended.map(|_| None)
        }
    }
}

/// Rolls both back, prepared or not. What cannot be rolled back now is left to recovery.
async fn undo<C: TwoPhase, K: Clock>(ends: [&mut SqlSession<C, K>; 2], ids: [BranchId; 2]) {
    for (end, id) in ends.into_iter().zip(ids) {
        let _ = end.conn.rollback().await;
        let _ = end.conn.rollback_prepared(id).await;
    }
}

/// The source's row about a transfer that moves nothing, written by itself.
async fn in_one_store<C: TwoPhase, K: Clock>(
    source: &mut SqlSession<C, K>,
    asked: &Transfer,
) -> Result<Outcome, Fault> {
    source.conn.begin(TxKind::Write).await?;
    let text = match source.take(asked).await {
        Ok((outcome, false)) => Ok(outcome),
        // It holds more by now, and the money must go both ways or none.
        Ok((_, true)) => Err(Fault::Conflict(Conflict::Busy)),
        Err(fault) => Err(fault),
    };
    source.end(text).await
}

impl<C: TwoPhase, K: Clock> Session<Transfers> for TwoPhaseSession<C, K> {
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
        if let Some(log) = self.log.get_mut(here) {
            log.conn.start(work);
        }
        let result = self.cross(crossed, ends).await;
        for end in ends {
            self.stores[end].conn.move_into(work);
        }
        if let Some(log) = self.log.get_mut(here) {
            log.conn.move_into(work);
        }
        let parts = ends.map(|end| &self.stores[end]).into_iter().chain(self.log.get(here));
        self.last.across(work.clocked, parts.filter_map(|part| part.statement_times()));
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.last.statement_times(&self.stores)
    }
}

/// How branches are named in each store.
#[derive(Debug, Clone)]
pub struct Branches {
    /// A digest of the name of each store's database: a server may have several.
    databases: Vec<u32>,
}

impl Branches {
    async fn of<C: TwoPhase, K: Clock>(stores: &mut [SqlSession<C, K>]) -> Result<Branches, (usize, Fault)> {
        let mut databases = Vec::with_capacity(stores.len());
        for (at, store) in stores.iter_mut().enumerate() {
            let name = store.conn.enlist().await.map_err(|fault| (at, fault))?;
            databases.push(digest(&name));
        }
        Ok(Branches { databases })
    }

    fn id(&self, target: usize, source: u32, key: Key) -> BranchId {
        let Key { run, worker, sequence } = key;
        BranchId {
            transaction: u128::from(run) << 64 | u128::from(worker) << 32 | u128::from(sequence),
            branch: u64::from(source) << 32 | u64::from(self.databases[target]),
        }
    }

    /// The source and the key of a transfer whose branch in a store has this name; nothing if it belongs to another database.
    fn transfer(&self, target: usize, id: BranchId) -> Option<(u32, Key)> {
        let BranchId { transaction, branch } = id;
        let key = Key {
            run: (transaction >> 64) as u64,
            worker: (transaction >> 32) as u32,
            sequence: transaction as u32,
        };
        (branch as u32 == self.databases[target]).then_some(((branch >> 32) as u32, key))
    }
}

/// FNV-1a of 32 bits.
fn digest(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// What became of branches in doubt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Those whose transfer had been decided: they are committed.
    pub committed: u32,
    /// Those whose transfer had not: they are rolled back.
    pub rolled_back: u32,
    /// Those that are left, because their owner is still connected or the transfer is being decided just now.
    pub left: u32,
}

impl<C: TwoPhase, K: Clock> TwoPhaseSession<C, K> {
    /// The branches of all stores that are prepared now, by store.
    pub async fn in_doubt(&mut self) -> Result<Vec<(usize, BranchId)>, Fault> {
        let mut found = Vec::new();
        for (at, store) in self.stores.iter_mut().enumerate() {
            let here = store.conn.prepared().await?.into_iter();
            let ours = here.filter(|id| self.branches.transfer(at, *id).is_some());
            found.extend(ours.map(|id| (at, id)));
        }
        // The source's store knows the outcome of a transfer once its own branch is decided.
        found.sort_by_key(|(at, id)| {
            let its = self.branches.transfer(*at, *id).map(|(source, _)| self.router.store_of(source));
            its != Some(*at)
        });
        Ok(found)
    }
}

/// Decides branches that someone has prepared and not decided: each as its source's store decided, and those of the source
/// itself, which only a coordinator with a log leaves, as the log decided. A session without one leaves those.
///
/// # Errors
/// A store is gone; the rest is left for another time.
pub async fn recover<C: TwoPhase, K: Clock>(
    session: &mut TwoPhaseSession<C, K>,
    found: &[(usize, BranchId)],
) -> Result<Recovered, Fault> {
    let mut recovered = Recovered::default();
    for (to, id) in found {
        let Some((source, key)) = session.branches.transfer(*to, *id) else { continue };
        let from = session.router.store_of(source);
        let is_own = from == *to;
        let (decider, store) = match session.stores.get_disjoint_mut([from, *to]) {
            Ok([decider, store]) => (decider, store),
            Err(_) => match (session.log.get_mut(from), session.stores.get_mut(from)) {
                (Some(log), Some(store)) => (log, store),
                _ => {
                    recovered.left += 1;
                    continue;
                }
            },
        };
        decider.conn.begin(TxKind::Write).await?;
        let is_decided = match is_own {
            true => is_logged(decider, source, key).await,
            false => decided(decider, source, key)
                .await
                .map(|made| made.is_some_and(|made| session.router.store_of(made.target) == *to)),
        };
        let ended = match is_decided {
            Ok(true) => store.conn.commit_prepared(*id).await.map(|there| (there, &mut recovered.committed)),
            Ok(false) => {
                store.conn.rollback_prepared(*id).await.map(|there| (there, &mut recovered.rolled_back))
            }
            Err(Fault::Conflict(_)) => Ok((false, &mut recovered.rolled_back)),
            Err(fault) => Err(fault),
        };
        // Only now may the key be used again, whose row kept others from it.
        let released = decider.conn.rollback().await;
        match ended? {
            (true, count) => *count += 1,
            (false, _) => recovered.left += 1,
        }
        released?;
    }
    Ok(recovered)
}

/// The transfer of a key if it was made, found by writing one of the same key: it waits for whoever has written it and not
/// decided yet, and no one can write it until this transaction is rolled back.
async fn decided<C: SqlConn, K: Clock>(
    decider: &mut SqlSession<C, K>,
    source: u32,
    key: Key,
) -> Result<Option<Transfer>, Fault> {
    let placeholder = Transfer { key, source, target: source, amount: 1 };
    if decider.insert(&StoredTransfer { transfer: placeholder, state: State::Declined, balance: 0 }).await? {
        return Ok(None);
    }
    let kept = decider.kept(source, key).await?;
    Ok(kept.filter(|kept| kept.state == State::Completed).map(|kept| kept.transfer))
}

/// Whether the log says that a transfer is committed, found in the same way.
async fn is_logged<C: SqlConn, K: Clock>(
    log: &mut SqlSession<C, K>,
    source: u32,
    key: Key,
) -> Result<bool, Fault> {
    let placeholder = Transfer { key, source, target: source, amount: 1 };
    log.log(&placeholder).await.map(|is_new| !is_new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_says_which_transfer_it_is_of_and_in_which_database() {
        let branches = Branches { databases: vec![digest("one"), digest("two")] };
        let key = Key { run: 0x8123_4567_89ab_cdef, worker: 7, sequence: 19 };
        let id = branches.id(1, 20_001, key);
        assert_eq!(branches.transfer(1, id), Some((20_001, key)));
        assert_eq!(branches.transfer(0, id), None, "another database of the same server");
        assert!(id.to_string().starts_with(&key.to_string()));
    }
}
