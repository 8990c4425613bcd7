//! Comparing two subjects from blocks of trials.
//!
//! Each block gives one ratio of B to A: what B did through the geometric mean of what the base did, which runs twice in a
//! block where there is an A/A control. The effect is the geometric mean of the ratios, and its 95 % interval is Student's t
//! of their logarithms, `± t s / √n`: exact where these scatter normally, at any number of blocks from [`BLOCKS_MIN`] on. A
//! bootstrap is not: no resample of few blocks is outside of them, so that the percentiles of three cover the truth three
//! times in four.
//!
//! The scatter of the blocks holds all noise of the machine already. So a verdict asks for nothing beyond its interval: a
//! control is a check of bias, and demanding that an effect exceeds it as well would count the noise twice. `tests/coverage.rs`
//! holds false alarms, power and coverage in simulations; docs/decisions/0012 has the figures.

use crate::student::{POWER_NORMAL, Tail, steps, student_t};
use serde::{Deserialize, Serialize};

/// Blocks below which there is no interval and every verdict is "cannot tell".
pub const BLOCKS_MIN: usize = 3;

/// Blocks beyond which [`blocks_to_tell`] looks no further.
const BLOCKS_FAR: u32 = 1 << 20;

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
    /// Comparisons with the same base in one experiment, of all variants and in all metrics, this one included; at least 1.
    /// Their intervals are widened so that all of them hold at once 95 % of the time (Bonferroni), and any false alarm among
    /// them is one in twenty.
    pub comparisons: u32,
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
    /// The interval holds both a difference that matters and none, or there are too few blocks.
    Inconclusive,
}

/// The ratio of B to A, how well it is known, and what that means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// One ratio of B to A a block.
    pub ratios: Vec<f64>,
    /// Their geometric mean.
    pub effect: f64,
    /// 95 % interval of the effect, together with those of the other comparisons with its base; absent below [`BLOCKS_MIN`]
    /// blocks.
    pub interval: Option<(f64, f64)>,
    /// What it means.
    pub verdict: Verdict,
}

/// What B did through what its base did in the same block: the geometric mean of all trials of the base, since ratios are
/// taken. Absent without a trial of the base.
pub fn ratio_to_base(value: f64, base: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = base.iter().map(|value| value.ln()).collect();
    (!logs.is_empty()).then(|| value / mean(&logs).exp())
}

/// What B did through what its base did, a ratio for each two rounds, from rates of rounds in their order; see [`turns`]. In such
/// a group every part has two rounds in mirrored order, so that a drift which goes on evenly does the same to all of them, and
/// what is left hardly resembles what is left of the next group. Absent where the parts have not equally many rounds, or where a part has
/// two rounds without a call.
///
/// [`turns`]: crate::turns
pub fn group_ratios(rounds: &[f64], base: &[Vec<f64>]) -> Option<Vec<f64>> {
    let groups =
        |rounds: &[f64]| -> Vec<f64> { rounds.chunks_exact(2).map(|two| (two[0] * two[1]).sqrt()).collect() };
    let of_base: Vec<Vec<f64>> = base.iter().map(|rounds| groups(rounds)).collect();
    let ratio = |(at, rate): (usize, f64)| {
        let base: Option<Vec<f64>> = of_base.iter().map(|rates| rates.get(at).copied()).collect();
        ratio_to_base(rate, &base?).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    };
    let same = base.iter().all(|of| of.len() == rounds.len());
    groups(rounds).into_iter().enumerate().map(ratio).collect::<Option<Vec<f64>>>().filter(|_| same)
}

/// Compares from one ratio of B to A a block. Ratios that are not positive numbers, from a trial without throughput,
/// leave nothing to tell.
pub fn compare(ratios: &[f64], terms: &Terms) -> Comparison {
    let mean = mean(&ratios.iter().map(|ratio| ratio.ln()).collect::<Vec<f64>>());
    let interval = known_logs(ratios).map(|logs| {
        let freedom = logs.len() as u32 - 1;
        let half = student_t(Tail::of_intervals(terms.comparisons), freedom) * error(&logs);
        (mean - half, mean + half)
    });
    Comparison {
        ratios: ratios.to_vec(),
        effect: mean.exp(),
        interval: interval.map(|(low, high)| (low.exp(), high.exp())),
        verdict: interval.map_or(Verdict::Inconclusive, |interval| judge(mean, interval, terms)),
    }
}

/// The smallest difference, as a share, that a repetition of these blocks would show as better or worse four times in five,
/// as far as they tell how much blocks scatter. Absent where they are too few for that.
pub fn minimum_detectable_effect(ratios: &[f64], comparisons: u32) -> Option<f64> {
    let logs = known_logs(ratios)?;
    let freedom = logs.len() as u32 - 1;
    Some((steps(Tail::of_intervals(comparisons), freedom, freedom) * error(&logs)).exp_m1())
}

/// About how many blocks would tell a difference of `share`, four times in five, if they scatter as these do; at least
/// [`BLOCKS_MIN`]. Absent where these are too few to know their scatter, which a handful knows only roughly.
///
/// # Panics
/// When `share` is not above zero: no number of blocks tells that.
pub fn blocks_to_tell(ratios: &[f64], share: f64, comparisons: u32) -> Option<u32> {
    assert!(share > 0.0, "a difference of 0 cannot be resolved");
    let logs = known_logs(ratios)?;
    let (tail, known, spread) = (Tail::of_intervals(comparisons), logs.len() as u32 - 1, spread(&logs));
    let shows =
        |blocks: u32| steps(tail, known, blocks - 1) * spread / f64::from(blocks).sqrt() <= share.ln_1p();
    // From the normal distribution and a scatter that is known, which is never too many.
    let least = ((tail.normal + POWER_NORMAL) * spread / share.ln_1p()).powi(2);
    let mut few = (least as u32).clamp(BLOCKS_MIN as u32, BLOCKS_FAR);
    if shows(few) {
        return Some(few);
    }
    let mut enough = few;
    while enough < BLOCKS_FAR && !shows(enough) {
        few = enough;
        enough *= 2;
    }
    while enough - few > 1 {
        let middle = u32::midpoint(few, enough);
        if shows(middle) { enough = middle } else { few = middle }
    }
    Some(enough)
}

/// The logarithms of ratios that are enough, and numbers, to know their scatter.
fn known_logs(ratios: &[f64]) -> Option<Vec<f64>> {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    (logs.len() >= BLOCKS_MIN && logs.iter().all(|log| log.is_finite())).then_some(logs)
}

fn judge(effect: f64, (low, high): (f64, f64), terms: &Terms) -> Verdict {
    if low > 0.0 || high < 0.0 {
        let rises = effect > 0.0;
        return if rises == (terms.better == Better::Higher) { Verdict::Better } else { Verdict::Worse };
    }
    let farthest = low.abs().max(high.abs());
    if farthest <= terms.margin.ln_1p() {
        return Verdict::NoDifference { beyond: farthest.exp_m1() };
    }
    Verdict::Inconclusive
}

/// The standard error of the mean of a sample of at least two.
fn error(values: &[f64]) -> f64 {
    spread(values) / (values.len() as f64).sqrt()
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

    const TERMS: Terms = Terms { better: Better::Higher, margin: 0.05, comparisons: 1 };

    #[test]
    fn the_four_verdicts_say_what_they_mean() {
        let verdict = |ratios: &[f64], terms: Terms| compare(ratios, &terms).verdict;
        let up = [1.20, 1.22, 1.19, 1.21, 1.20];
        let near = [1.001, 0.999, 1.002, 1.0, 0.998];
        let wild = [0.5, 1.9, 0.8, 1.4, 1.0];
        assert_eq!(verdict(&up, TERMS), Verdict::Better);
        assert_eq!(verdict(&up, Terms { better: Better::Lower, ..TERMS }), Verdict::Worse);
        assert!(matches!(verdict(&near, TERMS), Verdict::NoDifference { beyond } if beyond < 0.01));
        assert_eq!(verdict(&wild, TERMS), Verdict::Inconclusive);
        assert_eq!(verdict(&up[..2], TERMS), Verdict::Inconclusive);
        assert_eq!(verdict(&[1.0, 0.0, 1.0, 1.0], TERMS), Verdict::Inconclusive);
        assert_eq!(verdict(&[1.0, f64::NAN, 1.0], TERMS), Verdict::Inconclusive);
    }

    /// Three pairs: mean 0.02, standard deviation 0.01, so ± 4.303 × 0.01 / √3.
    #[test]
    fn the_interval_is_students_t_of_the_logarithms() {
        let three = [0.01_f64, 0.02, 0.03].map(f64::exp);
        let (low, high) = compare(&three, &TERMS).interval.unwrap();
        assert!((low.ln() - (0.02 - 0.024_84)).abs() < 1e-5, "{low}");
        assert!((high.ln() - (0.02 + 0.024_84)).abs() < 1e-5, "{high}");
        // One of five: ± 9.925 × 0.01 / √3.
        let (low, high) = compare(&three, &Terms { comparisons: 5, ..TERMS }).interval.unwrap();
        assert!((high.ln() - low.ln() - 2.0 * 0.057_30).abs() < 1e-4, "{low}, {high}");
    }

    #[test]
    fn of_a_base_that_ran_twice_the_mean_counts() {
        assert_eq!(ratio_to_base(3.0, &[]), None);
        assert_eq!(ratio_to_base(3.0, &[2.0]), Some(1.5));
        assert!((ratio_to_base(3.0, &[1.0, 4.0]).unwrap() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn more_comparisons_with_one_base_ask_for_more() {
        let slight = [1.02, 1.03, 1.01, 1.02, 1.03];
        assert_eq!(compare(&slight, &TERMS).verdict, Verdict::Better);
        let one_of_many = Terms { comparisons: 30, margin: 0.02, ..TERMS };
        assert_eq!(compare(&slight, &one_of_many).verdict, Verdict::Inconclusive);
        assert!(minimum_detectable_effect(&slight, 30) > minimum_detectable_effect(&slight, 1));
        assert!(blocks_to_tell(&slight, 0.003, 30) > blocks_to_tell(&slight, 0.003, 1));
    }

    #[test]
    fn fewer_blocks_than_a_scatter_takes_detect_nothing() {
        assert_eq!(minimum_detectable_effect(&[1.0, 1.1], 1), None);
        assert_eq!(minimum_detectable_effect(&[1.0; 5], 1), Some(0.0));
        let five = [0.96, 1.05, 1.0, 0.97, 1.02];
        assert_eq!(blocks_to_tell(&[1.0; 5], 0.02, 1), Some(BLOCKS_MIN as u32));
        assert_eq!(blocks_to_tell(&five[..2], 0.02, 1), None);
        // A quarter of the difference takes some sixteen times the blocks.
        let (blocks, finer) =
            (blocks_to_tell(&five, 0.02, 1).unwrap(), blocks_to_tell(&five, 0.005, 1).unwrap());
        assert!((14 * blocks..17 * blocks).contains(&finer), "{blocks}, {finer}");
        assert_eq!(blocks_to_tell(&[0.01, 100.0, 1.0], 1e-4, 1), Some(BLOCKS_FAR));
    }

    #[test]
    fn rounds_in_which_a_side_did_nothing_have_no_ratio() {
        let base = || vec![vec![8.0, 2.0, 9.0, 9.0]];
        let ratios = group_ratios(&[2.0, 8.0, 18.0, 18.0], &base()).unwrap();
        assert_eq!(ratios.iter().map(|ratio| ratio.round()).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(group_ratios(&[2.0, 8.0, 18.0, 0.0], &base()), None);
        assert_eq!(group_ratios(&[2.0, 8.0, 18.0, 18.0], &[vec![0.0, 2.0, 9.0, 9.0]]), None);
        assert_eq!(group_ratios(&[2.0, 8.0], &base()), None);
    }

    #[test]
    fn the_effect_is_the_geometric_mean() {
        let comparison = compare(&[0.5, 2.0, 1.0], &TERMS);
        assert!((comparison.effect - 1.0).abs() < 1e-12);
    }
}
