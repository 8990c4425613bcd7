//! Dates in answers: those of the run, which go on as time does.

use std::sync::atomic::{AtomicI64, Ordering};

/// How far a server's clock may differ from ours, in seconds.
const CLOCKS_APART: i64 = 3_600;

/// Dates of what calls do now, in seconds since 1970.
#[derive(Debug)]
pub(crate) struct Dates {
    /// When the run began, where that is known.
    begin: Option<i64>,
    /// The last date that is possible, when the clock was last read.
    until: AtomicI64,
}

impl Dates {
    pub(crate) const fn of_run(begin: Option<i64>) -> Dates {
        Dates { begin, until: AtomicI64::new(0) }
    }

    /// Whether it is known when the run began.
    pub(crate) const fn is_known(&self) -> bool {
        self.begin.is_some()
    }

    /// Whether a call of the run may have this date.
    pub(crate) fn admit(&self, date: i64) -> bool {
        let Some(begin) = self.begin else { return true };
        date >= begin - CLOCKS_APART
            && (date <= self.until.load(Ordering::Relaxed) || date <= self.read_clock())
    }

    #[cold]
    fn read_clock(&self) -> i64 {
        let now = i64::try_from(measure::unix_seconds()).unwrap_or(i64::MAX);
        let until = now.saturating_add(CLOCKS_APART);
        self.until.store(until, Ordering::Relaxed);
        until
    }
}

/// Calls of a worker between two looks at the clock.
const CALLS_APART: u32 = 64;
/// Seconds after which dates must have gone on. Where clocks go back by an hour in a shorter time, that is no standstill.
const STANDSTILL_S: i64 = 20;

/// Whether dates in the answers to a worker go on as time does, looked at in one call of [`CALLS_APART`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Going {
    calls: u32,
    /// A date, and when it was answered, both in seconds since 1970.
    since: Option<(i64, i64)>,
    /// When the call before the one that is looked at was answered, at the earliest.
    answered: i64,
}

impl Going {
    /// Whether another call is to be looked at.
    pub(crate) fn is_due(&mut self) -> bool {
        self.calls = (self.calls + 1) % CALLS_APART;
        self.calls == 1
    }

    /// Whether dates have gone on, by one that was answered `now`: by half of the time at least.
    pub(crate) fn goes_on(&mut self, date: i64, now: i64) -> bool {
        let answered = std::mem::replace(&mut self.answered, now);
        let passed = match self.since {
            // However long this call took, it began after the answer to the one that was looked at before.
            Some((_, since)) if answered - since < STANDSTILL_S => return true,
            Some((first, since)) => (date - first).abs() * 2 >= answered - since,
            None => true,
        };
        self.since = Some((date, now));
        passed
    }
}
