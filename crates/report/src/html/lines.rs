//! Lines over the seconds of a trial: the processors that processes kept busy, and what sessions of the engine waited for.

use super::chart::{Canvas, Figure, Key, Paint, Readout, Scale};
use super::markup::Markup;
use judge::figures;
use result::{
    Engine, MachineWideSample, ProcessSample, PublishedSecond, Trial, Wait, Writeback, WritebackSample,
};

/// More points than this say no more on a screen.
const POINTS_MAX: usize = 360;
/// States of sessions with a line of their own: as many as there are colours for lines.
const STATES: usize = 3;
/// The colour of what the kernel writes back, after those of the processes.
const WRITEBACK_SERIES: u8 = 4;

/// A line of a chart.
struct ChartLine {
    name: String,
    /// Its place among the colours.
    series: u8,
    /// Seconds and values; a step in which no one looked breaks the line.
    points: Vec<(f64, Option<f64>)>,
    /// What the pointer reads out at each.
    words: Vec<String>,
}

/// Draws the states that sessions of the engine were in most; nothing where no one looked.
pub(crate) fn sessions(markup: &mut Markup, engine: &Engine) {
    let word = |value: Option<f64>| figures::or_none(value, |value| figures::trimmed(value, 1));
    let line = |(i, wait): (u8, &Wait)| ChartLine {
        name: wait.name.clone(),
        series: i + 1,
        points: engine.t_s.iter().copied().zip(wait.sessions.iter().copied()).collect(),
        words: wait.sessions.iter().copied().map(word).collect(),
    };
    if engine.samples > 0 {
        let caption = "Sessions in each of the most frequent states, on average; sessions that wait for their client are \
                       not counted.";
        let lines: Vec<ChartLine> = (0..).zip(engine.waits.iter().take(STATES)).map(line).collect();
        let description = format!("Line chart of sessions in {} over time.", names(&lines));
        write(markup, "What the engine's sessions did", caption, description, &lines, None);
    }
}

/// Draws the processors that processes kept busy; nothing without two samples.
pub(crate) fn processors(markup: &mut Markup, trial: &Trial) {
    let line = |name: String, series: u8, samples: Vec<ProcessSample>, has_memory: bool| {
        let word = |sample: &ProcessSample| {
            let cores = format!("{} cores", figures::trimmed(sample.cores_busy, 2));
            if has_memory { format!("{cores}, {}", figures::bytes(sample.rss_bytes)) } else { cores }
        };
        let words = samples.iter().map(word).collect();
        let points = samples.iter().map(|sample| (sample.t_s, Some(sample.cores_busy))).collect();
        ChartLine { name, series, points, words }
    };
    let processes =
        trial.processes.iter().enumerate().map(|(i, process)| {
            line(process.roles_words(), (i % 3) as u8 + 1, thinned(&process.samples), true)
        });
    let kernel = trial.writeback.iter().filter(|writeback| !writeback.samples.is_empty()).map(|writeback| {
        let sample = |sample: &WritebackSample| ProcessSample {
            t_s: sample.t_s,
            cores_busy: sample.cores_busy,
            rss_bytes: 0,
        };
        let samples: Vec<ProcessSample> = writeback.samples.iter().map(sample).collect();
        line(Writeback::NAME.to_owned(), WRITEBACK_SERIES, thinned(&samples), false)
    });
    let lines: Vec<ChartLine> = processes.chain(kernel).collect();
    let cores = trial.machine.cores;
    let description = format!("Line chart of CPU cores used by {} over time, of {cores}.", names(&lines));
    let caption = "The dashed line is all the cores that there are.";
    write(markup, "CPU cores used", caption, description, &lines, Some(f64::from(cores)));
}

/// Draws the backlog of an outbox at the end of each second; nothing where it was not measured.
pub(crate) fn backlog(markup: &mut Markup, trial: &Trial) {
    let seconds = trial.published.as_ref().map_or(&[][..], |published| &published.line);
    // The longest of each chunk.
    let chunks = seconds.chunks(seconds.len().div_ceil(POINTS_MAX).max(1));
    let drawn: Vec<PublishedSecond> =
        chunks.filter_map(|chunk| chunk.iter().copied().max_by_key(|second| second.backlog)).collect();
    let word = |second: &PublishedSecond| {
        let [waiting, published] = [second.backlog, second.messages].map(figures::count);
        format!("backlog {waiting}, {published} acknowledged in this second")
    };
    let line = ChartLine {
        name: "backlog".into(),
        series: 1,
        points: drawn.iter().map(|second| (second.t_s, Some(second.backlog as f64))).collect(),
        words: drawn.iter().map(word).collect(),
    };
    let caption = "Messages that were written into the outbox and not yet acknowledged by the sink, at the end of each second.";
    let description = "Line chart of the outbox backlog over time.".to_owned();
    write(markup, "Outbox backlog", caption, description, &[line], None);
}

/// Draws what the whole machine did, a figure each; nothing without two samples.
pub(crate) fn machine_wide(markup: &mut Markup, trial: &Trial) {
    type Value = fn(&MachineWideSample) -> Option<f64>;
    let drawn: [(&str, &str, Value); 3] = [
        ("Context switches", "thousand per second", |sample| Some(sample.context_switches_per_s / 1e3)),
        ("Network", "MB per second", |sample| Some(sample.network_bytes_per_s? / 1e6)),
        ("Merged disk requests", "a second", |sample| sample.merged_requests_per_s),
    ];
    let samples = trial.machine_wide.as_ref().map_or(&[][..], |seen| &seen.samples);
    for (title, unit, value) in drawn {
        let points: Vec<(f64, Option<f64>)> = samples
            .chunks(samples.len().div_ceil(POINTS_MAX).max(1))
            .map(|chunk| {
                let values: Option<Vec<f64>> = chunk.iter().map(value).collect();
                (chunk[0].t_s, values.map(|values| values.iter().sum::<f64>() / chunk.len() as f64))
            })
            .collect();
        if points.iter().all(|(_, value)| value.is_none()) {
            continue;
        }
        let word = |(_, value): &(f64, Option<f64>)| {
            figures::or_none(*value, |value| format!("{} {unit}", figures::trimmed(value, 2)))
        };
        let words = points.iter().map(word).collect();
        let line = ChartLine { name: format!("the whole machine, {unit}"), series: 1, points, words };
        let description = format!("Line chart of {} over time, {unit}.", title.to_lowercase());
        write(markup, title, "Of the whole machine, all processes.", description, &[line], None);
    }
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

fn names(lines: &[ChartLine]) -> String {
    lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Writes the figure, with a dashed line at the ceiling where there is one.
fn write(
    markup: &mut Markup,
    title: &str,
    caption: &str,
    description: String,
    lines: &[ChartLine],
    ceiling: Option<f64>,
) {
    let all = lines.iter().map(|line| &line.points);
    let Some(longest) = all.max_by_key(|points| points.len()).filter(|points| points.len() > 1) else {
        return;
    };
    let values = |line: &ChartLine| {
        // All are sampled together; what started later has fewer samples, not other ones.
        let missing = longest.len() - line.words.len();
        std::iter::repeat_n(figures::NONE.to_owned(), missing).chain(line.words.iter().cloned()).collect()
    };
    let figure = Figure {
        title,
        caption,
        description,
        legend: lines
            .iter()
            .map(|line| Key::new(format!("line s{}", line.series), line.name.clone()))
            .collect(),
    };
    let readout = Readout {
        positions: longest.iter().map(|(t_s, _)| *t_s).collect(),
        labels: longest.iter().map(|(t_s, _)| figures::seconds(*t_s)).collect(),
        values: lines.iter().map(values).collect(),
    };
    figure.write(markup, Some(readout), |_| 190.0, |canvas| Some(draw(canvas, lines, ceiling)));
}

fn draw(canvas: &mut Canvas, lines: &[ChartLine], ceiling: Option<f64>) -> Scale {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let from = points().map(|(t_s, _)| t_s).fold(f64::INFINITY, f64::min);
    let to = points().map(|(t_s, _)| t_s).fold(f64::NEG_INFINITY, f64::max);
    let most = points().filter_map(|(_, value)| value).fold(ceiling.unwrap_or(1.0), f64::max);
    let (top, bottom) = (12.0, 160.0);
    let x = Scale::linear((from, to), (if canvas.narrow { 30.0 } else { 64.0 }, canvas.width - 12.0));
    let y = Scale::linear((0.0, most * 1.04), (bottom, top));
    if from < 0.0 {
        canvas.bar((x.at(from), top), (x.at(0.0), bottom), Paint::Shade, 1.0);
    }
    canvas.across((x.at(from), x.at(to)), y, 4, &|value| figures::trimmed(value, 1));
    canvas.below(x, &x.ticks(if canvas.narrow { 5 } else { 10 }), bottom + 15.0, &figures::seconds);
    let mut dash = ceiling.map_or(f64::INFINITY, |_| x.at(from));
    while dash < x.at(to) {
        let limit = y.at(ceiling.unwrap_or_default());
        canvas.line(&[(dash, limit), ((dash + 5.0).min(x.at(to)), limit)], Paint::Muted, 1.2);
        dash += 10.0;
    }
    for line in lines {
        for run in line.points.chunk_by(|a, b| a.1.is_some() == b.1.is_some()) {
            let points: Vec<_> =
                run.iter().filter_map(|(t_s, value)| Some((x.at(*t_s), y.at((*value)?)))).collect();
            if points.len() > 1 {
                canvas.line(&points, Paint::Series(line.series), 1.8);
            }
        }
    }
    x
}
