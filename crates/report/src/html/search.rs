//! The rates that a search tried, in their order.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale};
use super::markup::Markup;
use judge::figures;
use result::Search;

/// Height of the row of one step.
const ROW: f64 = 22.0;
/// Where the first row is.
const TOP: f64 = 16.0;

/// Draws every rate that was tried; nothing without one.
pub(crate) fn picture(section: &mut Markup, search: &Search) {
    let rates = || search.steps.iter().map(|step| step.rate_per_s).filter(|rate| *rate > 0.0);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    if most <= 0.0 {
        return;
    }
    let said: Vec<String> = search
        .steps
        .iter()
        .map(|step| {
            format!("{} {}", figures::short(step.rate_per_s), if step.met { "met" } else { "missed" })
        })
        .collect();
    let figure = Figure {
        title: "Rates tried",
        caption: "In the order of trial, on a logarithmic axis. A cross missed the SLO; confirming runs are the \
                  larger dots.",
        description: format!("Rates in calls/s: {}.", said.join(", ")),
        legend: vec![Key::new("dot s1", "met"), Key::new("cross s2", "missed")],
    };
    figure.draw(
        section,
        |_| TOP + ROW * search.steps.len() as f64 + 34.0,
        |canvas| draw(canvas, search, (least, most)),
    );
}

fn draw(canvas: &mut Canvas, search: &Search, (least, most): (f64, f64)) {
    let left = if canvas.narrow { 74.0 } else { 120.0 };
    let x = Scale::log((least / 1.1, most * 1.1), (left, canvas.width - 24.0));
    let bottom = TOP + ROW * search.steps.len() as f64;
    // Within a decade the axis would have hardly a label at the powers of ten.
    let even = Scale::linear((least / 1.1, most * 1.1), (0.0, 1.0));
    let ticks = if most < least * 8.0 { even.ticks(if canvas.narrow { 4 } else { 6 }) } else { x.ticks(6) };
    for tick in &ticks {
        canvas.line(&[(x.at(*tick), 4.0), (x.at(*tick), bottom)], Paint::Grid, 1.0);
    }
    canvas.below(x, &ticks, bottom + 14.0, &figures::short);
    if let Some(highest) = search.highest_per_s {
        canvas.line(&[(x.at(highest), 4.0), (x.at(highest), bottom)], Paint::Ink, 1.4);
    }
    for (i, step) in search.steps.iter().enumerate() {
        let (at, y) = (x.at(step.rate_per_s), TOP + ROW * i as f64);
        let name = if step.confirming && !canvas.narrow {
            format!("step {}, confirming", i + 1)
        } else {
            format!("step {}", i + 1)
        };
        let met = if step.met { "met" } else { "missed" };
        let words = format!("{name}: {} calls/s, {met}", figures::short(step.rate_per_s));
        canvas.mark(&words, (0.0, y - ROW / 2.0), (canvas.width, y + ROW / 2.0), |canvas| {
            canvas.text((left - 10.0, y), &name, Paint::Muted, Hold::Right);
            let arm = if step.confirming { 6.0 } else { 4.5 };
            if step.met {
                canvas.dot((at, y), arm, Paint::Series(1));
            } else {
                canvas.line(&[(at - arm, y - arm), (at + arm, y + arm)], Paint::Series(2), 2.4);
                canvas.line(&[(at - arm, y + arm), (at + arm, y - arm)], Paint::Series(2), 2.4);
            }
        });
    }
}
