//! What is asked: an amount for an account, through a teller and a branch.

use serde::{Deserialize, Serialize};

/// The largest amount of a call, and as a negative number the least.
pub const DELTA_MAX: i64 = 5_000;

/// A call. Account, teller and branch have nothing to do with each other: pgbench draws all three on their own, unlike
/// TPC-B, where the branch is the teller's.
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
