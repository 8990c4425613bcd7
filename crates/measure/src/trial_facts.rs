//! What was counted and clocked, as a result has it.

use crate::clocked::{ClockedSums, StatementSum};
use crate::collector::Slice as Sliced;
use crate::decline_rise;
use crate::intervals::rate_interval;
use crate::latencies::Latencies;
use crate::silence;
use crate::timeline::Phase;
use crate::totals::{EndedCalls, KindTotals, Times, Totals, WorkSums};
use model::{Kind, Nanos, Workload};
use result::{
    AllDue, Bucket, Budget, CallCounts, CallWork, Class, Clocked, DeclineRise, Deferred, Demand, Facet,
    Grouping, HttpBytes, Interval, KindSlice, KindTally, Latency, Limit, Quantiles, Recovery, Silence, Slice,
    Stage, StageTally, StatementTime, Tally, Trial,
};

/// Response times are back where the median of a slice is at most this many times the highest one before.
const RECOVERED: f64 = 1.1;
/// Moments that are not a further apart are one: they were added up as seconds.
const SAME_MOMENT_S: f64 = 1e-6;

/// Puts everything that was counted and clocked so far into `trial`, whose plan is known, but for what the workload makes of it:
/// its headline and its efficiency. `span` is how much of the window has passed.
pub fn fill<W: Workload>(trial: &mut Trial, totals: &Totals, slices: &[Sliced], span: Nanos) {
    trial.measured_s = span.as_secs_f64();
    let measured = decline_rise::measured(slices);
    let found = decline_rise::find(W::KINDS, &measured);
    let span = Span {
        slices: found.as_ref().map_or(&measured[..], |found| &measured[found.rated()]),
        // Counted by slices where only some of them count.
        duration_s: found.is_none().then_some(trial.measured_s),
    };
    trial.decline_rise =
        found.as_ref().map(|found| decline_rise_of(found, &W::KINDS[found.kind], totals, &measured));
    trial.kinds = W::KINDS
        .iter()
        .enumerate()
        .filter(|(_, kind)| trial.plan.makes(kind.name))
        .map(|(index, kind)| KindTally {
            clocked: clocked::<W>(&totals.kinds[index].clocked),
            facets: facets::<W>(index, totals),
            ..kind_tally(index, kind, totals, &span, trial.plan.deferred)
        })
        .collect();
    trial.grouping = grouping(totals);
    trial.silence = silence(totals, slices);
    trial.overall = overall(totals, &span);
    trial.demand = Some(demand(totals));
    trial.stages = stages(&trial.plan.stages, totals, slices, trial.measured_s);
    let made: Vec<bool> = W::KINDS.iter().map(|kind| trial.plan.makes(kind.name)).collect();
    trial.slices = time_line(slices, &made);
}

fn kind_tally(index: usize, kind: &Kind, totals: &Totals, span: &Span<'_>, deferred: bool) -> KindTally {
    let of_kind = &totals.kinds[index];
    let mut latency = vec![latency(Class::Committed, &of_kind.committed)];
    if let Some(declined) = of_kind.declined.as_ref().filter(|times| times.response.count() > 0) {
        latency.push(self::latency(Class::Declined, declined));
    }
    // 2.7.2.2: the terminal of a deferred call waits until it is queued, and the limit is on that.
    let queued = kind.deferred_p90_max.filter(|_| deferred).and(totals.queueing.as_ref());
    let answered = queued.unwrap_or(&of_kind.committed.response);
    let p90 = answered.summary().p90.map(|p90| p90.0);
    let rate_per_s = span.rate(of_kind.ended.committed, &[index]);
    KindTally {
        clocked: None,
        facets: Vec::new(),
        name: kind.name.into(),
        headline: kind.headline,
        declined_max: kind.declined_max,
        writes: kind.writes,
        limit: kind.p90_max.map(|max| Limit::new(max.0, p90)),
        tally: Tally {
            call_counts: call_counts(&of_kind.call_counts),
            rate_per_s,
            latency,
            all_due: Some(all_due(due_of_kind(index, totals), [of_kind])),
            work: work(&of_kind.work, rate_per_s.value),
            budget: of_kind.work.budget(),
        },
    }
}

/// The parts of a kind that are also shown apart.
fn facets<W: Workload>(kind: usize, totals: &Totals) -> Vec<Facet> {
    let of_kind = W::FACETS.iter().zip(&totals.facets).filter(|(facet, _)| facet.kind == kind);
    of_kind
        .map(|(facet, totals)| Facet {
            name: facet.name.into(),
            response: quantiles(&totals.committed),
            budget: totals.work.budget(),
            clocked: clocked::<W>(&totals.clocked),
        })
        .collect()
}

/// What calls with a clock around each statement took, if there were any.
fn clocked<W: Workload>(sums: &ClockedSums) -> Option<Clocked> {
    let work = &sums.work;
    let calls = work.calls as f64;
    let mean = |total: Nanos| total.0 as f64 / calls;
    let statement = |(index, sum): (usize, StatementSum)| StatementTime {
        name: W::STATEMENTS.get(index).copied().unwrap_or("without a name").into(),
        executions: sum.executions,
        mean_ns: sum.spent.0 as f64 / sum.executions as f64,
    };
    (work.calls > 0).then(|| Clocked {
        calls: work.calls,
        service_ns: mean(work.service),
        server_queue_ns: mean(work.queue),
        pool_wait_ns: mean(work.pool),
        begin_ns: mean(work.begin),
        statements: sums.executed().map(statement).collect(),
        // A server may say that statements took longer than all of them together; the rule `clocked` then speaks.
        logic_ns: match work.statements_time {
            // A server that tells of each statement and not of all together.
            Nanos::ZERO => 0.0,
            all => mean(all) - mean(sums.in_statements()),
        },
        commit_ns: mean(work.commit),
        encode_ns: mean(work.encode),
    })
}

fn overall(totals: &Totals, span: &Span<'_>) -> Tally {
    let (mut response, mut service) = (Latencies::new(), Latencies::new());
    let (mut sums, mut two_times) = (WorkSums::default(), false);
    for kind in &totals.kinds {
        response.absorb(&kind.committed.response);
        service.absorb(kind.committed.service());
        two_times |= kind.committed.service.is_some();
        sums += kind.work;
    }
    let all: Vec<usize> = (0..totals.kinds.len()).collect();
    let committed = Latency {
        class: Class::Committed,
        response: quantiles(&response),
        service: two_times.then(|| quantiles(&service)),
        spectrum: spectrum(&response),
    };
    let counts_of_all = totals.call_counts();
    let rate_per_s = span.rate(totals.committed(), &all);
    Tally {
        rate_per_s,
        call_counts: call_counts(&counts_of_all),
        latency: vec![committed],
        all_due: Some(all_due(counts_of_all.due, &totals.kinds)),
        work: work(&sums, rate_per_s.value),
        budget: sums.budget(),
    }
}

/// Calls of a kind that were due. Those dropped have no kind; they are taken to be of this one in the proportion of
/// those begun, and rounded up.
fn due_of_kind(index: usize, totals: &Totals) -> u64 {
    let (started, of_all) = (totals.kinds[index].call_counts.due, totals.call_counts().started);
    let share = started as f64 / of_all.max(1) as f64;
    started + (totals.dropped as f64 * share).ceil() as u64
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

fn latency(class: Class, times: &Times) -> Latency {
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

/// Latencies as a result has them.
pub fn quantiles(latencies: &Latencies) -> Quantiles {
    let mean = latencies.mean().unwrap_or(Nanos::ZERO).0 as f64;
    let max = latencies.max().unwrap_or(Nanos::ZERO).0;
    // Asked only for those that enough samples stand behind.
    Quantiles::new(latencies.count(), mean, max, |quantile| {
        latencies.quantile(quantile).map_or(max, |value| value.0)
    })
}

/// What each stage came to, as far as the window got.
fn stages(planned: &[Stage], totals: &Totals, slices: &[Sliced], measured_s: f64) -> Vec<StageTally> {
    let mut begin_s = 0.0;
    let begin = |stage: &Stage| {
        let t_s = begin_s;
        begin_s += stage.duration_s;
        t_s
    };
    let begins: Vec<f64> = planned.iter().map(begin).collect();
    let all = planned.iter().zip(&totals.stages).zip(&begins).enumerate();
    let started = all.filter(|(_, (_, t_s))| **t_s < measured_s);
    started
        .map(|(at, ((stage, totals), t_s))| StageTally {
            t_s: *t_s,
            stage: *stage,
            call_counts: call_counts(&totals.call_counts),
            committed_late: totals.call_counts.late,
            backlog_after: totals.backlog_after,
            response: quantiles(&totals.response),
            recovery: recovery(at, planned, *t_s, slices),
        })
        .collect()
}

/// When response times were back to what they had been before the stage at an index, if that is a burst.
fn recovery(at: usize, planned: &[Stage], t_s: f64, slices: &[Sliced]) -> Option<Recovery> {
    let (before, burst, after) = (planned.get(at.checked_sub(1)?)?, planned[at], planned.get(at + 1)?);
    let peak = burst.from_per_s.max(burst.to_per_s);
    if peak <= before.to_per_s || peak <= after.from_per_s {
        return None;
    }
    let opens = slices.iter().find(|slice| slice.phase != Phase::WarmUp)?.from;
    let measured = || slices.iter().filter(|slice| slice.phase == Phase::Measured);
    let since = |moment: Nanos| (moment - opens).as_secs_f64();
    let medians = measured().filter(|slice| {
        since(slice.to) <= t_s + SAME_MOMENT_S && since(slice.from) >= t_s - before.duration_s - SAME_MOMENT_S
    });
    let limit_ns = (medians.filter_map(|slice| slice.p50).max()?.0 as f64 * RECOVERED) as u64;
    let ended = t_s + burst.duration_s;
    let mut later = measured().filter(|slice| since(slice.from) >= ended - SAME_MOMENT_S);
    let kept = later.find(|slice| slice.p50.is_some_and(|p50| p50.0 <= limit_ns));
    Some(Recovery { limit_ns, after_s: kept.map(|slice| since(slice.to) - ended) })
}

fn demand(totals: &Totals) -> Demand {
    let call_counts = totals.call_counts();
    Demand {
        offered: call_counts.due,
        accepted: totals.backlog.started,
        backlog_before: totals.backlog.backlog_before,
        backlog_after: totals.backlog.backlog_after,
        committed_late: call_counts.late,
    }
}

/// What rates are of.
struct Span<'a> {
    slices: &'a [&'a Sliced],
    /// The length of all that was measured, if that is what they are.
    duration_s: Option<f64>,
}

impl Span<'_> {
    /// Committed calls of `kinds` a second, with the interval that the slices give. `committed` is how many there were in all that
    /// was measured.
    fn rate(&self, committed: u64, kinds: &[usize]) -> Interval {
        let rates: Vec<f64> = self.slices.iter().map(|slice| slice.rate(kinds)).collect();
        let value = match self.duration_s {
            Some(duration_s) if duration_s > 0.0 => committed as f64 / duration_s,
            Some(_) => 0.0,
            None => per_s(self.slices, |slice| kinds.iter().map(|kind| slice.kinds[*kind].committed).sum()),
        };
        match rate_interval(&rates) {
            Some(interval) => Interval {
                value,
                low: Some((value - interval.half_width).max(0.0)),
                high: Some(value + interval.half_width),
            },
            None => Interval { value, low: None, high: None },
        }
    }
}

/// What is counted in slices, a second.
fn per_s(slices: &[&Sliced], count: impl Fn(&Sliced) -> u64) -> f64 {
    let length: f64 = slices.iter().map(|slice| slice.length().as_secs_f64()).sum();
    let counted: u64 = slices.iter().map(|slice| count(slice)).sum();
    if length > 0.0 { counted as f64 / length } else { 0.0 }
}

/// The moment in words and figures.
fn decline_rise_of(
    found: &decline_rise::Rise,
    kind: &Kind,
    totals: &Totals,
    measured: &[&Sliced],
) -> DeclineRise {
    let [before, after] = &found.sides;
    let since_start = |moment: Nanos| (moment - measured[0].from).as_secs_f64();
    let of_all = |of: fn(&EndedCalls) -> u64| {
        per_s(&measured[after.clone()], |slice| slice.kinds.iter().map(of).sum())
    };
    DeclineRise {
        from_s: before.end.checked_sub(1).map_or(0.0, |last| since_start(measured[last].to)),
        to_s: since_start(measured[after.start].from),
        kind: kind.name.into(),
        declined_before: found.shares[0],
        declined_after: found.shares[1].unwrap_or(0.0),
        committed: totals.committed(),
        committed_after_per_s: of_all(|ended| ended.committed),
        declined_after_per_s: of_all(|ended| ended.declined),
    }
}

fn call_counts(call_counts: &crate::CallCounts) -> CallCounts {
    CallCounts {
        due: call_counts.due,
        started: call_counts.started,
        dropped: call_counts.dropped,
        committed: call_counts.committed,
        declined: call_counts.declined,
        conflict: call_counts.conflict,
        refused: call_counts.refused,
        in_doubt: call_counts.in_doubt,
        defect: call_counts.defect,
        attempts: call_counts.attempts,
        retries: call_counts.retries,
        calls_retried: call_counts.calls_retried,
        reconnects: call_counts.reconnects,
    }
}

/// The times without a completed call.
fn silence(totals: &Totals, slices: &[Sliced]) -> Option<Silence> {
    let completed = totals.kinds.iter().map(|kind| kind.ended.committed + kind.ended.declined).sum();
    silence::find(slices, completed)
}

/// How committed calls shared commits, whatever their kind.
fn grouping(totals: &Totals) -> Option<Grouping> {
    let sum = |of: fn(&WorkSums) -> u64| totals.kinds.iter().map(|kind| of(&kind.work)).sum();
    let found = Grouping { calls: sum(|sums| sums.grouped), commits: sum(|sums| sums.groups) };
    (found.commits > 0).then_some(found)
}

/// What a committed call took; `rate_per_s` is how many there were a second.
fn work(sums: &WorkSums, rate_per_s: f64) -> Option<CallWork> {
    let per_call = |sum: u64| sum as f64 / sums.calls as f64;
    let (sent, received) = (per_call(sums.sent_bytes), per_call(sums.received_bytes));
    let http =
        HttpBytes { sent, received, sent_per_s: sent * rate_per_s, received_per_s: received * rate_per_s };
    (sums.calls > 0).then(|| CallWork {
        attempts: per_call(sums.attempts),
        statements: per_call(sums.statements),
        rows: per_call(sums.rows),
        commits: per_call(sums.commits),
        http: (sums.sent_bytes > 0).then_some(http),
    })
}

/// The time line, of the kinds that are made.
fn time_line(slices: &[Sliced], made: &[bool]) -> Vec<Slice> {
    let opens =
        slices.iter().find(|slice| slice.phase != Phase::WarmUp).map_or(Nanos::ZERO, |slice| slice.from);
    slices
        .iter()
        .filter(|slice| slice.phase != Phase::Drain)
        .map(|slice| Slice {
            t_s: slice.from.as_secs_f64() - opens.as_secs_f64(),
            duration_s: slice.length().as_secs_f64(),
            warmup: slice.phase == Phase::WarmUp,
            kinds: slice
                .kinds
                .iter()
                .zip(&slice.times)
                .zip(made)
                .filter(|(_, made)| **made)
                .map(|((ended, times), _)| KindSlice {
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

/// What the calls of kind `index` came to that were queued and done later; nothing for a kind that is not. `skipped` are their
/// parts that found nothing to do.
pub fn deferred<W: Workload>(index: usize, totals: &Totals, skipped: u64) -> Option<Deferred> {
    let kind = &W::KINDS[index];
    let (of_kind, limit) = (&totals.kinds[index], kind.deferred_p90_max?);
    let completion = quantiles(&of_kind.committed.response);
    Some(Deferred {
        kind: kind.name.into(),
        queued: of_kind.call_counts.due,
        done: of_kind.call_counts.committed,
        failed: of_kind.call_counts.faults(),
        waiting: of_kind.call_counts.dropped,
        skipped,
        completion,
        limit: Limit::new(limit.0, completion.p90_ns),
    })
}

impl WorkSums {
    /// Where the time of the mean call went; nothing without a call.
    pub fn budget(&self) -> Option<Budget> {
        let calls = self.calls as f64;
        let mean = |total: Nanos| total.0 as f64 / calls;
        (self.calls > 0).then(|| {
            Budget {
                response_ns: mean(self.response),
                client_wait_ns: mean(self.client_wait),
                wake_up_ns: mean(self.wake_up),
                // What the server did not have its hands on. Without a server there is nothing in between.
                network_ns: if self.server > Nanos::ZERO { mean(self.service - self.server) } else { 0.0 },
                server_queue_ns: mean(self.queue),
                pool_wait_ns: mean(self.pool),
                begin_ns: mean(self.begin),
                statements_ns: mean(self.statements_time),
                commit_ns: mean(self.commit),
                encode_ns: mean(self.encode),
                remainder_ns: 0.0,
            }
            .balanced()
        })
    }
}
