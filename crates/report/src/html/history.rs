//! Stored runs over time: what the latest one says, a chart a series, and every run behind it.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale, headroom};
use super::markup::{Cell, Markup, Table, Tone};
use crate::figures;
use crate::history::{History, Point, Series};
use result::Interval;

const HEIGHT: f64 = 210.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;
/// Room between the ends of the axis and the first and last run.
const INSET: f64 = 16.0;
/// Runs that a table shows at once; those before them are folded away.
const LATEST_MAX: usize = 8;
/// Above this many runs marks are drawn smaller, so that neighbours stay apart.
const MANY: usize = 60;
/// Runs within this time, in seconds, are told apart by the hour rather than the day: three days.
const HOURS_MAX: u64 = 3 * 86_400;

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
    let (courses, single): (Vec<&Series>, Vec<&Series>) =
        history.series.iter().partition(|series| series.points.len() > 1);
    main.line("h1", "", "Runs over time");
    main.element("p", &[("class", "lead")], |lead| {
        lead.text(&extent(history, courses.len()));
        if !history.skipped.is_empty() {
            let files = counted(history.skipped.len(), "file", "files");
            lead.raw(" ").element("a", &[("href", "#unread")], |link| {
                link.text(&format!("{files} could not be read."));
            });
        }
    });
    if courses.len() > 1 {
        main.section("The latest of each series", |section| overview(section, &courses));
    }
    for (index, of) in courses.iter().enumerate() {
        series(main, of, &anchor(index));
    }
    if !single.is_empty() {
        main.section("Measured once", |section| once(section, &single));
    }
    if !history.skipped.is_empty() {
        main.raw("<div id=\"unread\">").section("What could not be read", |section| {
            let mut table = Table::new("Files that are in no series", &["file", "why"], 2..2).breaking();
            for skipped in &history.skipped {
                table.row(vec![skipped.path.display().to_string().into(), skipped.why.as_str().into()]);
            }
            section.table(&table);
        });
        main.raw("</div>");
    }
}

/// What there is, in a sentence.
fn extent(history: &History, courses: usize) -> String {
    let runs: usize = history.series.iter().map(|series| series.points.len()).sum();
    if runs == 0 {
        return "No result was found.".to_owned();
    }
    let all = history.series.len();
    let series = match (all, all - courses) {
        (1, _) | (_, 0) => counted(all, "series", "series"),
        (all, single) => {
            format!(
                "{}, {} of them of one result",
                counted(all, "series", "series"),
                figures::count(single as u64)
            )
        }
    };
    format!("{} in {series}.", counted(runs, "result", "results"))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", figures::count(count as u64), if count == 1 { one } else { many })
}

fn anchor(index: usize) -> String {
    format!("series-{}", index + 1)
}

/// What sets a series apart, and what its commits survive.
fn key_words(series: &Series) -> String {
    let mut words: Vec<String> = series.key.iter().map(|(name, value)| format!("{name} {value}")).collect();
    // Of one key, of one tier; where the series of a subject differ in it, the key has told it.
    if let Some(point) = series.points.last()
        && !series.key.iter().any(|(name, _)| name == "durability")
    {
        words.push(point.tier.clone());
    }
    words.join(" · ")
}

fn value_words(point: &Point) -> String {
    let value = figures::with_margin(point.value);
    if point.void { format!("void ({value})") } else { value }
}

fn p99_words(point: &Point) -> String {
    point.p99_ns.map_or_else(|| figures::NONE.to_owned(), figures::duration)
}

/// The latest run that counts, and the one before it that does.
fn latest(series: &Series) -> Option<(&Point, Option<&Point>)> {
    let mut valid = series.points.iter().rev().filter(|point| !point.void);
    Some((valid.next()?, valid.next()))
}

/// A value as a share of an earlier one.
fn against(point: &Point, before: &Point) -> String {
    figures::percent(point.value.value / before.value.value)
}

fn overview(section: &mut Markup, courses: &[&Series]) {
    let titles = ["subject", "runs", "latest", "of the run before", "p99", "when"];
    let mut table = Table::new("Of the runs that are not void", &titles, 1..5);
    for (index, series) in courses.iter().enumerate() {
        let none = || figures::NONE.to_owned();
        let valid = series.points.iter().filter(|point| !point.void).count();
        let found = latest(series);
        table.row(vec![
            Cell::Link(format!("#{}", anchor(index)), series.subject.clone(), vec![key_words(series)]),
            figures::count(valid as u64).into(),
            found.map_or_else(
                || none().into(),
                |(point, _)| Cell::Detailed(figures::with_margin(point.value), vec![series.unit.clone()]),
            ),
            found.and_then(|(point, before)| Some(against(point, before?))).unwrap_or_else(none).into(),
            found.map_or_else(none, |(point, _)| p99_words(point)).into(),
            found.map_or_else(none, |(point, _)| point.started.readable()).into(),
        ]);
    }
    section.table(&table);
}

fn series(main: &mut Markup, series: &Series, anchor: &str) {
    main.raw("\n").element("section", &[("id", anchor)], |section| {
        section.line("h2", "", &series.subject);
        section.line("p", "caption", &key_words(series));
        section.line("p", "", &sentence(series));
        chart(section, series);
        response_times(section, series);
        table(section, series);
    });
}

/// The latest run beside the one before, and the extent of all.
fn sentence(series: &Series) -> String {
    let unit = &series.unit;
    let Some((last, before)) = latest(series) else {
        return "No run of this series counts: something makes each of them void.".to_owned();
    };
    let mut said =
        format!("Latest: {} {unit} on {}", figures::with_margin(last.value), last.started.readable());
    if let Some(before) = before {
        said.push_str(&format!(", {} of the run before", against(last, before)));
        let (a, b) = (last.value, before.value);
        if let (Some(low), Some(high), Some(low_before), Some(high_before)) = (a.low, a.high, b.low, b.high) {
            let overlap = low <= high_before && low_before <= high;
            said.push_str(if overlap {
                "; the intervals of the two overlap"
            } else {
                "; their intervals do not meet"
            });
        }
        let values = || series.points.iter().filter(|point| !point.void).map(|point| point.value.value);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let alone = |value| figures::value_alone(Interval { value, low: None, high: None });
        said.push_str(&format!(". All runs lie between {} and {}", alone(least), alone(most)));
    }
    said.push('.');
    match series.points.iter().filter(|point| point.void).count() {
        0 => (),
        1 => said.push_str(" One run is void and not counted."),
        void => said.push_str(&format!(" {void} runs are void and not counted.")),
    }
    said
}

fn table(section: &mut Markup, series: &Series) {
    let newest = || series.points.iter().rev();
    if series.points.len() <= LATEST_MAX {
        section.table(&runs("Every run, the newest first", series, newest()));
    } else {
        let caption = format!("The latest {LATEST_MAX} runs, the newest first");
        section.table(&runs(&caption, series, newest().take(LATEST_MAX)));
        let all = format!("All {} runs as a table", figures::count(series.points.len() as u64));
        section.folded_table(&all, &runs("Every run, the newest first", series, newest()));
    }
}

fn runs<'a>(caption: &str, series: &Series, points: impl Iterator<Item = &'a Point>) -> Table {
    let titles = ["started", series.unit.as_str(), "p99", "trials", "version", "audits"];
    let mut table = Table::new(caption, &titles, 1..4);
    for point in points {
        let mut under = vec![point.run.clone()];
        under.extend(point.changes.iter().map(|change| format!("▲ {change}")));
        table.row(vec![
            Cell::Detailed(point.started.readable(), under),
            value_words(point).into(),
            p99_words(point).into(),
            point.trials.to_string().into(),
            point.stackmark.as_str().into(),
            audits(point),
        ]);
    }
    table
}

fn audits(point: &Point) -> Cell {
    Cell::Badge(if point.void { Tone::Bad } else { Tone::Good }, point.audits.clone())
}

/// Series that have no course yet.
fn once(section: &mut Markup, single: &[&Series]) {
    let titles = ["subject", "result", "p99", "started", "audits"];
    let mut table = Table::new("One result each: nothing to compare it with", &titles, 1..3);
    for series in single {
        let Some(point) = series.points.first() else { continue };
        table.row(vec![
            Cell::Detailed(series.subject.clone(), vec![key_words(series)]),
            Cell::Detailed(value_words(point), vec![series.unit.clone()]),
            p99_words(point).into(),
            Cell::Detailed(point.started.readable(), vec![point.run.clone()]),
            audits(point),
        ]);
    }
    section.table(&table);
}

fn chart(section: &mut Markup, series: &Series) {
    let points = &series.points;
    let has_interval = |point: &Point| point.value.low.is_some();
    let name = if points.iter().any(has_interval) { "run, 95\u{a0}% interval" } else { "run" };
    let mut legend = vec![Key { swatch: "dot s1".to_owned(), name: name.to_owned() }];
    if points.iter().any(|point| point.void) {
        legend.push(Key { swatch: "ring".to_owned(), name: "void".to_owned() });
    }
    if points.iter().any(|point| !point.changes.is_empty()) {
        legend
            .push(Key { swatch: "triangle".to_owned(), name: "a version or the machine changed".to_owned() });
    }
    let high = headroom(points.iter().map(|point| point.value));
    let beyond = points.iter().any(|point| point.value.high.is_some_and(|end| end > high));
    let last = points.last().map_or_else(String::new, value_words);
    let figure = Figure {
        title: &figures::capital(&series.unit),
        caption: if beyond {
            "One step a run, whatever time lies between two of them. An interval without an end reaches beyond the picture."
        } else {
            "One step a run, whatever time lies between two of them."
        },
        description: format!(
            "{} runs of {}, the last one {last} {}. The table below has every value.",
            points.len(),
            series.subject,
            series.unit
        ),
        legend,
        readout: Some(readout(points, value_words)),
    };
    figure.write(
        section,
        |_| HEIGHT,
        |canvas| {
            let (x, y) = axes(canvas, points, high, &figures::short);
            let valid = points.iter().enumerate().filter(|(_, point)| !point.void);
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

/// The tail over time; nothing where fewer than two runs know it.
fn response_times(section: &mut Markup, series: &Series) {
    let points = &series.points;
    let times: Vec<Interval> = points
        .iter()
        .filter(|point| !point.void)
        .filter_map(|point| Some(Interval { value: point.p99_ns?, low: None, high: None }))
        .collect();
    if times.len() < 2 {
        return;
    }
    let last = times.last().map_or_else(String::new, |time| figures::duration(time.value));
    let figure = Figure {
        title: "p99 response time",
        caption: "Of the committed calls that the headline counts; void runs are left out.",
        description: format!("p99 of {} runs of {}, the last one {last}.", times.len(), series.subject),
        legend: vec![Key { swatch: "dot s2".to_owned(), name: "run".to_owned() }],
        readout: Some(readout(points, |point| if point.void { "void".to_owned() } else { p99_words(point) })),
    };
    figure.write(
        section,
        |_| HEIGHT,
        |canvas| {
            let (x, y) = axes(canvas, points, headroom(times.iter().copied()), &time_words);
            let known = points.iter().enumerate().filter(|(_, point)| !point.void);
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
    for tick in y.ticks(5) {
        canvas.line(&[(left, y.at(tick)), (right, y.at(tick))], Paint::Grid, 1.0);
        canvas.text((left - 8.0, y.at(tick)), &words(tick), Paint::Muted, Hold::Right);
    }
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
    let paint = if point.void { Paint::Bad } else { Paint::Series(1) };
    let cap = if runs > MANY { 0.0 } else { 4.5 };
    canvas.upright(at, y, point.value, paint, cap);
    let (middle, radius) = (y.at(point.value.value), radius(runs));
    if point.void {
        let ring: Vec<(f64, f64)> = (0..=20)
            .map(|step| f64::from(step) * std::f64::consts::TAU / 20.0)
            .map(|angle| (at + (radius + 0.5) * angle.cos(), middle + (radius + 0.5) * angle.sin()))
            .collect();
        canvas.line(&ring, paint, 1.8);
    } else {
        canvas.dot((at, middle), radius, paint);
    }
}
