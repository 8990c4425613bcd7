//! An experiment in Markdown that fits into a pull request: the answer, one table, the rest folded away.

use super::{code, escaped, failures, table};
use crate::variants::{self, Row, Standing};
use crate::{figures, findings};
use result::{Document, Experiment, Verdict};
use std::fmt::Write as _;

pub(super) fn experiment(out: &mut String, document: &Document, experiment: &Experiment) {
    let rows = variants::rows(document, experiment);
    let _ = writeln!(out, "### {}\n", escaped(variants::title(experiment)));
    failures(out, rows.iter().flat_map(Row::failures).collect());
    let unintended: Vec<Vec<String>> = rows
        .iter()
        .filter(|row| row.standing.is_measured())
        .flat_map(|row| {
            let name = row.variant.name.clone();
            row.unintended().into_iter().map(move |[field, a, b]| vec![name.clone(), field, a, b])
        })
        .collect();
    table(out, &["variant", "differs, not intended", "base", "variant"], usize::MAX, &unintended);
    if let Some((first, rest)) = experiment.answer.split_first() {
        let _ = writeln!(out, "**{}**\n", escaped(first));
        for sentence in rest {
            let _ = writeln!(out, "- {}", escaped(sentence));
        }
        if !rest.is_empty() {
            let _ = writeln!(out);
        }
    }
    overview(out, experiment, &rows);
    let _ = writeln!(out, "{}\n", escaped(&variants::confidence(&rows).join(" ")));
    details(out, document, experiment, &rows);
}

fn overview(out: &mut String, experiment: &Experiment, rows: &[Row<'_>]) {
    let none = || figures::NONE.to_owned();
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.label(),
                verdict(row),
                row.mean.map_or_else(none, figures::with_margin),
                row.effect.map_or_else(none, variants::effect_words),
            ]
        })
        .collect();
    table(out, &["variant", "verdict", &experiment.metric.unit, "effect, 95 %"], 2, &lines);
}

/// The verdict with a sign that is seen in a list of many.
fn verdict(row: &Row<'_>) -> String {
    let sign = match row.standing {
        Standing::Held(Verdict::Better) => "✓ ",
        Standing::Held(Verdict::Worse) => "▼ ",
        Standing::Held(Verdict::NoDifference) => "= ",
        Standing::Held(Verdict::CannotTell) => "? ",
        Standing::Held(Verdict::DifferentWork) | Standing::Void | Standing::NotStarted => "✕ ",
        Standing::Base | Standing::Control => "",
    };
    match row.standing.is_measured() {
        true => format!("{sign}{}", row.standing.words()),
        false => format!("{sign}{}: {}", row.standing.words(), row.reason()),
    }
}

/// Set-up, checks and costs, folded away.
fn details(out: &mut String, document: &Document, experiment: &Experiment, rows: &[Row<'_>]) {
    let _ = writeln!(out, "<details><summary>Set-up, audits and costs</summary>\n");
    let _ = writeln!(
        out,
        "{}: {}.\n",
        escaped(&experiment.name),
        escaped(&variants::common_line(document, experiment))
    );
    let told: Vec<&Row<'_>> = rows.iter().filter(|row| !row.pooled.trials.is_empty()).collect();
    let lines: Vec<Vec<String>> = told
        .iter()
        .map(|row| {
            let settings: Vec<String> = row
                .variant
                .settings
                .iter()
                .map(|setting| format!("{}={}", setting.name, setting.value))
                .collect();
            let trial = row.pooled.trials[0];
            vec![
                row.variant.name.clone(),
                row.variant.subject.clone(),
                settings.join(", "),
                format!("{} {}", trial.stack.engine, trial.stack.engine_version),
                trial.stack.durability.word().to_owned(),
            ]
        })
        .collect();
    table(out, &["variant", "subject", "asked for", "engine", "durability"], usize::MAX, &lines);
    let lines: Vec<Vec<String>> = told
        .iter()
        .map(|row| {
            let mut line = vec![row.variant.name.clone()];
            line.extend(row.checks().into_iter().map(|(_, words, _)| words));
            let cost = row.pooled.cpu_ms_per_1000(None);
            line.push(
                cost.map_or_else(|| figures::NONE.to_owned(), |ms| format!("{} ms", figures::short(ms))),
            );
            line
        })
        .collect();
    let titles = ["variant", "audits", "ledger", "inputs", "conformance", "CPU / 1000 calls"];
    table(out, &titles, 5, &lines);
    let rules = findings::rules_to_mind_of_all(document);
    for rule in &rules {
        let _ = writeln!(out, "- **{}**: {}", escaped(&rule.name), escaped(&rule.sentence));
    }
    if !rules.is_empty() {
        let _ = writeln!(out);
    }
    if experiment.spent.total_s > 0.0 {
        let parts: Vec<String> = variants::spent(experiment)
            .iter()
            .map(|(name, s)| format!("{name} {}", variants::wall(*s)))
            .collect();
        let _ =
            writeln!(out, "It took {}: {}.\n", variants::wall(experiment.spent.total_s), parts.join(", "));
    }
    if let Some(trial) = document.trials.first() {
        let machine = &trial.machine;
        let _ = writeln!(
            out,
            "{}, {} processors, {}, {}. {}\n",
            escaped(&machine.cpu),
            machine.cores,
            escaped(&machine.os),
            code(&machine.kernel),
            escaped(&trial.headline.sentence)
        );
    }
    let _ = writeln!(out, "</details>\n");
}
