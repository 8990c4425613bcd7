//! The page of a search: the rate that keeps the service level, every rate that was tried, and what gives out beyond.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale};
use super::curve::circumstances;
use super::markup::{Cell, Markup, Table, Tone};
use super::{setup, vouch};
use crate::{figures, findings};
use result::{Document, Search, State};

/// Height of the row of one step.
const ROW: f64 = 22.0;
/// Where the first row is.
const TOP: f64 = 16.0;

/// Writes the whole search.
pub(super) fn render(main: &mut Markup, document: &Document, search: &Search) {
    main.element("h1", &[], |h1| {
        h1.text(&document.subjects.join(" and ")).raw(" within ").text(&search.slo);
    });
    if let Some(trial) = document.trials.first() {
        main.line("p", "lead", &circumstances(trial));
    }
    vouch::failures(main, findings::failures_of_all(document));
    verdict(main, document, search);
    vouch::warnings(main, &findings::rules_to_mind_of_all(document));
    main.section("Rates tried", |section| {
        picture(section, search);
        steps(section, search);
    });
    if let Some(trial) = document.trials.first() {
        main.section("Set-up of the first trial", |section| setup::render(section, trial));
    }
}

fn verdict(main: &mut Markup, document: &Document, search: &Search) {
    main.element("div", &[("class", "headline")], |band| {
        band.element("div", &[("class", "number")], |number| {
            if let Some(highest) = search.highest_per_s {
                number.line("p", "figure-large", &figures::short(highest));
                number.line("p", "figure-unit", &format!("calls a second within {}", search.slo));
            }
            number.element("p", &[("class", "badges")], |badges| {
                match (search.highest_per_s, document.state) {
                    (Some(_), _) => {
                        badges.badge(Tone::Good, "kept");
                    }
                    (None, State::Complete) => {
                        badges.badge(Tone::Bad, "missed");
                    }
                    (None, state) => {
                        badges.badge(Tone::Plain, state.word());
                    }
                }
            });
        });
        band.element("div", &[("class", "verdict")], |words| {
            words.line("p", "sentence", &search.sentence);
            if let Some(gives_out) = &search.gives_out {
                words.line("p", "", gives_out);
            }
        });
    });
}

fn picture(section: &mut Markup, search: &Search) {
    let rates = || search.steps.iter().map(|step| step.rate_per_s).filter(|rate| *rate > 0.0);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    if most <= 0.0 {
        return;
    }
    let said: Vec<String> = search
        .steps
        .iter()
        .map(|step| {
            format!("{} {}", figures::short(step.rate_per_s), if step.kept { "kept" } else { "broken" })
        })
        .collect();
    let figure = Figure {
        title: "Calls due a second",
        caption: "In the order of trial, on an axis in powers. A cross broke the service level; confirming runs are the \
                  larger dots.",
        description: format!("Calls a second: {}.", said.join(", ")),
        legend: vec![
            Key { swatch: "dot s1".to_owned(), name: "kept".to_owned() },
            Key { swatch: "cross s2".to_owned(), name: "broken".to_owned() },
        ],
        readout: None,
    };
    figure.write(
        section,
        |_| TOP + ROW * search.steps.len() as f64 + 34.0,
        |canvas| {
            draw(canvas, search, (least, most));
            None
        },
    );
}

fn draw(canvas: &mut Canvas, search: &Search, (least, most): (f64, f64)) {
    let left = if canvas.narrow { 74.0 } else { 120.0 };
    let x = Scale::log((least / 1.1, most * 1.1), (left, canvas.width - 24.0));
    let bottom = TOP + ROW * search.steps.len() as f64;
    // Within a decade the axis would have hardly a label at the powers of ten.
    let even = Scale::linear((least / 1.1, most * 1.1), (0.0, 1.0));
    let ticks = if most < least * 8.0 { even.ticks(if canvas.narrow { 4 } else { 6 }) } else { x.ticks(6) };
    for tick in ticks {
        canvas.line(&[(x.at(tick), 4.0), (x.at(tick), bottom)], Paint::Grid, 1.0);
        canvas.text((x.at(tick), bottom + 14.0), &figures::short(tick), Paint::Muted, Hold::Middle);
    }
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
        canvas.text((left - 10.0, y), &name, Paint::Muted, Hold::Right);
        if step.kept {
            canvas.dot((at, y), if step.confirming { 6.0 } else { 4.5 }, Paint::Series(1));
        } else {
            let arm = if step.confirming { 6.0 } else { 4.5 };
            canvas.line(&[(at - arm, y - arm), (at + arm, y + arm)], Paint::Series(2), 2.4);
            canvas.line(&[(at - arm, y + arm), (at + arm, y - arm)], Paint::Series(2), 2.4);
        }
    }
}

fn steps(section: &mut Markup, search: &Search) {
    let titles = ["step", "rate/s", "", "why"];
    let mut table = Table::new("Every rate in calls due a second, in the order of trial", &titles, 1..2);
    for (i, step) in search.steps.iter().enumerate() {
        let state = if step.kept {
            Cell::Badge(Tone::Good, "kept".to_owned())
        } else {
            Cell::Badge(Tone::Warn, "broken".to_owned())
        };
        table.row(vec![
            (i + 1).to_string().into(),
            figures::trimmed(step.rate_per_s, 1).into(),
            state,
            Cell::Detailed(step.why.clone(), figures::remarks(step)),
        ]);
    }
    section.table(&table);
}
