//! How fast the machine was around a trial.

use super::Interval;
use serde::{Deserialize, Serialize};

/// What probes of the machine took at a moment at which nothing else of the trial ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpeed {
    /// A fixed computation on one core, in nanoseconds.
    pub spin_ns: u64,
    /// A write of 8 KiB and its flush on the file system of the data, in nanoseconds; `null` where that is not next to the results.
    pub flush_ns: Option<u64>,
}

/// The machine just before a trial and just after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeedAround {
    pub before: MachineSpeed,
    pub after: MachineSpeed,
}

worded! {
    /// A probe of the machine.
    SpeedProbe, words {
        Spin = "CPU speed",
        Flush = "flush time",
    }
}

impl SpeedAround {
    /// What a probe took: the geometric mean of before and after.
    pub fn mean_ns(&self, probe: SpeedProbe) -> Option<f64> {
        let of = |speed: MachineSpeed| match probe {
            SpeedProbe::Spin => Some(speed.spin_ns),
            SpeedProbe::Flush => speed.flush_ns,
        };
        Some((of(self.before)? as f64 * of(self.after)? as f64).sqrt())
    }
}

/// A ratio on a machine of one speed, as far as probes around each trial tell it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustedRatio {
    pub by: SpeedProbe,
    pub ratio: Interval,
    /// By how much per cent the figure changed where the probe took one per cent longer.
    pub slope: f64,
}
