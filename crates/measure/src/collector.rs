//! The collector: merges pages between slices, on a thread that makes no calls.

use crate::silence::Answered;
use crate::spectrum::SliceSpectra;
use crate::{CallCounts, EndedCalls, Latencies, Page, Phase, Tape, Timeline, TimesKept, Totals};
use model::{Ledger, Nanos, Workload};
use rtrb::{Consumer, Producer, RingBuffer};
use serde::{Deserialize, Serialize};

/// Pages of a tape: one being written, one with the collector.
const PAGES_PER_TAPE: usize = 2;

/// Slices whose percentiles can still change. A page that comes later than this still counts, and still moves the
/// slice's maximum.
const SLICES_OPEN: usize = 8;

/// One step of the time line: what ended in it, whenever it was due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slice {
    /// Position in the trial, from 0.
    pub index: u32,
    /// The phase in which it lies. Of a window that closed early, the slice that straddles the end is in the drain.
    pub phase: Phase,
    /// First moment, counted from the start of the trial.
    pub from: Nanos,
    /// First moment after it.
    pub to: Nanos,
    /// Length of a slice that is not cut off by the end of a phase.
    pub whole: Nanos,
    /// What ended, by kind in the workload's order.
    pub kinds: Vec<EndedCalls>,
    /// When calls completed.
    pub answered: Answered,
    /// Response times of committed calls by kind, without calls that were due in the warm-up.
    pub times: Vec<SliceTimes>,
    /// Median response time of all committed calls.
    pub p50: Option<Nanos>,
    /// 99th percentile of the same.
    pub p99: Option<Nanos>,
    /// Longest of the same.
    pub max: Option<Nanos>,
    /// 99th percentile of the headline kinds, without calls that were due in the warm-up.
    pub headline_p99: Option<Nanos>,
}

/// Response times of one kind in one slice. Slices are for looking at: nothing is hidden for want of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceTimes {
    pub p50: Option<Nanos>,
    /// 99th percentile.
    pub p99: Option<Nanos>,
    pub max: Option<Nanos>,
}

impl Slice {
    /// One of so many kinds in which nothing has ended.
    pub(crate) fn empty(index: u32, kinds: usize) -> Slice {
        Slice {
            index,
            phase: Phase::WarmUp,
            from: Nanos::ZERO,
            to: Nanos::ZERO,
            whole: Nanos::ZERO,
            kinds: vec![EndedCalls::default(); kinds],
            answered: Answered::default(),
            times: vec![SliceTimes::default(); kinds],
            p50: None,
            p99: None,
            max: None,
            headline_p99: None,
        }
    }

    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// Committed calls of the kinds at `kinds`, a second.
    pub fn rate(&self, kinds: &[usize]) -> f64 {
        let committed: u64 = kinds.iter().map(|kind| self.kinds[*kind].committed).sum();
        committed as f64 / self.length().as_secs_f64()
    }
}

/// Length of those of the slices that are of the window.
pub fn measured_length(slices: &[Slice]) -> Nanos {
    measured(slices).map(Slice::length).sum()
}

/// Committed calls of the kinds at `kinds` per second, over those of the slices that are of the window; `None` before it opens.
/// Slices that have not ended add neither calls nor time.
pub fn mean_rate(slices: &[Slice], kinds: &[usize]) -> Option<f64> {
    let length = measured_length(slices);
    let committed: u64 =
        measured(slices).flat_map(|slice| kinds.iter().map(|kind| slice.kinds[*kind].committed)).sum();
    (length > Nanos::ZERO).then(|| committed as f64 / length.as_secs_f64())
}

fn measured(slices: &[Slice]) -> impl Iterator<Item = &Slice> {
    slices.iter().filter(|slice| slice.phase == Phase::Measured)
}

/// Everything that a trial has recorded.
pub struct Collected<W: Workload> {
    /// Over the calls that were due in the window, and what began and ended in it.
    pub totals: Totals,
    /// Counts of the calls that were due in the warm-up.
    pub warmup: CallCounts,
    /// The time line, warm-up and drain included.
    pub slices: Vec<Slice>,
    /// What all calls of all phases imply about the data.
    pub ledger: W::Ledger,
    /// The distributions of the slices, where they are kept.
    pub spectra: Vec<SliceSpectra>,
}

/// Merges pages. Owned by a thread that makes no calls.
pub struct Collector<W: Workload> {
    channels: Vec<Channel<W>>,
    timeline: Timeline,
    collected: Collected<W>,
    open: Vec<OpenSlice>,
    keeps_spectra: bool,
}

/// The collector's ends of the rings of one tape.
struct Channel<W: Workload> {
    full: Consumer<Box<Page<W>>>,
    empty: Producer<Box<Page<W>>>,
}

/// The distributions of a slice that is still being filled.
struct OpenSlice {
    index: u32,
    all: Latencies,
    headline: Latencies,
    kinds: Vec<Latencies>,
}

impl OpenSlice {
    /// What it holds, if anything.
    fn spectra(&self) -> Option<SliceSpectra> {
        let spectra = || SliceSpectra {
            index: self.index,
            all: (&self.all).into(),
            headline: (&self.headline).into(),
            kinds: self.kinds.iter().map(Into::into).collect(),
        };
        (!self.all.is_empty()).then(spectra)
    }
}

/// Makes `tapes` tapes and the collector of their pages; allocates everything that recording will need. `stages` are the ends of
/// the stages of the window, counted from its first moment; none where it has none.
pub fn circulation<W: Workload>(
    tapes: u32,
    timeline: Timeline,
    kept: TimesKept,
    stages: &[Nanos],
    ledger: impl Fn() -> W::Ledger,
) -> (Vec<Tape<W>>, Collector<W>) {
    let page = || Box::new(Page::new(kept, stages.len(), ledger()));
    let mut channels = Vec::new();
    let tapes = (0..tapes)
        .map(|_| {
            let (full_in, full_out) = RingBuffer::new(PAGES_PER_TAPE);
            let (mut empty_in, empty_out) = RingBuffer::new(PAGES_PER_TAPE);
            for _ in 1..PAGES_PER_TAPE {
                empty_in.push(page()).expect("the ring has a place for every page there is");
            }
            channels.push(Channel { full: full_out, empty: empty_in });
            Tape::new(page(), timeline, stages.to_vec(), full_in, empty_out)
        })
        .collect();
    let open = |index| OpenSlice {
        index,
        all: Latencies::new(),
        headline: Latencies::new(),
        kinds: W::KINDS.iter().map(|_| Latencies::new()).collect(),
    };
    let collected = Collected {
        totals: Totals::new(W::KINDS, W::FACETS, kept).staged(stages.len()),
        warmup: CallCounts::default(),
        slices: Vec::new(),
        ledger: ledger(),
        spectra: Vec::new(),
    };
    let open = (0..SLICES_OPEN as u32).map(open).collect();
    (tapes, Collector { channels, timeline, collected, open, keeps_spectra: false })
}

impl<W: Workload> Collector<W> {
    /// Merges all pages that have been handed over, and gives them back empty.
    pub fn collect(&mut self) {
        for index in 0..self.channels.len() {
            while let Ok(mut page) = self.channels[index].full.pop() {
                self.merge(&page);
                page.clear();
                // A tape that has finished takes no more pages.
                let _ = self.channels[index].empty.push(page);
            }
        }
    }

    /// Keeps the distributions of the slices, some kilobytes each.
    pub fn keep_spectra(&mut self) {
        self.keeps_spectra = true;
    }

    /// What has been collected so far.
    pub fn collected(&self) -> &Collected<W> {
        &self.collected
    }

    /// The warm-up goes on: the window opens later by a number of whole slices, and none of it may have begun.
    pub fn postpone(&mut self, by: Nanos) {
        self.timeline.warmup += by;
    }

    /// Makes sure that the time line reaches up to and including `slice`, for slices in which nothing ended.
    pub fn extend_to(&mut self, slice: u32) {
        for index in self.collected.slices.len() as u32..=slice {
            let (from, to) = self.timeline.span(index);
            self.collected.slices.push(Slice {
                phase: self.timeline.phase(index),
                from: from - self.timeline.start,
                to: to - self.timeline.start,
                whole: self.timeline.slice,
                ..Slice::empty(index, W::KINDS.len())
            });
        }
    }

    /// Merges the last pages; `closed` is when the window really closed. Slices up to it stay in their phase, and all
    /// that reach beyond it belong to the drain.
    #[must_use]
    pub fn finish(mut self, closed: Nanos) -> Collected<W> {
        self.collect();
        if self.keeps_spectra {
            let mut left: Vec<SliceSpectra> = self.open.iter().filter_map(OpenSlice::spectra).collect();
            left.sort_by_key(|one| one.index);
            self.collected.spectra.extend(left);
        }
        // A window ends with all of its slices, whether or not anything ended in the last ones.
        if closed > self.timeline.opens() {
            self.extend_to(self.timeline.slice_at(closed - Nanos(1)));
        }
        let closed = closed - self.timeline.start;
        for slice in &mut self.collected.slices {
            if slice.to > closed {
                slice.phase = Phase::Drain;
            }
        }
        self.collected
    }

    fn merge(&mut self, page: &Page<W>) {
        self.collected.totals.absorb(&page.totals);
        self.collected.warmup += page.warmup;
        self.collected.ledger.absorb(&page.ledger);
        if page.touched {
            self.merge_slice(page);
        }
    }

    fn merge_slice(&mut self, page: &Page<W>) {
        self.extend_to(page.slice);
        let slice = &mut self.collected.slices[page.slice as usize];
        for (mine, theirs) in slice.kinds.iter_mut().zip(&page.ended) {
            *mine += *theirs;
        }
        slice.answered.absorb(page.answered);
        let committed = page.totals.kinds.iter().map(|kind| &kind.committed.response);
        let committed = committed.chain([&page.warmup_committed]);
        slice.max = committed.clone().map(Latencies::max).fold(slice.max, Option::max);

        let open = &mut self.open[page.slice as usize % SLICES_OPEN];
        if open.index > page.slice {
            return;
        }
        if open.index < page.slice {
            if self.keeps_spectra {
                self.collected.spectra.extend(open.spectra());
            }
            open.index = page.slice;
            open.all.clear();
            open.headline.clear();
            open.kinds.iter_mut().for_each(Latencies::clear);
        }
        committed.for_each(|latencies| open.all.absorb(latencies));
        for (kind, totals) in W::KINDS.iter().zip(&page.totals.kinds) {
            if kind.headline {
                open.headline.absorb(&totals.committed.response);
            }
        }
        for (at, totals) in page.totals.kinds.iter().enumerate() {
            let of_kind = &mut open.kinds[at];
            of_kind.absorb(&totals.committed.response);
            let (p50, p99) = (of_kind.rough_quantile(0.5), of_kind.rough_quantile(0.99));
            slice.times[at] = SliceTimes { p50, p99, max: of_kind.max() };
        }
        slice.p50 = open.all.quantile(0.5);
        slice.p99 = open.all.quantile(0.99);
        slice.headline_p99 = open.headline.quantile(0.99);
    }
}

#[cfg(test)]
#[path = "collector_tests.rs"]
mod tests;
