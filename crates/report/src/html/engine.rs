//! What the engine said of itself: its waits over time, and its counters.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::{Cell, Markup, Table};
use crate::{engine_findings, figures};
use result::{Engine, Trial, Wait};

/// States with a line of their own: as many as there are colours for lines.
const LINES: usize = 3;

/// Writes what must be said before a number of this tier is read.
pub(super) fn loud_tier(markup: &mut Markup, trial: &Trial) {
    if let Some((label, meaning)) = engine_findings::loud_tier(trial) {
        markup.element("div", &[("class", "alarm"), ("role", "note")], |alarm| {
            alarm.line("h2", "", label).line("p", "", &format!("{}.", figures::capital(meaning)));
        });
    }
}

/// Writes how calls shared commits, where they can.
pub(super) fn grouping(section: &mut Markup, trial: &Trial) {
    if let Some(grouping) = engine_findings::grouping(trial) {
        section.line("p", "", &format!("{grouping}."));
    }
}

/// Writes the likely bottleneck.
pub(super) fn bottleneck(section: &mut Markup, trial: &Trial) {
    if let Some(bottleneck) = crate::bottleneck(trial) {
        section.line("p", "", &format!("{}.", figures::capital(&bottleneck.sentence)));
    }
}

/// Writes waits and gauges; nothing where the engine was not asked.
pub(super) fn render(section: &mut Markup, trial: &Trial) {
    let Some(engine) = &trial.engine else { return };
    if engine.looks > 0 {
        chart(section, engine);
        waits(section, engine);
    }
    gauges(section, trial);
    statements(section, engine);
    if engine.missing_s >= 1.0 {
        let sentence = format!("The engine did not answer for {}.", figures::seconds(engine.missing_s));
        section.line("p", "caption", &sentence);
    }
}

fn waits(section: &mut Markup, engine: &Engine) {
    let caption = format!("What its sessions did, from {} looks", figures::count(engine.looks));
    let mut table = Table::new(&caption, &["state", "share of time", "which is"], 1..2);
    for wait in engine_findings::top_waits(engine) {
        table.row(vec![
            wait.name.as_str().into(),
            figures::percent(wait.share).into(),
            engine_findings::meaning(&wait.name).into(),
        ]);
    }
    section.table(&table);
}

fn gauges(section: &mut Markup, trial: &Trial) {
    let gauges = engine_findings::gauges(trial);
    if gauges.is_empty() {
        return;
    }
    let mut table = Table::new("What it counted", &["of", "what", "in all", "rate"], 2..4);
    for gauge in gauges {
        table.row(gauge.into_iter().map(Cell::from).collect());
    }
    section.folded_table("Its own counters", &table);
}

fn statements(section: &mut Markup, engine: &Engine) {
    if engine.statements.is_empty() {
        return;
    }
    let titles = ["statement", "time in it", "executions", "rows"];
    let mut table = Table::new("The statements that took the most time", &titles, 1..4);
    for statement in &engine.statements {
        table.row(vec![
            statement.text.as_str().into(),
            figures::duration(statement.total_ms * 1e6).into(),
            figures::count(statement.calls).into(),
            figures::count(statement.rows).into(),
        ]);
    }
    section.folded_table("Its statements", &table);
}

fn chart(section: &mut Markup, engine: &Engine) {
    let lines: Vec<&Wait> = engine.waits.iter().take(LINES).collect();
    if engine.t_s.len() < 2 || lines.is_empty() {
        return;
    }
    let names: Vec<&str> = lines.iter().map(|wait| wait.name.as_str()).collect();
    let figure = Figure {
        title: "What the engine's sessions did",
        caption: "Sessions in each of the most frequent states, on average; sessions that wait for their client are not counted.",
        description: format!("Line chart of sessions in {} over time.", names.join(", ")),
        legend: names
            .iter()
            .enumerate()
            .map(|(i, name)| Key { swatch: format!("line s{}", i + 1), name: (*name).to_owned() })
            .collect(),
        readout: Some(Readout {
            positions: engine.t_s.clone(),
            labels: engine.t_s.iter().map(|t_s| figures::seconds(t_s.round())).collect(),
            values: lines
                .iter()
                .map(|wait| {
                    let cell = |at: usize| wait.sessions.get(at).copied().flatten();
                    let word = |value: Option<f64>| {
                        value.map_or_else(|| figures::NONE.to_owned(), |value| figures::trimmed(value, 1))
                    };
                    (0..engine.t_s.len()).map(|at| word(cell(at))).collect()
                })
                .collect(),
        }),
    };
    figure.write(section, |_| 190.0, |canvas| draw(canvas, engine, &lines));
}

fn draw(canvas: &mut Canvas, engine: &Engine, lines: &[&Wait]) -> Option<Scale> {
    let (first, last) = (*engine.t_s.first()?, *engine.t_s.last()?);
    let most = lines.iter().flat_map(|wait| wait.sessions.iter().flatten()).copied().fold(1.0, f64::max);
    let (top, bottom) = (12.0, 160.0);
    let x = Scale::linear((first, last), (if canvas.narrow { 30.0 } else { 64.0 }, canvas.width - 12.0));
    let y = Scale::linear((0.0, most * 1.04), (bottom, top));
    if first < 0.0 {
        canvas.bar((x.at(first), top), (x.at(0.0), bottom), Paint::Shade, 1.0);
    }
    for tick in y.ticks(4) {
        canvas.line(&[(x.at(first), y.at(tick)), (x.at(last), y.at(tick))], Paint::Grid, 1.0);
        canvas.text((x.at(first) - 7.0, y.at(tick)), &figures::trimmed(tick, 1), Paint::Muted, Hold::Right);
    }
    for tick in x.ticks(if canvas.narrow { 5 } else { 10 }) {
        let hold = if x.at(tick) > canvas.width - 26.0 { Hold::Right } else { Hold::Middle };
        canvas.text((x.at(tick), bottom + 15.0), &figures::seconds(tick), Paint::Muted, hold);
    }
    for (i, wait) in lines.iter().enumerate() {
        let steps: Vec<_> = engine.t_s.iter().zip(&wait.sessions).collect();
        // A step in which nobody looked breaks the line.
        for run in steps.chunk_by(|a, b| a.1.is_some() == b.1.is_some()) {
            let points: Vec<_> =
                run.iter().filter_map(|(t_s, sessions)| Some((x.at(**t_s), y.at((**sessions)?)))).collect();
            if points.len() > 1 {
                canvas.line(&points, Paint::Series(i as u8 + 1), 1.8);
            }
        }
    }
    Some(x)
}
