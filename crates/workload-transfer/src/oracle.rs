//! The truth in memory: one client at a time, no storage, no concurrency. What any session must answer.

use crate::{Call, Cardinality, Decline, Key, OPENING, Outcome, State, Transfer};
use model::{DefectKind, Fault};
use std::collections::BTreeMap;

/// A transfer as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredTransfer {
    pub(crate) transfer: Transfer,
    pub(crate) state: State,
    /// What the source held when the call was answered.
    pub(crate) balance: i64,
}

impl StoredTransfer {
    /// What becomes of a transfer under a new key whose source holds so much.
    pub(crate) const fn of(transfer: &Transfer, available: i64) -> StoredTransfer {
        match available >= transfer.amount {
            true => StoredTransfer {
                transfer: *transfer,
                state: State::Completed,
                balance: available - transfer.amount,
            },
            false => StoredTransfer { transfer: *transfer, state: State::Declined, balance: available },
        }
    }

    /// The same where the target is in another store, and gets its money later.
    pub(crate) const fn promised(self) -> StoredTransfer {
        match self.state {
            State::Completed => StoredTransfer { state: State::Pending, ..self },
            _ => self,
        }
    }

    /// What its call was answered, and is again.
    pub(crate) const fn outcome(&self) -> Outcome {
        let StoredTransfer { state, balance, .. } = *self;
        match state {
            State::Declined => Outcome::Declined(Decline::InsufficientFunds { balance }),
            State::Completed => Outcome::Moved { state, balance },
            State::Pending | State::Settled | State::Refunded => {
                Outcome::Moved { state: State::Pending, balance }
            }
        }
    }
}

/// A bank in memory.
#[derive(Debug, Clone)]
pub struct Oracle {
    size: Cardinality,
    pub(crate) balances: Vec<i64>,
    pub(crate) transfers: BTreeMap<(u32, Key), StoredTransfer>,
}

impl Oracle {
    /// Freshly loaded.
    pub fn new(size: Cardinality) -> Oracle {
        Oracle { size, balances: vec![OPENING; size.accounts_all() as usize], transfers: BTreeMap::new() }
    }

    /// Answers a call, and keeps what it changes.
    ///
    /// # Errors
    /// A [`DefectKind::BadCall`] when the call names an account that does not exist; nothing has changed then.
    pub fn answer(&mut self, call: &Call) -> Result<Outcome, Fault> {
        Ok(match call {
            Call::Transfer { transfer, .. } => self.transfer(transfer)?,
            Call::ReadTransfer { source, key } => match self.transfers.get(&(*source, *key)) {
                Some(StoredTransfer { transfer: Transfer { target, amount, .. }, state, .. }) => {
                    Outcome::Found { target: *target, amount: *amount, state: *state }
                }
                None => Outcome::Declined(Decline::NoSuchTransfer),
            },
            Call::ReadAccount { id } => Outcome::Balance { balance: self.balances[self.place(*id)?] },
        })
    }

    fn transfer(&mut self, asked: &Transfer) -> Result<Outcome, Fault> {
        let (source, target) = (self.place(asked.source)?, self.place(asked.target)?);
        let key = (asked.source, asked.key);
        if let Some(kept) = self.transfers.get(&key) {
            return Ok(match kept.transfer == *asked {
                true => kept.outcome(),
                false => Outcome::Declined(Decline::KeyReused),
            });
        }
        let kept = StoredTransfer::of(asked, self.balances[source]);
        if kept.state == State::Completed {
            self.balances[source] -= asked.amount;
            self.balances[target] += asked.amount;
        }
        self.transfers.insert(key, kept);
        Ok(kept.outcome())
    }

    fn place(&self, account: u32) -> Result<usize, Fault> {
        let ids = self.size.ids();
        if !ids.contains(&account) {
            return Err(Fault::defect(DefectKind::BadCall, format!("there is no account {account}")));
        }
        Ok((account - ids.start()) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sequence: u32, source: u32, target: u32, amount: i64) -> Call {
        let key = Key { run: 9, worker: 0, sequence };
        Call::of(Transfer { key, source, target, amount }, &Cardinality::tiny())
    }

    #[test]
    fn money_moves_once_a_key_and_is_never_owed() {
        let mut oracle = Oracle::new(Cardinality::tiny());
        let moved = |balance| Ok(Outcome::Moved { state: State::Completed, balance });
        assert_eq!(oracle.answer(&asked(0, 1, 2, 500)), moved(99_500));
        assert_eq!(oracle.answer(&asked(1, 1, 2, 99_000)), moved(500));
        // As it was answered first.
        assert_eq!(oracle.answer(&asked(0, 1, 2, 500)), moved(99_500));
        let declined = |balance| Ok(Outcome::Declined(Decline::InsufficientFunds { balance }));
        assert_eq!(oracle.answer(&asked(2, 1, 9, 501)), declined(500));
        assert_eq!(oracle.answer(&asked(3, 2, 1, 1_000)), moved(198_500));
        assert_eq!(oracle.answer(&asked(2, 1, 9, 501)), declined(500), "it stays declined");
        let reused = Ok(Outcome::Declined(Decline::KeyReused));
        assert_eq!(oracle.answer(&asked(0, 1, 3, 500)), reused);
        assert_eq!(oracle.answer(&asked(0, 1, 2, 501)), reused);
        // A key belongs to the account that is paid from.
        assert_eq!(oracle.answer(&asked(0, 2, 1, 500)), moved(198_000));
        assert_eq!(oracle.balances.iter().sum::<i64>(), 24 * OPENING);
    }

    #[test]
    fn what_became_of_a_transfer_is_found_by_source_and_key() {
        let mut oracle = Oracle::new(Cardinality::tiny());
        oracle.answer(&asked(0, 1, 2, 500)).unwrap();
        let key = Key { run: 9, worker: 0, sequence: 0 };
        let found = Ok(Outcome::Found { target: 2, amount: 500, state: State::Completed });
        assert_eq!(oracle.answer(&Call::ReadTransfer { source: 1, key }), found);
        let none = Ok(Outcome::Declined(Decline::NoSuchTransfer));
        assert_eq!(oracle.answer(&Call::ReadTransfer { source: 2, key }), none.clone());
        assert_eq!(oracle.answer(&Call::ReadTransfer { source: 25, key }), none);
        assert_eq!(oracle.answer(&Call::ReadAccount { id: 2 }), Ok(Outcome::Balance { balance: 100_500 }));
        assert!(oracle.answer(&Call::ReadAccount { id: 0 }).is_err());
        assert!(oracle.answer(&asked(1, 1, 25, 1)).is_err() && oracle.answer(&asked(1, 0, 1, 1)).is_err());
        assert_eq!(oracle.balances.iter().sum::<i64>(), 24 * OPENING);
    }
}
