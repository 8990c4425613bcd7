//! The phases of a trial and the slices that its time line is cut into.

use model::Nanos;
use serde::{Deserialize, Serialize};

/// A phase of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the window: everything runs, nothing of it is counted.
    WarmUp,
    Measured,
    /// After the window: calls that were due in it end.
    Drain,
}

/// The window as it stands now: a warm-up that goes on opens it later, a trial that is stopped closes it early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first moment. Once that has come it stays.
    pub opens: Nanos,
    /// The first moment after it.
    pub closes: Nanos,
}

/// The planned moments of a trial, on the clock that the workers read.
///
/// Slices begin at the window's first moment and count both ways from there, so that none straddles its edges: the
/// first slice of the warm-up and the last of the window may be shorter than the rest. A warm-up that goes on does so by
/// whole slices, so that no slice before the window moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// When the warm-up begins.
    pub start: Nanos,
    /// Length of the warm-up.
    pub warmup: Nanos,
    /// Length of the window.
    pub measured: Nanos,
    /// Length of a slice, at least 1 ns.
    pub slice: Nanos,
}

impl Timeline {
    /// When the window opens.
    pub fn opens(&self) -> Nanos {
        self.start + self.warmup
    }

    /// When the window closes, if nothing ends the trial before.
    pub fn closes(&self) -> Nanos {
        self.opens() + self.measured
    }

    /// The window, if nothing changes it.
    pub fn window(&self) -> Window {
        Window { opens: self.opens(), closes: self.closes() }
    }

    /// The slice in which a moment lies.
    pub fn slice_at(&self, moment: Nanos) -> u32 {
        let (before, within) = (self.slices(self.warmup), self.slices(self.measured));
        let index = if moment < self.opens() {
            let until_open = (self.opens() - moment).0.min(self.warmup.0);
            before - until_open.div_ceil(self.slice.0).max(1)
        } else if moment < self.closes() {
            before + (moment - self.opens()).0 / self.slice.0
        } else {
            before + within + (moment - self.closes()).0 / self.slice.0
        };
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// First moment of a slice, and the first moment after it.
    pub fn span(&self, slice: u32) -> (Nanos, Nanos) {
        let (before, within) = (self.slices(self.warmup), self.slices(self.measured));
        let index = u64::from(slice);
        let steps = |count: u64| Nanos(self.slice.0.saturating_mul(count));
        if index < before {
            let back = |count| self.opens() - Nanos(steps(count).0.min(self.warmup.0));
            (back(before - index), back(before - index - 1))
        } else if index < before + within {
            let from = self.opens() + steps(index - before);
            (from, (from + self.slice).min(self.closes()))
        } else {
            let from = self.closes() + steps(index - before - within);
            (from, from + self.slice)
        }
    }

    /// The phase in which a slice lies.
    pub fn phase(&self, slice: u32) -> Phase {
        let (before, within) = (self.slices(self.warmup), self.slices(self.measured));
        match u64::from(slice) {
            index if index < before => Phase::WarmUp,
            index if index < before + within => Phase::Measured,
            _ => Phase::Drain,
        }
    }

    /// How many slices a span takes, the last one perhaps shorter.
    fn slices(&self, span: Nanos) -> u64 {
        span.0.div_ceil(self.slice.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_moment_lies_in_the_span_of_its_slice(
            start in 0u64..1_000, warmup in 0u64..500, measured in 1u64..500, slice in 1u64..100, at in 0u64..2_000,
        ) {
            let timeline = Timeline {
                start: Nanos(start), warmup: Nanos(warmup), measured: Nanos(measured), slice: Nanos(slice),
            };
            let moment = Nanos(start + at);
            let index = timeline.slice_at(moment);
            let (from, to) = timeline.span(index);
            prop_assert!(from <= moment && moment < to, "{moment:?} in {index}: {from:?}..{to:?}");
            prop_assert_eq!(timeline.span(index + 1).0, to);
            let phase = if moment < timeline.opens() {
                Phase::WarmUp
            } else if moment < timeline.closes() {
                Phase::Measured
            } else {
                Phase::Drain
            };
            prop_assert_eq!(timeline.phase(index), phase);
        }

        #[test]
        fn a_warm_up_that_goes_on_by_whole_slices_moves_none_before_the_window(
            warmup in 0u64..500, measured in 1u64..500, slice in 1u64..100, more in 0u64..5,
        ) {
            let planned =
                Timeline { start: Nanos(7), warmup: Nanos(warmup), measured: Nanos(measured), slice: Nanos(slice) };
            let longer = Timeline { warmup: Nanos(warmup + more * slice), ..planned };
            for index in 0..planned.slice_at(planned.opens()) {
                prop_assert_eq!(planned.span(index), longer.span(index));
            }
        }
    }
}
