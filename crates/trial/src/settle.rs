//! Between the load and the audits: what has been acknowledged and is still on its way comes to its end, or is given up.

use crate::validate;
use admin::store;
use anyhow::{Context, Result};
use deploy::{Databases, Interrupt, Reporter, announce};
use measure::{Latencies, Monotonic, quantiles};
use model::{Clock, Nanos, Target};
use result::{Settled, Settlement};
use sql::{DbUrl, Value};
use targets::Driven;

/// The stores are asked this often. MariaDB shows who asks for its transactions within 0.1 s of the last one what it showed then.
const LOOK_EVERY: Nanos = Nanos::from_millis(200);

/// Waits until a target has completed what it answered as in doubt, at most `max` by a clock that was started when the load ended.
pub fn finish<W: Driven>(target: &impl Target<W>, clock: Monotonic, max: Nanos) {
    const LOOK_EVERY: Nanos = Nanos::from_millis(20);
    while target.unfinished() > 0 && clock.now() < max {
        std::thread::sleep(LOOK_EVERY.into());
    }
}

/// Waits until nothing is pending any more, at most `max` by a clock that was started when the load ended, or until the user
/// has asked to stop. Nothing, where the workload has nothing to wait for, as `before` tells.
pub fn settle<W: Driven>(
    databases: &Databases<W>,
    before: &W::Evidence,
    clock: Monotonic,
    max: Nanos,
    reporter: &dyn Reporter,
    interrupt: &Interrupt,
    within: Interval,
) -> Result<Option<Settled>> {
    if W::pending(before).is_none() {
        return Ok(None);
    }
    let urls = databases.urls();
    let pending = || Ok::<_, anyhow::Error>(W::pending(&validate::evidence::<W>(&urls)?).unwrap_or(0));
    // One who has asked to stop already is waited for all the same: what was measured until then needs its audits.
    let asked_before = interrupt.requested();
    let pending_first = pending()?;
    let mut pending_last = pending_first;
    let mut took = clock.now();
    if pending_first > 0 {
        let max_s = max.as_secs_f64();
        let what = format!("waiting for {pending_first} acknowledged results to arrive, at most {max_s} s");
        announce(reporter, &what);
    }
    while pending_last > 0 && took < max && (asked_before || !interrupt.requested()) {
        std::thread::sleep(LOOK_EVERY.into());
        pending_last = pending()?;
        took = clock.now();
    }
    let (duration_s, max_s) = (took.as_secs_f64(), max.as_secs_f64());
    let settlement = settlement::<W>(&urls, within)?;
    Ok(Some(Settled { pending_first, pending_last, duration_s, max_s, settlement }))
}

/// The window, in microseconds of Unix time.
#[derive(Debug, Clone, Copy)]
pub struct Interval {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Interval {
    /// From a moment on, by a clock that was started so many nanoseconds after the begin of Unix time.
    pub fn of(started: u64, opened: Nanos, span: Nanos) -> Interval {
        let us = |ns: u64| (ns / 1_000).cast_signed();
        Interval { from: us(started + opened.0), to: us(started + opened.0 + span.0) }
    }
}

pub(crate) const SECOND_US: i64 = 1_000_000;

/// What became of calls that are acknowledged before they have come to their end, if the workload has such and any was made.
pub(crate) fn settlement<W: Driven>(urls: &[DbUrl], within: Interval) -> Result<Option<Settlement>> {
    let mut listed = StoredSettlement::new(within);
    let mut kind = None;
    for url in urls {
        let Some(settling) = W::settling(url.dialect())? else { return Ok(None) };
        kind = Some(settling.kind);
        for row in store(url).rows(&settling.query, &[within.from, within.to])? {
            let numbers: Option<Vec<i64>> = row.iter().map(Value::int).collect();
            numbers.and_then(|row| listed.enter(&row)).context("a store answered another question")?;
        }
    }
    Ok(kind.and_then(|kind| listed.settlement(kind)))
}

/// What the stores have said.
struct StoredSettlement {
    times: Latencies,
    undone: u64,
    on_their_way: i64,
    /// How many more were on their way after each second than before it.
    more: Vec<i64>,
}

impl StoredSettlement {
    fn new(within: Interval) -> StoredSettlement {
        let seconds = (within.to - within.from).max(0).unsigned_abs().div_ceil(SECOND_US.unsigned_abs());
        StoredSettlement {
            times: Latencies::new(),
            undone: 0,
            on_their_way: 0,
            more: vec![0; seconds as usize],
        }
    }

    fn enter(&mut self, row: &[i64]) -> Option<()> {
        let &[sort, place, count] = row else { return None };
        let calls = u64::try_from(count).ok()?;
        match sort {
            // A clock that was set back tells nothing.
            1 => self.times.record_many(Nanos(place.max(0).unsigned_abs() * 100_000), calls),
            2 => self.undone += calls,
            3 => *self.more.get_mut(usize::try_from(place).ok()?)? += count,
            4 => *self.more.get_mut(usize::try_from(place).ok()?)? -= count,
            5 => self.on_their_way += count,
            _ => return None,
        }
        Some(())
    }

    fn settlement(self, kind: &str) -> Option<Settlement> {
        let after = |before: &mut i64, more: i64| {
            *before += more;
            Some(before.max(&mut 0).unsigned_abs())
        };
        let backlog: Vec<u64> = self.more.into_iter().scan(self.on_their_way, after).collect();
        let any = !self.times.is_empty() || backlog.iter().any(|left| *left > 0);
        any.then(|| Settlement {
            kind: kind.into(),
            times: quantiles(&self.times),
            undone: self.undone,
            backlog,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_what_was_left_after_each_second_are_summed_over_the_stores() {
        let mut listed = StoredSettlement::new(Interval { from: 5 * SECOND_US, to: 7 * SECOND_US + 1 });
        let first = [[1, 25, 30], [2, 0, 4], [3, 0, 20], [3, 1, 10], [4, 0, 12], [4, 1, 22], [5, 0, 6]];
        let second = [[1, 70, 10], [3, 2, 1]];
        for row in first.iter().chain(&second) {
            listed.enter(row).unwrap();
        }
        assert_eq!(listed.enter(&[3, 3, 1]), None, "there is no fourth second");
        assert_eq!(listed.enter(&[6, 0, 1]), None);
        let found = listed.settlement("some-kind").unwrap();
        assert_eq!((found.times.count, found.undone, found.times.max_ns), (40, 4, 7_000_000));
        assert_eq!((found.kind.as_str(), &found.backlog[..]), ("some-kind", &[14, 2, 3][..]));
        assert_eq!(found.backlog_max(), 14);
    }

    #[test]
    fn where_no_call_was_on_its_way_nothing_is_said() {
        assert_eq!(StoredSettlement::new(Interval { from: 0, to: SECOND_US }).settlement("some-kind"), None);
    }
}
