//! The report of stored runs over time: what the latest one says, and every run behind it.

use crate::block::{Block, Cell, Level, Table, Tone, figure, words};
use crate::history::{History, Point, Series};
use crate::html::history as chart;
use judge::figures;
use result::Interval;

/// Runs that a page shows at once; those before them are folded away.
const LATEST_MAX: usize = 8;

pub(crate) fn blocks(history: &History) -> Vec<Block<'_>> {
    let (courses, single): (Vec<&Series>, Vec<&Series>) =
        history.series.iter().partition(|series| series.points.len() > 1);
    let title = "Runs over time".to_owned();
    let mut blocks = vec![Block::Title { title, lead: extent(history, courses.len()) }];
    if !history.skipped.is_empty() {
        let files = figures::counted(history.skipped.len() as u64, "file");
        let (target, text) = ("#unread".to_owned(), format!("{files} are in no series."));
        blocks.push(Block::Link(target, text));
    }
    if courses.len() > 1 {
        let overview = Block::from(overview(&courses)).at(Level::Page);
        blocks.push(Block::section("The latest of each series", vec![overview]));
    }
    for (index, series) in courses.iter().enumerate() {
        let (title, id) = (series.subject.clone(), anchor(index));
        blocks.push(Block::Gap);
        blocks.push(Block::Section { title, id, named: true, blocks: course(series) });
    }
    if !single.is_empty() {
        let (title, id) = ("Measured once".to_owned(), String::new());
        blocks.push(Block::Gap);
        blocks.push(Block::Section { title, id, named: true, blocks: vec![once(&single)] });
    }
    if !history.skipped.is_empty() {
        let columns = [words("file"), words("why")];
        let mut table = Table::new("Files without a series", columns).breaking();
        for skipped in &history.skipped {
            table.row([skipped.path.display().to_string(), skipped.why.clone()]);
        }
        let (title, id) = ("What is in no series".to_owned(), "unread".to_owned());
        let lines = history
            .skipped
            .iter()
            .map(|skipped| Block::Sentence(format!("skipped {}: {}", skipped.path.display(), skipped.why)));
        blocks.push(Block::Gap);
        blocks.push(Block::At(Level::Line, lines.collect()));
        blocks.push(Block::Section { title, id, named: false, blocks: vec![table.into()] }.at(Level::Full));
    }
    blocks
}

/// What there is, in a sentence.
fn extent(history: &History, courses: usize) -> String {
    let runs: usize = history.series.iter().map(|series| series.points.len()).sum();
    if runs == 0 {
        return "No results.".to_owned();
    }
    let all = history.series.len();
    let series = match (all, all - courses) {
        (1, _) | (_, 0) => format!("{} series", figures::count(all as u64)),
        (all, single) => {
            let [all, single] = [all, single].map(|count| figures::count(count as u64));
            format!("{all} series, {single} of them of one result")
        }
    };
    format!("{} in {series}.", figures::counted(runs as u64, "result"))
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

/// The value of a run with its interval, or that it is invalid.
pub(crate) fn value_words(point: &Point) -> String {
    let value = figures::with_margin(point.value);
    if point.invalid { format!("invalid ({value})") } else { value }
}

/// The tail of a run, or the sign for none.
pub(crate) fn p99_words(point: &Point) -> String {
    figures::or_none(point.p99_ns, figures::duration)
}

/// The latest run that counts, and the one before it that does.
fn latest(series: &Series) -> Option<(&Point, Option<&Point>)> {
    let mut valid = series.points.iter().rev().filter(|point| !point.invalid);
    Some((valid.next()?, valid.next()))
}

/// A value as a share of an earlier one.
fn against(point: &Point, before: &Point) -> String {
    figures::percent(point.value.value / before.value.value)
}

fn overview(courses: &[&Series]) -> Table {
    let columns = super::columns(["subject", "runs", "latest", "of the run before", "p99", "when"], 1..5);
    Table::new("Of the valid runs", columns).of(courses.iter().enumerate().map(|(index, series)| {
        let valid = series.points.iter().filter(|point| !point.invalid).count();
        let found = latest(series);
        [
            Cell::Link(format!("#{}", anchor(index)), series.subject.clone(), vec![key_words(series)]),
            figures::count(valid as u64).into(),
            found.map_or_else(
                || figures::NONE.into(),
                |(point, _)| Cell::Detailed(figures::with_margin(point.value), vec![series.unit.clone()]),
            ),
            figures::or_none(found.and_then(|(point, before)| Some((point, before?))), |(point, before)| {
                against(point, before)
            })
            .into(),
            figures::or_none(found, |(point, _)| p99_words(point)).into(),
            figures::or_none(found, |(point, _)| point.started.readable()).into(),
        ]
    }))
}

fn course(series: &Series) -> Vec<Block<'_>> {
    let newest = || series.points.iter().rev();
    let mut blocks = vec![
        Block::Caption(key_words(series)),
        Block::Sentence(sentence(series)),
        Block::chart(|markup| chart::values(markup, series)),
        Block::chart(|markup| chart::response_times(markup, series)),
        Block::from(runs("Every run, the oldest first", series, series.points.iter())).at(Level::Line),
    ];
    if series.points.len() <= LATEST_MAX {
        blocks.push(Block::from(runs("Every run, the newest first", series, newest())).at(Level::Full));
    } else {
        let caption = format!("The latest {LATEST_MAX} runs, the newest first");
        let all = format!("All {} runs as a table", figures::count(series.points.len() as u64));
        blocks.extend([
            Block::from(runs(&caption, series, newest().take(LATEST_MAX))).at(Level::Page),
            Block::from(runs("Every run, the newest first", series, newest()).folded(all)).at(Level::Full),
        ]);
    }
    blocks
}

/// The latest run next to the one before, and the extent of all.
fn sentence(series: &Series) -> String {
    let unit = &series.unit;
    let Some((last, before)) = latest(series) else {
        return "Every run of this series is invalid.".to_owned();
    };
    let mut message =
        format!("Latest: {} {unit} on {}", figures::with_margin(last.value), last.started.readable());
    if let Some(before) = before {
        message.push_str(&format!(", {} of the run before", against(last, before)));
        let (a, b) = (last.value, before.value);
        if let (Some(low), Some(high), Some(low_before), Some(high_before)) = (a.low, a.high, b.low, b.high) {
            let overlap = low <= high_before && low_before <= high;
            message.push_str(if overlap {
                "; the intervals of the two overlap"
            } else {
                "; their intervals do not meet"
            });
        }
        let valid = || series.points.iter().filter(|point| !point.invalid).map(|point| point.value);
        let by_value = |a: &Interval, b: &Interval| a.value.total_cmp(&b.value);
        // With as many digits as where they stand by themselves.
        let words = |value: Option<Interval>| figures::or_none(value, figures::value_alone);
        let (least, most) = (words(valid().min_by(by_value)), words(valid().max_by(by_value)));
        message.push_str(&format!(". All runs are between {least} and {most}"));
    }
    message.push('.');
    match series.points.iter().filter(|point| point.invalid).count() {
        0 => (),
        1 => message.push_str(" One run is invalid and not counted."),
        invalid => message.push_str(&format!(" {invalid} runs are invalid and not counted.")),
    }
    message
}

fn runs<'p>(caption: &str, series: &Series, points: impl Iterator<Item = &'p Point>) -> Table {
    let columns = super::columns(["started", &series.unit, "p99", "trials", "version", "audits"], 1..4);
    let mut table = Table::new(caption, columns);
    for point in points {
        let row = table.row([
            Cell::Detailed(point.started.readable(), vec![point.run.clone()]),
            value_words(point).into(),
            p99_words(point).into(),
            point.trials.to_string().into(),
            point.stackmark.as_str().into(),
            audits(point),
        ]);
        row.remarks = point.changes.iter().map(|change| format!("▲ {change}")).collect();
    }
    table
}

fn audits(point: &Point) -> Cell {
    Cell::Badge(if point.invalid { Tone::Bad } else { Tone::Good }, point.audits.clone())
}

/// Series that have no course yet.
fn once<'a>(single: &[&Series]) -> Block<'a> {
    let columns = [words("subject"), figure("result"), figure("p99"), words("started"), words("audits")];
    let points = single.iter().filter_map(|series| Some((series, series.points.first()?)));
    let mut table = Table::new("One result each: nothing to compare it with", columns);
    for (series, point) in points {
        let row = table.row([
            Cell::from(series.subject.as_str()),
            format!("{} {}", value_words(point), series.unit).into(),
            p99_words(point).into(),
            Cell::Detailed(point.started.readable(), vec![point.run.clone()]),
            audits(point),
        ]);
        row.remarks = vec![key_words(series)];
    }
    table.into()
}
