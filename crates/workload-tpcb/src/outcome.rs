//! What is answered: what the transaction reads.

use crate::Call;
use serde::{Deserialize, Serialize};

/// An outcome. There is one sort only: nothing is ever declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The account's balance after the call.
    pub abalance: i64,
}

/// What every right answer satisfies whatever the data.
pub(crate) fn check(_: &Call, outcome: &Outcome) -> Result<(), &'static str> {
    // pgbench's balances are 32-bit columns. SQLite's are not, and would go on where the others refuse.
    match i32::try_from(outcome.abalance) {
        Ok(_) => Ok(()),
        Err(_) => Err("the balance does not fit into 32 bits"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_that_no_column_can_hold_is_no_answer() {
        let call = Call { aid: 1, tid: 1, bid: 1, delta: 1 };
        let found = |abalance| check(&call, &Outcome { abalance });
        assert_eq!(found(i64::from(i32::MAX)), Ok(()));
        assert_eq!(found(i64::from(i32::MIN)), Ok(()));
        assert_eq!(found(i64::from(i32::MAX) + 1), Err("the balance does not fit into 32 bits"));
    }
}
