//! Load curves and searches in Markdown.

use super::{escaped, failures, rules, table, table_of};
use crate::{curve, figures, findings};
use result::{Axis, Curve, Document, Search};
use std::fmt::Write as _;

/// A sweep.
pub(super) fn sweep(out: &mut String, document: &Document, found: &Curve) {
    let _ = writeln!(out, "# {} under rising load\n", escaped(&document.subjects.join(" and ")));
    failures(out, findings::failures_of_all(document));
    let _ = writeln!(out, "**{}**\n", escaped(&found.sentence));
    if let Some(knee) = &found.knee {
        let _ = writeln!(out, "{}\n", escaped(&knee.sentence));
    }
    let unit = curve::unit_of(&found.points, &document.trials);
    let shown = |column: &usize| found.axis == Axis::Rate || *column != curve::SERVED;
    let mut titles = curve::TITLES;
    titles[1] = unit;
    let titles: Vec<&str> = (0..titles.len()).filter(shown).map(|column| titles[column]).collect();
    let rows = curve::rows(found, &document.trials).into_iter().map(|row| {
        let cells = row.into_iter().enumerate().filter(|(column, _)| shown(column));
        cells.map(|(_, text)| text).collect()
    });
    // Who was full is the last column.
    table_of(out, &titles, 1..titles.len() - 1, &rows.collect::<Vec<Vec<String>>>());
    if let Some(fit) = &found.fit {
        let _ = writeln!(out, "## Universal Scalability Law\n");
        let rows: Vec<Vec<String>> = curve::parameters(fit, unit).into_iter().map(Vec::from).collect();
        table(out, &["", "value (95 % interval)", "meaning"], usize::MAX, &rows);
    }
    closing(out, document);
}

/// A search.
pub(super) fn search(out: &mut String, document: &Document, found: &Search) {
    let subjects = escaped(&document.subjects.join(" and "));
    let _ = writeln!(out, "# {subjects} within {}\n", escaped(&found.slo));
    failures(out, findings::failures_of_all(document));
    let _ = writeln!(out, "**{}**\n", escaped(&found.sentence));
    if let Some(gives_out) = &found.gives_out {
        let _ = writeln!(out, "{}\n", escaped(gives_out));
    }
    let rows: Vec<Vec<String>> = found
        .steps
        .iter()
        .enumerate()
        .map(|(i, step)| {
            vec![
                (i + 1).to_string(),
                figures::trimmed(step.rate_per_s, 1),
                if step.kept { "kept" } else { "broken" }.to_owned(),
                figures::remarks(step).join(", "),
                step.why.clone(),
            ]
        })
        .collect();
    table_of(out, &["step", "rate/s", "outcome", "", "why"], 1..2, &rows);
    closing(out, document);
}

fn closing(out: &mut String, document: &Document) {
    let audits = document.trials.iter().flat_map(|trial| &trial.audits).map(|audit| audit.check);
    let _ = writeln!(out, "Audits of all trials: {}\n", findings::passed_of(audits));
    rules(out, &findings::rules_to_mind_of_all(document));
}
