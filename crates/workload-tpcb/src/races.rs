//! Calls that meet: deposits into one account at the same moment.

use crate::{Call, Cardinality, Outcome, Tpcb};
use contract::{Race, Raced};

/// Deposits that meet.
const MEET: i64 = 8;

pub(crate) fn races(size: &Cardinality, _salt: u32, round: u32) -> Vec<Race<Tpcb>> {
    let deposit = |delta| Call { aid: round % size.accounts + 1, tid: 1, bid: 1, delta };
    vec![Race {
        name: "lost-update",
        rule: "deposits into one account at the same moment are all in its balance",
        before: vec![deposit(0)],
        together: (0..MEET).map(|_| deposit(1)).collect(),
        after: vec![deposit(0)],
        judge: Box::new(judge),
    }]
}

fn judge(raced: &Raced<Tpcb>) -> Result<(), String> {
    let first = raced.before[0].abalance;
    let mut found: Vec<i64> = raced.met().map(|outcome| outcome.abalance).collect();
    found.sort_unstable();
    let wanted: Vec<i64> = (1..).map(|more| first.saturating_add(more)).take(found.len()).collect();
    if found != wanted {
        return Err(format!(
            "from {first}, the balances {wanted:?} were expected, each once; found {found:?}"
        ));
    }
    match raced.after[0] {
        Outcome { abalance } if abalance == first.saturating_add(found.len() as i64) => Ok(()),
        Outcome { abalance } => {
            Err(format!("{} deposits of 1 into {first} left a balance of {abalance}", found.len()))
        }
    }
}
