//! How a trial is ended: by its plan, by its user, or by something that went wrong.

use crate::outage::Outages;
use model::Nanos;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Messages of defects that are kept; the first ones tell the most.
const DEFECTS_KEPT: usize = 8;

/// Asks a trial to end early. Clones ask the same trial; setting it is safe in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nothing asked yet.
    #[must_use]
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks the trial to end: no more calls begin, those in flight end, and the result is returned as interrupted.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has been asked.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What all threads of a trial share. Read with each call, written only when one fails and to end the trial.
#[derive(Debug)]
pub(crate) struct Control {
    stop: Stop,
    /// End of the window, as it stands now.
    closes: AtomicU64,
    cut_short: AtomicBool,
    failure: Mutex<Option<String>>,
    defects: Mutex<Vec<String>>,
    outages: Outages,
}

impl Control {
    pub(crate) fn new(stop: Stop, closes: Nanos) -> Control {
        Control {
            stop,
            closes: AtomicU64::new(closes.0),
            cut_short: AtomicBool::new(false),
            failure: Mutex::new(None),
            defects: Mutex::new(Vec::new()),
            outages: Outages::default(),
        }
    }

    /// The end of the window: calls that are due from here on do not begin.
    pub(crate) fn closes(&self) -> Nanos {
        Nanos(self.closes.load(Ordering::Acquire))
    }

    /// Whether the window was closed before its planned end. What has not begun by then never begins.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.cut_short.load(Ordering::Acquire)
    }

    /// Whether waiting has become pointless: the trial was cut short, or is about to be.
    pub(crate) fn is_ending(&self) -> bool {
        self.stop.requested() || self.is_cut_short()
    }

    /// Obeys a request to stop, if there is one.
    #[inline]
    pub(crate) fn heed(&self, now: Nanos) {
        if self.stop.requested() {
            self.cut(now);
        }
    }

    /// Ends the trial as failed. The first reason is the one that is kept.
    pub(crate) fn fail(&self, now: Nanos, why: String) {
        self.failure.lock().get_or_insert(why);
        self.cut(now);
    }

    /// Keeps the message of a defect, and ends the trial as failed.
    pub(crate) fn fail_by_defect(&self, now: Nanos, what: String) {
        let mut defects = self.defects.lock();
        if defects.len() < DEFECTS_KEPT {
            defects.push(what.clone());
        }
        drop(defects);
        self.fail(now, what);
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    pub(crate) fn outages(&self) -> &Outages {
        &self.outages
    }

    pub(crate) fn defects(&self) -> Vec<String> {
        self.defects.lock().clone()
    }

    fn cut(&self, now: Nanos) {
        if self.closes.fetch_min(now.0, Ordering::AcqRel) > now.0 {
            self.cut_short.store(true, Ordering::Release);
        }
    }
}
