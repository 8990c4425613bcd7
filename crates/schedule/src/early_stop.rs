//! When a step may end before its interval does: when nothing that can still come would keep the level.
//!
//! Only what has ended counts. A backlog that is there now may be worked off faster than anything was before, so that no
//! guess of how fast is made; but a call that has been answered too late stays too late, and one that was lost stays lost.
//! Against them stands the most that can become due in the whole interval.

use crate::slo::{Objective, name, place_of};
use judge::curve::SERVED_SHARE;
use judge::search::time;
use measure::{KindTotals, Totals};
use model::Nanos;
use result::SloLimit;

/// Share of the interval that every step runs: shorter, and it would not show what was full.
const RUNS_SHARE: f64 = 0.25;
/// Time that every step runs, since processes are looked at once a second.
const RUNS_MIN: Nanos = Nanos::from_secs(2);
/// Standard deviations that a Poisson stream may bring more calls than its mean. It would exceed this once in 10¹³ steps.
const DEVIATIONS: f64 = 8.0;

/// Calls of a kind that took longer than `max`, or were not answered at all.
fn slower(kind: &KindTotals, max: Nanos) -> u64 {
    let declined = kind.declined.as_ref().map_or(0, |times| times.response.count_beyond(max));
    kind.committed.response.count_beyond(max) + declined + kind.call_counts.faults()
}

/// What bounds the calls of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The most calls that can become due in the interval.
    due_max: f64,
    /// Before this nothing is decided.
    earliest: Nanos,
}

impl Bounds {
    /// Of an open loop; of a closed one nothing is known.
    pub(crate) fn of(plan: &drive::Plan) -> Option<Bounds> {
        let drive::Plan { arrivals, measured, .. } = plan;
        let mean = arrivals.rate()?.0 * measured.as_secs_f64();
        let due_max = match arrivals {
            drive::Arrivals::Poisson(_) => mean + DEVIATIONS * mean.sqrt() + DEVIATIONS * DEVIATIONS,
            _ => mean + 1.0,
        };
        let earliest = Nanos((measured.0 as f64 * RUNS_SHARE) as u64).max(RUNS_MIN);
        Some(Bounds { due_max, earliest })
    }

    /// Why the level cannot be kept any more, if so, after `ran` of the interval. `kinds` are the names of those of
    /// `totals`, in its order.
    pub(crate) fn why_stop(
        &self,
        objective: &Objective,
        kinds: &[&str],
        ran: Nanos,
        totals: &Totals,
    ) -> Option<String> {
        if ran < self.earliest {
            return None;
        }
        let late = objective.limits.iter().find_map(|limit| self.late(limit, kinds, totals));
        late.or_else(|| self.lost(totals))
    }

    /// Whether more calls were too late than the percentile leaves above it, even if all that are still to come were in
    /// time and of the kind that it is of.
    fn late(&self, limit: &SloLimit, kinds: &[&str], totals: &Totals) -> Option<String> {
        let is_meant = |at: usize| limit.kind.as_ref().is_none_or(|kind| kinds[at] == kind);
        let meant = || totals.kinds.iter().enumerate().filter(|(at, _)| is_meant(*at)).map(|(_, kind)| kind);
        let max = Nanos(limit.max_ns);
        let beyond: u64 = meant().map(|kind| slower(kind, max)).sum();
        let started: u64 = totals.kinds.iter().map(|kind| kind.call_counts.started).sum();
        let started_of_meant: u64 = meant().map(|kind| kind.call_counts.started).sum();
        let most = started_of_meant as f64 + (self.due_max - started as f64).max(0.0);
        let allowed = most * (1_000 - place_of(limit)) as f64 / 1_000.0;
        // One more, for whichever way a percentile is rounded to a whole call.
        (beyond as f64 > allowed + 1.0).then(|| {
            let of = limit.kind.as_ref().map_or_else(String::new, |kind| format!(" of {kind}"));
            format!(
                "{beyond} calls{of} had taken longer than {} or were not answered, where {} allows {allowed:.0} of all {most:.0} that could \
                 become due",
                time(limit.max_ns),
                name(limit)
            )
        })
    }

    /// Whether more calls have failed than may, even if all that are still to come are served.
    fn lost(&self, totals: &Totals) -> Option<String> {
        let call_counts = totals.kinds.iter().map(|kind| kind.call_counts);
        let lost: u64 = call_counts
            .map(|call_counts| call_counts.conflict + call_counts.refused + call_counts.in_doubt)
            .sum();
        let allowed = (1.0 - SERVED_SHARE) * self.due_max;
        (lost as f64 > allowed + 1.0).then(|| {
            format!(
                "{lost} calls had conflicted, been refused or been left in doubt, where {allowed:.0} of all {:.0} that \
                 could become due may",
                self.due_max
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive::RatePerSecond;
    use measure::{Class, TimesKept};
    use model::{CallWork, Kind};

    const KINDS: [&str; 2] = ["new-order", "payment"];
    const SECOND: Nanos = Nanos::from_secs(1);

    fn kind(name: &'static str) -> Kind {
        Kind {
            name,
            headline: false,
            declined_max: 0.0,
            pace: None,
            p90_max: None,
            deferred_p90_max: None,
            writes: true,
        }
    }

    /// What calls have come to, each as its kind, its response time in ms and its class.
    fn totals(calls: impl IntoIterator<Item = (usize, u64, Class)>) -> Totals {
        let mut totals = Totals::new(&KINDS.map(kind), &[], TimesKept::ResponseAndService);
        for (of, ms, class) in calls {
            let kind = &mut totals.kinds[of];
            kind.call_counts.enter(class, &CallWork { attempts: 1, ..CallWork::default() }, false);
            if class == Class::Committed {
                kind.committed.response.record(Nanos::from_millis(ms));
            }
        }
        totals
    }

    fn committed(of: usize, ms: u64, calls: usize) -> impl Iterator<Item = (usize, u64, Class)> {
        std::iter::repeat_n((of, ms, Class::Committed), calls)
    }

    /// What is decided about 10 s at 1,000 calls per second, in even distances: 10,001 calls at most.
    #[track_caller]
    fn decided(slo: &str, ran: Nanos, totals: &Totals) -> Option<String> {
        let plan = drive::Plan {
            arrivals: drive::Arrivals::Constant(RatePerSecond(1_000.0)),
            measured: Nanos::from_secs(10),
            ..drive::Plan::default()
        };
        let objective = Objective::parse(&[slo.to_owned()], &KINDS).unwrap();
        Bounds::of(&plan).unwrap().why_stop(&objective, &KINDS, ran, totals)
    }

    #[test]
    fn a_step_ends_when_more_calls_were_too_late_than_the_rest_could_make_good() {
        let at = Nanos::from_secs(3);
        let late = |calls: usize| totals(committed(0, 80, calls).chain(committed(1, 10, 1_000)));
        // A hundredth of all 10,001 that can become due, and one for rounding.
        assert_eq!(decided("p99<50ms", at, &late(101)), None);
        let why = decided("p99<50ms", at, &late(102)).unwrap();
        assert!(
            why.starts_with("102 calls had taken longer than 50 ms or were not answered, where p99 allows 100 of all 10001"),
            "{why}"
        );
        assert_eq!(decided("p90<50ms", at, &late(102)), None);
        assert_eq!(decided("p99<90ms", at, &late(1_000)), None);
    }

    #[test]
    fn of_a_kind_all_that_is_still_to_come_may_be_of_it() {
        let at = Nanos::from_secs(6);
        let late = |calls: usize| totals(committed(0, 80, calls).chain(committed(1, 10, 6_000 - calls)));
        // 80 of new-order and at most 4,001 more: 41 may be late, but none of payment was.
        let why = decided("new-order.p99<50ms", at, &late(80)).unwrap();
        assert!(why.contains("80 calls of new-order") && why.contains("of all 4081 that could"), "{why}");
        assert_eq!(decided("new-order.p99<50ms", at, &late(41)), None);
        assert_eq!(decided("payment.p99<50ms", at, &late(80)), None);
    }

    #[test]
    fn calls_that_were_lost_stay_lost() {
        let at = Nanos::from_secs(3);
        let lost = |calls: usize| totals(std::iter::repeat_n((1, 1, Class::InDoubt), calls));
        assert_eq!(decided("p99<50ms", at, &lost(100)), None);
        assert!(decided("p50<50ms", at, &lost(102)).unwrap().starts_with("102 calls had conflicted"));
    }

    #[test]
    fn nothing_is_decided_before_a_quarter_of_the_interval_and_two_seconds() {
        let stopped = totals(committed(0, 80, 5_000));
        assert_eq!(decided("p99<50ms", Nanos::from_millis(2_400), &stopped), None);
        assert!(decided("p99<50ms", Nanos::from_millis(2_500), &stopped).is_some());
        let short = drive::Plan {
            arrivals: drive::Arrivals::Poisson(RatePerSecond(1_000.0)),
            measured: SECOND,
            ..drive::Plan::default()
        };
        assert_eq!(Bounds::of(&short).unwrap().earliest, Nanos::from_secs(2));
        assert!(Bounds::of(&drive::Plan::default()).is_none(), "a closed loop waits for itself");
    }

    /// The promise: whatever is still to come, the percentile of a step that was ended would have broken the level. The
    /// best that can come is tried: all calls that can become due, at once.
    #[test]
    fn a_step_that_could_still_pass_is_never_ended() {
        let at = Nanos::from_secs(3);
        for (slo, quantile) in
            [("p50<50ms", 0.5), ("p90<50ms", 0.9), ("p99<50ms", 0.99), ("p99.9<50ms", 0.999)]
        {
            for late in (1..10_001).step_by(83) {
                // Times around the limit, where the histogram cannot distinguish them.
                for ms in [50, 51, 80] {
                    let so_far = || committed(0, ms, late);
                    if decided(slo, at, &totals(so_far())).is_none() {
                        continue;
                    }
                    let best = totals(so_far().chain(committed(0, 1, 10_001 - late)));
                    let found = best.kinds[0].committed.response.quantile(quantile).unwrap();
                    assert!(found > Nanos::from_millis(50), "{slo}: {late} calls of {ms} ms, {found:?}");
                    break;
                }
            }
        }
    }
}
