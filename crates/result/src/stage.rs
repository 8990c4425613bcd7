//! Stages of a window: parts with a rate of their own.

use super::{CallCounts, Quantiles};
use serde::{Deserialize, Serialize};

/// A part of the window as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its length in seconds.
    pub duration_s: f64,
    /// Rates tried at its beginning.
    pub from_per_s: f64,
    /// At its end, which is reached in a straight line.
    pub to_per_s: f64,
}

impl Stage {
    /// As on the command line: `30s@100`, `30s@100~500`.
    pub fn words(&self) -> String {
        let Stage { duration_s, from_per_s, to_per_s } = self;
        if from_per_s == to_per_s {
            format!("{duration_s}s@{from_per_s}")
        } else {
            format!("{duration_s}s@{from_per_s}~{to_per_s}")
        }
    }
}

/// What the calls came to that were due in a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageTally {
    /// When it began, in seconds from the beginning of the window.
    pub t_s: f64,
    /// What was asked for.
    pub stage: Stage,
    /// Where the calls went that were due in it.
    pub call_counts: CallCounts,
    /// Of these, committed only after its end.
    pub committed_late: u64,
    /// Calls due before its end and not begun by then.
    pub backlog_after: u64,
    /// Response times of the committed ones.
    pub response: Quantiles,
    /// For a burst, a stage with a higher rate than those before and after it: when response times were back to what they had
    /// been; `null` for other stages, and where too few calls stand behind the times before it.
    pub recovery: Option<Recovery>,
}

/// How response times came back to what they had been before a burst.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// What they had to come back to, in nanoseconds: the highest median of a slice of the stage before, and a tenth of it.
    pub limit_ns: u64,
    /// Seconds from the end of the burst to the end of the first slice that kept it; `null` where none did.
    pub after_s: Option<f64>,
}

impl Recovery {
    /// For reports: `recovered after 3 s`, `not recovered`.
    pub fn words(&self) -> String {
        self.after_s
            .map_or_else(|| "not recovered".to_owned(), |after| format!("recovered after {after:.0} s"))
    }
}
