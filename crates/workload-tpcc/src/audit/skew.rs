//! How uneven picks must be. The most frequent tenth of numbers gets a known share of NURand's picks, and few draws
//! look more uneven than they are; so the expectation comes from as many simulated draws.

use super::judge::held;
use super::{Figure, Finding};
use crate::input::nurand;
use crate::ledger::ITEM_SAMPLE;
use crate::top_tenth;
use model::random::Random;
use sql::audit::SIGMAS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// ol_i_id: NURand(8191, 1, items).
    Item,
    /// Of these, one number in [`ITEM_SAMPLE`]. Its skew is less: the low bits, which contribute to it, are alike.
    SampledItem,
    /// c_id: NURand(1023, 1, customers).
    Customer,
}

/// Any will do: the expectation hardly depends on it.
const SEED: u64 = 0x5ce3;
/// More draws than this change the expectation by less than the slack below.
const DRAWS_MAX: u64 = 2_000_000;
/// What is not worth calling a difference, compared with chance.
const SLACK: f64 = 0.01;
/// Simulations from which the scatter is taken. Picks of NURand come in clusters, and the busiest tenth of few picks is
/// found by looking: their share scatters by more than that of independent picks would.
const SIMULATIONS: u64 = 24;
/// With more draws the scatter is far below the slack, and one simulation tells the expectation.
const SCATTERED_MAX: u64 = 100_000;
/// Standard errors that chance is allowed; one more than for a share whose error is known and not itself estimated.
const ERRORS_MAX: f64 = SIGMAS + 1.0;
/// An expectation beyond this comes from picks that hardly fill the busiest tenth, and scatter to one side only.
const EXPECTED_MAX: f64 = 0.97;

/// Judges `top` of `draws` picks for the tenth of `numbers` that has most.
pub(super) fn judged(promise: &str, field: Field, numbers: u32, draws: u64, top: u64) -> Finding {
    if numbers < 10 || draws == 0 {
        return Finding::not_told(format!("nothing was picked, so it is unknown whether {promise}"), None);
    }
    let (expected, scatter) = expectation(field, numbers, draws, true);
    let (even, even_scatter) = expectation(field, numbers, draws, false);
    let tolerance = SLACK + ERRORS_MAX * scatter;
    let figure = Figure { measured: top as f64 / draws as f64, expected, tolerance, samples: draws };
    // Where even picks could pass, passing would say nothing.
    if expected > EXPECTED_MAX || (expected - even).abs() < tolerance + ERRORS_MAX * even_scatter {
        let sentence = format!(
            "too few picks to decide whether {promise}: the busiest tenth has {:.1} % of {draws}, uneven picks would give \
             {:.1} %, even ones {:.1} %",
            figure.measured * 100.0,
            expected * 100.0,
            even * 100.0
        );
        return Finding::not_told(sentence, Some(figure));
    }
    let promise = format!("{promise} (share of the busiest tenth)");
    held(&promise, figure)
}

/// Whether so many picks are as even as if each number were picked alike. Of some dozen runs with other constants each,
/// picks together come near to it; of a few they stay far from it.
pub(super) fn is_even(field: Field, numbers: u32, draws: u64, top: u64) -> bool {
    let (even, scatter) = expectation(field, numbers, draws, false);
    top as f64 / draws as f64 <= even + SLACK + ERRORS_MAX * scatter
}

/// The share of the most frequent tenth after as many draws: its mean, and its standard deviation.
fn expectation(field: Field, numbers: u32, draws: u64, uneven: bool) -> (f64, f64) {
    let runs = if draws > SCATTERED_MAX { 1 } else { SIMULATIONS };
    let shares: Vec<f64> = (0..runs).map(|run| simulated(field, numbers, draws, uneven, run)).collect();
    let mean = shares.iter().sum::<f64>() / runs as f64;
    let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
    let scatter = match runs {
        1 => (mean * (1.0 - mean) / draws as f64).sqrt(),
        runs => (squares / (runs - 1) as f64).sqrt(),
    };
    (mean, scatter)
}

/// The share in one simulation.
fn simulated(field: Field, numbers: u32, draws: u64, uneven: bool, run: u64) -> f64 {
    let mut random = Random::stream(SEED, &[u64::from(uneven), run]);
    let mut counts = vec![0_u32; numbers as usize];
    let draws = draws.min(DRAWS_MAX);
    let mut drawn = 0;
    while drawn < draws {
        let number = match (field, uneven) {
            (_, false) => random.below(u64::from(numbers)) as u32 + 1,
            (Field::Item, true) => nurand(&mut random, 8191, 0, 1, numbers),
            (Field::Customer, true) => nurand(&mut random, 1023, 0, 1, numbers),
            (Field::SampledItem, true) => {
                let number = nurand(&mut random, 8191, 0, 1, numbers * ITEM_SAMPLE);
                if !number.is_multiple_of(ITEM_SAMPLE) {
                    continue;
                }
                number / ITEM_SAMPLE
            }
        };
        counts[number as usize - 1] += 1;
        drawn += 1;
    }
    top_tenth(&counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditOutcome;

    /// The picks of `seed`, counted and sorted: how many of them the busiest tenth of customers has.
    fn busiest_tenth(seed: u64, draws: u64, uneven: bool) -> u64 {
        let mut random = Random::stream(seed, &[7]);
        let mut counts = vec![0_u32; 3_000];
        for _ in 0..draws {
            let number = if uneven {
                nurand(&mut random, 1023, seed as u32 % 1024, 1, 3_000)
            } else {
                random.range(1, 3_000) as u32
            };
            counts[number as usize - 1] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts[..300].iter().map(|count| u64::from(*count)).sum()
    }

    fn only_an_even_run_fails(seeds: u64) {
        for draws in [250, 340, 400, 450, 500, 700, 1_500] {
            for seed in 0..seeds {
                let verdict = |uneven| {
                    judged("it holds", Field::Customer, 3_000, draws, busiest_tenth(seed, draws, uneven))
                        .verdict
                };
                assert_ne!(verdict(true), AuditOutcome::Failed, "seed {seed}, {draws} draws");
                assert_ne!(verdict(false), AuditOutcome::Passed, "seed {seed}, {draws} draws");
            }
        }
        let even = judged("it holds", Field::Customer, 3_000, 5_000, busiest_tenth(1, 5_000, false));
        assert_eq!(even.verdict, AuditOutcome::Failed);
    }

    #[test]
    fn an_honest_run_is_not_failed_for_having_few_calls_and_an_even_one_is_never_passed() {
        only_an_even_run_fails(25);
    }

    mod extended {
        #[test]
        fn an_honest_run_is_not_failed_and_an_even_one_not_passed_for_many_seeds() {
            super::only_an_even_run_fails(250);
        }
    }

    #[test]
    fn the_standard_s_shares_come_out() {
        let item = simulated(Field::Item, 100_000, 1_000_000, true, 0);
        assert!((0.72..0.75).contains(&item), "{item}");
        let customer = simulated(Field::Customer, 3_000, 1_000_000, true, 0);
        assert!((0.61..0.65).contains(&customer), "{customer}");
        let uniform = simulated(Field::Item, 100_000, 1_000_000, false, 0);
        assert!((0.10..0.18).contains(&uniform), "{uniform}");
    }
}
