//! Throughput and response times over the seconds of a trial.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::Markup;
use crate::block::Table;
use judge::figures;
use result::{Slice, Trial};

/// More points than this say no more on a screen.
const POINTS_MAX: usize = 360;
/// Rows of the table that says the same.
const ROWS_MAX: usize = 60;

/// One point of the time line: one slice, or several taken together.
struct Point {
    from_s: f64,
    duration_s: f64,
    warmup: bool,
    rate: f64,
    headline_rate: f64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    faults: u64,
}

/// Writes the time line; nothing without at least two slices.
pub(crate) fn render(markup: &mut Markup, trial: &Trial) {
    let points = points(trial, POINTS_MAX);
    if points.len() < 2 {
        return;
    }
    let kind = trial.kinds.get(trial.headline_kind()).map_or("all", |kind| kind.name.as_str());
    let several = trial.slices.len().div_ceil(POINTS_MAX);
    let caption = format!(
        "Committed calls per second above, response time of {kind} below.{} The warm-up is shaded and not counted.{}",
        if several > 1 {
            format!(" Each point is {several} slices, with the highest p50 and p99 among them.")
        } else {
            String::new()
        },
        [
            (!trial.outages.is_empty())
                .then_some(" Times without the engine, or without writes, are shaded red."),
            trial.decline_rise.as_ref().map(|_| " At the vertical line calls came to be declined."),
        ]
        .into_iter()
        .flatten()
        .collect::<String>()
    );
    let legend = [("line s1", "all calls"), ("line s2", kind), ("line s1", "p50"), ("line s3", "p99")];
    let figure = Figure {
        title: "Throughput and response time",
        caption: &caption,
        description: description(trial, &points, kind),
        legend: legend.map(|(swatch, name)| Key::new(swatch, name)).into(),
    };
    let height = |narrow| if narrow { 294.0 } else { 326.0 };
    figure.write(markup, Some(readout(&points)), height, |canvas| draw(canvas, &points, trial));
}

fn points(trial: &Trial, most: usize) -> Vec<Point> {
    let several = trial.slices.len().div_ceil(most).max(1);
    // Warm-up and measured slices are never taken together.
    trial
        .slices
        .chunk_by(|a, b| a.warmup == b.warmup)
        .flat_map(|part| part.chunks(several))
        .map(|slices| point(slices, trial.headline_kind()))
        .collect()
}

fn point(slices: &[Slice], headline: usize) -> Point {
    let duration_s: f64 = slices.iter().map(|slice| slice.duration_s).sum();
    let all = || slices.iter().flat_map(|slice| &slice.kinds);
    let of_kind = || slices.iter().filter_map(|slice| slice.kinds.get(headline));
    let rate = |committed: u64| if duration_s > 0.0 { committed as f64 / duration_s } else { 0.0 };
    Point {
        from_s: slices.first().map_or(0.0, |slice| slice.t_s),
        duration_s,
        warmup: slices.iter().any(|slice| slice.warmup),
        rate: rate(all().map(|kind| kind.committed).sum()),
        headline_rate: rate(of_kind().map(|kind| kind.committed).sum()),
        p50_ns: of_kind().filter_map(|kind| kind.p50_ns).max(),
        p99_ns: of_kind().filter_map(|kind| kind.p99_ns).max(),
        faults: all().map(|kind| kind.faults).sum(),
    }
}

fn description(trial: &Trial, points: &[Point], kind: &str) -> String {
    let measured = || points.iter().filter(|point| !point.warmup);
    let rates = || measured().map(|point| point.rate);
    format!(
        "Line chart over {}. Throughput between {} and {} calls per second; 99th percentile of {kind} up to {}.",
        figures::seconds(trial.measured_s),
        figures::count(rates().fold(f64::INFINITY, f64::min).min(1e15).round() as u64),
        figures::count(rates().fold(0.0, f64::max).round() as u64),
        figures::maybe_duration(measured().filter_map(|point| point.p99_ns).max()),
    )
}

fn readout(points: &[Point]) -> Readout {
    let rate = |value: f64| format!("{}/s", figures::count(value.round() as u64));
    let column = |cell: &dyn Fn(&Point) -> String| points.iter().map(cell).collect::<Vec<_>>();
    Readout {
        positions: points.iter().map(|point| point.from_s + point.duration_s / 2.0).collect(),
        labels: column(&|point| {
            let warmup = if point.warmup { ", warm-up" } else { "" };
            format!("{}{warmup}", figures::seconds(point.from_s))
        }),
        values: vec![
            column(&|point| rate(point.rate)),
            column(&|point| rate(point.headline_rate)),
            column(&|point| figures::maybe_duration(point.p50_ns)),
            column(&|point| figures::maybe_duration(point.p99_ns)),
        ],
    }
}

fn draw(canvas: &mut Canvas, points: &[Point], trial: &Trial) -> Option<Scale> {
    let (first, last) = (points.first()?, points.last()?);
    let left = if canvas.narrow { 50.0 } else { 64.0 };
    let right = canvas.width - 12.0;
    let (upper, lower) =
        if canvas.narrow { ((22.0, 130.0), (158.0, 266.0)) } else { ((22.0, 154.0), (186.0, 300.0)) };
    let x = Scale::linear((first.from_s, last.from_s + last.duration_s), (left, right));
    if let Some(warm) = points.iter().rfind(|point| point.warmup) {
        let end = x.at(warm.from_s + warm.duration_s);
        for panel in [upper, lower] {
            canvas.bar((left, panel.0), (end, panel.1), Paint::Shade, 1.0);
        }
        // The word needs room; the caption says the same.
        if end - left > 60.0 {
            canvas.text((left + 6.0, upper.0 + 10.0), "warm-up", Paint::Muted, Hold::Left);
        }
    }
    for outage in &trial.outages {
        let (from, to) = (outage.from_s, outage.to_s.unwrap_or(f64::INFINITY));
        for panel in [upper, lower] {
            canvas.bar((x.at(from), panel.0), (x.at(to), panel.1), Paint::Bad, 0.15);
        }
    }
    if let Some(rise) = &trial.decline_rise {
        for panel in [upper, lower] {
            canvas.line(&[(x.at(rise.from_s), panel.0), (x.at(rise.from_s), panel.1)], Paint::Bad, 1.4);
        }
    }
    draw_rates(canvas, points, x, upper);
    draw_times(canvas, points, x, lower);
    let minutes = last.from_s > 300.0;
    let ticks = time_ticks(x, last.from_s, if canvas.narrow { 5 } else { 10 });
    for tick in &ticks {
        canvas.line(&[(x.at(*tick), lower.1), (x.at(*tick), lower.1 + 4.0)], Paint::Muted, 1.0);
    }
    canvas.below(x, &ticks, lower.1 + 15.0, &|tick| match minutes {
        true => format!("{} min", figures::trimmed(tick / 60.0, 1)),
        false => figures::seconds(tick),
    });
    Some(x)
}

/// Round seconds, or round minutes where the trial is long.
fn time_ticks(x: Scale, last_s: f64, count: usize) -> Vec<f64> {
    if last_s > 300.0 {
        let step = [60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0]
            .into_iter()
            .find(|step| last_s / step <= count as f64)
            .unwrap_or(28_800.0);
        (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= last_s).collect()
    } else {
        x.ticks(count)
    }
}

fn draw_rates(canvas: &mut Canvas, points: &[Point], x: Scale, panel: (f64, f64)) {
    let most = points.iter().map(|point| point.rate).fold(1.0, f64::max);
    let y = Scale::linear((0.0, most * 1.08), (panel.1, panel.0));
    let ends = (x.at(f64::NEG_INFINITY), x.at(f64::INFINITY));
    canvas.across(ends, y, 4, &|value| figures::trimmed(value, 1));
    canvas.text((x.at(f64::NEG_INFINITY), panel.0 - 11.0), "calls/s", Paint::Muted, Hold::Left);
    let through = |value: &dyn Fn(&Point) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|point| (x.at(point.from_s + point.duration_s / 2.0), y.at(value(point)))).collect()
    };
    let all = through(&|point| point.rate);
    let mut ground = all.clone();
    if let (Some(first), Some(last)) = (all.first(), all.last()) {
        ground.extend([(last.0, panel.1), (first.0, panel.1)]);
    }
    canvas.shape(&ground, Paint::Series(1), 0.10);
    canvas.line(&all, Paint::Series(1), 1.8);
    canvas.line(&through(&|point| point.headline_rate), Paint::Series(2), 1.8);
    for point in points.iter().filter(|point| point.faults > 0) {
        canvas.dot((x.at(point.from_s + point.duration_s / 2.0), panel.1 - 5.0), 3.0, Paint::Bad);
    }
}

fn draw_times(canvas: &mut Canvas, points: &[Point], x: Scale, panel: (f64, f64)) {
    // The scale is that of what was measured; a slow warm-up may leave the panel.
    let measured = || points.iter().filter(|point| !point.warmup);
    let most = measured().filter_map(|point| point.p99_ns).max().unwrap_or(1).max(1) as f64;
    let least = measured().filter_map(|point| point.p50_ns).min().unwrap_or(1).max(1) as f64;
    // From zero where the eye can still tell the lines apart; in powers of ten where it cannot.
    let y = if most / least > 30.0 {
        Scale::log((least * 0.7, most * 1.3), (panel.1, panel.0))
    } else {
        Scale::linear((0.0, most * 1.08), (panel.1, panel.0))
    };
    let ends = (x.at(f64::NEG_INFINITY), x.at(f64::INFINITY));
    canvas.across(ends, y, 4, &|ns| if ns == 0.0 { "0".to_owned() } else { figures::duration(ns) });
    canvas.text((x.at(f64::NEG_INFINITY), panel.0 - 11.0), "response time", Paint::Muted, Hold::Left);
    for (paint, of) in [
        (Paint::Series(1), (|point: &Point| point.p50_ns) as fn(&Point) -> Option<u64>),
        (Paint::Series(3), |point: &Point| point.p99_ns),
    ] {
        // A slice without a committed call breaks the line.
        for run in points.chunk_by(|a, b| of(a).is_some() == of(b).is_some()) {
            let line: Vec<_> = run
                .iter()
                .filter_map(|point| {
                    Some((x.at(point.from_s + point.duration_s / 2.0), y.at(of(point)? as f64)))
                })
                .collect();
            if line.len() > 1 {
                canvas.line(&line, paint, 1.8);
            }
        }
    }
}

/// The same as a table; nothing where there is no chart.
pub(crate) fn table(trial: &Trial) -> Option<Table> {
    let points = points(trial, ROWS_MAX);
    let kind = trial.kinds.get(trial.headline_kind()).map_or("all", |kind| kind.name.as_str());
    let columns =
        crate::content::columns(["from", "calls/s", &format!("{kind}/s"), "p50", "p99", "faults"], 1..);
    let table = Table::new("Time line", columns).of(points.iter().map(|point| {
        let warmup = if point.warmup { " (warm-up)" } else { "" };
        [
            format!("{}{warmup}", figures::seconds(point.from_s)),
            figures::count(point.rate.round() as u64),
            figures::count(point.headline_rate.round() as u64),
            figures::maybe_duration(point.p50_ns),
            figures::maybe_duration(point.p99_ns),
            figures::count(point.faults),
        ]
    }));
    (points.len() > 1).then(|| table.folded("The time line as a table"))
}
