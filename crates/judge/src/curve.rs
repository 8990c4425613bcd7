//! From the trials of a sweep to its load curve, in figures and in words.

use crate::rules::{saturation, whole_percent};
use crate::{figures, findings};
use measure::{KNEE_SHARE, LoadRates, UslFit};
use result::{
    Axis, Class, Curve, Interval, KindTally, Knee, Point, Rule, Scalability, State, Suspect, Trial,
};

/// A rate is served when this share of the calls that were due has ended, within the interval but for those in flight.
pub const SERVED_SHARE: f64 = 0.99;

/// From this distance of the points from the fit on, as a share of throughput, the law does not describe the system, and a
/// peak that it gives is not named.
const MISFIT_SHARE: f64 = 0.1;

/// The trials of one load, one a block; `None` where the block has not come to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// Clients, or calls/s due.
    pub load: f64,
    /// Indexes into the trials.
    pub trials: Vec<Option<usize>>,
}

/// Whether a trial tells what its load gives: more than could be served is an answer too.
pub fn is_valid(trial: &Trial) -> bool {
    trial.state == State::Complete && !trial.is_invalid_at_any_load()
}

/// Share of the calls due in an open loop that ended in time: by the end of the interval, or in flight there. A backlog
/// that the drain works off afterwards is not a service, and neither are calls that were declined without a reason.
pub fn served_share(trial: &Trial) -> f64 {
    let call_counts = &trial.overall.call_counts;
    if call_counts.due == 0 || trial.measured_s <= 0.0 {
        return 0.0;
    }
    let due = call_counts.due as f64;
    let beyond_plan: u64 = trial.kinds.iter().map(KindTally::declined_beyond_plan).sum();
    let answered = (call_counts.committed + call_counts.declined.saturating_sub(beyond_plan)) as f64;
    if !trial.rounds.is_empty() {
        return answered / due - left_in_rounds(trial);
    }
    let late = trial.demand.map_or(0.0, |demand| demand.committed_late as f64);
    // By Little's law, so many are under way at any moment; twice that, since the moment may be a busy one.
    (answered - (late - 2.0 * under_way(trial)).max(0.0)) / due
}

/// Calls that are under way at any moment, on average, by Little's law.
fn under_way(trial: &Trial) -> f64 {
    let latency = trial.overall.latency(Class::Committed);
    let service_s = latency.map_or(0.0, |latency| latency.service.unwrap_or(latency.response).mean_ns / 1e9);
    trial.overall.call_counts.due as f64 / trial.measured_s.max(f64::MIN_POSITIVE) * service_s
}

/// By how many more calls came due in rounds than ended in them, as a share of those due, beyond what chance gives: what is under way at
/// the two ends of a round differs by as much as its square root. A backlog that grows within rounds is worked off between them.
pub(crate) fn left_in_rounds(trial: &Trial) -> f64 {
    let call_counts = &trial.overall.call_counts;
    let due = (call_counts.due as f64).max(1.0);
    let ended = trial.committed() + call_counts.started.saturating_sub(call_counts.committed) as f64;
    let chance = 3.0 * (2.0 * trial.rounds.len() as f64 * (under_way(trial) + 1.0)).sqrt();
    ((due - ended - chance) / due).max(0.0)
}

/// Whether calls were due at a rate and the trial served them in time: its throughput says nothing then.
pub fn keeps_given_rate(trial: &Trial) -> bool {
    trial.plan.arrivals.is_open() && served_share(trial) >= SERVED_SHARE
}

/// Draws up the curve. `seed` is that of the intervals of the fit.
pub fn draw_up(axis: Axis, loads: &[Loaded], trials: &[Trial], seed: u64) -> Curve {
    let valid = |at: &Option<usize>| at.and_then(|at| trials.get(at)).filter(|trial| is_valid(trial));
    let points: Vec<Point> = loads
        .iter()
        .filter(|loaded| loaded.trials.iter().any(Option::is_some))
        .map(|loaded| {
            let of_point: Vec<&Trial> = loaded.trials.iter().filter_map(valid).collect();
            let times = |at: fn(&result::Quantiles) -> Option<u64>| {
                let of = |trial: &&Trial| at(&trial.overall.latency(Class::Committed)?.response);
                let times: Option<Vec<f64>> =
                    of_point.iter().map(|trial| of(trial).map(|ns| ns as f64)).collect();
                times.and_then(|times| mean(&times))
            };
            Point {
                load: loaded.load,
                trials: loaded.trials.iter().flatten().copied().collect(),
                rate: mean(&of_point.iter().map(|trial| trial.headline.value.value).collect::<Vec<_>>()),
                p50_ns: times(|times| times.p50_ns),
                p99_ns: times(|times| times.p99_ns),
                saturated: saturated(&of_point),
            }
        })
        .collect();
    let law = (axis == Axis::Clients).then(|| fitted(loads, &valid, seed)).flatten();
    let fit = law.as_ref().map(scalability);
    let knee = match axis {
        Axis::Clients => knee_of_clients(&points),
        Axis::Rate => knee_of_rates(&points, trials),
    };
    let sentence = match axis {
        Axis::Clients => clients_sentence(&points, knee.as_ref(), fit.as_ref(), trials),
        Axis::Rate => rates_sentence(&points, knee.as_ref(), trials),
    };
    Curve { axis, points, fit, knee, sentence }
}

fn mean(values: &[f64]) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let value = values.iter().sum::<f64>() / values.len() as f64;
    let half = measure::mean_interval(values);
    Some(Interval {
        value,
        low: half.map(|half| (value - half).max(0.0)),
        high: half.map(|half| value + half),
    })
}

fn fitted<'a>(
    loads: &[Loaded],
    valid: &impl Fn(&Option<usize>) -> Option<&'a Trial>,
    seed: u64,
) -> Option<UslFit> {
    let rates = |loaded: &Loaded| LoadRates {
        load: loaded.load,
        rates: loaded.trials.iter().map(|at| valid(at).map(|trial| trial.headline.value.value)).collect(),
    };
    measure::usl(&loads.iter().map(rates).collect::<Vec<_>>(), seed)
}

fn scalability(law: &UslFit) -> Scalability {
    let interval =
        |one: measure::Estimate| Interval { value: one.value, low: Some(one.low), high: Some(one.high) };
    let peak = law.peak().filter(|_| law.error_share <= MISFIT_SHARE);
    Scalability {
        lambda: interval(law.lambda),
        sigma: interval(law.sigma),
        kappa: interval(law.kappa),
        peak_clients: peak,
        peak_rate: peak.map(|peak| law.rate(peak)),
        error_share: law.error_share,
    }
}

/// Who is full, in a few words for each trial's finding of the rule `saturation`; all of them where blocks disagree.
fn saturated(trials: &[&Trial]) -> String {
    let found = findings::gathered(trials.iter().map(|trial| who(trial)), |a, b| a == b);
    match found.as_slice() {
        [] => "not known".to_owned(),
        [(who, _)] => (*who).to_owned(),
        several => several
            .iter()
            .map(|(who, times)| format!("{who} ({times} of {})", trials.len()))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// What was saturated in a trial, in a few words; `unknown` where nothing was.
pub fn who(trial: &Trial) -> &'static str {
    match trial.rules.iter().find(|rule| rule.name == "saturation") {
        None => "not judged",
        Some(Rule { saturated: Some(Suspect::Pool), .. }) if trial.stack.route == "http" => {
            "sessions of the server"
        }
        // The rule looks at the device before it looks at what the engine's sessions wait for.
        Some(Rule { saturated: Some(Suspect::CommitFlush), .. }) if saturation::disk(trial).is_some() => {
            "a busy disk"
        }
        Some(rule) => rule.saturated.map_or("unknown", Suspect::who),
    }
}

fn knee_of_clients(points: &[Point]) -> Option<Knee> {
    let rates: Option<Vec<(f64, f64)>> =
        points.iter().map(|point| Some((point.load, point.rate?.value))).collect();
    let at = measure::knee(&rates?)?;
    let (point, rate) = (&points[at], points[at].rate?);
    let highest = points.iter().max_by(|a, b| rate_of(a).total_cmp(&rate_of(b)))?;
    let found = if highest.load > point.load {
        format!(
            "{} reach {} of the highest throughput measured, which is that of {}",
            clients(point.load),
            whole_percent(rate.value / rate_of(highest)),
            clients(highest.load)
        )
    } else {
        format!("no throughput measured is higher than that of {}", clients(point.load))
    };
    let faster = points[at + 1..].iter().any(|beyond| {
        let low = beyond.rate.and_then(|rate| rate.low);
        low.zip(rate.high).is_some_and(|(low, high)| low > high)
    });
    let check = match (faster, rate.low.is_some()) {
        (_, false) => "one block does not show whether a larger load was faster",
        (true, _) => "a larger load was significantly faster, but by less",
        (false, _) => "no larger load was significantly faster",
    };
    Some(Knee {
        load: point.load,
        rate: rate.value,
        sentence: figures::plain(&format!(
            "The knee is the smallest load with at least {} of the highest throughput measured; beyond it more clients add \
             waiting, not work. {}; {check}.",
            whole_percent(KNEE_SHARE),
            figures::capital(&found)
        )),
    })
}

fn rate_of(point: &Point) -> f64 {
    point.rate.map_or(0.0, |rate| rate.value)
}

/// The least share that any valid trial of a point has served; nothing without one.
pub fn served_of(point: &Point, trials: &[Trial]) -> Option<f64> {
    let valid = point.trials.iter().filter_map(|at| trials.get(*at)).filter(|trial| is_valid(trial));
    valid.map(served_share).min_by(f64::total_cmp)
}

fn knee_of_rates(points: &[Point], trials: &[Trial]) -> Option<Knee> {
    let served = |point: &Point| served_of(point, trials).is_some_and(|share| share >= SERVED_SHARE);
    let first_broken = points.iter().position(|point| !served(point))?;
    let last = points[..first_broken].last()?;
    let broken = &points[first_broken];
    let share = served_of(broken, trials).map_or_else(
        || "has no valid trial".to_owned(),
        |share| format!("served {}", figures::percent(share)),
    );
    Some(Knee {
        load: last.load,
        rate: last.rate?.value,
        sentence: figures::plain(&format!(
            "The knee is the highest rate at which, as at all below it, at least {} of the calls that were due ended in \
             time in every trial; {} {share} in its worst trial.",
            whole_percent(SERVED_SHARE),
            rate_words(broken.load)
        )),
    })
}

/// `1 client`, `16 clients`.
pub fn clients(load: f64) -> String {
    figures::counted(load.round() as u64, "client")
}

fn rate_words(load: f64) -> String {
    format!("{}/s", figures::trimmed(load, 1))
}

/// The words for a load on its axis.
pub fn load_words(axis: Axis, load: f64) -> String {
    match axis {
        Axis::Clients => clients(load),
        Axis::Rate => rate_words(load),
    }
}

fn clients_sentence(
    points: &[Point],
    knee: Option<&Knee>,
    fit: Option<&Scalability>,
    trials: &[Trial],
) -> String {
    let unit = unit_of(points, trials);
    let Some(highest) =
        points.iter().filter(|point| point.rate.is_some()).max_by(|a, b| rate_of(a).total_cmp(&rate_of(b)))
    else {
        return "No trial is valid, so there is no curve.".to_owned();
    };
    let rate = highest.rate.map_or_else(String::new, figures::with_margin);
    let found = match knee {
        Some(knee) if knee.load < highest.load => format!(
            "Knee at {}: {} {unit}; highest throughput {rate} at {}.",
            clients(knee.load),
            figures::value_alone(Interval { value: knee.rate, low: None, high: None }),
            clients(highest.load)
        ),
        Some(knee) => {
            format!("Knee at {}, the highest throughput: {rate} {unit}.", clients(knee.load))
        }
        None => format!(
            "Throughput did not reach a knee up to {}; highest throughput at {}: {rate} {unit}.",
            clients(points.last().map_or(0.0, |point| point.load)),
            clients(highest.load)
        ),
    };
    let law = fit.map(|fit| format!(" {}", fit_sentence(fit, points))).unwrap_or_default();
    figures::plain(&format!("{found} Saturated there: {}.{law}", highest.saturated))
}

/// What the law says, with how well it is known.
fn fit_sentence(fit: &Scalability, points: &[Point]) -> String {
    let percent = |value: f64| figures::trimmed(value * 100.0, 1);
    let sigma = format!(
        "{}\u{a0}% ({}–{}) of the work is done one at a time",
        percent(fit.sigma.value),
        percent(fit.sigma.low.unwrap_or(0.0)),
        percent(fit.sigma.high.unwrap_or(1.0))
    );
    let measured = points.last().map_or(0.0, |point| point.load);
    if fit.error_share > MISFIT_SHARE {
        return format!(
            "The Universal Scalability Law does not describe this system well: the points are {} from it, so no peak is \
             named.",
            figures::percent(fit.error_share)
        );
    }
    let peak = match fit.peak_clients {
        None => "the data does not show that more clients would lower throughput".to_owned(),
        Some(peak) => format!(
            "throughput is largest at about {}{}",
            clients(peak.round().max(1.0)),
            if peak > measured { ", beyond what was measured" } else { "" }
        ),
    };
    format!("By the Universal Scalability Law {sigma}, and {peak}.")
}

fn rates_sentence(points: &[Point], knee: Option<&Knee>, trials: &[Trial]) -> String {
    let Some(last) = points.last() else {
        return "No trial is valid, so there is no curve.".to_owned();
    };
    let sentence = match knee {
        Some(knee) => {
            let beyond = points.iter().find(|point| point.load > knee.load);
            let who = beyond.map_or_else(String::new, |point| {
                format!(
                    " {} cannot be sustained; saturated there: {}.",
                    rate_words(point.load),
                    point.saturated
                )
            });
            format!("Calls are served as they are due up to {}.{who}", rate_words(knee.load))
        }
        None if points
            .iter()
            .all(|point| served_of(point, trials).is_some_and(|share| share >= SERVED_SHARE)) =>
        {
            format!("Every rate was served, up to {}: the limit is higher.", rate_words(last.load))
        }
        None => format!(
            "Not even {} was served: the limit is lower.",
            points.first().map_or_else(String::new, |point| rate_words(point.load))
        ),
    };
    figures::plain(&sentence)
}

/// The unit of throughput.
pub fn unit_of<'a>(points: &[Point], trials: &'a [Trial]) -> &'a str {
    let first = points.iter().flat_map(|point| &point.trials).find_map(|at| trials.get(*at));
    first.map_or("", |trial| trial.headline.unit.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{
        self,
        tests::{on_postgres, sampled},
    };

    #[test]
    fn a_peak_of_a_law_that_does_not_fit_is_not_named() {
        let curve = |edit: fn(usize, &mut f64)| {
            let mut document = sample_documents::sweep();
            for (at, trial) in document.trials.iter_mut().enumerate() {
                // Falling beyond eight clients, the same in every block.
                let clients = 2.0_f64.powi((at % 6) as i32);
                let mut rate = 1_000.0 * clients / (1.0 + 0.01 * clients * (clients - 1.0));
                edit(at % 6, &mut rate);
                trial.headline.value.value = rate;
            }
            let loads: Vec<Loaded> = (0..6)
                .map(|at| Loaded {
                    load: f64::from(1 << at),
                    trials: (0..3).map(|block| Some(block * 6 + at)).collect(),
                })
                .collect();
            draw_up(Axis::Clients, &loads, &document.trials, 1)
        };
        let good = curve(|_, _| ());
        let fit = good.fit.unwrap();
        assert!(fit.peak_clients.is_some_and(|peak| (peak - 10.0).abs() < 0.5), "{fit:?}");
        assert!(good.sentence.contains("largest at about 10 clients"), "{}", good.sentence);

        let bad = curve(|at, rate| *rate *= if at % 2 == 0 { 1.3 } else { 0.7 });
        let fit = bad.fit.unwrap();
        assert!(fit.error_share > MISFIT_SHARE, "{fit:?}");
        assert_eq!((fit.peak_clients, fit.peak_rate), (None, None));
        assert!(bad.sentence.contains("does not describe this system well"), "{}", bad.sentence);
        assert!(!bad.sentence.contains("largest at"), "{}", bad.sentence);
    }

    #[test]
    fn a_void_trial_is_left_out_of_its_point_and_a_point_of_void_trials_has_no_rate() {
        let mut document = sample_documents::sweep();
        let loads: Vec<Loaded> = (0..6)
            .map(|at| Loaded {
                load: f64::from(1 << at),
                trials: (0..3).map(|block| Some(block * 6 + at)).collect(),
            })
            .collect();
        document.trials[0].state = State::Failed;
        for block in 0..3 {
            document.trials[block * 6 + 5].state = State::Failed;
        }
        let curve = draw_up(Axis::Clients, &loads, &document.trials, 1);
        assert!(curve.points[0].rate.is_some());
        assert_eq!(curve.points[5].rate, None);
        assert_eq!(curve.points[5].saturated, "not known");
        assert_eq!(curve.knee, None, "a curve with a hole has no knee");
        let none = draw_up(Axis::Clients, &[], &document.trials, 1);
        assert!(none.sentence.contains("no curve"), "{}", none.sentence);
    }

    #[test]
    fn a_backlog_that_the_drain_works_off_is_no_service() {
        let mut trial = sample_documents::open_trial().trials.remove(0);
        trial.overall.call_counts.dropped = 0;
        trial.overall.call_counts.due = trial.overall.call_counts.started;
        assert!(served_share(&trial) > 0.995, "{}", served_share(&trial));
        // All of them ended, one in ten after the interval.
        let demand = trial.demand.as_mut().unwrap();
        demand.committed_late = trial.overall.call_counts.committed / 10;
        assert!(served_share(&trial) < 0.93, "{}", served_share(&trial));
    }

    #[test]
    fn who_was_full_is_what_the_rule_found() {
        let judged = |mut trial: Trial| {
            trial.rules = rules::judge(&trial);
            who(&trial)
        };
        assert_eq!(judged(sample_documents::trial().trials.remove(0)), "SQLite's one writer");
        let mut limited = sample_documents::engine_trial().trials.remove(0);
        limited.processes[0].cpu_user_s = 0.6 * limited.measured_s;
        assert_eq!(judged(limited.clone()), "a CPU limit");
        limited.measured_s = 0.0;
        assert_eq!(judged(limited), "not judged");
        // A log that the engine's sessions flush is one thing, a device that is busy all the time another.
        let mut flushing = sample_documents::trial().trials.remove(0);
        on_postgres(&mut flushing);
        flushing.engine = Some(sampled(&[("IO:WALSync", 0.8), ("running", 0.2)]));
        assert_eq!(judged(flushing.clone()), "log flushes");
        let budget = flushing.overall.budget.as_mut().unwrap();
        budget.commit_ns = budget.response_ns;
        flushing.disk.as_mut().unwrap().busy_share = 0.97;
        assert_eq!(judged(flushing), "a busy disk");
    }
}
