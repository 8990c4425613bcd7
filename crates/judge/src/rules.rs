//! The rules that run on every result: what a number is worth, in sentences that a non-expert understands.
//!
//! They read a finished document and nothing else, so a report made months later comes to the same words. A rule that
//! cannot be applied to a trial (a limit where the workload sets none) says nothing; one that lacks a figure says that
//! it cannot tell, and never guesses.

mod accounting;
#[cfg(test)]
mod accounting_tests;
mod checkpoints;
mod clocked;
mod compared;
mod comparison;
mod engine_counts;
#[cfg(test)]
mod evidence_tests;
mod gap;
#[cfg(test)]
mod grouped_tests;
mod hot_rows;
mod intended;
mod load;
mod modality;
mod pace;
mod parts;
mod regime;
mod reported;
mod room;
mod samples;
pub(crate) mod saturation;
mod setting;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
pub(crate) mod tests;
mod throttled;

use crate::figures;
use result::{Rule, Severity, Trial};

pub use compared::{Comparability, comparable};
pub use comparison::{judge_comparison, work_is_intended};
pub use intended::{ENGINE_SETTING, intended_by, intended_by_all};
pub use load::SHORTEST_S;

/// One rule; nothing where it does not apply.
type Judge = fn(&Trial) -> Option<Rule>;

/// By name, in the order of reports.
const RULES: [(&str, Judge); 32] = [
    ("call-accounting", accounting::call_accounting),
    ("audit", accounting::audit),
    ("saturation", saturation::saturation),
    ("think-cap", pace::think_cap),
    ("little", pace::little),
    ("outcome-mix", accounting::outcome_mix),
    ("limits", pace::limits),
    ("backlog", pace::backlog),
    ("steady", pace::steady),
    ("regime", regime::regime),
    ("checkpoints", checkpoints::checkpoints),
    ("gap", gap::gap),
    ("silence", gap::silence),
    ("fingerprint", setting::fingerprint),
    ("key", setting::key),
    ("durability", setting::durability),
    ("untried-engine", setting::untried_engine),
    ("plans", setting::plans),
    ("engine-counts", engine_counts::engine_counts),
    ("min-samples", samples::min_samples),
    ("monotone", samples::monotone),
    ("clocked", clocked::clocked),
    ("modality", modality::modality),
    ("hot-rows", hot_rows::hot_rows),
    ("co-located", load::co_located),
    ("noisy-machine", load::noisy_machine),
    ("throttled", throttled::throttled),
    ("outage", throttled::outages),
    ("reconnects", throttled::reconnects),
    ("other-sessions", throttled::other_sessions),
    ("settled", accounting::settled),
    ("parts", parts::parts),
];

/// Everything the rules say about one trial, good or bad, in a fixed order. [`Trial::rules`] itself is not read.
pub fn judge(trial: &Trial) -> Vec<Rule> {
    RULES.iter().filter_map(|(name, rule)| Some(named(name, rule(trial)?))).collect()
}

/// What a rule says, under the name that it has in its table.
fn named(name: &str, rule: Rule) -> Rule {
    Rule { name: name.to_owned(), ..rule }
}

fn rule(severity: Severity, sentence: impl AsRef<str>, advice: Option<&str>) -> Option<Rule> {
    let sentence = figures::plain(sentence.as_ref());
    Some(Rule { name: String::new(), severity, sentence, advice: advice.map(str::to_owned), saturated: None })
}

fn fine(sentence: impl AsRef<str>) -> Option<Rule> {
    rule(Severity::Ok, sentence, None)
}

/// Something to know.
fn note(sentence: impl AsRef<str>) -> Option<Rule> {
    rule(Severity::Info, sentence, None)
}

/// Something to know, and what one may do about it.
fn hint(sentence: impl AsRef<str>, advice: &str) -> Option<Rule> {
    rule(Severity::Info, sentence, Some(advice))
}

/// Something that weakens the number.
fn warning(sentence: impl AsRef<str>, advice: &str) -> Option<Rule> {
    rule(Severity::Warning, sentence, Some(advice))
}

/// Something that voids it.
fn bad(sentence: impl AsRef<str>, advice: &str) -> Option<Rule> {
    rule(Severity::Bad, sentence, Some(advice))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// `8 clients`, `1 client`.
fn clients(count: u32) -> String {
    figures::counted(count.into(), "client")
}

/// A share of 1 in whole percent: `97 %`.
pub(crate) fn whole_percent(share: f64) -> String {
    // A sum of nothing is -0.
    format!("{:.0} %", share * 100.0 + 0.0)
}

/// A part through a whole; zero where there is no whole.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
