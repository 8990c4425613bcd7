//! Transactions over several databases: a branch in each, all of which are prepared before any is committed.

use crate::SqlConn;
use model::Fault;
use std::fmt;

/// What names a branch: 48 hexadecimal digits. It is the one text that is ever put into that of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId {
    /// The transaction, to whoever decides it.
    pub transaction: u128,
    /// What sets its branches apart, and those of other databases on the same server.
    pub branch: u64,
}

impl BranchId {
    /// From 48 lower-case hexadecimal digits; what is written otherwise is someone else's.
    pub fn parse(text: &str) -> Option<BranchId> {
        let plain = text.len() == 48 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (transaction, branch) = plain.then(|| text.split_at(32))?;
        Some(BranchId {
            transaction: u128::from_str_radix(transaction, 16).ok()?,
            branch: u64::from_str_radix(branch, 16).ok()?,
        })
    }
}

impl fmt::Display for BranchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}{:016x}", self.transaction, self.branch)
    }
}

/// How long a session waits for a lock, in seconds: no engine sees two transactions that wait for each other in two
/// databases, and a branch that is prepared keeps its locks until it is decided.
pub const LOCK_WAIT_S: u32 = 2;

/// A connection to an engine that keeps a transaction which was prepared, whatever becomes of the connection or of the engine,
/// until it is decided.
pub trait TwoPhase: SqlConn {
    /// Readies a connection that was just opened: it waits for a lock no longer than [`LOCK_WAIT_S`], which then is a
    /// conflict. Gives the name of the database.
    ///
    /// # Errors
    /// The engine keeps no prepared transactions, or is gone.
    fn enlist(&mut self) -> impl Future<Output = Result<String, Fault>> + Send;
    /// Begins a transaction that will be prepared. Until then it may be rolled back, and cannot be committed.
    fn begin_branch(&mut self, id: BranchId) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Prepares the branch. After an error it may be prepared or gone: who decides must have it rolled back.
    fn prepare(&mut self) -> impl Future<Output = Result<(), Fault>> + Send;
    /// Commits a branch that was prepared here or elsewhere. Gives whether it was there; where it was not, it was decided
    /// already, or its owner is still connected to an engine that lets no one else decide until then.
    fn commit_prepared(&mut self, id: BranchId) -> impl Future<Output = Result<bool, Fault>> + Send;
    /// Rolls such a branch back, with the same answer.
    fn rollback_prepared(&mut self, id: BranchId) -> impl Future<Output = Result<bool, Fault>> + Send;
    /// The branches that are prepared and not decided. An engine may name those of all its databases.
    fn prepared(&mut self) -> impl Future<Output = Result<Vec<BranchId>, Fault>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_digits_and_what_others_write_is_none() {
        for id in [
            BranchId { transaction: 0, branch: 0 },
            BranchId { transaction: u128::MAX, branch: 7 },
            BranchId { transaction: 1 << 100, branch: u64::MAX },
        ] {
            assert_eq!(id.to_string().len(), 48);
            assert_eq!(BranchId::parse(&id.to_string()), Some(id));
        }
        for text in ["", "pg_1", &"0".repeat(47), &"0".repeat(49), &"A".repeat(48), &"g".repeat(48)] {
            assert_eq!(BranchId::parse(text), None, "{text}");
        }
    }
}
