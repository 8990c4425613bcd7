//! Whether percentiles have enough samples behind them, and whether they can be.

use super::load::SHORTEST_S;
use super::{bad, fine, listed, note, warning};
use crate::{figures, findings};
use result::{Class, Quantiles, Rule, Trial};

/// Calls from which the 99th and the 99.9th percentile are shown: ten beyond it.
const P99_MIN: u64 = 1_000;
const P999_MIN: u64 = 10_000;
/// What a histogram may round, as a share: neighbouring figures from it and exact ones may cross by this much.
const ROUNDING: f64 = 0.01;

/// Which percentiles are hidden and why.
pub(super) fn min_samples(trial: &Trial) -> Option<Rule> {
    let counts: Vec<(&str, u64)> =
        findings::timed(trial).map(|(name, latency)| (name, latency.response.count)).collect();
    if trial.measured_s < SHORTEST_S {
        return warning(
            format!("the trial ended with {} of its window measured", figures::seconds(trial.measured_s)),
            "see why it ended, and run it again",
        );
    }
    if counts.is_empty() {
        return warning(
            "no call was committed, so there is no time to show",
            "see the call accounting for the outcomes",
        );
    }
    let below = |bound: u64| -> Vec<String> {
        let few = counts.iter().filter(|(_, count)| *count < bound);
        few.map(|(name, count)| format!("{name} ({})", figures::count(*count))).collect()
    };
    let headline = trial.kinds.get(trial.headline_kind()).map_or("", |kind| kind.name.as_str());
    let headline_count = counts.iter().find(|(name, _)| *name == headline).map_or(0, |(_, count)| *count);
    if headline_count < P99_MIN {
        return warning(
            format!(
                "only {} calls of {headline} were committed: its p99 is not shown, because fewer than ten calls are \
                 beyond it",
                figures::count(headline_count)
            ),
            "measure for longer",
        );
    }
    let (p99, p999) = (below(P99_MIN), below(P999_MIN));
    if !p99.is_empty() {
        return note(format!("p99 is not shown for {}: fewer than ten calls are beyond it", listed(&p99)));
    }
    if !p999.is_empty() {
        return note(format!("p99.9 is not shown for {}: fewer than ten calls are beyond it", listed(&p999)));
    }
    fine("every percentile has at least ten calls beyond it")
}

/// Percentiles that cannot be.
pub(super) fn monotone(trial: &Trial) -> Option<Rule> {
    let tallies = std::iter::once(("all kinds", &trial.overall))
        .chain(trial.kinds.iter().map(|kind| (kind.name.as_str(), &kind.tally)));
    let mut impossible = Vec::new();
    for (name, tally) in tallies {
        for latency in &tally.latency {
            let whose = |what: &str| match latency.class {
                Class::Committed => format!("{what} of {name}"),
                class => format!("{what} of {name}, {}", class.word()),
            };
            let falls = |quantiles: &Quantiles| !rises(quantiles);
            if falls(&latency.response) || latency.service.as_ref().is_some_and(falls) {
                impossible.push(whose("percentiles fall or the mean exceeds the maximum"));
            }
            if latency.service.is_some_and(|service| !within(&service, &latency.response)) {
                impossible.push(whose("service exceeds response time"));
            }
        }
    }
    if impossible.is_empty() {
        return fine("percentiles rise, and no service time exceeds its response time");
    }
    impossible.truncate(3);
    bad(
        format!("impossible latencies ({}): result invalid", listed(&impossible)),
        "report this as a bug of Stackmark, with the result file",
    )
}

fn percentiles(quantiles: &Quantiles) -> [Option<f64>; 6] {
    let Quantiles { p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, max_ns, .. } = *quantiles;
    [p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, Some(max_ns)].map(|ns| ns.map(|ns| ns as f64))
}

/// `low` is at most `high`, for figures of which either may have been rounded.
fn at_most(low: f64, high: f64) -> bool {
    low <= high * (1.0 + ROUNDING) + 1.0
}

fn rises(quantiles: &Quantiles) -> bool {
    let shown: Vec<f64> = percentiles(quantiles).into_iter().flatten().collect();
    shown.windows(2).all(|pair| at_most(pair[0], pair[1]))
        && at_most(quantiles.mean_ns, quantiles.max_ns as f64)
}

/// Each call's service is a part of its response, so the same holds for every percentile and for the mean.
fn within(service: &Quantiles, response: &Quantiles) -> bool {
    percentiles(service)
        .into_iter()
        .zip(percentiles(response))
        .all(|pair| !matches!(pair, (Some(service), Some(response)) if !at_most(service, response)))
        && at_most(service.mean_ns, response.mean_ns)
}
