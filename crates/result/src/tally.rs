//! What was counted and clocked: call counts, latency, work, time budget, slices.

use super::AllDue;
use serde::{Deserialize, Serialize};

/// Everything counted and clocked for one kind of call, or for all of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Where every due call went.
    pub call_counts: CallCounts,
    /// Calls per second that committed in the window, whenever they were due.
    pub rate_per_s: Interval,
    /// Times, one entry for each class of outcome that occurred.
    pub latency: Vec<Latency>,
    /// Percentiles over all calls that were due, which service levels and verdicts are judged by; `null`
    /// before the first call.
    pub all_due: Option<AllDue>,
    /// What a committed call took on average; `null` when none was committed.
    pub work: Option<CallWork>,
    /// Where the time of a committed call went on average; `null` when none was committed.
    pub budget: Option<Budget>,
}

impl Tally {
    /// The times of one class, if it occurred.
    pub fn latency(&self, class: Class) -> Option<&Latency> {
        self.latency.iter().find(|latency| latency.class == class)
    }
}

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    pub value: f64,
    /// Lower end of the 95 % interval; `null` when there were too few samples to say.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
}

impl Interval {
    /// The same in a unit of which one is `factor` of this one.
    #[must_use]
    pub fn times(self, factor: f64) -> Interval {
        let scaled = |value: f64| value * factor;
        Interval { value: scaled(self.value), low: self.low.map(scaled), high: self.high.map(scaled) }
    }
}

/// Where every due call went. `due = started + dropped`, and
/// `started = committed + declined + conflict + refused + in_doubt + defect`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallCounts {
    /// Calls that became due in the window.
    pub due: u64,
    /// Calls that a worker began.
    pub started: u64,
    /// Calls that were due and for which no worker was free.
    pub dropped: u64,
    /// Business outcome happened and is stored to the stated tier.
    pub committed: u64,
    /// A business rule rejected it.
    pub declined: u64,
    /// Given up after the last permitted attempt met a conflict.
    pub conflict: u64,
    /// Shed before any attempt.
    pub refused: u64,
    /// No answer; may or may not have been applied.
    pub in_doubt: u64,
    /// Broke the contract.
    pub defect: u64,
    /// Attempts over all calls.
    pub attempts: u64,
    /// Attempts after the first, over all calls.
    pub retries: u64,
    /// Calls that needed more than one attempt.
    pub calls_retried: u64,
    /// Connections that were opened again because they were closed between calls.
    pub reconnects: u64,
}

impl CallCounts {
    /// Calls that did not complete.
    pub fn faults(&self) -> u64 {
        self.conflict + self.refused + self.in_doubt + self.defect
    }

    /// Whether both identities hold.
    pub fn balance(&self) -> bool {
        self.due == self.started + self.dropped
            && self.started == self.committed + self.declined + self.faults()
    }
}

worded! {
    /// A class of outcome. Times of different classes are never mixed.
    Class, word {
        /// See [`CallCounts::committed`].
        Committed = "committed",
        /// See [`CallCounts::declined`].
        Declined = "declined",
        /// See [`CallCounts::conflict`].
        Conflict = "conflict",
        /// See [`CallCounts::refused`].
        Refused = "refused",
        /// See [`CallCounts::in_doubt`].
        InDoubt = "in doubt",
        /// See [`CallCounts::defect`].
        Defect = "defect",
    }
}

/// Times of one kind of call and one class of outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The class of outcome.
    pub class: Class,
    /// From due to ended.
    pub response: Quantiles,
    /// From begun to ended; `null` in a closed loop, where it is the same.
    pub service: Option<Quantiles>,
    /// The spectrum of the response times, by rising `upper_ns`; see [`Bucket::spectrum`].
    pub spectrum: Vec<Bucket>,
}

/// Percentiles of a set of times. One beyond which fewer than ten samples lie is `null`: it would be an anecdote.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantiles {
    /// Number of samples.
    pub count: u64,
    /// Their mean in nanoseconds.
    pub mean_ns: f64,
    /// Median, in nanoseconds as all that follow.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    pub max_ns: u64,
}

impl Quantiles {
    /// The slowest, where there was any.
    pub fn slowest_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// Asks `at` for each percentile (as 0.5, 0.9, 0.95, 0.99, 0.999) beyond which at least ten samples lie.
    pub fn new(count: u64, mean_ns: f64, max_ns: u64, at: impl Fn(f64) -> u64) -> Quantiles {
        // In thousandths, so that no rounding decides whether a percentile is shown.
        let shown = |thousandths: u64| {
            (count.saturating_mul(1_000 - thousandths) >= 10_000).then(|| at(thousandths as f64 / 1_000.0))
        };
        Quantiles {
            count,
            mean_ns,
            p50_ns: shown(500),
            p90_ns: shown(900),
            p95_ns: shown(950),
            p99_ns: shown(990),
            p999_ns: shown(999),
            max_ns,
        }
    }
}

/// Samples that are close below an upper bound; in JSON `[upper_ns, count]`. A bucket is at most a fortieth of a decade
/// (6 %) wide, and empty ones are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket(
    /// Inclusive upper bound in nanoseconds.
    pub u64,
    /// Samples in the bucket.
    pub u64,
);

/// Buckets a decade, of an axis in powers of ten.
pub const BUCKETS_A_DECADE: f64 = 40.0;

impl Bucket {
    /// Gathers `(value in ns, samples)`, by rising value as a histogram gives them, into buckets of a fortieth of a
    /// decade, so that a spectrum stays small whatever the resolution of the histogram.
    pub fn spectrum(recorded: impl IntoIterator<Item = (u64, u64)>) -> Vec<Bucket> {
        let mut buckets: Vec<Bucket> = Vec::new();
        for (value_ns, count) in recorded.into_iter().filter(|(_, count)| *count > 0) {
            let step = (value_ns.max(1) as f64).log10() * BUCKETS_A_DECADE;
            // Never below the value itself, however the logarithm was rounded.
            let upper_ns = (10_f64.powf(step.ceil() / BUCKETS_A_DECADE).floor() as u64).max(value_ns);
            match buckets.last_mut() {
                Some(last) if value_ns <= last.0 => last.1 += count,
                _ => buckets.push(Bucket(upper_ns, count)),
            }
        }
        buckets
    }

    /// Inclusive upper bound in nanoseconds.
    #[must_use]
    pub fn upper_ns(self) -> u64 {
        self.0
    }

    /// Samples in the bucket.
    #[must_use]
    pub fn count(self) -> u64 {
        self.1
    }
}

/// The work fingerprint: what one committed call took on average.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallWork {
    /// Times the transaction was tried.
    pub attempts: f64,
    /// Statements executed, without begin and commit.
    pub statements: f64,
    /// Rows read or changed by them.
    pub rows: f64,
    pub commits: f64,
    /// Bytes over HTTP; absent where no server was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpBytes>,
}

/// Bytes of HTTP requests and their answers, heads and bodies, of committed calls: what the sockets carry, without TCP's own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpBytes {
    /// Sent per call.
    pub sent: f64,
    /// Received per call.
    pub received: f64,
    /// Sent per second, at the rate of committed calls.
    pub sent_per_s: f64,
    /// Received per second, at that rate.
    pub received_per_s: f64,
}

/// Where the response time of a committed call went on average. The parts do not overlap and sum to `response_ns`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Mean response time, which the parts sum to; in nanoseconds, as all that follow.
    pub response_ns: f64,
    /// Due, and no worker free yet. Zero in a closed loop.
    pub client_wait_ns: f64,
    /// Due, and a worker free that had not woken up yet: the generator's own lateness.
    pub wake_up_ns: f64,
    /// Between client and server, both ways, with the HTTP client and the server's HTTP layer.
    pub network_ns: f64,
    /// Waiting in the server for a session, both ways.
    pub server_queue_ns: f64,
    /// Waiting for a connection, or for the write lane of an engine with one writer.
    pub pool_wait_ns: f64,
    /// Begin of the transaction.
    pub begin_ns: f64,
    /// The statements and the logic between them.
    pub statements_ns: f64,
    pub commit_ns: f64,
    /// Decoding the call and encoding the outcome inside a server.
    pub encode_ns: f64,
    /// What no part covers. Below zero where parts that were clocked apart overlap a little.
    pub remainder_ns: f64,
}

worded! {
    /// A part of the time budget.
    BudgetPart, words {
        /// See [`Budget::client_wait_ns`].
        ClientWait = "client wait",
        /// See [`Budget::wake_up_ns`].
        WakeUp = "client wake-up",
        /// See [`Budget::network_ns`].
        Network = "network and HTTP",
        /// See [`Budget::server_queue_ns`].
        ServerQueue = "server queue",
        /// See [`Budget::pool_wait_ns`].
        PoolWait = "pool wait",
        /// See [`Budget::begin_ns`].
        Begin = "begin",
        /// See [`Budget::statements_ns`].
        Statements = "statements",
        /// See [`Budget::commit_ns`].
        Commit = "commit",
        /// See [`Budget::encode_ns`].
        Encode = "encode",
        /// See [`Budget::remainder_ns`].
        Remainder = "remainder",
    }
}

impl BudgetPart {
    /// Every part, from the client inwards.
    pub const ALL: [BudgetPart; 10] = [
        BudgetPart::ClientWait,
        BudgetPart::WakeUp,
        BudgetPart::Network,
        BudgetPart::ServerQueue,
        BudgetPart::Encode,
        BudgetPart::PoolWait,
        BudgetPart::Begin,
        BudgetPart::Statements,
        BudgetPart::Commit,
        BudgetPart::Remainder,
    ];
}

impl Budget {
    /// A budget whose remainder is what the other parts leave of `response_ns`.
    #[must_use]
    pub fn balanced(mut self) -> Budget {
        self.remainder_ns = 0.0;
        let known: f64 = BudgetPart::ALL.iter().map(|part| self.part_ns(*part)).sum();
        self.remainder_ns = self.response_ns - known;
        self
    }

    /// The mean of budgets, each weighted with its number of calls; `None` without any call.
    pub fn mean(weighted: impl IntoIterator<Item = (Budget, f64)>) -> Option<Budget> {
        let (mut sum, mut calls) = (Budget::default(), 0.0);
        for (budget, weight) in weighted {
            calls += weight;
            sum.response_ns += budget.response_ns * weight;
            BudgetPart::ALL.iter().for_each(|part| *sum.part_mut(*part) += budget.part_ns(*part) * weight);
        }
        if calls <= 0.0 {
            return None;
        }
        sum.response_ns /= calls;
        BudgetPart::ALL.iter().for_each(|part| *sum.part_mut(*part) /= calls);
        Some(sum)
    }

    /// One part in nanoseconds.
    #[must_use]
    pub fn part_ns(mut self, part: BudgetPart) -> f64 {
        *self.part_mut(part)
    }

    fn part_mut(&mut self, part: BudgetPart) -> &mut f64 {
        match part {
            BudgetPart::ClientWait => &mut self.client_wait_ns,
            BudgetPart::WakeUp => &mut self.wake_up_ns,
            BudgetPart::Network => &mut self.network_ns,
            BudgetPart::ServerQueue => &mut self.server_queue_ns,
            BudgetPart::PoolWait => &mut self.pool_wait_ns,
            BudgetPart::Begin => &mut self.begin_ns,
            BudgetPart::Statements => &mut self.statements_ns,
            BudgetPart::Commit => &mut self.commit_ns,
            BudgetPart::Encode => &mut self.encode_ns,
            BudgetPart::Remainder => &mut self.remainder_ns,
        }
    }

    /// One part as a share of the response time, 0 to 1; zero where there is no time to share.
    pub fn share(&self, part: BudgetPart) -> f64 {
        if self.response_ns > 0.0 { self.part_ns(part) / self.response_ns } else { 0.0 }
    }
}

/// One second (or less, at the end) of the time line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Where it begins, in seconds from the start of the window; negative in the warm-up.
    pub t_s: f64,
    /// How long it is in seconds.
    pub duration_s: f64,
    /// Whether it is in the warm-up, and so is not counted anywhere else.
    pub warmup: bool,
    /// One entry a kind, in the order of [`super::Trial::kinds`].
    pub kinds: Vec<KindSlice>,
}

/// What one kind of call did in one slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindSlice {
    pub committed: u64,
    pub declined: u64,
    /// Calls that did not complete.
    pub faults: u64,
    /// Median response time of committed calls in nanoseconds; `null` when there were none. Slices are for looking at:
    /// the rule of ten samples does not apply to them.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the same.
    pub p99_ns: Option<u64>,
    /// Longest of the same.
    pub max_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(count: u64) -> Vec<bool> {
        let q = Quantiles::new(count, 1.0, 1, |_| 1);
        [q.p50_ns, q.p90_ns, q.p95_ns, q.p99_ns, q.p999_ns].iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_percentile_with_fewer_than_ten_samples_beyond_it_is_hidden() {
        assert_eq!(shown(0), [false; 5]);
        assert_eq!(shown(19), [false; 5]);
        assert_eq!(shown(20), [true, false, false, false, false]);
        assert_eq!(shown(100), [true, true, false, false, false]);
        assert_eq!(shown(999), [true, true, true, false, false]);
        assert_eq!(shown(1_000), [true, true, true, true, false]);
        assert_eq!(shown(9_999), [true, true, true, true, false]);
        assert_eq!(shown(10_000), [true; 5]);
    }

    #[test]
    fn a_spectrum_loses_no_sample_and_stays_small() {
        let recorded: Vec<(u64, u64)> = (1..200_000_u64).map(|i| (i * 37, i % 3)).collect();
        let spectrum = Bucket::spectrum(recorded.iter().copied());
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.sum::<u64>();
        assert_eq!(
            sum(&mut spectrum.iter().map(|bucket| bucket.count())),
            sum(&mut recorded.iter().map(|(_, count)| *count))
        );
        assert!(spectrum.len() < 280, "{} buckets over seven decades", spectrum.len());
        assert!(spectrum.windows(2).all(|pair| pair[0].upper_ns() < pair[1].upper_ns()));
        assert!(spectrum.last().is_some_and(|last| last.upper_ns() >= 199_999 * 37));
    }

    #[test]
    fn the_parts_of_a_balanced_budget_sum_to_the_response_time() {
        let budget = Budget {
            response_ns: 1_000.0,
            client_wait_ns: 0.0,
            wake_up_ns: 20.0,
            network_ns: 100.0,
            server_queue_ns: 50.0,
            pool_wait_ns: 25.0,
            begin_ns: 10.0,
            statements_ns: 500.0,
            commit_ns: 200.0,
            encode_ns: 15.0,
            remainder_ns: 77.0,
        }
        .balanced();
        assert_eq!(budget.remainder_ns, 80.0);
        let sum: f64 = BudgetPart::ALL.iter().map(|part| budget.share(*part)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "shares sum to {sum}");
    }

    #[test]
    fn counts_that_lose_a_call_do_not_balance() {
        let call_counts = CallCounts {
            due: 10,
            started: 9,
            dropped: 1,
            committed: 7,
            declined: 1,
            in_doubt: 1,
            ..CallCounts::default()
        };
        assert!(call_counts.balance());
        assert!(!CallCounts { committed: 6, ..call_counts }.balance());
        assert!(!CallCounts { dropped: 0, ..call_counts }.balance());
    }
}
