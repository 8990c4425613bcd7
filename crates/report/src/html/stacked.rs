//! Bars of parts that add up.

use super::chart::{Canvas, Figure, Hold, Key, Paint, cut_to, names_width};
use super::markup::Markup;
use crate::variants;
use judge::figures;
use result::Experiment;

/// Colours for processes, as indexes into the parts of the time budget; the generator's is the quietest.
const PROCESS_PAINTS: [u8; 5] = [0, 1, 6, 4, 7];
/// Colours for where the time of an experiment went.
const SPENT_PAINTS: [u8; 5] = [6, 4, 5, 7, 8];

/// Height of a bar.
const BAR: f64 = 22.0;

pub(crate) struct Bar {
    pub(crate) name: String,
    /// Its parts in the order of the legend.
    pub(crate) parts: Vec<Segment>,
    /// What stands at its end.
    pub(crate) sum: String,
}

/// A part of a bar.
pub(crate) struct Segment {
    pub(crate) amount: f64,
    /// Its name and the amount: `engine: 846 ms`.
    pub(crate) words: String,
}

/// Draws CPU time a thousand calls, a bar a variant and a part for processes with the same roles.
pub(crate) fn costs(markup: &mut Markup, bars: &[Bar], roles: &[String]) {
    let told: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.name, bar.sum)).collect();
    let figure = Figure {
        title: "CPU time per 1,000 committed calls",
        caption: "An embedded engine shares its process with the generator or the server.",
        description: format!("Stacked bars of CPU time by process. {}.", told.join("; ")),
        legend: legend(roles, &PROCESS_PAINTS),
    };
    write(markup, &figure, bars, &PROCESS_PAINTS);
}

/// Draws where the time of an experiment of so many trials went.
pub(crate) fn spent(markup: &mut Markup, experiment: &Experiment, trials: usize) {
    let parts = variants::spent(experiment);
    let restore_s = experiment.spent.restore_s / trials.max(1) as f64;
    let mut caption = format!("Restoring took {} per trial.", figures::duration(restore_s * 1e9));
    if let Some(share) = variants::overhead(experiment) {
        let sentence = format!(" {} of the time was neither measuring nor loading.", figures::percent(share));
        caption.push_str(&sentence);
    }
    let told: Vec<String> = parts.iter().map(|(name, s)| format!("{name}, {}", variants::wall(*s))).collect();
    let figure = Figure {
        title: "Where the time of the experiment went",
        caption: &caption,
        description: format!("A stacked bar: {}.", told.join("; ")),
        legend: legend(&told, &SPENT_PAINTS),
    };
    let bar = Bar {
        name: format!("{trials} trials"),
        parts: parts
            .iter()
            .zip(&told)
            .map(|((_, s), words)| Segment { amount: *s, words: words.clone() })
            .collect(),
        sum: variants::wall(experiment.spent.total_s),
    };
    write(markup, &figure, &[bar], &SPENT_PAINTS);
}

fn legend(names: &[String], paints: &[u8]) -> Vec<Key> {
    let key = |(name, paint): (&String, &u8)| Key::new(format!("p{paint}"), name.clone());
    names.iter().zip(paints.iter().cycle()).map(key).collect()
}

fn write(markup: &mut Markup, figure: &Figure<'_>, bars: &[Bar], paints: &[u8]) {
    figure.draw(
        markup,
        |narrow| pitch(narrow) * bars.len() as f64 + 6.0,
        |canvas| draw(canvas, bars, paints),
    );
}

fn pitch(narrow: bool) -> f64 {
    if narrow { BAR + 26.0 } else { BAR + 8.0 }
}

/// Draws the bars on one scale; `paints` are indexes into the parts of the time budget.
fn draw(canvas: &mut Canvas, bars: &[Bar], paints: &[u8]) {
    let sum = |bar: &Bar| bar.parts.iter().map(|part| part.amount).sum::<f64>();
    let most = bars.iter().map(sum).fold(f64::MIN_POSITIVE, f64::max);
    let left = if canvas.narrow { 2.0 } else { names_width(bars.iter().map(|bar| bar.name.as_str())) };
    let right = if canvas.narrow { canvas.width - 2.0 } else { canvas.width - 92.0 };
    for (i, bar) in bars.iter().enumerate() {
        let top = pitch(canvas.narrow) * i as f64 + if canvas.narrow { 22.0 } else { 4.0 };
        let mut from = left;
        for (part, paint) in bar.parts.iter().zip(paints.iter().cycle()) {
            let to = from + part.amount.max(0.0) / most * (right - left);
            // The gap between neighbours distinguishes them without colour.
            let gap = if to - from > 3.0 { 1.0 } else { 0.0 };
            if to - from >= 0.4 {
                canvas.mark(
                    &format!("{}, {}", bar.name, part.words),
                    (from, top),
                    (to - gap, top + BAR),
                    |canvas| {
                        canvas.bar((from, top), (to - gap, top + BAR), Paint::Part(*paint), 1.0);
                    },
                );
            }
            from = to;
        }
        if canvas.narrow {
            let room = canvas.width - 12.0 - bar.sum.chars().count() as f64 * 6.4;
            canvas.text((left, top - 10.0), &cut_to(&bar.name, room), Paint::Ink, Hold::Left);
            canvas.text((right, top - 10.0), &bar.sum, Paint::Muted, Hold::Right);
        } else {
            canvas.name(left, top + BAR / 2.0, &bar.name);
            canvas.text((from + 10.0, top + BAR / 2.0), &bar.sum, Paint::Muted, Hold::Left);
        }
    }
}
