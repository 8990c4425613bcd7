//! Times in which the load generator, or its whole machine, did not run, and steps of the clock on the wall.

use serde::{Deserialize, Serialize};

/// A time that is missing from a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    pub kind: GapKind,
    /// Where it begins, in seconds from the start of the window; negative in the warm-up. Time in which the
    /// machine slept does not count in it, so such a gap is a point of the time line.
    pub from_s: f64,
    /// Its length in seconds; of a step of the clock by how much it was set, negative for backwards.
    pub duration_s: f64,
}

/// Times of the window in which no call completed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// The longest, in seconds.
    pub longest_s: f64,
    /// When it began, in seconds from the start of the window.
    pub from_s: f64,
    /// Shorter ones, in seconds, are what distances between calls at random moments come to.
    pub long_s: f64,
    /// All that are not shorter than that, together, in seconds.
    pub total_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// The machine slept: its clocks of durations stood still meanwhile.
    Suspended,
    /// The load generator was not run though time went on: it was stopped, or its virtual machine was.
    Stalled,
    /// The time of day was set. Durations are clocked by another clock and are right.
    ClockStep,
}

impl Gap {
    /// Seconds of the window, of `measured_s`, that are missing from it, or as good as missing. A sleep counts
    /// whole, because what woke up after it is not what went to sleep.
    pub fn missing_s(&self, measured_s: f64) -> f64 {
        match self.kind {
            GapKind::Suspended if (0.0..=measured_s).contains(&self.from_s) => self.duration_s,
            GapKind::Stalled => {
                ((self.from_s + self.duration_s).min(measured_s) - self.from_s.max(0.0)).max(0.0)
            }
            GapKind::Suspended | GapKind::ClockStep => 0.0,
        }
    }

    /// Whether it takes something from the time between two moments of the time line.
    pub fn touches(&self, from_s: f64, to_s: f64) -> bool {
        match self.kind {
            GapKind::Suspended => (from_s..to_s).contains(&self.from_s),
            GapKind::Stalled => self.from_s < to_s && from_s < self.from_s + self.duration_s,
            GapKind::ClockStep => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_measured_interval_is_missing_from_it() {
        let missing = |kind, from_s, duration_s| Gap { kind, from_s, duration_s }.missing_s(10.0);
        assert_eq!(missing(GapKind::Stalled, 3.0, 2.0), 2.0);
        assert_eq!(missing(GapKind::Stalled, -1.0, 2.0), 1.0);
        assert_eq!(missing(GapKind::Stalled, 9.0, 5.0), 1.0);
        assert_eq!(missing(GapKind::Stalled, -5.0, 2.0), 0.0);
        assert_eq!(missing(GapKind::Suspended, 3.0, 3_600.0), 3_600.0);
        assert_eq!(missing(GapKind::Suspended, -0.5, 3_600.0), 0.0);
        assert_eq!(missing(GapKind::ClockStep, 3.0, -60.0), 0.0);
    }
}
