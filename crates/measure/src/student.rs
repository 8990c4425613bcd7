//! Quantiles of Student's t, for intervals from few numbers.

use std::f64::consts::{FRAC_PI_2, PI};

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
/// The 80th percentile: what a power of 0.8 asks for.
pub(crate) const POWER_80: Tail = Tail { both_sides: 0.4, normal: 0.841_621_233_572_914_3 };

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        let table = [
            (1, 12.706_2, 1.376_38),
            (2, 4.302_65, 1.060_66),
            (3, 3.182_45, 0.978_47),
            (4, 2.776_45, 0.940_96),
            (5, 2.570_58, 0.919_54),
            (9, 2.262_16, 0.883_40),
            (29, 2.045_23, 0.854_19),
            (100_000, 1.959_99, 0.841_63),
        ];
        for (freedom, interval, power) in table {
            let got = (student_t(INTERVAL_95, freedom), student_t(POWER_80, freedom));
            assert!((got.0 - interval).abs() < 1e-3, "{freedom}: {got:?}");
            assert!((got.1 - power).abs() < 1e-3, "{freedom}: {got:?}");
        }
    }
}
