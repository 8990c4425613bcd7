//! The search for the highest rate that keeps a service level.

use serde::{Deserialize, Serialize};

/// What `find-max` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The objective as it was given: `new-order.p99<50ms`.
    pub slo: String,
    pub limits: Vec<SloLimit>,
    /// Every rate tried, in the order of trial.
    pub steps: Vec<Step>,
    /// The highest rate that kept the objective in every confirming trial, in calls/s due; `null` where none did.
    pub highest_per_s: Option<f64>,
    /// The lowest rate that broke it; `null` where none did.
    pub lowest_missed_per_s: Option<f64>,
    /// The component that gives out beyond it, in words; `null` where it is not known.
    pub next_limit: Option<String>,
    /// The finding in one sentence or two.
    pub sentence: String,
}

/// One limit on a percentile of the response time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SloLimit {
    /// The kind of call; `null` for all together.
    pub kind: Option<String>,
    /// `p50`, `p90`, `p95`, `p99` or `p99.9`.
    pub quantile: String,
    /// The most it may be, in nanoseconds.
    pub max_ns: u64,
}

/// One rate, tried once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub rate_per_s: f64,
    /// Its trial: an index into the document's.
    pub trial: usize,
    /// Whether it was run again to confirm.
    pub confirming: bool,
    /// Whether the objective was kept.
    pub met: bool,
    /// What broke it, or how near it came: `new-order p99 61 ms of 50 ms`.
    pub reason: String,
    /// Seconds of its interval after which it was ended, because nothing that could still have come would have kept the
    /// objective; `null` where it ran to its end.
    pub ended_early_s: Option<f64>,
}
