//! From what the load generator and the observer measured to the document that reports start from.

use crate::case::Case;
use crate::subjects::{Route, Subject};
use measure::{ClockedSums, EffortSums, KindTotals, Latencies, Phase, Totals, rate_interval};
use model::{Kind, Nanos};
use result::{
    AllDue, Arrivals, Books, Bucket, Budget, Check, Class, Clocked, Deferred, Demand, Effort, Facet,
    Grouping, Interval, KindSlice, KindTally, Latency, Limit, Limits, Plan, Quantiles, Role, Slice,
    StatementTime, Tally, Throttling, Trial,
};
use sql::Dialect;

/// How an audit ended.
pub(crate) const fn verdict(verdict: sql::audit::Verdict) -> Check {
    match verdict {
        sql::audit::Verdict::Passed => Check::Passed,
        sql::audit::Verdict::Failed => Check::Failed,
        sql::audit::Verdict::NotTold => Check::NotTold,
    }
}

/// Puts everything that was counted and clocked so far into `trial`.
pub(crate) fn fill<W: Case>(trial: &mut Trial, totals: &Totals, slices: &[measure::Slice], span: Nanos) {
    let paced = trial.plan.arrivals.is_paced();
    trial.measured_s = span.as_secs_f64();
    trial.kinds = W::KINDS
        .iter()
        .enumerate()
        .map(|(index, kind)| KindTally {
            clocked: clocked::<W>(&totals.kinds[index].clocked),
            facets: facets::<W>(index, totals),
            ..kind_tally(index, kind, totals, slices, trial.measured_s, trial.plan.deferred)
        })
        .collect();
    trial.grouping = grouping(totals);
    trial.overall = overall(totals, slices, trial.measured_s, &trial.kinds);
    trial.demand = Some(demand(totals));
    let rate = trial.kinds[trial.headline_kind()].tally.rate_per_s;
    let scaled = Interval {
        value: rate.value * W::RATE_SECONDS,
        low: rate.low.map(|low| low * W::RATE_SECONDS),
        high: rate.high.map(|high| high * W::RATE_SECONDS),
    };
    trial.headline = W::headline(scaled, paced);
    trial.efficiency = if paced { W::efficiency(scaled.value, trial.data.scale) } else { None };
    trial.slices = time_line(slices);
}

fn kind_tally(
    index: usize,
    kind: &Kind,
    totals: &Totals,
    slices: &[measure::Slice],
    span_s: f64,
    deferred: bool,
) -> KindTally {
    let of_kind = &totals.kinds[index];
    let mut latency = vec![latency(Class::Committed, &of_kind.committed)];
    if let Some(declined) = of_kind.declined.as_ref().filter(|times| times.response.count() > 0) {
        latency.push(self::latency(Class::Declined, declined));
    }
    // 2.7.2.2: the terminal of a deferred call waits until it is queued, and the limit is on that.
    let queued = kind.deferred_p90_max.filter(|_| deferred).and(totals.queueing.as_ref());
    let answered = queued.unwrap_or(&of_kind.committed.response);
    let p90 = answered.summary().p90.map(|p90| p90.0);
    KindTally {
        clocked: None,
        facets: Vec::new(),
        name: kind.name.into(),
        headline: kind.headline,
        declines: kind.declines,
        limit: kind.p90_max.map(|max| Limit::new(max.0, p90)),
        tally: Tally {
            books: books(&of_kind.books),
            rate_per_s: rate(of_kind.ended.committed, slices, &[index], span_s),
            latency,
            all_due: Some(all_due(due_of_kind(index, totals), [of_kind])),
            effort: effort(&of_kind.effort),
            budget: budget(&of_kind.effort),
        },
    }
}

/// The parts of a kind that are also shown apart.
fn facets<W: Case>(kind: usize, totals: &Totals) -> Vec<Facet> {
    let of_kind = W::FACETS.iter().zip(&totals.facets).filter(|(facet, _)| facet.kind == kind);
    of_kind
        .map(|(facet, totals)| Facet {
            name: facet.name.into(),
            response: quantiles(&totals.committed),
            budget: budget(&totals.effort),
            clocked: clocked::<W>(&totals.clocked),
        })
        .collect()
}

/// What calls with a clock around each statement took, if there were any.
fn clocked<W: Case>(sums: &ClockedSums) -> Option<Clocked> {
    let effort = &sums.effort;
    let calls = effort.calls as f64;
    let mean = |total: Nanos| total.0 as f64 / calls;
    let statement = |(index, sum): (usize, measure::StatementSum)| StatementTime {
        name: W::STATEMENTS.get(index).copied().unwrap_or("without a name").into(),
        executions: sum.executions,
        mean_ns: sum.spent.0 as f64 / sum.executions as f64,
    };
    (effort.calls > 0).then(|| Clocked {
        calls: effort.calls,
        service_ns: mean(effort.service),
        server_queue_ns: mean(effort.queue),
        pool_wait_ns: mean(effort.pool),
        begin_ns: mean(effort.begin),
        statements: sums.executed().map(statement).collect(),
        // A server may say that statements took longer than all of them together; the rule `clocked` then speaks.
        logic_ns: match effort.statements_time {
            // A server that tells of each statement and not of all together.
            Nanos::ZERO => 0.0,
            all => mean(all) - mean(sums.in_statements()),
        },
        commit_ns: mean(effort.commit),
        encode_ns: mean(effort.encode),
    })
}

fn overall(totals: &Totals, slices: &[measure::Slice], span_s: f64, kinds: &[KindTally]) -> Tally {
    let (mut response, mut service) = (Latencies::new(), Latencies::new());
    let (mut sums, mut two_times) = (EffortSums::default(), false);
    for kind in &totals.kinds {
        response.absorb(&kind.committed.response);
        service.absorb(kind.committed.service());
        two_times |= kind.committed.service.is_some();
        sums += kind.effort;
    }
    let all: Vec<usize> = (0..kinds.len()).collect();
    let committed = Latency {
        class: Class::Committed,
        response: quantiles(&response),
        service: two_times.then(|| quantiles(&service)),
        spectrum: spectrum(&response),
    };
    let books_of_all = totals.books();
    Tally {
        rate_per_s: rate(totals.committed(), slices, &all, span_s),
        books: books(&books_of_all),
        latency: vec![committed],
        all_due: Some(all_due(books_of_all.due, &totals.kinds)),
        effort: effort(&sums),
        budget: budget(&sums),
    }
}

/// Calls of a kind that were due. Those never begun have no kind; they are taken to be of this one in the proportion of
/// those begun, and rounded up.
fn due_of_kind(index: usize, totals: &Totals) -> u64 {
    let (begun, of_all) = (totals.kinds[index].books.due, totals.books().begun);
    let share = begun as f64 / of_all.max(1) as f64;
    begun + (totals.unstarted as f64 * share).ceil() as u64
}

/// Percentiles over `due` calls of `kinds`. What is not among the answers was slower than any of them.
fn all_due<'a>(due: u64, kinds: impl IntoIterator<Item = &'a KindTotals>) -> AllDue {
    let mut answered = Latencies::new();
    for kind in kinds {
        answered.absorb(&kind.committed.response);
        if let Some(declined) = &kind.declined {
            answered.absorb(&declined.response);
        }
    }
    let unanswered = due.saturating_sub(answered.count());
    AllDue::new(due, unanswered, |quantile| Some(answered.quantile_of(quantile, due)?.0))
}

fn latency(class: Class, times: &measure::Times) -> Latency {
    Latency {
        class,
        response: quantiles(&times.response),
        service: times.service.as_ref().map(quantiles),
        spectrum: spectrum(&times.response),
    }
}

fn spectrum(latencies: &Latencies) -> Vec<Bucket> {
    Bucket::spectrum(latencies.spectrum().into_iter().map(|(upper, count)| (upper.0, count)))
}

pub(crate) fn quantiles(latencies: &Latencies) -> Quantiles {
    let mean = latencies.mean().unwrap_or(Nanos::ZERO).0 as f64;
    let max = latencies.max().unwrap_or(Nanos::ZERO).0;
    // Asked only for those that enough samples stand behind.
    Quantiles::new(latencies.count(), mean, max, |quantile| {
        latencies.quantile(quantile).map_or(max, |value| value.0)
    })
}

fn demand(totals: &Totals) -> Demand {
    let books = totals.books();
    Demand {
        offered: books.due,
        accepted: totals.backlog.begun,
        waiting_before: totals.backlog.waiting_before,
        waiting_after: totals.backlog.waiting_after,
        committed_late: books.late,
    }
}

/// Committed in the window, a second, with the interval that the slices of the window give.
fn rate(committed: u64, slices: &[measure::Slice], kinds: &[usize], span_s: f64) -> Interval {
    let rates: Vec<f64> =
        slices.iter().filter(|slice| slice.phase == Phase::Measured).map(|slice| slice.rate(kinds)).collect();
    let value = if span_s > 0.0 { committed as f64 / span_s } else { 0.0 };
    match rate_interval(&rates) {
        Some(interval) => Interval {
            value,
            low: Some((value - interval.half_width).max(0.0)),
            high: Some(value + interval.half_width),
        },
        None => Interval { value, low: None, high: None },
    }
}

fn books(books: &measure::Books) -> Books {
    Books {
        due: books.due,
        begun: books.begun,
        never_begun: books.unstarted,
        committed: books.committed,
        declined: books.declined,
        conflict: books.conflict,
        refused: books.refused,
        in_doubt: books.in_doubt,
        defect: books.defect,
        attempts: books.attempts,
        retries: books.retries,
        calls_retried: books.retried_calls,
    }
}

/// How committed calls shared commits, whatever their kind.
fn grouping(totals: &Totals) -> Option<Grouping> {
    let sum = |of: fn(&EffortSums) -> u64| totals.kinds.iter().map(|kind| of(&kind.effort)).sum();
    let found = Grouping { calls: sum(|sums| sums.grouped), commits: sum(|sums| sums.groups) };
    (found.commits > 0).then_some(found)
}

fn effort(sums: &EffortSums) -> Option<Effort> {
    let calls = sums.calls as f64;
    (sums.calls > 0).then(|| Effort {
        attempts: sums.attempts as f64 / calls,
        statements: sums.statements as f64 / calls,
        rows: sums.rows as f64 / calls,
        commits: sums.commits as f64 / calls,
    })
}

pub(crate) fn budget(sums: &EffortSums) -> Option<Budget> {
    let calls = sums.calls as f64;
    let mean = |total: Nanos| total.0 as f64 / calls;
    (sums.calls > 0).then(|| {
        Budget {
            response_ns: mean(sums.response),
            client_wait_ns: mean(sums.client_wait),
            wake_up_ns: mean(sums.wake_up),
            // What the server did not have its hands on. Without a server there is nothing in between.
            network_ns: if sums.server > Nanos::ZERO { mean(sums.service - sums.server) } else { 0.0 },
            server_queue_ns: mean(sums.queue),
            pool_wait_ns: mean(sums.pool),
            begin_ns: mean(sums.begin),
            statements_ns: mean(sums.statements_time),
            commit_ns: mean(sums.commit),
            encode_ns: mean(sums.encode),
            remainder_ns: 0.0,
        }
        .balanced()
    })
}

fn time_line(slices: &[measure::Slice]) -> Vec<Slice> {
    let opens =
        slices.iter().find(|slice| slice.phase != Phase::WarmUp).map_or(Nanos::ZERO, |slice| slice.from);
    slices
        .iter()
        .filter(|slice| slice.phase != Phase::Drain)
        .map(|slice| Slice {
            t_s: slice.from.as_secs_f64() - opens.as_secs_f64(),
            length_s: slice.length().as_secs_f64(),
            warmup: slice.phase == Phase::WarmUp,
            kinds: slice
                .kinds
                .iter()
                .zip(&slice.times)
                .map(|(ended, times)| KindSlice {
                    committed: ended.committed,
                    declined: ended.declined,
                    faults: ended.faults,
                    p50_ns: times.p50.map(|value| value.0),
                    p99_ns: times.p99.map(|value| value.0),
                    max_ns: times.max.map(|value| value.0),
                })
                .collect(),
        })
        .collect()
}

/// What deferred deliveries came to.
pub(crate) fn deferred<W: Case>(index: usize, totals: &Totals, skipped: u64) -> Option<Deferred> {
    let kind = &W::KINDS[index];
    let (of_kind, limit) = (&totals.kinds[index], kind.deferred_p90_max?);
    let completion = quantiles(&of_kind.committed.response);
    Some(Deferred {
        kind: kind.name.into(),
        queued: of_kind.books.due,
        done: of_kind.books.committed,
        failed: of_kind.books.faults(),
        waiting: of_kind.books.unstarted,
        skipped,
        completion,
        limit: Limit::new(limit.0, completion.p90_ns),
    })
}

pub(crate) fn plan(plan: &drive::Plan, attempts_max: u32) -> Plan {
    Plan {
        clients: plan.workers,
        generator_threads: plan.runtimes,
        arrivals: match plan.arrivals {
            drive::Arrivals::Closed => Arrivals::Closed {},
            drive::Arrivals::Paced => Arrivals::Paced { think: "spec".into() },
            drive::Arrivals::Constant(rate) => Arrivals::Constant { rate_per_s: rate.0 },
            drive::Arrivals::Poisson(rate) => Arrivals::Poisson { rate_per_s: rate.0 },
        },
        warmup_s: plan.warmup.as_secs_f64(),
        warmup_max_s: (plan.warmup_max > plan.warmup).then(|| plan.warmup_max.as_secs_f64()),
        measured_s: plan.measured.as_secs_f64(),
        drain_s: plan.drain_max.as_secs_f64(),
        deadline_ns: plan.deadline.0,
        attempts_max,
        seed: plan.seed,
        deferred: plan.deferred.is_some(),
    }
}

/// What a process does in trials of a subject: an embedded engine is where its connections are.
pub(crate) fn roles(role: Role, subject: &Subject) -> Vec<Role> {
    let embedded = subject.how.dialect == Dialect::Sqlite;
    match (role, subject.route) {
        (Role::Generator, Route::Direct) | (Role::Server, _) if embedded => vec![role, Role::Engine],
        _ => vec![role],
    }
}

/// Processor time in milliseconds a thousand committed calls.
pub(crate) fn a_thousand(cpu_s: f64, committed: u64) -> Option<f64> {
    (committed > 0).then(|| cpu_s * 1e6 / committed as f64)
}

/// What a part may use, and how often it has met that.
pub(crate) fn limits(limits: rig::Limits, met: Option<rig::Throttling>) -> Limits {
    Limits {
        cpu: limits.cpu,
        memory_bytes: limits.mem,
        throttling: met.map(|met| Throttling {
            periods: met.periods,
            throttled_periods: met.throttled,
            throttled_s: met.throttled_ns as f64 / 1e9,
        }),
    }
}

/// What a session says of what it stands on.
pub(crate) fn stack(stack: model::Stack) -> result::Stack {
    result::Stack {
        engine: stack.engine,
        engine_version: stack.engine_version,
        adapter: stack.adapter,
        adapter_version: stack.adapter_version,
        style: stack.style,
        route: stack.route,
        server: stack.server,
        isolation: stack.isolation,
        durability: result::Durability {
            tier: match stack.durability.tier {
                model::Tier::Durable => result::Tier::Durable,
                model::Tier::Delayed => result::Tier::Delayed,
                model::Tier::Volatile => result::Tier::Volatile,
            },
            detail: stack.durability.detail,
            claimed: false,
        },
        settings: stack.settings.into_iter().map(|(name, value)| result::Setting { name, value }).collect(),
    }
}
