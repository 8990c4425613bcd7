//! What messages about keyed calls add up to, read one after the other.

use crate::keyed::{Effect, Stored, Sums, finding};
use model::LedgerFinding;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Violations, of which the first ones are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations {
    count: i64,
    first: Vec<String>,
}

impl Violations {
    const KEPT: usize = 3;

    pub fn note(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < Violations::KEPT {
            self.first.push(what());
        }
    }

    /// A finding that fails if there are any.
    pub fn finding(&self, name: &'static str, unit: &'static str) -> LedgerFinding {
        LedgerFinding { stored: self.count, violations: self.first.clone(), ..finding(name, unit) }
    }
}

/// Messages about calls, of which each key counts once. It holds a bit for each sequence of a worker.
#[derive(Debug, Clone, Default)]
pub struct KeyedMessages {
    /// By run and worker.
    sums: BTreeMap<(u64, u32), Sums>,
    /// Sequences of the worker of a run, 64 at a time.
    seen: HashMap<(u64, u32, u32), u64>,
    duplicates: u64,
}

impl KeyedMessages {
    /// Adds a message about a call; returns whether it is the first one of its key.
    pub fn enter(&mut self, effect: &Effect) -> bool {
        let key = effect.key;
        let bits = self.seen.entry((key.run, key.worker, key.sequence / 64)).or_default();
        let bit = 1 << (key.sequence % 64);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        match is_new {
            true => self.sums.entry((key.run, key.worker)).or_default().enter(effect),
            false => self.duplicates += 1,
        }
        is_new
    }

    /// Messages beyond the first of their key.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Sums over the first message of each key.
    pub fn stored(&self) -> Vec<Stored> {
        let of_worker = |((run, worker), sums): (&(u64, u32), &Sums)| Stored {
            run: run.cast_signed(),
            worker: i64::from(*worker),
            sums: *sums,
        };
        self.sums.iter().map(of_worker).collect()
    }
}

/// Compares messages of some runs with stored calls: each stored call has a message, and each message a stored call. `words` are what
/// calls are, and what messages make of them: `bookings`, `announced`.
pub fn compared(
    mut found: LedgerFinding,
    runs: &BTreeSet<u64>,
    [messages, stored]: [&[Stored]; 2],
    [calls, verb]: [&str; 2],
) -> LedgerFinding {
    let of_runs = |all: &[Stored]| -> BTreeMap<(i64, i64), Sums> {
        let mut sums: BTreeMap<(i64, i64), Sums> = BTreeMap::new();
        let own = all.iter().filter(|one| runs.contains(&one.run.cast_unsigned()));
        own.for_each(|one| sums.entry((one.run, one.worker)).or_default().absorb(&one.sums));
        sums
    };
    let (messages, stored) = (of_runs(messages), of_runs(stored));
    for worker in messages.keys().chain(stored.keys().filter(|worker| !messages.contains_key(worker))) {
        let of_worker = |all: &BTreeMap<_, Sums>| all.get(worker).copied().unwrap_or_default();
        let (messages, stored) = (of_worker(&messages), of_worker(&stored));
        found.low = found.low.saturating_add(stored.count);
        found.high = found.high.saturating_add(stored.count);
        found.stored = found.stored.saturating_add(messages.count);
        if messages != stored {
            let others = if messages.count == stored.count { "others" } else { &messages.count.to_string() };
            found.violations.push(format!(
                "worker {}: {} {calls} are stored, and {others} are {verb}",
                worker.1, stored.count
            ));
        }
    }
    found
}
