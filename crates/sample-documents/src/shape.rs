//! Shapes of latency: mixtures of log-logistic humps, cut into buckets.

use result::{BUCKETS_A_DECADE, Bucket, Quantiles};

/// One population of calls.
#[derive(Clone, Copy)]
pub(super) struct Hump {
    /// Its share of all calls.
    pub(super) share: f64,
    /// Its median in nanoseconds.
    pub(super) median_ns: f64,
    /// Its width: about a quarter of the span in decades that holds most of it.
    pub(super) width: f64,
}

/// The buckets of `count` calls.
pub(super) fn spectrum(humps: &[Hump], count: u64) -> Vec<Bucket> {
    let below = |ns: f64| -> f64 {
        humps
            .iter()
            .map(|hump| hump.share / (1.0 + (-(ns / hump.median_ns).log10() / hump.width).exp()))
            .sum()
    };
    let bound = |step: i32| 10_f64.powf(f64::from(step) / BUCKETS_A_DECADE);
    let (mut buckets, mut entered) = (Vec::new(), 0);
    // From 1 µs to 10 s.
    for step in 120..=400 {
        let cumulated = (below(bound(step)) * count as f64).round() as u64;
        if cumulated > entered {
            buckets.push(Bucket(bound(step) as u64, cumulated - entered));
            entered = cumulated;
        }
    }
    buckets
}

/// The percentiles that follow from buckets.
pub(super) fn quantiles(buckets: &[Bucket]) -> Quantiles {
    let count: u64 = buckets.iter().map(|bucket| bucket.count()).sum();
    let at = |quantile: f64| {
        let rank = (quantile * count as f64).ceil() as u64;
        let mut entered = 0;
        buckets
            .iter()
            .find(|bucket| {
                entered += bucket.count();
                entered >= rank
            })
            .map_or(0, |bucket| bucket.upper_ns())
    };
    let sum: f64 = buckets.iter().map(|bucket| bucket.upper_ns() as f64 * bucket.count() as f64).sum();
    let max_ns = buckets.last().map_or(0, |bucket| bucket.upper_ns());
    Quantiles::new(count, sum / count.max(1) as f64, max_ns, at)
}
