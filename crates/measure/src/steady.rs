//! Whether a trial was in a steady state: no drift, no change point.

use crate::compare::mean;
use crate::intervals::autocorrelation;
use serde::{Deserialize, Serialize};

/// Slices below which nothing can be said.
const SLICES_MIN: usize = 10;
/// A change of the mean smaller than this share is of no interest, however certain it is.
const CHANGE_MIN: f64 = 0.05;
/// How many standard errors a change must stand out.
const ERRORS_MIN: f64 = 3.5;

/// What the slices of a window say about steadiness.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "steadiness")]
pub enum Steadiness {
    /// Neither drift nor change point.
    Steady,
    /// A gradual change over the whole window.
    Drift {
        /// From the first slice to the last along a straight line, as a share of the mean: −0.2 for 20 % less.
        change: f64,
    },
    /// The mean changed at one point.
    ChangePoint {
        /// The first slice after it, counted in the slices given.
        at: usize,
        /// Mean after to mean before, as a share: −0.2 for 20 % less.
        change: f64,
    },
    /// Fewer than ten slices.
    TooFew,
}

/// Looks for drift and for a change point in the rates of the slices of a window.
///
/// Two models are fitted by least squares: a straight line, and a step at the place where it fits best. Each must
/// change the mean by 5 % and stand out from the scatter that it leaves by 3.5 standard errors (more than usual, because
/// the step is the best of many places), the errors widened for correlation between neighbours. If both do, the one that
/// leaves less scatter is named.
pub fn steadiness(rates: &[f64]) -> Steadiness {
    if rates.len() < SLICES_MIN {
        return Steadiness::TooFew;
    }
    let centre = mean(rates);
    if centre <= 0.0 {
        return Steadiness::Steady;
    }
    let line = line(rates);
    let (at, step) = (2..=rates.len() - 2)
        .map(|at| (at, step(rates, at)))
        .min_by(|a, b| a.1.scatter.total_cmp(&b.1.scatter))
        .expect("ten slices have places to cut");
    match (line.stands_out(centre), step.stands_out(centre)) {
        (false, false) => Steadiness::Steady,
        (true, stepped) if !stepped || line.scatter <= step.scatter => {
            Steadiness::Drift { change: line.change / centre }
        }
        _ => Steadiness::ChangePoint { at, change: step.change / (mean(&rates[..at])) },
    }
}

/// A fitted model: how much it changes, the standard error of that, and the sum of squares that it leaves.
struct Fit {
    change: f64,
    error: f64,
    scatter: f64,
}

impl Fit {
    fn stands_out(&self, centre: f64) -> bool {
        self.change.abs() > CHANGE_MIN * centre && self.change.abs() > ERRORS_MIN * self.error
    }

    /// `leverage` is the variance of `change` for scatter of variance 1 without correlation.
    fn new(change: f64, residuals: &[f64], leverage: f64) -> Fit {
        let scatter: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let variance = scatter / (residuals.len() - 2) as f64;
        let correlation = autocorrelation(residuals).clamp(0.0, 0.9);
        let widening = (1.0 + correlation) / (1.0 - correlation);
        Fit { change, error: (variance * leverage * widening).sqrt(), scatter }
    }
}

fn line(rates: &[f64]) -> Fit {
    let (count, centre) = (rates.len() as f64, mean(rates));
    let middle = (count - 1.0) / 2.0;
    let offsets = || (0..rates.len()).map(|index| index as f64 - middle);
    let squares: f64 = offsets().map(|offset| offset * offset).sum();
    let slope = offsets().zip(rates).map(|(offset, rate)| offset * rate).sum::<f64>() / squares;
    let residuals: Vec<f64> =
        offsets().zip(rates).map(|(offset, rate)| rate - centre - slope * offset).collect();
    Fit::new(slope * (count - 1.0), &residuals, (count - 1.0).powi(2) / squares)
}

fn step(rates: &[f64], at: usize) -> Fit {
    let (before, after) = rates.split_at(at);
    let (low, high) = (mean(before), mean(after));
    let residuals: Vec<f64> =
        before.iter().map(|rate| rate - low).chain(after.iter().map(|rate| rate - high)).collect();
    Fit::new(high - low, &residuals, 1.0 / before.len() as f64 + 1.0 / after.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Random;

    /// 60 slices around `level(index)`, with 2 % of noise.
    fn series(seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Random::stream(seed, &[2]);
        let mut noise = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        (0..60).map(|index| level(index) * (1.0 + 0.02 * noise())).collect()
    }

    #[test]
    fn a_steady_series_is_steady() {
        let alarms =
            (0..300).filter(|seed| steadiness(&series(*seed, |_| 500.0)) != Steadiness::Steady).count();
        assert_eq!(alarms, 0);
        // A noise of half the mean is not steady or unsteady: it must not raise an alarm by itself either.
        let mut random = Random::stream(3, &[3]);
        let mut wild = || (0..60).map(|_| 500.0 + 500.0 * random.unit()).collect::<Vec<_>>();
        let alarms = (0..300).filter(|_| steadiness(&wild()) != Steadiness::Steady).count();
        assert!(alarms <= 9, "{alarms} of 300");
    }

    #[test]
    fn drift_is_found_in_both_directions() {
        for (sign, seed) in [(1.0, 1), (-1.0, 2)] {
            let rates = series(seed, |index| 1_000.0 + sign * 4.0 * index as f64);
            match steadiness(&rates) {
                Steadiness::Drift { change } => assert!((sign * change - 0.23).abs() < 0.06, "{change}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_change_point_is_found_in_both_directions_and_at_its_place() {
        for (after, expected) in [(800.0, -0.2), (1_200.0, 0.2)] {
            let rates = series(5, |index| if index < 40 { 1_000.0 } else { after });
            match steadiness(&rates) {
                Steadiness::ChangePoint { at, change } => {
                    assert!(at.abs_diff(40) <= 1, "{at}");
                    assert!((change - expected).abs() < 0.02, "{change}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn few_slices_and_an_idle_trial_say_nothing() {
        assert_eq!(steadiness(&[1.0; 9]), Steadiness::TooFew);
        assert_eq!(steadiness(&[0.0; 20]), Steadiness::Steady);
    }
}
