//! What the sessions of the engine waited for, over time.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::Markup;
use crate::figures;
use result::{Engine, Wait};

/// States with a line of their own: as many as there are colours for lines.
const LINES: usize = 3;

/// Draws the states that sessions were in most; nothing where nobody looked.
pub(crate) fn chart(section: &mut Markup, engine: &Engine) {
    let lines: Vec<&Wait> = engine.waits.iter().take(LINES).collect();
    if engine.looks == 0 || engine.t_s.len() < 2 || lines.is_empty() {
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
