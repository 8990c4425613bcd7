//! A mean rate with its 95 % interval, from the slices of one trial.

use crate::compare::{mean, spread};
use crate::student::{INTERVAL_95, student_t};
use serde::{Deserialize, Serialize};

/// Batches are not merged further below this number.
const BATCHES_MIN: usize = 10;

/// A mean rate and how well one trial knows it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateInterval {
    /// Mean of the slices.
    pub mean: f64,
    /// Half the width of the 95 % interval.
    pub half_width: f64,
    /// Batches from which it was made.
    pub batches: u32,
    /// Correlation of a batch with the next one that was left over.
    pub autocorrelation: f64,
}

/// The mean of `rates`, one a slice, with a 95 % interval by batch means; absent below three slices.
///
/// Neighbouring slices resemble each other (a checkpoint spans several), which makes an interval from single slices too
/// narrow. So neighbours are merged in pairs, and again, until a batch no longer resembles the next one (correlation
/// within what chance gives) or ten batches are left. What correlation r is left then widens the interval by
/// √((1 + r)/(1 − r)), the factor of a first-order autoregressive series.
///
/// It says how well this trial knows its own mean; another trial may differ by more.
pub fn rate_interval(rates: &[f64]) -> Option<RateInterval> {
    if rates.len() < 3 {
        return None;
    }
    let mut batches = rates.to_vec();
    let mut correlation = autocorrelation(&batches);
    while correlation > 1.64 / (batches.len() as f64).sqrt() && batches.len() >= 2 * BATCHES_MIN {
        // A slice left over at the end goes into the mean, not into a batch of half the size.
        batches = batches.chunks_exact(2).map(mean).collect();
        correlation = autocorrelation(&batches);
    }
    let left = correlation.clamp(0.0, 0.95);
    let widening = ((1.0 + left) / (1.0 - left)).sqrt();
    let count = batches.len() as f64;
    let half_width =
        student_t(INTERVAL_95, batches.len() as u32 - 1) * spread(&batches) / count.sqrt() * widening;
    Some(RateInterval {
        mean: mean(rates),
        half_width,
        batches: batches.len() as u32,
        autocorrelation: correlation,
    })
}

/// Correlation of each value with the next; zero for a constant series.
pub(crate) fn autocorrelation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Half the width of the 95 % interval of the mean of independent values, one a trial (Student); absent below two.
pub fn mean_interval(values: &[f64]) -> Option<f64> {
    let count = values.len();
    (count >= 2).then(|| student_t(INTERVAL_95, count as u32 - 1) * spread(values) / (count as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Random;

    /// A first-order autoregressive series around 1,000.
    fn series(seed: u64, slices: usize, memory: f64) -> Vec<f64> {
        let mut random = Random::stream(seed, &[1]);
        let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let mut level = noise() / (1.0 - memory * memory).sqrt();
        (0..slices)
            .map(|_| {
                level = memory * level + noise();
                1_000.0 + 10.0 * level
            })
            .collect()
    }

    #[test]
    fn the_interval_covers_the_truth_even_when_slices_resemble_their_neighbours() {
        for (memory, least) in [(0.0, 0.92), (0.5, 0.88), (0.8, 0.84)] {
            let covers = |seed| {
                let interval = rate_interval(&series(seed, 120, memory)).unwrap();
                (interval.mean - 1_000.0).abs() <= interval.half_width
            };
            let coverage = (0..1_000).filter(|seed| covers(*seed)).count() as f64 / 1_000.0;
            assert!((least..=0.99).contains(&coverage), "memory {memory}: {coverage}");
        }
    }

    #[test]
    fn a_constant_rate_is_known_exactly_and_two_slices_are_too_few() {
        let interval = rate_interval(&[5.0; 30]).unwrap();
        assert_eq!((interval.mean, interval.half_width), (5.0, 0.0));
        assert_eq!(rate_interval(&[5.0, 6.0]), None);
    }
}
