//! The page of one trial: the number and what vouches for it first, then where it comes from.

use super::markup::{Cell, Markup, Table, Tone};
use super::spectrum::Lane;
use super::{budget, cost, engine, setup, spectrum, timeline, vouch};
use crate::{clocked, figures, findings};
use result::{Class, Headline, KindTally, Quantiles, State, Tier, Trial, UNVERIFIED};

/// Writes the whole trial.
pub(super) fn render(main: &mut Markup, trial: &Trial) {
    main.line("h1", "", &trial.subject);
    main.line("p", "lead", &findings::setting_line(trial));
    engine::loud_tier(main, trial);
    vouch::failures(main, findings::failures(trial));
    headline(main, trial);
    vouch::warnings(main, findings::rules_to_mind(trial));
    main.section("Rates and response times", |section| {
        section.table(&rates(trial));
        if let Some(demand) = findings::demand_sentence(trial) {
            section.line("p", "caption", &demand);
        }
        section.line("p", "caption", findings::times_sentence(trial));
        requirements(section, trial);
    });
    main.section("Over time", |section| timeline::render(section, trial));
    main.section("How response times are spread", |section| {
        let lanes: Vec<Lane<'_>> = findings::timed(trial)
            .map(|(name, latency)| Lane {
                name,
                spectra: vec![latency.spectrum.as_slice()],
                marks: Some(latency.response),
            })
            .collect();
        spectrum::render(section, &lanes, &[]);
    });
    main.section("Where the time goes", |section| {
        budgets(section, trial);
        engine::grouping(section, trial);
        engine::bottleneck(section, trial);
    });
    if trial.engine.is_some() {
        main.section("What the engine says", |section| engine::render(section, trial));
    }
    main.section("What it costs", |section| cost::render(section, trial));
    main.section("What vouches for it", |section| vouch::render(section, trial));
    main.section("Books", |section| books(section, trial));
    main.section("Set-up", |section| setup::render(section, trial));
    if !trial.notes.is_empty() {
        main.section("Notes", |section| {
            section.sentences(&trial.notes);
        });
    }
}

/// The number, its name, its tier, and the few figures that people ask for next.
fn headline(main: &mut Markup, trial: &Trial) {
    let is_void = !findings::failures(trial).is_empty();
    main.element("div", &[("class", if is_void { "headline void" } else { "headline" })], |band| {
        band.element("div", &[("class", "number")], |number| {
            the_number(number, &trial.headline);
            number.element("p", &[("class", "badges")], |badges| {
                let durability = &trial.stack.durability;
                let good = durability.tier == Tier::Durable && !durability.claimed;
                badges.badge(if good { Tone::Good } else { Tone::Warn }, durability.word());
                badges.raw(" ").line("span", "", durability.tier.meaning());
            });
            if trial.is_unverified() {
                number.element("p", &[("class", "badges")], |badges| {
                    badges.badge(Tone::Bad, UNVERIFIED);
                    badges.raw(" ").line("span", "", "nobody looked at the stored data after the run");
                });
            }
            if trial.state != State::Complete {
                number.element("p", &[("class", "badges")], |badges| {
                    let tone = if trial.state == State::Failed { Tone::Bad } else { Tone::Warn };
                    badges.badge(tone, trial.state.word());
                });
            }
        });
        band.element("dl", &[("class", "facts")], |facts| {
            for (name, value) in facts_of(trial) {
                facts.element("div", &[], |fact| {
                    fact.line("dt", "", &name).line("dd", "", &value);
                });
            }
        });
    });
    main.line("p", "caption", &trial.headline.sentence);
}

fn the_number(number: &mut Markup, headline: &Headline) {
    number.element("p", &[("class", "figure-large")], |line| {
        line.text(&figures::value_alone(headline.value));
        if let Some((_, margin)) = figures::with_margin(headline.value).split_once('±') {
            line.raw(" ").element("small", &[], |small| {
                small.raw("±\u{a0}").text(margin.trim_start_matches('\u{a0}'));
            });
        }
    });
    number.element("p", &[("class", "figure-unit")], |line| {
        line.text(&headline.unit).raw(" · ").line("strong", "", &headline.label);
    });
}

fn facts_of(trial: &Trial) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(kind) = trial.kinds.get(trial.headline_kind())
        && let Some(latency) = kind.tally.latency(Class::Committed)
    {
        facts.push((format!("{} p50", kind.name), figures::maybe_duration(latency.response.p50_ns)));
        facts.push((format!("{} p99", kind.name), figures::maybe_duration(latency.response.p99_ns)));
    }
    facts.push(("all calls".to_owned(), format!("{}/s", figures::value_alone(trial.overall.rate_per_s))));
    facts.push(("audits".to_owned(), findings::passed_of(trial.audits.iter().map(|audit| audit.check))));
    let books = trial.overall.books;
    facts.push(("declined".to_owned(), figures::percent(books.declined as f64 / books.begun.max(1) as f64)));
    facts.push(("in doubt".to_owned(), figures::count(books.in_doubt)));
    facts.push(("conflicts, given up".to_owned(), figures::count(books.conflict)));
    facts.push(("never begun".to_owned(), figures::count(books.never_begun)));
    facts
}

fn rates(trial: &Trial) -> Table {
    let is_open = trial.plan.arrivals.is_open();
    let mut titles = vec!["call", "committed/s", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let has_limits = trial.kinds.iter().any(|kind| kind.limit.is_some());
    if has_limits {
        titles.push("p90 limit");
    }
    let caption = if is_open {
        "Response and service times of committed calls"
    } else {
        "Response times of committed calls"
    };
    let mut table = Table::new(caption, &titles, 1..8);
    for kind in &trial.kinds {
        for latency in &kind.tally.latency {
            let committed = latency.class == Class::Committed;
            let name = if committed {
                kind.name.clone()
            } else {
                format!("{}, {}", kind.name, latency.class.word())
            };
            let rate = if committed {
                figures::with_margin(kind.tally.rate_per_s)
            } else {
                format!("{} calls", figures::count(latency.response.count))
            };
            let mut cells: Vec<Cell> = vec![name.into(), rate.into()];
            cells.extend(times(&latency.response));
            if has_limits {
                cells.push(if committed { limit(kind) } else { "".into() });
            }
            table.row(cells);
            if let Some(service) = &latency.service {
                let mut cells: Vec<Cell> = vec!["— service time".into(), "".into()];
                cells.extend(times(service));
                if has_limits {
                    cells.push("".into());
                }
                table.row(cells);
            }
        }
        for facet in &kind.facets {
            let calls = format!("{} calls", figures::count(facet.response.count));
            let mut cells: Vec<Cell> = vec![format!("{}, {}", kind.name, facet.name).into(), calls.into()];
            cells.extend(times(&facet.response));
            if has_limits {
                cells.push("".into());
            }
            table.row(cells);
        }
    }
    table
}

fn times(times: &Quantiles) -> [Cell; 6] {
    [times.p50_ns, times.p90_ns, times.p95_ns, times.p99_ns, times.p999_ns, times.slowest_ns()]
        .map(|ns| figures::maybe_duration(ns).into())
}

fn limit(kind: &KindTally) -> Cell {
    let Some(limit) = kind.limit else {
        return figures::NONE.into();
    };
    let most = figures::duration(limit.p90_max_ns as f64);
    match limit.passed {
        Some(true) => Cell::Badge(Tone::Good, format!("under {most}")),
        Some(false) => Cell::Badge(Tone::Bad, format!("over {most}")),
        None => Cell::Badge(Tone::Plain, format!("{most}, too few calls")),
    }
}

fn requirements(section: &mut Markup, trial: &Trial) {
    for requirement in findings::requirements(trial) {
        let tone = match requirement.met {
            Some(true) => Tone::Good,
            Some(false) => Tone::Bad,
            None => Tone::Plain,
        };
        section.element("p", &[], |p| {
            p.badge(tone, requirement.name).raw(" ").text(&requirement.sentence).raw(".");
        });
    }
}

fn budgets(section: &mut Markup, trial: &Trial) {
    let all = trial.overall.budget.map(|budget| ("all calls".to_owned(), budget));
    let kinds = clocked::budgets(trial, |kind, facet| format!("{kind} {facet}"));
    let rows: Vec<budget::Row<'_>> = kinds
        .into_iter()
        .chain(all)
        .map(|(name, budget)| budget::Row {
            full_ns: budget.response_ns,
            apart: name == "all calls",
            name,
            budget,
            title: "call",
        })
        .collect();
    budget::render(
        section,
        &rows,
        "Each bar is the mean response time of the calls that committed, and sums to 100\u{a0}%.",
    );
    statements(section, trial);
    fingerprint(section, trial);
}

/// What calls spent in each statement.
fn statements(section: &mut Markup, trial: &Trial) {
    let rows = clocked::rows(trial);
    if rows.is_empty() {
        return;
    }
    let mut table = Table::new(clocked::CAPTION, &clocked::TITLES, 2..clocked::TITLES.len());
    for row in rows {
        table.row(row.map(Cell::from).into());
    }
    section.folded_table("What each statement takes", &table);
}

fn fingerprint(section: &mut Markup, trial: &Trial) {
    let mut table = Table::new(
        "Work fingerprint: what a committed call takes",
        &["call", "statements", "rows", "attempts", "commits"],
        1..5,
    );
    let efforts = trial.kinds.iter().filter_map(|kind| Some((kind.name.as_str(), kind.tally.effort?)));
    for (name, effort) in efforts.chain(trial.overall.effort.map(|effort| ("all calls", effort))) {
        let cells = [effort.statements, effort.rows, effort.attempts, effort.commits];
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(cells.map(|cell| Cell::Text(figures::trimmed(cell, 2))));
        table.row(row);
    }
    section.folded_table("The work of a call", &table);
}

fn books(section: &mut Markup, trial: &Trial) {
    let titles = [
        "call",
        "due",
        "never begun",
        "begun",
        "committed",
        "declined",
        "conflict",
        "refused",
        "in doubt",
        "defect",
        "retries",
    ];
    let mut table = Table::new("Where every call that was due went", &titles, 1..titles.len());
    let kinds = trial.kinds.iter().map(|kind| (kind.name.as_str(), kind.tally.books));
    for (name, books) in kinds.chain([("all calls", trial.overall.books)]) {
        let counts = [
            books.due,
            books.never_begun,
            books.begun,
            books.committed,
            books.declined,
            books.conflict,
            books.refused,
            books.in_doubt,
            books.defect,
            books.retries,
        ];
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(counts.map(|count| Cell::Text(figures::count(count))));
        table.row(row);
    }
    section.table(&table);
    section.element("p", &[("class", "caption")], |p| {
        if trial.overall.books.balance() {
            p.badge(Tone::Good, "balanced");
        } else {
            p.badge(Tone::Bad, "not balanced");
        }
        p.raw(" due = begun + never begun; begun = committed + declined + conflict + refused + in doubt + defect.");
    });
}
