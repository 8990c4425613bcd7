//! What was sent and what was acknowledged: bounds for what must be stored, by worker, and the transfers in doubt one by one.
//!
//! Keys are made of run, worker and a sequence without gaps. So what a worker was told is kept as sums over its keys, and the
//! store is asked for the same sums: a transfer that is lost, or there twice, or there under another key, changes one of them.

use crate::input::RECENT;
use crate::{Call, Decline, Outcome, State, Transfer, Transfers};
use model::{Fault, LedgerFinding, Workload};
use serde::{Deserialize, Serialize};

mod claims;
mod stored;

pub use claims::Claims;
pub use stored::{Sort, Tally};

/// Kinds of call.
pub(crate) const KINDS: usize = 6;
/// Transfers in doubt that are kept one by one, of all workers; more are only counted.
const DOUBTS_MAX: usize = 1_024;

/// Sums over transfers of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// How many.
    pub count: i64,
    /// Their amounts.
    pub amount: i64,
    /// Their sequences, each mixed by [`mixed`].
    pub mixed: i64,
}

impl Sums {
    pub(crate) fn enter(&mut self, transfer: &Transfer) {
        self.absorb(&Sums { count: 1, amount: transfer.amount, mixed: mixed(transfer.key.sequence) });
    }

    pub(crate) fn absorb(&mut self, other: &Sums) {
        self.count += other.count;
        self.amount += other.amount;
        self.mixed += other.mixed;
    }
}

/// A sequence as it is summed: two sets of as many keys seldom have the same sum. The query `tallies` does the same.
#[must_use]
pub(crate) const fn mixed(sequence: u32) -> i64 {
    sequence as i64 * 48_271 % 2_147_483_647
}

/// What one worker was told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTally {
    /// Which.
    pub worker: u32,
    /// Its transfers that were made.
    pub completed: Sums,
    /// Those that were declined.
    pub declined: Sums,
}

/// A transfer of which nobody knows whether it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Whose.
    pub worker: u32,
    /// The last part of its key.
    pub sequence: u32,
    /// How much.
    pub amount: i64,
}

impl Doubt {
    const fn of(transfer: &Transfer) -> Doubt {
        let Transfer { key, amount, .. } = *transfer;
        Doubt { worker: key.worker, sequence: key.sequence, amount }
    }
}

/// What is known of a worker's latest transfers, to which it may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Recent {
    transfer: Transfer,
    /// The answer; none where it was not made, or nobody knows.
    told: Option<Outcome>,
    in_doubt: bool,
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    calls: [u64; KINDS],
    run: Option<u64>,
    workers: Vec<WorkerTally>,
    doubts: Vec<Doubt>,
    /// Doubts that an answer to a repeated key has ended.
    ended: Vec<Doubt>,
    /// Doubts beyond those that are kept.
    more_doubts: u64,
    /// Answers to a repeated key, or about a transfer, that are not what was answered first.
    contradictions: u64,
    /// By worker, in their order.
    latest: Vec<Latest>,
}

/// The latest transfers of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Latest {
    worker: u32,
    transfers: Vec<Recent>,
}

impl Ledger {
    /// An empty account. It comes to about 6 KiB a worker.
    #[must_use]
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Calls of each kind that were sent.
    #[must_use]
    pub const fn calls(&self) -> &[u64; KINDS] {
        &self.calls
    }

    /// Workers that have asked for a transfer.
    #[must_use]
    pub fn workers(&self) -> u64 {
        self.workers.len() as u64
    }

    fn of_worker(&mut self, worker: u32) -> &mut WorkerTally {
        let at = self.workers.binary_search_by_key(&worker, |tally| tally.worker).unwrap_or_else(|at| {
            self.workers.insert(at, WorkerTally { worker, ..WorkerTally::default() });
            at
        });
        &mut self.workers[at]
    }

    fn doubt(&mut self, transfer: &Transfer) {
        if self.doubts.len() < DOUBTS_MAX {
            self.doubts.push(Doubt::of(transfer));
        } else {
            self.more_doubts += 1;
        }
    }

    /// What is known of a transfer, which is one of the latest of its worker now.
    fn recent(&mut self, transfer: &Transfer) -> &mut Recent {
        let worker = transfer.key.worker;
        let at = self.latest.binary_search_by_key(&worker, |latest| latest.worker).unwrap_or_else(|at| {
            self.latest.insert(at, Latest { worker, transfers: Vec::with_capacity(RECENT) });
            at
        });
        let transfers = &mut self.latest[at].transfers;
        let place = transfer.key.sequence as usize % RECENT;
        let fresh = Recent { transfer: *transfer, told: None, in_doubt: false };
        match transfers.get_mut(place) {
            Some(kept) if kept.transfer.key == transfer.key => {}
            Some(kept) => *kept = fresh,
            None => transfers.resize(place + 1, fresh),
        }
        &mut transfers[place]
    }

    fn transfer(&mut self, transfer: &Transfer, result: &Result<Outcome, Fault>) {
        self.run = Some(transfer.key.run);
        let recent = self.recent(transfer);
        let Recent { told, in_doubt, .. } = *recent;
        match result {
            Ok(outcome) => {
                (recent.told, recent.in_doubt) = (told.or(Some(*outcome)), false);
                match told {
                    Some(first) => self.contradictions += u64::from(first != *outcome),
                    None => self.enter(transfer, outcome),
                }
                if in_doubt {
                    self.ended.push(Doubt::of(transfer));
                }
            }
            // A defect says nothing about the store either: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) if told.is_none() && !in_doubt => {
                recent.in_doubt = true;
                self.doubt(transfer);
            }
            Err(_) => {}
        }
    }

    fn enter(&mut self, transfer: &Transfer, outcome: &Outcome) {
        match outcome {
            Outcome::Moved { .. } => self.of_worker(transfer.key.worker).completed.enter(transfer),
            Outcome::Declined(Decline::InsufficientFunds { .. }) => {
                self.of_worker(transfer.key.worker).declined.enter(transfer);
            }
            // No key of a run is used for two transfers.
            Outcome::Declined(_) | Outcome::Found { .. } | Outcome::Balance { .. } => {
                self.contradictions += 1
            }
        }
    }

    /// What is stored must be what was told.
    fn read(&mut self, call: &Call, outcome: &Outcome) {
        let Call::ReadTransfer { source, key } = call else { return };
        let Ok(at) = self.latest.binary_search_by_key(&key.worker, |latest| latest.worker) else { return };
        let Some(kept) = self.latest[at].transfers.get(key.sequence as usize % RECENT) else { return };
        let known = kept.transfer.key == *key && kept.transfer.source == *source;
        let Some(told) = kept.told.filter(|_| known) else { return };
        let Transfer { target, amount, .. } = kept.transfer;
        let expected = match told {
            Outcome::Moved { state, .. } => Outcome::Found { target, amount, state },
            _ => Outcome::Found { target, amount, state: State::Declined },
        };
        self.contradictions += u64::from(*outcome != expected);
    }
}

impl model::Ledger<Transfers> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.calls[Transfers::kind(call)] += 1;
        match (call, result) {
            (Call::Transfer { transfer, .. }, _) => self.transfer(transfer, result),
            (_, Ok(outcome)) => self.read(call, outcome),
            (_, Err(_)) => {}
        }
    }

    fn absorb(&mut self, other: &Ledger) {
        self.calls.iter_mut().zip(&other.calls).for_each(|(mine, theirs)| *mine += theirs);
        self.run = self.run.or(other.run);
        for theirs in &other.workers {
            let mine = self.of_worker(theirs.worker);
            mine.completed.absorb(&theirs.completed);
            mine.declined.absorb(&theirs.declined);
        }
        self.doubts.extend(&other.doubts);
        self.ended.extend(&other.ended);
        // A doubt and its end may have come in two parts.
        self.ended.retain(|ended| match self.doubts.iter().position(|doubt| doubt == ended) {
            Some(at) => {
                self.doubts.swap_remove(at);
                false
            }
            None => true,
        });
        self.more_doubts += other.more_doubts + self.doubts.len().saturating_sub(DOUBTS_MAX) as u64;
        self.doubts.truncate(DOUBTS_MAX);
        self.contradictions += other.contradictions;
    }

    /// What is known of the latest transfers stays: later calls come back to them.
    fn clear(&mut self) {
        let (workers, latest) = (std::mem::take(&mut self.workers), std::mem::take(&mut self.latest));
        *self = Ledger { workers, latest, ..Ledger::default() };
        self.workers.clear();
    }
}

#[cfg(test)]
mod tests;
