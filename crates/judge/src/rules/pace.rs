//! What sets the rate, whether clients and times agree with it, and whether it held.

use super::{bad, clients, fine, hint, listed, note, warning, whole_percent};
use crate::curve::{SERVED_SHARE, left_in_rounds};
use crate::figures;
use measure::{Steadiness, steadiness};
use result::{Arrivals, Class, Rule, Tally, Trial};

/// Throughput within this share of clients ÷ think time: the pace sets the rate.
const THINK_CAP_MARGIN: f64 = 0.10;
/// How far clients and throughput × response time may differ, as a share.
const LITTLE_MARGIN: f64 = 0.05;
/// A slice this much below the median, as a share, is slow.
const SLOW_SHARE: f64 = 0.20;
/// And by this many times the usual deviation (1.48 × the median one, which for normal scatter is one standard deviation).
const SLOW_DEVIATIONS: f64 = 4.0;
/// With more of the calls left at the end of their round, response times of rounds say nothing about those of a whole trial.
const LEFT_MAX: f64 = 0.05;
/// Committed calls per second below which counting alone scatters too much for single slices to be called slow.
const SLOW_RATE_MIN: f64 = 25.0;

/// Whether the think times set the rate, and not the system.
pub(super) fn think_cap(trial: &Trial) -> Option<Rule> {
    let busy = busy(trial)?;
    if busy > THINK_CAP_MARGIN {
        return fine(format!(
            "clients spent {} of their time waiting for answers: the system takes part in the rate",
            whole_percent(busy)
        ));
    }
    hint(
        format!(
            "clients spent {} of their time keying and thinking: think time limits throughput",
            whole_percent(1.0 - busy)
        ),
        "raise the number of clients (TPC-C: warehouses) to learn what the system can do",
    )
}

/// Whether clients think so long that they set the rate.
pub(super) fn sets_the_rate(trial: &Trial) -> bool {
    busy(trial).is_some_and(|busy| busy <= THINK_CAP_MARGIN)
}

/// The share of their time that clients with think times spend inside calls.
fn busy(trial: &Trial) -> Option<f64> {
    if !trial.plan.arrivals.is_paced() {
        return None;
    }
    // By Little's law throughput ÷ (clients ÷ think) = think ÷ (think + response), so the share of their time that
    // clients spend inside calls tells how far throughput is below what the pace allows.
    Some(occupied(trial, Times::Response)?.clients / f64::from(trial.plan.clients.max(1)))
}

/// Whether calls that were due at a rate were served in the rounds in which they were due. What a round leaves is worked off after
/// it, so a backlog that would grow in a whole trial is cut with each turn.
pub(super) fn backlog(trial: &Trial) -> Option<Rule> {
    if trial.rounds.is_empty() || !trial.plan.arrivals.is_open() {
        return None;
    }
    let left = left_in_rounds(trial);
    if left <= 1.0 - SERVED_SHARE {
        return fine("all calls that were due in a round ended in it, except calls in progress");
    }
    let sentence = format!(
        "{} of the calls that were due in a round had not ended with it, more than are under way at any moment; a round begins without the \
         backlog of the last one, so response times would be longer in a whole trial",
        figures::percent(left)
    );
    let advice = "lower the rate, or measure whole trials with `--trials`";
    if left > LEFT_MAX { bad(sentence, advice) } else { warning(sentence, advice) }
}

/// Clients = throughput × (response + think): in a closed loop, throughput and response time are one fact.
pub(super) fn little(trial: &Trial) -> Option<Rule> {
    let times = if trial.plan.arrivals.is_open() { Times::Service } else { Times::Response };
    let all = f64::from(trial.plan.clients);
    let Occupied { clients: busy, calls_per_s } = occupied(trial, times)?;
    // A call that is across the beginning or the end of the interval counts whole or not at all.
    let calls_a_client = calls_per_s * trial.measured_s / all.max(1.0);
    let margin = LITTLE_MARGIN + 1.0 / calls_a_client.max(1.0);
    let found = format!("on average {} were in a call", figures::short(busy));
    // At the end of the interval each client may be in a call as long as the longest, all of which counts.
    let longest_ns = trial.overall.latency.iter().map(|latency| latency.response.max_ns).max().unwrap_or(0);
    let over =
        LITTLE_MARGIN + (longest_ns as f64 / 1e9 / trial.measured_s).max(1.0 / calls_a_client.max(1.0));
    if busy > all * (1.0 + over) {
        return bad(
            format!(
                "of {} {found}, which cannot be: rate and times contradict each other",
                clients(trial.plan.clients)
            ),
            "report this as a bug of Stackmark, with the result file",
        );
    }
    if trial.plan.arrivals != (Arrivals::Closed {}) {
        return fine(format!("of {} {found}", clients(trial.plan.clients)));
    }
    let product = format!(
        "{} calls/s × {} = {}",
        figures::short(calls_per_s),
        figures::duration(busy / calls_per_s * 1e9),
        figures::short(busy)
    );
    if busy < all * (1.0 - margin) {
        return warning(
            format!(
                "{product} and not {}: clients spent {} of the time between calls, so the load was lighter than asked",
                clients(trial.plan.clients),
                whole_percent(1.0 - busy / all)
            ),
            "see whether the generator had enough CPU time, and whether calls were lost",
        );
    }
    fine(format!("clients and times agree: {product} of {}", clients(trial.plan.clients)))
}

#[derive(Clone, Copy)]
enum Times {
    Response,
    Service,
}

/// What clients did on average.
struct Occupied {
    /// Clients inside a call.
    clients: f64,
    /// Calls that they began a second.
    calls_per_s: f64,
}

/// Nothing where the times of more than 1 % of the calls are not known. A call that was queued and done later keeps no
/// client: its times are those of someone else's work.
fn occupied(trial: &Trial, times: Times) -> Option<Occupied> {
    let classes =
        [Class::Committed, Class::Declined, Class::Conflict, Class::Refused, Class::InDoubt, Class::Defect];
    let deferred = trial.deferred.as_ref().map(|deferred| deferred.kind.as_str());
    let (later, own): (Vec<_>, Vec<_>) =
        trial.kinds.iter().partition(|kind| deferred == Some(kind.name.as_str()));
    let (mut known, mut sum_ns) = (0, 0.0);
    for class in classes {
        let of = |tally: &Tally| times.of(tally, class);
        let sum = |sum: (u64, f64), part: (u64, f64)| (sum.0 + part.0, sum.1 + part.1);
        let by_kind = own.iter().map(|kind| of(&kind.tally)).fold((0, 0.0), sum);
        let apart = later.iter().map(|kind| of(&kind.tally)).fold((0, 0.0), sum);
        // Some classes are clocked a kind, some only in all.
        let in_all = of(&trial.overall);
        let (calls, ns) = if by_kind.0 + apart.0 >= in_all.0 {
            by_kind
        } else {
            (in_all.0 - apart.0, (in_all.1 - apart.1).max(0.0))
        };
        known += calls;
        sum_ns += ns;
    }
    let started = trial
        .overall
        .call_counts
        .started
        .saturating_sub(later.iter().map(|kind| kind.tally.call_counts.started).sum());
    let enough = started > 0 && trial.measured_s > 0.0 && known as f64 >= started as f64 * 0.99;
    enough.then(|| Occupied {
        clients: sum_ns / 1e9 / trial.measured_s,
        calls_per_s: started as f64 / trial.measured_s,
    })
}

impl Times {
    /// Calls of one class and the sum of their times in nanoseconds.
    fn of(self, tally: &Tally, class: Class) -> (u64, f64) {
        tally.latency(class).map_or((0, 0.0), |latency| {
            let quantiles = match self {
                Times::Service => latency.service.unwrap_or(latency.response),
                Times::Response => latency.response,
            };
            (quantiles.count, quantiles.mean_ns * quantiles.count as f64)
        })
    }
}

/// The limits that the workload sets.
pub(super) fn limits(trial: &Trial) -> Option<Rule> {
    let deferred = trial.deferred.iter().map(|deferred| (format!("{}, done", deferred.kind), deferred.limit));
    let kinds = trial.kinds.iter().filter_map(|kind| Some((kind.name.clone(), kind.limit?)));
    let limits: Vec<_> = kinds.chain(deferred).collect();
    let mut missed: Vec<String> = limits
        .iter()
        .filter(|(_, limit)| limit.passed == Some(false))
        .map(|(name, limit)| {
            format!(
                "p90 of {name} is {} (limit {})",
                figures::maybe_duration(limit.p90_ns),
                figures::duration(limit.p90_max_ns as f64)
            )
        })
        .collect();
    if let Some(efficiency) = trial.efficiency.filter(|efficiency| !efficiency.passed) {
        missed.push(format!(
            "{} per warehouse is outside {} to {}",
            figures::short(efficiency.per_warehouse),
            efficiency.per_warehouse_min,
            efficiency.per_warehouse_max
        ));
    }
    if !missed.is_empty() {
        return warning(
            format!("{}: the workload does not count such a run as valid", listed(&missed)),
            "lower the load, or give the system more to work with",
        );
    }
    if limits.is_empty() {
        return None;
    }
    let unknown = limits.iter().filter(|(_, limit)| limit.passed.is_none()).count();
    if unknown > 0 {
        let sentence =
            format!("{unknown} of {} limits on the 90th percentile have too few calls", limits.len());
        return note(sentence);
    }
    fine(format!("all {} limits on the 90th percentile were met", limits.len()))
}

/// Whether the rate held over the interval.
pub(super) fn steady(trial: &Trial) -> Option<Rule> {
    if trial.overall.call_counts.committed == 0 {
        return None;
    }
    let (starts_s, rates): (Vec<f64>, Vec<f64>) = rates(trial).into_iter().unzip();
    let percent = |change: f64| {
        format!("{:.0} % {}", change.abs() * 100.0, if change < 0.0 { "lower" } else { "higher" })
    };
    match steadiness(&rates) {
        Steadiness::TooFew => hint(
            format!("{} slices are too few to check whether the rate was steady", rates.len()),
            "measure for at least ten seconds",
        ),
        Steadiness::Drift { change } => warning(
            format!(
                "not steady: the rate drifted and ended {} than it began, so the mean is not representative",
                percent(change)
            ),
            "warm up for longer, and see what grows or fills up",
        ),
        Steadiness::ChangePoint { at, change } => warning(
            format!(
                "not steady: from {} on the rate was {} than before, so its mean describes neither part",
                figures::seconds(starts_s[at]),
                percent(change)
            ),
            "check for another process, a checkpoint, or a cache that filled up",
        ),
        Steadiness::Steady => match slow(&rates) {
            0 => fine(format!("the rate was steady over {} slices", rates.len())),
            slow => warning(
                format!(
                    "{slow} of {} slices ran {} or more slower than the rest; something else may have used the machine",
                    rates.len(),
                    whole_percent(SLOW_SHARE)
                ),
                "run again on a quiet machine, or for longer",
            ),
        },
    }
}

/// Start in seconds and committed calls per second of each measured slice. A rest at the end shorter than half a slice says
/// too little, and so does a slice in which no one ran: that is told of on its own.
fn rates(trial: &Trial) -> Vec<(f64, f64)> {
    let measured = || trial.slices.iter().filter(|slice| trial.is_rated(slice) && slice.duration_s > 0.0);
    let longest = measured().map(|slice| slice.duration_s).fold(0.0, f64::max);
    measured()
        .filter(|slice| slice.duration_s >= longest / 2.0)
        .filter(|slice| !trial.gaps.iter().any(|gap| gap.touches(slice.t_s, slice.t_s + slice.duration_s)))
        .map(|slice| {
            let committed: u64 = slice.kinds.iter().map(|kind| kind.committed).sum();
            (slice.t_s, committed as f64 / slice.duration_s)
        })
        .collect()
}

/// How many slices stand out below the rest.
fn slow(rates: &[f64]) -> usize {
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    };
    if rates.is_empty() {
        return 0;
    }
    let centre = median(rates.to_vec());
    if centre < SLOW_RATE_MIN {
        return 0;
    }
    let usual = 1.48 * median(rates.iter().map(|rate| (rate - centre).abs()).collect());
    let bound = (centre * (1.0 - SLOW_SHARE)).min(centre - SLOW_DEVIATIONS * usual);
    rates.iter().filter(|rate| **rate < bound).count()
}
