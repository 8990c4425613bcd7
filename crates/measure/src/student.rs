//! Student's t, for intervals from few numbers and for what so few can find.
//!
//! All of it is small enough to stand here: no library of the workspace has it, and every figure below is held to printed
//! tables.

use std::f64::consts::{FRAC_1_PI, FRAC_PI_2, PI, SQRT_2};

/// What is found four times in five: the power of everything that is called detectable.
const POWER: f64 = 0.8;
/// The normal quantile of that power.
pub(crate) const POWER_NORMAL: f64 = 0.841_621_233_572_914_3;

/// Degrees of freedom from which the distribution is taken from the normal one: right to five digits there, and a sum of
/// hundreds of terms is none.
const FREEDOM_MANY: u32 = 400;
/// Points at which [`steps`] adds up; twice as many change its sixth digit.
const POINTS: u32 = 64;
/// Halvings of an interval in which a quantile lies: to nine digits.
const HALVINGS: u32 = 40;

/// A quantile of a distribution around zero, with the normal quantile that belongs to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    /// Chance of lying beyond, on both sides together.
    both_sides: f64,
    /// The quantile of the normal distribution.
    pub(crate) normal: f64,
}

/// The 97.5th percentile: the half-width of a 95 % interval.
pub(crate) const INTERVAL_95: Tail = Tail { both_sides: 0.05, normal: 1.959_963_984_540_054 };

impl Tail {
    /// The half-width of each of `count` intervals that hold all at once 95 % of the time or more (Bonferroni): each is missed
    /// by 0.05 / `count`.
    pub(crate) fn of_intervals(count: u32) -> Tail {
        if count <= 1 {
            return INTERVAL_95;
        }
        let both_sides = INTERVAL_95.both_sides / f64::from(count);
        // Beyond 9 lies less than any share of 0.05 that a 32-bit number of intervals gives.
        let normal = root(0.0, 9.0, |at| normal_below(at) >= 1.0 - both_sides / 2.0);
        Tail { both_sides, normal }
    }
}

/// The quantile of Student's t with `freedom` degrees of freedom, at least 1, to about six digits.
///
/// Hill's algorithm (Communications of the ACM 13, 1970, algorithm 396).
pub(crate) fn student_t(tail: Tail, freedom: u32) -> f64 {
    let (p, n) = (tail.both_sides, f64::from(freedom));
    match freedom {
        0 => return f64::INFINITY,
        1 => return 1.0 / (p * FRAC_PI_2).tan(),
        2 => return (2.0 / (p * (2.0 - p)) - 2.0).sqrt(),
        _ => {}
    }
    let a = 1.0 / (n - 0.5);
    let b = 48.0 / (a * a);
    let mut c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * PI / 2.0).sqrt() * n;
    let mut y = (d * p).powf(2.0 / n);
    if y > 0.05 + a {
        let x = -tail.normal;
        y = x * x;
        if freedom < 5 {
            c += 0.3 * (n - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        y = (a * y * y).exp_m1();
    } else {
        y = ((1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y
            - 1.0)
            * (n + 1.0)
            / (n + 2.0)
            + 1.0 / y;
    }
    (n * y).sqrt()
}

/// By how many standard errors of a sample an effect must differ from nothing for an experiment with `freedom` degrees of
/// freedom to find it with [`POWER`]: its interval with this `tail` then lies wholly on the right side. The standard error is
/// known from a sample with `known` degrees of freedom only, at least 2, and the power is the mean over what that sample may
/// have been: where it is the scatter of few blocks this is more than the noncentral t of a scatter that is known, and that
/// is what makes the printed effect one that a repetition finds four times in five.
///
/// With Z normal and U, V the known and the coming scatter, wanted is the least k with P(Z + kU > tV) = 0.8. In polar
/// coordinates of U and V their radius goes into a Student's t of `known + freedom` degrees, and the angle is left to add up.
pub(crate) fn steps(tail: Tail, known: u32, freedom: u32) -> f64 {
    let [of_known, of_new] = [known, freedom].map(f64::from);
    let all = of_known + of_new;
    let t = student_t(tail, freedom);
    // Where the density of the angle, cos^(known − 1) sin^(freedom − 1), is more than nothing.
    let (top, reach) = ((of_new / of_known).sqrt().atan(), 9.0 / (2.0 * all).sqrt());
    let (from, to) = ((top - reach).max(0.0), (top + reach).min(FRAC_PI_2));
    let angles: Vec<[f64; 3]> = (0..POINTS)
        .map(|point| {
            let (sin, cos) = (from + (to - from) * (f64::from(point) + 0.5) / f64::from(POINTS)).sin_cos();
            let density = (of_known - 1.0) * (cos / top.cos()).ln() + (of_new - 1.0) * (sin / top.sin()).ln();
            [cos * (all / of_known).sqrt(), sin * (all / of_new).sqrt() * t, density.exp()]
        })
        .collect();
    let whole: f64 = angles.iter().map(|[.., weight]| weight).sum();
    let power = |k: f64| -> f64 {
        let found =
            angles.iter().map(|[of_u, of_v, weight]| weight * t_below(k * of_u - of_v, known + freedom));
        found.sum::<f64>() / whole
    };
    let mut most = 2.0 * t;
    while power(most) < POWER {
        most *= 2.0;
    }
    root(0.0, most, |k| power(k) >= POWER)
}

/// Where what holds from some point on begins to hold, between two bounds.
fn root(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if high - low < 1e-9 * high {
            break;
        }
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Chance that Student's t with whole degrees of freedom is below `t`: Abramowitz and Stegun 26.7.3 and 26.7.4, and 26.7.8
/// for many degrees.
fn t_below(t: f64, freedom: u32) -> f64 {
    let n = f64::from(freedom);
    if freedom > FREEDOM_MANY {
        return normal_below(t * (1.0 - 0.25 / n) / (1.0 + t * t / (2.0 * n)).sqrt());
    }
    let angle = (t / n.sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let even = freedom.is_multiple_of(2);
    let mut term = if even { 1.0 } else { cos };
    let (mut sum, mut at) = (0.0, if even { 2 } else { 3 });
    if freedom > 1 {
        sum = term;
        while at < freedom {
            term *= cos * cos * f64::from(at - 1) / f64::from(at);
            sum += term;
            at += 2;
        }
    }
    let between = if even { sin * sum } else { 2.0 * FRAC_1_PI * (angle + sin * sum) };
    f64::midpoint(1.0, between)
}

/// Chance that a standard normal variate is below `x`, to 1.2 × 10⁻⁷ of the smaller side.
///
/// The Chebyshev fit of the complementary error function in Numerical Recipes, section 6.2.
fn normal_below(x: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let z = x.abs() / SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * z);
    let fit = FIT.iter().rev().fold(0.0, |sum, coefficient| sum * t + coefficient);
    let beyond = 0.5 * t * (fit - z * z).exp();
    if x > 0.0 { 1.0 - beyond } else { beyond }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        let table = [
            (1, 12.706_2),
            (2, 4.302_65),
            (3, 3.182_45),
            (4, 2.776_45),
            (5, 2.570_58),
            (9, 2.262_16),
            (29, 2.045_23),
            (100_000, 1.959_99),
        ];
        for (freedom, interval) in table {
            let got = student_t(INTERVAL_95, freedom);
            assert!((got - interval).abs() < 1e-3, "{freedom}: {got:?}");
        }
        // 99 %: one of five intervals.
        for (freedom, interval) in [(2, 9.924_84), (4, 4.604_09), (9, 3.249_84), (30, 2.750_00)] {
            let got = student_t(Tail::of_intervals(5), freedom);
            assert!((got - interval).abs() < 1e-3, "{freedom}: {got:?}");
        }
        assert!((Tail::of_intervals(5).normal - 2.575_829).abs() < 1e-5);
    }

    #[test]
    fn chances_agree_with_the_printed_tables() {
        for (t, freedom, below) in [
            (1.0, 1, 0.75),
            (1.885_618, 2, 0.9),
            (3.182_446, 3, 0.975),
            (2.776_445, 4, 0.975),
            (-2.262_157, 9, 0.025),
            (1.972_017, 201, 0.975),
            (1.965_9, 500, 0.975),
        ] {
            let got = t_below(t, freedom);
            assert!((got - below).abs() < 2e-4, "{t}, {freedom}: {got}");
        }
        for (x, below) in [(0.0, 0.5), (1.959_964, 0.975), (-3.090_232, 0.001)] {
            assert!((normal_below(x) - below).abs() < 1e-6, "{x}");
        }
    }

    /// With a scatter that is as good as known this is the noncentral t, whose effects for a power of 0.8 the tables of paired
    /// comparisons have (Cohen 1988; printed there as d for so many pairs).
    #[test]
    fn a_scatter_that_is_known_gives_the_noncentral_t() {
        for (pairs, d) in [(3_u32, 3.263_8), (5, 1.682_0), (8, 1.156_0), (15, 0.778_0), (34, 0.495_2)] {
            let got = steps(INTERVAL_95, 1_000_000, pairs - 1) / f64::from(pairs).sqrt();
            assert!((got / d - 1.0).abs() < 1e-3, "{pairs} pairs: {got}");
        }
        let many = steps(INTERVAL_95, 1_000_000, 1_000_000);
        assert!((many - 2.801_6).abs() < 1e-3, "{many}");
    }

    #[test]
    fn a_scatter_from_few_blocks_asks_for_more() {
        // By adding up over both scatters, in another program.
        for (blocks, expected) in [(3, 8.778_5), (5, 4.678_3), (8, 3.698_3), (15, 3.202_3)] {
            let got = steps(INTERVAL_95, blocks - 1, blocks - 1);
            assert!((got / expected - 1.0).abs() < 1e-3, "{blocks} blocks: {got}");
        }
        assert!(steps(Tail::of_intervals(4), 4, 4) > 4.678_3);
    }
}
