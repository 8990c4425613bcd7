//! All calls that were due: what was offered and left waiting, and the percentiles that decide something.

use super::Tally;
use serde::{Deserialize, Serialize};

/// Calls that were due, taken up and left waiting in the window, of all kinds together.
/// `backlog_before + offered = accepted + backlog_after`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Became due in the interval.
    pub offered: u64,
    /// Begun in the interval, whenever they were due.
    pub accepted: u64,
    /// Due and not begun when the interval began: left over from the warm-up.
    pub backlog_before: u64,
    /// Due and not begun when it ended: the backlog that was left.
    pub backlog_after: u64,
    /// Of the calls due in the interval, committed only after it.
    pub committed_late: u64,
}

impl Demand {
    /// Whether no call was lost or counted twice.
    pub fn balance(&self) -> bool {
        self.backlog_before + self.offered == self.accepted + self.backlog_after
    }

    /// By how many calls the backlog grew; below zero where it was worked off.
    pub fn growth(&self) -> f64 {
        self.backlog_after as f64 - self.backlog_before as f64
    }
}

/// Percentiles of the response time over all calls that were due. What was lost, refused, left in doubt or dropped
/// was slower than any limit; what was declined was answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllDue {
    /// Calls that were due. Of one kind, those dropped are taken to be of this kind in the proportion of those begun.
    pub calls: u64,
    /// Of these, without an answer.
    pub unanswered: u64,
    /// Median, in nanoseconds as all that follow; `null` where it is a call without an answer, or ten calls and more do not
    /// lie beyond it.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
}

/// A percentile over all calls that were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// In nanoseconds.
    Known(u64),
    /// It is a call that was never answered: slower than any limit.
    Unbounded,
    /// Fewer than ten calls are beyond it.
    TooFew,
}

impl AllDue {
    /// Asks `at` for each percentile (as 0.5, 0.9, 0.95, 0.99, 0.999) that is one of a call with an answer, and beyond which
    /// at least ten calls are.
    pub fn new(calls: u64, unanswered: u64, at: impl Fn(f64) -> Option<u64>) -> AllDue {
        let empty = AllDue {
            calls,
            unanswered,
            p50_ns: None,
            p90_ns: None,
            p95_ns: None,
            p99_ns: None,
            p999_ns: None,
        };
        let at = |thousandths: u64| {
            if empty.has_enough(thousandths) { at(thousandths as f64 / 1_000.0) } else { None }
        };
        AllDue {
            p50_ns: at(500),
            p90_ns: at(900),
            p95_ns: at(950),
            p99_ns: at(990),
            p999_ns: at(999),
            ..empty
        }
    }

    fn has_enough(&self, thousandths: u64) -> bool {
        self.calls.saturating_mul(1_000 - thousandths) >= 10_000
    }
}

impl Tally {
    /// A percentile over all calls that were due, by its place in thousandths: 500, 900, 950, 990 or 999.
    pub fn level(&self, thousandths: u64) -> Level {
        let pick = |p50, p90, p95, p99, p999| match thousandths {
            500 => p50,
            900 => p90,
            950 => p95,
            990 => p99,
            _ => p999,
        };
        let Some(all) = self.all_due else { return Level::TooFew };
        match pick(all.p50_ns, all.p90_ns, all.p95_ns, all.p99_ns, all.p999_ns) {
            Some(ns) => Level::Known(ns),
            None if all.has_enough(thousandths) => Level::Unbounded,
            None => Level::TooFew,
        }
    }
}
