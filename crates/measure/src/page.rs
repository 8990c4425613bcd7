//! A page: what one tape has recorded since it was handed the page.

use crate::silence::Answered;
use crate::{CallCounts, Class, EndedCalls, Latencies, Moments, TimesKept, Totals};
use model::{CallWork, Ledger, StatementTimes, Workload};

/// What one tape has recorded in a slice. About 14 KiB a histogram: 100 KiB for the five kinds of TPC-C, half
/// as much again for the four parts of kinds that it shows apart, and two thirds more when service times are kept apart. All of it is allocated before the start.
pub struct Page<W: Workload> {
    /// The slice in which the newest call on it ended.
    pub(crate) slice: u32,
    /// Whether anything was recorded.
    pub(crate) touched: bool,
    /// Calls that were due in the window, and those that began or ended in it.
    pub(crate) totals: Totals,
    /// Calls that were due in the warm-up.
    pub(crate) warmup: CallCounts,
    /// Response times of the committed ones among them, for the slice.
    pub(crate) warmup_committed: Latencies,
    /// Everything that ended in the slice, by kind.
    pub(crate) ended: Vec<EndedCalls>,
    /// When calls completed in it.
    pub(crate) answered: Answered,
    /// What the calls imply about the data.
    pub(crate) ledger: W::Ledger,
}

impl<W: Workload> Page<W> {
    pub(crate) fn new(kept: TimesKept, stages: usize, ledger: W::Ledger) -> Page<W> {
        Page {
            slice: 0,
            touched: false,
            totals: Totals::new(W::KINDS, W::FACETS, kept).staged(stages),
            warmup: CallCounts::default(),
            warmup_committed: Latencies::new(),
            ended: vec![EndedCalls::default(); W::KINDS.len()],
            answered: Answered::default(),
            ledger,
        }
    }

    #[inline]
    pub(crate) fn enter(&mut self, kind: usize, class: Class, entry: Entry<'_>) {
        self.touched = true;
        self.ended[kind].enter(class);
        if matches!(class, Class::Committed | Class::Declined) {
            self.answered.enter(entry.part);
        }
        if entry.ends_within {
            self.totals.kinds[kind].ended.enter(class);
        }
        if entry.warmup {
            self.warmup.enter(class, entry.work, false);
            if class == Class::Committed {
                self.warmup_committed.record(entry.moments.response());
            }
        } else {
            self.totals.enter(kind, class, &entry);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.touched = false;
        self.totals.clear();
        self.warmup = CallCounts::default();
        self.warmup_committed.clear();
        self.ended.fill(EndedCalls::default());
        self.answered = Answered::default();
        self.ledger.clear();
    }
}

/// What is known of a call besides its kind and class.
pub(crate) struct Entry<'a> {
    pub(crate) warmup: bool,
    /// Whether it ended in the window, whenever it was due.
    pub(crate) ends_within: bool,
    /// Whether it ended after the window.
    pub(crate) late: bool,
    /// The part of the slice in which it ended.
    pub(crate) part: u32,
    pub(crate) moments: Moments,
    pub(crate) work: &'a CallWork,
    /// The stage of the window in which it was due, and whether it ended after that.
    pub(crate) stage: Option<(usize, bool)>,
    /// The part of its kind that is also shown apart.
    pub(crate) facet: Option<usize>,
    /// What its statements took, if a clock stood around each.
    pub(crate) statements: Option<&'a StatementTimes>,
}
