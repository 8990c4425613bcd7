//! What was sent and what was acknowledged: bounds for what must be stored, by worker, and the transfers in doubt one by one, as
//! [`workload::keyed`] keeps them.

use crate::{Call, Decline, Outcome, Purpose, State, Transfer, Transfers};
use model::{Fault, Workload};
use serde::{Deserialize, Serialize};
use workload::keyed::{Effect, Keyed};
use workload::mixed;

mod claims;
mod stored;

pub(crate) use claims::over_all;
pub use claims::{Claims, audit};
pub use stored::{Sort, Tally};

/// Kinds of call.
pub(crate) const KINDS: usize = 6;

/// What a transfer is summed as. The query `tallies` has the same checksum of its columns.
pub(crate) const fn effect(transfer: &Transfer) -> Effect {
    let Transfer { key, source, target, amount } = *transfer;
    let mixed = mixed(key.sequence as i64 + 1, [source as i64, target as i64, amount]);
    Effect { key, amount, mixed, place: source }
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    calls: [u64; KINDS],
    keyed: Keyed,
}

impl Ledger {
    /// An empty account.
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Calls of each kind that were sent.
    pub const fn calls(&self) -> &[u64; KINDS] {
        &self.calls
    }

    /// Workers that have asked for a transfer.
    pub fn workers(&self) -> u64 {
        self.keyed.workers().len() as u64
    }

    fn transfer(&mut self, transfer: &Transfer, retried: bool, result: &Result<Outcome, Fault>) {
        let effect = effect(transfer);
        match result {
            Ok(outcome) => {
                match outcome {
                    Outcome::Moved { state, balance } => {
                        self.keyed.completed(&effect);
                        self.keyed.answered(transfer.key, *balance);
                        if *state == State::Pending {
                            self.keyed.pending(&effect);
                        }
                    }
                    Outcome::Declined(Decline::InsufficientFunds { balance }) => {
                        self.keyed.declined(&effect);
                        self.keyed.answered(transfer.key, *balance);
                    }
                    // What else is answered leaves nothing behind.
                    _ => {}
                }
                if retried {
                    self.keyed.end_doubt(effect);
                }
            }
            // A defect leaves the store's state unknown too: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) => self.keyed.doubt(effect),
            Err(_) => {}
        }
    }
}

impl model::Ledger<Transfers> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.calls[Transfers::kind(call)] += 1;
        match call {
            // The inputs check repeats against earlier answers.
            Call::Transfer { purpose: Purpose::Repeat, .. }
            | Call::ReadTransfer { .. }
            | Call::ReadAccount { .. } => {}
            // No answer names which of several under one key was made.
            Call::Transfer { purpose: Purpose::Raced, transfer } => self.keyed.doubt(effect(transfer)),
            Call::Transfer { purpose, transfer } => {
                self.transfer(transfer, *purpose == Purpose::Retry, result);
            }
        }
    }

    fn absorb(&mut self, other: &Ledger) {
        self.calls.iter_mut().zip(&other.calls).for_each(|(mine, theirs)| *mine += theirs);
        self.keyed.absorb(&other.keyed);
    }

    fn clear(&mut self) {
        self.calls = [0; KINDS];
        self.keyed.clear();
    }
}

#[cfg(test)]
mod tests;
