//! What calls came to by the stage of the window in which they were due.

use crate::{CallCounts, Latencies};
use model::Nanos;
use serde::{Deserialize, Serialize};

/// Of one stage. About 14 KiB.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StageTotals {
    /// Counts of the calls that were due in it; `late` are those committed after its end.
    pub call_counts: CallCounts,
    /// Response times of the committed ones.
    pub response: Latencies,
    /// Calls that were due before its end and not begun by then, whenever they were due.
    pub backlog_after: u64,
}

impl StageTotals {
    pub(crate) fn absorb(&mut self, other: &StageTotals) {
        self.call_counts += other.call_counts;
        self.response.absorb(&other.response);
        self.backlog_after += other.backlog_after;
    }

    pub(crate) fn clear(&mut self) {
        self.call_counts = CallCounts::default();
        self.response.clear();
        self.backlog_after = 0;
    }
}

/// The stage in which a moment lies, of stages with these ends, all counted from the first moment of the window; nothing where
/// there are none, and after the last.
#[inline]
pub(crate) fn stage_at(ends: &[Nanos], moment: Nanos) -> Option<usize> {
    let stage = ends.partition_point(|end| *end <= moment);
    (stage < ends.len()).then_some(stage)
}
