//! What an audit asks, what it is answered, and how all are asked side by side: the same for every engine.

use crate::engine::{Auditors, Canceller, Rows, cancel};
use crate::error::Cause;
use measure::Monotonic;
use model::{Clock, Nanos};
use sql::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Queries that share a connection because they share temporary tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditGroup {
    /// Statements that make the temporary tables, in order.
    pub prepare: Vec<String>,
    pub queries: Vec<AuditQuery>,
    /// Values of ?1, ?2, … in all of them; a statement may use fewer.
    pub params: Vec<i64>,
}

/// A query of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    pub name: String,
    pub sql: String,
    /// Rows after which it is cut short: a broken database can violate a condition millions of times.
    pub rows_max: usize,
}

/// What a query gave.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRows {
    pub name: String,
    /// The rows, or why there are none, as a clause: a table that is not there, the deadline.
    pub rows: Result<Vec<Vec<Value>>, String>,
    /// How long it took. Preparing counts towards the first query of a group.
    pub took: Nanos,
}

/// What all queries gave, in the order in which they were asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    /// One for each query.
    pub rows: Vec<AuditRows>,
    /// From the first to the last.
    pub took: Nanos,
}

/// Audits as they are asked: what all groups share.
pub(crate) struct Asking<'a> {
    clock: &'a Monotonic,
    gave_up: &'a AtomicBool,
}

/// Said of what was not answered.
const UNFINISHED: &str = "not finished in time, or stopped";

impl Asking<'_> {
    fn clause(&self, cause: &Cause) -> String {
        if self.gave_up.load(Ordering::Relaxed) { UNFINISHED.to_owned() } else { cause.to_string() }
    }

    /// Asks the queries of a group of whatever `prepare` makes: a transaction, or nothing. A query that cannot run takes only
    /// itself along; what cannot be prepared takes all.
    pub(crate) fn group<T>(
        &self,
        group: &AuditGroup,
        prepare: impl FnOnce() -> Result<T, Cause>,
        mut ask: impl FnMut(&mut T, &AuditQuery) -> Result<Rows, Cause>,
    ) -> Vec<AuditRows> {
        let mut since = self.clock.now();
        let mut prepared = prepare().map_err(|cause| self.clause(&cause));
        let answer = |query: &AuditQuery| {
            let rows = match &mut prepared {
                Ok(_) if self.gave_up.load(Ordering::Relaxed) => Err(UNFINISHED.to_owned()),
                Ok(prepared) => ask(prepared, query).map_err(|cause| self.clause(&cause)),
                Err(clause) => Err(clause.clone()),
            };
            let now = self.clock.now();
            let took = now - std::mem::replace(&mut since, now);
            AuditRows { name: query.name.clone(), rows, took }
        };
        group.queries.iter().map(answer).collect()
    }
}

/// Runs every group on one of `auditors`, up to `threads` at a time, and stops at `deadline` (a span from now) or when
/// `stop` is set.
pub(crate) fn audit_all(
    auditors: Auditors,
    groups: &[AuditGroup],
    threads: usize,
    deadline: Nanos,
    stop: &AtomicBool,
) -> Audited {
    let clock = Monotonic::start();
    let Auditors { conns, guard } = auditors;
    let cancellers: Vec<Canceller> = conns.iter().map(|conn| conn.canceller()).collect();
    // Some engines need a connection a group; otherwise each thread has one.
    let one_each = conns.len() == groups.len();
    let conns: Vec<_> = conns.into_iter().map(Mutex::new).collect();
    let results: Mutex<Vec<(usize, Vec<AuditRows>)>> = Mutex::default();
    let (next, gave_up) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (ending, ended) = crossbeam_channel::bounded::<()>(0);
        for thread in 0..threads.clamp(1, conns.len().max(1)) {
            let ending = ending.clone();
            let (conns, results, next) = (&conns, &results, &next);
            let asking = Asking { clock: &clock, gave_up: &gave_up };
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(group) = groups.get(number) else { break };
                    let conn = &conns[if one_each { number } else { thread }];
                    let found = conn.lock().expect("no holder panics").audit(group, &asking);
                    results.lock().expect("no holder panics").push((number, found));
                }
                drop(ending);
            });
        }
        drop(ending);
        // Nothing is ever sent: the channel closes when the last thread ends.
        while ended.recv_timeout(Duration::from_millis(20))
            == Err(crossbeam_channel::RecvTimeoutError::Timeout)
        {
            if stop.load(Ordering::Relaxed) || clock.now() > deadline {
                gave_up.store(true, Ordering::Relaxed);
                cancel(&cancellers);
            }
        }
    });
    drop(guard);
    let mut results = results.into_inner().expect("no holder panics");
    results.sort_by_key(|(number, _)| *number);
    Audited { rows: results.into_iter().flat_map(|(_, found)| found).collect(), took: clock.now() }
}
