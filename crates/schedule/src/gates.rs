//! Limits that one run has to keep: of response times, rates and errors.

use crate::slo::{self, Objective, SloResult};
use anyhow::{Context, Result, bail};
use judge::figures;
use result::{CallCounts, Check, SloCheck, Tally, Trial};

/// What would be right.
const GRAMMAR: &str = "write 'new-order.p99<50ms', 'rate>1000' (committed calls per second) or 'errors<0.1%'";

/// A limit, as `run --slo` takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// As it was given.
    words: String,
    of: Of,
}

#[derive(Debug, Clone, PartialEq)]
enum Of {
    /// A percentile of the response times.
    Latency(Objective),
    /// Committed calls per second: at least these.
    Rate { kind: Option<String>, least: f64 },
    /// The share of calls that were due and neither committed nor declined: at most this.
    Errors { kind: Option<String>, most: f64 },
}

impl Gate {
    /// Reads limits, several joined by commas or one by one; `kinds` are those of the workload.
    ///
    /// # Errors
    /// What is wrong with which, and what would be right.
    pub fn parse_all(given: &[String], kinds: &[&str]) -> Result<Vec<Gate>> {
        let parts = given.iter().flat_map(|one| one.split(',')).map(str::trim);
        parts.map(|part| Gate::parse(part, kinds)).collect()
    }

    fn parse(text: &str, kinds: &[&str]) -> Result<Gate> {
        let split = text.split_once(['<', '>']);
        let Some((what, number)) = split else {
            bail!("--slo `{text}` has no `<` and no `>`: {GRAMMAR}");
        };
        let is_above = text.as_bytes()[what.len()] == b'>';
        let (what, number) = (what.trim(), number.trim_start_matches('=').trim());
        let (kind, measure) = match what.rsplit_once('.') {
            Some((kind, measure @ ("rate" | "errors"))) => (Some(slo::kind(text, kind, kinds)?), measure),
            _ => (None, what),
        };
        let of = match (measure, is_above) {
            ("rate", true) => {
                let least = number.parse::<f64>().ok().filter(|least| least.is_finite() && *least > 0.0);
                let least = least.with_context(|| {
                    format!("--slo `{text}`: `{number}` is not a number of calls per second; {GRAMMAR}")
                })?;
                Of::Rate { kind, least }
            }
            ("errors", false) => Of::Errors { kind, most: share(text, number)? },
            ("rate", false) => bail!("--slo `{text}`: a rate has a lower limit; {GRAMMAR}"),
            (_, true) => bail!("--slo `{text}`: only a rate has a lower limit; {GRAMMAR}"),
            (_, false) => Of::Latency(Objective::parse(&[text.to_owned()], kinds)?),
        };
        Ok(Gate { words: text.to_owned(), of })
    }

    /// Whether a trial meets it. A result that is invalid meets and misses nothing.
    pub fn judge(&self, trial: &Trial) -> SloCheck {
        let (check, sentence) = match &self.of {
            _ if trial.is_invalid() => (Check::NotRun, "the result is invalid".to_owned()),
            Of::Latency(objective) => match objective.judge(trial) {
                SloResult::Met(sentence) => (Check::Passed, sentence),
                SloResult::Missed(sentence) => (Check::Failed, sentence),
                SloResult::Unknown(why) | SloResult::Invalid(why) => (Check::Inconclusive, why),
            },
            Of::Rate { kind, least } => {
                let rate = tally(trial, kind.as_deref()).map_or(0.0, |tally| tally.rate_per_s.value);
                let sentence = format!("{} committed calls/s", figures::trimmed(rate, 1));
                (Check::from_passed(rate >= *least), sentence)
            }
            Of::Errors { kind, most } => {
                let counts = tally(trial, kind.as_deref()).map(|tally| &tally.call_counts);
                match counts.filter(|counts| counts.due > 0) {
                    None => (Check::Inconclusive, "no call was due".to_owned()),
                    Some(counts) => {
                        let (errors, due) = (errors(counts), counts.due);
                        let share = errors as f64 / due as f64;
                        // So few calls that one error would be too many say nothing of the share.
                        let known = *most == 0.0 || due as f64 * most >= 1.0;
                        let share_words = format!("{}\u{a0}%", figures::trimmed(share * 100.0, 3));
                        let (errors_words, due) = (figures::counted(errors, "error"), figures::count(due));
                        let sentence = format!("{errors_words} in {due} calls due ({share_words})");
                        match share <= *most {
                            true if !known => (
                                Check::Inconclusive,
                                format!(
                                    "{sentence}; at least {} calls are needed",
                                    figures::count((1.0 / most).ceil() as u64)
                                ),
                            ),
                            met => (Check::from_passed(met), sentence),
                        }
                    }
                }
            }
        };
        SloCheck { slo: self.words.clone(), check, sentence }
    }
}

/// Calls that were due and did not do what was asked or were not asked for at all.
fn errors(counts: &CallCounts) -> u64 {
    counts.faults() + counts.dropped
}

fn tally<'a>(trial: &'a Trial, kind: Option<&str>) -> Option<&'a Tally> {
    match kind {
        None => Some(&trial.overall),
        Some(kind) => trial.kinds.iter().find(|of| of.name == kind).map(|of| &of.tally),
    }
}

/// A share such as `0.1%`, as a number from 0 to 1.
fn share(text: &str, number: &str) -> Result<f64> {
    let percent = number.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => bail!("--slo `{text}`: `{number}` is not a share such as 0.1%; {GRAMMAR}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [&str; 2] = ["new-order", "payment"];

    fn parse(text: &str) -> Result<Vec<Gate>, String> {
        Gate::parse_all(&[text.to_owned()], &KINDS).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn limits_are_of_times_rates_and_errors() {
        let limits = parse("new-order.p99<50ms, rate>=1000, payment.errors<0.1%").unwrap();
        assert!(matches!(limits[0].of, Of::Latency(_)));
        assert_eq!(limits[1].of, Of::Rate { kind: None, least: 1_000.0 });
        assert_eq!(limits[2].of, Of::Errors { kind: Some("payment".into()), most: 0.001 });
        assert_eq!(limits[1].words, "rate>=1000");
    }

    #[test]
    fn what_is_wrong_with_a_limit_is_said_with_what_would_be_right() {
        for (text, words) in [
            ("p99", "no `<` and no `>`"),
            ("rate<1000", "a rate has a lower limit"),
            ("p99>50ms", "only a rate has a lower limit"),
            ("rate>many", "not a number of calls per second"),
            ("rate>0", "not a number of calls per second"),
            ("errors<5", "not a share such as 0.1%"),
            ("errors<101%", "not a share such as 0.1%"),
            ("neworder.rate>5", "nearest: `new-order`"),
            ("p97<1s", "p95, p99"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_trial_keeps_a_limit_or_does_not() {
        let mut trial = sample_documents::open_trial().trials.remove(0);
        trial.overall.rate_per_s.value = 1_000.0;
        let counts = &mut trial.overall.call_counts;
        (counts.due, counts.conflict, counts.refused, counts.in_doubt) = (10_000, 1, 2, 4);
        (counts.defect, counts.dropped) = (0, 4);
        let judged = |text: &str| parse(text).unwrap()[0].judge(&trial);
        assert_eq!(judged("rate>999").check, Check::Passed);
        assert_eq!(judged("rate>=1000").check, Check::Passed);
        assert_eq!(judged("rate>1001").check, Check::Failed);
        assert_eq!(judged("errors<0.2%").check, Check::Passed);
        let missed = judged("errors<0.1%");
        assert_eq!(missed.check, Check::Failed);
        assert!(missed.sentence.starts_with("11 errors in 10,000 calls due"), "{}", missed.sentence);
        assert_eq!(missed.slo, "errors<0.1%");
        trial.overall.call_counts = CallCounts {
            due: 10,
            conflict: 0,
            refused: 0,
            in_doubt: 0,
            dropped: 0,
            ..trial.overall.call_counts
        };
        assert_eq!(parse("errors<1%").unwrap()[0].judge(&trial).check, Check::Inconclusive);
        assert_eq!(parse("errors<10%").unwrap()[0].judge(&trial).check, Check::Passed);
        assert_eq!(parse("errors<=0%").unwrap()[0].judge(&trial).check, Check::Passed);
        trial.overall.call_counts = CallCounts { due: 0, ..trial.overall.call_counts };
        assert_eq!(parse("errors<1%").unwrap()[0].judge(&trial).check, Check::Inconclusive);
    }
}
