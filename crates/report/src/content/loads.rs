//! The reports of a sweep and of a search: what they say first, then a line a load or a rate that was tried.

use super::{audits, budgets, columns, durability, loud_tier, rules, setup, state_words};
use crate::block::{Badge, Block, Cell, Headline, Level, Number, Table, Tone, figure, words};
use crate::html::budget::Bar;
use crate::html::{curve as curve_chart, search as search_chart};
use judge::curve::{self, clients, load_words};
use judge::{figures, findings};
use result::{Axis, Budget, Curve, Document, Interval, Scalability, Search, State, Trial};

/// What both begin with.
fn opening<'a>(document: &'a Document, title: String, headline: Headline) -> Vec<Block<'a>> {
    let first = document.trials.first();
    let lead = first.map(circumstances).unwrap_or_default() + &state_words(document);
    let mut blocks = vec![Block::Title { title, lead }];
    if let Some(trial) = first {
        blocks.push(durability(trial));
        blocks.extend(loud_tier(trial));
    }
    blocks.extend([
        Block::Alarm("Invalid result", findings::failures_of_all(document)),
        Block::Gap,
        Block::Headline(headline),
        Block::Late(rules(document)),
        Block::Gap,
    ]);
    blocks
}

/// What both end with.
fn closing<'a>(document: &'a Document) -> Vec<Block<'a>> {
    let mut blocks = vec![Block::Gap, audits(document)];
    if let Some(trial) = document.trials.first() {
        blocks.push(Block::section("Set-up of the first trial", vec![setup(trial)]));
    }
    blocks
}

/// What all trials have in common: engine, durability, length.
fn circumstances(trial: &Trial) -> String {
    format!(
        "{} {}, {}, {} per trial",
        trial.stack.engine,
        trial.stack.engine_version,
        trial.stack.durability.word(),
        figures::seconds(trial.plan.measured_s)
    )
}

/// A sweep: what the curve says, the curve with its intervals and the law, latency over load, each load.
pub(super) fn sweep<'a>(document: &'a Document, curve: &'a Curve) -> Vec<Block<'a>> {
    let unit = curve::unit_of(&curve.points, &document.trials);
    let title = format!("{} under rising load", document.subjects.join(" and "));
    let mut blocks = opening(document, title, knee(curve, unit));
    let mut law = vec![Block::chart(move |markup| curve_chart::throughput(markup, curve, unit))];
    law.extend(curve.fit.as_ref().map(|fit| parameters(fit, unit).into()));
    blocks.extend([
        Block::section("Each load", vec![points(document, curve, unit)]).at(Level::Line),
        Block::Gap,
        Block::section("Throughput over load", law),
        Block::section(
            "Response time over load",
            vec![Block::chart(move |markup| curve_chart::latency(markup, curve))],
        ),
        Block::section("Each load", vec![points(document, curve, unit)]).at(Level::Full),
        Block::section("Where the time goes", bars(document, curve)),
    ]);
    blocks.extend(closing(document));
    blocks
}

fn knee(curve: &Curve, unit: &str) -> Headline {
    let number = curve.knee.as_ref().map(|knee| {
        let rate = figures::value_alone(Interval { value: knee.rate, low: None, high: None });
        Number {
            value: load_words(curve.axis, knee.load),
            margin: String::new(),
            unit: format!("the knee, at {rate} {unit}"),
            label: String::new(),
        }
    });
    let badge = Badge { level: Level::Page, ..Badge::new(Tone::Plain, "no knee") };
    let sentence = curve.knee.as_ref().map(|knee| knee.sentence.clone());
    Headline {
        badges: if number.is_none() { vec![badge] } else { Vec::new() },
        number,
        words: std::iter::once(curve.sentence.clone()).chain(sentence).collect(),
        ..Headline::default()
    }
}

fn points<'a>(document: &Document, curve: &Curve, unit: &str) -> Block<'a> {
    // Of a closed loop every call that is due is begun.
    let is_open = curve.axis == Axis::Rate;
    let mut titles = columns(["load", unit, "p50", "p99"], 1..);
    titles.extend(is_open.then(|| figure("served")));
    titles.push(words("saturated"));
    let time = |interval| figures::or_none(interval, |interval: Interval| figures::duration(interval.value));
    let rows = curve.points.iter().map(|point| {
        let served = || figures::or_none(curve::served_of(point, &document.trials), figures::percent);
        let is_knee = curve.knee.as_ref().is_some_and(|knee| knee.load == point.load);
        let (load, rate) =
            (load_words(curve.axis, point.load), figures::or_none(point.rate, figures::with_margin));
        let cells = [load, rate, time(point.p50_ns), time(point.p99_ns)].into_iter();
        let saturated = format!("{}{}", point.saturated, if is_knee { " ← knee" } else { "" });
        cells.chain(is_open.then(served)).chain([saturated]).collect::<Vec<_>>()
    });
    let caption = "Means of the blocks; who is saturated is what the averages of each trial show";
    Table::new(caption, titles).of(rows).into()
}

/// The parameters of the law, each with its value and meaning.
fn parameters(fit: &Scalability, unit: &str) -> Table {
    let between = |interval: Interval, number: &dyn Fn(f64) -> String| {
        let ends = interval.low.zip(interval.high);
        let ends =
            ends.map_or_else(String::new, |(low, high)| format!(" ({}–{})", number(low), number(high)));
        format!("{}{ends}", number(interval.value))
    };
    let percent = |value: f64| figures::trimmed(value * 100.0, 2);
    let per_pair = |value: f64| match value {
        0.0 => "0".to_owned(),
        _ if value >= 0.001 => figures::short(value),
        _ => format!("{value:.2e}"),
    };
    let lambda = between(fit.lambda, &|value| figures::count(value.round() as u64));
    let columns = columns(["law", "value (95\u{a0}% interval)", "meaning"], 1..2);
    let mut table = Table::new("The Universal Scalability Law through the points", columns);
    let mut row = |name: &str, value: String, meaning: &str| _ = table.row([name, &value, meaning]);
    row("λ", lambda, &format!("{unit} of one client"));
    row("σ, %", between(fit.sigma, &percent), "share of the work that is done one at a time");
    row("κ", between(fit.kappa, &per_pair), "coherency cost, per pair of clients");
    if let (Some(peak), Some(value)) = (fit.peak_clients, fit.peak_rate) {
        let rate = figures::value_alone(Interval { value, low: None, high: None });
        row("peak", clients(peak.round()), &format!("where the law has its most, {rate} {unit}"));
    }
    row("error", figures::percent(fit.error_share), "distance of the points from the law");
    table
}

fn bars<'a>(document: &Document, curve: &Curve) -> Vec<Block<'a>> {
    let bar = |point: &result::Point| {
        let trials = point.trials.iter().filter_map(|at| document.trials.get(*at));
        let budget =
            Budget::mean(trials.filter_map(|trial| {
                Some((trial.overall.budget?, trial.overall.call_counts.committed as f64))
            }))?;
        let name = load_words(curve.axis, point.load).into();
        Some(Bar { name, budget, full_ns: budget.response_ns, apart: false })
    };
    let caption = "All kinds of call and all blocks together; each bar is 100\u{a0}% of its own mean.";
    budgets("load", curve.points.iter().filter_map(bar).collect(), caption, Level::Page)
}

/// A search: the rate that keeps the service level, every rate that was tried, and what gives out beyond.
pub(super) fn search<'a>(document: &'a Document, search: &'a Search) -> Vec<Block<'a>> {
    let title = format!("{} within {}", document.subjects.join(" and "), search.slo);
    let badge = match (search.highest_per_s, document.state) {
        (Some(_), _) => Badge::new(Tone::Good, "met"),
        (None, State::Complete) => Badge::new(Tone::Bad, "missed"),
        (None, state) => Badge::new(Tone::Plain, state.word()),
    };
    let headline = Headline {
        number: search.highest_per_s.map(|highest| Number {
            value: figures::short(highest),
            margin: String::new(),
            unit: format!("calls per second within {}", search.slo),
            label: String::new(),
        }),
        badges: vec![badge],
        words: std::iter::once(search.sentence.clone()).chain(search.next_limit.clone()).collect(),
        ..Headline::default()
    };
    let mut blocks = opening(document, title, headline);
    let chart = Block::chart(move |markup| search_chart::picture(markup, search));
    blocks.push(Block::section("Rates tried", vec![chart, steps(search)]));
    blocks.extend(closing(document));
    blocks
}

fn steps<'a>(search: &Search) -> Block<'a> {
    let columns = [words("step"), figure("rate/s"), words("outcome"), words(""), words("why")];
    let caption = "All rates in calls/s due, in the order of the trials";
    let rows = search.steps.iter().enumerate().map(|(i, step)| {
        let (tone, word) = if step.met { (Tone::Good, "met") } else { (Tone::Warn, "missed") };
        [
            (i + 1).to_string().into(),
            figures::trimmed(step.rate_per_s, 1).into(),
            Cell::Badge(tone, word.to_owned()),
            figures::remarks(step).join(", ").into(),
            Cell::from(step.reason.as_str()),
        ]
    });
    Table::new(caption, columns).of(rows).into()
}
