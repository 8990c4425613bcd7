//! Notices when time was lost: a machine that slept, a process that was not run, a time of day that was set.
//!
//! Durations come from a monotonic clock, so none of these spoils one. But a rate over an interval in which no one ran is
//! no rate of anything, and only someone who looks at the clocks all the time can tell.

use crate::clock::Clocks;
use model::Nanos;
use result::GapKind;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the clocks.
const EVERY: Nanos = Nanos::from_millis(50);
/// A thread that wants a moment of CPU time and gets none for this long has not been run: a busy machine makes it
/// wait for some tens of milliseconds.
const STALL_MIN: Nanos = Nanos::from_millis(500);
/// Less sleep than this is the resolution of the clocks, or one being disciplined.
const SLEEP_MIN: Nanos = Nanos::from_millis(100);
/// A time of day that moves less against the other clocks is being disciplined, and not set.
const STEP_MIN: Nanos = Nanos::from_millis(100);
/// Gaps kept; a trial with more has no rate worth looking at.
const GAPS_MAX: usize = 1_000;

/// A time that was lost, or a step of the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub kind: GapKind,
    /// Where it begins, at most one look too early, counted from the start of the watch on the clock of durations.
    pub from: Nanos,
    pub length: Nanos,
    /// Whether the time of day was set back rather than forward.
    pub backwards: bool,
}

impl Gap {
    /// The same for a result, on the clock of a window that opened at `opens`.
    pub fn within(&self, opens: Nanos) -> result::Gap {
        let duration_s = self.length.as_secs_f64();
        result::Gap {
            kind: self.kind,
            from_s: self.from.as_secs_f64() - opens.as_secs_f64(),
            duration_s: if self.backwards { -duration_s } else { duration_s },
        }
    }
}

/// Finds gaps between looks. Pure: the clocks are given.
#[derive(Debug)]
struct Finder {
    origin: Nanos,
    last: Clocks,
    gaps: Vec<Gap>,
}

impl Finder {
    fn new(first: Clocks) -> Finder {
        Finder { origin: first.monotonic, last: first, gaps: Vec::new() }
    }

    /// Takes in a look that was meant to come [`EVERY`] after the last one.
    fn look(&mut self, now: Clocks) {
        let last = std::mem::replace(&mut self.last, now);
        let ran = now.monotonic - last.monotonic;
        let from = last.monotonic - self.origin;
        let late = ran - EVERY;
        if late >= STALL_MIN {
            self.keep(GapKind::Stalled, from, late, false);
        }
        // Time asleep is the part of the time since the start of the machine that the clock of durations does not have.
        let slept = match (last.since_boot, now.since_boot) {
            (Some(before), Some(after)) => (after - before) - ran,
            _ => Nanos::ZERO,
        };
        if slept >= SLEEP_MIN {
            self.keep(GapKind::Suspended, from, slept, false);
        }
        // The time of day goes on while the machine sleeps; what is left over was set.
        let went = i128::from((ran + slept).0);
        let stepped = (now.wall_ns - last.wall_ns) - went;
        let length = Nanos(u64::try_from(stepped.unsigned_abs()).unwrap_or(u64::MAX));
        if length >= STEP_MIN {
            self.keep(GapKind::ClockStep, from, length, stepped < 0);
        }
    }

    fn keep(&mut self, kind: GapKind, from: Nanos, length: Nanos, backwards: bool) {
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(Gap { kind, from, length, backwards });
        }
    }
}

/// A thread that looks at the clocks, some twenty times a second. It costs a few microseconds each time.
#[derive(Debug)]
pub struct Pulse {
    finder: Arc<Mutex<Finder>>,
    /// Dropping it ends the thread.
    beat: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Begins to look.
    pub fn start() -> std::io::Result<Pulse> {
        let finder = Arc::new(Mutex::new(Finder::new(Clocks::read())));
        let (beat, inbox) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("pulse".to_owned()).spawn({
            let finder = Arc::clone(&finder);
            move || {
                while inbox.recv_timeout(Duration::from(EVERY)) == Err(RecvTimeoutError::Timeout) {
                    finder.lock().unwrap_or_else(PoisonError::into_inner).look(Clocks::read());
                }
            }
        })?;
        Ok(Pulse { finder, beat: Some(beat), thread: Some(thread) })
    }

    /// What has been found so far, in its order.
    pub fn gaps(&self) -> Vec<Gap> {
        self.finder.lock().unwrap_or_else(PoisonError::into_inner).gaps.clone()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.beat = None;
        if let Some(thread) = self.thread.take() {
            // It holds nothing that a panic could leave half done.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Clocks = Clocks {
        monotonic: Nanos::from_secs(100),
        since_boot: Some(Nanos::from_secs(5_000)),
        wall_ns: 1_795_216_123_000_000_000,
    };
    /// 1 ms in nanoseconds of the time of day.
    const MS: i128 = 1_000_000;

    /// Looks after steps of `(monotonic, since boot, wall)` in milliseconds, and returns what is found as
    /// `(kind, from, length, backwards)`.
    fn check(steps: &[(u64, u64, i128)], expected: &[(GapKind, u64, u64, bool)]) {
        let mut clocks = START;
        let mut finder = Finder::new(clocks);
        for (ran, since_boot, wall) in steps {
            clocks.monotonic += Nanos::from_millis(*ran);
            clocks.since_boot = clocks.since_boot.map(|before| before + Nanos::from_millis(*since_boot));
            clocks.wall_ns += wall * MS;
            finder.look(clocks);
        }
        let millis = |time: Nanos| time.0 / 1_000_000;
        let found: Vec<_> = finder
            .gaps
            .iter()
            .map(|gap| (gap.kind, millis(gap.from), millis(gap.length), gap.backwards))
            .collect();
        assert_eq!(found, expected);
    }

    const BEAT: (u64, u64, i128) = (50, 50, 50);

    #[test]
    fn clocks_that_go_together_show_nothing() {
        // The last beats are those of a busy machine and of a clock that is disciplined.
        check(&[BEAT, BEAT, (51, 51, 51), (400, 400, 400), (50, 50, 60), (50, 51, 45)], &[]);
    }

    #[test]
    fn a_machine_that_slept_is_told_by_its_two_clocks() {
        check(&[BEAT, (60, 3_600_060, 3_600_060), BEAT], &[(GapKind::Suspended, 50, 3_600_000, false)]);
    }

    #[test]
    fn a_process_that_was_not_run_is_told_by_looks_that_come_late() {
        check(&[BEAT, BEAT, (2_050, 2_050, 2_050), BEAT], &[(GapKind::Stalled, 100, 2_000, false)]);
    }

    #[test]
    fn a_time_of_day_that_is_set_changes_no_duration() {
        check(&[BEAT, (50, 50, 60_050), BEAT], &[(GapKind::ClockStep, 50, 60_000, false)]);
        check(&[BEAT, (50, 50, -3_599_950), BEAT], &[(GapKind::ClockStep, 50, 3_600_000, true)]);
    }

    #[test]
    fn a_pause_of_a_virtual_machine_that_all_its_clocks_but_one_miss_is_a_step() {
        check(&[(50, 50, 300_050)], &[(GapKind::ClockStep, 0, 300_000, false)]);
    }

    #[test]
    fn without_a_clock_that_counts_sleep_it_shows_as_a_step_of_the_time_of_day() {
        let mut finder = Finder::new(Clocks { since_boot: None, ..START });
        finder.look(Clocks {
            monotonic: START.monotonic + EVERY,
            since_boot: None,
            wall_ns: START.wall_ns + 7_200_000 * MS,
        });
        assert_eq!(finder.gaps.len(), 1);
        assert_eq!(finder.gaps[0].kind, GapKind::ClockStep);
    }

    #[test]
    fn what_is_kept_has_a_limit() {
        check(
            &[(2_050, 2_050, 2_050); 3],
            &[
                (GapKind::Stalled, 0, 2_000, false),
                (GapKind::Stalled, 2_050, 2_000, false),
                (GapKind::Stalled, 4_100, 2_000, false),
            ],
        );
        let mut finder = Finder::new(START);
        for second in 1..3_000 {
            finder.look(Clocks { monotonic: START.monotonic + Nanos::from_secs(second), ..START });
        }
        assert_eq!(finder.gaps.len(), GAPS_MAX);
    }

    #[test]
    fn the_real_clocks_go_together() {
        let (first, second) = (Clocks::read(), Clocks::read());
        assert!(second.monotonic >= first.monotonic);
        assert!(second.since_boot >= first.since_boot);
        let pulse = Pulse::start().unwrap();
        // A busy machine may not run its thread for a while, and that is not a difference between clocks.
        let gaps = pulse.gaps();
        assert!(gaps.iter().all(|gap| gap.kind == GapKind::Stalled), "{gaps:?}");
    }
}
