//! What messages about keyed calls add up to, read one after the other.

use crate::keyed::{Effect, Stored, Sums, finding};
use model::LedgerFinding;
use std::collections::{BTreeMap, HashMap};

/// Violations, of which the first ones are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violations {
    count: i64,
    first: Vec<String>,
}

impl Violations {
    const KEPT: usize = 3;

    /// Counts one.
    pub fn note(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < Violations::KEPT {
            self.first.push(what());
        }
    }

    /// A finding that fails if there are any.
    #[must_use]
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
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Sums over the first message of each key.
    #[must_use]
    pub fn stored(&self) -> Vec<Stored> {
        let of_worker = |((run, worker), sums): (&(u64, u32), &Sums)| Stored {
            run: run.cast_signed(),
            worker: i64::from(*worker),
            sums: *sums,
        };
        self.sums.iter().map(of_worker).collect()
    }
}
