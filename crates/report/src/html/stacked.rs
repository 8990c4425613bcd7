//! Bars of parts that add up.

use super::chart::{Canvas, Hold, Paint, cut_to, names_width};

/// Height of a bar.
const BAR: f64 = 22.0;

/// One bar.
pub(super) struct Bar {
    /// What it is of.
    pub(super) name: String,
    /// Its parts in the order of the legend, each an amount.
    pub(super) parts: Vec<f64>,
    /// What stands at its end.
    pub(super) sum: String,
}

/// The height of a drawing of `count` bars.
pub(super) fn height(count: usize, narrow: bool) -> f64 {
    pitch(narrow) * count as f64 + 6.0
}

fn pitch(narrow: bool) -> f64 {
    if narrow { BAR + 26.0 } else { BAR + 8.0 }
}

/// Draws the bars on one scale; `paints` are indexes into the parts of the time budget.
pub(super) fn draw(canvas: &mut Canvas, bars: &[Bar], paints: &[u8]) {
    let most = bars.iter().map(|bar| bar.parts.iter().sum::<f64>()).fold(f64::MIN_POSITIVE, f64::max);
    let left = if canvas.narrow { 2.0 } else { names_width(bars.iter().map(|bar| bar.name.as_str())) };
    let right = if canvas.narrow { canvas.width - 2.0 } else { canvas.width - 92.0 };
    for (i, bar) in bars.iter().enumerate() {
        let top = pitch(canvas.narrow) * i as f64 + if canvas.narrow { 22.0 } else { 4.0 };
        let mut from = left;
        for (part, paint) in bar.parts.iter().zip(paints.iter().cycle()) {
            let to = from + part.max(0.0) / most * (right - left);
            // The gap between neighbours tells them apart without colour.
            let gap = if to - from > 3.0 { 1.0 } else { 0.0 };
            if to - from >= 0.4 {
                canvas.bar((from, top), (to - gap, top + BAR), Paint::Part(*paint), 1.0);
            }
            from = to;
        }
        if canvas.narrow {
            let room = canvas.width - 12.0 - bar.sum.chars().count() as f64 * 6.4;
            canvas.text((left, top - 10.0), &cut_to(&bar.name, room), Paint::Ink, Hold::Left);
            canvas.text((right, top - 10.0), &bar.sum, Paint::Muted, Hold::Right);
        } else {
            canvas.text(
                (left - 14.0, top + BAR / 2.0),
                &cut_to(&bar.name, left - 16.0),
                Paint::Ink,
                Hold::Right,
            );
            canvas.text((from + 10.0, top + BAR / 2.0), &bar.sum, Paint::Muted, Hold::Left);
        }
    }
}
