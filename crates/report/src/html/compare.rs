//! The page of a comparison: the verdict first, in words and as one picture.

use super::markup::{Cell, Markup, Table, Tone};
use super::spectrum::Lane;
use super::{budget, ratio, setup, spectrum, vouch};
use crate::pooled::{self, Pooled};
use crate::{figures, findings, rules};
use result::{BudgetPart, Check, Comparison, Document, FingerprintDifference, Severity, Side, Verdict};

/// Writes the whole comparison.
pub(super) fn render(main: &mut Markup, document: &Document, comparison: &Comparison) {
    let sides = [pooled::side(document, comparison, Side::A), pooled::side(document, comparison, Side::B)];
    main.element("h1", &[], |h1| {
        h1.text(&figures::capital(&comparison.b.label)).raw(" against ").text(&comparison.a.label);
    });
    if let Some(trial) = document.trials.first() {
        main.line("p", "lead", &findings::setting_line(trial));
    }
    vouch::failures(main, findings::failures_of_all(document));
    differences(main, comparison, false);
    verdict(main, comparison);
    let rules = rules::judge_comparison(comparison);
    vouch::warnings(main, rules.iter().filter(|rule| rule.severity >= Severity::Warning));
    vouch::warnings(main, &findings::rules_to_mind_of_all(document));
    main.section("Block by block", |section| {
        ratio::render(section, comparison);
        confidence(section, comparison);
    });
    main.section("Where the time goes", |section| budgets(section, comparison, &sides));
    main.section("How response times are spread", |section| spectra(section, comparison, &sides));
    main.section("What it costs", |section| costs(section, comparison, &sides));
    main.section("What differs", |section| differences(section, comparison, true));
    main.section("Trials", |section| trials(section, document, comparison));
    if let Some(trial) = document.trials.first() {
        main.section("Set-up of the first trial", |section| setup::render(section, trial));
    }
}

fn verdict(main: &mut Markup, comparison: &Comparison) {
    let tone = match comparison.verdict {
        Verdict::Better => Tone::Good,
        Verdict::NoDifference => Tone::Plain,
        Verdict::Worse | Verdict::CannotTell => Tone::Warn,
        Verdict::DifferentWork => Tone::Bad,
    };
    main.element("div", &[("class", "headline")], |band| {
        band.element("div", &[("class", "number")], |number| {
            if let Some(ratio) = comparison.ratio {
                number.element("p", &[("class", "figure-large")], |line| {
                    line.text(&figures::percent(ratio.value));
                    if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
                        let interval = format!("{:.1}–{:.1}", low * 100.0, high * 100.0);
                        line.raw(" ").line("small", "", &interval);
                    }
                });
                number.element("p", &[("class", "figure-unit")], |line| {
                    line.text(&comparison.metric).raw(" · ").text(&comparison.b.label).raw(" relative to ");
                    line.text(&comparison.a.label);
                });
            }
            number.element("p", &[("class", "badges")], |badges| {
                badges.badge(tone, comparison.verdict.words());
            });
        });
        band.element("div", &[("class", "verdict")], |words| {
            words.line("p", "sentence", &comparison.sentence);
            if let Some(retention) = comparison.retention().filter(|_| comparison.higher_is_better()) {
                words.line("p", "", &format!("{}.", figures::capital(&retention)));
            }
            for (letter, party) in [("A", &comparison.a), ("B", &comparison.b)] {
                words.element("p", &[("class", "party")], |p| {
                    p.line("b", "", letter).raw(" ").text(&party.label).raw(" ");
                    p.line("code", "", &party.subject);
                });
            }
        });
    });
}

fn confidence(section: &mut Markup, comparison: &Comparison) {
    let mut sentences = Vec::new();
    if let Some(detectable) = comparison.detectable {
        sentences.push(format!(
            "{} blocks could have found an effect of {} or more.",
            comparison.blocks.len(),
            figures::percent(detectable)
        ));
    }
    sentences.push(match &comparison.noise {
        Some(noise) => format!(
            "{} measured twice in each block gave {} in {} blocks (A/A control); its mean is the base.",
            figures::capital(&comparison.a.label),
            figures::ratio(noise.ratio),
            noise.blocks
        ),
        None => "No A/A control was run.".to_owned(),
    });
    if let Some((loss, kept)) = comparison.loss_max.zip(comparison.loss_words()) {
        sentences.push(format!("The permitted loss of {} {kept}.", figures::percent(loss)));
    }
    section.line("p", "caption", &sentences.join(" "));
}

fn budgets(section: &mut Markup, comparison: &Comparison, sides: &[Pooled<'_>; 2]) {
    let [a, b] = sides;
    let mut rows = Vec::new();
    let kinds = a.kinds.iter().filter_map(|kind| {
        let other = b.kinds.iter().find(|other| other.name == kind.name)?;
        Some((kind.name, kind.budget?, other.budget?))
    });
    let all = a.budget.zip(b.budget).map(|(a, b)| ("all calls", a, b));
    for (name, of_a, of_b) in kinds.chain(all) {
        let full_ns = of_a.response_ns.max(of_b.response_ns);
        for (label, budget, apart) in [(&comparison.a.label, of_a, true), (&comparison.b.label, of_b, false)]
        {
            rows.push(budget::Row {
                name: format!("{name}, {label}"),
                budget,
                full_ns,
                apart,
                title: "call",
            });
        }
    }
    let caption = "All blocks together. The two bars of a call share one scale, so the longer is the slower; labels are \
                   shares of the bar.";
    budget::render(section, &rows, caption);
    if let Some((of_a, of_b)) = a.budget.zip(b.budget) {
        let titles =
            ["part", comparison.a.label.as_str(), comparison.b.label.as_str(), "difference", "share of it"];
        let mut table =
            Table::new("Where the difference of the mean response time lies, all calls", &titles, 1..5);
        let whole = of_b.response_ns - of_a.response_ns;
        for part in BudgetPart::ALL {
            let (ns_a, ns_b) = (of_a.part_ns(part), of_b.part_ns(part));
            if ns_a != 0.0 || ns_b != 0.0 {
                table.row(difference_row(part.words(), ns_a, ns_b, (whole, of_a.response_ns)));
            }
        }
        let whole = (whole, of_a.response_ns);
        table.row(difference_row("response time", of_a.response_ns, of_b.response_ns, whole));
        section.table(&table);
    }
}

/// A part for A and for B; `whole` is the difference of all parts, and the response time of A to judge it by.
fn difference_row(name: &str, ns_a: f64, ns_b: f64, (whole_ns, response_ns): (f64, f64)) -> Vec<Cell> {
    let change = figures::change(ns_b - ns_a, response_ns);
    let is_news = change != "0" && figures::change(whole_ns, response_ns) != "0";
    let share = if is_news { figures::percent((ns_b - ns_a) / whole_ns) } else { figures::NONE.to_owned() };
    vec![name.into(), figures::part(ns_a).into(), figures::part(ns_b).into(), change.into(), share.into()]
}

fn spectra(section: &mut Markup, comparison: &Comparison, sides: &[Pooled<'_>; 2]) {
    let [a, b] = sides;
    let lanes: Vec<Lane<'_>> = a
        .kinds
        .iter()
        .map(|kind| {
            let other = b.kinds.iter().find(|other| other.name == kind.name);
            let spectra =
                [Some(kind), other].into_iter().flatten().map(|kind| kind.spectrum.as_slice()).collect();
            Lane { name: kind.name, spectra, marks: None }
        })
        .collect();
    spectrum::render(section, &lanes, &[&comparison.a.label, &comparison.b.label]);
}

fn costs(section: &mut Markup, comparison: &Comparison, sides: &[Pooled<'_>; 2]) {
    let titles = ["process", comparison.a.label.as_str(), comparison.b.label.as_str()];
    let mut table =
        Table::new("CPU a thousand committed calls; an embedded engine shares its process", &titles, 1..3);
    let mut row = |name: &str, roles: Option<&str>| {
        let cells = sides.each_ref().map(|side| {
            let cost = side.cpu_ms_per_1000(roles);
            Cell::Text(
                cost.map_or_else(|| figures::NONE.to_owned(), |ms| format!("{}\u{a0}ms", figures::short(ms))),
            )
        });
        table.row(std::iter::once(name.into()).chain(cells).collect());
    };
    let mut all_roles = sides[0].roles();
    all_roles.extend(sides[1].roles().into_iter().filter(|roles| !sides[0].roles().contains(roles)));
    for roles in &all_roles {
        row(roles, Some(roles));
    }
    row("all processes", None);
    section.table(&table);
}

/// Writes the differences of key and work: above the verdict only those that may not be, below it all of them.
fn differences(markup: &mut Markup, comparison: &Comparison, all: bool) {
    let keys: Vec<_> =
        comparison.key_differences.iter().filter(|difference| all || !difference.intended).collect();
    let is_intended =
        |difference: &FingerprintDifference| rules::work_is_intended(comparison, &difference.measure);
    let work: Vec<_> = comparison
        .fingerprint_differences
        .iter()
        .filter(|difference| all || !is_intended(difference))
        .collect();
    if keys.is_empty() && work.is_empty() {
        if all {
            markup.line("p", "", "Neither the comparison key nor the work of a call differs.");
        }
        return;
    }
    let titles = ["field", "", comparison.a.label.as_str(), comparison.b.label.as_str()];
    let caption = if all {
        format!("The factor under study is {}", comparison.factor)
    } else {
        "More differs than the factor under study".to_owned()
    };
    let mut table = Table::new(&caption, &titles, 4..4).breaking();
    for difference in keys {
        let badge = if difference.intended {
            Cell::Badge(Tone::Plain, "intended".to_owned())
        } else {
            Cell::Badge(Tone::Bad, "not intended".to_owned())
        };
        table.row(vec![
            difference.field.as_str().into(),
            badge,
            difference.a.as_str().into(),
            difference.b.as_str().into(),
        ]);
    }
    let has_same_work = work.is_empty();
    for difference in work {
        let badge = if is_intended(difference) {
            Cell::Badge(Tone::Plain, "intended".to_owned())
        } else {
            Cell::Badge(Tone::Bad, "different work".to_owned())
        };
        table.row(vec![
            format!("{} a {} call", difference.measure, difference.kind).into(),
            badge,
            figures::trimmed(difference.a, 2).into(),
            figures::trimmed(difference.b, 2).into(),
        ]);
    }
    markup.table(&table);
    if all && has_same_work {
        markup.line(
            "p",
            "caption",
            "The work of a call (statements, rows, attempts, commits) is the same on both sides.",
        );
    }
}

fn trials(section: &mut Markup, document: &Document, comparison: &Comparison) {
    let mut table = Table::new(
        "Every trial, in the order in which they ran",
        &["trial", "", "block", comparison.metric.as_str(), "p50", "p99", "in doubt", "audits", "state"],
        3..7,
    );
    let mut entries: Vec<_> = comparison
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(i, block)| block.trials.iter().map(move |entry| (i + 1, entry)))
        .collect();
    entries.sort_by_key(|(_, entry)| entry.order);
    for (block, entry) in entries {
        let Some(trial) = document.trials.get(entry.trial) else {
            continue;
        };
        let times = trial
            .kinds
            .get(trial.headline_kind())
            .and_then(|kind| kind.tally.latency(result::Class::Committed))
            .map(|latency| latency.response);
        let audits = trial.audits.iter().map(|audit| audit.check);
        let failed = trial.audits.iter().any(|audit| audit.check == Check::Failed);
        let label = if entry.side == Side::A { &comparison.a.label } else { &comparison.b.label };
        table.row(vec![
            (entry.order + 1).to_string().into(),
            label.as_str().into(),
            block.to_string().into(),
            figures::with_margin(trial.headline.value).into(),
            figures::maybe_duration(times.and_then(|times| times.p50_ns)).into(),
            figures::maybe_duration(times.and_then(|times| times.p99_ns)).into(),
            figures::count(trial.overall.books.in_doubt).into(),
            Cell::Badge(if failed { Tone::Bad } else { Tone::Good }, findings::passed_of(audits)),
            trial.state.word().into(),
        ]);
    }
    section.table(&table);
    if let Some(trial) = document.trials.first() {
        section.line("p", "caption", &trial.headline.sentence);
    }
}
