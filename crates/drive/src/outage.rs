//! The times in which no call completed because sessions had lost whoever they talk to, or in which the engine took no
//! writes; and what calls were refused for.

use model::{Doubt, Fault, Nanos, Refusal};
use parking_lot::Mutex;
use result::Missing;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Shorter ones are the end of a single connection, or an answer that was on its way, and no outage.
const OUTAGE_MIN: Nanos = Nanos::from_millis(100);
/// Outages kept; a trial with more of them has no rate worth looking at.
const OUTAGES_MAX: usize = 1_000;

/// Calls that an engine refuses to write for within so long of each other belong to one outage.
const UNWRITABLE_APART_MAX: Nanos = Nanos::from_secs(1);

/// A time without the engine or the server: from the first session that found it gone to the next call that completed. Or
/// one in which the engine took no writes: from the first call refused for that to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    pub missing: Missing,
    /// When the first session found its connection gone, counted from the start of the trial.
    pub from: Nanos,
    /// When the next call of any worker completed; `None` if none did until the end of the trial.
    pub to: Option<Nanos>,
    /// Calls whose connection broke under way.
    pub in_doubt: u64,
    /// Calls that found no one.
    pub refused: u64,
}

impl Outage {
    /// The same for a result, on the clock of a window that opened at `opens`.
    pub fn within(&self, opens: Nanos) -> result::Outage {
        let at = |moment: Nanos| moment.as_secs_f64() - opens.as_secs_f64();
        result::Outage {
            missing: self.missing,
            from_s: at(self.from),
            to_s: self.to.map(at),
            in_doubt: self.in_doubt,
            refused: self.refused,
        }
    }
}

/// How a fault tells of a lost connection.
enum Loss {
    InDoubt,
    Refused,
}

/// Kept by all workers together. Calls that complete read one flag; only the path of a fault writes.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    /// Workers whose calls are noted.
    workers: u32,
    is_out: AtomicBool,
    seen: Mutex<OutageLog>,
}

#[derive(Debug, Default)]
struct OutageLog {
    /// The one that lasts.
    current: Option<Outage>,
    /// One that was too short, and when it ended: its calls belong to an outage that begins right after it, when an
    /// answer that was still on its way came in between.
    short: Option<(Outage, Nanos)>,
    ended: Vec<Outage>,
    /// The times without writes, each up to its last refused call.
    unwritable: Vec<Outage>,
    /// Calls that were refused, by what for.
    refusals: Vec<(&'static str, u64)>,
}

impl Outages {
    /// Those of so many workers.
    pub(crate) fn of(workers: u32) -> Outages {
        Outages { workers, ..Outages::default() }
    }

    /// Whether more was lost than single connections: a new connection was refused, or most of the workers lost theirs. A server that
    /// closes an idle connection just as a call is sent leaves that call in doubt and is not unavailable.
    fn is_outage(&self, outage: &Outage) -> bool {
        outage.refused > 0 || outage.in_doubt * 2 > u64::from(self.workers)
    }

    /// Notes how a call has ended.
    #[inline]
    pub(crate) fn note<T>(&self, result: &Result<T, Fault>, ended: Nanos) {
        match result {
            Ok(_) if self.is_out.load(Ordering::Relaxed) => self.completed(ended),
            Ok(_) => {}
            Err(fault) => self.failed(fault, ended),
        }
    }

    /// All outages, in their order, counted from `start`.
    pub(crate) fn all(&self, start: Nanos) -> Vec<Outage> {
        let seen = self.seen.lock();
        let since = |outage: &Outage| Outage {
            from: outage.from - start,
            to: outage.to.map(|to| to - start),
            ..*outage
        };
        let mut all: Vec<Outage> = seen
            .ended
            .iter()
            .chain(seen.current.iter().filter(|current| self.is_outage(current)))
            .chain(&seen.unwritable)
            .map(since)
            .collect();
        all.sort_by_key(|outage| outage.from);
        all
    }

    /// Calls that were refused, by what for: in the engine's own words where it said something. The most first.
    pub(crate) fn refusals(&self) -> Vec<(String, u64)> {
        let mut all: Vec<_> =
            self.seen.lock().refusals.iter().map(|(words, calls)| ((*words).to_owned(), *calls)).collect();
        all.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
        all
    }

    #[cold]
    fn failed(&self, fault: &Fault, ended: Nanos) {
        let mut seen = self.seen.lock();
        if let Fault::Refused(refusal) = fault {
            seen.refused(*refusal, ended);
        }
        let Some(loss) = loss(fault) else { return };
        let short = seen.short.take();
        let current = seen.current.get_or_insert_with(|| {
            let (in_doubt, refused) = match short {
                Some((short, to)) if ended - to < OUTAGE_MIN => (short.in_doubt, short.refused),
                _ => (0, 0),
            };
            Outage { missing: Missing::Everything, from: ended, to: None, in_doubt, refused }
        });
        match loss {
            Loss::InDoubt => current.in_doubt += 1,
            Loss::Refused => current.refused += 1,
        }
        self.is_out.store(true, Ordering::Relaxed);
    }

    #[cold]
    fn completed(&self, ended: Nanos) {
        let mut seen = self.seen.lock();
        // A call that completed before the outage began, on a thread that comes late to say so, does not end it.
        let Some(outage) = seen.current.take_if(|outage| outage.from <= ended) else { return };
        self.is_out.store(false, Ordering::Relaxed);
        if ended - outage.from < OUTAGE_MIN {
            seen.short = Some((outage, ended));
        } else if self.is_outage(&outage) && seen.ended.len() < OUTAGES_MAX {
            seen.ended.push(Outage { to: Some(ended), ..outage });
        }
    }
}

impl OutageLog {
    fn refused(&mut self, refusal: Refusal, ended: Nanos) {
        let words = match refusal {
            Refusal::NoSession => "no session became free in time",
            Refusal::QueueFull => "the queue in front of the sessions was full",
            Refusal::Shedding => "the server shed load",
            Refusal::Unreachable => "nothing answered at the address",
            Refusal::Unwritable(text) if text.words().is_empty() => "engine refused writes",
            Refusal::Unwritable(text) => text.words(),
        };
        match self.refusals.iter_mut().find(|(known, _)| *known == words) {
            Some((_, calls)) => *calls += 1,
            // Words that are kept are few.
            None => self.refusals.push((words, 1)),
        }
        if matches!(refusal, Refusal::Unwritable(_)) {
            self.unwritable(ended);
        }
    }

    fn unwritable(&mut self, ended: Nanos) {
        let has_room = self.unwritable.len() < OUTAGES_MAX;
        let last = self.unwritable.last_mut();
        let lasts = last.filter(|last| last.to.is_some_and(|to| ended <= to + UNWRITABLE_APART_MAX));
        match lasts {
            Some(last) => {
                last.to = last.to.max(Some(ended));
                last.refused += 1;
            }
            None if has_room => self.unwritable.push(Outage {
                missing: Missing::Writes,
                from: ended,
                to: Some(ended),
                in_doubt: 0,
                refused: 1,
            }),
            None => {}
        }
    }
}

/// Whether a fault says that no one is there any more. One that missed its deadline only says that it was slow.
fn loss(fault: &Fault) -> Option<Loss> {
    match fault {
        Fault::InDoubt(Doubt::ConnectionLost | Doubt::CommitUnanswered) => Some(Loss::InDoubt),
        Fault::Refused(Refusal::Unreachable) => Some(Loss::Refused),
        Fault::InDoubt(_) | Fault::Refused(_) | Fault::Conflict(_) | Fault::Defect(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::EngineMessage;

    const LOST: Result<(), Fault> = Err(Fault::InDoubt(Doubt::ConnectionLost));
    const NOBODY: Result<(), Fault> = Err(Fault::Refused(Refusal::Unreachable));

    /// Notes results at milliseconds and returns what is left as `(from, to, in doubt, refused)`.
    fn check(notes: &[(u64, &Result<(), Fault>)], expected: &[(u64, Option<u64>, u64, u64)]) {
        let outages = Outages::default();
        for (millis, result) in notes {
            outages.note(result, Nanos::from_millis(*millis));
        }
        let millis = |moment: Nanos| moment.0 / 1_000_000;
        let all = outages.all(Nanos::ZERO);
        let all: Vec<_> =
            all.iter().map(|one| (millis(one.from), one.to.map(millis), one.in_doubt, one.refused)).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn an_outage_lasts_from_the_first_loss_to_the_next_completed_call() {
        let notes = [(5, &Ok(())), (10, &LOST), (11, &LOST), (30, &NOBODY), (500, &Ok(())), (501, &Ok(()))];
        check(&notes, &[(10, Some(500), 2, 1)]);
    }

    #[test]
    fn a_connection_that_breaks_alone_is_no_outage() {
        check(&[(10, &LOST), (11, &Ok(())), (700, &Ok(())), (900, &LOST), (905, &Ok(()))], &[]);
    }

    #[test]
    fn one_connection_of_many_that_is_lost_is_no_outage_however_long_the_next_call_takes() {
        let of_eight = |lost: u64, refused: bool| {
            let outages = Outages::of(8);
            (0..lost).for_each(|at| outages.note(&LOST, Nanos::from_millis(10 + at)));
            if refused {
                outages.note(&NOBODY, Nanos::from_millis(50));
            }
            let before = outages.all(Nanos::ZERO).len();
            outages.note(&Ok(()), Nanos::from_millis(900));
            (before, outages.all(Nanos::ZERO).len())
        };
        assert_eq!(of_eight(1, false), (0, 0));
        assert_eq!(of_eight(4, false), (0, 0));
        assert_eq!(of_eight(5, false), (1, 1));
        assert_eq!(of_eight(1, true), (1, 1));
    }

    #[test]
    fn an_answer_that_was_on_its_way_does_not_hide_the_calls_lost_before_it() {
        let notes = [(10, &LOST), (11, &Ok(())), (12, &LOST), (400, &Ok(()))];
        check(&notes, &[(12, Some(400), 2, 0)]);
    }

    #[test]
    fn a_completed_call_of_before_ends_nothing() {
        check(&[(10, &LOST), (9, &Ok(())), (300, &Ok(()))], &[(10, Some(300), 1, 0)]);
    }

    #[test]
    fn an_outage_that_no_one_saw_the_end_of_has_none() {
        check(&[(10, &LOST), (20, &NOBODY)], &[(10, None, 1, 1)]);
    }

    #[test]
    fn a_time_without_writes_lasts_from_its_first_refused_call_to_its_last() {
        let full: Result<(), Fault> =
            Err(Fault::Refused(Refusal::Unwritable(EngineMessage::of("disk is full"))));
        let read_only: Result<(), Fault> =
            Err(Fault::Refused(Refusal::Unwritable(EngineMessage::of("read-only"))));
        let outages = Outages::default();
        // Calls that only read complete meanwhile.
        let notes =
            [(10, &full), (20, &Ok(())), (700, &full), (900, &Ok(())), (1_500, &read_only), (2_600, &full)];
        for (millis, result) in notes {
            outages.note(result, Nanos::from_millis(millis));
        }
        let at = |missing, from, to, refused| Outage {
            missing,
            from: Nanos::from_millis(from),
            to: Some(Nanos::from_millis(to)),
            in_doubt: 0,
            refused,
        };
        let expected = [at(Missing::Writes, 10, 1_500, 3), at(Missing::Writes, 2_600, 2_600, 1)];
        assert_eq!(outages.all(Nanos::ZERO), expected);
        assert_eq!(outages.refusals(), [("disk is full".to_owned(), 3), ("read-only".to_owned(), 1)]);
    }

    #[test]
    fn a_slow_or_shedding_system_is_not_away() {
        let slow = Err(Fault::InDoubt(Doubt::Deadline));
        check(&[(10, &slow), (20, &Err(Fault::Refused(Refusal::Shedding))), (900, &Ok(()))], &[]);
    }
}
