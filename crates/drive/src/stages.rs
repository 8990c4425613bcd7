//! A load that changes within one window: when calls are due whose rate is a function of time.

use crate::plan::{PlanError, RATE_MAX, RatePerSecond};
use model::Nanos;
use serde::{Deserialize, Serialize};

/// More than anyone will read a table of.
const STAGES_MAX: usize = 64;

/// A part of the window with a rate of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it lasts: whole slices, so that none of the time line straddles its end.
    pub length: Nanos,
    /// The rate at its beginning.
    pub from: RatePerSecond,
    /// The rate at its end, which is reached in a straight line.
    pub to: RatePerSecond,
}

impl Stage {
    /// The mean rate of several, over all of their time.
    pub fn mean_rate(stages: &[Stage]) -> RatePerSecond {
        RatePerSecond(stages.iter().map(Stage::calls).sum::<f64>() / length(stages).as_secs_f64())
    }

    /// Calls that become due in it, on average.
    fn calls(&self) -> f64 {
        (self.from.0 + self.to.0) / 2.0 * self.length.as_secs_f64()
    }

    /// Seconds from its beginning until so many calls have become due.
    fn until(&self, calls: f64) -> f64 {
        let steepness = (self.to.0 - self.from.0) / self.length.as_secs_f64();
        // The root of a quadratic in the form that also holds, and loses no digits, where the rate does not change.
        let root = (self.from.0 * self.from.0 + 2.0 * steepness * calls).max(0.0).sqrt();
        2.0 * calls / (self.from.0 + root)
    }
}

/// Length of all of them together.
pub(crate) fn length(stages: &[Stage]) -> Nanos {
    Nanos(stages.iter().map(|stage| stage.length.0).sum())
}

/// Ends of stages, from the beginning of the window.
pub(crate) fn ends(stages: &[Stage]) -> Vec<Nanos> {
    let mut end = Nanos::ZERO;
    stages
        .iter()
        .map(|stage| {
            end += stage.length;
            end
        })
        .collect()
}

/// Checks stages against their limits and the window that they make up.
pub(crate) fn validate(stages: &[Stage], measured: Nanos, slice: Nanos) -> Result<(), PlanError> {
    let wrong = |what, given: String, range: String| Err(PlanError::OutOfRange { what, given, range });
    if stages.len() > STAGES_MAX {
        return wrong("the number of stages", stages.len().to_string(), format!("at most {STAGES_MAX}"));
    }
    for stage in stages {
        for RatePerSecond(rate) in [stage.from, stage.to] {
            if !(rate > 0.0 && rate <= RATE_MAX) {
                let range = format!("more than 0 and at most {RATE_MAX}");
                return wrong("the rate of a stage", format!("{rate} calls per second"), range);
            }
        }
        if stage.length == Nanos::ZERO || !stage.length.0.is_multiple_of(slice.0) {
            let seconds = |time: Nanos| format!("{} s", time.as_secs_f64());
            let range = format!("a multiple of {}, and longer than zero", seconds(slice));
            return wrong("the length of a stage", seconds(stage.length), range);
        }
    }
    if length(stages) != measured {
        let given = format!("{} s", measured.as_secs_f64());
        let range = format!("as long as its stages together, {} s", length(stages).as_secs_f64());
        return wrong("the measured window", given, range);
    }
    Ok(())
}

/// The rate over time: that of the first stage in the warm-up, then the stages, then on as the last one ended.
#[derive(Debug)]
pub(crate) struct Profile {
    stages: Vec<Stage>,
    /// The stage in which the latest call was due, and what is before it.
    at: usize,
    calls_before: f64,
    seconds_before: f64,
}

impl Profile {
    pub(crate) fn new(warmup: Nanos, stages: &[Stage]) -> Profile {
        let (first, last) = (stages[0].from, stages[stages.len() - 1].to);
        let level = |length, rate| Stage { length, from: rate, to: rate };
        let before = [level(warmup, first)].into_iter().filter(|stage| stage.length > Nanos::ZERO);
        let after = level(Nanos::from_secs(1_000_000), last);
        let stages = before.chain(stages.iter().copied()).chain([after]).collect();
        Profile { stages, at: 0, calls_before: 0.0, seconds_before: 0.0 }
    }

    /// Nanoseconds until so many calls have become due. Asked for ever more of them.
    pub(crate) fn offset_ns(&mut self, calls: f64) -> f64 {
        while self.at + 1 < self.stages.len() && calls - self.calls_before >= self.stages[self.at].calls() {
            let passed = self.stages[self.at];
            self.calls_before += passed.calls();
            self.seconds_before += passed.length.as_secs_f64();
            self.at += 1;
        }
        (self.seconds_before + self.stages[self.at].until(calls - self.calls_before)) * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(seconds: u64, from: f64, to: f64) -> Stage {
        Stage { length: Nanos::from_secs(seconds), from: RatePerSecond(from), to: RatePerSecond(to) }
    }

    #[test]
    fn calls_are_due_by_the_rate_of_their_stage_and_ramps_are_straight() {
        let stages =
            [stage(10, 100.0, 100.0), stage(10, 100.0, 500.0), stage(5, 500.0, 20.0), stage(4, 5.0, 5.0)];
        let mut profile = Profile::new(Nanos::from_secs(2), &stages);
        let due: Vec<f64> = (0..6_000).map(|calls| profile.offset_ns(f64::from(calls)) / 1e9).collect();
        assert!(due.windows(2).all(|pair| pair[0] < pair[1]));
        let within = |from: f64, to: f64| due.iter().filter(|due| **due >= from && **due < to).count();
        assert_eq!((within(0.0, 2.0), within(2.0, 12.0)), (200, 1_000));
        // 100 to 300 calls per second on average 200, and 300 to 500.
        assert!(within(12.0, 17.0).abs_diff(1_000) <= 1 && within(17.0, 22.0).abs_diff(2_000) <= 1);
        assert!(within(22.0, 27.0).abs_diff(1_300) <= 1 && within(27.0, 31.0).abs_diff(20) <= 1);
        assert_eq!(Stage::mean_rate(&stages).0, (1_000.0 + 3_000.0 + 1_300.0 + 20.0) / 29.0);
    }
}
