//! What one slice shows of a trial, as plain data.

use measure::WorkSums;
use result::{BudgetPart, Role};
use serde::Serialize;
use std::collections::VecDeque;
use trial::SliceView;

/// Rates kept for the small curve in the terminal.
const RATES_MAX: usize = 48;

/// The headline rate, in the unit of the workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rates {
    pub(crate) now: f64,
    /// In the window so far; nothing in the warm-up.
    pub(crate) mean: Option<f64>,
}

/// One moment of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Snapshot {
    /// What is measured: the subject, or the variant and its block.
    pub(crate) what: String,
    pub(crate) workload: &'static str,
    pub(crate) subject: String,
    /// `warm-up`, `measured` or `drain`.
    pub(crate) phase: &'static str,
    /// How much of the trial is done, 0 to 1.
    pub(crate) share: f64,
    pub(crate) left_s: f64,
    pub(crate) clients: u32,
    pub(crate) unit: &'static str,
    pub(crate) rate: f64,
    pub(crate) rate_mean: Option<f64>,
    /// The kind of call that the headline counts, or the first of them.
    pub(crate) kind: &'static str,
    /// Its response times in the slice, from however few calls: to look at. Nothing in the warm-up.
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
    /// Calls of the slice that did not complete.
    pub(crate) faults: u64,
    /// Calls in flight on average since the slice before, by Little's law; nothing in the warm-up.
    pub(crate) in_flight: Option<f64>,
    pub(crate) call_counts: CallCounts,
    /// Whether the engine or the server is away now.
    pub(crate) away: bool,
    /// Where the response time went since the slice before, as shares that sum to 1; the last known, and empty in the
    /// warm-up.
    pub(crate) budget: Vec<BudgetShare>,
    pub(crate) processes: Vec<Busy>,
    /// Processors of the machine that we may use.
    pub(crate) cores: u32,
}

/// Calls that were due in the window so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CallCounts {
    pub(crate) started: u64,
    pub(crate) committed: u64,
    pub(crate) declined: u64,
    pub(crate) conflict: u64,
    pub(crate) refused: u64,
    pub(crate) in_doubt: u64,
    pub(crate) defect: u64,
    pub(crate) retries: u64,
}

/// A part of the time budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BudgetShare {
    pub(crate) name: &'static str,
    pub(crate) share: f64,
}

/// A process and the cores that it keeps busy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Busy {
    /// `generator`, or `generator + engine` where the engine is embedded.
    pub(crate) role: String,
    pub(crate) cores: f64,
    pub(crate) rss_bytes: u64,
}

/// What is remembered from slice to slice.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    sums: WorkSums,
    budget: Vec<BudgetShare>,
    rates: VecDeque<f64>,
}

impl Pulse {
    /// The latest rates, oldest first.
    pub(crate) fn rates(&self) -> &VecDeque<f64> {
        &self.rates
    }
}

/// The counters of one trial so far, as Prometheus wants them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TrialCounters {
    pub(crate) kinds: Vec<KindCounted>,
    pub(crate) dropped: u64,
    pub(crate) warmup: measure::CallCounts,
}

/// Of one kind of call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct KindCounted {
    pub(crate) name: &'static str,
    pub(crate) call_counts: measure::CallCounts,
    /// Committed calls by their response time: upper bound in nanoseconds and count, by rising bound.
    pub(crate) times: Vec<(u64, u64)>,
    pub(crate) sum_s: f64,
}

/// What is shown of a view.
pub(crate) trait Shown {
    /// Seconds until the window closes.
    fn left_s(&self) -> f64;
    /// How much of the trial is done, 0 to 1.
    fn share(&self) -> f64;
    fn rates(&self) -> Rates;
    fn snapshot(&self, rates: Rates, pulse: &mut Pulse) -> Snapshot;
    /// An embedded engine lives in whichever process holds its connections.
    fn role(&self, role: Role) -> String;
    fn counted(&self) -> TrialCounters;
}

impl Shown for SliceView<'_> {
    fn left_s(&self) -> f64 {
        self.left.as_secs_f64()
    }

    fn share(&self) -> f64 {
        let done = (self.plan.warmup + self.window).as_secs_f64();
        let planned = match self.phase() {
            "warm-up" => (self.plan.warmup + self.plan.measured).as_secs_f64(),
            _ => done + self.left_s(),
        };
        1.0 - self.left_s() / planned.max(f64::MIN_POSITIVE)
    }

    fn rates(&self) -> Rates {
        let headline = self.kinds_counted();
        let mean = measure::mean_rate(self.slices, &headline).map(|rate| rate * self.rate_seconds);
        Rates { now: self.slice().rate(&headline) * self.rate_seconds, mean }
    }

    fn snapshot(&self, rates: Rates, pulse: &mut Pulse) -> Snapshot {
        let (slice, call_counts) = (self.slice(), self.call_counts);
        let headline = self.kinds_counted()[0];
        let times = slice.times.get(headline).copied().unwrap_or_default();
        let mut sums = WorkSums::default();
        for kind in &self.totals.kinds {
            sums += kind.work;
        }
        if pulse.rates.len() == RATES_MAX {
            pulse.rates.pop_front();
        }
        pulse.rates.push_back(rates.now);
        let in_flight = (sums.calls > 0).then(|| {
            let spent = (sums.response - pulse.sums.response).as_secs_f64();
            spent / slice.length().as_secs_f64().max(f64::MIN_POSITIVE)
        });
        if let Some(budget) = budget_since(&pulse.sums, &sums) {
            pulse.budget = budget;
        }
        pulse.sums = sums;
        let busy = |usage: &observe::Usage| Busy {
            role: self.role(usage.role),
            cores: usage.cores,
            rss_bytes: usage.rss_bytes,
        };
        Snapshot {
            what: self.what.to_owned(),
            workload: self.subject.workload(),
            subject: self.subject.path.to_owned(),
            phase: self.phase(),
            share: self.share(),
            left_s: self.left_s(),
            clients: self.plan.workers,
            unit: self.rate_unit,
            rate: rates.now,
            rate_mean: rates.mean,
            kind: self.kinds[headline].name,
            p50_ns: times.p50.map(|p50| p50.0),
            p99_ns: times.p99.map(|p99| p99.0),
            faults: slice.kinds.iter().map(|kind| kind.faults).sum(),
            in_flight,
            call_counts: CallCounts {
                started: call_counts.started,
                committed: call_counts.committed,
                declined: call_counts.declined,
                conflict: call_counts.conflict,
                refused: call_counts.refused,
                in_doubt: call_counts.in_doubt,
                defect: call_counts.defect,
                retries: call_counts.retries,
            },
            away: self.away,
            budget: pulse.budget.clone(),
            processes: self.usage.iter().map(busy).collect(),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        }
    }

    fn role(&self, role: Role) -> String {
        let roles = trial::roles(role, self.subject);
        roles.iter().map(|role| role.word()).collect::<Vec<_>>().join(" + ")
    }

    fn counted(&self) -> TrialCounters {
        let totals = self.totals;
        let kinds = self.kinds.iter().zip(&totals.kinds).map(|(kind, totals)| {
            let response = &totals.committed.response;
            let times = response.spectrum().into_iter().map(|(upper, count)| (upper.0, count));
            KindCounted {
                name: kind.name,
                call_counts: totals.call_counts,
                times: times.collect(),
                sum_s: response.sum().as_secs_f64(),
            }
        });
        TrialCounters { kinds: kinds.collect(), dropped: totals.dropped, warmup: self.warmup }
    }
}

/// Where the response time of the calls went that committed between two sums; nothing if none did.
fn budget_since(before: &WorkSums, now: &WorkSums) -> Option<Vec<BudgetShare>> {
    let later = now.budget()?;
    let earlier = before.budget().unwrap_or_default();
    let total = |response_ns: f64, sums: &WorkSums| response_ns * sums.calls as f64;
    let whole = total(later.response_ns, now) - total(earlier.response_ns, before);
    (now.calls > before.calls && whole > 0.0).then(|| {
        BudgetPart::ALL
            .iter()
            .map(|part| {
                let spent = total(later.part_ns(*part), now) - total(earlier.part_ns(*part), before);
                BudgetShare { name: part.words(), share: spent / whole }
            })
            .filter(|part| part.share.abs() >= 0.000_5)
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;

    fn sums(calls: u64, statements_ms: u64, commit_ms: u64) -> WorkSums {
        WorkSums {
            calls,
            response: Nanos::from_millis(statements_ms + commit_ms),
            service: Nanos::from_millis(statements_ms + commit_ms),
            statements_time: Nanos::from_millis(statements_ms),
            commit: Nanos::from_millis(commit_ms),
            ..WorkSums::default()
        }
    }

    #[test]
    fn the_budget_is_that_of_the_latest_calls_and_sums_to_one() {
        let (before, now) = (sums(10, 90, 10), sums(20, 100, 100));
        let budget = budget_since(&before, &now).unwrap();
        let share = |name| budget.iter().find(|part| part.name == name).map_or(0.0, |part| part.share);
        assert!((share("statements") - 0.1).abs() < 1e-9, "{budget:?}");
        assert!((share("commit") - 0.9).abs() < 1e-9, "{budget:?}");
        assert!((budget.iter().map(|part| part.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_new_call_there_is_no_budget() {
        assert_eq!(budget_since(&sums(10, 5, 5), &sums(10, 5, 5)), None);
        assert_eq!(budget_since(&WorkSums::default(), &WorkSums::default()), None);
    }
}
