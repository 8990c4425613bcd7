//! What the server says of its work, against what the engine itself has counted meanwhile.

use super::setting::in_memory;
use super::{fine, warning};
use crate::figures::count;
use result::{Engine, Rule, Tier, Trial};

/// Writing calls from which on counts mean something.
const WRITES_MIN: u64 = 200;
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
    if claimed.writes < WRITES_MIN || trial.measured_s <= LATE_S || engine.missing_s > 0.0 {
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
    // One that reports no work makes a commit for each call that changes something, all the same.
    held("commits", claimed.commits.max(claimed.writes as f64), commits);
    held("statements", claimed.statements, statements);
    let is_durable = trial.stack.durability.tier == Tier::Durable && !in_memory(trial);
    // None at all: a log that is opened to be written through is not flushed by calls that are counted.
    if let Some(counted) = flushes.filter(|counted| is_durable && *counted > 0.0) {
        // All clients at once may share one flush, and no call of the next one can.
        match claimed.writes as f64 > at_most(counted) * f64::from(trial.plan.clients.max(1)) {
            true => wrong.push(format!(
                "calls are said to be durable, and the log was flushed {} times for {} writing calls, of which {} at most can share a flush",
                whole(counted),
                count(claimed.writes),
                trial.plan.clients
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
    fine(format!("for {} writing calls the engine counted {}", count(claimed.writes), super::listed(&seen)))
}

/// Of PostgreSQL. MariaDB counts the statement `commit`, which a call of one statement need not have; and where calls share a commit
/// of the engine each of them reports one.
fn commits(trial: &Trial, engine: &Engine) -> Option<f64> {
    (trial.stack.engine == "postgres" && trial.grouping.is_none()).then_some(())?;
    engine.gauge("commits")?.total
}

fn whole(number: f64) -> String {
    count(number.round() as u64)
}

/// What was acknowledged, and what the server says that it took.
struct Claimed {
    /// Committed calls that have changed something.
    writes: u64,
    commits: f64,
    statements: f64,
}

impl Claimed {
    fn of(trial: &Trial) -> Claimed {
        let mut claimed = Claimed { writes: 0, commits: 0.0, statements: 0.0 };
        for kind in &trial.kinds {
            let counts = &kind.tally.call_counts;
            if kind.writes {
                claimed.writes += counts.committed;
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
        let mut grouped = counting("postgres", &[("commits", 0.3)]);
        grouped.grouping = Some(result::Grouping { calls: 300, commits: 100 });
        is_silent("engine-counts", &grouped);
        // Calls of several clients in one transaction, by a server that says nothing of its work.
        let mut silent = counting("postgres", &[("commits", 0.5)]);
        silent.kinds.iter_mut().for_each(|kind| kind.tally.work = None);
        check("engine-counts", &silent, Warning, says);
        // Those of single statements are none of MariaDB's count.
        is_silent("engine-counts", &counting("mariadb", &[("commits", 0.1)]));
    }

    #[test]
    fn flushes_that_are_too_few_for_durable_calls_are_noticed() {
        let mut trial = counting("postgres", &[("commits", 3.0), ("wal syncs", 0.001)]);
        trial.plan.clients = 8;
        check("engine-counts", &trial, Warning, "calls are said to be durable, and the log was flushed");
        // All clients may share each flush.
        let mut shared = trial.clone();
        shared.plan.clients = 1_024;
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
