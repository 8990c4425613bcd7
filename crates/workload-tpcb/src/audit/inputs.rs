//! The input audit: what was really sent, against what pgbench's script draws.

use super::spread::{self, Spread};
use super::{InputFinding, judge};
use crate::Ledger;

/// Judges what a ledger has counted: accounts (by neighbourhood), tellers and branches drawn evenly, each on its own, and
/// amounts that are as often up as down, and as large as even chance makes them.
pub fn input_audit(ledger: &Ledger) -> Vec<InputFinding> {
    let counts = ledger.counts();
    let calls = counts.calls[0] as f64;
    let each = |counts: &[u32]| Spread::of_buckets(counts.iter().map(|count| (*count, 1)));
    let buckets: Vec<(u32, u32)> = ledger.account_counts().collect();
    let even = |name, clause, spread| InputFinding { name, clause, finding: spread::judged(name, &spread) };
    let home = |name, hits: u64| InputFinding {
        name,
        clause: "set bid",
        finding: judge::home(name, ledger.size(), calls, hits as f64),
    };
    let (mean, size) = ("amounts up and down", "size of amounts");
    vec![
        even("spread over accounts", "set aid", Spread::of_buckets(buckets.into_iter())),
        even("spread over tellers", "set tid", each(ledger.teller_counts())),
        even("spread over branches", "set bid", each(ledger.branch_counts())),
        home("accounts of the call's branch", counts.accounts_at_home),
        home("tellers of the call's branch", counts.tellers_at_home),
        InputFinding {
            name: mean,
            clause: "set delta",
            finding: judge::mean(mean, calls, counts.delta as f64),
        },
        InputFinding {
            name: size,
            clause: "set delta",
            finding: judge::squared(size, calls, counts.delta_squares as f64),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::super::AuditOutcome;
    use super::*;
    use crate::{Call, Cardinality, Inputs};
    use model::{Conflict, Fault, Inputs as _, Ledger as _};

    const SIZE: Cardinality = Cardinality::standard(10);

    /// What the audit of many calls does not pass, where each call is changed before it is counted.
    fn not_passed(size: Cardinality, calls: usize, mut change: impl FnMut(&mut Call)) -> Vec<&'static str> {
        let mut ledger = Ledger::new(size);
        let mut inputs: Vec<Inputs> = (0..10).map(|worker| Inputs::new(size, 7, worker)).collect();
        for number in 0..calls {
            let mut call = inputs[number % 10].draw();
            change(&mut call);
            ledger.post(&call, &Err(Fault::Conflict(Conflict::Busy)));
        }
        let found = input_audit(&ledger).into_iter();
        found.filter(|found| found.finding.verdict != AuditOutcome::Passed).map(|found| found.name).collect()
    }

    #[test]
    fn our_own_inputs_pass() {
        assert_eq!(not_passed(SIZE, 50_000, |_| {}), [""; 0]);
        assert_eq!(not_passed(Cardinality::standard(150), 50_000, |_| {}), [""; 0]);
        // With one branch there is nothing to choose, and everybody is at home.
        let one = ["spread over branches", "accounts of the call's branch", "tellers of the call's branch"];
        assert_eq!(not_passed(Cardinality::standard(1), 50_000, |_| {}), one);
    }

    #[test]
    fn inputs_of_several_stores_are_judged_by_what_these_make_of_chance() {
        let over = |branches, shards| Cardinality { shards, ..Cardinality::standard(branches) };
        assert_eq!(not_passed(over(10, 3), 50_000, |_| {}), [""; 0]);
        assert_eq!(not_passed(over(10, 3).part(1), 50_000, |_| {}), [""; 0]);
        // Whoever has a store alone is at home.
        let homes = ["accounts of the call's branch", "tellers of the call's branch"];
        assert_eq!(not_passed(over(10, 10), 50_000, |_| {}), homes);
        // As far apart as in one store is too far.
        let mut whole = Inputs::new(SIZE, 8, 0);
        assert_eq!(not_passed(over(10, 3), 50_000, |call| *call = whole.draw()), homes);
    }

    #[test]
    fn what_is_not_drawn_evenly_is_caught() {
        let first_half = |call: &mut Call| call.aid = call.aid.div_ceil(2);
        assert!(not_passed(SIZE, 50_000, first_half).contains(&"spread over accounts"));
        let never_the_last = |call: &mut Call| call.tid = call.tid.min(99);
        assert_eq!(not_passed(SIZE, 50_000, never_the_last), ["spread over tellers"]);
        let never_the_last = |call: &mut Call| call.bid = call.bid.min(9);
        assert_eq!(not_passed(SIZE, 50_000, never_the_last), ["spread over branches"]);
    }

    #[test]
    fn a_branch_that_follows_from_account_or_teller_is_caught() {
        let of_account = |call: &mut Call| call.bid = SIZE.branch_of_account(call.aid);
        assert_eq!(not_passed(SIZE, 50_000, of_account), ["accounts of the call's branch"]);
        let of_teller = |call: &mut Call| call.bid = SIZE.branch_of_teller(call.tid);
        assert_eq!(not_passed(SIZE, 50_000, of_teller), ["tellers of the call's branch"]);
    }

    #[test]
    fn other_amounts_are_caught() {
        let only_up = |call: &mut Call| call.delta = call.delta.abs();
        assert_eq!(not_passed(SIZE, 50_000, only_up), ["amounts up and down"]);
        let small = |call: &mut Call| call.delta /= 100;
        assert_eq!(not_passed(SIZE, 50_000, small), ["size of amounts"]);
    }

    #[test]
    fn a_short_run_tells_little_and_fails_nothing() {
        let mut ledger = Ledger::new(SIZE);
        let mut inputs = Inputs::new(SIZE, 7, 0);
        for calls in 0..400 {
            let failed = |found: &InputFinding| found.finding.verdict == AuditOutcome::Failed;
            assert!(!input_audit(&ledger).iter().any(failed), "{calls} calls");
            ledger.post(&inputs.draw(), &Err(Fault::Conflict(Conflict::Busy)));
        }
        let told = input_audit(&Ledger::new(SIZE));
        assert!(told.iter().all(|found| found.finding.verdict == AuditOutcome::Inconclusive), "{told:?}");
    }
}
