//! A report in Markdown, for issues, wikis and pull requests.

mod curve;
mod variants;

use crate::findings::Failure;
use crate::{clocked, engine_findings, figures, findings, pooled};
use result::{
    BudgetPart, Check, Class, Comparison, Document, Process, Quantiles, Rule, Side, Trial, UNVERIFIED,
    Writeback,
};
use std::fmt::Write as _;
use std::ops::Range;

/// The report of a run.
#[must_use]
pub fn render(document: &Document) -> String {
    let mut out = String::new();
    if let Some(experiment) = &document.experiment {
        variants::experiment(&mut out, document, experiment);
    } else if let Some(comparison) = &document.comparison {
        compare(&mut out, document, comparison);
    } else if let Some(found) = document.curve.as_ref().filter(|curve| !curve.points.is_empty()) {
        curve::sweep(&mut out, document, found);
    } else if let Some(found) = document.search.as_ref().filter(|search| !search.steps.is_empty()) {
        curve::search(&mut out, document, found);
    } else if document.trials.is_empty() {
        let _ = writeln!(out, "{}\n", escaped(&findings::empty_sentence(document)));
    } else {
        document.trials.iter().for_each(|trial| one_trial(&mut out, trial));
    }
    list(&mut out, "Notes", document.notes.iter().map(|note| escaped(note)));
    let _ = writeln!(
        out,
        "Run {}, {}, stackmark {}: {}",
        code(&document.id),
        document.started.readable(),
        escaped(&document.stackmark),
        code(&document.command.join(" "))
    );
    figures::plain(&out)
}

fn one_trial(out: &mut String, trial: &Trial) {
    let _ = writeln!(out, "# {}\n\n{}\n", escaped(&trial.subject), escaped(&findings::setting_line(trial)));
    loud_tier(out, trial);
    failures(out, findings::failures(trial));
    let durability = &trial.stack.durability;
    let _ = writeln!(
        out,
        "**{} {}** ({}){}, {}: {} ({})\n\n{}\n",
        figures::with_margin(trial.headline.value),
        escaped(&trial.headline.unit),
        escaped(&trial.headline.label),
        if trial.is_unverified() { format!(" **{UNVERIFIED}**") } else { String::new() },
        durability.word(),
        durability.tier.meaning(),
        escaped(&durability.detail),
        escaped(&trial.headline.sentence)
    );
    rates(out, trial);
    let _ = writeln!(out, "{}\n", escaped(&findings::exceptions(trial).join(", ")));
    let met = |met| match met {
        Some(true) => "kept",
        Some(false) => "missed",
        None => "too few calls to say",
    };
    for requirement in findings::requirements(trial) {
        let sentence = escaped(&requirement.sentence);
        let _ = writeln!(out, "**{}, {}**: {sentence}\n", requirement.name, met(requirement.met));
    }
    vouchers(out, trial);
    budgets(out, trial);
    statements(out, trial);
    costs(out, trial);
    engine(out, trial);
    rules(out, findings::rules_to_mind(trial));
    list(out, "Notes", trial.notes.iter().map(|note| escaped(note)));
    let _ = writeln!(out, "## Set-up\n");
    let pairs = findings::key(trial).into_iter().flat_map(|(_, pairs)| pairs);
    let rows = pairs.map(|(name, value)| vec![name, value]).collect::<Vec<_>>();
    table(out, &["", ""], usize::MAX, &rows);
}

fn loud_tier(out: &mut String, trial: &Trial) {
    if let Some((label, meaning)) = engine_findings::loud_tier(trial) {
        let _ = writeln!(out, "> **{label}**: {meaning}\n");
    }
}

/// What the engine said of itself.
fn engine(out: &mut String, trial: &Trial) {
    let waits = trial.engine.iter().filter(|engine| engine.looks > 0).flat_map(engine_findings::top_waits);
    let rows: Vec<Vec<String>> = waits
        .map(|wait| {
            let meaning = engine_findings::meaning(&wait.name).to_owned();
            vec![wait.name.clone(), figures::percent(wait.share), meaning]
        })
        .collect();
    table(out, &["engine sessions in", "share of time", "which is"], usize::MAX, &rows);
    let rows: Vec<Vec<String>> = engine_findings::gauges(trial).into_iter().map(Vec::from).collect();
    table(out, &["engine", "what", "in all", "rate"], 2, &rows);
    if let Some(grouping) = engine_findings::grouping(trial) {
        let _ = writeln!(out, "{}.\n", escaped(&grouping));
    }
    list(out, "Refused calls", engine_findings::refusals(trial).iter().map(|refusals| escaped(refusals)));
    list(out, "Outages", engine_findings::outages(trial).iter().map(|outage| escaped(outage)));
    list(out, "Gaps", engine_findings::gaps(trial).iter().map(|gap| escaped(gap)));
    if let Some(bottleneck) = crate::bottleneck(trial) {
        let _ = writeln!(out, "{}.\n", escaped(&figures::capital(&bottleneck.sentence)));
    }
}

fn rates(out: &mut String, trial: &Trial) {
    let times = |times: &Quantiles| {
        [times.p50_ns, times.p90_ns, times.p99_ns, times.p999_ns, times.slowest_ns()]
            .map(figures::maybe_duration)
    };
    let mut rows = Vec::new();
    for kind in &trial.kinds {
        let mut row = vec![kind.name.clone(), figures::with_margin(kind.tally.rate_per_s)];
        let latency = kind.tally.latency(Class::Committed);
        row.extend(latency.map_or_else(Default::default, |latency| times(&latency.response)));
        rows.push(row);
        if let Some(service) = latency.and_then(|latency| latency.service) {
            rows.push(
                [format!("{}, service", kind.name), String::new()]
                    .into_iter()
                    .chain(times(&service))
                    .collect(),
            );
        }
        for facet in &kind.facets {
            let calls = format!("{} calls", figures::count(facet.response.count));
            let name = format!("{}, {}", kind.name, facet.name);
            rows.push([name, calls].into_iter().chain(times(&facet.response)).collect());
        }
    }
    table(out, &["call", "committed/s", "p50", "p90", "p99", "p99.9", "max"], 1, &rows);
    if let Some(demand) = findings::demand_sentence(trial) {
        let _ = writeln!(out, "{demand}\n");
    }
    if trial.plan.arrivals.is_open() {
        let _ = writeln!(out, "{}\n", findings::times_sentence(trial));
    }
}

fn vouchers(out: &mut String, trial: &Trial) {
    let rows = [
        ("audits", findings::passed_of(trial.audits.iter().map(|audit| audit.check))),
        ("ledger", findings::passed_of(trial.ledger.iter().map(|ledger| ledger.check))),
        ("inputs", findings::passed_of(trial.inputs.iter().map(|input| input.check))),
        ("conformance", trial.conformance.check.words().to_owned()),
    ];
    table(out, &["check", "result"], usize::MAX, &rows.map(|(name, text)| vec![name.to_owned(), text]));
}

fn budgets(out: &mut String, trial: &Trial) {
    let budgets = clocked::budgets(trial, |kind, facet| format!("{kind}, {facet}"));
    let parts: Vec<BudgetPart> = BudgetPart::ALL
        .into_iter()
        .filter(|part| budgets.iter().any(|(_, budget)| budget.share(*part).abs() >= 0.0005))
        .collect();
    if parts.is_empty() {
        return;
    }
    let mut titles = vec!["time", "mean"];
    titles.extend(parts.iter().map(|part| part.words()));
    let row = |(name, budget): &(String, result::Budget)| {
        let shares = parts.iter().map(|part| figures::percent(budget.share(*part)));
        [name.clone(), figures::duration(budget.response_ns)].into_iter().chain(shares).collect()
    };
    let rows: Vec<Vec<String>> = budgets.iter().map(row).collect();
    table(out, &titles, 1, &rows);
}

/// What calls spent in each statement.
fn statements(out: &mut String, trial: &Trial) {
    let rows: Vec<Vec<String>> = clocked::rows(trial).into_iter().map(Vec::from).collect();
    if !rows.is_empty() {
        let _ = writeln!(out, "{}.\n", clocked::CAPTION);
        table(out, &clocked::TITLES, 2, &rows);
    }
}

fn costs(out: &mut String, trial: &Trial) {
    let cost = |ms: Option<f64>| {
        ms.map_or_else(|| figures::NONE.to_owned(), |ms| format!("{} ms", figures::short(ms)))
    };
    let of_process = |process: &Process| {
        let peak = figures::bytes(process.rss_peak_bytes);
        vec![process.roles_words(), cost(process.cpu_ms_per_1000_committed), peak]
    };
    let of_kernel = |writeback: &Writeback| {
        let cost = match writeback.cpu_s {
            Some(_) => cost(writeback.cpu_ms_per_1000_committed),
            None => Writeback::HIDDEN.to_owned(),
        };
        vec![Writeback::NAME.to_owned(), cost, figures::NONE.to_owned()]
    };
    let rows: Vec<Vec<String>> =
        trial.processes.iter().map(of_process).chain(trial.writeback.iter().map(of_kernel)).collect();
    table(out, &["process", "CPU / 1000 calls", "memory, peak"], 1, &rows);
}

fn compare(out: &mut String, document: &Document, comparison: &Comparison) {
    let _ = writeln!(
        out,
        "# {} against {}\n",
        escaped(&figures::capital(&comparison.b.label)),
        escaped(&comparison.a.label)
    );
    failures(out, findings::failures_of_all(document));
    if let Some(trial) = document.trials.iter().find(|trial| engine_findings::loud_tier(trial).is_some()) {
        loud_tier(out, trial);
    }
    differences(out, comparison);
    let _ = writeln!(out, "**{}: {}**\n", comparison.verdict.words(), escaped(&comparison.sentence));
    if let Some(confirmation) = &document.confirmation {
        let _ = writeln!(out, "Bottleneck {}.\n", escaped(&confirmation.sentence));
    }
    if let Some(retention) = comparison.retention().filter(|_| comparison.higher_is_better()) {
        let _ =
            writeln!(out, "{}, {}.\n", escaped(&figures::capital(&retention)), escaped(&comparison.metric));
    }
    if let Some(trial) = document.trials.first() {
        let _ = writeln!(out, "{}\n", escaped(&findings::setting_line(trial)));
    }
    let rate = |block: &result::Block, side: Side| {
        block.rate(side).map_or_else(|| figures::NONE.to_owned(), figures::short)
    };
    let rows: Vec<Vec<String>> = comparison
        .blocks
        .iter()
        .enumerate()
        .map(|(i, block)| {
            let ratio = block.ratio.map_or_else(|| figures::NONE.to_owned(), figures::percent);
            vec![(i + 1).to_string(), rate(block, Side::A), rate(block, Side::B), ratio]
        })
        .collect();
    table(out, &["block", &comparison.a.label, &comparison.b.label, "ratio"], 1, &rows);
    budget_change(out, document, comparison);
    let noise = comparison.noise.as_ref().map_or_else(
        || "not run".to_owned(),
        |noise| format!("{}, {} blocks{}", figures::ratio(noise.ratio), noise.blocks, noise.bias_words()),
    );
    let audits: Vec<Check> =
        document.trials.iter().flat_map(|trial| &trial.audits).map(|audit| audit.check).collect();
    let rows = [
        ("ratio, 95 % interval", comparison.ratio.map_or_else(|| figures::NONE.to_owned(), figures::ratio)),
        (
            "smallest effect that could be found",
            comparison.detectable.map_or_else(|| figures::NONE.to_owned(), figures::percent),
        ),
        ("A/A control", noise),
        ("audits of all trials", findings::passed_of(audits.into_iter())),
    ];
    table(out, &["", ""], usize::MAX, &rows.map(|(name, text)| vec![name.to_owned(), text]));
    rules(out, &findings::rules_to_mind_of_all(document));
    if let Some(trial) = document.trials.first() {
        let _ = writeln!(out, "{}\n", escaped(&trial.headline.sentence));
    }
}

fn budget_change(out: &mut String, document: &Document, comparison: &Comparison) {
    let [a, b] = [Side::A, Side::B].map(|side| pooled::side(document, comparison, side).budget);
    let Some((a, b)) = a.zip(b) else {
        return;
    };
    let row = |name: &str, ns_a: f64, ns_b: f64| {
        let change = figures::change(ns_b - ns_a, a.response_ns);
        vec![name.to_owned(), figures::part(ns_a), figures::part(ns_b), change]
    };
    let mut rows: Vec<Vec<String>> = BudgetPart::ALL
        .into_iter()
        .filter(|part| a.part_ns(*part) != 0.0 || b.part_ns(*part) != 0.0)
        .map(|part| row(part.words(), a.part_ns(part), b.part_ns(part)))
        .collect();
    rows.push(row("response time", a.response_ns, b.response_ns));
    table(out, &["time, all calls", &comparison.a.label, &comparison.b.label, "difference"], 1, &rows);
}

/// What differs beside the factor under study: printed above the verdict, because it may explain it.
fn differences(out: &mut String, comparison: &Comparison) {
    let keys = comparison.key_differences.iter().filter(|difference| !difference.intended);
    let mut rows: Vec<Vec<String>> = keys
        .map(|difference| vec![difference.field.clone(), difference.a.clone(), difference.b.clone()])
        .collect();
    let work = comparison
        .fingerprint_differences
        .iter()
        .filter(|difference| !crate::rules::work_is_intended(comparison, &difference.measure));
    rows.extend(work.map(|difference| {
        let [a, b] = figures::both(difference);
        vec![difference.words(), a, b]
    }));
    table(out, &["differs, not intended", &comparison.a.label, &comparison.b.label], usize::MAX, &rows);
}

fn failures(out: &mut String, failures: Vec<Failure>) {
    for failure in failures {
        let _ = writeln!(out, "> **FAILED {}**: {}", escaped(&failure.what), escaped(&failure.sentence));
        for evidence in &failure.evidence {
            let _ = writeln!(out, "> - {}", code(evidence));
        }
        let _ = writeln!(out);
    }
}

fn rules<'a>(out: &mut String, rules: impl IntoIterator<Item = &'a Rule>) {
    let line = |rule: &Rule| {
        let advice = rule.advice.as_ref().map_or_else(String::new, |advice| format!("; {advice}"));
        format!(
            "**{}** ({}): {}{}",
            escaped(&rule.name),
            rule.severity.word(),
            escaped(&rule.sentence),
            escaped(&advice)
        )
    };
    list(out, "To mind", rules.into_iter().map(line));
}

fn list(out: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "## {title}\n");
    for item in items {
        let _ = writeln!(out, "- {item}");
    }
    let _ = writeln!(out);
}

/// A table whose columns are set flush right from `figures_from` on; nothing without a row.
fn table(out: &mut String, titles: &[&str], figures_from: usize, rows: &[Vec<String>]) {
    table_of(out, titles, figures_from..titles.len(), rows);
}

/// The same with words after the figures too.
fn table_of(out: &mut String, titles: &[&str], figures: Range<usize>, rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let titles: Vec<String> = titles.iter().map(|title| escaped(title)).collect();
    let rules: Vec<&str> =
        (0..titles.len()).map(|column| if figures.contains(&column) { "---:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |", titles.join(" | "));
    let _ = writeln!(out, "| {} |", rules.join(" | "));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    let _ = writeln!(out);
}

/// Data as it stands: no markup, no HTML, no new row or line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => out.extend(['\\', char]),
            '\n' | '\r' => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

/// Data as code; a backtick in it would end it early.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r'], " "))
}
