//! What is said of two variants alone: the verdict, block by block, and where the difference lies.

use super::{PART_MIN, budgets, columns, cost};
use crate::block::{Badge, Block, Headline, Level, Number, Table, figure, words};
use crate::html::Markup;
use crate::html::budget::Bar;
use crate::html::spectrum::{self, Lane};
use crate::variants::{ByMetric, RowStatus, VariantRow};
use judge::figures;
use result::{BudgetPart, Clocked, Comparison, Side, Trial};

/// A base and the one variant that is compared with it, where an experiment is of no others.
pub(super) struct Pair<'r, 'a> {
    pub(super) comparison: &'a Comparison,
    pub(super) a: &'r VariantRow<'a>,
    pub(super) b: &'r VariantRow<'a>,
}

/// It, if the experiment is one.
pub(super) fn pair<'r, 'a>(rows: &'r [VariantRow<'a>]) -> Option<Pair<'r, 'a>> {
    let mut others = rows.iter().filter(|row| row.status != RowStatus::Control);
    let (a, b) = (others.next()?, others.next()?);
    let comparison = b.comparison.filter(|_| others.next().is_none())?;
    Some(Pair { comparison, a, b })
}

/// The verdict on the one variant, and what is said of further metrics.
pub(super) fn verdict(pair: &Pair<'_, '_>, further: &[ByMetric<'_>]) -> Headline {
    let comparison = pair.comparison;
    let further = further.iter().flat_map(|by| by.rows.iter()).filter_map(|row| row.comparison);
    let is_said = |other: &&Comparison| other.ratio.is_none() && other.sentence == comparison.sentence;
    let mut words = vec![comparison.sentence.clone()];
    // What is invalid is so in every metric.
    words.extend(further.filter(|other| !is_said(other)).map(Comparison::answer));
    let number = comparison.ratio.map(|ratio| Number {
        value: figures::percent(ratio.value),
        margin: ratio
            .low
            .zip(ratio.high)
            .map_or_else(String::new, |(low, high)| format!("{:.1}–{:.1}", low * 100.0, high * 100.0)),
        unit: format!("{} · {} relative to {}", comparison.metric, comparison.b.label, comparison.a.label),
        label: String::new(),
    });
    let party =
        |letter: &str, party: &result::Party| [letter.to_owned(), party.label.clone(), party.subject.clone()];
    Headline {
        number,
        badges: vec![Badge::new(pair.b.status.tone(), pair.b.status.words())],
        words,
        facts: facts(pair),
        parties: vec![party("A", &comparison.a), party("B", &comparison.b)],
        ..Headline::default()
    }
}

/// What the calls of both cost, and what likely limits their throughput.
fn facts(pair: &Pair<'_, '_>) -> Vec<(String, String)> {
    let both = |of: [Option<String>; 2]| match of {
        [None, None] => None,
        [Some(a), Some(b)] if a == b => Some(a),
        sides => {
            let [a, b] = sides.map(|side| side.unwrap_or_else(|| figures::NONE.to_owned()));
            Some(format!("A: {a}; B: {b}"))
        }
    };
    let rows = [pair.a, pair.b];
    let cost_of =
        |row: &VariantRow<'_>| row.pooled.cpu_ms_per_1000(None).filter(|_| row.status.is_measured());
    let costs = rows.map(|row| cost_of(row).map(|ms| cost(Some(ms))));
    let limits = rows.map(VariantRow::limit);
    [("CPU / 1,000 calls", both(costs)), ("likely limit", both(limits.map(|limit| limit.map(str::to_owned))))]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// Block by block, where there are but two.
pub(super) fn blocks<'a>(pair: &Pair<'_, '_>) -> Block<'a> {
    let comparison = pair.comparison;
    let mut titles = columns(["block", "order", &comparison.a.label, &comparison.b.label], 2..);
    titles.extend(comparison.ratio.map(|_| figure("ratio B/A")));
    let is_invalid = !pair.a.status.is_measured() || !pair.b.status.is_measured();
    let in_turn = pair.b.pooled.trials.iter().any(|trial| !trial.rounds.is_empty());
    let order = |block: &result::Block| if in_turn { "in turn".to_owned() } else { block.order() };
    let rows = comparison.blocks.iter().enumerate().map(|(i, block)| {
        let rate = |side: Side| figures::or_none(block.rate(side).filter(|_| !is_invalid), figures::short);
        let ratio = comparison.ratio.map(|_| figures::or_none(block.ratio, figures::percent));
        let cells = [(i + 1).to_string(), order(block), rate(Side::A), rate(Side::B)];
        cells.into_iter().chain(ratio).collect::<Vec<_>>()
    });
    Table::new(format!("Blocks, in {}", comparison.metric), titles).of(rows).into()
}

/// Draws the spectra of both, a lane a kind.
pub(super) fn spectra(markup: &mut Markup, pair: &Pair<'_, '_>) {
    let lanes: Vec<Lane<'_>> = (pair.a.pooled.kinds.iter())
        .map(|kind| {
            let other = pair.b.pooled.kinds.iter().find(|other| other.name == kind.name);
            let both = [Some(kind), other].into_iter().flatten();
            Lane {
                name: kind.name,
                spectra: both.map(|kind| kind.spectrum.as_slice()).collect(),
                marks: None,
            }
        })
        .collect();
    spectrum::render(markup, &lanes, &[&pair.a.label(), &pair.b.label()]);
}

/// Two bars a kind of call on one scale.
pub(super) fn bars<'a>(pair: &Pair<'_, '_>) -> Vec<Block<'a>> {
    let Pair { a, b, .. } = pair;
    let both = a.pooled.kinds.iter().filter_map(|kind| {
        let other = b.pooled.kinds.iter().find(|other| other.name == kind.name)?;
        Some((kind.name, kind.budget?, other.budget?))
    });
    let all = a.pooled.budget.zip(b.pooled.budget).map(|(a, b)| ("all calls", a, b));
    let mut bars = Vec::new();
    for (name, of_a, of_b) in both.chain(all) {
        let full_ns = of_a.response_ns.max(of_b.response_ns);
        for (row, budget, apart) in [(a, of_a, true), (b, of_b, false)] {
            let name = format!("{name}, {}", row.variant.name).into();
            bars.push(Bar { name, budget, full_ns, apart });
        }
    }
    let caption = "All blocks together. Both bars of a call have the same scale, so the longer bar is slower; labels are shares of the bar.";
    budgets("call", bars, caption, Level::Page)
}

/// The statements and steps of transactions whose time a call differs most, and the states of the engine's sessions whose share does.
/// Nothing where neither is known of both.
pub(super) fn moved(pair: &Pair<'_, '_>) -> Option<Table> {
    /// How many of each are listed, and how much of a call's time a part must have moved by.
    const LISTED: usize = 3;
    const LEAST: f64 = 0.01;
    let titles = [
        words("what differs most"),
        figure(pair.a.variant.name.as_str()),
        figure(pair.b.variant.name.as_str()),
        figure("difference"),
    ];
    let mut table = Table::new("Statements and waits that differ most", titles);
    let whole_ns = pair.a.pooled.budget.map_or(0.0, |budget| budget.response_ns);
    let [of_a, of_b] = [pair.a, pair.b].map(|row| clocked_parts(&row.pooled.trials));
    for (name, [ns_a, ns_b]) in most_different(&of_a, &of_b, LISTED, LEAST * whole_ns) {
        let [of_a, of_b, change] = figures::difference(ns_a, ns_b, 0.0);
        table.row([name, of_a, of_b, change]);
    }
    let [of_a, of_b] = [pair.a, pair.b].map(|row| {
        let waits = row.pooled.waits().into_iter();
        waits.map(|(name, share)| (name.to_owned(), share)).collect::<Vec<_>>()
    });
    for (name, [share_a, share_b]) in most_different(&of_a, &of_b, LISTED, LEAST) {
        let change =
            format!("{}{}", if share_b > share_a { "+" } else { "" }, figures::percent(share_b - share_a));
        table.row([
            format!("engine sessions: {name}"),
            figures::percent(share_a),
            figures::percent(share_b),
            change,
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What is known of both sides, those first that differ most; at most so many, by at least `least` each. What one side does not have
/// takes it nothing. Nothing where nothing is known of a side.
fn most_different(
    a: &[(String, f64)],
    b: &[(String, f64)],
    number: usize,
    least: f64,
) -> Vec<(String, [f64; 2])> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let of = |all: &[(String, f64)], name: &str| {
        all.iter().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
    };
    let only_b = b.iter().filter(|(name, _)| a.iter().all(|(known, _)| known != name));
    let names = a.iter().chain(only_b).map(|(name, _)| name);
    let by = |of: &(String, [f64; 2])| (of.1[1] - of.1[0]).abs();
    let pairs = names.map(|name| (name.clone(), [of(a, name), of(b, name)]));
    let mut both: Vec<_> = pairs.filter(|of| by(of) > least).collect();
    both.sort_by(|one, other| by(other).total_cmp(&by(one)));
    both.truncate(number);
    both
}

/// What each part around which a clock stood takes of a committed call of any kind, in nanoseconds: `read_stock of new-order`.
fn clocked_parts(trials: &[&Trial]) -> Vec<(String, f64)> {
    let committed: f64 = trials.iter().map(|trial| trial.overall.call_counts.committed as f64).sum();
    let mut parts: Vec<(String, f64)> = Vec::new();
    for kind in trials.iter().flat_map(|trial| &trial.kinds) {
        let calls = kind.tally.call_counts.committed as f64;
        for part in kind.clocked.iter().flat_map(Clocked::parts) {
            let (name, ns) =
                (format!("{} of {}", part.name, kind.name), part.of_call_ns * calls / committed.max(1.0));
            match parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += ns,
                None => parts.push((name, ns)),
            }
        }
    }
    parts
}

/// Difference of the mean response time by part, over all calls.
pub(super) fn difference(pair: &Pair<'_, '_>) -> Option<Table> {
    let (a, b) = pair.a.pooled.budget.zip(pair.b.pooled.budget)?;
    let titles = [
        words("time, all calls"),
        figure(pair.a.variant.name.as_str()),
        figure(pair.b.variant.name.as_str()),
        figure("difference"),
        figure("share of it").at(Level::Page),
    ];
    let whole_ns = b.response_ns - a.response_ns;
    let mut table = Table::new("Difference of the mean response time by part", titles);
    let [.., whole] = figures::difference(a.response_ns, b.response_ns, a.response_ns);
    let mut row = |name: &str, ns_a: f64, ns_b: f64| {
        let [of_a, of_b, change] = figures::difference(ns_a, ns_b, a.response_ns);
        let is_news = change != "0" && whole != "0";
        let share = figures::or_none(is_news.then(|| (ns_b - ns_a) / whole_ns), figures::percent);
        table.row([name.to_owned(), of_a, of_b, change, share]).level =
            match ns_a.abs().max(ns_b.abs()) >= PART_MIN * a.response_ns {
                true => Level::Always,
                false => Level::Full,
            };
    };
    for part in BudgetPart::ALL {
        let (ns_a, ns_b) = (a.part_ns(part), b.part_ns(part));
        if ns_a != 0.0 || ns_b != 0.0 {
            row(part.words(), ns_a, ns_b);
        }
    }
    row("response time", a.response_ns, b.response_ns);
    Some(table)
}
