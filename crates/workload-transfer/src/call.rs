//! What is asked: money from one account to another, and what became of it.

use crate::{Cardinality, Key};

/// The largest amount that may be asked for: more than an account comes to hold by transfers of [`AMOUNT_DRAWN_MAX`].
pub const AMOUNT_MAX: i64 = 10_000_000_000;
/// The largest amount of a transfer that is meant to succeed.
pub const AMOUNT_DRAWN_MAX: i64 = 1_000;

/// A transfer as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub key: Key,
    /// The account that is paid from, from 1.
    pub source: u32,
    /// The account that is paid to; another one.
    pub target: u32,
    /// How much, in the least unit of the currency: 1 to [`AMOUNT_MAX`].
    pub amount: i64,
}

/// What a transfer was drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Between two accounts of one branch, and so within one store.
    Within,
    /// Between two branches; where there are several stores, between two of these.
    Across,
    /// To be declined: there is not as much money.
    Overdraft,
    /// The same key and the same transfer as before, whose answer is known.
    Repeat,
    /// The same again of which no answer is known: it failed, or no one knows.
    Retry,
    /// One of several under one key at the same moment.
    Raced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Move money, or repeat the earlier answer.
    Transfer {
        /// What it was drawn for; the service does not see it.
        purpose: Purpose,
        transfer: Transfer,
    },
    /// What became of a transfer.
    ReadTransfer {
        /// The account that it is paid from.
        source: u32,
        key: Key,
    },
    /// What an account holds.
    ReadAccount { id: u32 },
}

impl Call {
    /// A transfer as a service sees it, without what it was drawn for.
    pub fn of(transfer: Transfer, size: &Cardinality) -> Call {
        let purpose = match size.is_across(transfer.source, transfer.target) {
            true => Purpose::Across,
            false => Purpose::Within,
        };
        Call::Transfer { purpose, transfer }
    }

    /// The account in whose store it begins.
    pub const fn account(&self) -> u32 {
        match self {
            Call::Transfer { transfer, .. } => transfer.source,
            Call::ReadTransfer { source, .. } => *source,
            Call::ReadAccount { id } => *id,
        }
    }
}
