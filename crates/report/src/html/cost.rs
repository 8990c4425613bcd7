//! The processors that processes kept busy, over time.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::Markup;
use crate::figures;
use result::{ProcessSample, Trial, Writeback, WritebackSample};

/// More points than this say no more on a screen.
const POINTS_MAX: usize = 360;

/// Samples thinned out to what a screen shows, each the mean of those it stands for.
fn thinned(samples: &[ProcessSample]) -> Vec<ProcessSample> {
    let several = samples.len().div_ceil(POINTS_MAX).max(1);
    samples
        .chunks(several)
        .map(|chunk| ProcessSample {
            t_s: chunk[0].t_s,
            cores_busy: chunk.iter().map(|sample| sample.cores_busy).sum::<f64>() / chunk.len() as f64,
            rss_bytes: chunk.iter().map(|sample| sample.rss_bytes).max().unwrap_or(0),
        })
        .collect()
}

/// A line of the chart.
struct Line {
    name: String,
    /// Its place among the colours.
    series: u8,
    samples: Vec<ProcessSample>,
    /// Whether it has memory of its own.
    has_memory: bool,
}

/// The series of what the kernel writes back, after those of the processes.
const WRITEBACK_SERIES: u8 = 4;

fn lines(trial: &Trial) -> Vec<Line> {
    let processes = trial.processes.iter().enumerate().map(|(i, process)| Line {
        name: process.roles_words(),
        series: (i % 3) as u8 + 1,
        samples: thinned(&process.samples),
        has_memory: true,
    });
    let kernel = trial.writeback.iter().filter(|writeback| !writeback.samples.is_empty()).map(|writeback| {
        let sample = |sample: &WritebackSample| ProcessSample {
            t_s: sample.t_s,
            cores_busy: sample.cores_busy,
            rss_bytes: 0,
        };
        Line {
            name: Writeback::NAME.to_owned(),
            series: WRITEBACK_SERIES,
            samples: thinned(&writeback.samples.iter().map(sample).collect::<Vec<_>>()),
            has_memory: false,
        }
    });
    processes.chain(kernel).collect()
}

/// Draws them; nothing without two samples.
pub(crate) fn chart(markup: &mut Markup, trial: &Trial) {
    let lines = lines(trial);
    let all = lines.iter().map(|line| &line.samples);
    let Some(longest) = all.max_by_key(|samples| samples.len()).filter(|samples| samples.len() > 1) else {
        return;
    };
    let cell = |line: &Line, sample: &ProcessSample| {
        let cores = format!("{} cores", figures::trimmed(sample.cores_busy, 2));
        if line.has_memory { format!("{cores}, {}", figures::bytes(sample.rss_bytes)) } else { cores }
    };
    let figure = Figure {
        title: "Processors kept busy",
        caption: "The dashed line is all the processors that there are.",
        description: format!(
            "Line chart of processors kept busy by {} over time, of {}.",
            lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>().join(", "),
            trial.machine.cores
        ),
        legend: lines
            .iter()
            .map(|line| Key { swatch: format!("line s{}", line.series), name: line.name.clone() })
            .collect(),
        readout: Some(Readout {
            positions: longest.iter().map(|sample| sample.t_s).collect(),
            labels: longest.iter().map(|sample| figures::seconds(sample.t_s)).collect(),
            values: lines
                .iter()
                .map(|line| {
                    // Processes are sampled together; one that started later has fewer samples, not other ones.
                    let missing = longest.len() - line.samples.len();
                    let cells = line.samples.iter().map(|sample| cell(line, sample));
                    std::iter::repeat_n(figures::NONE.to_owned(), missing).chain(cells).collect()
                })
                .collect(),
        }),
    };
    figure.write(markup, |_| 190.0, |canvas| draw(canvas, trial, &lines));
}

fn draw(canvas: &mut Canvas, trial: &Trial, lines: &[Line]) -> Option<Scale> {
    let samples = || lines.iter().flat_map(|line| &line.samples);
    let from = samples().map(|sample| sample.t_s).fold(f64::INFINITY, f64::min);
    let to = samples().map(|sample| sample.t_s).fold(f64::NEG_INFINITY, f64::max);
    let most = samples().map(|sample| sample.cores_busy).fold(f64::from(trial.machine.cores), f64::max);
    let (top, bottom) = (12.0, 160.0);
    let x = Scale::linear((from, to), (if canvas.narrow { 30.0 } else { 64.0 }, canvas.width - 12.0));
    let y = Scale::linear((0.0, most * 1.04), (bottom, top));
    if from < 0.0 {
        canvas.bar((x.at(from), top), (x.at(0.0), bottom), Paint::Shade, 1.0);
    }
    for tick in y.ticks(4) {
        canvas.line(&[(x.at(from), y.at(tick)), (x.at(to), y.at(tick))], Paint::Grid, 1.0);
        canvas.text((x.at(from) - 7.0, y.at(tick)), &figures::trimmed(tick, 1), Paint::Muted, Hold::Right);
    }
    for tick in x.ticks(if canvas.narrow { 5 } else { 10 }) {
        let hold = if x.at(tick) > canvas.width - 26.0 { Hold::Right } else { Hold::Middle };
        canvas.text((x.at(tick), bottom + 15.0), &figures::seconds(tick), Paint::Muted, hold);
    }
    let (mut dash, limit) = (x.at(from), y.at(f64::from(trial.machine.cores)));
    while dash < x.at(to) {
        canvas.line(&[(dash, limit), ((dash + 5.0).min(x.at(to)), limit)], Paint::Muted, 1.2);
        dash += 10.0;
    }
    for line in lines {
        let points: Vec<_> =
            line.samples.iter().map(|sample| (x.at(sample.t_s), y.at(sample.cores_busy))).collect();
        canvas.line(&points, Paint::Series(line.series), 1.8);
    }
    Some(x)
}
