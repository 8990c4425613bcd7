//! An experiment for the terminal: the answer, a line a variant, what differs.

use super::{Colour, Ink, failures, sentence, warnings};
use crate::rules::judge_comparison;
use crate::variants::{self, Row, Standing};
use crate::{figures, findings};
use result::{Check, Document, Experiment, Rule, Severity, Verdict};
use std::fmt::Write as _;

/// The widest name that the table has room for.
const NAME_MAX: usize = 34;

pub(super) fn experiment(out: &mut String, document: &Document, experiment: &Experiment, colour: Colour) {
    let rows = variants::rows(document, experiment);
    let _ = writeln!(out, "{}", colour.paint(Ink::Bold, variants::title(experiment)));
    let common = format!("{}: {}", experiment.name, variants::common_line(document, experiment));
    let _ = writeln!(out, "  {}", colour.paint(Ink::Dim, &common));
    failures(out, rows.iter().flat_map(Row::failures).collect(), colour);
    for row in &rows {
        for [field, a, b] in row.unintended().iter().filter(|_| row.standing.is_measured()) {
            let label = colour.paint(Ink::Bad, "differs");
            let _ = writeln!(out, "{label}  {}, {field}: {a} and {b}", row.variant.name);
        }
    }
    let _ = writeln!(out);
    for answer in &experiment.answer {
        sentence(out, "", answer);
    }
    let _ = writeln!(out);
    table(out, experiment, &rows, colour);
    let _ = writeln!(out);
    for row in rows.iter().filter(|row| !row.standing.is_measured()) {
        sentence(out, &format!("  {}, {}: ", row.variant.name, row.standing.words()), row.reason());
    }
    for said in variants::confidence(&rows) {
        sentence(out, "  ", &said);
    }
    for row in rows.iter().filter(|row| row.standing.is_measured()) {
        if let Some(waits) = variants::waits_words(row) {
            sentence(out, &format!("  engine sessions of {}: ", row.variant.name), &waits);
        }
    }
    checks(out, document, colour);
    spent(out, document, experiment);
    if let Some(trial) = document.trials.first() {
        let _ = writeln!(out);
        sentence(out, "", &trial.headline.sentence);
    }
    let rules: Vec<Rule> = rules_of(&rows);
    warnings(out, &rules, colour);
    warnings(out, &findings::rules_to_mind_of_all(document), colour);
}

fn table(out: &mut String, experiment: &Experiment, rows: &[Row<'_>], colour: Colour) {
    let names = rows.iter().map(|row| row.label().chars().count()).max().unwrap_or(0).clamp(8, NAME_MAX);
    let unit = &experiment.metric.unit;
    let values = unit.chars().count().max(16) + 2;
    let header = format!("  {:names$}{unit:>values$}{:>24}  verdict", "", "effect, 95 %");
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    for row in rows {
        let label = row.label();
        let name: String = match label.chars().count() > NAME_MAX {
            true => label.chars().take(NAME_MAX - 1).chain(['…']).collect(),
            false => label,
        };
        let mean = row.mean.map_or_else(|| figures::NONE.to_owned(), figures::with_margin);
        let effect = row.effect.map_or_else(String::new, variants::effect_words);
        let words = row.standing.words();
        let words = match ink(row.standing) {
            Some(ink) => colour.paint(ink, words),
            None => words.to_owned(),
        };
        let _ = writeln!(out, "  {name:names$}{mean:>values$}{effect:>24}  {words}");
    }
}

fn ink(standing: Standing) -> Option<Ink> {
    match standing {
        Standing::Held(Verdict::Better | Verdict::NoDifference) => Some(Ink::Good),
        Standing::Held(Verdict::Worse | Verdict::CannotTell) | Standing::NotStarted => Some(Ink::Warn),
        Standing::Held(Verdict::DifferentWork) | Standing::Void => Some(Ink::Bad),
        Standing::Base | Standing::Control => None,
    }
}

fn checks(out: &mut String, document: &Document, colour: Colour) {
    let audits: Vec<Check> =
        document.trials.iter().flat_map(|trial| &trial.audits).map(|audit| audit.check).collect();
    let ink = if audits.contains(&Check::Failed) { Ink::Bad } else { Ink::Good };
    let words = colour.paint(ink, &findings::passed_of(audits.into_iter()));
    let _ = writeln!(out, "  audits of all trials  {words}");
}

fn spent(out: &mut String, document: &Document, experiment: &Experiment) {
    if experiment.spent.total_s <= 0.0 {
        return;
    }
    let parts: Vec<String> = variants::spent(experiment)
        .iter()
        .map(|(name, s)| format!("{name} {}", variants::wall(*s)))
        .collect();
    let restore_s = experiment.spent.restore_s / document.trials.len().max(1) as f64;
    let words = format!(
        "{}: {}; restoring took {} a trial",
        variants::wall(experiment.spent.total_s),
        parts.join(", "),
        figures::duration(restore_s * 1e9)
    );
    sentence(out, "  took                  ", &words);
}

/// What the rules say of the comparisons but for what the lines above say.
fn rules_of(rows: &[Row<'_>]) -> Vec<Rule> {
    let mut said: Vec<Rule> = Vec::new();
    for row in rows.iter().filter(|row| row.standing.is_measured()) {
        let rules = row.comparison.map(judge_comparison).unwrap_or_default();
        for rule in rules.into_iter().filter(|rule| rule.severity == Severity::Warning) {
            // A control is that of the base, and is told once for all that is held against it.
            let rule = match rule.name.as_str() {
                "noise" => rule,
                _ => Rule { sentence: format!("{}: {}", row.variant.name, rule.sentence), ..rule },
            };
            if !said.contains(&rule) {
                said.push(rule);
            }
        }
    }
    said
}
