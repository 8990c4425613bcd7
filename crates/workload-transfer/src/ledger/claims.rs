//! The stores against what was acknowledged.

use super::{Ledger, Sort, Tally};
use crate::OPENING;
use model::{LedgerFinding, total};
use std::collections::{BTreeMap, BTreeSet};
use workload::keyed::{Answered, KeyedClaims, Stored, Sums, Words, finding};

/// What acknowledged and doubtful calls imply.
pub type Claims = KeyedClaims;

const ACCEPTED: Words = Words { names: ["transfers", "amounts", "keys"], calls: "transfers", units: "units" };
const DECLINED: Words = Words {
    names: ["declined transfers", "declined amounts", "declined keys"],
    calls: "transfers",
    units: "units",
};

const PENDING: Words = Words {
    names: ["pending transfers", "pending amounts", "pending keys"],
    calls: "pending transfers",
    units: "units",
};

impl Ledger {
    /// What it implies about the stores; not `complete` while calls are under way.
    pub fn claims(&self, complete: bool) -> Claims {
        KeyedClaims::of(&self.keyed, complete)
    }
}

/// The ledger audit over all stores together: each acknowledged transfer is there once, with its debit and its credit; nothing is
/// there that no call has asked for, in this run or another; and accounts hold in all what they were opened with. The balances of `before` are not used:
/// a relay may have been moving money of an earlier run while they were read.
pub fn audit(claims: &Claims, before: &[Tally], after: &[Tally]) -> Vec<LedgerFinding> {
    let of_any = |tallies: &[Tally], sorts: &[Sort]| -> Vec<Stored> {
        let of_sort = tallies.iter().filter(|tally| sorts.contains(&tally.sort));
        of_sort.map(|&Tally { run, worker, sums, .. }| Stored { run, worker, sums }).collect()
    };
    let of = |tallies: &[Tally], sort| of_any(tallies, &[sort]);
    let mut findings = Vec::new();
    // What an earlier run has left prepared may be decided in this one.
    let decided = before.iter().all(|tally| tally.sort != Sort::Prepared || tally.sums.count == 0);
    for (sort, answered, words, others) in [
        (Sort::Accepted, Answered::Completed, &ACCEPTED, "transfers of other runs"),
        (Sort::Declined, Answered::Declined, &DECLINED, "declined transfers of other runs"),
    ] {
        let stored = of(after, sort);
        findings.extend(claims.check_stored(answered, &stored, words));
        if decided {
            findings.extend(claims.check_others(others, &of(before, sort), &stored, words));
        }
    }
    // Whatever has become of it since, what was answered as pending was, and nothing else was.
    let were_pending = of_any(after, &[Sort::Pending, Sort::Settled, Sort::Refunded]);
    findings.extend(claims.check_stored(Answered::Pending, &were_pending, &PENDING));
    let with_balances = of(after, Sort::Balances);
    findings.push(claims.check_answered("balances after transfers", &with_balances, &ACCEPTED));
    findings.push(none_refunded(claims, after));
    findings.extend(over_all(opened_with(before), after));
    findings
}

/// What must hold over all stores together whatever has run on them, when nothing is under way: each transfer has its debit and its
/// credit, nothing is pending, and accounts hold `money` in all.
pub(crate) fn over_all(money: i64, stored: &[Tally]) -> Vec<LedgerFinding> {
    vec![
        same(stored, Sort::AcceptedKeys, Sort::Debits, "debits"),
        // Money that is returned is a credit too.
        same(stored, Sort::AcceptedKeys, Sort::Credits, "credits"),
        targets_paid(stored),
        none_pending(stored),
        same(stored, Sort::Settled, Sort::Received, "received"),
        same(stored, Sort::Refunded, Sort::Refused, "refused"),
        same_money(money, stored),
    ]
}

/// Each transfer whose money was not returned has paid its target, and no other account.
fn targets_paid(after: &[Tally]) -> LedgerFinding {
    let mut sums: BTreeMap<(i64, i64), [Sums; 3]> = BTreeMap::new();
    for tally in after {
        let at = match tally.sort {
            Sort::Accepted => 0,
            // Those that are pending are a finding of their own.
            Sort::Refunded | Sort::Pending => 1,
            Sort::Paid => 2,
            _ => continue,
        };
        sums.entry((tally.run, tally.worker)).or_default()[at].absorb(&tally.sums);
    }
    let mut found = finding("targets", "rows");
    for ((_, worker), [accepted, unpaid, paid]) in sums {
        let kept = Sums {
            count: accepted.count.saturating_sub(unpaid.count),
            amount: accepted.amount.saturating_sub(unpaid.amount),
            mixed: accepted.mixed.saturating_sub(unpaid.mixed),
        };
        found.low = found.low.saturating_add(kept.count);
        found.high = found.high.saturating_add(kept.count);
        found.stored = found.stored.saturating_add(paid.count);
        if kept != paid {
            found.violations.push(format!(
                "worker {worker}: {} transfers of {} units in all were not returned, and {} of {} units have paid their targets or \
                 other accounts, which are not the same",
                kept.count, kept.amount, paid.count, paid.amount
            ));
        }
    }
    found
}

/// Nothing is on its way between stores.
fn none_pending(after: &[Tally]) -> LedgerFinding {
    let mut found = finding("pending", "transfers");
    for tally in after.iter().filter(|tally| tally.sort == Sort::Pending) {
        found.stored = found.stored.saturating_add(tally.sums.count);
        found.violations.push(format!(
            "worker {}: {} transfers of {} units in all are pending",
            tally.worker, tally.sums.count, tally.sums.amount
        ));
    }
    found
}

/// Every account that is paid to is there, so that no transfer of these claims is returned.
fn none_refunded(claims: &Claims, after: &[Tally]) -> LedgerFinding {
    let runs: BTreeSet<i64> = claims.workers.iter().map(|tally| tally.run.cast_signed()).collect();
    let mut found = finding("refunds", "transfers");
    for tally in after.iter().filter(|tally| tally.sort == Sort::Refunded && runs.contains(&tally.run)) {
        found.stored = found.stored.saturating_add(tally.sums.count);
        found.violations.push(format!(
            "worker {}: of its transfers {} were returned, although the accounts that they pay to are there",
            tally.worker, tally.sums.count
        ));
    }
    found
}

/// Each transfer in a state has one row of a sort, of its amount; of whatever run.
fn same(after: &[Tally], state: Sort, sort: Sort, name: &'static str) -> LedgerFinding {
    let mut found = finding(name, "rows");
    let of = |sort| after.iter().filter(move |tally| tally.sort == sort);
    let sums_of = |sort, of_key: (i64, i64)| {
        of(sort).find(|tally| (tally.run, tally.worker) == of_key).map_or(Sums::default(), |tally| tally.sums)
    };
    let mut keys: Vec<(i64, i64)> =
        of(state).chain(of(sort)).map(|tally| (tally.run, tally.worker)).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let (made, entered) = (sums_of(state, key), sums_of(sort, key));
        found.low = found.low.saturating_add(made.count);
        found.high = found.high.saturating_add(made.count);
        found.stored = found.stored.saturating_add(entered.count);
        if made != entered {
            found.violations.push(format!(
                "worker {}: {} transfers of {} units in all are {}, and there are {} {name} of {} units",
                key.1,
                made.count,
                made.amount,
                state.name(),
                entered.count,
                entered.amount
            ));
        }
    }
    found
}

/// What all accounts were opened with.
fn opened_with(tallies: &[Tally]) -> i64 {
    let accounts = tallies.iter().filter(|tally| tally.sort == Sort::Accounts);
    total(accounts.map(|tally| tally.sums.count)).saturating_mul(OPENING)
}

/// What all accounts hold.
fn stored(tallies: &[Tally]) -> i64 {
    total(tallies.iter().filter(|tally| tally.sort == Sort::Accounts).map(|tally| tally.sums.amount))
}

/// Money comes from nowhere and goes nowhere.
fn same_money(opened_with: i64, after: &[Tally]) -> LedgerFinding {
    let mut found = finding("money", "units");
    (found.low, found.high, found.stored) = (opened_with, opened_with, stored(after));
    if found.stored != found.low {
        found
            .violations
            .push(format!("accounts were opened with {} units in all and hold {}", found.low, found.stored));
    }
    found
}
