//! The report of one trial: the number and what validates it first, then where it comes from.

use super::parts::parts;
use super::{budgets, checks, cost, durability, loud_tier, setup, times};
use crate::block::{Badge, Block, Cell, Headline, Level, Number, Table, Tone, figure, words};
use crate::html::budget::Bar;
use crate::html::deployment::deployment;
use crate::html::spectrum::{self, Lane};
use crate::html::{Markup, lines, timeline};
use crate::pooled;
use judge::figures::Uncertainty;
use judge::{clocked, engine_findings, figures, findings};
use result::{
    CallCounts, Check, Class, Interval, KindTally, Latency, Quantiles, Recovery, Severity, SloCheck, State,
    Tier, Trial, UNVERIFIED, Writeback,
};

pub(crate) fn trial(trial: &Trial) -> Vec<Block<'_>> {
    let failures = findings::failures(trial);
    let is_invalid = !failures.is_empty();
    let mut late = vec![Block::Caption(trial.headline.sentence.clone())];
    late.extend(findings::rules_to_mind(trial).into_iter().cloned().map(Block::Rule));
    let mut blocks = vec![
        Block::Title { title: trial.subject.clone(), lead: findings::setting_line(trial) },
        durability(trial),
    ];
    blocks.extend(loud_tier(trial));
    blocks.extend([Block::Alarm("Invalid result", failures), Block::Headline(headline(trial, is_invalid))]);
    blocks.extend(trial.slos.iter().map(slo));
    blocks.extend([
        Block::Late(late),
        Block::section("Rates and response times", rates_section(trial)),
        Block::section("Over time", over_time(trial)),
        Block::section("Latency distribution", vec![Block::chart(|markup| spectra(markup, trial))]),
        Block::section("Where the time goes", where_time_goes(trial)),
    ]);
    if trial.engine.is_some() {
        blocks.push(Block::section("Engine statistics", engine(trial)));
    }
    blocks.extend([
        Block::section(
            "Resource use",
            vec![
                costs(trial),
                Block::chart(|markup| lines::processors(markup, trial)),
                machine_wide(trial),
                Block::chart(|markup| lines::machine_wide(markup, trial)),
            ],
        ),
        Block::section("Validation", checks::all(trial)),
        Block::section("Call accounting", call_counts(trial).into_iter().chain(parts(trial)).collect()),
        Block::section("Set-up", vec![Block::chart(|markup| deployment(markup, trial)), setup(trial)]),
        Block::Late(vec![Block::Notes(trial.notes.clone())]),
    ]);
    blocks
}

/// The number, its name, its tier, and the few figures that people ask for next.
fn headline(trial: &Trial, invalid: bool) -> Headline {
    let (headline, durability) = (&trial.headline, &trial.stack.durability);
    let estimate = figures::estimate(headline.value);
    let is_good = durability.tier == Tier::Durable && !durability.claimed;
    let mut badges = vec![Badge {
        tone: if is_good { Tone::Good } else { Tone::Warn },
        word: durability.word(),
        meaning: durability.tier.meaning(),
        level: Level::Page,
    }];
    if estimate.uncertainty == Uncertainty::TooShort {
        let meaning = "the interval is as wide as the value: measure for longer";
        badges.push(Badge { meaning, ..Badge::new(Tone::Warn, figures::TOO_SHORT) });
    }
    if trial.is_unverified() {
        let meaning = "the stored data was not audited after the run";
        badges.push(Badge { meaning, ..Badge::new(Tone::Bad, UNVERIFIED) });
    }
    if trial.conformance.check == Check::NotRun && !is_unmeasured(trial) {
        let meaning = "no answer was compared with the golden vectors before the run";
        badges.push(Badge { meaning, ..Badge::new(Tone::Warn, "conformance: not run") });
    }
    if trial.state != State::Complete {
        let tone = if trial.state == State::Failed { Tone::Bad } else { Tone::Warn };
        badges.push(Badge::new(tone, trial.state.word()));
    }
    Headline {
        invalid,
        number: Some(Number {
            // Of a run that was killed in its warm-up no rate is known.
            value: if trial.measured_s > 0.0 { estimate.value } else { figures::NONE.to_owned() },
            margin: estimate.uncertainty.margin(),
            unit: headline.unit.clone(),
            label: headline.label.clone(),
        }),
        badges,
        facts: facts(trial),
        ..Headline::default()
    }
}

/// A limit that the user set, and whether the trial meets it.
fn slo<'a>(slo: &SloCheck) -> Block<'a> {
    let words = format!("{}: {}", slo.words(), slo.sentence);
    Block::told(format!("SLO {}", slo.slo), words, slo.check.into())
}

/// Whether the run was killed, or still runs, before anything was measured: then no count is known.
fn is_unmeasured(trial: &Trial) -> bool {
    trial.state == State::Running && trial.measured_s == 0.0
}

fn facts(trial: &Trial) -> Vec<(String, String)> {
    if is_unmeasured(trial) {
        return Vec::new();
    }
    let call_counts = trial.overall.call_counts;
    let mut facts = Vec::new();
    if let Some(kind) = trial.kinds.get(trial.headline_kind())
        && kind.tally.latency(Class::Committed).is_some()
    {
        let names = ["p50", "p99"].map(|quantile| format!("{} {quantile}", kind.name));
        facts.extend(names.into_iter().zip(times(trial)));
    }
    let pooled = pooled::of(vec![trial]);
    let cpu = pooled.cpu_ms_per_1000(None).map(|ms| ("CPU / 1,000 calls", cost(Some(ms))));
    let limit = pooled.limit().map(|limit| ("likely limit", limit.to_owned()));
    facts.extend(cpu.into_iter().chain(limit).map(|(name, value)| (name.to_owned(), value)));
    let declined = figures::percent(call_counts.declined as f64 / call_counts.started.max(1) as f64);
    facts.extend(
        [
            ("all calls", format!("{}/s", figures::value_alone(trial.overall.rate_per_s))),
            ("audits", findings::passed_of(trial.audits.iter().map(|audit| audit.check))),
            ("declined", declined),
            ("in doubt", figures::count(call_counts.in_doubt)),
            ("conflicts after retries", figures::count(call_counts.conflict)),
            ("dropped", figures::count(call_counts.dropped)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    facts
}

/// What each stage of the window came to, where it has any.
fn stages(trial: &Trial) -> Option<Block<'_>> {
    let columns = vec![
        words("stage"),
        figure("offered"),
        figure("committed"),
        figure("declined"),
        figure("refused"),
        figure("waiting at end"),
        figure("p50"),
        figure("p95"),
        figure("p99"),
        words("after it"),
    ];
    let caption = "Stages, each with the calls that were due in it; response times of the committed ones";
    let mut table = Table::new(caption, columns);
    for tally in &trial.stages {
        let (call_counts, times) = (&tally.call_counts, &tally.response);
        let counts = [
            call_counts.due,
            call_counts.committed,
            call_counts.declined,
            call_counts.refused,
            tally.backlog_after,
        ];
        let mut cells = vec![tally.stage.words()];
        cells.extend(counts.map(figures::count));
        cells.extend([times.p50_ns, times.p95_ns, times.p99_ns].map(figures::maybe_duration));
        cells.push(tally.recovery.as_ref().map_or_else(String::new, Recovery::words));
        table.row(cells);
    }
    (!trial.stages.is_empty()).then(|| table.into())
}

fn rates_section(trial: &Trial) -> Vec<Block<'_>> {
    if is_unmeasured(trial) {
        let words = "not known: the run had not measured anything when this was written";
        let checks = Block::At(Level::Brief, checks::summary(&[trial]).into());
        return vec![Block::fact("calls", words), checks];
    }
    let is_open = trial.plan.arrivals.is_open();
    let times = Block::Caption(findings::times_sentence(trial).to_owned());
    let mut blocks = vec![rates(trial).at(Level::Vital)];
    blocks.extend(stages(trial));
    blocks.extend(findings::demand_sentence(trial).map(Block::Caption));
    blocks.push(times.at(if is_open { Level::Always } else { Level::Page }));
    blocks.push(Block::fact("calls", findings::exceptions(trial).join("; ")).at(Level::Brief));
    let [audits, others @ ..] = checks::summary(&[trial]);
    blocks.push(Block::At(Level::Brief, [audits.at(Level::Vital)].into_iter().chain(others).collect()));
    // Where something never arrived, that is among the rules to mind.
    let settled = trial.rules.iter().find(|rule| rule.name == "settled" && rule.severity == Severity::Ok);
    blocks.extend(settled.map(|rule| Block::fact("settled", rule.sentence.clone()).at(Level::Brief)));
    blocks.extend(
        findings::published_words(trial).map(|words| Block::fact("published", words).at(Level::Brief)),
    );
    let backlog =
        trial.settled.as_ref().and_then(|settled| settled.settlement.as_ref()).map(findings::backlog);
    blocks.extend(backlog.map(|words| Block::fact("on their way", words)));
    blocks.extend(findings::requirements(trial).into_iter().map(|requirement| {
        let tone = match requirement.met {
            Some(true) => Tone::Good,
            Some(false) => Tone::Bad,
            None => Tone::Plain,
        };
        Block::told(requirement.name, requirement.sentence, tone)
    }));
    blocks
}

fn rates(trial: &Trial) -> Block<'_> {
    let has_limits = trial.kinds.iter().any(|kind| kind.limit.is_some());
    let times = if trial.plan.arrivals.is_open() { "Response and service times" } else { "Response times" };
    let declined =
        if trial.kinds.iter().any(is_declined) { ", or of declined ones where all are" } else { "" };
    let caption = format!("{times} of committed calls{declined}");
    let mut columns = vec![
        words("call"),
        figure("committed/s"),
        figure("p50"),
        figure("p90").at(Level::Full),
        figure("p95").at(Level::Page),
        figure("p99"),
        figure("p99.9"),
        figure("max"),
    ];
    columns.extend(has_limits.then(|| words("p90 limit").at(Level::Page)));
    let mut table = Table::new(caption, columns);
    let mut row = |level: Level, name: Cell, rate: String, times: Option<&Quantiles>, limit: Option<Cell>| {
        let mut cells = vec![name, rate.into()];
        cells.extend(times_cells(times));
        cells.extend(has_limits.then(|| limit.unwrap_or_else(|| "".into())));
        table.row(cells).level = level;
    };
    let calls = |times: &Quantiles| format!("{} calls", figures::count(times.count));
    let part = |kind: &KindTally, name: &str| Cell::Part(kind.name.clone(), name.to_owned());
    for kind in &trial.kinds {
        let committed = kind.tally.latency(Class::Committed);
        let is_declined = is_declined(kind);
        let (rate, shown) = match is_declined {
            true => ("all declined".to_owned(), kind.tally.latency(Class::Declined)),
            false => (figures::with_margin(kind.tally.rate_per_s), committed),
        };
        let response = shown.map(|latency| &latency.response);
        row(Level::Always, kind.name.as_str().into(), rate, response, Some(limit(kind)));
        if let Some(service) = shown.and_then(|latency| latency.service.as_ref()) {
            row(Level::Always, part(kind, "service time"), String::new(), Some(service), None);
        }
        let is_other = |class: Class| class != Class::Committed && !(is_declined && class == Class::Declined);
        for other in kind.tally.latency.iter().filter(|latency| is_other(latency.class)) {
            let name = part(kind, other.class.word());
            row(Level::Page, name, calls(&other.response), Some(&other.response), None);
            if let Some(service) = &other.service {
                let name = part(kind, &format!("{}, service time", other.class.word()));
                row(Level::Page, name, String::new(), Some(service), None);
            }
        }
        for facet in &kind.facets {
            let name = part(kind, &facet.name);
            row(Level::Always, name, calls(&facet.response), Some(&facet.response), None);
        }
        // What was accepted, and what became of it: two times of one call.
        let settlement = trial.settled.as_ref().and_then(|settled| settled.settlement.as_ref());
        if let Some(settled) = settlement.filter(|settled| settled.kind == kind.name) {
            let times = &settled.times;
            row(Level::Always, part(kind, "settled"), calls(times), Some(times), None);
        }
    }
    table.into()
}

/// Whether all calls of a kind were declined, as those are that are made for it.
fn is_declined(kind: &KindTally) -> bool {
    let call_counts = &kind.tally.call_counts;
    call_counts.declined > 0 && call_counts.declined == call_counts.started
}

fn times_cells(times: Option<&Quantiles>) -> [Cell; 6] {
    times.map_or([const { Cell::Text(String::new()) }; 6], |times| {
        [times.p50_ns, times.p90_ns, times.p95_ns, times.p99_ns, times.p999_ns, times.slowest_ns()]
            .map(|ns| figures::maybe_duration(ns).into())
    })
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

fn over_time(trial: &Trial) -> Vec<Block<'_>> {
    let bad = |name: &'static str| move |words: String| Block::told(name, words, Tone::Bad);
    let mut blocks = vec![Block::chart(|markup| timeline::render(markup, trial))];
    blocks.push(Block::chart(|markup| lines::backlog(markup, trial)));
    blocks.extend(decline_rise(trial));
    blocks.extend(engine_findings::refusals(trial).map(bad("refused")));
    blocks.extend(engine_findings::outages(trial).into_iter().map(bad("outage")));
    blocks.extend(engine_findings::gaps(trial).into_iter().map(bad("gap")));
    blocks.extend(timeline::table(trial).map(|table| Block::from(table).at(Level::Page)));
    blocks
}

/// The two rates of a trial in which calls came to be declined.
fn decline_rise(trial: &Trial) -> Option<Block<'_>> {
    let (rise, words) = (trial.decline_rise.as_ref()?, engine_findings::decline_rise(trial)?);
    let per_s = |value| format!("{}/s", figures::value_alone(Interval { value, ..Interval::default() }));
    let before = match rise.declined_before {
        Some(_) => format!("{} committed before; ", per_s(trial.overall.rate_per_s.value)),
        None => String::new(),
    };
    let words = format!(
        "{words}. Calls of all kinds: {before}{} committed and {} declined afterwards",
        per_s(rise.committed_after_per_s),
        per_s(rise.declined_after_per_s)
    );
    Some(Block::told("calls declined", words, Tone::Warn))
}

fn spectra<'a>(markup: &mut Markup, trial: &'a Trial) {
    let lane = |(name, latency): (_, &'a Latency)| Lane {
        name,
        spectra: vec![latency.spectrum.as_slice()],
        marks: Some(latency.response),
    };
    let lanes: Vec<Lane<'_>> = findings::timed(trial).map(lane).collect();
    spectrum::render(markup, &lanes, &[]);
}

fn where_time_goes(trial: &Trial) -> Vec<Block<'_>> {
    let all = trial.overall.budget.map(|budget| ("all calls".into(), budget));
    let bar = |(name, budget): (Cell, result::Budget), apart| Bar {
        full_ns: budget.response_ns,
        apart,
        name,
        budget,
    };
    let of_parts = budgets_of_parts(trial).into_iter().map(|part| bar(part, false));
    let bars: Vec<Bar> = of_parts.chain(all.map(|all| bar(all, true))).collect();
    let caption = "Each bar is the mean response time of the calls that committed, and sums to 100\u{a0}%.";
    let mut blocks = budgets("time by call", bars, caption, Level::Always);
    blocks.extend([
        Block::At(Level::Line, statements_in_short(trial)),
        statements(trial),
        fingerprint(trial),
    ]);
    blocks.extend(trial.overall.work.and_then(|work| work.http).map(|http| {
        let bytes = |bytes: f64| figures::bytes(bytes.round() as u64);
        let words = format!(
            "{} sent and {} received per committed call, {} and {} per second",
            bytes(http.sent),
            bytes(http.received),
            bytes(http.sent_per_s),
            bytes(http.received_per_s)
        );
        Block::fact("HTTP bytes", words)
    }));
    blocks.extend(engine_findings::grouping(trial).map(|words| Block::fact("shared commits", words)));
    let bottleneck = judge::bottleneck(trial).map(|found| Block::fact(super::BOTTLENECK, found.sentence));
    blocks.extend(bottleneck.map(|found| found.at(Level::Vital)));
    blocks
}

/// The time budget of each kind, and below it those of its parts that are shown apart.
fn budgets_of_parts(trial: &Trial) -> Vec<(Cell, result::Budget)> {
    let mut budgets = Vec::new();
    for kind in &trial.kinds {
        budgets.extend(kind.tally.budget.map(|budget| (kind.name.as_str().into(), budget)));
        for facet in &kind.facets {
            let part = Cell::Part(kind.name.clone(), facet.name.clone());
            budgets.extend(facet.budget.map(|budget| (part, budget)));
        }
    }
    budgets
}

/// What calls spent in each statement, the largest parts of each kind.
fn statements_in_short(trial: &Trial) -> Vec<Block<'_>> {
    let kinds = trial.kinds.iter().filter_map(|kind| Some((&kind.name, kind.clocked.as_ref()?)));
    let facts: Vec<_> =
        kinds.map(|(name, clocked)| Block::fact(name.as_str(), clocked::line(clocked))).collect();
    match facts.is_empty() {
        true => Vec::new(),
        false => std::iter::once(Block::Caption(format!("{}:", clocked::CAPTION))).chain(facts).collect(),
    }
}

fn statements(trial: &Trial) -> Block<'_> {
    let columns = super::columns(["call", "part", "in a call", "each", "together", "share"], 2..);
    let table = Table::new(clocked::CAPTION, columns).of(clocked::rows(trial));
    Block::from(table.folded("Statement times")).at(Level::Full)
}

fn fingerprint(trial: &Trial) -> Block<'_> {
    let columns = super::columns(["call", "statements", "rows", "attempts", "commits"], 1..);
    let mut table =
        Table::new("Work fingerprint: what a committed call takes", columns).folded("Work per call");
    let works = trial.kinds.iter().filter_map(|kind| Some((kind.name.as_str(), kind.tally.work?)));
    for (name, work) in works.chain(trial.overall.work.map(|work| ("all calls", work))) {
        let cells = [work.statements, work.rows, work.attempts, work.commits];
        table.row([name.to_owned()].into_iter().chain(cells.map(|cell| figures::trimmed(cell, 2))));
    }
    Block::from(table).at(Level::Page)
}

/// What the engine reported.
fn engine(trial: &Trial) -> Vec<Block<'_>> {
    let Some(engine) = &trial.engine else { return Vec::new() };
    let mut blocks = vec![Block::chart(|markup| lines::sessions(markup, engine))];
    blocks.extend(
        engine_findings::waits_line(trial).map(|waits| Block::fact("engine sessions", waits).at(Level::Line)),
    );
    let caption = format!("Session states ({} samples)", figures::count(engine.samples));
    let mut waits = Table::new(caption, [words("state"), figure("share of time"), words("which is")]);
    for wait in engine_findings::top_waits(engine).filter(|_| engine.samples > 0) {
        let meaning = engine_findings::meaning(&wait.name);
        waits.row([wait.name.clone(), figures::percent(wait.share), meaning.to_owned()]);
    }
    let columns = super::columns(["of", "what", "in all", "rate"], 2..);
    let gauges = Table::new("Engine counters", columns).of(engine_findings::gauges(trial)).folded("Counters");
    let columns = super::columns(["statement", "time in it", "executions", "rows"], 1..);
    let statements = Table::new("The statements that took the most time", columns).of(engine
        .statements
        .iter()
        .map(|statement| {
            let took = figures::duration(statement.total_ms * 1e6);
            [statement.text.clone(), took, figures::count(statement.calls), figures::count(statement.rows)]
        }));
    blocks.extend([
        Block::from(waits).at(Level::Full),
        Block::from(gauges).at(Level::Full),
        Block::from(statements.folded("Its statements")).at(Level::Page),
    ]);
    if engine.missing_s >= 1.0 {
        let sentence = format!("The engine did not answer for {}.", figures::seconds(engine.missing_s));
        blocks.push(Block::Caption(sentence).at(Level::Page));
    }
    blocks
}

fn costs(trial: &Trial) -> Block<'_> {
    let columns = [
        words("process"),
        figure("CPU / 1000 calls"),
        // Ready to run, with no processor: on full processors this is much of what is called network and statements.
        figure("CPU wait per 1,000 calls").at(Level::Brief),
        figure("CPU user").at(Level::Page),
        figure("CPU kernel").at(Level::Page),
        figure("run-queue wait").at(Level::Page),
        figure("memory, peak"),
        figure("waits").at(Level::Page),
        figure("preempted").at(Level::Page),
        figure("read").at(Level::Page),
        figure("written").at(Level::Page),
    ];
    let none = || figures::NONE.to_owned();
    let seconds = |s| figures::or_none(s, |s: f64| figures::duration(s * 1e9));
    let committed = trial.committed();
    let mut table = Table::new("Cost by process, over the window", columns);
    for process in &trial.processes {
        let waited = process.run_queue_s.filter(|_| committed > 0.0).map(|s| s * 1e6 / committed);
        let under = vec![format!("{}, process {}", process.name, process.pid)];
        table.row([
            Cell::Detailed(process.roles_words(), under),
            cost(process.cpu_ms_per_1000_committed).into(),
            cost(waited).into(),
            seconds(Some(process.cpu_user_s)).into(),
            seconds(Some(process.cpu_system_s)).into(),
            seconds(process.run_queue_s).into(),
            figures::bytes(process.rss_peak_bytes).into(),
            figures::or_none(process.switches_voluntary, figures::count).into(),
            figures::or_none(process.switches_involuntary, figures::count).into(),
            figures::or_none(process.io_read_bytes, figures::bytes).into(),
            figures::or_none(process.io_written_bytes, figures::bytes).into(),
        ]);
    }
    // Without a process no one asks what the kernel did for them.
    for writeback in trial.writeback.iter().filter(|_| !trial.processes.is_empty()) {
        let told = cost(writeback.cpu_ms_per_1000_committed);
        let told = if writeback.cpu_s.is_none() { Writeback::HIDDEN.to_owned() } else { told };
        // All of it is in the kernel; the rest is not told of its threads.
        let mut cells = vec![Writeback::NAME.to_owned(), told, none(), none(), seconds(writeback.cpu_s)];
        cells.resize_with(table.columns.len(), none);
        table.row(cells);
    }
    table.into()
}

/// What no one in particular is charged for.
fn machine_wide(trial: &Trial) -> Block<'_> {
    let told = trial.machine_wide.iter().flat_map(|seen| {
        let switches =
            format!("{} context switches/s", figures::count(seen.context_switches_per_s.round() as u64));
        let network = seen
            .network_bytes_per_s
            .map(|bytes| format!("{}/s over the network", figures::bytes(bytes as u64)));
        let merged = seen.merged_requests_per_s.map(|requests| {
            format!("{} disk requests/s that were merged with others", figures::trimmed(requests, 1))
        });
        [Some(switches), network, merged].into_iter().flatten()
    });
    let told: Vec<String> = told.collect();
    let sentence = format!("The whole machine, all processes: {}.", told.join(", "));
    let shown = if told.is_empty() { Vec::new() } else { vec![Block::Caption(sentence)] };
    Block::At(Level::Page, shown)
}

/// What a column of the call accounting counts.
type Count = fn(&CallCounts) -> u64;

/// The columns of the call accounting.
const COLUMNS: [(&str, Count); 10] = [
    ("due", |call_counts| call_counts.due),
    ("dropped", |call_counts| call_counts.dropped),
    ("started", |call_counts| call_counts.started),
    ("committed", |call_counts| call_counts.committed),
    ("declined", |call_counts| call_counts.declined),
    ("conflict", |call_counts| call_counts.conflict),
    ("refused", |call_counts| call_counts.refused),
    ("in doubt", |call_counts| call_counts.in_doubt),
    ("defect", |call_counts| call_counts.defect),
    ("retries", |call_counts| call_counts.retries),
];

fn call_counts(trial: &Trial) -> Vec<Block<'_>> {
    if is_unmeasured(trial) {
        return Vec::new();
    }
    let columns = super::columns(std::iter::once("call").chain(COLUMNS.map(|(title, _)| title)), 1..);
    let kinds = trial.kinds.iter().map(|kind| (kind.name.as_str(), &kind.tally.call_counts));
    let rows = kinds.chain([("all calls", &trial.overall.call_counts)]).map(|(name, call_counts)| {
        let counts = COLUMNS.iter().map(|(_, count)| figures::count(count(call_counts)));
        std::iter::once(name.to_owned()).chain(counts)
    });
    let table = Table::new("Where every call that was due went", columns).of(rows);
    let (word, tone) = match trial.overall.call_counts.balance() {
        true => ("balanced", Tone::Good),
        false => ("not balanced", Tone::Bad),
    };
    let law =
        "due = started + dropped; started = committed + declined + conflict + refused + in doubt + defect";
    vec![Block::At(Level::Page, vec![table.into(), Block::told(word, law, tone)])]
}
