//! Stored runs over time, a chart a series.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale};
use super::markup::{Cell, Markup, Table, Tone};
use crate::figures;
use crate::history::{History, Point, Series};

const HEIGHT: f64 = 210.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

/// The page.
#[must_use]
pub fn render(history: &History) -> String {
    super::page("history · stackmark", |body| {
        body.element("main", &[], |main| content(main, history));
    })
}

fn content(main: &mut Markup, history: &History) {
    main.element("p", &[("class", "running-head")], |head| {
        head.raw("<span class=\"brand\">stackmark</span><span>history</span>");
    });
    let runs: usize = history.series.iter().map(|series| series.points.len()).sum();
    main.line("h1", "", "Runs over time");
    main.line("p", "lead", &format!("{runs} results in {} series, oldest first.", history.series.len()));
    for of in &history.series {
        series(main, of);
    }
    if !history.skipped.is_empty() {
        main.section("Skipped", |section| {
            let mut table = Table::new("What could not be read", &["file", "why"], 2..2);
            for skipped in &history.skipped {
                table.row(vec![skipped.path.display().to_string().into(), skipped.why.as_str().into()]);
            }
            section.table(&table);
        });
    }
}

fn series(main: &mut Markup, series: &Series) {
    main.section(&series.subject, |section| {
        let key: Vec<String> = series.key.iter().map(|(name, value)| format!("{name} {value}")).collect();
        section.line("p", "caption", &key.join(" · "));
        // One run has no course.
        if series.points.len() > 1 {
            chart(section, series);
        }
        let columns =
            ["started", "version", "durability", series.unit.as_str(), "p99", "trials", "audits", "changed"];
        let mut table = Table::new("Every run", &columns, 3..6);
        for point in &series.points {
            let audits = Cell::Badge(if point.void { Tone::Bad } else { Tone::Good }, point.audits.clone());
            let value = figures::with_margin(point.value);
            table.row(vec![
                Cell::Detailed(point.started.readable(), vec![point.run.clone()]),
                point.stackmark.as_str().into(),
                point.tier.as_str().into(),
                if point.void { format!("void ({value})").into() } else { value.into() },
                point.p99_ns.map_or_else(|| figures::NONE.to_owned(), figures::duration).into(),
                point.trials.to_string().into(),
                audits,
                Cell::Detailed(String::new(), point.changes.clone()),
            ]);
        }
        section.table(&table);
    });
}

fn chart(section: &mut Markup, series: &Series) {
    let mut legend = vec![Key { swatch: "dot s1".to_owned(), name: "run, 95\u{a0}% interval".to_owned() }];
    if series.points.iter().any(|point| point.void) {
        legend.push(Key { swatch: "none".to_owned(), name: "hollow: void".to_owned() });
    }
    if series.points.iter().any(|point| !point.changes.is_empty()) {
        legend
            .push(Key {
                swatch: "none".to_owned(), name: "△: a version or the machine changed".to_owned()
            });
    }
    let last = series.points.last().map_or_else(String::new, |point| figures::with_margin(point.value));
    let figure = Figure {
        title: &series.unit,
        caption: "One step a run, whatever time lies between two of them.",
        description: format!(
            "{} runs of {}, the last one {last} {}. The table below has every value.",
            series.points.len(),
            series.subject,
            series.unit
        ),
        legend,
        readout: None,
    };
    figure.write(
        section,
        |_| HEIGHT,
        |canvas| {
            draw(canvas, series);
            None
        },
    );
}

fn draw(canvas: &Canvas<'_>, series: &Series) {
    let (left, right) = (62.0, canvas.width - 24.0);
    let bottom = HEIGHT - BOTTOM;
    let high = series
        .points
        .iter()
        .map(|point| point.value.high.unwrap_or(point.value.value))
        .fold(f64::MIN_POSITIVE, f64::max);
    let y = Scale::linear((0.0, high * 1.08), (bottom, TOP));
    for tick in y.ticks(4) {
        canvas.line(&[(left, y.at(tick)), (right, y.at(tick))], Paint::Grid, 1.0);
        canvas.text((left - 8.0, y.at(tick)), &figures::short(tick), Paint::Muted, Hold::Right);
    }
    let steps = series.points.len().max(2) - 1;
    let x = |index: usize| match series.points.len() {
        0 | 1 => f64::midpoint(left, right),
        _ => left + 16.0 + (right - left - 32.0) * index as f64 / steps as f64,
    };
    // As many dates as there is room for.
    let room = ((right - left) / 92.0).max(1.0) as usize;
    let every = series.points.len().div_ceil(room);
    let valid: Vec<(f64, f64)> = series
        .points
        .iter()
        .enumerate()
        .filter(|(_, point)| !point.void)
        .map(|(index, point)| (x(index), y.at(point.value.value)))
        .collect();
    if valid.len() > 1 {
        canvas.line(&valid, Paint::Grid, 1.6);
    }
    for (index, point) in series.points.iter().enumerate() {
        let at = x(index);
        if index.is_multiple_of(every) {
            let date = point.started.utc.get(..10).unwrap_or(&point.started.utc);
            canvas.text((at, bottom + 27.0), date, Paint::Muted, Hold::Middle);
        }
        if !point.changes.is_empty() {
            let top = bottom + 5.0;
            let corners = [(at, top), (at - 4.5, top + 8.0), (at + 4.5, top + 8.0)];
            canvas.shape(&corners, Paint::Ink, 1.0);
        }
        mark(canvas, (at, y.at(point.value.value)), point, &y);
    }
}

fn mark(canvas: &Canvas<'_>, at: (f64, f64), point: &Point, y: &Scale) {
    let paint = if point.void { Paint::Bad } else { Paint::Series(1) };
    if let (Some(low), Some(high)) = (point.value.low, point.value.high) {
        canvas.line(&[(at.0, y.at(low)), (at.0, y.at(high))], paint, 1.6);
    }
    if point.void {
        let ring: Vec<(f64, f64)> = (0..=20)
            .map(|step| f64::from(step) * std::f64::consts::TAU / 20.0)
            .map(|angle| (at.0 + 5.0 * angle.cos(), at.1 + 5.0 * angle.sin()))
            .collect();
        canvas.line(&ring, paint, 1.8);
    } else {
        canvas.dot(at, 4.5, paint);
    }
}
