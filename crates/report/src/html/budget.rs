//! Where the time of a call goes, as stacked bars that sum to 100 %.

use super::chart::{Canvas, Figure, Hold, Key, Paint};
use super::markup::Markup;
use crate::block::Cell;
use judge::figures;
use result::{Budget, BudgetPart};

/// Parts of a call narrower than this share of a bar carry no label.
const LABEL_SHARE_MIN: f64 = 0.055;

pub(crate) struct Bar {
    pub(crate) name: Cell,
    pub(crate) budget: Budget,
    /// The response time that fills the whole width, in nanoseconds.
    pub(crate) full_ns: f64,
    /// Whether a little room sets it apart from the bar above.
    pub(crate) apart: bool,
}

/// Draws the bars with the parts that are given, by their places among all; nothing without a bar.
pub(crate) fn render(markup: &mut Markup, bars: &[Bar], parts: &[(u8, BudgetPart)], caption: &str) {
    if bars.is_empty() {
        return;
    }
    let figure = Figure {
        title: "Time budget of a committed call",
        caption,
        description: description(bars),
        legend: parts.iter().map(|(index, part)| Key::new(format!("p{index}"), part.words())).collect(),
    };
    figure.draw(
        markup,
        |narrow| tops(bars, narrow).last().map_or(0.0, |top| top + BAR + 8.0),
        |canvas| draw(canvas, bars, parts),
    );
}

/// Height of a bar.
const BAR: f64 = 26.0;

/// The top of each bar.
fn tops(rows: &[Bar], narrow: bool) -> Vec<f64> {
    let pitch = if narrow { BAR + 24.0 } else { BAR + 8.0 };
    let mut top = if narrow { 22.0 } else { 6.0 };
    rows.iter()
        .enumerate()
        .map(|(i, row)| {
            if i > 0 {
                top += pitch + if row.apart { 12.0 } else { 0.0 };
            }
            top
        })
        .collect()
}

fn description(rows: &[Bar]) -> String {
    let most = |budget: &Budget| {
        BudgetPart::ALL.into_iter().max_by(|a, b| budget.part_ns(*a).total_cmp(&budget.part_ns(*b)))
    };
    let rows: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let part = most(&row.budget)?;
            Some(format!(
                "{}: {} of it {}",
                row.name.words(),
                figures::percent(row.budget.share(part)),
                part.words()
            ))
        })
        .collect();
    format!("Stacked bars of the mean response time by part. {}.", rows.join("; "))
}

fn draw(canvas: &mut Canvas, rows: &[Bar], parts: &[(u8, BudgetPart)]) {
    // About the width of the longest name; a name that is longer still is cut off by the edge.
    let longest = rows.iter().map(|row| row.name.words().chars().count()).max().unwrap_or(0) as f64;
    let left = if canvas.narrow { 2.0 } else { (longest * 7.2 + 20.0).clamp(112.0, 300.0) };
    let right = if canvas.narrow { canvas.width - 2.0 } else { canvas.width - 84.0 };
    for (row, top) in rows.iter().zip(tops(rows, canvas.narrow)) {
        let (middle, mean) = (top + BAR / 2.0, figures::duration(row.budget.response_ns));
        if canvas.narrow {
            canvas.text((left, top - 10.0), &row.name.words(), Paint::Ink, Hold::Left);
            canvas.text((right, top - 10.0), &mean, Paint::Muted, Hold::Right);
        } else {
            canvas.text((left - 12.0, middle), &row.name.words(), Paint::Ink, Hold::Right);
        }
        let end = draw_bar(canvas, row, parts, (left, right), top);
        if !canvas.narrow {
            canvas.text((end + 10.0, middle), &mean, Paint::Muted, Hold::Left);
        }
    }
}

/// Draws one bar and says where it ends.
fn draw_bar(canvas: &mut Canvas, row: &Bar, parts: &[(u8, BudgetPart)], span: (f64, f64), top: f64) -> f64 {
    // A remainder below zero has no width; the others are drawn a little narrower, so that the bar ends where it should.
    let drawn_ns: f64 = parts.iter().map(|(_, part)| row.budget.part_ns(*part).max(0.0)).sum();
    let width = (span.1 - span.0) * (row.budget.response_ns / row.full_ns.max(f64::MIN_POSITIVE)).min(1.0);
    let mut from = span.0;
    for (index, part) in parts {
        let share = row.budget.part_ns(*part).max(0.0) / drawn_ns.max(f64::MIN_POSITIVE);
        let to = from + share * width;
        // The gap between neighbours distinguishes them without colour.
        let gap = if to - from > 3.0 { 1.0 } else { 0.0 };
        let room = if canvas.narrow { 46.0 } else { 40.0 };
        let percent = figures::percent(row.budget.share(*part));
        if to - from >= 0.4 {
            let time = figures::duration(row.budget.part_ns(*part));
            let words = format!("{}, {}: {time}, {percent}", row.name.words(), part.words());
            canvas.mark(&words, (from, top), (to - gap, top + BAR), |canvas| {
                canvas.bar((from, top), (to - gap, top + BAR), Paint::Part(*index), 1.0);
                if share >= LABEL_SHARE_MIN && to - from > room {
                    canvas.text(((from + to) / 2.0, top + BAR / 2.0), &percent, Paint::OnPart, Hold::Middle);
                }
            });
        }
        from = to;
    }
    from
}
