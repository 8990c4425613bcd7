//! The report of an experiment, and of a comparison, which is one of two variants: the question, the answer in words and one
//! picture, and then what stands behind it.

use super::answer::{answer, each, in_common};
use super::pair::{self, Pair, pair};
use super::{audits, budgets, columns, cost, durability, loud_tier, rules, setup, state_words, time, times};
use crate::block::{Block, Cell, Level, Table, Tone, figure, words};
use crate::html::budget::Bar;
use crate::html::spectrum::{self, Lane, OVERLAID_MAX};
use crate::html::{Markup, forest, stacked, values};
use crate::matrix::Matrix;
use crate::pooled::PooledKind;
use crate::variants::{self, ByMetric, Difference, RowStatus, VariantRow};
use judge::rules::judge_comparison;
use judge::{engine_findings, figures, findings};
use result::{Check, Document, Experiment, Process, Rule, Severity, Side};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The rule of the A/A control, which each metric has by itself.
const NOISE: &str = "noise";

pub(super) fn blocks<'a>(document: &'a Document, experiment: &'a Experiment) -> Vec<Block<'a>> {
    let all = variants::by_metric(document, experiment);
    let (headline, further) = all.split_first().expect("an experiment has a metric");
    let rows = Rc::clone(&headline.rows);
    let pair = pair(&rows);
    let matrix = if pair.is_none() { Matrix::of(&rows) } else { None };
    let common = variants::common_line(document, experiment) + &state_words(document);
    let lead = match experiment.name.as_str() {
        "" => common,
        name => format!("{name}: {common}"),
    };
    let mut blocks = vec![Block::Title { title: variants::title(document, experiment), lead }];
    // Of several, the name of each tells what a crash takes back of it.
    if pair.is_some() {
        blocks.extend(document.trials.first().map(durability));
        blocks.extend(document.trials.iter().find_map(loud_tier));
    }
    let failures = rows.iter().flat_map(VariantRow::failures).collect();
    blocks.extend([Block::Alarm("Failed parts have no result", failures), Block::Gap]);
    match (&pair, &matrix) {
        (Some(pair), _) => blocks.push(Block::Headline(pair::verdict(pair, further))),
        (None, None) => blocks.push(Block::Answer(answer(document, &all))),
        (None, Some(matrix)) => {
            blocks.push(matrix.table(headline).into());
            // Without it the marks of the table mean nothing.
            let legend = matrix.captions(&all).into_iter().map(Block::Caption);
            blocks.push(Block::At(Level::Vital, legend.chain(weak_tiers(&rows)).collect()));
            blocks.extend([Block::Gap, Block::Answer(answer(document, &all))]);
        }
    }
    let differing = [Block::Gap, differences(&rows, false).into(), Block::Gap];
    blocks.extend(differing.into_iter().chain([effects_chart(headline, pair.is_none()), Block::Gap]));
    if matrix.is_none() {
        blocks.push(Block::At(Level::Always, overview(experiment, &rows, pair.is_some())));
    }
    blocks.push(Block::Gap);
    let of_metric = |by: &ByMetric<'a>| {
        let table = matrix.as_ref().map_or_else(|| verdicts(by), |matrix| matrix.table(by));
        [effects_chart(by, true), table.into(), Block::Gap]
    };
    blocks.extend(further.iter().flat_map(of_metric));
    let unmeasured = rows.iter().filter(|row| !row.status.is_measured());
    blocks.extend(unmeasured.map(|row| {
        let name = format!("{}, {}", row.variant.name, row.status.words());
        Block::fact(name, row.reason()).at(Level::Vital).at(Level::Brief)
    }));
    if pair.is_none() {
        blocks.extend(in_common(&all).into_iter().map(Block::Caption));
    }
    blocks.push(Block::Caption(variants::confidence(&all, matrix.is_some()).join(" ")));
    let units: BTreeSet<_> = document.trials.iter().map(|trial| &trial.headline.sentence).collect();
    let units = units.into_iter().cloned().map(Block::Caption);
    let rules_of = rules_of(headline, further).into_iter().map(Block::Rule);
    blocks.push(Block::Late(units.chain(rules_of).chain(rules(document)).collect()));
    // Of many, the page has a table.
    let waits_of =
        rows.iter().filter(|_| matrix.is_none()).filter(|row| row.status.is_measured()).filter_map(|row| {
            let name = format!("engine sessions of {}", row.variant.name);
            Some(Block::fact(name, variants::waits_words(row)?).at(Level::Brief))
        });
    let mut time_goes = bars_of(&rows, pair.as_ref());
    time_goes.push(Block::Gap);
    time_goes.extend(pair.as_ref().and_then(pair::difference).map(Block::from));
    time_goes.extend(pair.as_ref().and_then(pair::moved).map(Block::from));
    time_goes.extend(waits_of);
    let bottleneck = |row: &VariantRow<'_>| {
        let found = judge::bottleneck(row.pooled.trials.first()?)?;
        Some(Block::told(format!("bottleneck of {}", row.variant.name), found.sentence, Tone::Plain))
    };
    time_goes.extend(pair.iter().flat_map(|pair| [pair.a, pair.b]).filter_map(bottleneck));
    time_goes.push(Block::from(waits(&rows)).at(Level::Page));
    let block_by_block = match &pair {
        Some(pair) => pair::blocks(pair),
        None => Block::from(blocks_of_all(experiment, headline)).at(Level::Page),
    };
    let mut values = vec![Block::Gap, values_chart(headline), block_by_block];
    values.extend(
        further
            .iter()
            .flat_map(|by| [values_chart(by), Block::from(blocks_of_all(experiment, by)).at(Level::Page)]),
    );
    blocks.extend([
        Block::section("Values", values),
        Block::section("Latency distribution", spread(&rows)),
        Block::section("Where the time goes", time_goes),
    ]);
    let run = vec![spent(document, experiment), trials(document, experiment, &rows)];
    let sentences = if pair.is_some() { Vec::new() } else { each(&all) };
    let folded = vec![
        Block::section("Resource use", costs(&rows, pair.is_some())),
        Block::section("What differs", vec![all_differences(&rows)]),
        Block::section("Each comparison", vec![Block::List(sentences).at(Level::Full)]),
        Block::section("Validation", vec![Block::Gap, audits(document), checks(&rows)]),
        Block::section("The experiment itself", run),
        Block::section("Set-up", set_up(&rows)),
    ];
    blocks.push(Block::Aside("Set-up, audits and costs", folded));
    blocks
}

/// What a crash takes back of variants, which no name in a matrix says.
fn weak_tiers<'a>(rows: &[VariantRow<'_>]) -> Vec<Block<'a>> {
    let weak = rows.iter().filter(|row| row.status != RowStatus::Control);
    let weak: Vec<_> = weak.filter_map(|row| Some((row.weak_tier()?, row.variant.name.as_str()))).collect();
    let tiers = findings::gathered(weak.iter().map(|(tier, _)| *tier), |a, b| a == b);
    let block = |(tier, _): (result::Tier, usize)| {
        let names: Vec<&str> = weak.iter().filter(|(of, _)| *of == tier).map(|(_, name)| *name).collect();
        Block::told(tier.word(), format!("{}: {}", tier.meaning(), names.join("; ")), Tone::Bad)
    };
    tiers.into_iter().map(block).collect()
}

/// Every variant in one table: the verdict, the value, the effect.
fn overview<'a>(experiment: &Experiment, rows: &[VariantRow<'_>], is_pair: bool) -> Vec<Block<'a>> {
    let mut titles = vec![
        words("variant"),
        words("verdict"),
        figure("effect, 95 %"),
        figure(experiment.metric.unit.as_str()),
        figure("p50").at(Level::Page),
        figure("p99").at(Level::Page),
    ];
    // Of two, it stands next to the headline.
    titles.extend((!is_pair).then(|| figure("CPU / 1,000 calls").at(Level::Page)));
    let mut table = Table::new("The variants", titles);
    let several = rows.iter().filter(|row| row.variant.base.is_none()).count() > 1;
    for row in rows {
        let base = row.variant.base.and_then(|base| experiment.variants.get(base)).filter(|_| several);
        let mut under: Vec<String> = base.map(|base| format!("against {}", base.name)).into_iter().collect();
        under.push(row.variant.subject.clone());
        under.extend(settings_words(row));
        under.extend(row.weak_tier().map(|tier| format!("{}: {}", tier.word(), tier.meaning())));
        under.extend((!row.status.is_measured()).then(|| row.reason().to_owned()));
        under.extend(row.limit().filter(|_| !is_pair).map(|limit| format!("likely limit: {limit}")));
        let times = row.pooled.kinds.get(headline_kind(row)).filter(|_| row.status.is_measured());
        let mut cells = vec![
            Cell::Detailed(row.label(), under),
            match row.rate_is_given && matches!(row.status, RowStatus::Compared(_)) {
                true => Cell::from("rate given"),
                false => Cell::Badge(row.status.tone(), row.status.words().to_owned()),
            },
            figures::or_none(row.effect.filter(|_| !row.rate_is_given), variants::effect_words).into(),
            figures::or_none(row.mean, figures::with_margin).into(),
            time(times.and_then(|kind| kind.p50_ns)).into(),
            time(times.and_then(|kind| kind.p99_ns)).into(),
        ];
        let cpu_ms = || row.pooled.cpu_ms_per_1000(None).filter(|_| row.status.is_measured());
        cells.extend((!is_pair).then(|| cost(cpu_ms()).into()));
        table.row(cells);
    }
    let kind = rows.iter().find_map(|row| row.pooled.kinds.get(headline_kind(row)));
    let of_kind = |kind: &PooledKind<'_>| {
        let text = format!("p50 and p99 are response times of committed {} calls.", kind.name);
        Block::Caption(text).at(Level::Page)
    };
    std::iter::once(table.into()).chain(kind.map(of_kind)).collect()
}

/// The verdicts in a metric that is not the headline, of which the overview says what each variant is.
fn verdicts(by: &ByMetric<'_>) -> Table {
    let titles = [words("variant"), words("verdict"), figure("effect, 95 %"), figure(by.metric.column())];
    let caption = format!("{} of the variants", figures::capital(by.metric.words()));
    Table::new(caption, titles).of(by.shown().filter(|row| row.status.is_measured()).map(|row| {
        [
            row.label().into(),
            Cell::Badge(row.status.tone(), row.status.words().to_owned()),
            figures::or_none(row.effect, variants::effect_words).into(),
            figures::or_none(row.mean, figures::with_margin).into(),
        ]
    }))
}

fn settings_words(row: &VariantRow<'_>) -> Option<String> {
    let settings: Vec<String> =
        row.variant.settings.iter().map(|setting| format!("{}={}", setting.name, setting.value)).collect();
    (!settings.is_empty()).then(|| settings.join(", "))
}

/// The position of the kind that the headline counts.
fn headline_kind(row: &VariantRow<'_>) -> usize {
    row.pooled.trials.first().map_or(0, |trial| trial.headline_kind())
}

/// Findings of the comparisons, said with the variant's name, or once where they say the same of several. What
/// differs between two variants does so whatever is compared, so of further metrics only their own noise is told.
fn rules_of(headline: &ByMetric<'_>, further: &[ByMetric<'_>]) -> Vec<Rule> {
    let measured = |row: &&VariantRow<'_>| row.status.is_measured() && row.comparison.is_some();
    let is_alone = headline.rows.iter().filter(measured).count() == 1;
    let of_row = |row: &VariantRow<'_>| {
        let base = row.variant.base.and_then(|base| headline.rows.get(base));
        let of_base = base.map_or(&[][..], |base| &base.pooled.trials);
        let judged = |comparison| judge_comparison(comparison, of_base, &row.pooled.trials);
        let rules = row.comparison.map(judged).unwrap_or_default();
        let to_mind = rules.into_iter().filter(|rule| rule.severity >= Severity::Warning);
        let name = if is_alone { String::new() } else { format!("{}: ", row.variant.name) };
        to_mind.map(|rule| Rule { sentence: format!("{name}{}", rule.sentence), ..rule }).collect::<Vec<_>>()
    };
    let same = |a: &Rule, b: &Rule| (&a.name, a.severity) == (&b.name, b.severity);
    let mut text = findings::gathered(headline.rows.iter().filter(measured).flat_map(of_row), same);
    for by in further {
        let noise = by.shown().filter(measured).flat_map(of_row).filter(|rule| rule.name == NOISE);
        let noise =
            noise.map(|rule| Rule { sentence: format!("{}: {}", by.metric.name, rule.sentence), ..rule });
        text.extend(findings::gathered(noise, same));
    }
    text.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity));
    let told = |(rule, variants): (Rule, usize)| match variants {
        1 => rule,
        _ => Rule { sentence: format!("{variants} variants, such as {}", rule.sentence), ..rule },
    };
    text.into_iter().map(told).collect()
}

/// The effects as a picture, with their figures unless those are in the headline.
fn effects_chart<'a>(by: &ByMetric<'a>, is_told: bool) -> Block<'a> {
    let by = by.clone();
    Block::chart(move |markup| forest::render(markup, &by, is_told))
}

fn values_chart<'a>(by: &ByMetric<'a>) -> Block<'a> {
    let by = by.clone();
    Block::chart(move |markup| values::render(markup, &by))
}

/// The ratio of every variant in every block.
fn blocks_of_all(experiment: &Experiment, by: &ByMetric<'_>) -> Table {
    let mut columns = vec![words("variant")];
    columns.extend((1..=experiment.blocks.len()).map(|block| figure(format!("block {block}"))));
    let caption = format!("Values in {}, and under them their ratios to the base", by.metric.column());
    let mut table = Table::new(caption, columns).folded("Every block as a table");
    for row in by.shown().filter(|row| row.status.is_measured()) {
        let mut values = row.values.clone();
        values.resize(experiment.blocks.len(), None);
        let cells = values.into_iter().enumerate().map(|(block, value)| {
            let words = figures::or_none(value, figures::short);
            Cell::Detailed(words, ratio_in(row, block).map(figures::percent).into_iter().collect())
        });
        table.row(std::iter::once(row.label().into()).chain(cells));
    }
    table
}

/// The ratio of a variant to its base in one block.
fn ratio_in(row: &VariantRow<'_>, block: usize) -> Option<f64> {
    let trial = row.variant.trials.get(block).copied().flatten()?;
    let of_it = |block: &&result::Block| {
        block.trials.iter().any(|entry| entry.side == Side::B && entry.trial == trial)
    };
    row.comparison?.blocks.iter().find(of_it)?.ratio
}

/// The spectra of the kinds, and their times as a table.
fn spread<'a>(rows: &Rc<[VariantRow<'a>]>) -> Vec<Block<'a>> {
    let of = Rc::clone(rows);
    let draw = move |markup: &mut Markup| match pair(&of) {
        Some(pair) => pair::spectra(markup, &pair),
        None => overlaid_spectra(markup, &of),
    };
    vec![Block::chart(draw), Block::from(times_table(rows)).at(Level::Page)]
}

/// The kind that the headline counts, of several variants over each other.
fn overlaid_spectra(markup: &mut Markup, rows: &[VariantRow<'_>]) {
    let lines: Vec<_> = worth_a_line(rows)
        .into_iter()
        .filter_map(|row| Some((row.label(), row.pooled.kinds.get(headline_kind(row))?)))
        .collect();
    let measured = rows.iter().filter(|row| row.status.is_measured()).count();
    let caption = format!(
        "All blocks together. Height is the square root of the share of calls, so that rare slow calls stay in sight. \
         Under the pointer: the share of calls that were at least as fast.{}",
        if lines.len() < measured {
            " Shown are the bases and the variants with the largest effects."
        } else {
            ""
        }
    );
    let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
    if let Some((_, first)) = lines.first() {
        let spectra = lines.iter().map(|(_, kind)| kind.spectrum.as_slice()).collect();
        spectrum::overlaid(markup, Lane { name: first.name, spectra, marks: None }, &names, &caption);
    }
}

/// The bases, and the variants with the largest effects, in their order.
fn worth_a_line<'r, 'a>(rows: &'r [VariantRow<'a>]) -> Vec<&'r VariantRow<'a>> {
    let distance = |row: &VariantRow<'_>| match row.status {
        RowStatus::Base => f64::INFINITY,
        RowStatus::Control => -1.0,
        _ => row.effect.map_or(0.0, |effect| effect.value.max(f64::MIN_POSITIVE).ln().abs()),
    };
    let mut order: Vec<usize> = (0..rows.len()).filter(|i| rows[*i].status.is_measured()).collect();
    order.sort_by(|a, b| distance(&rows[*b]).total_cmp(&distance(&rows[*a])));
    order.truncate(OVERLAID_MAX);
    order.sort_unstable();
    order.into_iter().map(|i| &rows[i]).collect()
}

fn times_table(rows: &[VariantRow<'_>]) -> Table {
    let measured = || rows.iter().filter(|row| row.status.is_measured());
    let names: Vec<&str> = measured()
        .next()
        .map_or_else(Vec::new, |first| first.pooled.kinds.iter().map(|kind| kind.name).collect());
    let titles = columns(std::iter::once("variant").chain(names.iter().copied()), 1..);
    let mut table = Table::new("Response times of committed calls: p50, and under it p99", titles);
    for row in measured() {
        let knows_p99 = row.pooled.kinds.iter().any(|kind| kind.p99_ns.is_some());
        let cells = names.iter().map(|name| {
            let kind = row.pooled.kinds.iter().find(|kind| kind.name == *name);
            let p99 = kind.and_then(|kind| kind.p99_ns);
            // Where no kind has one, a line of signs for none says nothing.
            let under = if knows_p99 { vec![time(p99)] } else { Vec::new() };
            Cell::Detailed(time(kind.and_then(|kind| kind.p50_ns)), under)
        });
        table.row(std::iter::once(row.label().into()).chain(cells));
    }
    table
}

/// A bar a variant; of two variants, two bars a kind of call.
fn bars_of<'a>(rows: &[VariantRow<'_>], pair: Option<&Pair<'_, '_>>) -> Vec<Block<'a>> {
    if let Some(pair) = pair {
        return pair::bars(pair);
    }
    let shown = rows.iter().filter(|row| row.status.is_measured() && row.status != RowStatus::Control);
    let bar = |row: &VariantRow<'_>| {
        let budget = row.pooled.budget?;
        Some(Bar { name: row.label().into(), budget, full_ns: budget.response_ns, apart: false })
    };
    let caption = "Each bar is the mean response time of all committed calls of a variant (shown next to it) and sums to 100\u{a0}%.";
    budgets("variant", shown.filter_map(bar).collect(), caption, Level::Page)
}

/// What the engines' sessions did; nothing where no engine tells.
fn waits(rows: &[VariantRow<'_>]) -> Table {
    let titles = [words("variant"), words("state"), figure("share of time"), words("which is")];
    let mut table = Table::new("Engine wait events", titles);
    for row in rows.iter().filter(|row| row.status.is_measured()) {
        for (i, (name, share)) in row.pooled.waits().into_iter().take(3).enumerate() {
            let label = if i == 0 { row.label() } else { String::new() };
            let meaning = engine_findings::meaning(name).to_owned();
            table.row([label, name.to_owned(), figures::percent(share), meaning]);
        }
    }
    table
}

/// Processor time by process; of two variants a table says all.
fn costs<'a>(rows: &[VariantRow<'_>], is_pair: bool) -> Vec<Block<'a>> {
    let measured: Vec<&VariantRow<'_>> = rows
        .iter()
        .filter(|row| row.status.is_measured() && row.status != RowStatus::Control)
        .filter(|row| row.pooled.cpu_ms_per_1000(None).is_some())
        .collect();
    let processes = measured.iter().flat_map(|row| &row.pooled.trials).flat_map(|trial| &trial.processes);
    let roles = findings::gathered(processes.map(Process::roles_words), |a, b| a == b);
    let roles: Vec<String> = roles.into_iter().map(|(role, _)| role).collect();
    if roles.is_empty() {
        return vec![Block::Sentence("No process was observed.".to_owned()).at(Level::Page)];
    }
    let of = |row: &VariantRow<'_>, role: &String| row.pooled.cpu_ms_per_1000(Some(role));
    let part = |role: &String, ms: Option<f64>| stacked::Segment {
        amount: ms.unwrap_or(0.0),
        words: format!("{role}: {}", cost(ms)),
    };
    let bars: Vec<stacked::Bar> = measured
        .iter()
        .map(|row| stacked::Bar {
            name: row.label(),
            parts: roles.iter().map(|role| part(role, of(row, role))).collect(),
            sum: cost(row.pooled.cpu_ms_per_1000(None)),
        })
        .collect();
    let titles = std::iter::once("CPU / 1,000 calls").chain(roles.iter().map(String::as_str)).chain(["all"]);
    let mut table = Table::new("CPU time per 1,000 committed calls", columns(titles, 1..));
    for (row, bar) in measured.iter().zip(&bars) {
        let cells = roles.iter().map(|role| cost(of(row, role)));
        table.row(std::iter::once(bar.name.clone()).chain(cells).chain([bar.sum.clone()]));
    }
    if is_pair {
        return vec![Block::from(table).at(Level::Vital)];
    }
    let table = table.folded("The costs as a table");
    vec![
        Block::chart(move |markup| stacked::costs(markup, &bars, &roles)),
        Block::from(table).at(Level::Full),
    ]
}

/// What differs between a variant and its base: all of it, or what may not.
fn differences(rows: &[VariantRow<'_>], all: bool) -> Table {
    let caption = match all {
        true => "Each variant against its base, as read back from the running systems",
        false => "More differs than the factor under study",
    };
    let is_shown = |row: &&VariantRow<'_>| row.status.is_measured() && row.status != RowStatus::Control;
    let is_named = all || rows.iter().filter(is_shown).count() > 2;
    let title = if all { "differs" } else { "differs, not intended" };
    let mut titles = vec![words(title), words("base"), words("variant")];
    if is_named {
        titles.insert(0, words("variant"));
    }
    if all {
        titles.insert(2, words(""));
    }
    let mut table = Table::new(caption, titles).breaking();
    for row in rows.iter().filter(|row| row.status.is_measured() && (all || is_shown(row))) {
        let is_told = |(_, difference): &(_, Difference)| all || *difference == Difference::Unintended;
        for (i, ([field, a, b], difference)) in row.differences().into_iter().filter(is_told).enumerate() {
            let name = is_named.then_some(if i == 0 || !all { row.variant.name.as_str() } else { "" });
            let badge = all.then(|| match difference {
                Difference::Intended => Cell::Badge(Tone::Plain, "intended".to_owned()),
                Difference::Library => Cell::Badge(Tone::Plain, "library".to_owned()),
                Difference::Unintended => Cell::Badge(Tone::Bad, "not intended".to_owned()),
            });
            let name = name.map(Cell::from).into_iter();
            let cells =
                name.chain([field.into()]).chain(badge).chain([shortened(a).into(), shortened(b).into()]);
            table.row(cells.collect::<Vec<Cell>>());
        }
    }
    table
}

fn all_differences<'a>(rows: &[VariantRow<'_>]) -> Block<'a> {
    let table = differences(rows, true);
    let none = "No variant differs from its base in the comparison key or in the work per call.";
    let block = if table.is_empty() { Block::Sentence(none.to_owned()) } else { table.into() };
    block.at(Level::Page)
}

/// A value without the end of it, where that is long: lists of compile options are.
fn shortened(value: String) -> String {
    const CHARS_MAX: usize = 140;
    if value.chars().count() <= CHARS_MAX {
        return value;
    }
    value.chars().take(CHARS_MAX - 1).chain(['…']).collect()
}

/// Validation of the results, one row per variant; those with a failure first.
fn checks<'a>(rows: &[VariantRow<'_>]) -> Block<'a> {
    let told = rows.iter().filter(|row| !row.pooled.trials.is_empty());
    let mut told: Vec<_> = told.map(|row| (row, findings::checks(&row.pooled.trials))).collect();
    told.sort_by_key(|(_, checks)| !checks.iter().any(|(_, _, failed)| *failed));
    let titles = columns(["variant", "audits", "ledger", "inputs", "conformance"], 5..);
    let table = Table::new("Checks of all trials", titles).of(told.into_iter().map(|(row, checks)| {
        let cells = checks
            .into_iter()
            .map(|(_, words, failed)| Cell::Badge(if failed { Tone::Bad } else { Tone::Good }, words));
        std::iter::once(Cell::from(row.variant.name.as_str())).chain(cells).collect::<Vec<_>>()
    }));
    Block::from(table).at(Level::Full)
}

/// Where the time of the experiment went.
fn spent<'a>(document: &'a Document, experiment: &'a Experiment) -> Block<'a> {
    if experiment.spent.total_s <= 0.0 {
        return Block::List(Vec::new());
    }
    let parts: Vec<String> = variants::spent(experiment)
        .iter()
        .map(|(name, s)| format!("{name} {}", variants::wall(*s)))
        .collect();
    let restore_s = experiment.spent.restore_s / document.trials.len().max(1) as f64;
    let words = format!(
        "{}: {}; restoring took {} per trial",
        variants::wall(experiment.spent.total_s),
        parts.join(", "),
        figures::duration(restore_s * 1e9)
    );
    let chart = Block::chart(move |markup| stacked::spent(markup, experiment, document.trials.len()));
    Block::At(Level::Always, vec![Block::fact("took", words).at(Level::Brief), chart])
}

/// Every trial, in the order in which they ran.
fn trials<'a>(document: &Document, experiment: &Experiment, rows: &[VariantRow<'_>]) -> Block<'a> {
    let titles =
        columns(["trial", "variant", "block", "headline", "p50", "p99", "in doubt", "audits", "state"], 3..7);
    let mut table = Table::new("Every trial, in the order in which they ran", titles);
    for (block, order) in experiment.blocks.iter().enumerate() {
        for row in order.iter().filter_map(|index| rows.get(*index)) {
            let index = row.variant.trials.get(block).copied().flatten();
            let found = index.and_then(|index| Some((index, document.trials.get(index)?)));
            let Some((index, trial)) = found else { continue };
            let [p50, p99] = times(trial);
            let failed = trial.audits.iter().any(|audit| audit.check == Check::Failed);
            let rate = row.status.is_measured().then_some(trial.headline.value);
            let passed = findings::passed_of(trial.audits.iter().map(|audit| audit.check));
            table.row([
                (index + 1).to_string().into(),
                row.variant.name.as_str().into(),
                (block + 1).to_string().into(),
                figures::or_none(rate, figures::with_margin).into(),
                p50.into(),
                p99.into(),
                figures::count(trial.overall.call_counts.in_doubt).into(),
                Cell::Badge(if failed { Tone::Bad } else { Tone::Good }, passed),
                Cell::from(trial.state.word()),
            ]);
        }
    }
    Block::from(table.folded("Every trial as a table")).at(Level::Page)
}

/// What each variant is, and the whole key of the first.
fn set_up<'a>(rows: &[VariantRow<'_>]) -> Vec<Block<'a>> {
    let titles = columns(["variant", "subject", "asked for", "engine", "durability"], 5..);
    let told = rows.iter().filter_map(|row| Some((row, row.pooled.trials.first()?)));
    let variants = Table::new("Variants", titles).of(told.map(|(row, trial)| {
        [
            row.variant.name.clone(),
            row.variant.subject.clone(),
            settings_words(row).unwrap_or_default(),
            format!("{} {}", trial.stack.engine, trial.stack.engine_version),
            trial.stack.durability.word().to_owned(),
        ]
    }));
    let mut blocks = vec![Block::from(variants).at(Level::Full)];
    let first = rows.iter().find_map(|row| row.pooled.trials.first().map(|trial| (row, *trial)));
    if let Some((row, trial)) = first {
        let sentence = format!(
            "Read back from the first trial of {}; the others differ as listed above.",
            row.variant.name
        );
        blocks.extend([Block::Caption(sentence).at(Level::Full), setup(trial)]);
    }
    blocks
}
