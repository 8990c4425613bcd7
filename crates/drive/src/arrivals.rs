//! When calls are due.

use crate::plan::{Arrivals, Plan, RatePerSecond, Think};
use crate::stages::Profile;
use model::random::Random;
use model::{Nanos, Pace};
use parking_lot::Mutex;
use std::sync::Arc;

/// Paths of the random streams, so that neither disturbs the inputs or the other.
const TIMETABLE_STREAM: u64 = 0x7469_6d65;
const PACE_STREAM: u64 = 0x7061_6365;

/// TPC-C 5.2.5.4: think times are cut at ten times their mean.
const THINK_CUT: f64 = 10.0;

/// The timetable of an open loop: one for all workers, who claim its next arrival when they are free.
#[derive(Debug)]
pub(crate) struct Timetable {
    start: Nanos,
    gaps: Gaps,
    /// Of so many processes this one, each of which takes its arrivals in turn.
    turn: (u64, u64),
    // A lock of some 20 ns, held between calls only; an atomic would do for equal distances alone.
    next: Mutex<Next>,
}

#[derive(Debug)]
enum Gaps {
    Equal {
        rate: f64,
    },
    Exponential {
        mean_ns: f64,
    },
    /// As one of the two, where the rate is a function of time.
    Staged {
        exponential: bool,
    },
}

#[derive(Debug)]
struct Next {
    index: u64,
    /// Sum of the exponential gaps so far. A float of 53 bits keeps whole nanoseconds for 104 days.
    offset_ns: f64,
    random: Random,
    /// The rate over time, where it is not one.
    profile: Option<Profile>,
}

impl Timetable {
    /// The timetable of a plan, if it has one.
    pub(crate) fn of(plan: &Plan, start: Nanos) -> Option<Timetable> {
        let gaps = match plan.arrivals {
            Arrivals::Closed | Arrivals::Paced => return None,
            arrivals if !plan.stages.is_empty() => {
                Gaps::Staged { exponential: matches!(arrivals, Arrivals::Poisson(_)) }
            }
            Arrivals::Constant(RatePerSecond(rate)) => Gaps::Equal { rate },
            Arrivals::Poisson(RatePerSecond(rate)) => Gaps::Exponential { mean_ns: 1e9 / rate },
        };
        let random = Random::stream(plan.seed, &[TIMETABLE_STREAM]);
        let profile = (!plan.stages.is_empty()).then(|| Profile::new(plan.warmup, &plan.stages));
        let turn = plan.part.map_or((1, 0), |part| (u64::from(part.of), u64::from(part.index)));
        let next = Next { index: 0, offset_ns: 0.0, random, profile };
        Some(Timetable { start, gaps, turn, next: Mutex::new(next) })
    }

    /// Length of the window of a plan: up to the last call that is wanted in it, where the timetable has as many before the
    /// planned end. That is worked out beforehand, some 20 ns a call, so that the loop need not count.
    pub(crate) fn window(plan: &Plan) -> Nanos {
        // The calls of all processes end it.
        let whole = Plan { part: None, ..plan.clone() };
        let (Some(calls), Some(table)) = (plan.calls, Timetable::of(&whole, Nanos::ZERO)) else {
            return plan.measured;
        };
        let closes = plan.warmup + plan.measured;
        let due = std::iter::repeat_with(|| table.claim()).take_while(|due| *due < closes);
        let wanted = usize::try_from(calls - 1).unwrap_or(usize::MAX);
        let last = due.filter(|due| *due >= plan.warmup).nth(wanted);
        last.map_or(plan.measured, |last| last + Nanos(1) - plan.warmup)
    }

    /// Claims the next arrival. Each is given to one worker.
    pub(crate) fn claim(&self) -> Nanos {
        let next = &mut *self.next.lock();
        let (of, mine) = self.turn;
        while next.index % of != mine {
            self.draw(next);
        }
        self.draw(next)
    }

    fn draw(&self, next: &mut Next) -> Nanos {
        let offset_ns = match self.gaps {
            // From the index and not by adding up, so that no rounding accumulates.
            Gaps::Equal { rate } => next.index as f64 * 1e9 / rate,
            Gaps::Exponential { mean_ns } => {
                next.offset_ns += next.random.exponential(mean_ns);
                next.offset_ns
            }
            Gaps::Staged { exponential } => {
                // The offset counts calls here: gaps of one call on average, stretched by the rate.
                next.offset_ns = match exponential {
                    true => next.offset_ns + next.random.exponential(1.0),
                    false => next.index as f64,
                };
                let profile = next.profile.as_mut().expect("stages have a profile");
                profile.offset_ns(next.offset_ns)
            }
        };
        next.index += 1;
        self.start + Nanos(offset_ns as u64)
    }
}

/// What decides when a worker's next call is due.
#[derive(Debug)]
pub(crate) enum NextCall {
    /// As soon as the worker is free.
    WhenFree,
    /// After thinking and keying.
    Paced(Pacing),
    /// By the timetable that all workers share.
    Timetable(Arc<Timetable>),
}

/// A client's pace. Its random stream is its own: inputs are the same with and without pace.
#[derive(Debug)]
pub(crate) struct Pacing {
    random: Random,
    think: Think,
    /// When the think time after the last call is over.
    free_at: Nanos,
    first: bool,
}

impl NextCall {
    pub(crate) fn of(plan: &Plan, worker: u32, start: Nanos, timetable: Option<&Arc<Timetable>>) -> NextCall {
        match (plan.arrivals, timetable) {
            (_, Some(timetable)) => NextCall::Timetable(Arc::clone(timetable)),
            (Arrivals::Paced, None) => NextCall::Paced(Pacing {
                random: Random::stream(plan.seed, &[PACE_STREAM, u64::from(worker)]),
                think: plan.think,
                free_at: start,
                first: true,
            }),
            (Arrivals::Closed | Arrivals::Constant(_) | Arrivals::Poisson(_), None) => NextCall::WhenFree,
        }
    }

    /// When the next call, of a kind with this pace, is due; `None` for as soon as its worker is free.
    #[inline]
    pub(crate) fn due(&mut self, pace: Option<Pace>) -> Option<Nanos> {
        match self {
            NextCall::WhenFree => None,
            NextCall::Paced(pacing) => Some(pacing.due(pace)),
            NextCall::Timetable(timetable) => Some(timetable.claim()),
        }
    }

    /// Notes when a call of a kind with this pace was answered.
    #[inline]
    pub(crate) fn answered(&mut self, ended: Nanos, pace: Option<Pace>) {
        if let NextCall::Paced(pacing) = self {
            pacing.free_at = ended + pacing.think(pace);
        }
    }
}

impl Pacing {
    fn due(&mut self, pace: Option<Pace>) -> Nanos {
        let Some(pace) = self.pace(pace) else { return self.free_at };
        if std::mem::take(&mut self.first) {
            // Terminals start anywhere in their cycle; otherwise all of them would come in step.
            let cycle = pace.keying + pace.think_mean;
            return self.free_at + Nanos((self.random.unit() * cycle.0 as f64) as u64);
        }
        self.free_at + pace.keying
    }

    /// The pace around a call whose kind has this one in the workload.
    fn pace(&self, of_kind: Option<Pace>) -> Option<Pace> {
        match self.think {
            Think::Spec => of_kind,
            Think::Constant(think_mean) | Think::Exponential(think_mean) => {
                Some(Pace { keying: Nanos::ZERO, think_mean })
            }
        }
    }

    fn think(&mut self, pace: Option<Pace>) -> Nanos {
        if let Think::Constant(think) = self.think {
            return think;
        }
        let Some(pace) = self.pace(pace) else { return Nanos::ZERO };
        let mean = pace.think_mean.0 as f64;
        Nanos(self.random.exponential(mean).min(mean * THINK_CUT) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timetable(arrivals: Arrivals) -> Timetable {
        Timetable::of(&Plan { arrivals, ..Plan::default() }, Nanos(77)).unwrap()
    }

    #[test]
    fn constant_arrivals_keep_their_distance_without_drift() {
        let table = timetable(Arrivals::Constant(RatePerSecond(3.0)));
        let due: Vec<Nanos> = (0..3_000_001).map(|_| table.claim()).collect();
        assert_eq!(
            (due[0], due[3], due[3_000_000]),
            (Nanos(77), Nanos(1_000_000_077), Nanos::from_secs(1_000_000) + Nanos(77))
        );
    }

    #[test]
    fn a_number_of_calls_ends_the_window_with_the_last_of_them() {
        let window = |calls, arrivals| {
            let (warmup, measured) = (Nanos::from_secs(1), Nanos::from_secs(9));
            Timetable::window(&Plan { arrivals, warmup, measured, calls, ..Plan::default() })
        };
        let ten = Arrivals::Constant(RatePerSecond(10.0));
        assert_eq!(window(Some(1), ten), Nanos(1));
        assert_eq!(window(Some(21), ten), Nanos::from_secs(2) + Nanos(1));
        assert_eq!(window(Some(90), ten), Nanos(8_900_000_001));
        for beyond in [Some(91), Some(u64::MAX), None] {
            assert_eq!(window(beyond, ten), Nanos::from_secs(9));
        }
        assert_eq!(window(Some(3), Arrivals::Closed), Nanos::from_secs(9));
    }

    #[test]
    fn poisson_gaps_have_the_right_mean_and_variance() {
        let table = timetable(Arrivals::Poisson(RatePerSecond(1_000.0)));
        let due: Vec<f64> = (0..200_000).map(|_| table.claim().0 as f64).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01, "mean gap {mean} ms");
        assert!((variance - 1.0).abs() < 0.03, "variance {variance}");
    }

    #[test]
    fn a_terminal_keys_and_thinks_and_never_thinks_longer_than_ten_means() {
        let plan = Plan { arrivals: Arrivals::Paced, ..Plan::default() };
        let pace = Some(Pace { keying: Nanos::from_secs(18), think_mean: Nanos::from_secs(12) });
        let mut turn = NextCall::of(&plan, 3, Nanos::ZERO, None);
        let first = turn.due(pace).unwrap();
        assert!(first < Nanos::from_secs(30), "{first:?}");
        let (mut sum, mut longest) = (Nanos::ZERO, Nanos::ZERO);
        for _ in 0..100_000 {
            turn.answered(first, pace);
            let think = turn.due(pace).unwrap() - first - Nanos::from_secs(18);
            sum += think;
            longest = longest.max(think);
        }
        let mean = sum.as_secs_f64() / 100_000.0;
        assert!((11.8..12.2).contains(&mean), "{mean}");
        assert!((Nanos::from_secs(100)..=Nanos::from_secs(120)).contains(&longest), "{longest:?}");
    }

    #[test]
    fn think_times_of_ones_own_take_the_place_of_the_workloads() {
        let mean = Nanos::from_millis(100);
        for (think, longest_min, longest_max) in [
            (Think::Constant(mean), mean, mean),
            (Think::Exponential(mean), Nanos::from_millis(900), Nanos::from_secs(1)),
        ] {
            for pace in [None, Some(Pace { keying: Nanos::from_secs(18), think_mean: Nanos::from_secs(12) })]
            {
                let plan = Plan { arrivals: Arrivals::Paced, think, ..Plan::default() };
                let mut turn = NextCall::of(&plan, 3, Nanos::ZERO, None);
                assert!(turn.due(pace).unwrap() < mean, "terminals start anywhere in their cycle");
                let at = Nanos::from_secs(7);
                let (mut sum, mut longest) = (Nanos::ZERO, Nanos::ZERO);
                for _ in 0..100_000 {
                    turn.answered(at, pace);
                    let think = turn.due(pace).unwrap() - at;
                    sum += think;
                    longest = longest.max(think);
                }
                let measured = sum.as_secs_f64() / 100_000.0;
                assert!((0.098..0.102).contains(&measured), "{think:?}: {measured}");
                assert!((longest_min..=longest_max).contains(&longest), "{think:?}: {longest:?}");
            }
        }
    }
}
