//! The truth in memory: one client at a time, no storage, no concurrency. What any session must answer.

use crate::{Call, Cardinality, Data, Outcome};
use model::{DefectKind, Fault};
use std::ops::RangeInclusive;

/// A row of the history, without its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRow {
    pub tid: u32,
    pub bid: u32,
    pub aid: u32,
    pub delta: i64,
}

/// A bank in memory.
#[derive(Debug, Clone)]
pub struct Oracle {
    size: Cardinality,
    pub(crate) accounts: Vec<i64>,
    pub(crate) tellers: Vec<i64>,
    pub(crate) branches: Vec<i64>,
    history: Vec<HistoryRow>,
}

impl Oracle {
    /// Freshly loaded.
    pub fn new(data: &Data) -> Oracle {
        let size = data.size();
        Oracle {
            size,
            accounts: vec![0; size.accounts_all() as usize],
            tellers: vec![0; size.tellers_all() as usize],
            branches: vec![0; size.branches as usize],
            history: Vec::new(),
        }
    }

    /// How much data was loaded.
    pub const fn size(&self) -> Cardinality {
        self.size
    }

    /// Balances of the accounts, in order.
    pub fn accounts(&self) -> &[i64] {
        &self.accounts
    }

    /// Balances of the tellers, in order.
    pub fn tellers(&self) -> &[i64] {
        &self.tellers
    }

    /// Balances of the branches, in order.
    pub fn branches(&self) -> &[i64] {
        &self.branches
    }

    /// The history, in the order of calls.
    pub fn history(&self) -> &[HistoryRow] {
        &self.history
    }

    /// Answers a call, and keeps what it changes.
    ///
    /// # Errors
    /// A [`DefectKind::BadCall`] when the call names an account, teller or branch that does not exist, or such of several
    /// stores; nothing has changed then.
    pub fn answer(&mut self, call: &Call) -> Result<Outcome, Fault> {
        let Call { aid, tid, bid, delta } = *call;
        let account = place("account", aid, self.size.ids(self.size.accounts))?;
        let teller = place("teller", tid, self.size.ids(self.size.tellers))?;
        let branch = place("branch", bid, self.size.ids(1))?;
        if !call.stays_within_a_store(&self.size) {
            let what = "account, teller and branch are not in one store";
            return Err(Fault::defect(DefectKind::BadCall, what));
        }
        self.accounts[account] += delta;
        self.tellers[teller] += delta;
        self.branches[branch] += delta;
        self.history.push(HistoryRow { tid, bid, aid, delta });
        Ok(Outcome { abalance: self.accounts[account] })
    }
}

fn place(what: &str, id: u32, ids: RangeInclusive<u32>) -> Result<usize, Fault> {
    if !ids.contains(&id) {
        return Err(Fault::defect(DefectKind::BadCall, format!("there is no {what} {id}")));
    }
    Ok((id - ids.start()) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_adds_its_amount_in_all_three_places_and_to_the_history() {
        let mut oracle = Oracle::new(&Data::new(Cardinality::tiny()));
        let call = |delta| Call { aid: 150, tid: 7, bid: 2, delta };
        assert_eq!(oracle.answer(&call(500)), Ok(Outcome { abalance: 500 }));
        assert_eq!(oracle.answer(&call(-700)), Ok(Outcome { abalance: -200 }));
        assert_eq!((oracle.accounts()[149], oracle.tellers()[6], oracle.branches()[1]), (-200, -200, -200));
        let deltas: Vec<i64> = oracle.history().iter().map(|entry| entry.delta).collect();
        assert_eq!(deltas, [500, -700]);
    }

    #[test]
    fn a_call_that_names_nothing_changes_nothing() {
        let mut oracle = Oracle::new(&Data::new(Cardinality::tiny()));
        let check = |oracle: &mut Oracle, aid, tid, bid, expected: &str| {
            let fault = oracle.answer(&Call { aid, tid, bid, delta: 1 }).unwrap_err();
            assert_eq!(fault.to_string(), format!("defect: {expected}"));
        };
        check(&mut oracle, 151, 1, 1, "there is no account 151");
        check(&mut oracle, 0, 1, 1, "there is no account 0");
        check(&mut oracle, 1, 31, 1, "there is no teller 31");
        check(&mut oracle, 1, 1, 4, "there is no branch 4");
        assert!(oracle.accounts().iter().all(|balance| *balance == 0) && oracle.history().is_empty());
    }
}
