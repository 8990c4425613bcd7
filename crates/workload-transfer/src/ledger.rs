//! What was sent and what was acknowledged: bounds for what must be stored, by worker, and the transfers in doubt one by one.
//!
//! Keys are made of run, worker and a sequence without gaps. So what a worker was told is kept as sums over its keys, and the
//! store is asked for the same sums: a transfer that is lost, or there twice, or there under another key, changes one of them.

use crate::{Call, Decline, Outcome, Purpose, Transfer, Transfers};
use model::{Fault, LedgerFinding, Workload};
use serde::{Deserialize, Serialize};

mod claims;
mod stored;

pub use claims::Claims;
pub(crate) use claims::over_all;
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
    /// Their sequences, each mixed by a multiplication.
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
    /// The run that its keys are made of.
    pub run: u64,
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
    /// The run.
    pub run: u64,
    /// Whose.
    pub worker: u32,
    /// The last part of its key.
    pub sequence: u32,
    /// How much.
    pub amount: i64,
    /// The account that it is from, whose store knows.
    pub source: u32,
}

impl Doubt {
    const fn of(transfer: &Transfer) -> Doubt {
        let Transfer { key, amount, source, .. } = *transfer;
        Doubt { run: key.run, worker: key.worker, sequence: key.sequence, amount, source }
    }
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    calls: [u64; KINDS],
    workers: Vec<WorkerTally>,
    doubts: Vec<Doubt>,
    /// Doubts that an answer to a retried transfer has ended, perhaps of an account that was absorbed before.
    ended: Vec<Doubt>,
    /// Doubts beyond those that are kept.
    more_doubts: u64,
}

impl Ledger {
    /// An empty account.
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

    fn of_worker(&mut self, run: u64, worker: u32) -> &mut WorkerTally {
        let key = |tally: &WorkerTally| (tally.run, tally.worker);
        let at = self.workers.binary_search_by_key(&(run, worker), key).unwrap_or_else(|at| {
            self.workers.insert(at, WorkerTally { run, worker, ..WorkerTally::default() });
            at
        });
        &mut self.workers[at]
    }

    fn doubt(&mut self, doubt: Doubt) {
        if self.doubts.contains(&doubt) {
            return;
        }
        if self.doubts.len() < DOUBTS_MAX {
            self.doubts.push(doubt);
        } else {
            self.more_doubts += 1;
        }
    }

    fn transfer(&mut self, transfer: &Transfer, retried: bool, result: &Result<Outcome, Fault>) {
        match result {
            Ok(outcome) => {
                let told = self.of_worker(transfer.key.run, transfer.key.worker);
                match outcome {
                    Outcome::Moved { .. } => told.completed.enter(transfer),
                    Outcome::Declined(Decline::InsufficientFunds { .. }) => told.declined.enter(transfer),
                    // What else is answered leaves nothing behind.
                    _ => {}
                }
                if retried {
                    self.ended.push(Doubt::of(transfer));
                }
            }
            // A defect says nothing about the store either: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) => self.doubt(Doubt::of(transfer)),
            Err(_) => {}
        }
    }
}

impl model::Ledger<Transfers> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.calls[Transfers::kind(call)] += 1;
        match call {
            // What was answered already is held to that by the inputs.
            Call::Transfer { purpose: Purpose::Repeat, .. }
            | Call::ReadTransfer { .. }
            | Call::ReadAccount { .. } => {}
            // Which of several under one key was made, no answer says.
            Call::Transfer { purpose: Purpose::Raced, transfer } => self.doubt(Doubt::of(transfer)),
            Call::Transfer { purpose, transfer } => {
                self.transfer(transfer, *purpose == Purpose::Retry, result);
            }
        }
    }

    fn absorb(&mut self, other: &Ledger) {
        self.calls.iter_mut().zip(&other.calls).for_each(|(mine, theirs)| *mine += theirs);
        for theirs in &other.workers {
            let mine = self.of_worker(theirs.run, theirs.worker);
            mine.completed.absorb(&theirs.completed);
            mine.declined.absorb(&theirs.declined);
        }
        other.doubts.iter().for_each(|doubt| self.doubt(*doubt));
        self.more_doubts += other.more_doubts;
        for ended in &other.ended {
            // A transfer that was refused, and then retried, was never in doubt.
            self.doubts.retain(|doubt| doubt != ended);
        }
    }

    fn clear(&mut self) {
        let mut workers = std::mem::take(&mut self.workers);
        workers.clear();
        *self = Ledger { workers, ..Ledger::default() };
    }
}

#[cfg(test)]
mod tests;
