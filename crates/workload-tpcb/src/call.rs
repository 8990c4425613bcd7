//! What is asked: an amount for an account, through a teller and a branch.

use crate::Cardinality;
use serde::{Deserialize, Serialize};

/// The largest amount of a call, and as a negative number the least.
pub const DELTA_MAX: i64 = 5_000;

/// A call. Account, teller and branch have nothing to do with each other: pgbench draws all three on their own, unlike
/// TPC-B, where the branch is the teller's. But where the branches are split over stores, all three are of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Account, from 1.
    pub aid: u32,
    /// Teller, from 1.
    pub tid: u32,
    /// Branch, from 1.
    pub bid: u32,
    /// What is added to all three balances: −5000 to 5000, in whatever the balances are in.
    pub delta: i64,
}

impl Call {
    /// The stores that its account, its teller and its branch lie in.
    pub(crate) fn shards(&self, size: &Cardinality) -> [u32; 3] {
        [size.branch_of_account(self.aid), size.branch_of_teller(self.tid), self.bid]
            .map(|bid| size.shard(bid))
    }

    /// Whether these are one, as they must be.
    pub(crate) fn stays_within_a_store(&self, size: &Cardinality) -> bool {
        let [account, teller, branch] = self.shards(size);
        account == branch && teller == branch
    }
}
