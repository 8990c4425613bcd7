//! What reports say: a tree of blocks from a document, worked out once for text, Markdown and page.

mod answer;
mod checks;
mod drill;
mod experiment;
pub(crate) mod history;
mod loads;
mod pair;
mod parts;
mod trial;

use crate::block::{Block, Cell, Column, Level, Table, Tone, figure, words};
use crate::html::budget::{self, Bar};
use judge::{engine_findings, figures, findings};
use result::{BudgetPart, Class, Document, RunKind, State, Trial};
use std::ops::RangeBounds;
use trial::trial;

/// The report of a run.
pub(crate) fn of(document: &Document) -> Vec<Block<'_>> {
    let curve = document.curve.as_ref().filter(|curve| !curve.points.is_empty());
    let search = document.search.as_ref().filter(|search| !search.steps.is_empty());
    let mut blocks = if let Some(drill) = &document.drill {
        drill::drill(document, drill)
    } else if let Some(experiment) = &document.experiment {
        experiment::blocks(document, experiment)
    } else if let Some(curve) = curve {
        loads::sweep(document, curve)
    } else if let Some(search) = search {
        loads::search(document, search)
    } else if document.trials.is_empty() {
        let (title, lead) = (document.subjects.join(" and "), findings::empty_sentence(document));
        vec![if title.is_empty() {
            Block::Title { title: lead, lead: title }
        } else {
            Block::Title { title, lead }
        }]
    } else {
        // A run of several trials that ended before they came to anything together.
        let is_partial = document.kind != RunKind::Trial && document.state != State::Complete;
        let partial = is_partial.then(|| Block::Title {
            title: format!(
                "{} of {}",
                figures::capital(document.kind.word()),
                document.subjects.join(" and ")
            ),
            lead: format!("{}: only these trials were measured", document.state.word()),
        });
        partial.into_iter().chain(document.trials.iter().flat_map(trial)).collect()
    };
    if let Some(confirmation) = &document.confirmation {
        let confirmed = Block::fact("bottleneck", confirmation.sentence.as_str());
        blocks.insert(1, Block::Late(vec![confirmed]));
    }
    blocks.push(Block::Late(vec![Block::Notes(document.notes.clone())]));
    blocks
}

/// What a commit survives, and by what means.
fn durability<'a>(trial: &Trial) -> Block<'a> {
    let durability = &trial.stack.durability;
    let on = trial.data.file_system.as_ref().map_or_else(String::new, |system| format!(", on {system}"));
    let words = format!("{}: {} ({}{on})", durability.word(), durability.tier.meaning(), durability.detail);
    Block::Caption(words).at(Level::Brief)
}

/// What must be said before a number of this tier is read.
fn loud_tier<'a>(trial: &Trial) -> Option<Block<'a>> {
    engine_findings::loud_tier(trial).map(|(label, meaning)| Block::Loud(label, meaning))
}

/// The rules to mind in any trial.
fn rules<'a>(document: &Document) -> Vec<Block<'a>> {
    findings::rules_to_mind_of_all(document).into_iter().map(Block::Rule).collect()
}

/// The name of what is likely to set the throughput of a trial.
pub(crate) const BOTTLENECK: &str = "bottleneck";

/// What became of the audits of all trials.
fn audits<'a>(document: &Document) -> Block<'a> {
    let trials: Vec<&Trial> = document.trials.iter().collect();
    let [(_, words, failed), ..] = findings::checks(&trials);
    let tone = if failed { Tone::Bad } else { Tone::Good };
    Block::told("audits of all trials", words, tone).at(Level::Vital).at(Level::Brief)
}

/// How far a run came that did not come to its end.
fn state_words(document: &Document) -> String {
    match document.state {
        State::Complete => String::new(),
        state => format!(", {}", state.word()),
    }
}

/// The comparison key: everything that must be the same before two numbers may be compared with each other.
fn setup<'a>(trial: &Trial) -> Block<'a> {
    Block::Pairs(findings::key(trial)).at(Level::Full)
}

/// Where the time of calls goes: bars that sum to 100 %, and the table of their figures at `level`.
fn budgets<'a>(title: &str, bars: Vec<Bar>, caption: &'static str, level: Level) -> Vec<Block<'a>> {
    let parts = || {
        let share =
            |part: BudgetPart| bars.iter().map(|bar| bar.budget.share(part).abs()).fold(0.0, f64::max);
        (0_u8..).zip(BudgetPart::ALL).map(move |(index, part)| (index, part, share(part)))
    };
    let parts: Vec<(u8, BudgetPart, f64)> = parts().filter(|(.., share)| *share >= PART_MIN).collect();
    let mut columns = vec![words(title), figure("mean")];
    columns.extend(parts.iter().map(|(_, part, share)| {
        // A column of a terminal is worth half a percent of some call.
        figure(part.words()).at(if *share < 0.005 { Level::Full } else { Level::Always })
    }));
    let mut table = Table::new("Time budget", columns).folded("The time budget as a table");
    for bar in &bars {
        let mut cells = vec![bar.name.clone(), figures::duration(bar.budget.response_ns).into()];
        cells.extend(parts.iter().map(|(_, part, _)| {
            let share = figures::percent(bar.budget.share(*part));
            Cell::Detailed(share, vec![figures::duration(bar.budget.part_ns(*part))])
        }));
        table.row(cells);
    }
    let drawn: Vec<(u8, BudgetPart)> = parts.iter().map(|(index, part, _)| (*index, *part)).collect();
    vec![
        Block::chart(move |markup| budget::render(markup, &bars, &drawn, caption)),
        Block::from(table).at(level),
    ]
}

/// The least share of a response time that is told, and the least change of one.
const PART_MIN: f64 = 0.0005;

/// A CPU time a thousand calls, or the sign for none.
fn cost(ms: Option<f64>) -> String {
    figures::or_none(ms, |ms| format!("{}\u{a0}ms", figures::short(ms)))
}

/// A time, or the sign for none.
fn time(ns: Option<f64>) -> String {
    figures::or_none(ns, figures::duration)
}

/// p50 and p99 of the kind that the headline of a trial counts.
fn times(trial: &Trial) -> [String; 2] {
    let kind = trial.kinds.get(trial.headline_kind());
    let times = kind.and_then(|kind| kind.tally.latency(Class::Committed)).map(|latency| latency.response);
    [times.and_then(|times| times.p50_ns), times.and_then(|times| times.p99_ns)].map(figures::maybe_duration)
}

/// Columns of words and figures by their titles; `figures` are the places of those of figures.
pub(crate) fn columns<'t>(
    titles: impl IntoIterator<Item = &'t str>,
    figures: impl RangeBounds<usize>,
) -> Vec<Column> {
    let column = |(at, title)| if figures.contains(&at) { figure(title) } else { words(title) };
    titles.into_iter().enumerate().map(column).collect()
}
