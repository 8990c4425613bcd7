//! The answer of an experiment as one picture: for each variant the ratio to its base on a common axis.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale, cut_to, names_width, round_step};
use super::markup::Markup;
use crate::variants::{ByMetric, RowStatus, VariantRow, effect_words};
use result::Verdict;

/// Where the first row is.
const TOP: f64 = 10.0;
/// Height of a row that has nothing but words.
const WORDS: f64 = 26.0;
/// The least width of the band of noise that can be seen behind the line of 100 %.
const BAND_MIN: f64 = 7.0;
/// A span of effects beyond this factor is drawn in powers of ten.
const LINEAR_MAX: f64 = 3.5;

/// Places of one width.
struct Places {
    left: f64,
    right: f64,
    pitch: f64,
    /// How much of a row stands above its picture: words, on a narrow screen.
    words: f64,
}

/// Height of a row.
fn pitch(narrow: bool) -> f64 {
    if narrow { 62.0 } else { 34.0 }
}

fn places(canvas: &Canvas, rows: &[&VariantRow<'_>], is_told: bool) -> Places {
    let (pitch, width) = (pitch(canvas.narrow), canvas.width);
    if canvas.narrow {
        Places { left: 8.0, right: width - 8.0, pitch, words: 36.0 }
    } else {
        let left = names_width(rows.iter().map(|row| row.label()));
        Places { left, right: width - if is_told { 272.0 } else { 132.0 }, pitch, words: 0.0 }
    }
}

/// Writes the picture; nothing without a ratio. `is_told` where its figures are to stand in it.
pub(crate) fn render(markup: &mut Markup, by: &ByMetric<'_>, is_told: bool) {
    // Of several bases, the band of each A/A control is enough.
    let is_only_base = by.shown().filter(|row| row.variant.base.is_none()).count() == 1;
    let is_drawn =
        |row: &&VariantRow<'_>| is_only_base || !matches!(row.status, RowStatus::Base | RowStatus::Control);
    let (metric, rows) = (by.metric, by.shown().filter(is_drawn).collect::<Vec<_>>());
    if rows.iter().all(|row| row.effect.is_none()) {
        return;
    }
    let (measured, invalid): (Vec<&VariantRow<'_>>, Vec<&VariantRow<'_>>) =
        rows.iter().copied().partition(|row| row.status.is_measured());
    let mut legend = vec![
        Key::new("diamond better", "better"),
        Key::new("diamond worse", "worse"),
        Key::new("diamond none-told", "neither"),
        Key::new("dot faint", "one block"),
    ];
    if rows.iter().any(|row| row.status == RowStatus::Compared(Verdict::NotComparable)) {
        let key = Key::new("diamond bad-told", "not comparable");
        legend.insert(3, key);
    }
    if rows.iter().any(|row| row.noise.is_some()) {
        legend.push(Key::new("noise", "A/A control, 95\u{a0}% interval"));
    }
    let better = if metric.higher_is_better { "Right" } else { "Left" };
    let caption = format!(
        "{} ({}) relative to the base of each variant, with 95\u{a0}% intervals. {better} of 100\u{a0}% is better.{}",
        judge::figures::capital(metric.words()),
        metric.unit,
        if axis(&measured).1 { " Logarithmic axis." } else { "" }
    );
    let title = format!("Effect of each variant on {}", metric.words());
    let figure = Figure { title: &title, caption: &caption, description: description(&rows), legend };
    figure.draw(
        markup,
        |narrow| TOP + pitch(narrow) * measured.len() as f64 + 30.0 + WORDS * invalid.len() as f64,
        |canvas| draw(canvas, &measured, &invalid, metric.higher_is_better, is_told),
    );
}

fn description(rows: &[&VariantRow<'_>]) -> String {
    let told: Vec<String> = rows
        .iter()
        .map(|row| match row.effect {
            Some(effect) => format!("{}: {}, {}", row.label(), effect_words(effect), row.status.words()),
            None => format!("{}: {}", row.label(), row.status.words()),
        })
        .collect();
    format!("Effects with their intervals around 100\u{a0}%. {}.", told.join("; "))
}

/// The ends of the axis: everything there is to show, 100 %, and some air; and whether it is in powers of ten.
fn axis(rows: &[&VariantRow<'_>]) -> ((f64, f64), bool) {
    let intervals = rows.iter().flat_map(|row| row.effect.into_iter().chain(row.noise));
    let blocks = rows.iter().filter_map(|row| row.comparison).flat_map(|comparison| &comparison.blocks);
    let losses =
        rows.iter().filter_map(|row| row.comparison?.loss_max).flat_map(|loss| [1.0 - loss, 1.0 + loss]);
    let (low, high) = intervals
        .flat_map(|interval| [Some(interval.value), interval.low, interval.high])
        .flatten()
        .chain(blocks.filter_map(|block| block.ratio))
        .chain(losses)
        .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
        .fold((1.0_f64, 1.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    if high / low > LINEAR_MAX {
        return ((low * 0.85, high * 1.18), true);
    }
    let step = round_step(((high - low) / 6.0).max(0.005));
    let ends = (((low - step * 0.4) / step).floor() * step, ((high + step * 0.4) / step).ceil() * step);
    (ends, false)
}

fn draw(
    canvas: &mut Canvas,
    rows: &[&VariantRow<'_>],
    invalid: &[&VariantRow<'_>],
    higher_is_better: bool,
    is_told: bool,
) {
    let places = places(canvas, &[rows, invalid].concat(), is_told);
    let (ends, is_log) = axis(rows);
    let span = (places.left, places.right);
    let x = if is_log { Scale::log(ends, span) } else { Scale::linear(ends, span) };
    let bottom = TOP + places.pitch * rows.len() as f64;
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + places.pitch * i as f64;
        if let Some((low, high)) = row.noise.and_then(|noise| Some((noise.low?, noise.high?))) {
            let air = ((BAND_MIN - (x.at(high) - x.at(low))) / 2.0).max(0.0);
            let (from, to) = ((x.at(low) - air, top + places.words), (x.at(high) + air, top + places.pitch));
            canvas.bar(from, to, Paint::Noise, 1.0);
        }
        if i > 0 {
            let from = if canvas.narrow { places.left } else { 0.0 };
            let to = if canvas.narrow { places.right } else { canvas.width };
            canvas.line(&[(from, top), (to, top)], Paint::Grid, 1.0);
        }
    }
    let ticks = x.ticks(if canvas.narrow { if is_log { 6 } else { 4 } } else { 8 });
    for tick in &ticks {
        upright(canvas, &places, rows.len(), x.at(*tick), Paint::Grid, 1.0);
    }
    let percent = |tick: f64| format!("{}\u{a0}%", judge::figures::trimmed(tick * 100.0, 1));
    canvas.below(x, &ticks, bottom + 15.0, &percent);
    upright(canvas, &places, rows.len(), x.at(1.0), Paint::Ink, 1.2);
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + places.pitch * i as f64;
        if let Some(loss) = row.comparison.and_then(|comparison| comparison.loss_max) {
            let at = x.at(if higher_is_better { 1.0 - loss } else { 1.0 + loss });
            canvas.line(&[(at, top + places.words + 3.0), (at, top + places.pitch - 3.0)], Paint::Bad, 1.4);
        }
        let words = match row.effect {
            Some(effect) => format!("{}: {}, {}", row.label(), effect_words(effect), row.status.words()),
            None => format!("{}: {}", row.label(), row.status.words()),
        };
        let ends = ((0.0, top), (canvas.width, top + places.pitch));
        canvas.mark(&words, ends.0, ends.1, |canvas| draw_row(canvas, row, &places, x, top, is_told));
    }
    for (i, row) in invalid.iter().enumerate() {
        let y = bottom + 30.0 + WORDS * (i as f64 + 0.4);
        let words = format!("{}: {}", row.status.words(), row.reason());
        if canvas.narrow {
            let words = format!("{}, {words}", row.variant.name);
            canvas.text((places.left, y), &cut_to(&words, canvas.width - 16.0), Paint::Muted, Hold::Left);
        } else {
            canvas.name(places.left, y, &row.variant.name);
            let room = canvas.width - places.left;
            canvas.text((places.left, y), &cut_to(&words, room), Paint::Muted, Hold::Left);
        }
    }
}

/// A line through all rows, but not through their words.
fn upright(canvas: &mut Canvas, places: &Places, rows: usize, at: f64, paint: Paint, width: f64) {
    let bottom = TOP + places.pitch * rows as f64;
    if places.words == 0.0 {
        canvas.line(&[(at, TOP), (at, bottom)], paint, width);
        return;
    }
    for row in 0..rows {
        let top = TOP + places.pitch * row as f64;
        canvas.line(&[(at, top + places.words), (at, top + places.pitch)], paint, width);
    }
}

fn draw_row(canvas: &mut Canvas, row: &VariantRow<'_>, places: &Places, x: Scale, top: f64, is_told: bool) {
    // On a narrow screen the words stand in two lines above the picture of the row.
    let (name_y, words_y, y) = if canvas.narrow {
        (top + 13.0, top + 29.0, top + 46.0)
    } else {
        (top + 17.0, top + 17.0, top + 15.0)
    };
    let words = &row.status.signed();
    if canvas.narrow {
        let room = canvas.width - 24.0 - words.chars().count() as f64 * 6.4;
        canvas.text((places.left, name_y), &cut_to(&row.label(), room), Paint::Ink, Hold::Left);
        canvas.text((places.right, name_y), words, Paint::Ink, Hold::Right);
    } else {
        canvas.name(places.left, name_y, &row.label());
        canvas.text((canvas.width - 106.0, words_y), words, Paint::Ink, Hold::Left);
    }
    let Some(effect) = row.effect else { return };
    let figures_at = if canvas.narrow { places.left } else { places.right + 14.0 };
    if is_told {
        canvas.text((figures_at, words_y), &effect_words(effect), Paint::Muted, Hold::Left);
    }
    let blocks = row.comparison.iter().flat_map(|comparison| &comparison.blocks);
    for ratio in blocks.filter_map(|block| block.ratio) {
        canvas.dot((x.at(ratio), y + 11.0), 2.2, Paint::Muted);
    }
    canvas.interval(x, y, effect, paint(row.status));
}

/// The colour of a verdict; its place and its words say the same.
pub(super) fn paint(status: RowStatus) -> Paint {
    match status {
        RowStatus::Compared(verdict) => Paint::Of(verdict),
        _ => Paint::Muted,
    }
}
