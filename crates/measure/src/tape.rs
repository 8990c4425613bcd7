//! The tape: where a worker, or all workers of one thread, write down what happened.

use crate::page::Entry;
use crate::silence::PARTS;
use crate::stages::stage_at;
use crate::{Class, Page, Timeline, Window};
use model::{CallWork, Fault, Ledger, Nanos, StatementTimes, Workload};
use rtrb::{Consumer, Producer};

/// The moments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments {
    /// When it was to begin.
    pub due: Nanos,
    /// When its worker had nothing else to do any more: at or before `due` where it waited for the call, and never after
    /// `started`.
    pub free: Nanos,
    pub started: Nanos,
    /// When its answer had been read and checked.
    pub ended: Nanos,
}

impl Moments {
    /// From due to ended.
    pub fn response(&self) -> Nanos {
        self.ended - self.due
    }

    /// From the moment when it could have begun to that when it did: how late its worker woke up.
    pub fn wake_up(&self) -> Nanos {
        self.started - self.due.max(self.free)
    }

    /// From begun to ended.
    pub fn service(&self) -> Nanos {
        self.ended - self.started
    }
}

/// A recorder that belongs to one thread. Recording allocates nothing, locks nothing and shares nothing; once a slice
/// it swaps its page with the collector.
pub struct Tape<W: Workload> {
    page: Box<Page<W>>,
    page_begins: Nanos,
    page_ends: Nanos,
    /// Parts of a slice in a nanosecond.
    parts_a_ns: f64,
    timeline: Timeline,
    /// Ends of the stages of the window, counted from its first moment.
    stages: Vec<Nanos>,
    full: Producer<Box<Page<W>>>,
    empty: Consumer<Box<Page<W>>>,
}

impl<W: Workload> Tape<W> {
    pub(crate) fn new(
        page: Box<Page<W>>,
        timeline: Timeline,
        stages: Vec<Nanos>,
        full: Producer<Box<Page<W>>>,
        empty: Consumer<Box<Page<W>>>,
    ) -> Tape<W> {
        let (page_begins, page_ends) = timeline.span(0);
        let parts_a_ns = f64::from(PARTS) / timeline.slice.0.max(1) as f64;
        Tape { page, page_begins, page_ends, parts_a_ns, timeline, stages, full, empty }
    }

    /// Records a call that was begun and has ended. `statements` is what each of its statements took, where a clock stood
    /// around them.
    #[inline]
    pub fn record(
        &mut self,
        call: &W::Call,
        result: &Result<W::Outcome, Fault>,
        moments: Moments,
        work: &CallWork,
        statements: Option<&StatementTimes>,
        window: Window,
    ) {
        self.set_window(window);
        let Window { opens, closes } = window;
        if moments.ended >= self.page_ends {
            self.turn(moments.ended);
        }
        let (warmup, late) = (self.is_warmup(moments.due), moments.ended >= closes);
        self.page.totals.backlog.enter(moments.due, Some(moments.started), opens, closes);
        self.note_waiting(moments.due, Some(moments.started), opens);
        let stage = if warmup { None } else { stage_at(&self.stages, moments.due - opens) };
        let entry = Entry {
            stage: stage.map(|stage| (stage, moments.ended >= opens + self.stages[stage])),
            warmup,
            ends_within: moments.ended >= opens && !late,
            late,
            // By a product, which costs a third of a quotient.
            part: ((moments.ended - self.page_begins).0 as f64 * self.parts_a_ns) as u32,
            moments,
            work,
            facet: W::facet(call),
            statements,
        };
        self.page.enter(W::kind(call), Class::of::<W>(result), entry);
        self.page.ledger.post(call, result);
    }

    /// Records how long it took to queue a call that someone else will execute and record.
    pub fn record_queueing(&mut self, due: Nanos, queued: Nanos, window: Window) {
        self.set_window(window);
        if queued >= self.page_ends {
            self.turn(queued);
        }
        if let (false, Some(queueing)) = (self.is_warmup(due), &mut self.page.totals.queueing) {
            self.page.touched = true;
            queueing.record(queued - due);
        }
    }

    /// Records a call that was due and will never begin.
    pub fn record_dropped(&mut self, due: Nanos, window: Window) {
        self.set_window(window);
        self.page.touched = true;
        self.page.totals.backlog.enter(due, None, window.opens, window.closes);
        self.note_waiting(due, None, window.opens);
        if self.is_warmup(due) {
            self.page.warmup.enter_dropped(1);
        } else {
            self.page.totals.dropped += 1;
            if let Some(stage) = stage_at(&self.stages, due - window.opens) {
                self.page.totals.stages[stage].call_counts.enter_dropped(1);
            }
        }
    }

    /// Hands the last page over, when no more calls come.
    pub fn finish(mut self) {
        self.full.push(self.page).expect("the ring has a place for every page there is");
    }

    /// The warm-up may have gone on since the page was turned; that moves no slice that has begun.
    fn set_window(&mut self, window: Window) {
        self.timeline.warmup = window.opens - self.timeline.start;
    }

    /// Counts a call in each stage at whose end it waited for a worker.
    #[inline]
    fn note_waiting(&mut self, due: Nanos, started: Option<Nanos>, opens: Nanos) {
        for (end, totals) in self.stages.iter().zip(&mut self.page.totals.stages) {
            let end = opens + *end;
            totals.backlog_after += u64::from(due < end && started.is_none_or(|started| started >= end));
        }
    }

    fn is_warmup(&self, due: Nanos) -> bool {
        due < self.timeline.opens()
    }

    /// Turns to the page of the slice in which `moment` lies. A tape that has no empty page, because the collector is
    /// late, goes on with its own; its counts then appear in the slice in which the page is handed over.
    #[cold]
    fn turn(&mut self, moment: Nanos) {
        if self.page.touched
            && let Ok(empty) = self.empty.pop()
        {
            let full = std::mem::replace(&mut self.page, empty);
            self.full.push(full).expect("the ring has a place for every page there is");
        }
        self.page.slice = self.timeline.slice_at(moment);
        (self.page_begins, self.page_ends) = self.timeline.span(self.page.slice);
    }
}
