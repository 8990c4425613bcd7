//! Two ways of doing the same, measured in turn, so that the machine's mood meets both alike.

use measure::Monotonic;
use model::Clock;

/// Seconds that one go takes.
pub fn seconds(mut go: impl FnMut()) -> f64 {
    let clock = Monotonic::start();
    go();
    clock.now().as_secs_f64()
}

/// The median of some figures.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The median ratio of `b` to `a` over pairs, with the lowest and the highest.
#[must_use]
pub fn ratio(a: &[f64], b: &[f64]) -> (f64, f64, f64) {
    let mut ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
    ratios.sort_by(f64::total_cmp);
    (median(&ratios), ratios[0], ratios[ratios.len() - 1])
}
