//! Comparing two subjects from paired blocks of trials.
//!
//! Each block gives one ratio of B to A. The effect is their geometric mean. Its 95 % interval comes from a paired
//! bootstrap of the log ratios, rescaled: with few blocks the plain percentile bootstrap is too narrow, because its
//! spread is smaller than the sample's by √((n − 1)/n) and because it takes no account of how badly few blocks know
//! their own spread (Hesterberg 2015, section 3.2). Hesterberg's own remedy, more extreme percentiles, cannot help with
//! five blocks: no resample lies outside the sample, and the range of five covers the mean 93.75 % of the time at best.
//! So the bootstrap gives the interval its shape, how much of it lies on either side of the mean, and Student's t gives
//! it its width, `2 t s / √n`. Over 60,000 simulated comparisons each of 3, 4, 5, 7 and 10 blocks it covered the truth
//! 94.6 to 95.0 % of the time; a test below repeats that with fewer.

use crate::student::{INTERVAL_95, POWER_80, student_t};
use model::random::Random;
use serde::{Deserialize, Serialize};

/// Blocks below which there is no interval and every verdict is "cannot tell".
pub const BLOCKS_MIN: usize = 3;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 2_000;

/// How many more blocks than the normal distribution says [`blocks_to_tell`] tries; it takes two or three.
const STEPS_TO_TELL: u32 = 8;

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Rates: more is better.
    Higher,
    /// Times and costs: less is better.
    Lower,
}

/// Under which terms a comparison is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Which way is good.
    pub better: Better,
    /// The largest difference that does not matter, as a share: 0.05 for 5 %. Only an interval inside ± this share is "no
    /// difference": that a difference is smaller than the noise says nothing where the noise is large.
    pub margin: f64,
    /// What an A/A control shows on this machine, as a share ([`noise_floor`]); an effect within it is never better or
    /// worse, and where it may be beyond the margin nothing can be told. Zero where no control was run.
    pub noise_floor: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// B is better than A.
    Better,
    /// B is worse than A.
    Worse,
    /// If there is a difference, it is not beyond this share, which the margin allows.
    NoDifference {
        /// As a share: 0.02 for ± 2 %.
        beyond: f64,
    },
    /// The interval holds both a difference that matters and none, or what it holds may be the noise of the machine, or
    /// there are too few blocks.
    CannotTell,
}

/// The ratio of B to A, how well it is known, and what that means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// One ratio of B to A a block.
    pub ratios: Vec<f64>,
    /// Their geometric mean.
    pub effect: f64,
    /// 95 % interval of the effect; absent below [`BLOCKS_MIN`] blocks.
    pub interval: Option<(f64, f64)>,
    /// The smallest difference, as a share, that this number of blocks with this spread would have shown as better or
    /// worse four times in five.
    pub detectable: Option<f64>,
    /// What it means.
    pub verdict: Verdict,
}

/// Compares from one ratio of B to A a block. Ratios that are not positive numbers, from a trial without throughput,
/// leave nothing to tell.
#[must_use]
pub fn compare(ratios: &[f64], terms: &Terms) -> Comparison {
    let mean = mean(&ratios.iter().map(|ratio| ratio.ln()).collect::<Vec<f64>>());
    let known = known_logs(ratios);
    let interval = known.as_ref().map(|logs| bootstrap(logs, terms.seed));
    Comparison {
        ratios: ratios.to_vec(),
        effect: mean.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        detectable: known.map(|logs| shown_by(spread(&logs), logs.len() as u32).exp_m1()),
        verdict: interval.map_or(Verdict::CannotTell, |interval| judge(mean, interval, terms)),
    }
}

/// About how many blocks would tell a difference of `share`, four times in five, if they scatter as these do; at least
/// [`BLOCKS_MIN`]. Absent where these are too few to know their scatter, which a handful knows only roughly.
///
/// # Panics
/// When `share` is not above zero: no number of blocks tells that.
#[must_use]
pub fn blocks_to_tell(ratios: &[f64], share: f64) -> Option<u32> {
    assert!(share > 0.0, "a difference of nothing cannot be told");
    let spread = spread(&known_logs(ratios)?);
    let shown = |blocks: u32| shown_by(spread, blocks) <= share.ln_1p();
    // From the normal distribution, which is too few by the little that Student's t adds.
    let least = ((INTERVAL_95.normal + POWER_80.normal) * spread / share.ln_1p()).powi(2);
    let first = (least as u32).max(BLOCKS_MIN as u32);
    // Far out the two agree, so that the last step is one of a few; a scatter that large needs no exact number.
    Some(
        (first..first.saturating_add(STEPS_TO_TELL))
            .find(|blocks| shown(*blocks))
            .unwrap_or(first.saturating_add(STEPS_TO_TELL)),
    )
}

/// The noise floor that an A/A control shows, as a share: the far end of the 95 % interval of its effect, so that an
/// effect beyond it is not one that the same subject twice would show. Absent with too few blocks.
#[must_use]
pub fn noise_floor(ratios: &[f64], seed: u64) -> Option<f64> {
    let (low, high) = bootstrap(&known_logs(ratios)?, seed);
    Some(low.abs().max(high.abs()).exp_m1())
}

/// The logarithms of ratios that are enough, and numbers, to know their scatter.
fn known_logs(ratios: &[f64]) -> Option<Vec<f64>> {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    (logs.len() >= BLOCKS_MIN && logs.iter().all(|log| log.is_finite())).then_some(logs)
}

fn judge(effect: f64, (low, high): (f64, f64), terms: &Terms) -> Verdict {
    let (margin, floor) = (terms.margin.ln_1p(), terms.noise_floor.ln_1p());
    let farthest = low.abs().max(high.abs());
    if (low > 0.0 || high < 0.0) && effect.abs() > floor {
        let rises = effect > 0.0;
        return if rises == (terms.better == Better::Higher) { Verdict::Better } else { Verdict::Worse };
    }
    if farthest <= margin {
        return Verdict::NoDifference { beyond: farthest.exp_m1() };
    }
    Verdict::CannotTell
}

/// The 95 % interval of the mean; see the head of this file.
fn bootstrap(values: &[f64], seed: u64) -> (f64, f64) {
    let count = values.len();
    let centre = mean(values);
    let mut random = Random::stream(seed, &[0x6162]);
    let mut resample = || -> f64 {
        let sum: f64 = (0..count).map(|_| values[random.below(count as u64) as usize]).sum();
        sum / count as f64
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resample()).collect();
    means.sort_unstable_by(f64::total_cmp);
    let low = means[RESAMPLES / 40];
    let high = means[RESAMPLES - 1 - RESAMPLES / 40];
    if high <= low {
        return (centre, centre);
    }
    let width = 2.0 * student_t(INTERVAL_95, count as u32 - 1) * spread(values) / (count as f64).sqrt();
    let scale = width / (high - low);
    (centre - (centre - low) * scale, centre + (high - centre) * scale)
}

/// The smallest effect that `blocks` of this spread would show with a power of 0.8: `(t₀.₉₇₅ + t₀.₈) s / √n`, all on the log
/// scale.
fn shown_by(spread: f64, blocks: u32) -> f64 {
    let freedom = blocks - 1;
    let steps = student_t(INTERVAL_95, freedom) + student_t(POWER_80, freedom);
    steps * spread / f64::from(blocks).sqrt()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of a sample of at least two.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { better: Better::Higher, margin: 0.05, noise_floor: 0.0, seed: 1 };

    /// A normal variate by Box and Muller.
    fn normal(random: &mut Random) -> f64 {
        (2.0 * random.exponential(1.0)).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
    }

    fn ratios(random: &mut Random, blocks: usize, effect: f64, spread: f64) -> Vec<f64> {
        (0..blocks).map(|_| (effect.ln() + spread * normal(random)).exp()).collect()
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        // Falsely worse are 2.5 %, and 3 % are refused: three standard errors away with so many rounds.
        const ROUNDS: usize = 10_000;
        for blocks in [3, 5, 10] {
            let mut random = Random::stream(20, &[blocks as u64]);
            let mut covered = 0;
            let mut false_worse = 0;
            for round in 0..ROUNDS {
                let terms = Terms { seed: round as u64, ..TERMS };
                let comparison = compare(&ratios(&mut random, blocks, 1.0, 0.02), &terms);
                let (low, high) = comparison.interval.unwrap();
                covered += usize::from(low <= 1.0 && 1.0 <= high);
                false_worse += usize::from(comparison.verdict == Verdict::Worse);
            }
            let share = |count| count as f64 / ROUNDS as f64;
            let (coverage, false_worse) = (share(covered), share(false_worse));
            println!("{blocks} blocks: coverage {coverage}, false worse {false_worse}");
            assert!((0.93..=0.97).contains(&coverage), "{blocks} blocks cover {coverage}");
            assert!(false_worse < 0.03, "{blocks} blocks: false worse {false_worse}");
        }
    }

    #[test]
    fn a_detectable_difference_is_detected_four_times_in_five() {
        const ROUNDS: usize = 600;
        for blocks in [5, 10] {
            let mut random = Random::stream(21, &[blocks as u64]);
            // The true spread gives the difference that the formula promises to detect.
            let freedom = blocks as u32 - 1;
            let steps = student_t(INTERVAL_95, freedom) + student_t(POWER_80, freedom);
            let effect = (steps * 0.02 / (blocks as f64).sqrt()).exp();
            let found = (0..ROUNDS)
                .filter(|_| {
                    compare(&ratios(&mut random, blocks, effect, 0.02), &TERMS).verdict == Verdict::Better
                })
                .count();
            let power = found as f64 / ROUNDS as f64;
            assert!((0.72..0.88).contains(&power), "{blocks} blocks: power {power}");
        }
    }

    #[test]
    fn the_four_verdicts_say_what_they_mean() {
        let verdict = |ratios: &[f64], terms: Terms| compare(ratios, &terms).verdict;
        let up = [1.20, 1.22, 1.19, 1.21, 1.20];
        let near = [1.001, 0.999, 1.002, 1.0, 0.998];
        let wild = [0.5, 1.9, 0.8, 1.4, 1.0];
        assert_eq!(verdict(&up, TERMS), Verdict::Better);
        assert_eq!(verdict(&up, Terms { better: Better::Lower, ..TERMS }), Verdict::Worse);
        assert!(matches!(verdict(&near, TERMS), Verdict::NoDifference { beyond } if beyond < 0.01));
        assert_eq!(verdict(&wild, TERMS), Verdict::CannotTell);
        assert_eq!(verdict(&up[..2], TERMS), Verdict::CannotTell);
        assert_eq!(verdict(&[1.0, 0.0, 1.0, 1.0], TERMS), Verdict::CannotTell);
        assert_eq!(verdict(&[1.0, f64::NAN, 1.0], TERMS), Verdict::CannotTell);
    }

    #[test]
    fn an_effect_within_the_noise_of_the_machine_is_never_better_or_worse() {
        let slight = [1.020, 1.021, 1.019, 1.020, 1.022];
        assert_eq!(compare(&slight, &TERMS).verdict, Verdict::Better);
        let noisy = Terms { noise_floor: 0.03, ..TERMS };
        assert!(
            matches!(compare(&slight, &noisy).verdict, Verdict::NoDifference { beyond } if beyond < 0.03)
        );
        let floor = noise_floor(&[0.98, 1.02, 1.01, 0.99, 1.0], 1).unwrap();
        assert!((0.01..0.03).contains(&floor), "{floor}");
    }

    #[test]
    fn a_noise_larger_than_the_margin_tells_nothing_instead_of_no_difference() {
        let verdict = |ratios: &[f64], margin: f64, noise_floor: f64| {
            compare(ratios, &Terms { margin, noise_floor, ..TERMS }).verdict
        };
        let wild = [0.8, 1.25, 0.9, 1.2, 1.0];
        let far = [1.10, 1.12, 1.09, 1.11, 1.10];
        // What the interval holds lies within the noise, and that is no answer.
        assert_eq!(verdict(&wild, 0.02, 0.43), Verdict::CannotTell);
        assert_eq!(verdict(&far, 0.02, 0.43), Verdict::CannotTell);
        // An effect beyond the noise counts, and so does a margin that the user has set wide enough.
        assert_eq!(verdict(&far, 0.02, 0.05), Verdict::Better);
        assert!(matches!(verdict(&far, 0.15, 0.43), Verdict::NoDifference { beyond } if beyond <= 0.15));
    }

    /// Whatever is found, "no difference" never names more than the margin.
    #[test]
    fn no_difference_is_never_said_beyond_the_margin() {
        let mut random = Random::stream(22, &[]);
        let mut told = 0;
        for round in 0..4_000 {
            let spread = 0.1 * random.unit();
            let terms = Terms { margin: 0.02, noise_floor: 0.2 * random.unit(), seed: round, ..TERMS };
            let found = compare(&ratios(&mut random, 5, 1.0, spread), &terms);
            if let Verdict::NoDifference { beyond } = found.verdict {
                told += 1;
                let (low, high) = found.interval.unwrap();
                assert!(beyond <= 0.02 + 1e-12 && low >= 1.0 / 1.020_001 && high <= 1.020_001, "{found:?}");
            }
        }
        assert!(told > 100, "{told}");
    }

    #[test]
    fn so_many_blocks_detect_what_they_are_said_to() {
        const ROUNDS: usize = 600;
        let five = [0.96, 1.05, 1.0, 0.97, 1.02];
        let blocks = blocks_to_tell(&five, 0.02).unwrap();
        let spread = spread(&five.map(f64::ln));
        let mut random = Random::stream(23, &[]);
        let found = (0..ROUNDS).filter(|_| {
            let ratios = ratios(&mut random, blocks as usize, 1.02, spread);
            compare(&ratios, &Terms { margin: 0.02, ..TERMS }).verdict == Verdict::Better
        });
        let power = found.count() as f64 / ROUNDS as f64;
        assert!((0.74..0.86).contains(&power), "{blocks} blocks: power {power}");
        // A quarter of the difference takes some sixteen times the blocks; where none scatter, the fewest do.
        let finer = blocks_to_tell(&five, 0.005).unwrap();
        assert!((14 * blocks..17 * blocks).contains(&finer), "{blocks}, {finer}");
        assert_eq!(blocks_to_tell(&[1.0; 5], 0.02), Some(BLOCKS_MIN as u32));
        assert_eq!(blocks_to_tell(&five[..2], 0.02), None);
    }

    #[test]
    fn the_effect_is_the_geometric_mean() {
        let comparison = compare(&[0.5, 2.0, 1.0], &TERMS);
        assert!((comparison.effect - 1.0).abs() < 1e-12);
    }
}
