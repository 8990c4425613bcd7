//! What the server says of its work, against what the engine itself has counted meanwhile.

use super::setting::in_memory;
use super::{fine, warning};
use crate::figures::count;
use result::{Class, Engine, Rule, Tier, Trial};

/// Calls, or writing calls, from which on counts mean something.
const CALLS_MIN: u64 = 200;
/// How many times as many calls as on average may be under way at a flush.
const BURST: f64 = 4.0;
/// Seconds by which an engine's counts may be late: PostgreSQL's sessions report what they have done once a second.
const LATE_S: f64 = 2.0;

/// Speaks where the engine counts.
pub(super) fn engine_counts(trial: &Trial) -> Option<Rule> {
    let engine = trial.engine.as_ref()?;
    // Of several nodes that got calls one was asked.
    let nodes = trial.stack.settings.iter().find(|setting| setting.name == "stackmark.writers");
    if nodes.is_some_and(|nodes| nodes.value != "1") {
        return None;
    }
    let claimed = Claimed::of(trial);
    // One that was away may have begun to count anew.
    if claimed.calls < CALLS_MIN || trial.measured_s <= LATE_S || engine.missing_s > 0.0 {
        return None;
    }
    let (commits, statements) =
        (commits(trial, engine), engine.gauge("statements").and_then(|gauge| gauge.total));
    let flushes = ["wal syncs", "log syncs"].iter().find_map(|name| engine.gauge(name)?.total);
    // Calls at both ends of the interval, and what is reported late.
    let at_most = |counted: f64| counted * (1.0 + LATE_S / trial.measured_s) + f64::from(trial.plan.clients);
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    let mut held = |what: &str, reported: f64, counted: Option<f64>| {
        let Some(counted) = counted else { return };
        match reported > at_most(counted) {
            true => wrong.push(format!(
                "calls account for {} {what}, and the engine counted {}",
                whole(reported),
                whole(counted)
            )),
            false => seen.push(format!("{} {what}", whole(counted))),
        }
    };
    // One that reports no work makes a commit for each call that changes something, all the same. Calls that share a commit report one
    // each; no more of them can share it than there are clients.
    let shared = trial.grouping.map_or(0, |grouping| grouping.calls.saturating_sub(grouping.commits));
    let least = claimed.writes as f64 / f64::from(trial.plan.clients.max(1));
    held("commits", (claimed.commits.max(claimed.writes as f64) - shared as f64).max(least), commits);
    // A call that only reads has a transaction too, or a statement; one that is acknowledged before it is done has none yet.
    if !trial.plan.deferred {
        let rollbacks = engine.gauge("rollbacks").and_then(|gauge| gauge.total).unwrap_or(0.0);
        held(
            "transactions",
            claimed.calls.saturating_sub(shared) as f64,
            commits.map(|commits| commits + rollbacks),
        );
        held("statements", claimed.statements.max(claimed.calls as f64), statements);
    }
    let is_durable = trial.stack.durability.tier == Tier::Durable && !in_memory(trial);
    // None at all: a log that is opened to be written through is not flushed by calls that are counted.
    let is_held_to_flushes = is_durable && claimed.writes >= CALLS_MIN;
    if let Some(counted) = flushes.filter(|counted| is_held_to_flushes && *counted > 0.0) {
        // All writing calls under way may share one flush, and no call of the next one can; in bursts there are more than on average.
        let sharing = (BURST * (1.0 + claimed.under_way)).min(f64::from(trial.plan.clients.max(1)));
        match claimed.writes as f64 > at_most(counted) * sharing {
            true => wrong.push(format!(
                "calls are said to be durable, and the log was flushed {} times for {} writing calls, of which {} at most can share a flush",
                whole(counted),
                count(claimed.writes),
                whole(sharing)
            )),
            false => seen.push(format!("{} flushes of the log", whole(counted))),
        }
    }
    if !wrong.is_empty() {
        return warning(
            wrong.join("; "),
            "check the header `stackmark-work` of the server, and which durability its sessions ask for (synchronous_commit, \
             innodb_flush_log_at_trx_commit)",
        );
    }
    if seen.is_empty() {
        return None;
    }
    fine(format!("for {} calls the engine counted {}", count(claimed.calls), super::listed(&seen)))
}

/// Of PostgreSQL. MariaDB counts the statement `commit`, which a call of one statement need not have.
fn commits(trial: &Trial, engine: &Engine) -> Option<f64> {
    (trial.stack.engine == "postgres").then(|| engine.gauge("commits")?.total)?
}

fn whole(number: f64) -> String {
    count(number.round() as u64)
}

/// What was acknowledged, and what the server says that it took.
#[derive(Default)]
struct Claimed {
    /// Committed calls.
    calls: u64,
    /// Those that have changed something.
    writes: u64,
    /// Of these so many are under way at any moment, on average: their rate times their time (Little's law).
    under_way: f64,
    commits: f64,
    statements: f64,
}

impl Claimed {
    fn of(trial: &Trial) -> Claimed {
        let mut claimed = Claimed::default();
        for kind in &trial.kinds {
            let counts = &kind.tally.call_counts;
            claimed.calls += counts.committed;
            if kind.writes {
                claimed.writes += counts.committed;
                let mean_ns = kind
                    .tally
                    .latency(Class::Committed)
                    .map_or(0.0, |latency| latency.service.unwrap_or(latency.response).mean_ns);
                claimed.under_way += counts.committed as f64 * mean_ns / 1e9 / trial.measured_s;
            }
            let Some(work) = &kind.tally.work else { continue };
            claimed.commits += counts.committed as f64 * work.commits;
            claimed.statements += counts.committed as f64 * work.statements;
        }
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, counter, direct, is_silent};
    use super::*;
    use result::Severity::{Ok as Fine, Warning};

    /// A trial on an engine with these counts, each as a share of its writing calls.
    fn counting(engine: &str, counts: &[(&str, f64)]) -> Trial {
        let mut trial = direct();
        trial.stack.engine = engine.to_owned();
        trial.stack.durability.tier = Tier::Durable;
        trial.data.file_system = Some("ext4".to_owned());
        for kind in &mut trial.kinds {
            kind.writes = kind.name == "new-order" || kind.name == "payment";
        }
        let writes = Claimed::of(&trial).writes as f64;
        let gauges = counts.iter().map(|(name, share)| counter(name, Some(share * writes), Vec::new()));
        trial.engine = Some(Engine { gauges: gauges.collect(), ..Engine::default() });
        trial
    }

    #[test]
    fn counts_that_fit_are_named() {
        let trial = counting("postgres", &[("commits", 3.0), ("wal syncs", 0.4)]);
        check("engine-counts", &trial, Fine, "flushes of the log");
        check("engine-counts", &counting("mariadb", &[("statements", 60.0)]), Fine, "statements");
        is_silent("engine-counts", &direct());
        is_silent("engine-counts", &counting("postgres", &[]));
        // One node of three has executed a third.
        let mut of_one_node = counting("mariadb", &[("statements", 3.0)]);
        let nodes = result::Setting { name: "stackmark.writers".to_owned(), value: "3".to_owned() };
        of_one_node.stack.settings.push(nodes);
        is_silent("engine-counts", &of_one_node);
        of_one_node.stack.settings.last_mut().unwrap().value = "1".to_owned();
        check("engine-counts", &of_one_node, Warning, "statements, and the engine counted");
        let mut away = trial;
        away.engine.as_mut().unwrap().missing_s = 1.0;
        is_silent("engine-counts", &away);
    }

    #[test]
    fn commits_that_the_engine_has_not_seen_are_noticed() {
        let says = "commits, and the engine counted";
        check("engine-counts", &counting("postgres", &[("commits", 0.9)]), Warning, says);
        // Calls that share a commit of the engine report one each.
        let mut grouped = counting("postgres", &[("commits", 0.45)]);
        grouped.kinds.iter_mut().for_each(|kind| kind.tally.work = None);
        grouped.plan.clients = 8;
        let writes = Claimed::of(&grouped).writes;
        grouped.grouping = Some(result::Grouping { calls: writes, commits: writes / 4 });
        check("engine-counts", &grouped, Fine, "commits");
        grouped.grouping = Some(result::Grouping { calls: writes / 2, commits: writes / 8 });
        check("engine-counts", &grouped, Warning, says);
        // As many calls as there are clients share a commit, at most.
        let mut bundled = counting("postgres", &[("commits", 0.05)]);
        bundled.plan.clients = 8;
        bundled.grouping = Some(result::Grouping { calls: writes, commits: 1 });
        check("engine-counts", &bundled, Warning, says);
        // Calls of several clients in one transaction, by a server that says nothing of its work.
        let mut silent = counting("postgres", &[("commits", 0.5)]);
        silent.kinds.iter_mut().for_each(|kind| kind.tally.work = None);
        check("engine-counts", &silent, Warning, says);
        // Calls that read are not answered without the engine either, whatever the server says.
        let mut reading = counting("postgres", &[("commits", 0.5)]);
        reading.kinds.iter_mut().for_each(|kind| {
            kind.writes = false;
            kind.tally.work = None;
        });
        check("engine-counts", &reading, Warning, "transactions, and the engine counted");
        reading.engine = counting("postgres", &[("commits", 0.5), ("rollbacks", 1.0)]).engine;
        check("engine-counts", &reading, Fine, "transactions");
        // Those of single statements are none of MariaDB's count.
        is_silent("engine-counts", &counting("mariadb", &[("commits", 0.1)]));
    }

    #[test]
    fn flushes_that_are_too_few_for_durable_calls_are_noticed() {
        let mut trial = counting("postgres", &[("commits", 3.0), ("wal syncs", 0.001)]);
        trial.plan.clients = 8;
        check("engine-counts", &trial, Warning, "calls are said to be durable, and the log was flushed");
        // All calls that are under way may share each flush; most of these clients wait for their next call.
        let mut shared = trial.clone();
        shared.plan.clients = 1_024;
        check("engine-counts", &shared, Warning, "can share a flush");
        let latencies = shared.kinds.iter_mut().flat_map(|kind| &mut kind.tally.latency);
        latencies.for_each(|latency| {
            latency.response.mean_ns *= 1_000.0;
            latency.service = None;
        });
        check("engine-counts", &shared, Fine, "flushes of the log");
        for tier in [Tier::Delayed, Tier::Unknown] {
            trial.stack.durability.tier = tier;
            check("engine-counts", &trial, Fine, "commits");
        }
        // A log that is written through is flushed without being counted.
        is_silent("engine-counts", &counting("mariadb", &[("log syncs", 0.0)]));
        let mut in_memory = counting("mariadb", &[("log syncs", 0.001)]);
        in_memory.data.file_system = Some("tmpfs (memory)".to_owned());
        is_silent("engine-counts", &in_memory);
    }

    #[test]
    fn statements_that_the_engine_has_not_seen_are_noticed() {
        let says = "statements, and the engine counted";
        check("engine-counts", &counting("mariadb", &[("statements", 0.5)]), Warning, says);
        check("engine-counts", &counting("mariadb", &[("statements", 1_000.0)]), Fine, "statements");
    }
}
