//! Distributions as they are written to a file, and time lines of several processes as one.

use crate::collector::{Slice, SliceTimes};
use crate::latencies::Latencies;
use model::Nanos;
use serde::{Deserialize, Serialize};

/// The calls of a [`Latencies`], without the steps that none falls into: what is read again counts the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spectrum {
    /// The exact sum of all latencies.
    pub(crate) sum: Nanos,
    /// The exact maximum.
    pub(crate) max: Nanos,
    /// The upper bound of a step and the calls in it, ascending.
    pub(crate) steps: Vec<(Nanos, u64)>,
}

/// The distributions behind the percentiles of a [`Slice`], which several processes need to have one time line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceSpectra {
    /// That of the slice.
    pub index: u32,
    /// Of all committed calls.
    pub all: Spectrum,
    /// Of those of the headline kinds, without calls that were due in the warm-up.
    pub headline: Spectrum,
    /// By kind, without calls that were due in the warm-up.
    pub kinds: Vec<Spectrum>,
}

/// The time lines of processes that made calls at the same time, each with the distributions of its slices, as that of one
/// process. Slices of the same index are of the same time.
pub fn join_slices(parts: &[(&[Slice], &[SliceSpectra])]) -> Vec<Slice> {
    let longest =
        parts.iter().map(|(slices, _)| *slices).max_by_key(|slices| slices.len()).unwrap_or_default();
    let mut joined = longest.to_vec();
    let mut scratch = Latencies::new();
    for slice in &mut joined {
        let index = slice.index;
        let kinds = slice.kinds.len();
        let empty = Slice::empty(index, kinds);
        (slice.kinds, slice.answered) = (empty.kinds, empty.answered);
        (slice.times, slice.max) = (vec![SliceTimes::default(); kinds], None);
        for (slices, _) in parts {
            let Some(theirs) = slices.get(index as usize) else { continue };
            for (mine, theirs) in slice.kinds.iter_mut().zip(&theirs.kinds) {
                *mine += *theirs;
            }
            slice.answered.absorb(theirs.answered);
            slice.max = slice.max.max(theirs.max);
        }
        let spectra: Vec<&SliceSpectra> =
            parts.iter().filter_map(|(_, spectra)| spectra.iter().find(|one| one.index == index)).collect();
        let mut fill = |of: &dyn Fn(&SliceSpectra) -> Option<&Spectrum>| {
            scratch.clear();
            spectra.iter().filter_map(|one| of(one)).for_each(|spectrum| scratch.absorb_spectrum(spectrum));
            scratch.clone()
        };
        let all = fill(&|one| Some(&one.all));
        (slice.p50, slice.p99) = (all.quantile(0.5), all.quantile(0.99));
        slice.headline_p99 = fill(&|one| Some(&one.headline)).quantile(0.99);
        for at in 0..kinds {
            let of_kind = fill(&|one| one.kinds.get(at));
            let (p50, p99) = (of_kind.rough_quantile(0.5), of_kind.rough_quantile(0.99));
            slice.times[at] = SliceTimes { p50, p99, max: of_kind.max() };
        }
    }
    joined
}

impl From<&Latencies> for Spectrum {
    fn from(latencies: &Latencies) -> Spectrum {
        Spectrum {
            sum: latencies.sum(),
            max: latencies.max().unwrap_or_default(),
            steps: latencies.spectrum(),
        }
    }
}

impl From<Latencies> for Spectrum {
    fn from(latencies: Latencies) -> Spectrum {
        Spectrum::from(&latencies)
    }
}

impl From<Spectrum> for Latencies {
    fn from(spectrum: Spectrum) -> Latencies {
        let mut latencies = Latencies::new();
        latencies.absorb_spectrum(&spectrum);
        latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_read_again_is_what_was_written(times in prop::collection::vec(0u64..2_000_000_000_000, 0..300)) {
            let mut latencies = Latencies::new();
            times.iter().for_each(|time| latencies.record(Nanos(*time)));
            let again = Latencies::from(Spectrum::from(&latencies));
            prop_assert_eq!(again.summary(), latencies.summary());
            prop_assert_eq!(Spectrum::from(&again), Spectrum::from(&latencies));
        }
    }
}
