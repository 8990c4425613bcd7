//! Transfers between two stores by two-phase commit.
//!
//! The target's part is prepared; the source's part commits, and with it the row of the transfer, which is the decision; then
//! the target's part is committed. What was prepared and is not decided is rolled back (presumed abort). The row is written
//! before anything is prepared, in a transaction that stays open until it decides: whoever wants to know what was decided
//! tries to write the same row, and so waits for those who have not decided yet.

use crate::oracle::Kept;
use crate::{Call, Cardinality, Key, Outcome, SqlSession, State, Transfer, Transfers};
use model::{Clock, DefectKind, Effort, Fault, Session, StatementTimes};
use sql::{BranchId, SqlConn, TwoPhase, TxKind};

/// A session in each store.
#[derive(Debug)]
pub struct TwoPhaseSession<C, K> {
    stores: Vec<SqlSession<C, K>>,
    branches: Branches,
    size: Cardinality,
    /// The store of the last call's source.
    last: usize,
}

impl<C: TwoPhase, K: Clock> TwoPhaseSession<C, K> {
    /// A session over one in each store, in their order.
    ///
    /// # Errors
    /// An engine keeps no prepared transactions, or is gone: which store it is.
    pub async fn new(
        mut stores: Vec<SqlSession<C, K>>,
        size: Cardinality,
    ) -> Result<TwoPhaseSession<C, K>, (usize, Fault)> {
        let branches = Branches::of(&mut stores).await?;
        Ok(TwoPhaseSession { stores, branches, size, last: 0 })
    }

    async fn cross(&mut self, asked: &Transfer) -> Result<Outcome, Fault> {
        let (from, to) = (self.shard_of(asked.source), self.shard_of(asked.target));
        let Ok([source, target]) = self.stores.get_disjoint_mut([from, to]) else {
            return Err(Fault::defect(DefectKind::BadCall, "there are not as many stores as the data has"));
        };
        let id = self.branches.id(to, asked.source, asked.key);
        source.conn.begin(TxKind::Write).await?;
        if let Err(fault) = target.conn.begin_branch(id).await {
            let _ = source.conn.rollback().await;
            return Err(fault);
        }
        // What the parts say tells more than what their roll-backs do.
        match parts(source, target, asked, from < to).await {
            Err(fault) => {
                let _ = source.conn.rollback().await;
                let _ = target.conn.rollback().await;
                Err(fault)
            }
            // Nothing is moved, and what the source has to say of it is written by itself. The target's part ends after that of
            // the source, whose statements would count its time once more.
            Ok((outcome, false)) => {
                let committed = source.conn.commit().await;
                let undone = target.conn.rollback().await;
                committed?;
                undone?;
                Ok(outcome)
            }
            Ok((outcome, true)) => {
                decide(source, target, id).await?;
                Ok(outcome)
            }
        }
    }

    fn shard_of(&self, account: u32) -> usize {
        self.size.shard_of(account) as usize
    }
}

/// Both parts, in the order of their stores: of two transfers between the same accounts one waits for the other.
async fn parts<C: TwoPhase, K: Clock>(
    source: &mut SqlSession<C, K>,
    target: &mut SqlSession<C, K>,
    asked: &Transfer,
    source_first: bool,
) -> Result<(Outcome, bool), Fault> {
    let mut given = if source_first { false } else { target.give(asked).await? };
    let (outcome, taken) = source.take(asked).await?;
    if source_first && taken {
        given = target.give(asked).await?;
    }
    match taken && !given {
        true => Err(Fault::defect(DefectKind::BadData, "money has arrived that was not sent")),
        false => Ok((outcome, taken)),
    }
}

/// Prepares the target's part, and commits both.
async fn decide<C: TwoPhase, K: Clock>(
    source: &mut SqlSession<C, K>,
    target: &mut SqlSession<C, K>,
    id: BranchId,
) -> Result<(), Fault> {
    if let Err(fault) = target.conn.prepare().await {
        let _ = source.conn.rollback().await;
        let _ = target.conn.rollback().await;
        // It may have been prepared all the same. What cannot be rolled back now is left to recovery.
        let _ = target.conn.rollback_prepared(id).await;
        return Err(fault);
    }
    match source.conn.commit().await {
        Ok(()) => {}
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

impl<C: TwoPhase, K: Clock> Session<Transfers> for TwoPhaseSession<C, K> {
    async fn run(&mut self, call: &Call, effort: &mut Effort) -> Result<Outcome, Fault> {
        self.last = self.shard_of(call.account());
        let crossed = match call {
            Call::Transfer { transfer, .. } if self.shard_of(transfer.target) != self.last => transfer,
            _ => return self.stores[self.last].run(call, effort).await,
        };
        let ends = [self.last, self.shard_of(crossed.target)];
        for end in ends {
            self.stores[end].conn.start(effort);
        }
        let result = self.cross(crossed).await;
        for end in ends {
            self.stores[end].conn.settle(effort);
        }
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.stores[self.last].statement_times()
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
    ///
    /// # Errors
    /// A store is gone.
    pub async fn in_doubt(&mut self) -> Result<Vec<(usize, BranchId)>, Fault> {
        let mut found = Vec::new();
        for (at, store) in self.stores.iter_mut().enumerate() {
            let here = store.conn.prepared().await?.into_iter();
            let ours = here.filter(|id| self.branches.transfer(at, *id).is_some());
            found.extend(ours.map(|id| (at, id)));
        }
        Ok(found)
    }
}

/// Decides branches that somebody has prepared and not decided: each as the store of its source says.
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
        let from = session.shard_of(source);
        let size = session.size;
        let Ok([decider, store]) = session.stores.get_disjoint_mut([from, *to]) else { continue };
        decider.conn.begin(TxKind::Write).await?;
        let ended = match decided(decider, source, key).await {
            Ok(Some(transfer)) if size.shard_of(transfer.target) as usize == *to => {
                store.conn.commit_prepared(*id).await.map(|there| (there, &mut recovered.committed))
            }
            Ok(_) => store.conn.rollback_prepared(*id).await.map(|there| (there, &mut recovered.rolled_back)),
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
/// decided yet, and nobody can write it until this transaction is rolled back.
async fn decided<C: SqlConn, K: Clock>(
    decider: &mut SqlSession<C, K>,
    source: u32,
    key: Key,
) -> Result<Option<Transfer>, Fault> {
    let nobody = Transfer { key, source, target: source, amount: 1 };
    if decider.insert(&Kept { transfer: nobody, state: State::Declined, balance: 0 }).await? {
        return Ok(None);
    }
    let kept = decider.kept(source, key).await?;
    Ok(kept.filter(|kept| kept.state == State::Completed).map(|kept| kept.transfer))
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
