//! What a search for the highest rate found, in words: the rate, and what is likely the limit above it.

use crate::curve::served_share;
use result::{BudgetPart, Document, Search, Suspect, Trial};

/// Of a part's growth, as a share of all growth, from which it is named.
const GREW_MOST: f64 = 0.3;

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchEnd {
    /// This rate met the SLO in every confirming trial.
    Highest(f64),
    /// No rate that was tried met the SLO.
    None,
    /// A percentile of the objective is not known: too few calls, and how to get more.
    NotKnown(String),
    /// A trial was invalid, for this reason; nothing is said of rates.
    Invalid(String),
}

/// Puts the rates so far into the document, so that a search that is killed can be read.
pub fn so_far(document: &mut Document) {
    let Some(search) = &mut document.search else { return };
    let rate =
        |met: bool| search.steps.iter().filter(move |step| step.met == met).map(|step| step.rate_per_s);
    let (met, missed) = (rate(true).fold(0.0, f64::max), rate(false).fold(f64::INFINITY, f64::min));
    search.lowest_missed_per_s = missed.is_finite().then_some(missed);
    search.sentence = format!(
        "Search not finished: {} met the SLO, {} missed it, none is confirmed.",
        if met > 0.0 { per_s(met) } else { "nothing".into() },
        search.lowest_missed_per_s.map_or_else(|| "nothing".into(), per_s)
    );
}

/// Writes down how the search ended.
pub fn conclude(document: &mut Document, found: &SearchEnd, confirm: u32) {
    let Some(mut search) = document.search.take() else { return };
    match found {
        SearchEnd::Highest(rate) => {
            search.highest_per_s = Some(*rate);
            let beyond = search.lowest_missed_per_s.map_or_else(
                || " No higher rate missed the SLO: the limit is above the rates tried.".into(),
                |missed| format!(" {} missed it.", per_s(missed)),
            );
            search.sentence = format!(
                "{} met the SLO in {confirm} of {confirm} confirmation trials.{beyond}",
                per_s(*rate)
            );
            search.next_limit = next_limit(&search, *rate, &document.trials);
        }
        SearchEnd::None => {
            search.sentence = match search.lowest_missed_per_s {
                Some(missed) => format!("No rate met the SLO, down to {}.", per_s(missed)),
                None => "No rate met the SLO.".into(),
            };
        }
        SearchEnd::NotKnown(why) => search.sentence = format!("The search is inconclusive: {why}."),
        SearchEnd::Invalid(why) => search.sentence = format!("A trial is invalid ({why}); no rate is given."),
    }
    document.search = Some(search);
}

fn per_s(rate: f64) -> String {
    let decimals = if rate < 10.0 { 1 } else { 0 };
    format!("{rate:.decimals$} calls per second")
}

/// What was full at the lowest rate that missed the SLO, and what took longer there than at the highest that met it.
fn next_limit(search: &Search, highest: f64, trials: &[Trial]) -> Option<String> {
    let trial = |at: usize| trials.get(at);
    let met = search.steps.iter().filter(|step| step.met && step.rate_per_s <= highest);
    let met = trial(met.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?.trial)?;
    let missed = search.steps.iter().filter(|step| !step.met);
    let missed = trial(missed.min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?.trial)?;
    let (before, after) = (met.overall.budget?, missed.overall.budget?);
    let grown = |part: BudgetPart| after.part_ns(part) - before.part_ns(part);
    let all: f64 = BudgetPart::ALL.into_iter().map(|part| grown(part).max(0.0)).sum();
    // Waiting for a client comes of everything else that takes longer: it is named where nothing else is.
    let most = BudgetPart::ALL
        .into_iter()
        .filter(|part| *part != BudgetPart::ClientWait)
        .max_by(|a, b| grown(*a).total_cmp(&grown(*b)))
        .filter(|part| {
            grown(*part) > GREW_MOST * (all - grown(BudgetPart::ClientWait).max(0.0)) && grown(*part) > 0.0
        })
        .or_else(|| (grown(BudgetPart::ClientWait) > 0.0).then_some(BudgetPart::ClientWait));
    let grew = most.map_or_else(
        || "on average no part of a call took longer; only the slowest calls did".to_owned(),
        |part| {
            let ns = |value: f64| time(value.max(0.0) as u64);
            format!(
                "of the mean response time, {} grew most, from {} to {}",
                part.words(),
                ns(before.part_ns(part)),
                ns(after.part_ns(part))
            )
        },
    );
    let full = missed.rules.iter().find_map(|rule| rule.saturated);
    let first = match full {
        None | Some(Suspect::OfferedLoad | Suspect::Unknown) => {
            format!("Above this rate no observed resource is saturated: {grew}")
        }
        Some(Suspect::Clients) => {
            format!(
                "Above this rate there are too few clients, so the system may do more (raise --in-flight): {grew}"
            )
        }
        Some(Suspect::OtherPrograms) => {
            return Some(
                "Above this rate other processes used the CPU, so the limit is unknown: keep the machine free, or run the load generator on another machine."
                    .into(),
            );
        }
        Some(Suspect::GeneratorCpu) => {
            format!("Above this rate the load generator is the limit, so the system may do more: {grew}")
        }
        Some(Suspect::ServerCpu | Suspect::EngineCpu | Suspect::AllCores) => {
            format!("Likely limit above this rate: all cores ({grew})")
        }
        Some(Suspect::Lock) => format!("Likely limit above this rate: row locks ({grew})"),
        Some(Suspect::CommitFlush) => format!("Likely limit above this rate: the disk ({grew})"),
        Some(Suspect::Pool) => format!("Likely limit above this rate: the number of sessions ({grew})"),
        Some(full) => format!("Likely limit above this rate: {} ({grew})", full.who()),
    };
    let served = served_share(missed);
    let behind = if served < 0.99 {
        format!("; {:.1} % of the calls due were served", served.max(0.0) * 100.0)
    } else {
        String::new()
    };
    Some(format!("{first}{behind}."))
}

/// `43 ms`, `1.2 s`.
pub fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => (ns as f64, "ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let decimals = usize::from(value < 9.95 && value.fract() != 0.0);
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said where that was full at the lowest rate that missed the SLO.
    fn limit_words(full: Option<Suspect>) -> String {
        let mut document = sample_documents::search();
        for trial in &mut document.trials {
            for rule in trial.rules.iter_mut().filter(|rule| rule.name == "saturation") {
                rule.saturated = full;
            }
        }
        let search = document.search.unwrap();
        next_limit(&search, search.highest_per_s.unwrap(), &document.trials).unwrap()
    }

    #[test]
    fn processors_that_others_filled_say_nothing_of_the_system() {
        let strangers = limit_words(Some(Suspect::OtherPrograms));
        assert!(strangers.contains("the limit is unknown") && !strangers.contains("likely"), "{strangers}");
    }

    #[test]
    fn what_was_full_likely_gives_out() {
        let writer = limit_words(Some(Suspect::Writer));
        assert!(writer.starts_with("Likely limit above this rate: SQLite's one writer ("), "{writer}");
        let beyond = |full| limit_words(Some(full)).split(" (").next().unwrap().to_owned();
        assert_eq!(beyond(Suspect::AllCores), "Likely limit above this rate: all cores");
        assert_eq!(beyond(Suspect::Lock), "Likely limit above this rate: row locks");
        assert_eq!(beyond(Suspect::CommitFlush), "Likely limit above this rate: the disk");
        assert_eq!(beyond(Suspect::Pool), "Likely limit above this rate: the number of sessions");
        assert_eq!(beyond(Suspect::Limit), "Likely limit above this rate: a CPU limit");
        let nothing = limit_words(None);
        assert!(nothing.starts_with("Above this rate no observed resource is saturated: "), "{nothing}");
    }
}
