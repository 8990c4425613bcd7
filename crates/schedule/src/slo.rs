//! The service level: how it is written, and whether a trial keeps it.

use crate::metric::{QUANTILES, place};
use anyhow::{Context, Result, bail};
use judge::curve::{SERVED_SHARE, served_share};
use judge::search::time;
use result::{CallCounts, Level, SloLimit, Tally, Trial};
use strsim::jaro_winkler;

/// What would be right.
const GRAMMAR: &str = "write 'p99<50ms', 'new-order.p99<50ms', or several joined by commas";

/// Limits that a rate has to keep, all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// As it was given.
    pub words: String,
    pub limits: Vec<SloLimit>,
}

/// Whether a trial meets the SLO, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SloResult {
    Met(String),
    Missed(String),
    /// Too few calls for a percentile.
    Unknown(String),
    /// The trial has no number that counts.
    Invalid(String),
}

impl Objective {
    /// Reads limits; `kinds` are those of the workload.
    ///
    /// # Errors
    /// What is wrong with which, and what would be right.
    pub fn parse(given: &[String], kinds: &[&str]) -> Result<Objective> {
        let parts = || given.iter().flat_map(|one| one.split(',')).map(str::trim);
        let limits: Vec<SloLimit> = parts().map(|part| limit(part, kinds)).collect::<Result<_>>()?;
        Ok(Objective { words: parts().collect::<Vec<_>>().join(","), limits })
    }

    /// Why trials of this length are too short for a percentile of the objective at a rate, and how long would do. `trial`
    /// shows what share of the calls is of which kind.
    pub(crate) fn too_short(&self, trial: &Trial, per_s: f64, measured: model::Nanos) -> Option<String> {
        let all = ended(&trial.overall.call_counts) as f64;
        let needs = self.limits.iter().filter_map(|limit| {
            let share = tally(trial, limit)?.call_counts.committed as f64 / all.max(1.0);
            let (needed, have) = (samples(limit), per_s * share * measured.as_secs_f64());
            // A tenth more, since a Poisson stream may give fewer than its mean.
            ((have) < needed * 1.1).then(|| (limit, needed, have, needed * 1.2 / (per_s * share)))
        });
        let (limit, needed, have, seconds) = needs.max_by(|a, b| a.3.total_cmp(&b.3))?;
        Some(format!(
            "{} takes {needed:.0} calls to know, and {} at about {per_s:.0} calls/s give {have:.0}\nhint: use --duration \
             {:.0}s or longer",
            name(limit),
            result::text::seconds(measured.as_secs_f64()),
            seconds.ceil()
        ))
    }

    /// Whether a trial that counts keeps every limit, and serves what is due.
    pub(crate) fn judge(&self, trial: &Trial) -> SloResult {
        let served = served_share(trial);
        let mut sentence = Vec::new();
        let mut missed = served < SERVED_SHARE;
        let mut unknown = None;
        for limit in &self.limits {
            let of = tally(trial, limit);
            match of.map_or(Level::TooFew, |tally| tally.level(place_of(limit))) {
                Level::Known(ns) => {
                    missed |= ns > limit.max_ns;
                    sentence.push(format!("{} {} of {}", name(limit), time(ns), time(limit.max_ns)));
                }
                Level::Unbounded => {
                    missed = true;
                    let all = of.and_then(|tally| tally.all_due);
                    let (lost, all) = all.map_or((0, 0), |all| (all.unanswered, all.calls));
                    sentence.push(format!(
                        "{} beyond any limit: {lost} of the {all} calls due were not answered",
                        name(limit)
                    ));
                }
                Level::TooFew => {
                    let calls = of.map_or(0, |tally| tally.call_counts.committed);
                    unknown.get_or_insert(format!(
                        "{} is not known: {calls} calls of the {:.0} that it takes; use a longer --duration",
                        name(limit),
                        samples(limit)
                    ));
                }
            }
        }
        if served < SERVED_SHARE {
            let never = trial.overall.call_counts.dropped;
            let started = if never > 0 { format!(", {never} dropped") } else { String::new() };
            sentence.push(format!(
                "{:.1} % of the calls due were served in time{started}",
                served.max(0.0) * 100.0
            ));
        }
        let sentence = sentence.join("; ");
        match (missed, unknown) {
            (true, _) => SloResult::Missed(sentence),
            (false, Some(unknown)) => SloResult::Unknown(unknown),
            (false, None) => SloResult::Met(sentence),
        }
    }
}

fn limit(text: &str, kinds: &[&str]) -> Result<SloLimit> {
    let Some((what, most)) = text.split_once('<') else {
        bail!("--slo `{text}` has no `<`: {GRAMMAR}");
    };
    let (what, most) = (what.trim(), most.trim_start_matches('=').trim());
    // `p99.9` has a point of its own.
    let at = what.rfind(".p").map(|at| (&what[..at], &what[at + 1..]));
    let (kind, quantile) = at.map_or((None, what), |(kind, quantile)| (Some(kind), quantile));
    let Some((quantile, _)) = QUANTILES.iter().find(|(known, _)| *known == quantile) else {
        let known: Vec<&str> = QUANTILES.iter().map(|(name, _)| *name).collect();
        bail!("--slo `{text}`: there is no `{quantile}`, but {}; {GRAMMAR}", known.join(", "));
    };
    let kind = kind.map(|kind| self::kind(text, kind, kinds)).transpose()?;
    let most = humantime::parse_duration(most).with_context(|| {
        format!("--slo `{text}`: `{most}` is not a span of time such as 50ms or 2s; {GRAMMAR}")
    })?;
    let max_ns = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    if max_ns == 0 {
        bail!("--slo `{text}`: the limit must be above 0; {GRAMMAR}");
    }
    Ok(SloLimit { kind, quantile: (*quantile).to_owned(), max_ns })
}

/// A kind of call of the workload, as it stands in a limit.
pub(crate) fn kind(text: &str, kind: &str, kinds: &[&str]) -> Result<String> {
    if kinds.contains(&kind) {
        return Ok(kind.to_owned());
    }
    let nearest = kinds.iter().max_by(|a, b| jaro_winkler(a, kind).total_cmp(&jaro_winkler(b, kind)));
    bail!(
        "--slo `{text}`: there is no kind of call `{kind}`; nearest: `{}`, of {}",
        nearest.unwrap_or(&""),
        kinds.join(", ")
    )
}

pub(crate) fn name(limit: &SloLimit) -> String {
    limit.kind.as_ref().map_or_else(|| limit.quantile.clone(), |kind| format!("{kind} {}", limit.quantile))
}

/// Calls that the percentile takes: ten beyond it.
fn samples(limit: &SloLimit) -> f64 {
    10_000.0 / (1_000 - place_of(limit)) as f64
}

/// Where the percentile lies, in thousandths.
pub(crate) fn place_of(limit: &SloLimit) -> u64 {
    place(&limit.quantile)
}

fn tally<'a>(trial: &'a Trial, limit: &SloLimit) -> Option<&'a Tally> {
    match &limit.kind {
        None => Some(&trial.overall),
        Some(kind) => trial.kinds.iter().find(|of| of.name == *kind).map(|of| &of.tally),
    }
}

fn ended(call_counts: &CallCounts) -> u64 {
    call_counts.committed + call_counts.declined
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::AllDue;

    const KINDS: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

    fn parse(text: &str) -> Result<Objective, String> {
        Objective::parse(&[text.to_owned()], &KINDS).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn limits_are_read_joined_or_one_by_one() {
        let found = parse("new-order.p99<50ms, p99.9<=2s").unwrap();
        assert_eq!(found.words, "new-order.p99<50ms,p99.9<=2s");
        assert_eq!(found.limits[0].kind.as_deref(), Some("new-order"));
        assert_eq!((found.limits[0].quantile.as_str(), found.limits[0].max_ns), ("p99", 50_000_000));
        assert_eq!((found.limits[1].kind.as_deref(), found.limits[1].max_ns), (None, 2_000_000_000));
        assert_eq!(parse("payment.p99.9<1s").unwrap().limits[0].quantile, "p99.9");
    }

    #[test]
    fn what_is_wrong_with_a_limit_is_said_with_what_would_be_right() {
        let wrong = |text: &str, words: &str| {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        };
        wrong("p99", "'new-order.p99<50ms'");
        wrong("p97<1s", "p95, p99");
        wrong("p99<fast", "50ms");
        wrong("p99<0ms", "the limit must be above 0");
        wrong("neworder.p99<50ms", "nearest: `new-order`");
        wrong("stock.p99<50ms", "nearest: `stock-level`");
        wrong("p99<50ms,", "no `<`");
    }

    fn open(edit: impl FnOnce(&mut Trial)) -> Trial {
        let mut trial = sample_documents::open_trial().trials.remove(0);
        trial.overall.call_counts.due = trial.overall.call_counts.started;
        trial.overall.call_counts.dropped = 0;
        edit(&mut trial);
        trial
    }

    #[test]
    fn a_level_is_kept_broken_or_not_known() {
        let p99 = |trial: &Trial| match trial.kinds[0].tally.level(990) {
            Level::Known(ns) => ns,
            other => panic!("{other:?}"),
        };
        let trial = open(|_| ());
        let keeps =
            |max_ns: u64, trial: &Trial| parse(&format!("new-order.p99<{max_ns}ns")).unwrap().judge(trial);
        assert!(matches!(keeps(p99(&trial), &trial), SloResult::Met(why) if why.contains("new-order p99")));
        assert!(matches!(keeps(p99(&trial) - 1, &trial), SloResult::Missed(_)));
        let few = open(|trial| {
            trial.kinds[0].tally.all_due = Some(AllDue::new(999, 0, |_| Some(1)));
        });
        assert!(
            matches!(keeps(1_000_000_000, &few), SloResult::Unknown(why) if why.contains("of the 1000 that it takes"))
        );
    }

    #[test]
    fn calls_that_were_never_answered_are_slower_than_any_limit() {
        // 60,000 calls of which 0.9 % are lost: of those that were answered, 999 in 1,000 took less than 10 ms.
        let trial = open(|trial| {
            let answered = |quantile: f64| (quantile <= 0.991).then_some(9_000_000);
            trial.overall.all_due = Some(AllDue::new(60_000, 540, answered));
            trial.overall.latency[0].response.p999_ns = Some(9_500_000);
        });
        assert!(matches!(parse("p99<50ms").unwrap().judge(&trial), SloResult::Met(_)));
        let SloResult::Missed(why) = parse("p99.9<50ms").unwrap().judge(&trial) else { panic!("met") };
        assert!(why.contains("540 of the 60000 calls due were not answered"), "{why}");
    }

    #[test]
    fn a_rate_that_is_not_served_breaks_every_level() {
        let behind = open(|trial| {
            trial.overall.call_counts.dropped = trial.overall.call_counts.started / 10;
            trial.overall.call_counts.due += trial.overall.call_counts.dropped;
        });
        let SloResult::Missed(why) = parse("p50<1h").unwrap().judge(&behind) else { panic!("met") };
        assert!(why.contains("90.9 % of the calls due") && why.contains("dropped"), "{why}");
    }

    #[test]
    fn a_trial_too_short_for_its_percentile_is_refused_with_the_length_that_would_do() {
        let (objective, trial) = (parse("stock-level.p99<50ms").unwrap(), open(|_| ()));
        let sentence = objective.too_short(&trial, 100.0, model::Nanos::from_secs(10)).unwrap();
        // One call in 23.
        assert!(sentence.contains("1000 calls") && sentence.contains("--duration 2"), "{sentence}");
        assert_eq!(objective.too_short(&trial, 100.0, model::Nanos::from_secs(600)), None);
    }
}
