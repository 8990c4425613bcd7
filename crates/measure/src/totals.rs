//! What is added up over calls, in a page as in a whole trial.

use crate::page::Entry;
use crate::{CallCounts, Class, ClockedSums, FacetTotals, Latencies, Moments, StageTotals};
use model::{CallWork, Facet, Kind, Nanos};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Which times of a call are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimesKept {
    /// Response only: the caller begins a call when it is due, so service is the same.
    Response,
    /// Response and service: in an open loop a call may wait for a worker.
    ResponseAndService,
}

/// Latencies of one class of calls, by the two times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// From due to ended.
    pub response: Latencies,
    /// From begun to ended, where it is kept apart; otherwise it is the response.
    pub service: Option<Latencies>,
}

/// Sums over the committed calls of a kind, for means and for the time budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSums {
    /// Calls in these sums.
    pub calls: u64,
    pub attempts: u64,
    pub statements: u64,
    /// Rows read or changed.
    pub rows: u64,
    pub commits: u64,
    /// Those of them that could share a commit of the engine.
    pub grouped: u64,
    /// The commits of the engine that made those durable.
    pub groups: u64,
    /// Bytes of HTTP requests.
    pub sent_bytes: u64,
    /// Bytes of the answers to them.
    pub received_bytes: u64,
    /// Response time: client wait and service.
    pub response: Nanos,
    /// Waiting for a worker of the generator that was busy with other calls: due to free.
    pub client_wait: Nanos,
    /// Waiting for a worker that was free to wake up: the generator's own lateness.
    pub wake_up: Nanos,
    /// Service time: begun to ended. Holds the parts below; what they leave is the remainder.
    pub service: Nanos,
    /// Waiting for a session in the server.
    pub queue: Nanos,
    /// Waiting for a connection or a write lane.
    pub pool: Nanos,
    pub begin: Nanos,
    /// Statements and the logic between them.
    pub statements_time: Nanos,
    pub commit: Nanos,
    /// Decoding and encoding in the server.
    pub encode: Nanos,
    /// The server's own total, zero on the direct route. Contains the six parts above.
    pub server: Nanos,
}

/// Everything added up over the calls of a kind that were due in the window, and what ended in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KindTotals {
    /// What ended in the window, whenever it was due: throughput, and nothing else is.
    pub ended: EndedCalls,
    pub call_counts: CallCounts,
    /// What the committed ones took.
    pub work: WorkSums,
    /// What those of them took that had a clock around each statement.
    pub clocked: ClockedSums,
    /// Times of the committed ones.
    pub committed: Times,
    /// Times of the declined ones, for kinds that decline by plan.
    pub declined: Option<Times>,
}

/// How many calls waited for a worker when the window opened and when it closed, and how many began in between. With
/// the calls that were due in the window, `backlog_before + due = started + backlog_after`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Due before the window, and not begun before it.
    pub backlog_before: u64,
    /// Begun within the window, whenever they were due.
    pub started: u64,
    /// Due before the window closed, and not begun before it did.
    pub backlog_after: u64,
}

/// Everything added up over the calls that were due in the window, and what began and ended in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Totals {
    /// By kind, in the workload's order.
    pub kinds: Vec<KindTotals>,
    /// By part of a kind that is shown apart, in the workload's order.
    pub facets: Vec<FacetTotals>,
    /// Response times of all faults of all kinds.
    pub faults: Latencies,
    /// Times to put a call into the queue, for kinds whose execution is deferred.
    pub queueing: Option<Latencies>,
    /// Due and dropped; they have no kind, because their inputs were never drawn.
    pub dropped: u64,
    /// What waited for a worker.
    pub backlog: Backlog,
    /// By stage of the window; empty where it has none.
    pub stages: Vec<StageTotals>,
}

/// Calls of a kind that ended in a slice, whenever they were due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedCalls {
    pub committed: u64,
    pub declined: u64,
    /// Conflict, refused, in doubt or defect.
    pub faults: u64,
}

impl EndedCalls {
    /// However they ended.
    pub fn all(&self) -> u64 {
        self.committed + self.declined + self.faults
    }
}

impl Times {
    fn new(kept: TimesKept) -> Times {
        let service = match kept {
            TimesKept::Response => None,
            TimesKept::ResponseAndService => Some(Latencies::new()),
        };
        Times { response: Latencies::new(), service }
    }

    /// Service times; the response times where both are the same.
    pub fn service(&self) -> &Latencies {
        self.service.as_ref().unwrap_or(&self.response)
    }

    #[inline]
    fn record(&mut self, moments: Moments) {
        self.response.record(moments.response());
        if let Some(service) = &mut self.service {
            service.record(moments.service());
        }
    }

    fn absorb(&mut self, other: &Times) {
        self.response.absorb(&other.response);
        absorb_optional(self.service.as_mut(), other.service.as_ref());
    }

    fn clear(&mut self) {
        self.response.clear();
        if let Some(service) = &mut self.service {
            service.clear();
        }
    }
}

fn absorb_optional(mine: Option<&mut Latencies>, theirs: Option<&Latencies>) {
    if let (Some(mine), Some(theirs)) = (mine, theirs) {
        mine.absorb(theirs);
    }
}

impl WorkSums {
    #[inline]
    pub(crate) fn enter(&mut self, moments: Moments, work: &CallWork) {
        self.calls += 1;
        self.attempts += u64::from(work.attempts);
        self.statements += u64::from(work.statements);
        self.rows += u64::from(work.rows);
        self.commits += u64::from(work.commits);
        self.grouped += u64::from(work.grouped);
        self.groups += u64::from(work.groups);
        self.sent_bytes += u64::from(work.sent_bytes);
        self.received_bytes += u64::from(work.received_bytes);
        self.response += moments.response();
        let wake_up = moments.wake_up();
        self.client_wait += moments.started - moments.due - wake_up;
        self.wake_up += wake_up;
        self.service += moments.service();
        self.queue += work.spent.queue;
        self.pool += work.spent.pool;
        self.begin += work.spent.begin;
        self.statements_time += work.spent.statements;
        self.commit += work.spent.commit;
        self.encode += work.spent.encode;
        self.server += work.spent.server;
    }

    /// The parts of the service time that someone has accounted for.
    pub fn parts(&self) -> Nanos {
        self.queue + self.pool + self.begin + self.statements_time + self.commit + self.encode
    }
}

impl AddAssign for WorkSums {
    fn add_assign(&mut self, other: WorkSums) {
        self.calls += other.calls;
        self.attempts += other.attempts;
        self.statements += other.statements;
        self.rows += other.rows;
        self.commits += other.commits;
        self.grouped += other.grouped;
        self.groups += other.groups;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.response += other.response;
        self.client_wait += other.client_wait;
        self.wake_up += other.wake_up;
        self.service += other.service;
        self.queue += other.queue;
        self.pool += other.pool;
        self.begin += other.begin;
        self.statements_time += other.statements_time;
        self.commit += other.commit;
        self.encode += other.encode;
        self.server += other.server;
    }
}

impl AddAssign for Backlog {
    fn add_assign(&mut self, other: Backlog) {
        self.backlog_before += other.backlog_before;
        self.started += other.started;
        self.backlog_after += other.backlog_after;
    }
}

impl Backlog {
    /// Enters a call that began, or never did; all moments on one clock.
    #[inline]
    pub(crate) fn enter(&mut self, due: Nanos, started: Option<Nanos>, opens: Nanos, closes: Nanos) {
        let begins_by = |moment| started.is_some_and(|started| started < moment);
        self.backlog_before += u64::from(due < opens && !begins_by(opens));
        self.started += u64::from(begins_by(closes) && !begins_by(opens));
        self.backlog_after += u64::from(due < closes && !begins_by(closes));
    }
}

impl AddAssign for EndedCalls {
    fn add_assign(&mut self, other: EndedCalls) {
        self.committed += other.committed;
        self.declined += other.declined;
        self.faults += other.faults;
    }
}

impl EndedCalls {
    #[inline]
    pub(crate) fn enter(&mut self, class: Class) {
        match class {
            Class::Committed => self.committed += 1,
            Class::Declined => self.declined += 1,
            Class::Conflict | Class::Refused | Class::InDoubt | Class::Defect => self.faults += 1,
        }
    }
}

impl Totals {
    /// Nothing yet; allocates everything that will ever be needed.
    pub fn new(kinds: &[Kind], facets: &[Facet], kept: TimesKept) -> Totals {
        let kind = |kind: &Kind| KindTotals {
            ended: EndedCalls::default(),
            call_counts: CallCounts::default(),
            work: WorkSums::default(),
            clocked: ClockedSums::new(),
            committed: Times::new(kept),
            declined: kind.may_be_declined().then(|| Times::new(kept)),
        };
        Totals {
            kinds: kinds.iter().map(kind).collect(),
            facets: facets.iter().map(|_| FacetTotals::new()).collect(),
            faults: Latencies::new(),
            queueing: kinds.iter().any(|kind| kind.deferred_p90_max.is_some()).then(Latencies::new),
            dropped: 0,
            backlog: Backlog::default(),
            stages: Vec::new(),
        }
    }

    /// The same with so many stages.
    pub(crate) fn staged(self, stages: usize) -> Totals {
        Totals { stages: vec![StageTotals::default(); stages], ..self }
    }

    /// The call counts over all kinds.
    pub fn call_counts(&self) -> CallCounts {
        let mut call_counts = CallCounts::default();
        self.kinds.iter().for_each(|kind| call_counts += kind.call_counts);
        call_counts.enter_dropped(self.dropped);
        call_counts
    }

    /// Calls of all kinds that committed in the window, whenever they were due.
    pub fn committed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.ended.committed).sum()
    }

    #[inline]
    pub(crate) fn enter(&mut self, kind: usize, class: Class, entry: &Entry<'_>) {
        let &Entry { moments, work, .. } = entry;
        let totals = &mut self.kinds[kind];
        totals.call_counts.enter(class, work, entry.late);
        if let Some((stage, late)) = entry.stage {
            let stage = &mut self.stages[stage];
            stage.call_counts.enter(class, work, late);
            if class == Class::Committed {
                stage.response.record(moments.response());
            }
        }
        match class {
            Class::Committed => {
                totals.work.enter(moments, work);
                totals.committed.record(moments);
                let mut facet = entry.facet.map(|facet| &mut self.facets[facet]);
                if let Some(facet) = &mut facet {
                    facet.committed.record(moments.response());
                    facet.work.enter(moments, work);
                }
                if let Some(times) = entry.statements {
                    totals.clocked.enter(moments, work, times);
                    if let Some(facet) = facet {
                        facet.clocked.enter(moments, work, times);
                    }
                }
            }
            Class::Declined => {
                // A kind that declines against its plan is counted; only its times are not kept.
                if let Some(declined) = &mut totals.declined {
                    declined.record(moments);
                }
            }
            Class::Conflict | Class::Refused | Class::InDoubt | Class::Defect => {
                self.faults.record(moments.response());
            }
        }
    }

    /// Adds everything that `other`, made for the same kinds, holds.
    pub fn absorb(&mut self, other: &Totals) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.ended += theirs.ended;
            mine.call_counts += theirs.call_counts;
            mine.work += theirs.work;
            mine.clocked.absorb(&theirs.clocked);
            mine.committed.absorb(&theirs.committed);
            if let (Some(mine), Some(theirs)) = (&mut mine.declined, &theirs.declined) {
                mine.absorb(theirs);
            }
        }
        for (mine, theirs) in self.facets.iter_mut().zip(&other.facets) {
            mine.absorb(theirs);
        }
        self.faults.absorb(&other.faults);
        absorb_optional(self.queueing.as_mut(), other.queueing.as_ref());
        self.dropped += other.dropped;
        self.backlog += other.backlog;
        for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
            mine.absorb(theirs);
        }
    }

    pub(crate) fn clear(&mut self) {
        for kind in &mut self.kinds {
            kind.ended = EndedCalls::default();
            kind.call_counts = CallCounts::default();
            kind.work = WorkSums::default();
            kind.clocked.clear();
            kind.committed.clear();
            if let Some(declined) = &mut kind.declined {
                declined.clear();
            }
        }
        self.facets.iter_mut().for_each(FacetTotals::clear);
        self.faults.clear();
        if let Some(queueing) = &mut self.queueing {
            queueing.clear();
        }
        self.dropped = 0;
        self.backlog = Backlog::default();
        self.stages.iter_mut().for_each(StageTotals::clear);
    }
}
