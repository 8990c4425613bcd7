//! How a trial is ended: by its plan, by its user, or by something that went wrong.

use crate::outage::Outages;
use crate::plan::Plan;
use measure::Window;
use model::Nanos;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Messages of defects that are kept; the first ones tell the most.
const DEFECTS_KEPT: usize = 8;

/// Marks a moment that has come, so that no one moves it any more. As a moment it would be 292 years away.
const OPEN: u64 = 1 << 63;

/// Asks a trial to end early. Clones ask the same trial; setting it is safe in a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nothing asked yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks the trial to end: no more calls begin, those in flight end, and the result is returned as interrupted.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has been asked.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Calls that may still be made in the window.
#[derive(Debug)]
struct Tickets {
    left: AtomicU64,
    workers: u32,
    /// Workers that may still make one.
    holders: AtomicU32,
    /// When the last call of those workers that make none any more had ended.
    last: AtomicU64,
}

/// Most calls that a worker takes leave for at once: the counter that all share is touched so seldom that it costs nothing.
const BATCH_MAX: u64 = 64;
/// A worker takes one in so many of its equal part of what is left. Towards the end all take one by one, so that no one is
/// left with many when the others have none.
const BATCH_PART: u64 = 8;

impl Tickets {
    fn take(&self) -> u64 {
        let batch = |left: u64| (left / (BATCH_PART * u64::from(self.workers))).clamp(1, BATCH_MAX).min(left);
        let taken =
            self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| Some(left - batch(left)));
        taken.map_or(0, batch)
    }
}

/// What all threads of a trial share. Read with each call, written only when one fails and to end the trial.
#[derive(Debug)]
pub(crate) struct Control {
    stop: Stop,
    /// The moment at which the window opens, as it stands now, and [`OPEN`] once it has come.
    opens: AtomicU64,
    /// End of the window, as it stands now.
    closes: AtomicU64,
    cut_short: AtomicBool,
    failure: Mutex<Option<String>>,
    defects: Mutex<Vec<String>>,
    outages: Outages,
    tickets: Option<Tickets>,
}

impl Control {
    pub(crate) fn new(stop: Stop, planned: Window) -> Control {
        Control {
            stop,
            opens: AtomicU64::new(planned.opens.0),
            closes: AtomicU64::new(planned.closes.0),
            cut_short: AtomicBool::new(false),
            failure: Mutex::new(None),
            defects: Mutex::new(Vec::new()),
            outages: Outages::default(),
            tickets: None,
        }
    }

    /// The same for the workers of a plan, whose window ends when they have made its number of calls, if it has one. An open loop needs
    /// no counting: its timetable tells when that is.
    pub(crate) fn counting(self, plan: &Plan) -> Control {
        let calls = plan.calls.filter(|_| !plan.arrivals.is_open());
        let tickets = calls.map(|calls| Tickets {
            left: AtomicU64::new(calls),
            workers: plan.workers,
            holders: AtomicU32::new(plan.workers),
            last: AtomicU64::new(0),
        });
        Control { tickets, outages: Outages::of(plan.workers), ..self }
    }

    /// Whether calls are counted.
    pub(crate) fn counts(&self) -> bool {
        self.tickets.is_some()
    }

    /// Leave to make some calls that are due in the window; none when all have been given.
    #[cold]
    pub(crate) fn take_tickets(&self) -> u64 {
        self.tickets.as_ref().map_or(0, Tickets::take)
    }

    /// Notes that a worker, which was `free` then, makes no more calls because all have been given. With the last one of them
    /// the window ends, at the moment when the last call had ended.
    #[cold]
    pub(crate) fn worker_finished(&self, free: Nanos) {
        let Some(tickets) = &self.tickets else { return };
        tickets.last.fetch_max(free.0, Ordering::AcqRel);
        if tickets.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            let opens = self.opens.load(Ordering::Acquire) & !OPEN;
            self.closes.fetch_min(tickets.last.load(Ordering::Acquire).max(opens) + 1, Ordering::AcqRel);
        }
    }

    /// The window for whoever is at `now`. Who finds its first moment come holds it there.
    #[inline]
    pub(crate) fn window(&self, now: Nanos) -> Window {
        let mut opens = self.opens.load(Ordering::Acquire);
        if opens & OPEN == 0 && now.0 >= opens {
            opens = self.opens.fetch_or(OPEN, Ordering::AcqRel);
        }
        Window { opens: Nanos(opens & !OPEN), closes: self.closes() }
    }

    /// Whether the window stays where it is.
    pub(crate) fn is_open(&self, now: Nanos) -> bool {
        self.window(now);
        self.opens.load(Ordering::Acquire) & OPEN != 0
    }

    /// Opens the window later, unless it is open or the trial ends.
    pub(crate) fn postpone(&self, by: Nanos) -> bool {
        let (opens, closes) = (self.opens.load(Ordering::Acquire), self.closes());
        let moves = |place: &AtomicU64, from: u64, to: u64| {
            place.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        // A request to stop closes the window early, and then it stays so.
        if opens & OPEN != 0 || self.is_ending() || !moves(&self.closes, closes.0, closes.0 + by.0) {
            return false;
        }
        let postponed = moves(&self.opens, opens, opens + by.0);
        if !postponed {
            moves(&self.closes, closes.0 + by.0, closes.0);
        }
        postponed
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
    pub(crate) fn check_stop(&self, now: Nanos) {
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
