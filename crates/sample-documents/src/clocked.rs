//! Calls with a clock around each statement, as the samples have them.

use result::{Budget, Clocked, Facet, Quantiles, StatementTime};

/// What sets the parts of a kind apart that are shown apart, with the calls of each in ten.
const PARTS: [(&str, u64); 2] = [("by id", 4), ("by last name", 6)];

/// One in 64 of `calls` calls that went as `budget` says: `statements` of them, a third of the time each, and logic.
pub(super) fn clocked(calls: u64, budget: &Budget, statements: [(&str, u64); 3]) -> Clocked {
    let calls = calls / 64;
    let in_each = budget.statements_ns * 0.32;
    let statement = |(name, times): (&str, u64)| StatementTime {
        name: name.to_owned(),
        executions: times * calls,
        mean_ns: in_each / times as f64,
    };
    Clocked {
        calls,
        service_ns: budget.response_ns - budget.client_wait_ns - budget.wake_up_ns,
        server_queue_ns: budget.server_queue_ns,
        pool_wait_ns: budget.pool_wait_ns,
        begin_ns: budget.begin_ns,
        statements: statements.map(statement).into(),
        logic_ns: budget.statements_ns - 3.0 * in_each,
        commit_ns: budget.commit_ns,
        encode_ns: budget.encode_ns,
    }
}

/// The parts of a kind, whose calls all went as those of the kind.
pub(super) fn facets(
    calls: u64,
    quantiles: impl Fn(u64) -> Quantiles,
    budget: Budget,
    clocked: impl Fn(u64) -> Clocked,
) -> Vec<Facet> {
    let by_id = calls * PARTS[0].1 / 10;
    let part = |(count, (name, _)): (u64, (&str, u64))| Facet {
        name: name.to_owned(),
        response: quantiles(count),
        budget: Some(budget),
        clocked: Some(clocked(count)),
    };
    [by_id, calls - by_id].into_iter().zip(PARTS).map(part).collect()
}
