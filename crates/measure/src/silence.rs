//! When calls completed, in parts of slices: the longest time in which none did.

use crate::collector::Slice;
use crate::timeline::Phase;
use result::Silence;
use serde::{Deserialize, Serialize};

/// Parts of a slice.
pub(crate) const PARTS: u32 = 128;
/// A silence has no cause in how far calls are apart when it is so many times as long as that on average: of calls at random
/// moments one in e^20 distances is longer.
const TIMES_APART: f64 = 20.0;
/// Parts of a slice that a silence has at least: what is shorter is not seen well.
const PARTS_MIN: f64 = 4.0;

/// The parts of a slice in which a call completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered([u64; 2]);

impl Answered {
    /// A call completed in this part.
    #[inline]
    pub(crate) fn enter(&mut self, part: u32) {
        let part = part.min(PARTS - 1);
        self.0[part as usize / 64] |= 1 << (part % 64);
    }

    pub(crate) fn absorb(&mut self, other: Answered) {
        self.0[0] |= other.0[0];
        self.0[1] |= other.0[1];
    }

    fn has(self, part: u32) -> bool {
        self.0[part as usize / 64] & (1 << (part % 64)) != 0
    }
}

/// The times without a completed call in the slices of the window, in which `completed` calls ended. Nothing where there is no
/// slice, or no call.
pub(crate) fn find(slices: &[Slice], completed: u64) -> Option<Silence> {
    let measured: Vec<&Slice> = slices.iter().filter(|slice| slice.phase == Phase::Measured).collect();
    let opens = measured.first()?.from;
    let part_s = measured.first()?.whole.as_secs_f64() / f64::from(PARTS);
    let all_s: f64 = measured.iter().map(|slice| slice.length().as_secs_f64()).sum();
    if completed == 0 || part_s <= 0.0 {
        return None;
    }
    let long_s = (TIMES_APART * all_s / completed as f64).max(PARTS_MIN * part_s);
    let mut found = Silence { longest_s: 0.0, from_s: 0.0, long_s, total_s: 0.0 };
    let mut started: Option<f64> = None;
    let mut end = |from: f64, to: f64| {
        let silent = to - from;
        if silent > found.longest_s {
            (found.longest_s, found.from_s) = (silent, from);
        }
        if silent >= long_s {
            found.total_s += silent;
        }
    };
    for slice in &measured {
        let from_s = (slice.from - opens).as_secs_f64();
        let parts = (slice.length().as_secs_f64() / part_s).ceil().min(f64::from(PARTS)) as u32;
        for part in 0..parts {
            let at = from_s + f64::from(part) * part_s;
            match (slice.answered.has(part), started) {
                (false, None) => started = Some(at),
                (true, Some(from)) => {
                    end(from, at);
                    started = None;
                }
                _ => {}
            }
        }
    }
    if let Some(from) = started {
        end(from, all_s.max(from));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;
    use proptest::prelude::*;

    /// Slices of 1.28 s, so that a part is 10 ms, with calls at these parts.
    fn slices(count: u32, parts: impl Iterator<Item = u32>) -> Vec<Slice> {
        let slice = |index: u32| Slice {
            phase: Phase::Measured,
            from: Nanos::from_millis(u64::from(index) * 1_280),
            to: Nanos::from_millis(u64::from(index + 1) * 1_280),
            whole: Nanos::from_millis(1_280),
            ..Slice::empty(index, 1)
        };
        let mut slices: Vec<Slice> = (0..count).map(slice).collect();
        for part in parts {
            slices[(part / PARTS) as usize].answered.enter(part % PARTS);
        }
        slices
    }

    #[test]
    fn a_time_without_a_call_is_found_across_slices() {
        // Every part has a call but for those from 0.5 s to 2 s, which go over the end of a slice.
        let found = find(&slices(3, (0..384).filter(|part| !(50..200).contains(part))), 5_000).unwrap();
        assert!((found.longest_s - 1.5).abs() < 1e-9 && (found.from_s - 0.5).abs() < 1e-9, "{found:?}");
        assert!((found.total_s - 1.5).abs() < 1e-9, "{found:?}");
        // Many short ones, of 15 %: each second is without a call for 150 ms.
        let some = |part: &u32| part % 100 >= 15;
        let found = find(&slices(3, (0..384).filter(some)), 50_000).unwrap();
        assert!((found.longest_s - 0.15).abs() < 1e-9 && (found.total_s - 0.6).abs() < 0.011, "{found:?}");
        // To the end.
        let found = find(&slices(1, 0..64), 5_000).unwrap();
        assert!((found.longest_s - 0.64).abs() < 1e-9 && (found.from_s - 0.64).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn calls_that_are_far_apart_are_no_silence() {
        // One in 130 ms.
        let found = find(&slices(4, (0..512).step_by(13)), 40).unwrap();
        assert!((found.longest_s - 0.12).abs() < 1e-9 && found.total_s == 0.0, "{found:?}");
        assert_eq!(find(&slices(4, std::iter::empty()), 0), None);
        assert_eq!(find(&[], 10), None);
        // A window that is shorter than a slice is entered by parts of a whole one.
        let mut short = slices(1, 0..64);
        short[0].to = Nanos::from_millis(640);
        let found = find(&short, 5_000).unwrap();
        assert_eq!((found.longest_s, found.total_s), (0.0, 0.0), "{found:?}");
    }

    proptest! {
        #[test]
        fn the_longest_is_at_most_all_and_the_long_ones_together_too(
            parts in prop::collection::btree_set(0_u32..512, 1..512),
        ) {
            let found = find(&slices(4, parts.iter().copied()), parts.len() as u64).unwrap();
            prop_assert!(found.longest_s <= 5.12 && found.total_s <= 5.12 - 0.01 * parts.len() as f64 + 1e-6);
            prop_assert!(found.from_s + found.longest_s <= 5.12 + 1e-9);
        }
    }
}
