//! What is answered.

use crate::{AMOUNT_MAX, Call, Purpose};

/// What has become of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The money has arrived.
    Completed,
    /// The source had too little; nothing was moved.
    Declined,
    /// The money has left the source, and is on its way to another store.
    Pending,
    /// It has arrived there.
    Settled,
    /// The other store refused it, and the source has it back.
    Refunded,
}

impl State {
    /// As it is stored.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            State::Completed => 1,
            State::Declined => 2,
            State::Pending => 3,
            State::Settled => 4,
            State::Refunded => 5,
        }
    }

    /// From what is stored.
    pub const fn of_number(number: i64) -> Option<State> {
        match number {
            1 => Some(State::Completed),
            2 => Some(State::Declined),
            3 => Some(State::Pending),
            4 => Some(State::Settled),
            5 => Some(State::Refunded),
            _ => None,
        }
    }

    /// As it is answered: whether the money arrived at once or later no one asks.
    #[must_use]
    pub const fn shown(self) -> State {
        match self {
            State::Settled => State::Completed,
            state => state,
        }
    }

    /// As it stands in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            State::Completed | State::Settled => "completed",
            State::Declined => "declined",
            State::Pending => "pending",
            State::Refunded => "refunded",
        }
    }

    pub fn of_name(name: &str) -> Option<State> {
        let shown = [State::Completed, State::Declined, State::Pending, State::Refunded];
        shown.into_iter().find(|state| state.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A transfer was accepted, now or when its key came first.
    Moved {
        /// What had become of it then.
        state: State,
        /// The source's balance then.
        balance: i64,
    },
    /// A transfer as it is stored.
    Found {
        /// The account that is paid to.
        target: u32,
        amount: i64,
        /// What has become of it.
        state: State,
    },
    /// What an account holds.
    Balance { balance: i64 },
    /// The service declined it.
    Declined(Decline),
}

/// Why a call was declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decline {
    /// The source's balance was less than the amount.
    InsufficientFunds { balance: i64 },
    /// The key was used for another transfer from that account.
    KeyReused,
    /// There is no transfer of that source and key.
    NoSuchTransfer,
}

impl Decline {
    /// The type of its problem document, without what all types begin with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Decline::InsufficientFunds { .. } => "insufficient-funds",
            Decline::KeyReused => "key-reused",
            Decline::NoSuchTransfer => "no-such-transfer",
        }
    }

    /// The status of its answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Decline::InsufficientFunds { .. } => 409,
            Decline::KeyReused => 422,
            Decline::NoSuchTransfer => 404,
        }
    }

    /// Its description.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Decline::InsufficientFunds { .. } => "the account holds less than that",
            Decline::KeyReused => "the key was used for another transfer from this account",
            Decline::NoSuchTransfer => "there is no such transfer",
        }
    }
}

/// What every right answer satisfies whatever the data.
pub(crate) fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
    let no_debt = |balance: i64| if balance < 0 { Err("an account holds less than nothing") } else { Ok(()) };
    match (call, outcome) {
        (Call::Transfer { purpose, transfer }, Outcome::Moved { state, balance }) => match (purpose, state) {
            // No account comes to hold as much.
            _ if transfer.amount == AMOUNT_MAX => {
                Err("a transfer of more than any account holds is accepted")
            }
            (Purpose::Within | Purpose::Overdraft, State::Pending) => {
                Err("a transfer within a store is answered as if it was on its way to another")
            }
            (_, State::Completed | State::Pending) => no_debt(*balance),
            _ => Err("a transfer is answered with a state that none has when it is asked for"),
        },
        (Call::Transfer { transfer, .. }, Outcome::Declined(Decline::InsufficientFunds { balance })) => {
            if *balance >= transfer.amount {
                return Err("a transfer is declined although the account holds enough");
            }
            no_debt(*balance)
        }
        (Call::Transfer { .. }, Outcome::Declined(Decline::KeyReused)) => Ok(()),
        (Call::ReadTransfer { source, .. }, Outcome::Found { target, amount, .. }) => {
            match target != source && (1..=AMOUNT_MAX).contains(amount) {
                true => Ok(()),
                false => Err("an invalid transfer is stored"),
            }
        }
        (Call::ReadTransfer { .. }, Outcome::Declined(Decline::NoSuchTransfer)) => Ok(()),
        (Call::ReadAccount { .. }, Outcome::Balance { balance }) => no_debt(*balance),
        _ => Err("the answer is that of another kind of call"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Transfer};

    #[test]
    fn an_answer_is_one_to_its_call_and_no_account_is_in_debt() {
        let key = Key { run: 1, worker: 0, sequence: 0 };
        let transfer = Transfer { key, source: 1, target: 2, amount: 10 };
        let asked = Call::Transfer { purpose: Purpose::Within, transfer };
        let moved = |state, balance| check(&asked, &Outcome::Moved { state, balance });
        assert_eq!(moved(State::Completed, 0), Ok(()));
        assert_eq!(moved(State::Completed, -1), Err("an account holds less than nothing"));
        assert!(moved(State::Declined, 5).is_err() && moved(State::Refunded, 5).is_err());
        assert!(moved(State::Pending, 5).unwrap_err().contains("on its way to another"));
        let across = Call::Transfer { purpose: Purpose::Across, transfer };
        assert_eq!(check(&across, &Outcome::Moved { state: State::Pending, balance: 5 }), Ok(()));
        let all = Transfer { amount: AMOUNT_MAX, ..transfer };
        for purpose in [Purpose::Overdraft, Purpose::Retry] {
            let moved = Outcome::Moved { state: State::Completed, balance: 5 };
            let answer = check(&Call::Transfer { purpose, transfer: all }, &moved);
            assert_eq!(answer, Err("a transfer of more than any account holds is accepted"));
        }
        let declined = |balance| check(&asked, &Outcome::Declined(Decline::InsufficientFunds { balance }));
        assert_eq!(declined(9), Ok(()));
        assert_eq!(declined(10), Err("a transfer is declined although the account holds enough"));
        assert!(check(&asked, &Outcome::Balance { balance: 1 }).is_err());
        let found = |target, amount| {
            let read = Call::ReadTransfer { source: 1, key };
            check(&read, &Outcome::Found { target, amount, state: State::Declined })
        };
        assert_eq!(found(2, 1), Ok(()));
        assert!(found(1, 1).is_err() && found(2, 0).is_err());
    }
}
