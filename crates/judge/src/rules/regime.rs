//! Whether the state that the calls met changed under them: sold out, emptied, grown past the cache. The mean over such an
//! interval is that of two different things.

use super::{listed, share, warning, whole_percent};
use crate::{engine_findings, figures};
use result::{Engine, Rule, Slice, Trial};

/// The first and the last part of the interval that are compared with each other: a quarter each.
const PARTS: usize = 4;
/// Slices from which there are such parts.
const SLICES_MIN: usize = 8;
/// Change of the share of declined calls, as a share of all, that is not a chance.
const DECLINED_MIN: f64 = 0.05;
/// Calls of a kind in each of the two parts, below which a share of them is chance.
const CALLS_MIN: u64 = 400;
/// Share of the requests for data that the cache does not have from which the cache is too small.
const MISSES_MIN: f64 = 0.02;
/// How many times as large it must have become, for a cache that was large enough before.
const MISSES_RISE: f64 = 3.0;

/// Speaks only where something changed.
pub(super) fn regime(trial: &Trial) -> Option<Rule> {
    let elsewhere: Vec<String> = cache_missed(trial).into_iter().chain(cache_outgrown(trial)).collect();
    if let Some(rise) = engine_findings::decline_rise(trial) {
        let also = if elsewhere.is_empty() { String::new() } else { format!("; and {}", listed(&elsewhere)) };
        return warning(
            format!("{rise}, latencies and costs all of it{also}"),
            "for the costs of one state, shorten --duration to end before the change, or load data that lasts longer; or start with data that \
             is in the later state",
        );
    }
    let changes: Vec<String> = declined(trial).into_iter().chain(elsewhere).collect();
    if changes.is_empty() {
        return None;
    }
    warning(
        format!("while it was measured, {}: the mean is that of two different states", listed(&changes)),
        "measure a shorter interval from a restored state, or longer after the change",
    )
}

/// Kinds of call that the service began to decline, or ceased to: sold out, emptied, filled up.
fn declined(trial: &Trial) -> Vec<String> {
    let measured: Vec<&Slice> = trial.slices.iter().filter(|slice| !slice.warmup).collect();
    if measured.len() < SLICES_MIN {
        return Vec::new();
    }
    let part = measured.len() / PARTS;
    let (first, last) = (&measured[..part], &measured[measured.len() - part..]);
    let of = |slices: &[&Slice], kind: usize| {
        let kinds = || slices.iter().filter_map(|slice| slice.kinds.get(kind));
        let declined: u64 = kinds().map(|kind| kind.declined).sum();
        let calls = declined + kinds().map(|kind| kind.committed).sum::<u64>();
        (calls >= CALLS_MIN).then(|| share(declined, calls))
    };
    let changed = |(index, kind): (usize, &result::KindTally)| {
        let (before, after) = (of(first, index)?, of(last, index)?);
        ((after - before).abs() >= DECLINED_MIN).then(|| {
            format!(
                "the service came to decline {} of the calls of {} instead of {}",
                whole_percent(after),
                kind.name,
                whole_percent(before)
            )
        })
    };
    trial.kinds.iter().enumerate().filter_map(changed).collect()
}

/// Names of what the engine found in its cache, with those that it did not. PostgreSQL counts hits and reads, InnoDB
/// requests and reads.
const FOUND: [(&str, bool); 2] = [("buffer hits", false), ("buffer requests", true)];

/// The engine began to read what its cache no longer held.
fn cache_missed(trial: &Trial) -> Option<String> {
    let engine = trial.engine.as_ref()?;
    let (found, has_misses) =
        FOUND.iter().find_map(|(name, has_misses)| Some((engine.gauge(name)?, *has_misses)))?;
    let reads = engine.gauge("buffer reads")?;
    let steps: Vec<(f64, f64)> = measured_steps(engine, trial.measured_s)
        .filter_map(|step| {
            let (found, read) = ((*found.values.get(step)?)?, (*reads.values.get(step)?)?);
            Some((read, if has_misses { found } else { found + read }))
        })
        .collect();
    if steps.len() < SLICES_MIN {
        return None;
    }
    let part = steps.len() / PARTS;
    let missed = |steps: &[(f64, f64)]| {
        let (read, all) = steps.iter().fold((0.0, 0.0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
        if all > 0.0 { read / all } else { 0.0 }
    };
    let (before, after) = (missed(&steps[..part]), missed(&steps[steps.len() - part..]));
    (after >= MISSES_MIN && after >= MISSES_RISE * before).then(|| {
        format!(
            "the data outgrew the engine's cache: in the end {} of what it asked for was not there, {} at first",
            figures::percent(after),
            figures::percent(before)
        )
    })
}

fn measured_steps(engine: &Engine, measured_s: f64) -> impl Iterator<Item = usize> {
    let within = move |(step, t_s): (usize, &f64)| (*t_s > 0.0 && *t_s <= measured_s).then_some(step);
    engine.t_s.iter().enumerate().filter_map(within)
}

/// An embedded database that was smaller than its cache at the start and is not at the end. For an engine of its own the
/// files are not a measure: logs and other databases are among them.
fn cache_outgrown(trial: &Trial) -> Option<String> {
    if trial.stack.engine != "sqlite" {
        return None;
    }
    let (before, after) = (trial.data.bytes?, trial.data.bytes_end?);
    let cache =
        trial.stack.settings.iter().find(|setting| setting.name == "cache_bytes")?.value.parse().ok()?;
    (before <= cache && cache < after).then(|| {
        format!(
            "the data grew from {} to {}, past the cache of {}",
            figures::bytes(before),
            figures::bytes(after),
            figures::bytes(cache)
        )
    })
}
