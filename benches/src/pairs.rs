//! Two ways of doing the same, measured in turn, so that the machine's mood meets both alike.

use measure::thread_cpu;
use model::random::Random;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 1_000;

/// The two sides of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What is measured against.
    A,
    B,
}

/// Whose turn it is: A B, then B A, and so on, so that neither is always the first.
pub fn turns(pairs: usize) -> impl Iterator<Item = [Side; 2]> {
    (0..pairs).map(|pair| if pair % 2 == 0 { [Side::A, Side::B] } else { [Side::B, Side::A] })
}

/// CPU seconds that one go takes on this thread: time in which others had the core does not count.
pub fn cpu_seconds(go: impl FnOnce()) -> f64 {
    let before = thread_cpu();
    go();
    (thread_cpu() - before).as_secs_f64()
}

/// A median with what it was taken from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The lowest figure.
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// Of some figures.
    ///
    /// # Panics
    /// When there is none.
    pub fn of(figures: &[f64]) -> Spread {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        Spread { median: middle(&sorted), low: sorted[0], high: sorted[sorted.len() - 1] }
    }
}

/// The ratio of B to A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The median over the pairs.
    pub median: f64,
    /// 95 % bootstrap interval of that median.
    pub interval: (f64, f64),
    pub pairs: usize,
}

impl Ratio {
    /// Of pairs of figures, each measured side by side.
    ///
    /// # Panics
    /// When there is none.
    pub fn of(a: &[f64], b: &[f64]) -> Ratio {
        let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
        let mut random = Random::stream(1, &[]);
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let mut drawn: Vec<f64> =
                    ratios.iter().map(|_| ratios[random.below(ratios.len() as u64) as usize]).collect();
                let at = drawn.len() / 2;
                // The upper of two middles will do for an interval.
                *drawn.select_nth_unstable_by(at, f64::total_cmp).1
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let interval = (medians[RESAMPLES / 40], medians[RESAMPLES - 1 - RESAMPLES / 40]);
        Ratio { median: Spread::of(&ratios).median, interval, pairs: ratios.len() }
    }
}

fn middle(sorted: &[f64]) -> f64 {
    let at = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[at] } else { (sorted[at - 1] + sorted[at]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_take_turns_in_going_first() {
        let order: Vec<Side> = turns(2).flatten().collect();
        assert_eq!(order, [Side::A, Side::B, Side::B, Side::A]);
    }

    #[test]
    fn a_ratio_is_found_under_noise_and_its_interval_covers_it() {
        let mut random = Random::stream(7, &[]);
        let mut noisy = |mean: f64| mean * (1.0 + random.exponential(0.05));
        let (a, b): (Vec<f64>, Vec<f64>) = (0..2_000).map(|_| (noisy(1.0), noisy(1.02))).unzip();
        let ratio = Ratio::of(&a, &b);
        assert!(ratio.interval.0 < 1.02 && 1.02 < ratio.interval.1, "{ratio:?}");
        assert!(ratio.interval.1 - ratio.interval.0 < 0.02, "{ratio:?}");
    }
}
