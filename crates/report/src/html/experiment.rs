//! The page of an experiment: the question, the answer in words and one picture, and then what stands behind it.

use super::chart::{Figure, Key};
use super::markup::{Cell, Markup, Table, Tone};
use super::spectrum::{self, Lane, OVERLAID_MAX};
use super::stacked::{self, Bar};
use super::{budget, forest, setup, values, vouch};
use crate::rules::{judge_comparison, work_is_intended};
use crate::variants::{self, Row, Standing};
use crate::{engine_findings, figures, findings};
use result::{Check, Class, Document, Experiment, Rule, Severity, Side, Verdict};

/// Colours for processes, as indexes into the parts of the time budget; the generator's is the quietest.
const PROCESS_PAINTS: [u8; 5] = [0, 1, 6, 4, 7];
/// Colours for where the time of the experiment went.
const SPENT_PAINTS: [u8; 5] = [6, 4, 5, 7, 8];

/// Writes the whole experiment.
pub(super) fn render(main: &mut Markup, document: &Document, experiment: &Experiment) {
    let rows = variants::rows(document, experiment);
    main.line("h1", "", variants::title(experiment));
    let lead = format!("{}: {}", experiment.name, variants::common_line(document, experiment));
    main.line("p", "lead", &lead);
    failures(main, &rows);
    differences(main, &rows, false);
    answer(main, experiment);
    forest::render(main, experiment, &rows);
    main.line("p", "caption", &variants::confidence(&rows).join(" "));
    overview(main, experiment, &rows);
    vouch::warnings(main, &rules_of(&rows));
    vouch::warnings(main, &findings::rules_to_mind_of_all(document));
    main.section("Values", |section| {
        values::render(section, experiment, &rows);
        blocks(section, experiment, &rows);
    });
    main.section("How response times are spread", |section| spectra(section, &rows));
    main.section("Where the time goes", |section| {
        budgets(section, &rows);
        waits(section, &rows);
    });
    main.section("What it costs", |section| costs(section, &rows));
    main.section("What differs", |section| differences(section, &rows, true));
    main.section("What vouches for it", |section| checks(section, &rows));
    main.section("The experiment itself", |section| {
        spent(section, document, experiment);
        trials(section, document, experiment, &rows);
    });
    let first = rows.iter().find_map(|row| row.pooled.trials.first().map(|trial| (row, trial)));
    if let Some((row, trial)) = first {
        main.section("Set-up", |section| {
            let sentence = format!(
                "Read back from the first trial of {}; the others differ from it as told above.",
                row.variant.name
            );
            section.line("p", "caption", &sentence);
            setup::render(section, trial);
            section.line("p", "caption", &trial.headline.sentence);
        });
    }
}

/// What was found wrong in the variants' trials, above everything else.
fn failures(main: &mut Markup, rows: &[Row<'_>]) {
    let failures = rows.iter().flat_map(Row::failures).collect();
    vouch::alarm(main, "No number is given for what failed", failures);
}

/// The answer in words: the most important sentence large.
fn answer(main: &mut Markup, experiment: &Experiment) {
    main.element("div", &[("class", "answer")], |band| {
        let Some((first, rest)) = experiment.answer.split_first() else {
            band.line("p", "sentence", "There is no answer yet.");
            return;
        };
        band.line("p", "sentence", first);
        if !rest.is_empty() {
            band.sentences(rest);
        }
    });
}

pub(super) fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Held(Verdict::Better) => Tone::Good,
        Standing::Held(Verdict::Worse | Verdict::CannotTell) => Tone::Warn,
        Standing::Held(Verdict::DifferentWork) | Standing::Void => Tone::Bad,
        Standing::Held(Verdict::NoDifference) | Standing::Base | Standing::Control => Tone::Plain,
        Standing::NotStarted => Tone::Warn,
    }
}

/// Every variant in one table: the value, the effect, the verdict.
fn overview(main: &mut Markup, experiment: &Experiment, rows: &[Row<'_>]) {
    let titles = ["variant", "", experiment.metric.unit.as_str(), "effect", "p50", "p99"];
    let mut table = Table::new("The variants", &titles, 2..6);
    let several = rows.iter().filter(|row| row.variant.base.is_none()).count() > 1;
    for row in rows {
        let mut under = vec![row.variant.subject.clone()];
        under.extend(settings_words(row));
        under.extend(row.weak_tier().map(|tier| format!("{}: {}", tier.word(), tier.meaning())));
        if !row.standing.is_measured() {
            under.push(row.reason().to_owned());
        }
        let none = || figures::NONE.to_owned();
        let times = row.pooled.kinds.get(headline_kind(row)).filter(|_| row.standing.is_measured());
        let time = |ns: Option<f64>| ns.map_or_else(none, figures::duration);
        let base = row.variant.base.and_then(|base| experiment.variants.get(base));
        if let Some(base) = base.filter(|_| several) {
            under.insert(0, format!("against {}", base.name));
        }
        table.row(vec![
            Cell::Detailed(row.variant.name.clone(), under),
            Cell::Badge(tone(row.standing), row.standing.words().to_owned()),
            row.mean.map_or_else(none, figures::with_margin).into(),
            row.effect.map_or_else(none, variants::effect_words).into(),
            time(times.and_then(|kind| kind.p50_ns)).into(),
            time(times.and_then(|kind| kind.p99_ns)).into(),
        ]);
    }
    main.table(&table);
    let kind = rows.iter().find_map(|row| row.pooled.kinds.get(headline_kind(row)));
    if let Some(kind) = kind {
        let sentence = format!("p50 and p99 are response times of committed {} calls.", kind.name);
        main.line("p", "caption", &sentence);
    }
}

fn settings_words(row: &Row<'_>) -> Option<String> {
    let settings: Vec<String> =
        row.variant.settings.iter().map(|setting| format!("{}={}", setting.name, setting.value)).collect();
    (!settings.is_empty()).then(|| settings.join(", "))
}

/// The position of the kind that the headline counts.
fn headline_kind(row: &Row<'_>) -> usize {
    row.pooled.trials.first().map_or(0, |trial| trial.headline_kind())
}

/// What the rules say of the comparisons, said with the variant's name, or once where they say the same of several.
fn rules_of(rows: &[Row<'_>]) -> Vec<Rule> {
    let mut said: Vec<(Rule, usize)> = Vec::new();
    for row in rows {
        let Some(comparison) = row.comparison.filter(|_| row.standing.is_measured()) else { continue };
        for rule in judge_comparison(comparison).into_iter().filter(|rule| rule.severity >= Severity::Warning)
        {
            match said
                .iter_mut()
                .find(|(known, _)| known.name == rule.name && known.severity == rule.severity)
            {
                Some((_, variants)) => *variants += 1,
                None => {
                    let sentence = format!("{}: {}", row.variant.name, rule.sentence);
                    said.push((Rule { sentence, ..rule }, 1));
                }
            }
        }
    }
    said.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity));
    let told = |(rule, variants): (Rule, usize)| match variants {
        1 => rule,
        _ => Rule { sentence: format!("{variants} variants, such as {}", rule.sentence), ..rule },
    };
    said.into_iter().map(told).collect()
}

/// The ratio of every variant in every block.
fn blocks(section: &mut Markup, experiment: &Experiment, rows: &[Row<'_>]) {
    let numbers: Vec<String> = (1..=experiment.blocks.len()).map(|block| format!("block {block}")).collect();
    let mut titles = vec!["variant"];
    titles.extend(numbers.iter().map(String::as_str));
    let caption = format!("Values in {}, and under them their ratios to the base", experiment.metric.unit);
    let mut table = Table::new(&caption, &titles, 1..titles.len());
    for row in rows.iter().filter(|row| row.standing.is_measured()) {
        let mut cells: Vec<Cell> = vec![row.label().into()];
        for (block, value) in row.values.iter().enumerate() {
            let words = value.map_or_else(|| figures::NONE.to_owned(), figures::short);
            cells.push(Cell::Detailed(
                words,
                ratio_in(row, block).map(figures::percent).into_iter().collect(),
            ));
        }
        table.row(cells);
    }
    section.folded_table("Every block as a table", &table);
}

/// The ratio of a variant to its base in one block.
fn ratio_in(row: &Row<'_>, block: usize) -> Option<f64> {
    let trial = row.variant.trials.get(block).copied().flatten()?;
    let of_it = |block: &&result::Block| {
        block.trials.iter().any(|entry| entry.side == Side::B && entry.trial == trial)
    };
    row.comparison?.blocks.iter().find(of_it)?.ratio
}

/// The spectra of the kind that the headline counts over each other, and the times of all kinds as a table.
fn spectra(section: &mut Markup, rows: &[Row<'_>]) {
    let shown: Vec<&Row<'_>> = worth_a_line(rows);
    let lines: Vec<_> = shown
        .iter()
        .filter_map(|row| Some((row.label(), row.pooled.kinds.get(headline_kind(row))?)))
        .collect();
    let measured = rows.iter().filter(|row| row.standing.is_measured()).count();
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
        spectrum::overlaid(section, Lane { name: first.name, spectra, marks: None }, &names, &caption);
    }
    times(section, rows);
}

/// The bases, and the variants with the largest effects, in their order.
fn worth_a_line<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<&'r Row<'a>> {
    let distance = |row: &Row<'_>| match row.standing {
        Standing::Base => f64::INFINITY,
        Standing::Control => -1.0,
        _ => row.effect.map_or(0.0, |effect| effect.value.max(f64::MIN_POSITIVE).ln().abs()),
    };
    let mut order: Vec<usize> = (0..rows.len()).filter(|i| rows[*i].standing.is_measured()).collect();
    order.sort_by(|a, b| distance(&rows[*b]).total_cmp(&distance(&rows[*a])));
    order.truncate(OVERLAID_MAX);
    order.sort_unstable();
    order.into_iter().map(|i| &rows[i]).collect()
}

fn times(section: &mut Markup, rows: &[Row<'_>]) {
    let measured = || rows.iter().filter(|row| row.standing.is_measured());
    let Some(first) = measured().next() else { return };
    let names: Vec<&str> = first.pooled.kinds.iter().map(|kind| kind.name).collect();
    let mut titles = vec!["variant"];
    titles.extend(&names);
    let mut table =
        Table::new("Response times of committed calls: p50, and under it p99", &titles, 1..titles.len());
    for row in measured() {
        let mut cells: Vec<Cell> = vec![row.label().into()];
        let knows_p99 = row.pooled.kinds.iter().any(|kind| kind.p99_ns.is_some());
        for name in &names {
            let kind = row.pooled.kinds.iter().find(|kind| kind.name == *name);
            let time = |ns: Option<f64>| ns.map_or_else(|| figures::NONE.to_owned(), figures::duration);
            let p99 = kind.and_then(|kind| kind.p99_ns);
            // Where no kind has one, a line of signs for none says nothing.
            let under = if knows_p99 { vec![time(p99)] } else { Vec::new() };
            cells.push(Cell::Detailed(time(kind.and_then(|kind| kind.p50_ns)), under));
        }
        table.row(cells);
    }
    section.table(&table);
}

fn budgets(section: &mut Markup, rows: &[Row<'_>]) {
    let bars: Vec<budget::Row<'_>> = rows
        .iter()
        .filter(|row| row.standing.is_measured() && row.standing != Standing::Control)
        .filter_map(|row| {
            let budget = row.pooled.budget?;
            let full_ns = budget.response_ns;
            Some(budget::Row { name: row.label(), budget, full_ns, apart: false, title: "variant" })
        })
        .collect();
    let caption = "Each bar is the mean response time of all committed calls of a variant, which stands beside it, and \
                   sums to 100\u{a0}%.";
    budget::render(section, &bars, caption);
}

/// What the engines' sessions did; nothing where no engine tells.
fn waits(section: &mut Markup, rows: &[Row<'_>]) {
    let told =
        rows.iter().filter(|row| row.standing.is_measured()).filter(|row| !row.pooled.waits().is_empty());
    let mut table = Table::new(
        "What the engine's sessions did, where it tells",
        &["variant", "state", "share of time", "which is"],
        2..3,
    );
    let mut is_empty = true;
    for row in told {
        for (i, (name, share)) in row.pooled.waits().into_iter().take(3).enumerate() {
            is_empty = false;
            let label = if i == 0 { row.label() } else { String::new() };
            table.row(vec![
                label.into(),
                name.into(),
                figures::percent(share).into(),
                engine_findings::meaning(name).into(),
            ]);
        }
    }
    if !is_empty {
        section.table(&table);
    }
}

/// Processor time by process.
fn costs(section: &mut Markup, rows: &[Row<'_>]) {
    let measured: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| row.standing.is_measured() && row.standing != Standing::Control)
        .filter(|row| row.pooled.cpu_ms_per_1000(None).is_some())
        .collect();
    let mut roles: Vec<String> = Vec::new();
    for role in measured.iter().flat_map(|row| row.pooled.roles()) {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    if roles.is_empty() {
        section.line("p", "", "No process was observed.");
        return;
    }
    let words = |ms: f64| format!("{}\u{a0}ms", figures::short(ms));
    let bars: Vec<Bar> = measured
        .iter()
        .map(|row| Bar {
            name: row.label(),
            parts: roles.iter().map(|role| row.pooled.cpu_ms_per_1000(Some(role)).unwrap_or(0.0)).collect(),
            sum: row.pooled.cpu_ms_per_1000(None).map_or_else(String::new, words),
        })
        .collect();
    let told: Vec<String> = bars.iter().map(|bar| format!("{}: {}", bar.name, bar.sum)).collect();
    let figure = Figure {
        title: "Processor time a thousand committed calls",
        caption: "An embedded engine shares its process with the generator or the server.",
        description: format!("Stacked bars of processor time by process. {}.", told.join("; ")),
        legend: legend(roles.iter().map(String::as_str), &PROCESS_PAINTS),
        readout: None,
    };
    figure.write(
        section,
        |narrow| stacked::height(bars.len(), narrow),
        |canvas| {
            stacked::draw(canvas, &bars, &PROCESS_PAINTS);
            None
        },
    );
    let mut titles = vec!["variant"];
    titles.extend(roles.iter().map(String::as_str));
    titles.push("all");
    let mut table = Table::new("CPU a thousand committed calls", &titles, 1..titles.len());
    for (row, bar) in measured.iter().zip(&bars) {
        let mut cells: Vec<Cell> = vec![bar.name.as_str().into()];
        cells.extend(roles.iter().map(|role| {
            let cost = row.pooled.cpu_ms_per_1000(Some(role));
            Cell::Text(cost.map_or_else(|| figures::NONE.to_owned(), words))
        }));
        cells.push(bar.sum.as_str().into());
        table.row(cells);
    }
    section.folded_table("The costs as a table", &table);
}

fn legend<'a>(names: impl Iterator<Item = &'a str>, paints: &[u8]) -> Vec<Key> {
    let key = |(name, paint): (&str, &u8)| Key { swatch: format!("p{paint}"), name: name.to_owned() };
    names.zip(paints.iter().cycle()).map(key).collect()
}

/// Writes what differs between a variant and its base: above the answer only what may not, below it all.
fn differences(markup: &mut Markup, rows: &[Row<'_>], all: bool) {
    let caption = if all {
        "Each variant against its base, as read back from the running systems"
    } else {
        "More differs than the factor under study"
    };
    let mut table = Table::new(caption, &["variant", "field", "", "base", "variant"], 5..5).breaking();
    let mut is_empty = true;
    for row in rows {
        let Some(comparison) = row.comparison.filter(|_| row.standing.is_measured()) else { continue };
        let keys = comparison.key_differences.iter().map(|difference| {
            let field = difference.field.clone();
            (field, difference.a.clone(), difference.b.clone(), difference.intended)
        });
        let work = comparison.fingerprint_differences.iter().map(|difference| {
            let [a, b] = figures::both(difference);
            (difference.words(), a, b, work_is_intended(comparison, &difference.measure))
        });
        let shown = keys.chain(work).filter(|(.., intended)| all || !intended);
        for (i, (field, a, b, intended)) in shown.enumerate() {
            is_empty = false;
            let badge = match intended {
                true => Cell::Badge(Tone::Plain, "intended".to_owned()),
                false => Cell::Badge(Tone::Bad, "not intended".to_owned()),
            };
            let name = if i == 0 { row.variant.name.as_str() } else { "" };
            table.row(vec![name.into(), field.into(), badge, shortened(a).into(), shortened(b).into()]);
        }
    }
    if !is_empty {
        markup.table(&table);
    } else if all {
        markup.line(
            "p",
            "",
            "No variant differs from its base in the comparison key or in the work of a call.",
        );
    }
}

/// A value without the end of it, where that is long: lists of compile options are.
fn shortened(value: String) -> String {
    const CHARS_MAX: usize = 140;
    if value.chars().count() <= CHARS_MAX {
        return value;
    }
    value.chars().take(CHARS_MAX - 1).chain(['…']).collect()
}

/// What vouches for the numbers, a variant a row; those with a failure first.
fn checks(section: &mut Markup, rows: &[Row<'_>]) {
    let mut told: Vec<_> =
        rows.iter().filter(|row| !row.pooled.trials.is_empty()).map(|row| (row, row.checks())).collect();
    told.sort_by_key(|(_, checks)| !checks.iter().any(|(_, _, failed)| *failed));
    let titles = ["variant", "audits", "ledger", "inputs", "conformance"];
    let mut table = Table::new("Checks of all trials", &titles, 5..5);
    for (row, checks) in told {
        let mut cells: Vec<Cell> = vec![row.variant.name.as_str().into()];
        cells.extend(
            checks
                .into_iter()
                .map(|(_, words, failed)| Cell::Badge(if failed { Tone::Bad } else { Tone::Good }, words)),
        );
        table.row(cells);
    }
    section.table(&table);
}

/// Where the time of the experiment went.
fn spent(section: &mut Markup, document: &Document, experiment: &Experiment) {
    if experiment.spent.total_s <= 0.0 {
        return;
    }
    let parts = variants::spent(experiment);
    let restores = document.trials.len().max(1) as f64;
    let mut caption =
        format!("Restoring took {} a trial.", figures::duration(experiment.spent.restore_s / restores * 1e9));
    if let Some(share) = variants::overhead(experiment) {
        let sentence = format!(" {} of the time was neither measuring nor loading.", figures::percent(share));
        caption.push_str(&sentence);
    }
    let told: Vec<String> = parts.iter().map(|(name, s)| format!("{name} {}", variants::wall(*s))).collect();
    let keys: Vec<String> = parts.iter().map(|(name, s)| format!("{name}, {}", variants::wall(*s))).collect();
    let figure = Figure {
        title: "Where the time of the experiment went",
        caption: &caption,
        description: format!("A stacked bar: {}.", told.join(", ")),
        legend: legend(keys.iter().map(String::as_str), &SPENT_PAINTS),
        readout: None,
    };
    let bar = Bar {
        name: format!("{} trials", document.trials.len()),
        parts: parts.iter().map(|(_, s)| *s).collect(),
        sum: variants::wall(experiment.spent.total_s),
    };
    figure.write(
        section,
        |narrow| stacked::height(1, narrow),
        |canvas| {
            stacked::draw(canvas, std::slice::from_ref(&bar), &SPENT_PAINTS);
            None
        },
    );
}

/// Every trial, in the order in which they ran.
fn trials(section: &mut Markup, document: &Document, experiment: &Experiment, rows: &[Row<'_>]) {
    let titles = ["trial", "variant", "block", "headline", "p50", "p99", "in doubt", "audits", "state"];
    let mut table = Table::new("Every trial, in the order in which they ran", &titles, 3..7);
    for (block, order) in experiment.blocks.iter().enumerate() {
        for row in order.iter().filter_map(|index| rows.get(*index)) {
            let index = row.variant.trials.get(block).copied().flatten();
            let Some((index, trial)) = index.and_then(|index| Some((index, document.trials.get(index)?)))
            else {
                continue;
            };
            let kind = trial.kinds.get(trial.headline_kind());
            let times =
                kind.and_then(|kind| kind.tally.latency(Class::Committed)).map(|latency| latency.response);
            let failed = trial.audits.iter().any(|audit| audit.check == Check::Failed);
            let rate = match row.standing.is_measured() {
                true => figures::with_margin(trial.headline.value),
                false => figures::NONE.to_owned(),
            };
            table.row(vec![
                (index + 1).to_string().into(),
                row.variant.name.as_str().into(),
                (block + 1).to_string().into(),
                rate.into(),
                figures::maybe_duration(times.and_then(|times| times.p50_ns)).into(),
                figures::maybe_duration(times.and_then(|times| times.p99_ns)).into(),
                figures::count(trial.overall.books.in_doubt).into(),
                Cell::Badge(
                    if failed { Tone::Bad } else { Tone::Good },
                    findings::passed_of(trial.audits.iter().map(|audit| audit.check)),
                ),
                trial.state.word().into(),
            ]);
        }
    }
    section.folded_table("Every trial as a table", &table);
}
