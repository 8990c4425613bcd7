//! What was acknowledged of calls that are made under idempotency keys, against what is stored.
//!
//! Keys are made of run, worker and a sequence without gaps. So what was acknowledged to a worker is kept as sums over its keys, and the
//! store is asked for the same sums: a call that is lost, or there twice, or there under another key, changes one of them.

use crate::mixed;
use model::{Key, LedgerFinding};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Calls in doubt that are kept one by one, of all workers; more are only counted.
const DOUBTS_MAX: usize = 1_024;
/// Doubts of one worker whose every subset is tried; of more, only bounds are held.
const SUBSETS_OF: usize = 12;

/// What a call leaves behind if it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    pub key: Key,
    /// How much it moves, sells, ….
    pub amount: i64,
    /// What identifies it, as the store sums it: sums of different sets of calls are seldom equal. 0 to 2^31.
    pub mixed: i64,
    /// The row that it is for, whose store knows what became of it.
    pub place: u32,
}

/// Sums over calls of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    pub count: i64,
    pub amount: i64,
    pub mixed: i64,
}

impl Sums {
    /// Adds a call.
    pub fn enter(&mut self, effect: &Effect) {
        self.absorb(&Sums { count: 1, amount: effect.amount, mixed: effect.mixed });
    }

    /// Adds what others sum.
    pub fn absorb(&mut self, other: &Sums) {
        self.count = self.count.saturating_add(other.count);
        self.amount = self.amount.saturating_add(other.amount);
        self.mixed = self.mixed.saturating_add(other.mixed);
    }
}

/// What was answered to one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTally {
    /// The run that its keys are made of.
    pub run: u64,
    pub worker: u32,
    /// Its calls that were done.
    pub completed: Sums,
    /// Those that were declined, where the store keeps them.
    pub declined: Sums,
    /// Those that were done and were answered as not yet at their end.
    pub pending: Sums,
    /// Those of the first two whose answer the store keeps, with what it says as their amount.
    pub answered: Sums,
}

/// A part of a ledger: what was answered to each worker, and calls in doubt one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed {
    workers: Vec<WorkerTally>,
    doubts: Vec<Effect>,
    /// Doubts that an answer to a repeated call has ended, perhaps of a ledger that was absorbed before.
    ended: Vec<Effect>,
    /// Doubts beyond those that are kept.
    more_doubts: u64,
}

impl Keyed {
    /// What was answered to each worker, by run and worker.
    pub fn workers(&self) -> &[WorkerTally] {
        &self.workers
    }

    /// Calls in doubt that are kept, and how many more there are.
    pub fn doubts(&self) -> (&[Effect], u64) {
        (&self.doubts, self.more_doubts)
    }

    fn of_worker(&mut self, run: u64, worker: u32) -> &mut WorkerTally {
        let key = |tally: &WorkerTally| (tally.run, tally.worker);
        let at = self.workers.binary_search_by_key(&(run, worker), key).unwrap_or_else(|at| {
            self.workers.insert(at, WorkerTally { run, worker, ..WorkerTally::default() });
            at
        });
        &mut self.workers[at]
    }

    /// A call was acknowledged as done.
    pub fn completed(&mut self, effect: &Effect) {
        self.of_worker(effect.key.run, effect.key.worker).completed.enter(effect);
    }

    /// A call was declined, and the store keeps that.
    pub fn declined(&mut self, effect: &Effect) {
        self.of_worker(effect.key.run, effect.key.worker).declined.enter(effect);
    }

    /// A call was acknowledged as done and not yet at its end; it is [`Keyed::completed`] as well.
    pub fn pending(&mut self, effect: &Effect) {
        self.of_worker(effect.key.run, effect.key.worker).pending.enter(effect);
    }

    /// A call was answered with this, which the store keeps; it is [`Keyed::completed`] or [`Keyed::declined`] as well.
    pub fn answered(&mut self, key: Key, answer: i64) {
        let sums = Sums { count: 1, amount: answer, mixed: mixed(key.sequence as i64 + 1, [answer]) };
        self.of_worker(key.run, key.worker).answered.absorb(&sums);
    }

    /// It is not known whether a call was done.
    pub fn doubt(&mut self, effect: Effect) {
        if self.doubts.contains(&effect) {
            return;
        }
        if self.doubts.len() < DOUBTS_MAX {
            self.doubts.push(effect);
        } else {
            self.more_doubts += 1;
        }
    }

    /// A call that was in doubt was repeated under its key and answered.
    pub fn end_doubt(&mut self, effect: Effect) {
        self.ended.push(effect);
    }

    /// Adds everything that `other` holds.
    pub fn absorb(&mut self, other: &Keyed) {
        for theirs in &other.workers {
            let mine = self.of_worker(theirs.run, theirs.worker);
            mine.completed.absorb(&theirs.completed);
            mine.declined.absorb(&theirs.declined);
            mine.pending.absorb(&theirs.pending);
            mine.answered.absorb(&theirs.answered);
        }
        other.doubts.iter().for_each(|doubt| self.doubt(*doubt));
        self.more_doubts += other.more_doubts;
        for ended in &other.ended {
            // A call that was refused, and then repeated, was never in doubt.
            self.doubts.retain(|doubt| doubt != ended);
        }
    }

    /// Returns to the state of a fresh one without giving memory back.
    pub fn clear(&mut self) {
        self.workers.clear();
        self.doubts.clear();
        self.ended.clear();
        self.more_doubts = 0;
    }
}

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedClaims {
    /// What was answered to each worker.
    pub workers: Vec<WorkerTally>,
    pub doubts: Vec<Effect>,
    /// How many more there are.
    pub more_doubts: u64,
    /// False where calls may have been acknowledged after these claims were written: then only lower bounds hold.
    pub complete: bool,
}

/// Of what a store is asked: calls that were done, declined, or done and not at their end when they were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    Completed,
    Declined,
    Pending,
}

/// What a store has of one worker of one run; of several rows all count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The run, as it is stored.
    pub run: i64,
    pub worker: i64,
    pub sums: Sums,
}

/// What findings call it.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// Names of the findings over counts, amounts and keys.
    pub names: [&'static str; 3],
    /// What is counted: `transfers`.
    pub calls: &'static str,
    /// What amounts are in: `units`.
    pub units: &'static str,
}

impl KeyedClaims {
    /// The claims of a ledger.
    pub fn of(keyed: &Keyed, complete: bool) -> KeyedClaims {
        KeyedClaims {
            workers: keyed.workers.clone(),
            doubts: keyed.doubts.clone(),
            more_doubts: keyed.more_doubts,
            complete,
        }
    }

    /// Workers of the runs of these claims, from either side.
    fn of_runs(&self, stored: &[Stored]) -> Vec<(u64, u32)> {
        let listed = self.workers.iter().map(|tally| (tally.run, tally.worker));
        let doubted = self.doubts.iter().map(|doubt| (doubt.key.run, doubt.key.worker));
        let mut all: Vec<_> = listed.chain(doubted).collect();
        let runs: BTreeSet<u64> = all.iter().map(|(run, _)| *run).collect();
        let stored = stored.iter().map(|stored| (stored.run.cast_unsigned(), stored.worker as u32));
        all.extend(stored.filter(|(run, _)| runs.contains(run)));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What is stored of runs of which these claims have no call, before and after: it must not have changed. `None` where the
    /// claims are not complete: then a run may be missing from them.
    pub fn check_others(
        &self,
        name: &'static str,
        before: &[Stored],
        after: &[Stored],
        words: &Words,
    ) -> Option<LedgerFinding> {
        if !self.complete || self.more_doubts > 0 {
            return None;
        }
        let ours: BTreeSet<i64> = self.of_runs(&[]).iter().map(|(run, _)| run.cast_signed()).collect();
        let of = |all: &[Stored]| {
            let mut others: BTreeMap<(i64, i64), Sums> = BTreeMap::new();
            for stored in all.iter().filter(|stored| !ours.contains(&stored.run)) {
                others.entry((stored.run, stored.worker)).or_default().absorb(&stored.sums);
            }
            others
        };
        let (before, after) = (of(before), of(after));
        let mut found = finding(name, words.calls);
        for key in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let [was, is] = [&before, &after].map(|of| of.get(key).copied().unwrap_or_default());
            found.stored = found.stored.saturating_add(is.count.saturating_sub(was.count));
            if was != is {
                let ((run, worker), Words { calls, units, .. }) = (key, words);
                found.violations.push(format!(
                    "run {run}, worker {worker}: {} {calls} of {} {units} were stored before the first call, and now {} of {}, \
                     although no call was made under its keys",
                    was.count, was.amount, is.count, is.amount
                ));
            }
        }
        Some(found)
    }

    /// What is stored of the answers to calls, against what was answered, of workers of which no call is in doubt.
    pub fn check_answered(&self, name: &'static str, stored: &[Stored], words: &Words) -> LedgerFinding {
        let mut found = finding(name, words.units);
        let doubted = |tally: &WorkerTally| {
            let of_worker = |doubt: &Effect| (doubt.key.run, doubt.key.worker) == (tally.run, tally.worker);
            self.doubts.iter().any(of_worker)
        };
        let is_known = self.complete && self.more_doubts == 0;
        for tally in self.workers.iter().filter(|tally| is_known && !doubted(tally)) {
            let of_worker = (tally.run.cast_signed(), i64::from(tally.worker));
            let mut sums = Sums::default();
            let own = stored.iter().filter(|stored| (stored.run, stored.worker) == of_worker);
            own.for_each(|stored| sums.absorb(&stored.sums));
            found.low = found.low.saturating_add(tally.answered.amount);
            found.high = found.low;
            found.stored = found.stored.saturating_add(sums.amount);
            // Calls that are missing, or too many, are another finding.
            if sums.count == tally.answered.count && sums != tally.answered {
                found.violations.push(format!(
                    "worker {}: {} {} were answered with {} {} in all, and what is stored with them is {} in all",
                    tally.worker, sums.count, words.calls, tally.answered.amount, words.units, sums.amount
                ));
            }
        }
        found
    }

    /// Count, amounts and keys of what is stored, against what was answered to each worker: each acknowledged call is there once, and
    /// nothing that no call can have done.
    pub fn check_stored(&self, of: Answered, stored: &[Stored], words: &Words) -> [LedgerFinding; 3] {
        let units = [words.calls, words.units, "sums of keys"];
        let [mut counts, mut amounts, mut keys] = [0, 1, 2].map(|at| finding(words.names[at], units[at]));
        for (run, worker) in self.of_runs(stored) {
            let listed = self.workers.iter().find(|tally| (tally.run, tally.worker) == (run, worker));
            let sure = listed.map_or(Sums::default(), |tally| match of {
                Answered::Completed => tally.completed,
                Answered::Declined => tally.declined,
                Answered::Pending => tally.pending,
            });
            let of_worker = (run.cast_signed(), i64::from(worker));
            let stored = stored.iter().filter(|stored| (stored.run, stored.worker) == of_worker);
            let stored = stored.fold(Sums::default(), |mut all, stored| {
                all.absorb(&stored.sums);
                all
            });
            let doubts =
                self.doubts.iter().filter(|doubt| (doubt.key.run, doubt.key.worker) == (run, worker));
            let doubts: Vec<&Effect> = doubts.collect();
            let doubtful = doubts.iter().fold(Sums::default(), |mut all, doubt| {
                all.enter(doubt);
                all
            });
            let bounded = self.complete && self.more_doubts == 0;
            hold(&mut counts, worker, sure.count, doubtful.count, stored.count, bounded);
            hold(&mut amounts, worker, sure.amount, doubtful.amount, stored.amount, bounded);
            hold(&mut keys, worker, sure.mixed, doubtful.mixed, stored.mixed, bounded);
            let few = doubts.len() <= SUBSETS_OF && bounded;
            if few && counts.violations.is_empty() && !is_some_of(&sure, &doubts, &stored) {
                keys.violations.push(format!(
                    "worker {worker}: the {} {} that are stored are not those that were acknowledged, with any of the {} in \
                     doubt",
                    stored.count,
                    words.calls,
                    doubts.len()
                ));
            }
        }
        [counts, amounts, keys]
    }
}

/// Whether the stored sums are those of what is sure and of some of what is in doubt.
fn is_some_of(sure: &Sums, doubts: &[&Effect], stored: &Sums) -> bool {
    (0_u32..1 << doubts.len()).any(|chosen| {
        let mut sums = *sure;
        for (_, doubt) in doubts.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1) {
            sums.enter(doubt);
        }
        sums == *stored
    })
}

/// A finding in which nothing is wrong yet.
pub const fn finding(name: &'static str, unit: &'static str) -> LedgerFinding {
    LedgerFinding { name, unit, low: 0, high: 0, stored: 0, violations: Vec::new() }
}

fn hold(finding: &mut LedgerFinding, worker: u32, sure: i64, doubtful: i64, stored: i64, bounded: bool) {
    finding.low = finding.low.saturating_add(sure);
    finding.high = finding.high.saturating_add(sure).saturating_add(doubtful);
    finding.stored = finding.stored.saturating_add(stored);
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
