//! What the stores contain.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workload::keyed::Sums;

/// What a sum is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Transfers that were accepted, whatever has become of them since.
    Accepted,
    /// Transfers that were declined.
    Declined,
    /// Entries that take money from an account.
    Debits,
    /// Entries that give it to one.
    Credits,
    /// Accounts; the amount is what they hold.
    Accounts,
    /// Branches of transfers that are prepared and not decided.
    Prepared,
    /// Transfers whose money is on its way to another store.
    Pending,
    /// Those whose money has arrived there.
    Settled,
    /// Those whose money was returned.
    Refunded,
    /// What came from other stores and was credited to its account.
    Received,
    /// What came from there and was refused.
    Refused,
    /// Transfers to accounts of other stores that were declined; they are in [`Sort::Declined`] too.
    DeclinedAcross,
    /// Those of [`Sort::Accepted`], with the checksum of entries, which is that of sequences alone.
    AcceptedKeys,
    /// Entries that give money to another account than it came from, with the checksum of transfers.
    Paid,
    /// All transfers, with the balance that each was answered with as its amount.
    Balances,
}

impl Sort {
    /// What transfers of it are.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Sort::Accepted | Sort::AcceptedKeys => "accepted",
            Sort::Declined => "declined",
            Sort::Debits => "debits",
            Sort::Credits => "credits",
            Sort::Accounts => "accounts",
            Sort::Prepared => "prepared",
            Sort::Pending => "pending",
            Sort::Settled => "settled",
            Sort::Refunded => "refunded",
            Sort::Received => "received",
            Sort::Refused => "refused",
            Sort::DeclinedAcross => "declined between stores",
            Sort::Paid => "paid",
            Sort::Balances => "kept with a balance",
        }
    }

    const fn of_number(number: i64) -> Option<Sort> {
        match number {
            1 => Some(Sort::Accepted),
            2 => Some(Sort::Declined),
            3 => Some(Sort::Debits),
            4 => Some(Sort::Credits),
            5 => Some(Sort::Accounts),
            6 => Some(Sort::Prepared),
            7 => Some(Sort::Pending),
            8 => Some(Sort::Settled),
            9 => Some(Sort::Refunded),
            10 => Some(Sort::Received),
            11 => Some(Sort::Refused),
            12 => Some(Sort::DeclinedAcross),
            13 => Some(Sort::AcceptedKeys),
            14 => Some(Sort::Paid),
            15 => Some(Sort::Balances),
            _ => None,
        }
    }
}

/// A sum of the query `tallies`, over what one worker of one run has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub sort: Sort,
    /// The run, as it is stored; 0 of accounts and branches.
    pub run: i64,
    /// The worker; 0 of accounts and branches.
    pub worker: i64,
    /// The sums; those of debits without their sign.
    pub sums: Sums,
}

impl Tally {
    /// From a row of `tallies`.
    pub fn from_row(row: &[i64]) -> Option<Tally> {
        let &[sort, run, worker, count, amount, mixed] = row else { return None };
        Some(Tally { sort: Sort::of_number(sort)?, run, worker, sums: Sums { count, amount, mixed } })
    }

    /// The totals over all stores: sums of the sums of each.
    pub fn join(parts: Vec<Vec<Tally>>) -> Vec<Tally> {
        let mut all: BTreeMap<(Sort, i64, i64), Sums> = BTreeMap::new();
        for Tally { sort, run, worker, sums } in parts.into_iter().flatten() {
            all.entry((sort, run, worker)).or_default().absorb(&sums);
        }
        all.into_iter().map(|((sort, run, worker), sums)| Tally { sort, run, worker, sums }).collect()
    }
}
