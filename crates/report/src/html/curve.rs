//! Throughput and response times over load.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Scale, headroom};
use super::markup::Markup;
use judge::curve::load_words;
use judge::figures;
use result::{Axis, Curve, Interval, Point};

/// Height of a chart, and of what is under its axis.
const HEIGHT: f64 = 300.0;
const FOOT: f64 = 42.0;
/// How far from a load the pointer meets it.
const REACH: f64 = 9.0;

/// Where the loads stand: in powers, since they mostly double.
fn across(points: &[Point], canvas: &Canvas, left: f64) -> Scale {
    let low = points.first().map_or(1.0, |point| point.load);
    let high = points.last().map_or(1.0, |point| point.load);
    Scale::log((low / 1.15, high * 1.15), (left, canvas.width - 20.0))
}

/// Draws throughput with its intervals and the law.
pub(crate) fn throughput(section: &mut Markup, curve: &Curve, unit: &str) {
    let rates = || curve.points.iter().filter_map(|point| point.rate);
    let highest = headroom(rates());
    if rates().all(|rate| rate.value <= 0.0) {
        section.line("p", "", "No trial is valid, so there is nothing to draw.");
        return;
    }
    let mut legend = vec![Key::new("dot s1", "mean of the blocks, 95\u{a0}% interval")];
    if curve.fit.is_some() {
        legend.push(Key::new("line s2", "Universal Scalability Law"));
    }
    if curve.knee.is_some() {
        legend.push(Key::new("line s3", "knee"));
    }
    let said: Vec<String> = (curve.points.iter())
        .filter_map(|point| Some((point.load, point.rate?)))
        .map(|(load, rate)| format!("{} {}", load_words(curve.axis, load), figures::with_margin(rate)))
        .collect();
    let figure = Figure {
        title: &figures::capital(unit),
        caption: if rates().any(|rate| rate.high.is_some_and(|end| end > highest)) {
            "Logarithmic axis. An interval without an end reaches \
             beyond the picture."
        } else {
            "Logarithmic axis."
        },
        description: format!("Throughput in {unit}: {}.", said.join(", ")),
        legend,
    };
    figure.draw(
        section,
        |_| HEIGHT,
        |canvas| {
            let y = Scale::linear((0.0, highest), (HEIGHT - FOOT, 12.0));
            let left = canvas.left_of(&y.ticks(5), &figures::short);
            let x = across(&curve.points, canvas, left);
            canvas.across((left, canvas.width - 8.0), y, 5, &figures::short);
            foot(canvas, curve, x);
            if let Some(knee) = &curve.knee {
                let at = x.at(knee.load);
                canvas.line(&[(at, 12.0), (at, HEIGHT - FOOT)], Paint::Series(3), 1.6);
            }
            if let (Some(fit), Some(first), Some(last)) =
                (&curve.fit, curve.points.first(), curve.points.last())
            {
                let steps = (last.load / first.load).ln();
                let law: Vec<(f64, f64)> = (0..=80)
                    .map(|step| first.load * (steps * f64::from(step) / 80.0).exp())
                    .map(|load| (x.at(load), y.at(fit.rate(load))))
                    .collect();
                canvas.line(&law, Paint::Series(2), 2.0);
            }
            for point in &curve.points {
                let Some(rate) = point.rate else { continue };
                let words =
                    format!("{}: {} {unit}", load_words(curve.axis, point.load), figures::with_margin(rate));
                column(canvas, x.at(point.load), &words, |canvas| {
                    canvas.upright(x.at(point.load), y, rate, Paint::Series(1), 5.0);
                    canvas.dot((x.at(point.load), y.at(rate.value)), 4.5, Paint::Series(1));
                });
            }
        },
    );
}

/// Draws what is at one load, met by the pointer from top to bottom.
fn column(canvas: &mut Canvas, at: f64, words: &str, draw: impl FnOnce(&mut Canvas)) {
    canvas.mark(words, (at - REACH, 0.0), (at + REACH, HEIGHT - FOOT), draw);
}

/// The loads under the axis, as many as there is room for, and what they are.
fn foot(canvas: &mut Canvas, curve: &Curve, x: Scale) {
    let loads: Vec<f64> = curve.points.iter().map(|point| point.load).collect();
    for load in &loads {
        canvas.line(&[(x.at(*load), HEIGHT - FOOT), (x.at(*load), HEIGHT - FOOT + 4.0)], Paint::Muted, 1.0);
    }
    canvas.below(x, &loads, HEIGHT - FOOT + 15.0, &figures::short);
    let what = match curve.axis {
        Axis::Clients => "clients",
        Axis::Rate => "calls/s due",
    };
    canvas.text((canvas.width - 20.0, HEIGHT - 10.0), what, Paint::Muted, Hold::Right);
}

/// A percentile of a point.
type Time = fn(&Point) -> Option<Interval>;

/// Draws p50 and p99.
pub(crate) fn latency(section: &mut Markup, curve: &Curve) {
    let times = || curve.points.iter().flat_map(|point| [point.p50_ns, point.p99_ns]).flatten();
    let least = times().map(|time| time.value).fold(f64::INFINITY, f64::min);
    let most = times().map(|time| time.value).fold(0.0, f64::max);
    if most <= 0.0 {
        section.line("p", "", "Too few calls for percentiles.");
        return;
    }
    let knows_p99 = curve.points.iter().any(|point| point.p99_ns.is_some());
    let mut legend = vec![Key::new("dot s1", "p50")];
    if knows_p99 {
        legend.push(Key::new("dot s2", "p99"));
    }
    let said: Vec<String> = curve
        .points
        .iter()
        .filter_map(|point| Some((point.load, point.p50_ns?, point.p99_ns)))
        .map(|(load, p50, p99)| {
            let p99 = figures::or_none(p99, |p99| figures::duration(p99.value));
            format!("{}: {} and {p99}", load_words(curve.axis, load), figures::duration(p50.value))
        })
        .collect();
    let figure = Figure {
        title: if knows_p99 { "p50 and p99" } else { "p50; too few calls for a p99" },
        caption: "Of all committed calls, from due to ended; mean of the blocks. Both axes are in powers.",
        description: format!("p50 and p99: {}.", said.join(", ")),
        legend,
    };
    figure.draw(
        section,
        |_| HEIGHT,
        |canvas| {
            let left = if canvas.narrow { 52.0 } else { 70.0 };
            let x = across(&curve.points, canvas, left);
            let y = Scale::log((least.max(1.0) * 0.7, most * 1.4), (HEIGHT - FOOT, 12.0));
            canvas.across((left, canvas.width - 8.0), y, 6, &figures::duration);
            foot(canvas, curve, x);
            let all: [(u8, Time); 2] = [(1, |point| point.p50_ns), (2, |point| point.p99_ns)];
            let place = |point: &Point, of: Time| Some((x.at(point.load), y.at(of(point)?.value)));
            for (series, of) in all {
                let line: Vec<(f64, f64)> =
                    curve.points.iter().filter_map(|point| place(point, of)).collect();
                if line.len() > 1 {
                    canvas.line(&line, Paint::Series(series), 1.2);
                }
            }
            for point in &curve.points {
                let time = |of: Option<Interval>| figures::or_none(of, |of| figures::duration(of.value));
                let [p50, p99] = [time(point.p50_ns), time(point.p99_ns)];
                let words = format!("{}: p50 {p50}, p99 {p99}", load_words(curve.axis, point.load));
                column(canvas, x.at(point.load), &words, |canvas| {
                    for (series, of) in all {
                        place(point, of)
                            .into_iter()
                            .for_each(|at| canvas.dot(at, 4.0, Paint::Series(series)));
                    }
                });
            }
        },
    );
}
