//! Committed calls over the time under load of a drill, with each fault marked.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::Markup;
use judge::figures;
use result::{Drill, DrillFault};

/// More faults than this are too narrow to be distinguished.
const FAULTS_MAX: usize = 40;
/// More points than this say no more on a screen.
const POINTS_MAX: usize = 480;

/// A fault in the picture.
struct Shown<'a> {
    /// Its number in the drill, from 1.
    number: usize,
    fault: &'a DrillFault,
    /// Where its load begins on the axis, in seconds of load.
    from_s: f64,
}

/// One or several steps of the load of a fault.
struct Point {
    t_s: f64,
    committed_per_s: f64,
    failed_per_s: f64,
    /// Which of the faults shown.
    of: usize,
}

/// Draws the time line; nothing where no fault has one.
pub(crate) fn render(markup: &mut Markup, drill: &Drill) {
    let shown = shown(drill);
    let points = points(&shown);
    if points.len() < 2 {
        return;
    }
    let all = drill.faults.iter().filter(|fault| fault.line.duration_s() > 0.0).count();
    let which = if shown.len() < all {
        format!(
            " Of {} faults, these are the {} with the longest time to the next committed call.",
            figures::count(all as u64),
            figures::count(shown.len() as u64)
        )
    } else {
        String::new()
    };
    let caption = format!(
        "Seconds under load, one fault after the other, without settling and audits in between. Each fault is shaded red until the \
         component was restored, and lighter until the next committed call.{which}"
    );
    let most = points.iter().map(|point| point.committed_per_s).fold(0.0, f64::max);
    let figure = Figure {
        title: "Time line",
        caption: &caption,
        description: format!(
            "Line chart of committed calls/s over {} under load with {}; up to {} calls/s.",
            figures::seconds(points.last().map_or(0.0, |point| point.t_s)),
            figures::counted(shown.len() as u64, "fault"),
            figures::count(most.round() as u64)
        ),
        legend: vec![
            Key::new("line s1", "committed"),
            Key::new("line s3", "refused, in doubt or in conflict"),
        ],
    };
    figure.write(
        markup,
        Some(readout(&shown, &points)),
        |_| 220.0,
        |canvas| Some(draw(canvas, &shown, &points)),
    );
}

fn shown(drill: &Drill) -> Vec<Shown<'_>> {
    let mut faults: Vec<(usize, &DrillFault)> =
        (1..).zip(&drill.faults).filter(|(_, fault)| fault.line.duration_s() > 0.0).collect();
    if faults.len() > FAULTS_MAX {
        // No committed call at all is the longest.
        let wait = |fault: &DrillFault| fault.first_commit_s.unwrap_or(f64::INFINITY);
        faults.sort_by(|(_, a), (_, b)| wait(b).total_cmp(&wait(a)));
        faults.truncate(FAULTS_MAX);
        faults.sort_by_key(|(number, _)| *number);
    }
    let mut shown = Vec::with_capacity(faults.len());
    let mut from_s = 0.0;
    for (number, fault) in faults {
        shown.push(Shown { number, fault, from_s });
        from_s += fault.line.duration_s();
    }
    shown
}

fn points(shown: &[Shown<'_>]) -> Vec<Point> {
    let steps: usize = shown.iter().map(|shown| shown.fault.line.committed.len()).sum();
    let several = steps.div_ceil(POINTS_MAX).max(1);
    let of_fault = |(of, shown): (usize, &Shown<'_>)| -> Vec<Point> {
        let line = &shown.fault.line;
        let chunks = line.committed.chunks(several).zip(line.failed.chunks(several)).enumerate();
        let point = |(at, (committed, failed)): (usize, (&[u64], &[u64]))| {
            let duration_s = committed.len() as f64 * line.step_s;
            let rate = |calls: &[u64]| calls.iter().sum::<u64>() as f64 / duration_s;
            Point {
                t_s: shown.from_s + (at * several) as f64 * line.step_s + duration_s / 2.0,
                committed_per_s: rate(committed),
                failed_per_s: rate(failed),
                of,
            }
        };
        chunks.map(point).collect()
    };
    shown.iter().enumerate().flat_map(of_fault).collect()
}

fn readout(shown: &[Shown<'_>], points: &[Point]) -> Readout {
    let rate = |value: f64| format!("{}/s", figures::count(value.round() as u64));
    let label = |point: &Point| {
        let Shown { number, fault, from_s } = &shown[point.of];
        let since = point.t_s - from_s - fault.after_s;
        let place = if since < 0.0 { "before" } else { "after" };
        format!(
            "{} {place} fault {number}, {} {}",
            figures::seconds(since.abs()),
            fault.component,
            fault.action.word()
        )
    };
    Readout {
        positions: points.iter().map(|point| point.t_s).collect(),
        labels: points.iter().map(label).collect(),
        values: vec![
            points.iter().map(|point| rate(point.committed_per_s)).collect(),
            points.iter().map(|point| rate(point.failed_per_s)).collect(),
        ],
    }
}

fn draw(canvas: &mut Canvas, shown: &[Shown<'_>], points: &[Point]) -> Scale {
    let (top, bottom) = (26.0, 186.0);
    let left = if canvas.narrow { 50.0 } else { 64.0 };
    let right = canvas.width - 12.0;
    let end = shown.last().map_or(1.0, |shown| shown.from_s + shown.fault.line.duration_s());
    let x = Scale::linear((0.0, end), (left, right));
    let rates = |point: &Point| point.committed_per_s.max(point.failed_per_s);
    let y = Scale::linear((0.0, points.iter().map(rates).fold(1.0, f64::max) * 1.08), (bottom, top));
    canvas.text((left, 9.0), "calls/s", Paint::Muted, Hold::Left);
    let mut free = left + 50.0;
    for Shown { number, fault, from_s } in shown {
        let load_ends = from_s + fault.line.duration_s();
        let struck = from_s + fault.after_s;
        let mended = struck + fault.unavailable_s;
        let again = fault.first_commit_s.map_or(load_ends, |wait| struck + wait);
        // As wide as a line, at least.
        let right_of = |to: f64| x.at(to.min(load_ends)).max(x.at(struck) + 1.0);
        canvas.bar((x.at(struck), top), (right_of(again.max(mended)), bottom), Paint::Bad, 0.1);
        canvas.bar((x.at(struck), top), (right_of(mended), bottom), Paint::Bad, 0.2);
        if x.at(struck) > free {
            canvas.text((x.at(struck), top - 8.0), &number.to_string(), Paint::Muted, Hold::Middle);
            free = x.at(struck) + 22.0;
        }
    }
    canvas.across((left, right), y, 4, &|value| figures::trimmed(value, 1));
    canvas.below(x, &x.ticks(if canvas.narrow { 5 } else { 10 }), bottom + 15.0, &figures::seconds);
    type Value = fn(&Point) -> f64;
    let lines: [(Paint, Value); 2] =
        [(Paint::Series(3), |point| point.failed_per_s), (Paint::Series(1), |point| point.committed_per_s)];
    for (paint, value) in lines {
        // What happened between two faults is not shown, so that no line leads from one to the next.
        for run in points.chunk_by(|a, b| a.of == b.of).filter(|run| run.len() > 1) {
            let line: Vec<_> = run.iter().map(|point| (x.at(point.t_s), y.at(value(point)))).collect();
            canvas.line(&line, paint, 1.6);
        }
    }
    x
}
