//! Stored runs over time: a chart a series.

use super::blocks;
use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale, headroom};
use super::markup::Markup;
use crate::content::history::{self as content, p99_words, value_words};
use crate::history::{History, Point, Series};
use judge::figures;
use result::Interval;

const HEIGHT: f64 = 210.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;
/// Room between the ends of the axis and the first and last run.
const INSET: f64 = 16.0;
/// Above this many runs marks are drawn smaller, so that neighbours stay apart.
const MANY: usize = 60;
/// Runs within this time, in seconds, are distinguished by the hour rather than the day: three days.
const HOURS_MAX: u64 = 3 * 86_400;

pub fn render(history: &History) -> String {
    super::page("history · stackmark", |body| {
        body.element("main", &[], |main| {
            running_head(main);
            blocks::print(main, &content::blocks(history));
        });
    })
}

fn running_head(main: &mut Markup) {
    main.element("p", &[("class", "running-head")], |head| {
        head.raw("<span class=\"brand\">stackmark</span><span>history</span>");
    });
}

/// Draws the values of the runs, with what changed between them.
pub(crate) fn values(section: &mut Markup, series: &Series) {
    let points = &series.points;
    let has_interval = |point: &Point| point.value.low.is_some();
    let name = if points.iter().any(has_interval) { "run, 95\u{a0}% interval" } else { "run" };
    let mut legend = vec![Key::new("dot s1", name)];
    if points.iter().any(|point| point.invalid) {
        legend.push(Key::new("ring", "invalid"));
    }
    if points.iter().any(|point| !point.changes.is_empty()) {
        legend.push(Key::new("triangle", "a version or the machine changed"));
    }
    let high = headroom(points.iter().map(|point| point.value));
    let beyond = points.iter().any(|point| point.value.high.is_some_and(|end| end > high));
    let last = points.last().map_or_else(String::new, value_words);
    let figure = Figure {
        title: &figures::capital(&series.unit),
        caption: if beyond {
            "One step per run, whatever time is between two of them. An arrow marks an interval that extends beyond the axis."
        } else {
            "One step per run, whatever time is between two of them."
        },
        description: format!(
            "{} runs of {}, the last one {last} {}. The table below has every value.",
            points.len(),
            series.subject,
            series.unit
        ),
        legend,
    };
    figure.write(
        section,
        Some(readout(points, value_words)),
        |_| HEIGHT,
        |canvas| {
            let (x, y) = axes(canvas, points, high, &figures::short);
            let valid = points.iter().enumerate().filter(|(_, point)| !point.invalid);
            let line: Vec<(f64, f64)> =
                valid.map(|(index, point)| (x.at(index as f64), y.at(point.value.value))).collect();
            course(canvas, &line);
            for (index, point) in points.iter().enumerate() {
                mark(canvas, x.at(index as f64), point, y, points.len());
            }
            Some(x)
        },
    );
}

/// Draws the tail over time; nothing where fewer than two runs know it.
pub(crate) fn response_times(section: &mut Markup, series: &Series) {
    let points = &series.points;
    let times: Vec<Interval> = points
        .iter()
        .filter(|point| !point.invalid)
        .filter_map(|point| Some(Interval { value: point.p99_ns?, low: None, high: None }))
        .collect();
    if times.len() < 2 {
        return;
    }
    let last = times.last().map_or_else(String::new, |time| figures::duration(time.value));
    let figure = Figure {
        title: "p99 response time",
        caption: "Of the committed calls that the headline counts; invalid runs are left out.",
        description: format!("p99 of {} runs of {}, the last one {last}.", times.len(), series.subject),
        legend: vec![Key::new("dot s2", "run")],
    };
    figure.write(
        section,
        Some(readout(points, |point| if point.invalid { "invalid".to_owned() } else { p99_words(point) })),
        |_| HEIGHT,
        |canvas| {
            let (x, y) = axes(canvas, points, headroom(times.iter().copied()), &time_words);
            let known = points.iter().enumerate().filter(|(_, point)| !point.invalid);
            let line: Vec<(f64, f64)> =
                known.filter_map(|(index, point)| Some((x.at(index as f64), y.at(point.p99_ns?)))).collect();
            course(canvas, &line);
            for at in line {
                canvas.dot(at, radius(points.len()), Paint::Series(2));
            }
            Some(x)
        },
    );
}

/// A time on an axis, whose zero has no unit.
fn time_words(ns: f64) -> String {
    if ns == 0.0 { "0".to_owned() } else { figures::duration(ns) }
}

fn readout(points: &[Point], words: impl Fn(&Point) -> String) -> Readout {
    Readout {
        positions: (0..points.len()).map(|index| index as f64).collect(),
        labels: points
            .iter()
            .map(|point| format!("{}, stackmark {}", point.started.readable(), point.stackmark))
            .collect(),
        values: vec![points.iter().map(words).collect()],
    }
}

/// Draws both axes, with the dates and what changed between the runs, and returns their scales.
fn axes(canvas: &mut Canvas, points: &[Point], high: f64, words: &dyn Fn(f64) -> String) -> (Scale, Scale) {
    let bottom = HEIGHT - BOTTOM;
    let y = Scale::linear((0.0, high), (bottom, TOP));
    let left = canvas.left_of(&y.ticks(5), words);
    let right = canvas.width - 24.0;
    canvas.across((left, right), y, 5, words);
    let x = Scale::linear((0.0, points.len().max(2) as f64 - 1.0), (left + INSET, right - INSET));
    for (index, point) in points.iter().enumerate().filter(|(_, point)| !point.changes.is_empty()) {
        let (at, top) = (x.at(index as f64), bottom + 5.0);
        // The first run has none before it, so that one index less is always there.
        assert!(index > 0, "{}", point.run);
        canvas.shape(&[(at, top), (at - 4.5, top + 8.0), (at + 4.5, top + 8.0)], Paint::Ink, 1.0);
    }
    dates(canvas, points, x, bottom + 27.0);
    (x, y)
}

/// As many dates as there is room for, the last one always, none twice in a row.
fn dates(canvas: &mut Canvas, points: &[Point], x: Scale, y: f64) {
    let span = match points {
        [first, .., last] => last.started.unix_s.saturating_sub(first.started.unix_s),
        _ => 0,
    };
    // Of `2026-11-20T23:08:43Z` the day, or within few days month, day and time.
    let words = |point: &Point| {
        let cut = if span > HOURS_MAX { point.started.utc.get(..10) } else { point.started.utc.get(5..16) };
        cut.unwrap_or(&point.started.utc).replace('T', " ")
    };
    let room = ((canvas.width - 100.0) / 92.0).max(1.0) as usize;
    let every = points.len().div_ceil(room).max(1);
    let mut before = String::new();
    for (index, point) in points.iter().enumerate() {
        if !(points.len() - 1 - index).is_multiple_of(every) {
            continue;
        }
        let label = words(point);
        if label != before {
            canvas.text((x.at(index as f64), y), &label, Paint::Muted, Hold::Middle);
        }
        before = label;
    }
}

/// The line that leads the eye from run to run.
fn course(canvas: &mut Canvas, line: &[(f64, f64)]) {
    if line.len() > 1 {
        canvas.line(line, Paint::Muted, if line.len() > MANY { 0.7 } else { 1.0 });
    }
}

fn radius(runs: usize) -> f64 {
    match runs {
        0..=MANY => 4.5,
        _ if runs <= 3 * MANY => 2.2,
        _ => 1.4,
    }
}

fn mark(canvas: &mut Canvas, at: f64, point: &Point, y: Scale, runs: usize) {
    let paint = if point.invalid { Paint::Bad } else { Paint::Series(1) };
    let cap = if runs > MANY { 0.0 } else { 4.5 };
    canvas.upright(at, y, point.value, paint, cap);
    let (middle, radius) = (y.at(point.value.value), radius(runs));
    if point.invalid {
        let ring: Vec<(f64, f64)> = (0..=20)
            .map(|step| f64::from(step) * std::f64::consts::TAU / 20.0)
            .map(|angle| (at + (radius + 0.5) * angle.cos(), middle + (radius + 0.5) * angle.sin()))
            .collect();
        canvas.line(&ring, paint, 1.8);
    } else {
        canvas.dot((at, middle), radius, paint);
    }
}
