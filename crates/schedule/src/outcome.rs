//! What a search says in words: the rate, and what gives out beyond it.

use judge::curve::served_share;
use result::{BudgetPart, Document, Search, Suspect, Trial};

/// Of a part's growth, as a share of all growth, from which it is named.
const GREW_MOST: f64 = 0.3;

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// This rate was kept in every confirming trial.
    Highest(f64),
    /// No rate that was tried was kept.
    None,
    /// A percentile of the objective is not known: too few calls, and how to get more.
    NotKnown(String),
    /// A trial was void, for this reason; nothing is said of rates.
    Void(String),
}

/// Puts the rates so far into the document, so that a search that is killed can be read.
pub(crate) fn so_far(document: &mut Document) {
    let Some(search) = &mut document.search else { return };
    let rate =
        |kept: bool| search.steps.iter().filter(move |step| step.kept == kept).map(|step| step.rate_per_s);
    let (kept, broken) = (rate(true).fold(0.0, f64::max), rate(false).fold(f64::INFINITY, f64::min));
    search.broken_per_s = broken.is_finite().then_some(broken);
    search.sentence = format!(
        "The search has not come to an end: {} was kept, {} was broken, nothing is confirmed.",
        if kept > 0.0 { per_s(kept) } else { "nothing".into() },
        search.broken_per_s.map_or_else(|| "nothing".into(), per_s)
    );
}

/// Writes down how the search ended.
pub(crate) fn conclude(document: &mut Document, found: &Found, confirm: u32) {
    let Some(mut search) = document.search.take() else { return };
    match found {
        Found::Highest(rate) => {
            search.highest_per_s = Some(*rate);
            let beyond = search.broken_per_s.map_or_else(
                || " Nothing higher was broken: the limit lies beyond what was tried.".into(),
                |broken| format!(" {} broke it.", per_s(broken)),
            );
            search.sentence =
                format!("{} kept it in {confirm} of {confirm} confirming trials.{beyond}", per_s(*rate));
            search.gives_out = gives_out(&search, *rate, &document.trials);
        }
        Found::None => {
            search.sentence = match search.broken_per_s {
                Some(broken) => format!("No rate kept it, down to {}.", per_s(broken)),
                None => "No rate kept it.".into(),
            };
        }
        Found::NotKnown(why) => search.sentence = format!("The search cannot tell: {why}."),
        Found::Void(why) => search.sentence = format!("A trial is void, so no rate is given: {why}."),
    }
    document.search = Some(search);
}

fn per_s(rate: f64) -> String {
    let decimals = if rate < 10.0 { 1 } else { 0 };
    format!("{rate:.decimals$} calls a second")
}

/// What was full at the lowest rate that broke the level, and what took longer there than at the highest that kept it.
fn gives_out(search: &Search, highest: f64, trials: &[Trial]) -> Option<String> {
    let trial = |at: usize| trials.get(at);
    let kept = search.steps.iter().filter(|step| step.kept && step.rate_per_s <= highest);
    let kept = trial(kept.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?.trial)?;
    let broken = search.steps.iter().filter(|step| !step.kept);
    let broken = trial(broken.min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?.trial)?;
    let (before, after) = (kept.overall.budget?, broken.overall.budget?);
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
        || "no part of a call took longer on average; what broke it lies in its slowest calls".to_owned(),
        |part| {
            let ns = |value: f64| super::slo::time(value.max(0.0) as u64);
            format!(
                "of a call's mean time {} grew most, from {} to {}",
                part.words(),
                ns(before.part_ns(part)),
                ns(after.part_ns(part))
            )
        },
    );
    let full = broken.rules.iter().find_map(|rule| rule.full);
    let first = match full {
        None | Some(Suspect::Pace | Suspect::Unknown) => {
            format!("Beyond it nothing that was observed is full: {grew}")
        }
        Some(Suspect::Clients) => {
            format!(
                "Beyond it the clients are too few, so the system may well do more (raise --in-flight): {grew}"
            )
        }
        Some(Suspect::Others) => {
            return Some(
                "Beyond it others than the system filled the machine's processors, so nothing can be said of what gives \
                 out: keep the machine free, or run the load generator elsewhere."
                    .into(),
            );
        }
        Some(Suspect::GeneratorCpu) => {
            format!("Beyond it the load generator gives out, so the system may well do more: {grew}")
        }
        Some(Suspect::ServerCpu | Suspect::EngineCpu | Suspect::AllCores) => {
            format!("Beyond it all processors likely give out: {grew}")
        }
        Some(Suspect::Lock) => format!("Beyond it calls likely wait for each other's row locks: {grew}"),
        Some(Suspect::CommitFlush) => format!("Beyond it the disk likely gives out: {grew}"),
        Some(Suspect::Pool) => format!("Beyond it there are likely too few sessions: {grew}"),
        Some(full) => format!("Beyond it {} likely gives out: {grew}", full.who()),
    };
    let served = served_share(broken);
    let behind = if served < 0.99 {
        format!("; {:.1} % of the calls due were served", served.max(0.0) * 100.0)
    } else {
        String::new()
    };
    Some(format!("{first}{behind}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said where that was full at the lowest rate that broke the level.
    fn said(full: Option<Suspect>) -> String {
        let mut document = sample_documents::search();
        for trial in &mut document.trials {
            for rule in trial.rules.iter_mut().filter(|rule| rule.name == "saturation") {
                rule.full = full;
            }
        }
        let search = document.search.unwrap();
        gives_out(&search, search.highest_per_s.unwrap(), &document.trials).unwrap()
    }

    #[test]
    fn processors_that_others_filled_say_nothing_of_the_system() {
        let strangers = said(Some(Suspect::Others));
        assert!(strangers.contains("nothing can be said") && !strangers.contains("likely"), "{strangers}");
    }

    #[test]
    fn what_was_full_likely_gives_out() {
        let writer = said(Some(Suspect::Writer));
        assert!(writer.starts_with("Beyond it SQLite's one writer likely gives out: "), "{writer}");
        let beyond = |full| said(Some(full)).split(": ").next().unwrap().to_owned();
        assert_eq!(beyond(Suspect::AllCores), "Beyond it all processors likely give out");
        assert_eq!(beyond(Suspect::Lock), "Beyond it calls likely wait for each other's row locks");
        assert_eq!(beyond(Suspect::CommitFlush), "Beyond it the disk likely gives out");
        assert_eq!(beyond(Suspect::Pool), "Beyond it there are likely too few sessions");
        assert_eq!(beyond(Suspect::Limit), "Beyond it a processor limit likely gives out");
        let nothing = said(None);
        assert!(nothing.starts_with("Beyond it nothing that was observed is full: "), "{nothing}");
    }
}
