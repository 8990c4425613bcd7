//! What the processes used.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::{Markup, Table};
use crate::document::{Process, ProcessSample, Trial};
use crate::figures;

/// More points than this say no more on a screen.
const POINTS_MAX: usize = 360;

/// Writes table and chart; nothing without a process.
pub(super) fn render(markup: &mut Markup, trial: &Trial) {
    if trial.processes.is_empty() {
        return;
    }
    table(markup, &trial.processes);
    chart(markup, trial);
}

fn table(markup: &mut Markup, processes: &[Process]) {
    let titles = [
        "process",
        "CPU / 1000 calls",
        "CPU user",
        "CPU kernel",
        "run-queue wait",
        "memory, peak",
        "waits",
        "preempted",
        "read",
        "written",
    ];
    let mut table = Table::new("Cost by process, over the measured interval", &titles, 1..titles.len());
    let maybe = |value: Option<u64>, format: fn(u64) -> String| {
        value.map_or_else(|| figures::NONE.to_owned(), format)
    };
    for process in processes {
        let cost = process
            .cpu_ms_per_1000_committed
            .map_or_else(|| figures::NONE.to_owned(), |ms| format!("{}\u{a0}ms", figures::short(ms)));
        table.row(vec![
            super::markup::Cell::Detailed(
                process.roles_words(),
                vec![format!("{}, process {}", process.name, process.pid)],
            ),
            cost.into(),
            figures::duration(process.cpu_user_s * 1e9).into(),
            figures::duration(process.cpu_system_s * 1e9).into(),
            process
                .run_queue_s
                .map_or_else(|| figures::NONE.to_owned(), |s| figures::duration(s * 1e9))
                .into(),
            figures::bytes(process.rss_peak_bytes).into(),
            maybe(process.switches_voluntary, figures::count).into(),
            maybe(process.switches_involuntary, figures::count).into(),
            maybe(process.io_read_bytes, figures::bytes).into(),
            maybe(process.io_written_bytes, figures::bytes).into(),
        ]);
    }
    markup.table(&table);
}

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

fn chart(markup: &mut Markup, trial: &Trial) {
    let lines: Vec<Vec<ProcessSample>> =
        trial.processes.iter().map(|process| thinned(&process.samples)).collect();
    let Some(longest) = lines.iter().max_by_key(|line| line.len()).filter(|line| line.len() > 1) else {
        return;
    };
    let figure = Figure {
        title: "Processors kept busy",
        caption: "The dashed line is all the processors that there are.",
        description: format!(
            "Line chart of processors kept busy by {} over time, of {}.",
            trial.processes.iter().map(Process::roles_words).collect::<Vec<_>>().join(", "),
            trial.machine.cores
        ),
        legend: trial
            .processes
            .iter()
            .enumerate()
            .map(|(i, process)| Key { swatch: format!("line s{}", i % 3 + 1), name: process.roles_words() })
            .collect(),
        readout: Some(Readout {
            positions: longest.iter().map(|sample| sample.t_s).collect(),
            labels: longest.iter().map(|sample| figures::seconds(sample.t_s)).collect(),
            values: lines
                .iter()
                .map(|line| {
                    // Processes are sampled together; one that started later has fewer samples, not other ones.
                    let missing = longest.len() - line.len();
                    let cells = line.iter().map(|sample| {
                        format!(
                            "{} cores, {}",
                            figures::trimmed(sample.cores_busy, 2),
                            figures::bytes(sample.rss_bytes)
                        )
                    });
                    std::iter::repeat_n(figures::NONE.to_owned(), missing).chain(cells).collect()
                })
                .collect(),
        }),
    };
    figure.write(markup, |_| 190.0, |canvas| draw(canvas, trial, &lines));
}

fn draw(canvas: &mut Canvas, trial: &Trial, lines: &[Vec<ProcessSample>]) -> Option<Scale> {
    let samples = || lines.iter().flatten();
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
    for (i, line) in lines.iter().enumerate() {
        let points: Vec<_> = line.iter().map(|sample| (x.at(sample.t_s), y.at(sample.cores_busy))).collect();
        canvas.line(&points, Paint::Series((i % 3) as u8 + 1), 1.8);
    }
    Some(x)
}
