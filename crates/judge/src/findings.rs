//! What every format says in the same words: what failed, what to mind, what was set.

use crate::figures;
use result::{
    Check, Class, Data, Document, Limits, Plan, Problem, Quantiles, Rule, Settlement, Severity, Trial,
};

/// Something that is wrong with a result, and the evidence.
pub struct Failure {
    /// What failed: `audit warehouse-ytd (3.3.2.1)`.
    pub what: String,
    pub sentence: String,
    /// The first violations.
    pub evidence: Vec<String>,
}

/// Everything that makes the rate of a trial worthless, the gravest first. Printed above the rate.
pub fn failures(trial: &Trial) -> Vec<Failure> {
    trial.problems().iter().filter_map(failure).collect()
}

/// A problem with its evidence; rules have a place of their own.
fn failure(problem: &Problem<'_>) -> Option<Failure> {
    let (what, sentence, evidence) = match *problem {
        Problem::Failed { why, defects } => {
            let sentence = why.unwrap_or("calls broke the contract").to_owned();
            ("trial".to_owned(), sentence, defects.to_vec())
        }
        Problem::LackedWrites => ("trial".to_owned(), problem.words(), Vec::new()),
        Problem::Audit(audit) => {
            let clause = audit.clause.as_ref().map_or_else(String::new, |clause| format!(" ({clause})"));
            let what = format!("audit {}{clause}, {}", audit.full_name(), audit.when.words());
            (what, audit.sentence.clone(), audit.violations.clone())
        }
        Problem::Ledger(found) => {
            let stored = format!(
                "acknowledged {} to {} {}, stored {}",
                found.low, found.high, found.unit, found.stored
            );
            (format!("ledger {}", found.name), found.sentence.clone(), vec![stored])
        }
        Problem::Input(input) => {
            let sentence = format!(
                "{} of what was sent, {} ± {} prescribed",
                figures::percent(input.measured),
                figures::percent(input.expected),
                figures::percent(input.tolerance)
            );
            (format!("inputs {}", input.name), sentence, Vec::new())
        }
        Problem::Conformance(found) => {
            ("conformance".to_owned(), found.sentence.clone(), found.mismatches.clone())
        }
        Problem::Rule(_) => return None,
    };
    Some(Failure { what, sentence, evidence })
}

/// The failures of every trial of a run, each with the trial it belongs to if there are several.
pub fn failures_of_all(document: &Document) -> Vec<Failure> {
    let several = document.trials.len() > 1;
    let of_trial = |(i, trial): (usize, &Trial)| {
        let place = if several { format!("trial {} ({}), ", i + 1, trial.subject) } else { String::new() };
        failures(trial)
            .into_iter()
            .map(move |failure| Failure { what: format!("{place}{}", failure.what), ..failure })
            .collect::<Vec<_>>()
    };
    document.trials.iter().enumerate().flat_map(of_trial).collect()
}

/// How many of the checks of one sort passed: `14 of 14 passed`, `12 of 14 passed, 1 not run`. Those that the data cannot
/// decide are counted apart: `11 of 11 passed, 3 inconclusive`.
pub fn passed_of(checks: impl Iterator<Item = Check>) -> String {
    let (mut all, mut passed, mut not_run, mut open) = (0_u32, 0_u32, 0_u32, 0_u32);
    for check in checks {
        all += u32::from(check != Check::Inconclusive);
        match check {
            Check::Passed => passed += 1,
            Check::NotRun => not_run += 1,
            Check::Inconclusive => open += 1,
            Check::Failed => {}
        }
    }
    if all + open == 0 {
        return "none".to_owned();
    }
    let mut text = format!("{passed} of {all} passed");
    for (count, what) in [(not_run, "not run"), (open, "inconclusive")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

/// Audits, ledger, inputs and conformance of all of these trials: `85 of 85 passed`, and whether any failed.
pub fn checks(trials: &[&Trial]) -> [(&'static str, String, bool); 4] {
    let of = |name, pick: fn(&Trial) -> Vec<Check>| {
        let checks: Vec<Check> = trials.iter().flat_map(|trial| pick(trial)).collect();
        let failed = checks.contains(&Check::Failed);
        let words = match checks.as_slice() {
            // Of one trial there is but one answer.
            [check] if name == "conformance" => check.words().to_owned(),
            _ => passed_of(checks.into_iter()),
        };
        (name, words, failed)
    };
    [
        of("audits", |trial| trial.audits.iter().map(|audit| audit.check).collect()),
        of("ledger", |trial| trial.ledger.iter().map(|ledger| ledger.check).collect()),
        of("inputs", |trial| trial.inputs.iter().map(|input| input.check).collect()),
        of("conformance", |trial| vec![trial.conformance.check]),
    ]
}

/// The rules that have something to say, the gravest first. What a failed check or a missed limit is reported as already
/// is not said again as a rule.
pub fn rules_to_mind(trial: &Trial) -> Vec<&Rule> {
    let mut rules: Vec<&Rule> =
        trial.rules.iter().filter(|rule| rule.severity >= Severity::Warning && !is_said(rule)).collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.severity));
    rules
}

fn is_said(rule: &Rule) -> bool {
    (rule.name == "audit" && rule.severity == Severity::Bad) || rule.name == "limits"
}

/// The rules to mind in any trial of a run, said once, with the number of trials where there are several.
pub fn rules_to_mind_of_all(document: &Document) -> Vec<Rule> {
    let rules = document.trials.iter().flat_map(rules_to_mind).cloned();
    let mut rules = gathered(rules, |a, b| (&a.name, a.severity) == (&b.name, b.severity));
    rules.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity));
    let all = document.trials.len();
    let text = |(rule, trials): (Rule, usize)| match all {
        1 => rule,
        _ => Rule { sentence: format!("in {trials} of {all} trials; first: {}", rule.sentence), ..rule },
    };
    rules.into_iter().map(text).collect()
}

/// Each of those that are the same once, the first, with how many there are; in the order in which they first came.
pub fn gathered<T>(all: impl IntoIterator<Item = T>, same: impl Fn(&T, &T) -> bool) -> Vec<(T, usize)> {
    let mut found: Vec<(T, usize)> = Vec::new();
    for one in all {
        match found.iter_mut().find(|(known, _)| same(known, &one)) {
            Some((_, times)) => *times += 1,
            None => found.push((one, 1)),
        }
    }
    found
}

/// Planned length of the window: `60 s`; `10,000 calls, 60 s at most`.
pub fn measured_words(plan: &Plan) -> String {
    let most = figures::seconds(plan.measured_s);
    let calls = plan.calls.map(|calls| format!("{}, {most} at most", figures::counted(calls, "call")));
    let rounds = plan.rounds.map(|rounds| format!("{most} in {} rounds", rounds.number));
    calls.or(rounds).unwrap_or(most)
}

/// What the mix is called that a workload has by itself.
pub const STANDARD_MIX: &str = "the workload's own";

/// `sqlite 3.51.1, durable, 8 clients, closed loop, 60 s`; `sqlite 3.51.1, 2 stores, durable, …`.
pub fn setting_line(trial: &Trial) -> String {
    let stores = match trial.data.store_count() {
        1 => String::new(),
        stores => format!(", {stores} stores"),
    };
    format!(
        "{} {}{stores}, {}, {}, {}, {}",
        trial.stack.engine,
        trial.stack.engine_version,
        trial.stack.durability.word(),
        figures::counted(trial.plan.clients.into(), "client"),
        trial.plan.arrivals_words(),
        figures::seconds(trial.measured_s),
    )
}

/// `declined 1.0 %   conflicts 0.3 %, all resolved by retry   in doubt 0   dropped 0`, in parts.
pub fn exceptions(trial: &Trial) -> Vec<String> {
    let call_counts = trial.overall.call_counts;
    let share = |count: u64| match count {
        0 => "0".to_owned(),
        _ => figures::percent(count as f64 / call_counts.started.max(1) as f64),
    };
    let conflicts = if call_counts.calls_retried == 0 && call_counts.conflict == 0 {
        "conflicts 0".to_owned()
    } else if call_counts.conflict == 0 {
        format!("conflicts {}, all resolved by retry", share(call_counts.calls_retried))
    } else {
        format!(
            "conflicts {}, {} failed after retries",
            share(call_counts.calls_retried),
            figures::count(call_counts.conflict)
        )
    };
    let mut parts = vec![format!("declined {}", share(call_counts.declined)), conflicts];
    if call_counts.refused > 0 {
        parts.push(format!("refused {}", figures::count(call_counts.refused)));
    }
    if call_counts.defect > 0 {
        parts.push(format!("defects {}", figures::count(call_counts.defect)));
    }
    parts.push(format!("in doubt {}", figures::count(call_counts.in_doubt)));
    parts.push(format!("dropped {}", figures::count(call_counts.dropped)));
    parts
}

/// A requirement of the workload on the pace of a run, and whether it was met.
pub struct Requirement {
    /// `efficiency`, `deferred`, `limits`.
    pub name: &'static str,
    /// Whether it was met; `None` with too few samples to say.
    pub met: Option<bool>,
    pub sentence: String,
}

/// Efficiency of a paced run, deferred calls, and 90th percentiles over their limits. Limits that were kept are not
/// worth a line.
pub fn requirements(trial: &Trial) -> Vec<Requirement> {
    let mut requirements = Vec::new();
    if let Some(efficiency) = &trial.efficiency {
        requirements.push(Requirement {
            name: "efficiency",
            met: Some(efficiency.passed),
            sentence: format!(
                "{} new orders per minute and warehouse, {} of the {} that keying and think times allow; a valid run \
                 has at least {}",
                figures::short(efficiency.per_warehouse),
                figures::percent(efficiency.share),
                efficiency.per_warehouse_max,
                efficiency.per_warehouse_min
            ),
        });
    }
    if let Some(deferred) = &trial.deferred {
        requirements.push(Requirement {
            name: "deferred",
            met: deferred.limit.passed,
            sentence: format!(
                "{} {} calls queued, {} done, {} failed, {} waiting at the end, {} parts skipped; from queued to done \
                 p90 {}, limit {}, slowest {}",
                figures::count(deferred.queued),
                deferred.kind,
                figures::count(deferred.done),
                figures::count(deferred.failed),
                figures::count(deferred.waiting),
                figures::count(deferred.skipped),
                figures::maybe_duration(deferred.limit.p90_ns),
                figures::duration(deferred.limit.p90_max_ns as f64),
                figures::maybe_duration(deferred.completion.slowest_ns())
            ),
        });
    }
    let limits = trial.kinds.iter().filter_map(|kind| Some((&kind.name, kind.limit?)));
    for (name, limit) in limits.filter(|(_, limit)| limit.passed == Some(false)) {
        requirements.push(Requirement {
            name: "limits",
            met: Some(false),
            sentence: format!(
                "{name} p90 {} is over its limit of {}",
                figures::maybe_duration(limit.p90_ns),
                figures::duration(limit.p90_max_ns as f64)
            ),
        });
    }
    requirements
}

/// How long the warm-up took, and how long it was to be where that is another number.
fn warmup_words(trial: &Trial) -> String {
    let planned = figures::seconds(trial.plan.warmup_s);
    match trial.warmup_s {
        Some(took) if trial.plan.rounds.is_some() => {
            format!("{planned}; with the beginnings of rounds {}", figures::seconds(took))
        }
        Some(took) => {
            format!("{} ({planned} planned, until the WAL per commit was stable)", figures::seconds(took))
        }
        None => planned,
    }
}

/// How large the data is: `4 warehouses`, `10 branches over 2 stores`.
pub fn scale_words(data: &Data) -> String {
    let over = match data.store_count() {
        1 => String::new(),
        stores => format!(" over {stores} stores"),
    };
    format!("{} {}{over}", figures::count(data.scale), scale_unit(data, data.scale))
}

/// What can be chosen of the workload besides its scale, as it was: `limited 0, stock 100,000`; `none` where it has nothing of the
/// kind.
pub fn parameter_words(data: &Data) -> String {
    let words = data.parameters.iter().map(|(name, value)| format!("{name} {}", figures::count(*value)));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// What was published from its outbox, in words; nothing where no one publishes it.
pub fn published_words(trial: &Trial) -> Option<String> {
    let published = trial.published.as_ref()?;
    let lag = |what: &str, lag: &Option<Quantiles>| {
        let time = |ns: Option<u64>| figures::maybe_duration(ns);
        lag.as_ref().map_or_else(String::new, |lag| {
            let (p50, p99, max) = (time(lag.p50_ns), time(lag.p99_ns), time(Some(lag.max_ns)));
            format!("; {what} p50 {p50}, p99 {p99}, max {max}")
        })
    };
    let times =
        lag("delivery lag (from the insert of the row to the acknowledgement of the sink)", &published.lag);
    let consumed = published.consumed.as_ref().map_or_else(String::new, |consumed| {
        let messages = figures::counted(consumed.messages, "message");
        let times = lag("consumption lag (to the commit of the consumer)", &consumed.lag);
        format!("; the consumer processed {messages}{times}")
    });
    let again = match published.duplicates {
        None => "duplicates unknown".to_owned(),
        Some(count) => format!("{} duplicates", figures::count(count)),
    };
    let backlog = published
        .backlog_max()
        .map_or_else(String::new, |most| format!("; maximum backlog {} messages", figures::count(most)));
    let messages = match published.messages {
        None => "an unknown number of messages".to_owned(),
        Some(count) => format!("{} messages", figures::count(count)),
    };
    let batches =
        published.batches.map_or_else(String::new, |count| format!(" in {} batches", figures::count(count)));
    Some(format!("{messages}{batches} to the sink `{}`, {again}{times}{backlog}{consumed}", published.sink))
}

/// What its scale counts, of so many: `warehouse`, `warehouses`.
pub fn scale_unit(data: &Data, count: u64) -> &str {
    let many = data.scale_unit.as_str();
    match count {
        1 => many
            .strip_suffix("es")
            .filter(|one| one.ends_with("ch"))
            .or(many.strip_suffix('s'))
            .unwrap_or(many),
        _ => many,
    }
}

/// What a process may use: `0.5 cores, 1 GiB`.
pub(crate) fn limit_words(limits: Limits) -> String {
    let cpu = limits.cpu.map(figures::cores);
    cpu.into_iter().chain(limits.memory_bytes.map(figures::bytes)).collect::<Vec<_>>().join(", ")
}

/// What was asked and found of the trial, as names and values: the comparison key.
pub fn key(trial: &Trial) -> Vec<(&'static str, Vec<(String, String)>)> {
    let (stack, plan, data, machine) = (&trial.stack, &trial.plan, &trial.data, &trial.machine);
    let pair = |name: &str, value: String| (name.to_owned(), value);
    let unknown = || "not known".to_owned();
    let mut stack_rows = vec![
        pair("engine", format!("{} {}", stack.engine, stack.engine_version)),
        pair("adapter", format!("{} {}", stack.adapter, stack.adapter_version)),
        pair("style", stack.style.clone()),
        pair("route", stack.route.clone()),
        pair("server", stack.server.clone().unwrap_or_else(|| "none".to_owned())),
        pair("isolation", stack.isolation.clone()),
        pair("durability", format!("{}: {}", stack.durability.word(), stack.durability.detail)),
    ];
    stack_rows.extend(stack.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())));
    let mut plan_rows = vec![
        pair("clients", figures::count(plan.clients.into())),
        pair("arrivals", plan.arrivals_words()),
        pair("warm-up", warmup_words(trial)),
        pair("measured", measured_words(plan)),
        pair("drain, at most", figures::seconds(plan.drain_s)),
        pair("deadline", figures::duration(plan.deadline_ns as f64)),
        pair("attempts, at most", plan.attempts_max.to_string()),
        pair("deferred", if plan.deferred { "yes" } else { "no" }.to_owned()),
        pair("generator threads", plan.generator_threads.to_string()),
        pair("seed", plan.seed.to_string()),
    ];
    plan_rows.extend(plan.mix_words().map(|mix| pair("mix", mix)));
    plan_rows.extend(plan.skew.clone().map(|skew| pair("skew", skew)));
    let mut data_rows = vec![
        pair("workload", data.workload.clone()),
        pair("scale", scale_words(data)),
        pair("rows", figures::count(data.rows)),
        pair("size", data.bytes.map_or_else(unknown, figures::bytes)),
        pair("file system", data.file_system.clone().unwrap_or_else(unknown)),
        pair("mounted", data.mount_options.clone().unwrap_or_else(unknown)),
        pair("loaded by", data.loaded_by.clone()),
        pair("checksum", data.checksum.clone().unwrap_or_else(unknown)),
    ];
    data_rows.extend(data.parameters.iter().map(|(name, value)| pair(name, figures::count(*value))));
    data_rows.extend(data.hottest_rows.map(|rows| pair("rows of the hottest table", figures::count(rows))));
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    data_rows.extend(data.references.map(|declared| pair("foreign keys", yes_no(declared))));
    data_rows.extend(data.tool_notes.iter().map(|note| pair("loaded by another tool", note.clone())));
    data_rows.extend(data.stores.iter().map(|store| {
        let size = store.bytes.map_or_else(unknown, figures::bytes);
        let checksum = store.checksum.clone().unwrap_or_else(unknown);
        pair(&store.name, format!("{} rows, size {size}, checksum {checksum}", figures::count(store.rows)))
    }));
    let limits = trial.processes.iter().filter_map(|process| Some((process, process.limits?)));
    let limit_rows = limits
        .map(|(process, limits)| pair(&format!("limit of {}", process.roles_words()), limit_words(limits)));
    let mut machine_rows = vec![
        pair("CPU model", machine.cpu.clone()),
        pair("CPU cores", machine.cores.to_string()),
        pair("memory", figures::bytes(machine.memory_bytes)),
        pair("system", machine.os.clone()),
        pair("kernel", machine.kernel.clone()),
        pair("governor", machine.governor.clone().unwrap_or_else(unknown)),
        pair("virtualised", machine.virtualised.clone().unwrap_or_else(unknown)),
        pair("scheduler autogroups", machine.shares_by_session.map_or_else(unknown, yes_no)),
        pair("CPU affinity", machine.affinity.clone().unwrap_or_else(unknown)),
        pair("SMT", machine.smt.clone().unwrap_or_else(unknown)),
        pair("transparent huge pages", machine.huge_pages.clone().unwrap_or_else(unknown)),
        pair("steal", machine.steal_share.map_or_else(unknown, figures::percent)),
        pair("other load", machine.other_load_share.map_or_else(unknown, figures::percent)),
    ];
    machine_rows.extend(limit_rows);
    vec![("Stack", stack_rows), ("Plan", plan_rows), ("Data", data_rows), ("Machine", machine_rows)]
}

/// What an open loop asked for next to what it got, and what was left waiting.
pub fn demand_sentence(trial: &Trial) -> Option<String> {
    let demand = trial.demand.filter(|_| trial.plan.arrivals.is_open() && trial.measured_s > 0.0)?;
    let per_s = |calls: f64| format!("{}/s", figures::short(calls / trial.measured_s));
    let waiting = match (demand.backlog_before, demand.backlog_after) {
        (0, 0) => "no call was left waiting".to_owned(),
        (before, after) if !trial.rounds.is_empty() => format!(
            "{} waited for a client at the ends of the rounds and {} at their beginnings",
            figures::counted(after, "call"),
            figures::count(before)
        ),
        (before, after) => format!(
            "{} waited for a client at the end of the window and {} at its beginning",
            figures::counted(after, "call"),
            figures::count(before)
        ),
    };
    Some(format!(
        "Offered {}, accepted {}, committed {}; {waiting}.",
        per_s(demand.offered as f64),
        per_s(demand.accepted as f64),
        per_s(trial.committed())
    ))
}

/// How much was accepted and still on its way, while calls were made.
pub fn backlog(settlement: &Settlement) -> String {
    let last = settlement.backlog.last().copied().unwrap_or(0);
    let undone = match settlement.undone {
        0 => String::new(),
        undone => format!("; {} were undone", figures::count(undone)),
    };
    format!(
        "at most {} at the end of a second, {} at the end{undone}",
        figures::count(settlement.backlog_max()),
        figures::count(last)
    )
}

/// One sentence on which of the two times is shown.
pub fn times_sentence(trial: &Trial) -> &'static str {
    if trial.plan.arrivals.is_open() {
        "Response time runs from the due time of a call to its end, service time from its start; the difference is the wait for a free client."
    } else {
        "Closed loop: a call is due when a client starts it, so response and service time are equal."
    }
}

/// What is said of a run that holds no trial.
pub fn empty_sentence(document: &Document) -> String {
    format!("This {} is {}: no trial was measured yet.", document.kind.word(), document.state.word())
}

/// The committed and declined times of a trial, kind by kind, in report order.
pub fn timed(trial: &Trial) -> impl Iterator<Item = (&str, &result::Latency)> {
    trial
        .kinds
        .iter()
        .filter_map(|kind| kind.tally.latency(Class::Committed).map(|latency| (kind.name.as_str(), latency)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_stores_are_told_with_what_each_holds() {
        let mut trial = sample_documents::trial().trials.remove(0);
        assert_eq!(scale_words(&trial.data), "1 warehouse");
        trial.data.stores = sample_documents::two_stores();
        assert_eq!(scale_words(&trial.data), "1 warehouse over 2 stores");
        assert!(setting_line(&trial).contains(", 2 stores, durable"), "{}", setting_line(&trial));
        let rows: Vec<_> = key(&trial).into_iter().flat_map(|(_, rows)| rows).collect();
        let of = |name: &str| {
            rows.iter().find(|(known, _)| known == name).map(|(_, value)| value.replace('\u{a0}', " "))
        };
        assert_eq!(of("shard-0").as_deref(), Some("550,000 rows, size 7 MiB, checksum xxh3:000"));
        assert_eq!(of("shard-1").as_deref(), Some("550,001 rows, size not known, checksum xxh3:001"));
    }
}
