//! Latencies of one class of calls: a histogram with an exact mean and an exact maximum.

use crate::spectrum::Spectrum;
use hdrhistogram::Histogram;
use model::Nanos;
use serde::{Deserialize, Serialize};

/// Resolution at the short end. Below 16 µs a latency is known to within this; above, to within 1 %.
const RESOLUTION_NS: u64 = 128;
/// Latencies beyond this are counted as this; the maximum and the mean stay exact. About 17 minutes.
const LATENCY_MAX: Nanos = Nanos::from_secs(1_000);
/// Significant decimal digits kept by the histogram.
const DIGITS: u8 = 2;

/// A percentile is only given when at least this many samples lie beyond it.
pub const BEYOND_MIN: u64 = 10;

/// Latencies of one class of calls. About 14 KiB, all allocated when made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Spectrum", into = "Spectrum")]
pub struct Latencies {
    histogram: Histogram<u32>,
    sum: Nanos,
    max: Nanos,
}

/// Latencies in the numbers that reports print. Percentiles with fewer than [`BEYOND_MIN`] samples beyond are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub count: u64,
    /// Exact mean.
    pub mean: Option<Nanos>,
    /// Half of the calls were at most this long.
    pub p50: Option<Nanos>,
    /// 90 %.
    pub p90: Option<Nanos>,
    /// 95 %.
    pub p95: Option<Nanos>,
    /// 99 %.
    pub p99: Option<Nanos>,
    /// 99.9 %.
    pub p999: Option<Nanos>,
    /// Exact maximum.
    pub max: Option<Nanos>,
}

impl Latencies {
    /// No calls yet.
    pub fn new() -> Latencies {
        let histogram = Histogram::new_with_bounds(RESOLUTION_NS, LATENCY_MAX.0, DIGITS)
            .expect("the bounds are constants that the library accepts");
        Latencies { histogram, sum: Nanos::ZERO, max: Nanos::ZERO }
    }

    /// Counts one call. Never allocates.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.histogram.saturating_record(latency.0.min(LATENCY_MAX.0));
        self.sum += latency;
        self.max = self.max.max(latency);
    }

    /// Counts so many calls that took as long.
    pub fn record_many(&mut self, latency: Nanos, calls: u64) {
        self.histogram
            .saturating_record_n(latency.0.min(LATENCY_MAX.0), u32::try_from(calls).unwrap_or(u32::MAX));
        self.sum += Nanos(latency.0.saturating_mul(calls));
        self.max = self.max.max(latency);
    }

    /// Adds all calls of `other`.
    pub fn absorb(&mut self, other: &Latencies) {
        self.histogram.add(&other.histogram).expect("all histograms have the same bounds");
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Adds all calls of one that was written down.
    pub fn absorb_spectrum(&mut self, other: &Spectrum) {
        for (bound, calls) in &other.steps {
            let calls = u32::try_from(*calls).unwrap_or(u32::MAX);
            self.histogram.saturating_record_n(bound.0.min(LATENCY_MAX.0), calls);
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Forgets all calls without giving memory back.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.histogram.reset();
            self.sum = Nanos::ZERO;
            self.max = Nanos::ZERO;
        }
    }

    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn footprint(&self) -> usize {
        self.histogram.distinct_values() * size_of::<u32>()
    }

    /// The exact sum of all latencies.
    pub fn sum(&self) -> Nanos {
        self.sum
    }

    /// The exact mean.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.0.checked_div(self.count()).map(Nanos)
    }

    /// The exact maximum.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.max)
    }

    /// How many calls surely took longer than `bound`: those that the histogram cannot tell from it are not among them, so
    /// that as many lie beyond it in any percentile that is read from here.
    pub fn count_beyond(&self, bound: Nanos) -> u64 {
        if bound >= LATENCY_MAX {
            return 0;
        }
        let listed = self.histogram.highest_equivalent(bound.0);
        let steps = self.histogram.iter_recorded();
        let beyond = steps.filter(|step| self.histogram.lowest_equivalent(step.value_iterated_to()) > listed);
        beyond.map(|step| step.count_since_last_iteration()).sum()
    }

    /// The latency that the share `quantile` (0 to 1) of calls did not exceed, to within 1 %; absent with fewer than
    /// [`BEYOND_MIN`] calls beyond it.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        let beyond = self.count() as f64 * (1.0 - quantile);
        // Half a call of slack: 1,000 × (1 − 0.99) is a little less than 10 in binary.
        if beyond + 1e-6 < BEYOND_MIN as f64 {
            return None;
        }
        self.rough_quantile(quantile)
    }

    /// The latency that the share `quantile` (0 to 1) of `all` calls did not exceed, where those of them that are not in
    /// here took longer than any bound: absent where it is one of those.
    pub fn quantile_of(&self, quantile: f64, all: u64) -> Option<Nanos> {
        // A little less, since 0.9 × 10 is a little more than 9 in binary.
        let rank = (quantile * all as f64 - 1e-6).ceil().max(1.0);
        let share = rank / self.count().max(1) as f64;
        (share <= 1.0).then(|| self.rough_quantile(share)).flatten()
    }

    /// The same from any number of calls but none: to look at, not to print as a number.
    pub fn rough_quantile(&self, quantile: f64) -> Option<Nanos> {
        let value = || Nanos(self.histogram.value_at_quantile(quantile)).min(self.max);
        (!self.is_empty()).then(value)
    }

    /// All numbers that reports print.
    pub fn summary(&self) -> Summary {
        Summary {
            count: self.count(),
            mean: self.mean(),
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p999: self.quantile(0.999),
            max: self.max(),
        }
    }

    /// The whole distribution as (upper bound, calls up to it and above the one before), ascending, without empty steps.
    pub fn spectrum(&self) -> Vec<(Nanos, u64)> {
        self.histogram
            .iter_recorded()
            .map(|step| {
                let bound = self.histogram.highest_equivalent(step.value_iterated_to());
                (Nanos(bound), step.count_since_last_iteration())
            })
            .collect()
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        values.into_iter().for_each(|value| latencies.record(Nanos(value)));
        latencies
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond_it() {
        assert_eq!(filled(1..=999).summary().p99, None);
        assert!(filled(1..=1_000).summary().p99.is_some());
        assert!(filled(1..=1_000).summary().p999.is_none());
        assert!(filled(1..=10_000).summary().p999.is_some());
        assert_eq!(filled(1..=19).summary().p50, None);
        assert_eq!(filled([]).summary(), Summary::default());
    }

    #[test]
    fn percentiles_are_right_to_one_percent_from_microseconds_to_minutes() {
        for scale in [1_000u64, 1_000_000, 10_000_000] {
            let latencies = filled((1..=10_000).map(|step| step * scale));
            for (quantile, exact) in [(0.5, 5_000), (0.9, 9_000), (0.99, 9_900), (0.999, 9_990)] {
                let got = latencies.quantile(quantile).unwrap().0 as f64;
                let exact = (exact * scale) as f64;
                assert!((got / exact - 1.0).abs() < 0.01, "{quantile} at {scale}: {got} for {exact}");
            }
        }
    }

    #[test]
    fn as_many_calls_as_are_count_beyond_a_bound_lift_a_percentile_above_it() {
        let latencies = filled((1..=1_000).map(|step| step * 100_000));
        let bound = Nanos::from_millis(90);
        let beyond = latencies.count_beyond(bound);
        assert!((90..=100).contains(&beyond), "{beyond}");
        // One more of them than p91 leaves above it, and p91 is above the bound.
        let quantile = 1.0 - (beyond as f64 - 0.5) / 1_000.0;
        assert!(latencies.rough_quantile(quantile).unwrap() > bound);
        assert_eq!(filled([50_000_000; 20]).count_beyond(Nanos(50_000_000)), 0);
        assert_eq!(filled([LATENCY_MAX.0 * 2; 20]).count_beyond(LATENCY_MAX), 0);
        assert_eq!(filled([]).count_beyond(Nanos(1)), 0);
    }

    #[test]
    fn percentiles_rise_and_never_exceed_the_maximum() {
        let summary = filled((0..50_000).map(|step| step * step)).summary();
        let rising = [summary.p50, summary.p90, summary.p95, summary.p99, summary.p999, summary.max];
        assert!(rising.is_sorted(), "{rising:?}");
        assert_eq!(summary.max, Some(Nanos(49_999 * 49_999)));
    }

    #[test]
    fn what_is_too_long_for_the_histogram_still_counts() {
        let latencies = filled([Nanos::from_secs(5_000).0; 20]);
        assert_eq!((latencies.count(), latencies.max()), (20, Some(Nanos::from_secs(5_000))));
        assert_eq!(latencies.mean(), Some(Nanos::from_secs(5_000)));
        assert!(latencies.quantile(0.5).unwrap() >= LATENCY_MAX);
    }

    #[test]
    fn the_spectrum_holds_every_call_in_rising_order() {
        let spectrum = filled((1..5_000).map(|step| step * 777)).spectrum();
        assert_eq!(spectrum.iter().map(|(_, count)| count).sum::<u64>(), 4_999);
        assert!(spectrum.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn absorbing_is_the_same_as_recording_together() {
        let (mut left, right) = (filled(1..=700), filled(500..=4_000));
        left.absorb(&right);
        let both = filled((1..=700).chain(500..=4_000));
        assert_eq!((left.summary(), left.spectrum()), (both.summary(), both.spectrum()));
        left.clear();
        assert_eq!((left.summary(), left.sum()), (Summary::default(), Nanos::ZERO));
    }
}
