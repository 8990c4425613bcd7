//! The values behind the ratios: a dot a block and the mean of each variant.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale, cut_to, names_width};
use super::forest;
use super::markup::Markup;
use crate::variants::{ByMetric, VariantRow};
use judge::figures;

/// A span of values beyond this factor is drawn in powers of ten.
const LINEAR_MAX: f64 = 25.0;

/// Writes the picture; nothing without a value.
pub(crate) fn render(markup: &mut Markup, by: &ByMetric<'_>) {
    let rows: Vec<&VariantRow<'_>> = by.shown().filter(|row| row.mean.is_some()).collect();
    if rows.is_empty() {
        return;
    }
    let unit = by.metric.column();
    let caption = "Geometric means with their 95\u{a0}% intervals. A slow block is slow for all variants, so values \
                   scatter more than ratios do; differences are judged by the ratios.";
    let told: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", row.label(), figures::with_margin(row.mean?))))
        .collect();
    let title = figures::capital(&unit);
    let figure = Figure {
        title: &title,
        caption,
        description: format!("Values of each variant in {unit}. {}.", told.join("; ")),
        legend: vec![Key::new("dot faint", "one block"), Key::new("diamond none-told", "all blocks")],
    };
    let pitch = |narrow: bool| if narrow { 46.0 } else { 30.0 };
    figure.draw(
        markup,
        |narrow| pitch(narrow) * rows.len() as f64 + 34.0,
        |canvas| draw(canvas, &rows, pitch(canvas.narrow)),
    );
}

fn draw(canvas: &mut Canvas, rows: &[&VariantRow<'_>], pitch: f64) {
    let all = || {
        let means =
            rows.iter().filter_map(|row| row.mean).flat_map(|mean| [Some(mean.value), mean.low, mean.high]);
        means
            .chain(rows.iter().flat_map(|row| row.values.iter().copied()))
            .flatten()
            .filter(|value| *value > 0.0)
    };
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let (left, right) = if canvas.narrow {
        (8.0, canvas.width - 12.0)
    } else {
        (names_width(rows.iter().map(|row| row.label())), canvas.width - 132.0)
    };
    let x = if most / least > LINEAR_MAX {
        Scale::log((least * 0.8, most * 1.2), (left, right))
    } else {
        Scale::linear((0.0, most * 1.05), (left, right))
    };
    let bottom = 6.0 + pitch * rows.len() as f64;
    let ticks = x.ticks(if canvas.narrow { 4 } else { 7 });
    for tick in &ticks {
        canvas.line(&[(x.at(*tick), 6.0), (x.at(*tick), bottom)], Paint::Grid, 1.0);
    }
    canvas.below(x, &ticks, bottom + 15.0, &figures::short);
    for (i, row) in rows.iter().enumerate() {
        let top = 6.0 + pitch * i as f64;
        let y = if canvas.narrow { top + 32.0 } else { top + pitch / 2.0 };
        let Some(mean) = row.mean else { continue };
        let words = figures::with_margin(mean);
        let tip = format!("{}: {words}", row.label());
        canvas.mark(&tip, (0.0, top), (canvas.width, top + pitch), |canvas| {
            if canvas.narrow {
                let room = canvas.width - 30.0 - words.chars().count() as f64 * 6.4;
                canvas.text((left, top + 13.0), &cut_to(&row.label(), room), Paint::Ink, Hold::Left);
                canvas.text((right, top + 13.0), &words, Paint::Muted, Hold::Right);
            } else {
                canvas.name(left, y, &row.label());
                canvas.text((canvas.width - 4.0, y), &words, Paint::Muted, Hold::Right);
            }
            canvas.interval(x, y, mean, forest::paint(row.status));
            for value in row.values.iter().flatten() {
                canvas.dot((x.at(*value), y + 9.0), 2.2, Paint::Muted);
            }
        });
    }
}
