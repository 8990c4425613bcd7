//! The verdict as a picture: the ratio of each block, the interval, the A/A control.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale, cut_to, round_step};
use super::markup::{Markup, Table};
use crate::figures;
use result::{Comparison, Side};

/// Height of the row of one block.
const ROW: f64 = 22.0;
/// Where the first row is.
const TOP: f64 = 18.0;

/// Writes the picture; nothing without a ratio.
pub(super) fn render(markup: &mut Markup, comparison: &Comparison) {
    let Some(ratio) = comparison.ratio else {
        return;
    };
    let mut legend = vec![
        Key { swatch: "dot s1".to_owned(), name: "one block".to_owned() },
        Key { swatch: "line s2".to_owned(), name: "all blocks, 95\u{a0}% interval".to_owned() },
    ];
    if comparison.noise.is_some() {
        legend.push(Key { swatch: "noise".to_owned(), name: "A/A control, 95\u{a0}% interval".to_owned() });
    }
    let caption = format!(
        "{} as a share of {}, {}. {} of 100\u{a0}% is better.",
        figures::capital(&comparison.b.label),
        comparison.a.label,
        comparison.metric,
        if comparison.higher_is_better() { "Right" } else { "Left" }
    );
    let figure = Figure {
        title: "Ratio of each block",
        caption: &caption,
        description: format!(
            "Ratio of {} to {}: {}.",
            comparison.b.label,
            comparison.a.label,
            figures::ratio(ratio)
        ),
        legend,
        readout: None,
    };
    figure.write(
        markup,
        |_| TOP + ROW * rows(comparison) + 30.0,
        |canvas| {
            draw(canvas, comparison);
            None
        },
    );
    table(markup, comparison);
}

/// The height of the picture in rows: the blocks, all of them together, and the control.
fn rows(comparison: &Comparison) -> f64 {
    comparison.blocks.len() as f64 + if comparison.noise.is_some() { 2.8 } else { 1.6 }
}

/// The span of the axis: everything there is to show, 100 %, and some air.
fn ends(comparison: &Comparison) -> (f64, f64) {
    let intervals = comparison.ratio.iter().chain(comparison.noise.as_ref().map(|noise| &noise.ratio));
    let shown: Vec<f64> = intervals
        .flat_map(|interval| [Some(interval.value), interval.low, interval.high])
        .flatten()
        .chain(comparison.blocks.iter().filter_map(|block| block.ratio))
        .chain(comparison.loss_max.map(|loss| limit(comparison, loss)))
        .chain([1.0])
        .collect();
    let low = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let high = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let step = round_step(((high - low) / 6.0).max(0.005));
    (((low - step * 0.4) / step).floor() * step, ((high + step * 0.4) / step).ceil() * step)
}

fn draw(canvas: &mut Canvas, comparison: &Comparison) {
    let (left, right) = (if canvas.narrow { 74.0 } else { 172.0 }, canvas.width - 24.0);
    let x = Scale::linear(ends(comparison), (left, right));
    let blocks = comparison.blocks.len() as f64;
    let bottom = TOP + ROW * rows(comparison);
    if let Some(noise) = &comparison.noise
        && let (Some(low), Some(high)) = (noise.ratio.low, noise.ratio.high)
    {
        canvas.bar((x.at(low), 4.0), (x.at(high), bottom), Paint::Noise, 1.0);
    }
    for tick in x.ticks(if canvas.narrow { 4 } else { 8 }) {
        canvas.line(&[(x.at(tick), 4.0), (x.at(tick), bottom)], Paint::Grid, 1.0);
        let label = format!("{}\u{a0}%", figures::trimmed(tick * 100.0, 1));
        canvas.text((x.at(tick), bottom + 15.0), &label, Paint::Muted, Hold::Middle);
    }
    canvas.line(&[(x.at(1.0), 4.0), (x.at(1.0), bottom)], Paint::Ink, 1.4);
    if let Some(loss) = comparison.loss_max {
        let at = x.at(limit(comparison, loss));
        canvas.line(&[(at, 4.0), (at, bottom)], Paint::Bad, 1.4);
    }
    for (i, block) in comparison.blocks.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        let name = format!("block {} ({})", i + 1, block.order());
        let name = if canvas.narrow { format!("block {}", i + 1) } else { name };
        canvas.text((left - 14.0, y), &name, Paint::Muted, Hold::Right);
        if let Some(ratio) = block.ratio {
            canvas.line(&[(x.at(1.0), y), (x.at(ratio), y)], Paint::Series(1), 1.0);
            canvas.dot((x.at(ratio), y), 4.5, Paint::Series(1));
        }
    }
    if let Some(ratio) = comparison.ratio {
        let y = TOP + ROW * (blocks + 0.6);
        canvas.text((left - 14.0, y), "all blocks", Paint::Ink, Hold::Right);
        canvas.interval(x, y, ratio, Paint::Series(2));
    }
    if let Some(noise) = &comparison.noise {
        let y = TOP + ROW * (blocks + 1.8);
        let name = if canvas.narrow { "A/A".to_owned() } else { format!("{} again", comparison.a.label) };
        canvas.text((left - 14.0, y), &cut_to(&name, left - 16.0), Paint::Muted, Hold::Right);
        canvas.interval(x, y, noise.ratio, Paint::Muted);
    }
}

/// Where the permitted loss ends.
fn limit(comparison: &Comparison, loss: f64) -> f64 {
    if comparison.higher_is_better() { 1.0 - loss } else { 1.0 + loss }
}

fn table(markup: &mut Markup, comparison: &Comparison) {
    let titles = ["block", "order", comparison.a.label.as_str(), comparison.b.label.as_str(), "ratio"];
    let caption = format!("Blocks, in {}", comparison.metric);
    let mut table = Table::new(&caption, &titles, 2..5);
    for (i, block) in comparison.blocks.iter().enumerate() {
        let rate = |side: Side| block.rate(side).map_or_else(|| figures::NONE.to_owned(), figures::short);
        table.row(vec![
            (i + 1).to_string().into(),
            block.order().into(),
            rate(Side::A).into(),
            rate(Side::B).into(),
            block.ratio.map_or_else(|| figures::NONE.to_owned(), figures::percent).into(),
        ]);
    }
    markup.table(&table);
}
