//! Validation of a trial: checks, and findings against it.

use crate::block::{Block, Cell, Level, Table, Tone, figure, words};
use judge::{figures, findings};
use result::{Check, Trial};

/// A line for each sort of check.
pub(super) fn summary<'a>(trials: &[&Trial]) -> [Block<'a>; 4] {
    findings::checks(trials)
        .map(|(name, words, failed)| Block::told(name, words, if failed { Tone::Bad } else { Tone::Good }))
}

/// Every check that was made.
pub(super) fn all(trial: &Trial) -> Vec<Block<'_>> {
    let mut blocks = audits(trial);
    blocks.extend(titled("Ledger", ledger(trial)));
    blocks.extend(titled("Inputs", inputs(trial)));
    blocks.extend(conformance(trial));
    blocks.extend(titled("Rules", rules(trial)));
    vec![Block::At(Level::Page, blocks)]
}

fn titled(title: &str, table: Table) -> Vec<Block<'_>> {
    match table.is_empty() {
        true => Vec::new(),
        false => vec![Block::Heading(title.to_owned()), table.into()],
    }
}

fn badge(check: Check) -> Cell {
    Cell::Badge(check.into(), check.words().to_owned())
}

fn audits(trial: &Trial) -> Vec<Block<'_>> {
    let took: f64 = trial.audits.iter().map(|audit| audit.duration_s).sum();
    let caption =
        format!("Each is a query that must return nothing; {} in all", figures::duration(took * 1e9));
    let columns =
        [words("audit"), words(""), words("clause"), words("what holds"), words("when"), figure("took")];
    let mut table = Table::new(caption, columns);
    for audit in &trial.audits {
        table.row([
            audit.full_name().into(),
            badge(audit.check),
            audit.clause.clone().unwrap_or_else(|| audit.family.word().to_owned()).into(),
            Cell::Detailed(audit.sentence.clone(), audit.violations.clone()),
            audit.when.words().replace(' ', "\u{a0}").into(),
            figures::duration(audit.duration_s * 1e9).into(),
        ]);
    }
    let passed = findings::passed_of(trial.audits.iter().map(|audit| audit.check));
    vec![Block::Heading(format!("Audits of the stored data: {passed}")), table.into()]
}

fn ledger(trial: &Trial) -> Table {
    let columns =
        super::columns(["ledger", "", "acknowledged", "with those in doubt", "stored", "unit"], 2..5);
    let signed = |value: i64| {
        let sign = if value < 0 { "−" } else { "" };
        Cell::Text(format!("{sign}{}", figures::count(value.unsigned_abs())))
    };
    Table::new("Ledger: acknowledged and stored", columns).of(trial.ledger.iter().map(|found| {
        let [low, high, stored] = [found.low, found.high, found.stored].map(signed);
        [found.name.as_str().into(), badge(found.check), low, high, stored, found.unit.as_str().into()]
    }))
}

fn inputs(trial: &Trial) -> Table {
    let columns =
        super::columns(["input", "", "measured", "prescribed", "tolerance", "inputs", "clause"], 2..6);
    let percent = |share: f64| format!("{}\u{a0}%", figures::trimmed(share * 100.0, 2));
    let caption = "Shares of what was really sent, against what the workload prescribes";
    Table::new(caption, columns).of(trial.inputs.iter().map(|found| {
        [
            found.name.as_str().into(),
            badge(found.check),
            percent(found.measured).into(),
            percent(found.expected).into(),
            format!("±\u{a0}{}", percent(found.tolerance)).into(),
            figures::count(found.samples).into(),
            found.clause.clone().unwrap_or_default().into(),
        ]
    }))
}

fn conformance(trial: &Trial) -> Vec<Block<'_>> {
    let found = &trial.conformance;
    let words = format!(
        "{} ({} golden vectors, {} random calls, {})",
        found.sentence,
        figures::count(found.vectors),
        figures::count(found.random_calls),
        figures::duration(found.duration_s * 1e9)
    );
    vec![
        Block::Heading("Conformance".to_owned()),
        Block::told(found.check.words(), words, found.check.into()),
        Block::List(found.mismatches.clone()),
    ]
}

fn rules(trial: &Trial) -> Table {
    let columns = [words("rule"), words(""), words("Meaning")];
    Table::new("Findings", columns).of(trial.rules.iter().map(|rule| {
        let word = rule.severity.word().to_owned();
        let advice = rule.advice.clone().into_iter().collect();
        [
            rule.name.as_str().into(),
            Cell::Badge(rule.severity.into(), word),
            Cell::Detailed(rule.sentence.clone(), advice),
        ]
    }))
}
