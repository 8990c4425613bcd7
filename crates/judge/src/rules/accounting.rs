//! Whether every call is accounted for, whether the stored data confirm it, and how the calls ended.

use super::{bad, fine, listed, note, share, warning};
use crate::{figures, findings};
use result::{AuditWhen, CallCounts, Check, Class, KindTally, Rule, Settled, Trial, UNVERIFIED};

/// Declined calls that the workload does not plan, as a share of those begun, from which the rate means something else.
const UNPLANNED_MAX: f64 = 0.05;
/// The same for calls that did not complete.
const FAULTS_MAX: f64 = 0.01;
/// How far the rate and its slices may differ, as a share, next to a call a client in each window: a page that is handed over late counts
/// in the slice after its own, and a call that was begun in a window may end after it, where a round has no slice.
const SLICES_MARGIN: f64 = 0.01;
/// A window that its slices cover but for less was not cut short.
const EDGE_S: f64 = 1e-3;
/// Calls settled only after the load ended, as a share of those accepted in the window.
const LEFT_MAX: f64 = 0.1;
/// Calls due and dropped, as a share of those due.
const NEVER_BEGUN_MAX: f64 = 0.001;
/// The share of a kind's calls that may fail where most others do not.
const LEFT_OUT_MIN: f64 = 0.5;
/// Fewer calls of a kind say nothing.
const LEFT_OUT_CALLS: u64 = 20;
/// How many times as often as others the calls of a kind may fail, and the least of them that say so.
const UNEVEN: f64 = 5.0;
const UNEVEN_CALLS: u64 = 500;

pub(super) fn call_accounting(trial: &Trial) -> Option<Rule> {
    let broken = imbalances(trial);
    if broken.is_empty() {
        let due = trial.overall.call_counts.due;
        return fine(format!("all {} calls that were due are accounted for", figures::count(due)));
    }
    bad(
        format!("call counts do not add up ({}): result invalid", listed(&broken)),
        "report this as a bug of Stackmark, with the result file",
    )
}

type Column = fn(&CallCounts) -> u64;

/// What does not add up, a clause each; the first three, because one lost call breaks several identities.
fn imbalances(trial: &Trial) -> Vec<String> {
    let overall = trial.overall.call_counts;
    let mut broken = Vec::new();
    let named = trial.kinds.iter().map(|kind| (kind.name.as_str(), kind.tally.call_counts));
    for (name, call_counts) in std::iter::once(("all kinds", overall)).chain(named) {
        if !call_counts.balance() {
            broken.push(format!("the columns of {name} do not add up"));
        }
        // A call has at least one attempt unless it was shed before.
        let attempts_fit = call_counts.retries <= call_counts.attempts
            && call_counts.calls_retried <= call_counts.retries
            && call_counts.attempts - call_counts.retries <= call_counts.started;
        if !attempts_fit {
            broken.push(format!("attempts and retries of {name} contradict each other"));
        }
    }
    for (number, tally) in trial.stages.iter().enumerate() {
        if !tally.call_counts.balance() {
            broken.push(format!("the columns of stage {} do not add up", number + 1));
        }
    }
    let of_stages: u64 = trial.stages.iter().map(|tally| tally.call_counts.due).sum();
    if !trial.stages.is_empty() && of_stages != overall.due {
        broken.push("the stages do not have as many calls as were due".to_owned());
    }
    let columns: [(&str, Column); 7] = [
        ("started", |call_counts| call_counts.started),
        ("committed", |call_counts| call_counts.committed),
        ("declined", |call_counts| call_counts.declined),
        ("in conflict", |call_counts| call_counts.conflict),
        ("refused", |call_counts| call_counts.refused),
        ("in doubt", |call_counts| call_counts.in_doubt),
        ("defect", |call_counts| call_counts.defect),
    ];
    for (name, column) in columns {
        let sum: u64 = trial.kinds.iter().map(|kind| column(&kind.tally.call_counts)).sum();
        if !trial.kinds.is_empty() && sum != column(&overall) {
            broken.push(format!("{name}: {sum} by kind, {} in all", column(&overall)));
        }
    }
    for kind in &trial.kinds {
        let clocked = kind.tally.latency(Class::Committed).map_or(0, |latency| latency.response.count);
        let committed = kind.tally.call_counts.committed;
        if clocked != committed {
            broken.push(format!("{} {committed} committed, {clocked} clocked", kind.name));
        }
        let in_parts: u64 = kind.facets.iter().map(|facet| facet.response.count).sum();
        if !kind.facets.is_empty() && in_parts != committed {
            broken.push(format!("{} {committed} committed, {in_parts} in its parts", kind.name));
        }
    }
    broken.extend(rate_without_calls(trial));
    broken.truncate(3);
    broken
}

/// The rate against the counts that it came from: what was offered, and what the slices of the time line hold.
fn rate_without_calls(trial: &Trial) -> Option<String> {
    let committed = trial.committed();
    let demand = trial.demand?;
    if !demand.balance() {
        return Some("the calls offered, accepted and left waiting do not add up".to_owned());
    }
    let slices = || trial.slices.iter().filter(|slice| !slice.warmup);
    let covered_s: f64 = slices().map(|slice| slice.duration_s).sum();
    let in_slices: u64 = slices().flat_map(|slice| &slice.kinds).map(|kind| kind.committed).sum();
    let differs = in_slices as f64 - committed;
    let windows = 1 + trial.plan.rounds.map_or(0, |rounds| rounds.number);
    let margin = committed * SLICES_MARGIN + f64::from(trial.plan.clients * windows);
    // Of a trial that was stopped early the slice that it ended in is not in the time line: at most as many calls as in the busiest.
    let is_whole = covered_s >= trial.measured_s * (1.0 - SLICES_MARGIN);
    let of_slice = |slice: &result::Slice| slice.kinds.iter().map(|kind| kind.committed).sum::<u64>();
    let is_cut = covered_s + EDGE_S < trial.measured_s;
    let missing = if is_cut { slices().map(of_slice).max().unwrap_or(0) as f64 } else { 0.0 };
    (covered_s > 0.0 && (differs > margin || (is_whole && -differs > margin + missing))).then(|| {
        format!(
            "the rate is that of {} calls committed, and the slices hold {}",
            figures::count(committed.round() as u64),
            figures::count(in_slices)
        )
    })
}

/// Audits, ledger, inputs and conformance.
pub(super) fn audit(trial: &Trial) -> Option<Rule> {
    let failures = findings::failures(trial);
    if !failures.is_empty() {
        let what: Vec<&str> = failures.iter().take(3).map(|failure| failure.what.as_str()).collect();
        let more = match failures.len() - what.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        // Sessions of other programs are sampled.
        let sampled = trial.engine.as_ref().and_then(|engine| engine.other_sessions.as_ref());
        let advice = match sampled {
            Some(others) if others.is_empty() => {
                "find out what broke the data or the answers before measuring again: the system under test, or another program whose \
                 session was too short to be sampled"
            }
            _ => "find out what broke the data or the answers before measuring again",
        };
        return bad(format!("failed: {}{more}: result invalid", what.join("; ")), advice);
    }
    let missing = not_made(trial);
    if missing.is_empty() {
        let audits = trial.audits.iter().map(|audit| audit.check);
        let checks = audits.chain(trial.ledger.iter().map(|ledger| ledger.check));
        let checks = checks.chain(trial.inputs.iter().map(|input| input.check));
        return fine(format!("stored data matches all acknowledged calls: {}", findings::passed_of(checks)));
    }
    let unverified = if trial.is_unverified() { format!("{UNVERIFIED}: ") } else { String::new() };
    warning(
        format!("{unverified}not checked: {}; correctness is unverified", listed(&missing)),
        "pass --db, with the right to create databases",
    )
}

fn not_made(trial: &Trial) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let mut after = trial.audits.iter().filter(|audit| audit.is_of_data_after_run()).peekable();
    let none_after = after.peek().is_none();
    if none_after || after.any(|audit| audit.check == Check::NotRun) {
        missing.push("the stored data after the run");
    }
    let before = trial.audits.iter().filter(|audit| audit.when == AuditWhen::BeforeRun);
    if before.into_iter().any(|audit| audit.check == Check::NotRun) {
        missing.push("the stored data before the run");
    }
    if trial.ledger.is_empty() || trial.ledger.iter().any(|ledger| ledger.check == Check::NotRun) {
        missing.push("acknowledged calls against the stored data");
    }
    if trial.inputs.is_empty() || trial.inputs.iter().any(|input| input.check == Check::NotRun) {
        missing.push("what was sent");
    }
    if trial.conformance.check == Check::NotRun {
        missing.push("the answers on tiny data");
    }
    missing
}

/// How the calls ended.
pub(super) fn outcome_mix(trial: &Trial) -> Option<Rule> {
    let call_counts = trial.overall.call_counts;
    if call_counts.due == 0 {
        return None;
    }
    let mut beyond =
        trial.kinds.iter().filter(|kind| kind.declined_max > 0.0 && kind.declined_beyond_plan() > 0);
    if let Some(kind) = beyond.next() {
        let call_counts = kind.tally.call_counts;
        return bad(
            format!(
                "{} of {} were declined, and the workload plans for {} at most: the calls were not done",
                figures::percent(share(call_counts.declined, call_counts.started)),
                kind.name,
                figures::percent(kind.declined_max)
            ),
            "correct the server that declines them, and run again",
        );
    }
    if let Some(kind) = trial.kinds.iter().find(|kind| is_left_out(kind, trial)) {
        let call_counts = kind.tally.call_counts;
        return bad(
            format!(
                "{} of the calls of {} did not complete, but only {} of all others: the throughput is that of another mix",
                figures::percent(share(left_out(&call_counts), call_counts.started)),
                kind.name,
                figures::percent(share_of_others(kind, trial).unwrap_or(0.0))
            ),
            "see the call accounting and the server's log, correct the server, and run again",
        );
    }
    let unplanned: u64 = trial
        .kinds
        .iter()
        .filter(|kind| kind.declined_max <= 0.0)
        .map(|kind| kind.tally.call_counts.declined)
        .sum();
    let mut odd = Vec::new();
    if share(unplanned, call_counts.started) > UNPLANNED_MAX {
        odd.push(format!(
            "{} of the calls were declined though the workload does not plan for it",
            figures::percent(share(unplanned, call_counts.started))
        ));
    }
    if share(call_counts.faults(), call_counts.started) > FAULTS_MAX {
        odd.push(format!(
            "{} of the calls did not complete (conflict {}, refused {}, in doubt {}, defect {})",
            figures::percent(share(call_counts.faults(), call_counts.started)),
            figures::count(call_counts.conflict),
            figures::count(call_counts.refused),
            figures::count(call_counts.in_doubt),
            figures::count(call_counts.defect),
        ));
    }
    odd.extend(trial.kinds.iter().filter(|kind| is_uneven(kind, trial)).map(|kind| {
        let call_counts = kind.tally.call_counts;
        let failed = figures::percent(share(left_out(&call_counts), call_counts.started));
        format!(
            "{failed} of the calls of {} did not complete, over {UNEVEN:.0} times as many as of others",
            kind.name
        )
    }));
    if share(call_counts.dropped, call_counts.due) > NEVER_BEGUN_MAX {
        odd.push(format!(
            "{} of the calls that were due were dropped",
            figures::percent(share(call_counts.dropped, call_counts.due))
        ));
    }
    if !odd.is_empty() {
        return warning(
            format!("{}: throughput and latency exclude them", listed(&odd)),
            "see the call accounting, and compare only results with the same mix of outcomes",
        );
    }
    let planned: Vec<String> = trial
        .kinds
        .iter()
        .filter(|kind| kind.declined_max > 0.0)
        .map(|kind| {
            let call_counts = kind.tally.call_counts;
            format!("{} of {}", figures::percent(share(call_counts.declined, call_counts.started)), kind.name)
        })
        .collect();
    let sentence = match (planned.is_empty(), unplanned) {
        (true, 0) => "no call was declined".to_owned(),
        (false, 0) => format!("declined {}, which the workload plans for; nothing else", listed(&planned)),
        (_, more) => {
            format!("{} calls were declined that the workload does not plan for", figures::count(more))
        }
    };
    if unplanned == 0 { fine(sentence) } else { note(sentence) }
}

/// Whether most calls of a kind did not complete while most others did. An overload or an engine that is away fails calls of all kinds.
fn is_left_out(kind: &KindTally, trial: &Trial) -> bool {
    let call_counts = kind.tally.call_counts;
    call_counts.started >= LEFT_OUT_CALLS
        && share(left_out(&call_counts), call_counts.started) > LEFT_OUT_MIN
        && share_of_others(kind, trial).is_some_and(|others| others < LEFT_OUT_MIN / 2.0)
}

/// Whether calls of a kind fail much more often than others, be they few of all calls.
fn is_uneven(kind: &KindTally, trial: &Trial) -> bool {
    let call_counts = kind.tally.call_counts;
    let own = share(left_out(&call_counts), call_counts.started);
    call_counts.started >= UNEVEN_CALLS
        && own > FAULTS_MAX
        && share_of_others(kind, trial).is_some_and(|others| own > UNEVEN * others)
}

/// Calls that did not complete, but for those that met a conflict: rows that clients share may be in one kind alone.
fn left_out(call_counts: &CallCounts) -> u64 {
    call_counts.faults().saturating_sub(call_counts.conflict)
}

/// The share of calls of all other kinds that did not complete; nothing where there are too few of them.
fn share_of_others(kind: &KindTally, trial: &Trial) -> Option<f64> {
    let others = trial.kinds.iter().filter(|other| other.name != kind.name);
    let counts = others.map(|other| (left_out(&other.tally.call_counts), other.tally.call_counts.started));
    let (faults, started) = counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    (started >= LEFT_OUT_CALLS).then(|| share(faults, started))
}

/// Whether what was still on its way at the end of the load arrived before the audits.
pub(super) fn settled(trial: &Trial) -> Option<Rule> {
    let Settled { pending_first, pending_last, duration_s, max_s, ref settlement } =
        *trial.settled.as_ref()?;
    if pending_first == 0 {
        return fine("nothing was pending when the load ended");
    }
    let first =
        format!("{} acknowledged results were pending when the load ended", figures::count(pending_first));
    let took = figures::seconds(duration_s);
    let accepted = settlement.as_ref().map_or(0, |settlement| settlement.times.count);
    let is_late = accepted > 0 && pending_first as f64 > LEFT_MAX * accepted as f64;
    if pending_last == 0 && is_late {
        // The relay waits for its turn like everyone who writes, and calls follow each other.
        let writer = if trial.stack.engine == "sqlite" {
            ": SQLite has one writer, and the calls left the relay few turns"
        } else {
            ""
        };
        return warning(
            format!("{first}, of {} accepted in the window{writer}", figures::count(accepted)),
            "throughput excludes most of the cost of settling: reduce the load (`--rate`) and run again",
        );
    }
    if pending_last == 0 {
        return fine(format!("{first}; the last arrived {took} later"));
    }
    let left = figures::count(pending_last);
    bad(
        format!(
            "{first}, and {left} of them had not arrived {took} later (the limit is {})",
            figures::seconds(max_s)
        ),
        "what was promised may be lost, or what delivers it is slower than the load: look at that, or offer less",
    )
}
#[cfg(test)]
mod tests {
    use super::super::tests::after;
    use super::*;
    use crate::curve::served_share;
    use result::Severity::{Bad, Warning};
    use result::{Quantiles, Settlement};

    /// A server that declines everything it may does nothing.
    fn decline_all(trial: &mut Trial) {
        let call_counts = &mut trial.kinds[0].tally.call_counts;
        let committed = std::mem::take(&mut call_counts.committed);
        call_counts.declined += committed;
        trial.overall.call_counts.declined += committed;
        trial.overall.call_counts.committed -= committed;
    }

    #[test]
    fn orders_that_are_all_declined_are_no_result_and_not_served() {
        let words = "100.0 % of new-order were declined, and the workload plans for 5.0 % at most";
        after(decline_all, "outcome-mix", Bad, words);
        let planned = |trial: &mut Trial| {
            decline_all(trial);
            trial.kinds[0].declined_max = 1.0;
        };
        after(planned, "outcome-mix", result::Severity::Ok, "which the workload plans for");
        let mut trial = sample_documents::open_trial().trials.remove(0);
        let before = served_share(&trial);
        decline_all(&mut trial);
        assert!(served_share(&trial) < before - 0.2, "{before} {}", served_share(&trial));
    }

    /// Moves most calls of the first kind to another count.
    fn fail_first(trial: &mut Trial, into: fn(&mut CallCounts) -> &mut u64) {
        let kind = &mut trial.kinds[0].tally.call_counts;
        let failed = kind.committed * 9 / 10;
        for counts in [kind, &mut trial.overall.call_counts] {
            counts.committed -= failed;
            *into(counts) += failed;
        }
    }

    #[test]
    fn one_kind_that_fails_alone_leaves_another_mix() {
        let words = "calls of new-order did not complete, but only";
        after(|trial| fail_first(trial, |counts| &mut counts.refused), "outcome-mix", Bad, words);
        // A rare kind that fails now and then hardly shows in all calls together.
        let seldom = |trial: &mut Trial| {
            let kind = &mut trial.kinds[2].tally.call_counts;
            let failed = kind.committed / 20;
            for counts in [kind, &mut trial.overall.call_counts] {
                counts.committed -= failed;
                counts.refused += failed;
            }
        };
        after(seldom, "outcome-mix", Warning, "did not complete, over 5 times as many as of others");
        // A conflict is of rows that clients share.
        let conflicts = |trial: &mut Trial| fail_first(trial, |counts| &mut counts.conflict);
        after(conflicts, "outcome-mix", Warning, "of the calls did not complete");
        // Where all calls are of one kind nothing is left out.
        let alone = |trial: &mut Trial| {
            trial.kinds.truncate(1);
            trial.overall.call_counts = trial.kinds[0].tally.call_counts;
            fail_first(trial, |counts| &mut counts.refused);
        };
        after(alone, "outcome-mix", Warning, "of the calls did not complete");
    }

    #[test]
    fn a_load_whose_results_are_settled_only_after_it_is_warned_of() {
        let settled = |pending_first: u64| {
            move |trial: &mut Trial| {
                let settlement = Some(Settlement {
                    kind: "cross-transfer".into(),
                    times: Quantiles::new(849, 5e8, 1_200_000_000, |_| 500_000_000),
                    undone: 0,
                    backlog: vec![pending_first],
                });
                trial.settled = Some(Settled {
                    pending_first,
                    pending_last: 0,
                    duration_s: 1.2,
                    max_s: 60.0,
                    settlement,
                });
            }
        };
        let words = "805 acknowledged results were pending when the load ended, of 849 accepted";
        after(settled(805), "settled", Warning, &format!("{words} in the window: SQLite has one writer"));
        let on_postgres = |trial: &mut Trial| {
            settled(805)(trial);
            trial.stack.engine = "postgres".into();
        };
        after(on_postgres, "settled", Warning, &format!("{words} in the window"));
        after(settled(8), "settled", result::Severity::Ok, "the last arrived 1.2 s later");
    }
}
