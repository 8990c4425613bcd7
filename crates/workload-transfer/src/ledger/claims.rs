//! The stores against what was acknowledged.

use super::{Doubt, Ledger, LedgerFinding, Sort, Sums, Tally, WorkerTally, mixed};
use crate::OPENING;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Doubts of one worker whose every subset is tried; of more, only bounds are held.
const SUBSETS_OF: usize = 12;

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// What each worker was told.
    pub workers: Vec<WorkerTally>,
    /// Transfers in doubt.
    pub doubts: Vec<Doubt>,
    /// How many more there are.
    pub more_doubts: u64,
    /// False where calls may have been acknowledged after these claims were written: then only lower bounds hold.
    pub complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    #[must_use]
    pub fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims {
            workers: ledger.workers.clone(),
            doubts: ledger.doubts.clone(),
            more_doubts: ledger.more_doubts,
            complete,
        }
    }

    /// The ledger audit over all stores together: each acknowledged transfer is there once, with its debit and its credit;
    /// nothing is there that nobody asked for; and accounts hold in all what they were opened with. The balances of `before` are
    /// not used: a relay may have been moving money of an earlier run while they were read.
    #[must_use]
    pub fn audit(&self, before: &[Tally], after: &[Tally]) -> Vec<LedgerFinding> {
        let mut findings = Vec::new();
        findings.extend(self.transfers(after, Sort::Accepted, ["transfers", "amounts", "keys"]));
        let declined = ["declined transfers", "declined amounts", "declined keys"];
        findings.extend(self.transfers(after, Sort::Declined, declined));
        findings.extend(over_all(opened_with(before), after));
        findings
    }

    /// Workers of these runs, from either side.
    fn workers(&self, after: &[Tally]) -> Vec<(u64, u32)> {
        let told = self.workers.iter().map(|tally| (tally.run, tally.worker));
        let mut all: Vec<_> = told.chain(self.doubts.iter().map(|doubt| (doubt.run, doubt.worker))).collect();
        let runs: BTreeSet<u64> = all.iter().map(|(run, _)| *run).collect();
        let stored = after.iter().filter(|tally| tally.sort.is_of_transfers());
        let stored = stored.map(|tally| (tally.run.cast_unsigned(), tally.worker as u32));
        all.extend(stored.filter(|(run, _)| runs.contains(run)));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Count, amount and keys of transfers, by worker.
    fn transfers(&self, after: &[Tally], sort: Sort, names: [&'static str; 3]) -> [LedgerFinding; 3] {
        let [mut counts, mut amounts, mut keys] =
            [finding(names[0], "transfers"), finding(names[1], "units"), finding(names[2], "sums of keys")];
        for (run, worker) in self.workers(after) {
            let told = self.workers.iter().find(|tally| (tally.run, tally.worker) == (run, worker));
            let sure = told.map_or(Sums::default(), |tally| match sort {
                Sort::Declined => tally.declined,
                _ => tally.completed,
            });
            let of_worker = (run.cast_signed(), i64::from(worker));
            let stored =
                after.iter().filter(|tally| tally.sort == sort && (tally.run, tally.worker) == of_worker);
            let stored = stored.map(|tally| tally.sums);
            let stored = stored.fold(Sums::default(), |mut all, sums| {
                all.absorb(&sums);
                all
            });
            let doubts = self.doubts.iter().filter(|doubt| (doubt.run, doubt.worker) == (run, worker));
            let doubts: Vec<&Doubt> = doubts.collect();
            let doubtful = doubts.iter().fold(Sums::default(), |mut all, doubt| {
                all.absorb(&Sums { count: 1, amount: doubt.amount, mixed: mixed(doubt.sequence) });
                all
            });
            let bounded = self.complete && self.more_doubts == 0;
            hold(&mut counts, worker, sure.count, doubtful.count, stored.count, bounded);
            hold(&mut amounts, worker, sure.amount, doubtful.amount, stored.amount, bounded);
            hold(&mut keys, worker, sure.mixed, doubtful.mixed, stored.mixed, bounded);
            let few = doubts.len() <= SUBSETS_OF && bounded;
            if few && counts.violations.is_empty() && !is_some_of(&sure, &doubts, &stored) {
                keys.violations.push(format!(
                    "worker {worker}: the {} transfers that are stored are not those that were acknowledged, with any of the \
                     {} in doubt",
                    stored.count,
                    doubts.len()
                ));
            }
        }
        [counts, amounts, keys]
    }
}

/// What must hold over all stores together whatever has run on them, when nothing is under way: each transfer has its debit and its
/// credit, nothing is pending, and accounts hold `money` in all.
pub(crate) fn over_all(money: i64, stored: &[Tally]) -> Vec<LedgerFinding> {
    vec![
        same(stored, Sort::Accepted, Sort::Debits, "debits"),
        // Money that is given back is a credit too.
        same(stored, Sort::Accepted, Sort::Credits, "credits"),
        none_pending(stored),
        same(stored, Sort::Settled, Sort::Received, "received"),
        same(stored, Sort::Refunded, Sort::Refused, "refused"),
        same_money(money, stored),
    ]
}

/// Whether the stored sums are those of what is sure and of some of what is in doubt.
fn is_some_of(sure: &Sums, doubts: &[&Doubt], stored: &Sums) -> bool {
    (0_u32..1 << doubts.len()).any(|chosen| {
        let mut sums = *sure;
        for (_, doubt) in doubts.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1) {
            sums.absorb(&Sums { count: 1, amount: doubt.amount, mixed: mixed(doubt.sequence) });
        }
        sums == *stored
    })
}

fn finding(name: &'static str, unit: &'static str) -> LedgerFinding {
    LedgerFinding { name, unit, low: 0, high: 0, stored: 0, violations: Vec::new() }
}

fn hold(finding: &mut LedgerFinding, worker: u32, sure: i64, doubtful: i64, stored: i64, bounded: bool) {
    finding.low += sure;
    finding.high += sure + doubtful;
    finding.stored += stored;
    let unit = finding.unit;
    if stored < sure {
        finding
            .violations
            .push(format!("worker {worker}: at least {sure} {unit} were acknowledged, stored {stored}"));
    } else if bounded && stored > sure + doubtful {
        let most = sure + doubtful;
        finding
            .violations
            .push(format!("worker {worker}: at most {most} {unit} can have been made, stored {stored}"));
    }
}

/// Nothing is on its way between stores.
fn none_pending(after: &[Tally]) -> LedgerFinding {
    let mut found = finding("pending", "transfers");
    for tally in after.iter().filter(|tally| tally.sort == Sort::Pending) {
        found.stored += tally.sums.count;
        found.violations.push(format!(
            "worker {}: {} transfers of {} units in all are pending",
            tally.worker, tally.sums.count, tally.sums.amount
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
        found.low += made.count;
        found.high += made.count;
        found.stored += entered.count;
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
    accounts.map(|tally| tally.sums.count).sum::<i64>() * OPENING
}

/// What all accounts hold.
fn held(tallies: &[Tally]) -> i64 {
    tallies.iter().filter(|tally| tally.sort == Sort::Accounts).map(|tally| tally.sums.amount).sum()
}

/// Money comes from nowhere and goes nowhere.
fn same_money(opened_with: i64, after: &[Tally]) -> LedgerFinding {
    let mut found = finding("money", "units");
    (found.low, found.high, found.stored) = (opened_with, opened_with, held(after));
    if found.stored != found.low {
        found
            .violations
            .push(format!("accounts were opened with {} units in all and hold {}", found.low, found.stored));
    }
    found
}
