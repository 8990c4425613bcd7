//! A report for the terminal: readable without colour, and as wide as 100 columns.

mod curve;
mod variants;

use crate::findings::Failure;
use crate::{clocked, engine_findings, figures, findings, pooled, rules};
use result::{
    BudgetPart, Check, Class, Comparison, Document, Quantiles, Rule, RunKind, Severity, Side, State, Trial,
    UNVERIFIED, Verdict, Writeback,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;

/// Widest line that sentences are broken at.
const WIDTH: usize = 100;

/// Whether colours are used. The caller knows the terminal and `NO_COLOR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// With ANSI escapes.
    Always,
}

/// How a word is set apart.
#[derive(Clone, Copy)]
enum Ink {
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Colour {
    /// In bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Ink::Bold, text)
    }

    fn paint(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Good => "32",
            Ink::Warn => "33",
            Ink::Bad => "1;31",
        };
        match self {
            Colour::Never => text.to_owned(),
            Colour::Always => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The report of a run, ending with a newline.
#[must_use]
pub fn render(document: &Document, colour: Colour) -> String {
    let document = &printable(document);
    let mut out = String::new();
    if let Some(experiment) = &document.experiment {
        variants::experiment(&mut out, document, experiment, colour);
    } else if let Some(comparison) = &document.comparison {
        compare(&mut out, document, comparison, colour);
    } else if let Some(found) = document.curve.as_ref().filter(|curve| !curve.points.is_empty()) {
        curve::sweep(&mut out, document, found, colour);
    } else if let Some(found) = document.search.as_ref().filter(|search| !search.steps.is_empty()) {
        curve::search(&mut out, document, found, colour);
    } else if document.trials.is_empty() {
        let _ = writeln!(out, "{}", findings::empty_sentence(document));
    }
    if document.kind == RunKind::Trial {
        for trial in &document.trials {
            one_trial(&mut out, trial, colour);
        }
    }
    if let Some(confirmation) = &document.confirmation {
        sentence(&mut out, "bottleneck: ", &confirmation.sentence);
    }
    for note in &document.notes {
        sentence(&mut out, "note: ", note);
    }
    figures::plain(&out)
}

/// The report of one trial, ending with a newline; for tools that print trials as they end.
#[must_use]
pub fn render_trial(trial: &Trial, colour: Colour) -> String {
    let mut out = String::new();
    one_trial(&mut out, &printable(trial), colour);
    figures::plain(&out)
}

/// The same without control characters in its texts: some come from servers, and must neither move the cursor nor fake
/// a line of the report.
fn printable<T: Clone + Serialize + DeserializeOwned>(data: &T) -> T {
    fn clean(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) if text.contains(char::is_control) => {
                *text = text.replace(char::is_control, " ");
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(clean),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(clean),
            _ => {}
        }
    }
    let cleaned = serde_json::to_value(data).and_then(|mut value| {
        clean(&mut value);
        serde_json::from_value(value)
    });
    // Only a number that is not a number can fail here, and such a document is no worse off as it is.
    cleaned.unwrap_or_else(|_| data.clone())
}

fn one_trial(out: &mut String, trial: &Trial, colour: Colour) {
    let _ = writeln!(
        out,
        "{}      {}",
        colour.paint(Ink::Bold, &trial.subject),
        colour.paint(Ink::Dim, &findings::setting_line(trial))
    );
    let _ = writeln!(out, "  {}", colour.paint(Ink::Dim, &durability(trial)));
    loud_tier(out, trial, colour);
    failures(out, findings::failures(trial), colour);
    if trial.state != State::Complete {
        let _ = writeln!(out, "  {}", colour.paint(Ink::Warn, trial.state.word()));
    }
    let headline = &trial.headline;
    let _ = writeln!(
        out,
        "  {} {} ({}){}",
        colour.paint(Ink::Bold, &figures::with_margin(headline.value)),
        headline.unit,
        headline.label,
        if trial.is_unverified() {
            format!("  {}", colour.paint(Ink::Bad, UNVERIFIED))
        } else {
            String::new()
        }
    );
    rates(out, trial, colour);
    let _ = writeln!(out, "  {}", findings::exceptions(trial).join("   "));
    checks(out, trial, colour);
    requirements(out, trial, colour);
    budget(out, trial, colour);
    statements(out, trial, colour);
    costs(out, trial);
    engine(out, trial);
    let _ = writeln!(out);
    sentence(out, "", &headline.sentence);
    warnings(out, findings::rules_to_mind(trial), colour);
    for note in &trial.notes {
        sentence(out, "note: ", note);
    }
}

/// A number that a crash may take back is not read without knowing so.
fn loud_tier(out: &mut String, trial: &Trial, colour: Colour) {
    if let Some((label, meaning)) = engine_findings::loud_tier(trial) {
        let mut lines = wrapped(&format!("  {label}: "), meaning);
        lines.replace_range(2..2 + label.len(), &colour.paint(Ink::Bad, label));
        out.push_str(&lines);
    }
}

/// What the engine said of itself, in a few lines; the page has all of it.
fn engine(out: &mut String, trial: &Trial) {
    if let Some(waits) = engine_findings::waits_line(trial) {
        sentence(out, &format!("  {:<19}", "engine sessions"), &waits);
    }
    if let Some(grouping) = engine_findings::grouping(trial) {
        sentence(out, &format!("  {:<19}", "shared commits"), &grouping);
    }
    if let Some(refusals) = engine_findings::refusals(trial) {
        sentence(out, &format!("  {:<19}", "refused"), &refusals);
    }
    for outage in engine_findings::outages(trial) {
        sentence(out, &format!("  {:<19}", "outage"), &outage);
    }
    for gap in engine_findings::gaps(trial) {
        sentence(out, &format!("  {:<19}", "gap"), &gap);
    }
    if let Some(bottleneck) = crate::bottleneck(trial) {
        sentence(out, &format!("  {:<19}", "bottleneck"), &bottleneck.sentence);
    }
}

fn durability(trial: &Trial) -> String {
    let durability = &trial.stack.durability;
    let on = trial.data.file_system.as_ref().map_or_else(String::new, |system| format!(", on {system}"));
    format!("{}: {} ({}{on})", durability.word(), durability.tier.meaning(), durability.detail)
}

fn failures(out: &mut String, failures: Vec<Failure>, colour: Colour) {
    for failure in failures {
        let label = colour.paint(Ink::Bad, &format!("FAILED  {}", failure.what));
        let _ = writeln!(out, "  {label}: {}", failure.sentence);
        for evidence in &failure.evidence {
            let _ = writeln!(out, "          {evidence}");
        }
    }
}

/// Rates and times, kind by kind.
fn rates(out: &mut String, trial: &Trial, colour: Colour) {
    let facets = trial.kinds.iter().flat_map(|kind| &kind.facets).map(|facet| facet.name.chars().count() + 2);
    let names =
        trial.kinds.iter().map(|kind| kind.name.chars().count()).chain(facets).max().unwrap_or(0).max(9);
    let header =
        format!("  {:names$}{:>16}{:>10}{:>10}{:>10}{:>10}", "", "rate/s", "p50", "p99", "p99.9", "max");
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    let times = |times: Option<&Quantiles>| {
        let cells = times.map_or([const { String::new() }; 4], |times| {
            [
                figures::maybe_duration(times.p50_ns),
                figures::maybe_duration(times.p99_ns),
                figures::maybe_duration(times.p999_ns),
                figures::maybe_duration(times.slowest_ns()),
            ]
        });
        cells.map(|cell| format!("{cell:>10}")).concat()
    };
    for kind in &trial.kinds {
        let latency = kind.tally.latency(Class::Committed);
        let rate = figures::with_margin(kind.tally.rate_per_s);
        let _ = writeln!(
            out,
            "  {:names$}{rate:>16}{}",
            kind.name,
            times(latency.map(|latency| &latency.response))
        );
        if let Some(service) = latency.and_then(|latency| latency.service.as_ref()) {
            let line = format!("  {:names$}{:>16}{}", "", "service", times(Some(service)));
            let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &line));
        }
        for facet in &kind.facets {
            let calls = format!("{} calls", figures::count(facet.response.count));
            let name = format!("  {}", facet.name);
            let line = format!("  {name:names$}{calls:>16}{}", times(Some(&facet.response)));
            let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &line));
        }
    }
    if let Some(demand) = findings::demand_sentence(trial) {
        sentence(out, "  ", &demand);
    }
    if trial.plan.arrivals.is_open() {
        sentence(out, "  ", findings::times_sentence(trial));
    }
}

fn checks(out: &mut String, trial: &Trial, colour: Colour) {
    let mut line = |name: &str, text: String, good: bool| {
        let text = colour.paint(if good { Ink::Good } else { Ink::Bad }, &text);
        let _ = writeln!(out, "  {name:<13}{text}");
    };
    let failed = |check| check == Check::Failed;
    let audits = || trial.audits.iter().map(|audit| audit.check);
    let ledger = || trial.ledger.iter().map(|ledger| ledger.check);
    let inputs = || trial.inputs.iter().map(|input| input.check);
    line("audits", findings::passed_of(audits()), !audits().any(failed));
    line("ledger", findings::passed_of(ledger()), !ledger().any(failed));
    line("inputs", findings::passed_of(inputs()), !inputs().any(failed));
    line("conformance", trial.conformance.check.words().to_owned(), !failed(trial.conformance.check));
}

fn requirements(out: &mut String, trial: &Trial, colour: Colour) {
    for requirement in findings::requirements(trial) {
        let label = format!("  {:<13}", requirement.name);
        let lines = wrapped(&label, &requirement.sentence);
        if requirement.met == Some(false) {
            let text = colour.paint(Ink::Bad, lines[label.len()..].trim_end());
            let _ = writeln!(out, "{label}{text}");
        } else {
            out.push_str(&lines);
        }
    }
}

/// Where the time goes: the parts that take at least half a percent of some kind, a kind a line.
fn budget(out: &mut String, trial: &Trial, colour: Colour) {
    let budgets = clocked::budgets(trial, |_, facet| format!("  {facet}"));
    let parts: Vec<BudgetPart> = BudgetPart::ALL
        .into_iter()
        .filter(|part| budgets.iter().any(|(_, budget)| budget.share(*part).abs() >= 0.005))
        .collect();
    if parts.is_empty() {
        return;
    }
    let names = budgets.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(9);
    let widths: Vec<usize> = parts.iter().map(|part| part.words().chars().count().max(6) + 2).collect();
    let mut header = format!("  {:names$}{:>10}", "time", "mean");
    for (part, width) in parts.iter().zip(&widths) {
        let _ = write!(header, "{:>width$}", part.words());
    }
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    for (name, budget) in &budgets {
        let mut line = format!("  {name:names$}{:>10}", figures::duration(budget.response_ns));
        for (part, width) in parts.iter().zip(&widths) {
            let _ = write!(line, "{:>width$}", figures::percent(budget.share(*part)));
        }
        let _ = writeln!(out, "{line}");
    }
}

/// What calls spent in each statement, a kind in a paragraph.
fn statements(out: &mut String, trial: &Trial, colour: Colour) {
    let accounts: Vec<_> =
        trial.kinds.iter().filter_map(|kind| Some((&kind.name, kind.clocked.as_ref()?))).collect();
    if accounts.is_empty() {
        return;
    }
    for line in wrapped("  ", clocked::CAPTION).lines() {
        let _ = writeln!(out, "{}", colour.paint(Ink::Dim, line));
    }
    let names = accounts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, clocked) in &accounts {
        sentence(out, &format!("  {name:names$}  "), &clocked::line(clocked));
    }
}

fn costs(out: &mut String, trial: &Trial) {
    for process in &trial.processes {
        let cost = process.cpu_ms_per_1000_committed.map_or_else(
            || figures::NONE.to_owned(),
            |ms| format!("{} ms CPU a 1000 committed", figures::short(ms)),
        );
        // Ready to run, with no processor: on full processors this is much of what is called network and statements.
        let waited = process.run_queue_s.filter(|_| trial.committed() > 0.0).map_or_else(String::new, |s| {
            format!(", waited {} ms for a processor", figures::short(s * 1e6 / trial.committed()))
        });
        let _ = writeln!(
            out,
            "  {:<19}{cost}{waited}, {} peak",
            process.roles_words(),
            figures::bytes(process.rss_peak_bytes)
        );
    }
    if let Some(writeback) = &trial.writeback {
        let cost = match (writeback.cpu_s, writeback.cpu_ms_per_1000_committed) {
            (None, _) => Writeback::HIDDEN.to_owned(),
            (_, None) => figures::NONE.to_owned(),
            (_, Some(ms)) => format!("{} ms CPU a 1000 committed", figures::short(ms)),
        };
        let _ = writeln!(out, "  {}  {cost}", Writeback::NAME);
    }
}

fn warnings<'a>(out: &mut String, rules: impl IntoIterator<Item = &'a Rule>, colour: Colour) {
    for rule in rules {
        let (label, ink) = match rule.severity {
            Severity::Bad => ("bad", Ink::Bad),
            _ => ("warning", Ink::Warn),
        };
        let advice = rule.advice.as_ref().map_or_else(String::new, |advice| format!("; {advice}"));
        let text = format!("{}{advice} [{}]", rule.sentence, rule.name);
        let mut lines = wrapped(&format!("{label}: "), &text);
        lines.replace_range(..label.len(), &colour.paint(ink, label));
        out.push_str(&lines);
    }
}

fn compare(out: &mut String, document: &Document, comparison: &Comparison, colour: Colour) {
    failures(out, findings::failures_of_all(document), colour);
    let ink = match comparison.verdict {
        Verdict::Better | Verdict::NoDifference => Ink::Good,
        Verdict::Worse | Verdict::CannotTell => Ink::Warn,
        Verdict::DifferentWork => Ink::Bad,
    };
    if let Some(trial) = document.trials.iter().find(|trial| engine_findings::loud_tier(trial).is_some()) {
        loud_tier(out, trial, colour);
    }
    if document.trials.iter().any(Trial::is_unverified) {
        let _ = writeln!(out, "{}", colour.paint(Ink::Bad, UNVERIFIED));
    }
    unintended(out, comparison, colour);
    let _ = writeln!(
        out,
        "{}: {}",
        colour.paint(ink, comparison.verdict.words()),
        colour.paint(Ink::Bold, &comparison.sentence)
    );
    if let Some(retention) = comparison.retention().filter(|_| comparison.higher_is_better()) {
        let _ = writeln!(out, "  {retention}, {}", comparison.metric);
    }
    let _ = writeln!(out);
    let names = comparison.a.label.chars().count().max(comparison.b.label.chars().count()).max(8);
    for (letter, party) in [("A", &comparison.a), ("B", &comparison.b)] {
        let _ = writeln!(out, "  {letter}  {:names$}  {}", party.label, party.subject);
    }
    if let Some(trial) = document.trials.first() {
        let _ = writeln!(out, "     {}", colour.paint(Ink::Dim, &findings::setting_line(trial)));
        let _ = writeln!(out, "     {}", colour.paint(Ink::Dim, &durability(trial)));
    }
    blocks(out, comparison, colour);
    confidence(out, comparison);
    budget_change(out, document, comparison, colour);
    let audits = document.trials.iter().flat_map(|trial| &trial.audits).map(|audit| audit.check);
    let _ = writeln!(out, "  audits of all trials  {}", findings::passed_of(audits));
    if let Some(trial) = document.trials.first() {
        let _ = writeln!(out);
        sentence(out, "", &trial.headline.sentence);
    }
    warnings(out, &findings::rules_to_mind_of_all(document), colour);
}

/// Where the difference of the mean response time lies, over all calls.
fn budget_change(out: &mut String, document: &Document, comparison: &Comparison, colour: Colour) {
    let [a, b] = [Side::A, Side::B].map(|side| pooled::side(document, comparison, side).budget);
    let Some((a, b)) = a.zip(b) else {
        return;
    };
    let header = format!("  {:<18}{:>12}{:>12}{:>12}", "time, all calls", "A", "B", "B − A");
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    let mut line = |name: &str, ns_a: f64, ns_b: f64| {
        let change = figures::change(ns_b - ns_a, a.response_ns);
        let _ =
            writeln!(out, "  {name:<18}{:>12}{:>12}{change:>12}", figures::part(ns_a), figures::part(ns_b));
    };
    for part in BudgetPart::ALL {
        if a.share(part).abs() >= 0.0005 || b.share(part).abs() >= 0.0005 {
            line(part.words(), a.part_ns(part), b.part_ns(part));
        }
    }
    line("response time", a.response_ns, b.response_ns);
}

/// What differs beside the factor under study: printed above the ratio, because it may explain it.
fn unintended(out: &mut String, comparison: &Comparison, colour: Colour) {
    for difference in comparison.key_differences.iter().filter(|difference| !difference.intended) {
        let label = colour.paint(Ink::Bad, "differs");
        let _ = writeln!(out, "{label}  {}: {} and {}", difference.field, difference.a, difference.b);
    }
    let unintended = comparison
        .fingerprint_differences
        .iter()
        .filter(|difference| !rules::work_is_intended(comparison, &difference.measure));
    for difference in unintended {
        let [a, b] = figures::both(difference);
        let _ = writeln!(out, "{}  {}: {a} and {b}", colour.paint(Ink::Bad, "differs"), difference.words());
    }
}

fn blocks(out: &mut String, comparison: &Comparison, colour: Colour) {
    let header = format!("  {:<8}{:<8}{:>14}{:>14}{:>10}", "block", "order", "A", "B", "B/A");
    let _ = writeln!(out, "{}", colour.paint(Ink::Dim, &header));
    for (i, block) in comparison.blocks.iter().enumerate() {
        let order = block.order();
        let rate = |side: Side| block.rate(side).map_or_else(|| figures::NONE.to_owned(), figures::short);
        let ratio = block.ratio.map_or_else(|| figures::NONE.to_owned(), figures::percent);
        let _ =
            writeln!(out, "  {:<8}{order:<8}{:>14}{:>14}{ratio:>10}", i + 1, rate(Side::A), rate(Side::B));
    }
}

fn confidence(out: &mut String, comparison: &Comparison) {
    if let Some(ratio) = comparison.ratio {
        let interval = if ratio.low.is_some() { ", 95 % interval" } else { "" };
        let _ = writeln!(out, "  ratio B/A             {}{interval}", figures::ratio(ratio));
    }
    if let Some(detectable) = comparison.detectable {
        let _ =
            writeln!(out, "  smallest effect that these blocks could find  {}", figures::percent(detectable));
    }
    match &comparison.noise {
        Some(noise) => {
            let _ = writeln!(
                out,
                "  A/A control           {}, {} blocks{}",
                figures::ratio(noise.ratio),
                noise.blocks,
                noise.bias_words()
            );
        }
        None => {
            let _ = writeln!(out, "  A/A control           not run");
        }
    }
    if let Some((loss, words)) = comparison.loss_max.zip(comparison.loss_words()) {
        let _ = writeln!(out, "  permitted loss        {}, {words}", figures::percent(loss));
    }
}

/// Writes a sentence, broken at the width and hanging under its label.
fn sentence(out: &mut String, label: &str, text: &str) {
    out.push_str(&wrapped(label, text));
}

fn wrapped(label: &str, text: &str) -> String {
    let indent = label.chars().count();
    let mut out = label.to_owned();
    let mut column = indent;
    for (i, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}
