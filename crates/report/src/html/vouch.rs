//! What vouches for a number, and what speaks against it.

use super::markup::{Cell, Markup, Table, Tone};
use crate::findings::Failure;
use crate::{figures, findings};
use result::{Check, Rule, Severity, Trial};

fn tone(check: Check) -> Tone {
    match check {
        Check::Passed => Tone::Good,
        Check::Failed => Tone::Bad,
        Check::NotRun => Tone::Warn,
        Check::NotTold => Tone::Plain,
    }
}

fn badge(check: Check) -> Cell {
    Cell::Badge(tone(check), check.words().to_owned())
}

/// Writes what failed; it stands above the rate.
pub(super) fn failures(markup: &mut Markup, failures: Vec<Failure>) {
    alarm(markup, "This number is not a result", failures);
}

/// Writes what failed under a heading; nothing where nothing did.
pub(super) fn alarm(markup: &mut Markup, heading: &str, failures: Vec<Failure>) {
    if failures.is_empty() {
        return;
    }
    markup.element("div", &[("class", "alarm"), ("role", "alert")], |alarm| {
        alarm.line("h2", "", heading).raw("<ul>");
        for failure in failures {
            alarm.element("li", &[], |item| {
                item.line("strong", "", &failure.what).raw(": ").prose(&failure.sentence);
                for evidence in &failure.evidence {
                    item.line("small", "", evidence);
                }
            });
        }
        alarm.raw("</ul>");
    });
}

/// Writes what to mind, with what to do about it.
pub(super) fn warnings<'a>(markup: &mut Markup, rules: impl IntoIterator<Item = &'a Rule>) {
    for rule in rules {
        markup.element("p", &[("class", "warning")], |p| {
            p.badge(severity(rule.severity), &rule.name);
            p.raw(" ").prose(&rule.sentence);
            if let Some(advice) = &rule.advice {
                p.raw("; ").prose(advice);
            }
        });
    }
}

fn severity(severity: Severity) -> Tone {
    match severity {
        Severity::Ok => Tone::Good,
        Severity::Info => Tone::Plain,
        Severity::Warning => Tone::Warn,
        Severity::Bad => Tone::Bad,
    }
}

/// Writes every check that was made.
pub(super) fn render(section: &mut Markup, trial: &Trial) {
    audits(section, trial);
    ledger(section, trial);
    inputs(section, trial);
    conformance(section, trial);
    rules(section, trial);
}

fn audits(section: &mut Markup, trial: &Trial) {
    let took: f64 = trial.audits.iter().map(|audit| audit.took_s).sum();
    section.element("h3", &[], |h3| {
        h3.raw("Audits of the stored data: ");
        h3.text(&findings::passed_of(trial.audits.iter().map(|audit| audit.check)));
    });
    let mut table = Table::new(
        &format!("Each is a query that must return nothing; {} in all", figures::duration(took * 1e9)),
        &["audit", "", "clause", "what holds", "when", "took"],
        5..6,
    );
    for audit in &trial.audits {
        table.row(vec![
            audit.name.as_str().into(),
            badge(audit.check),
            audit.clause.clone().unwrap_or_else(|| audit.family.word().to_owned()).into(),
            Cell::Detailed(audit.sentence.clone(), audit.violations.clone()),
            audit.when.words().replace(' ', "\u{a0}").into(),
            figures::duration(audit.took_s * 1e9).into(),
        ]);
    }
    section.table(&table);
}

fn ledger(section: &mut Markup, trial: &Trial) {
    if trial.ledger.is_empty() {
        return;
    }
    let mut table = Table::new(
        "What was acknowledged, against what is stored",
        &["ledger", "", "acknowledged", "with those in doubt", "stored", "unit"],
        2..5,
    );
    for check in &trial.ledger {
        table.row(vec![
            check.name.as_str().into(),
            badge(check.check),
            signed(check.low).into(),
            signed(check.high).into(),
            signed(check.stored).into(),
            check.unit.as_str().into(),
        ]);
    }
    section.line("h3", "", "Ledger");
    section.table(&table);
}

fn signed(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", figures::count(value.unsigned_abs()))
}

fn inputs(section: &mut Markup, trial: &Trial) {
    if trial.inputs.is_empty() {
        return;
    }
    let mut table = Table::new(
        "Shares of what was really sent, against what the workload prescribes",
        &["input", "", "measured", "prescribed", "tolerance", "inputs", "clause"],
        2..6,
    );
    let percent = |share: f64| format!("{}\u{a0}%", figures::trimmed(share * 100.0, 2));
    for check in &trial.inputs {
        table.row(vec![
            check.name.as_str().into(),
            badge(check.check),
            percent(check.measured).into(),
            percent(check.expected).into(),
            format!("±\u{a0}{}", percent(check.tolerance)).into(),
            figures::count(check.samples).into(),
            check.clause.clone().unwrap_or_default().into(),
        ]);
    }
    section.line("h3", "", "Inputs");
    section.table(&table);
}

fn conformance(section: &mut Markup, trial: &Trial) {
    let conformance = &trial.conformance;
    section.line("h3", "", "Conformance");
    section.element("p", &[], |p| {
        p.badge(tone(conformance.check), conformance.check.words()).raw(" ");
        p.text(&conformance.sentence);
        p.text(&format!(
            " ({} golden vectors, {} random calls, {}).",
            figures::count(conformance.vectors),
            figures::count(conformance.random_calls),
            figures::duration(conformance.took_s * 1e9)
        ));
    });
    if !conformance.mismatches.is_empty() {
        section.sentences(&conformance.mismatches);
    }
}

fn rules(section: &mut Markup, trial: &Trial) {
    if trial.rules.is_empty() {
        return;
    }
    let mut table = Table::new("What the rules say", &["rule", "", "what it means for the number"], 3..3);
    for rule in &trial.rules {
        table.row(vec![
            rule.name.as_str().into(),
            Cell::Badge(severity(rule.severity), rule.severity.word().to_owned()),
            Cell::Detailed(rule.sentence.clone(), rule.advice.clone().into_iter().collect()),
        ]);
    }
    section.line("h3", "", "Rules");
    section.table(&table);
}
