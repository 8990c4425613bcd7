//! What a ledger finds in the store.

use serde::{Deserialize, Serialize};

/// One measure of a ledger audit, over all places (districts, branches …) that a workload holds the store to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerFinding {
    pub name: &'static str,
    pub unit: &'static str,
    /// The least that acknowledged calls and those in doubt imply.
    pub low: i64,
    pub high: i64,
    /// What the store has grown by.
    pub stored: i64,
    /// A sentence a place that is outside its own bounds.
    pub violations: Vec<String>,
}
