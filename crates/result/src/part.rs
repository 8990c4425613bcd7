//! Several processes that make the calls of one trial together.

use serde::{Deserialize, Serialize};

/// One of the processes that made the calls of a trial, or should have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPart {
    /// Which of them, from 1.
    pub part: u32,
    pub state: PartState,
    /// Why its calls are not a part of this result as they should be; `null` where they are.
    pub why: Option<String>,
    /// Name of its machine; `null` where it is not known.
    pub host: Option<String>,
    /// Its clients.
    pub clients: u32,
    /// Calls that were due in its window.
    pub due: u64,
    /// Its committed calls per second, of all kinds.
    pub rate_per_s: f64,
    /// CPU time of its load generator in seconds; `null` where it was not observed.
    pub generator_cpu_s: Option<f64>,
    /// Whether its load generator used all of the CPU time that it could, and so limited throughput.
    pub saturated: bool,
    /// The clock of the database minus its own, in milliseconds; `null` where it was not measured.
    pub clock_offset_ms: Option<f64>,
    /// Half the shortest round trip in which that was measured, in milliseconds: the offset is right to this.
    pub clock_error_ms: Option<f64>,
    /// Seconds from the first window that opened to its own, by the clock of the database, or by its own where the
    /// offset was not measured.
    pub opened_s: Option<f64>,
}

/// What has become of a part of the load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    /// All of it was made as planned.
    #[default]
    Complete,
    /// It was asked to stop before its end.
    Interrupted,
    /// It ended in an error.
    Failed,
    /// It has no result: it was killed, or still runs.
    Unfinished,
    /// It was not among those that were merged.
    Missing,
    /// It is of another plan, and none of its calls are in this result.
    Foreign,
}

impl LoadPart {
    /// Whether its calls are in the result, all or some.
    pub fn is_counted(&self) -> bool {
        matches!(self.state, PartState::Complete | PartState::Interrupted | PartState::Failed)
    }
}
