//! The time line of a trial in short, as the document of a run of several trials has it.

use super::{KindSlice, Slice};
use serde::{Deserialize, Serialize};

/// What ended in each slice, by kind: enough to do the statistics of a published result again. Percentiles but the 99th, and
/// what processes and engine did meanwhile, are in the result of the trial itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortLine {
    /// Where each slice begins, in seconds from the start of the window, negative in the warm-up; and where the
    /// last one ends.
    pub edges_s: Vec<f64>,
    /// One entry a kind, in the order of [`super::Trial::kinds`].
    pub kinds: Vec<ShortKind>,
}

/// What one kind of call did, a value a slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortKind {
    pub committed: Vec<u64>,
    /// Calls declined; empty where none was.
    pub declined: Vec<u64>,
    /// Calls that did not complete; empty where all did.
    pub faults: Vec<u64>,
    /// 99th percentile of the response time of committed calls in microseconds; `null` when there were none. As in
    /// [`KindSlice`], whatever their number.
    pub p99_us: Vec<Option<u64>>,
}

const NS_A_US: u64 = 1_000;

impl ShortLine {
    /// What `slices` come to, which follow each other; nothing where there are none.
    pub fn of(slices: &[Slice]) -> Option<ShortLine> {
        let last = slices.last()?;
        // What a float adds to a microsecond is only noise in a file.
        let plain = |seconds: f64| (seconds * 1e6).round() / 1e6;
        let kinds = (0..last.kinds.len()).map(|kind| {
            let each = |value: fn(&KindSlice) -> u64| -> Vec<u64> {
                slices.iter().map(|slice| slice.kinds.get(kind).map_or(0, value)).collect()
            };
            let unless_none =
                |counts: Vec<u64>| if counts.iter().all(|count| *count == 0) { Vec::new() } else { counts };
            let p99 = |slice: &Slice| Some(slice.kinds.get(kind)?.p99_ns? / NS_A_US);
            ShortKind {
                committed: each(|kind| kind.committed),
                declined: unless_none(each(|kind| kind.declined)),
                faults: unless_none(each(|kind| kind.faults)),
                p99_us: slices.iter().map(p99).collect(),
            }
        });
        let edges = slices.iter().map(|slice| slice.t_s).chain([last.t_s + last.duration_s]);
        Some(ShortLine { edges_s: edges.map(plain).collect(), kinds: kinds.collect() })
    }

    /// The slices, with what is known of them.
    pub fn slices(&self) -> Vec<Slice> {
        let of_kind = |kind: &ShortKind, at: usize| {
            let count = |counts: &[u64]| counts.get(at).copied().unwrap_or_default();
            KindSlice {
                committed: count(&kind.committed),
                declined: count(&kind.declined),
                faults: count(&kind.faults),
                p50_ns: None,
                p99_ns: kind.p99_us.get(at).copied().flatten().map(|us| us * NS_A_US),
                max_ns: None,
            }
        };
        let slice = |(at, edges): (usize, &[f64])| Slice {
            t_s: edges[0],
            duration_s: edges[1] - edges[0],
            warmup: edges[0] < 0.0,
            kinds: self.kinds.iter().map(|kind| of_kind(kind, at)).collect(),
        };
        self.edges_s.windows(2).enumerate().map(slice).collect()
    }
}
