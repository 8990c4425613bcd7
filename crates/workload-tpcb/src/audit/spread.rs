//! Whether numbers were drawn evenly: χ² over its degrees of freedom, which even chance makes 1.

use super::{AuditOutcome, Figure, Finding};
use sql::audit::SIGMAS;

/// Draws must meet on a number this often by chance before anything is told: the number of meetings then scatters by less
/// than a tenth of itself, five of which still tell twice as many apart.
const MEETINGS_MIN: f64 = 100.0;

/// Draws of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    numbers: f64,
    draws: f64,
    /// χ² against equal chances.
    chi_square: f64,
}

impl Spread {
    /// From how often two draws met on a number, counted both ways: Σ n (n − 1).
    pub(super) fn of_meetings(numbers: f64, draws: f64, meetings: f64) -> Spread {
        // Σ n² = Σ n (n − 1) + Σ n, and χ² = N/n Σ n² − n.
        let chi_square = numbers / draws.max(1.0) * (meetings + draws) - draws;
        Spread { numbers, draws, chi_square }
    }

    /// From the draws of buckets of so many numbers each.
    pub(super) fn of_buckets(buckets: impl Iterator<Item = (u32, u32)> + Clone) -> Spread {
        let (mut draws, mut width) = (0.0, 0.0);
        for (count, numbers) in buckets.clone() {
            draws += f64::from(count);
            width += f64::from(numbers);
        }
        let chi_square = buckets
            .clone()
            .map(|(count, numbers)| {
                let expected = draws * f64::from(numbers) / width;
                if expected > 0.0 { (f64::from(count) - expected).powi(2) / expected } else { 0.0 }
            })
            .sum();
        Spread { numbers: buckets.count() as f64, draws, chi_square }
    }
}

/// Bounds of χ² over its degrees of freedom (Wilson and Hilferty: its cube root is nearly normal, also for few).
fn bounds(freedom: f64) -> (f64, f64) {
    let variance = 2.0 / (9.0 * freedom);
    let at = |sigmas: f64| (1.0 - variance + sigmas * variance.sqrt()).max(0.0).powi(3);
    (at(-SIGMAS), at(SIGMAS))
}

pub(super) fn judged(promise: &str, spread: &Spread) -> Finding {
    let Spread { numbers, draws, chi_square } = *spread;
    if numbers < 2.0 {
        return Finding::not_told("there is only one to choose".into(), None);
    }
    let freedom = numbers - 1.0;
    let (low, high) = bounds(freedom);
    let measured = chi_square / freedom;
    let figure = Figure { measured, expected: 1.0, tolerance: high - 1.0, samples: draws as u64 };
    let found = format!(
        "{promise}: uneven by {measured:.3} times what chance makes of {draws} calls; expected {low:.3} to {high:.3}"
    );
    let (verdict, sentence) = if draws * (draws - 1.0) / 2.0 / numbers < MEETINGS_MIN {
        (AuditOutcome::Inconclusive, format!("too few to decide whether {found}"))
    } else if (low..=high).contains(&measured) {
        (AuditOutcome::Passed, found)
    } else {
        (AuditOutcome::Failed, format!("violated: {found}"))
    };
    Finding::of(verdict, sentence, figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::random::Random;

    fn counts(numbers: u32, draws: u32, mut draw: impl FnMut(u32) -> u32) -> Vec<u32> {
        let mut counts = vec![0; numbers as usize];
        (0..draws).for_each(|turn| counts[draw(turn) as usize] += 1);
        counts
    }

    /// Both ways to count come to the same.
    fn verdict(counts: &[u32]) -> AuditOutcome {
        let by_bucket = Spread::of_buckets(counts.iter().map(|count| (*count, 1)));
        let of = |count: &u32| f64::from(*count);
        let meetings = counts.iter().map(|count| of(count) * (of(count) - 1.0)).sum();
        let by_meetings = Spread::of_meetings(counts.len() as f64, counts.iter().map(of).sum(), meetings);
        let (one, other) = (judged("", &by_bucket), judged("", &by_meetings));
        assert!((by_bucket.chi_square - by_meetings.chi_square).abs() < 1e-3 * by_bucket.chi_square.max(1.0));
        assert_eq!(one.verdict, other.verdict);
        one.verdict
    }

    #[test]
    fn even_draws_are_never_failed() {
        for (numbers, draws) in
            [(2, 25), (2, 1_000), (10, 50), (10, 100_000), (1_000, 460), (1_000, 50_000), (100_000, 5_000)]
        {
            for seed in 0..100 {
                let mut random = Random::stream(seed, &[u64::from(numbers), u64::from(draws)]);
                let counts = counts(numbers, draws, |_| random.below(u64::from(numbers)) as u32);
                assert_ne!(
                    verdict(&counts),
                    AuditOutcome::Failed,
                    "{numbers} numbers, {draws} draws, seed {seed}"
                );
            }
        }
    }

    #[test]
    fn draws_that_leave_numbers_out_or_prefer_some_are_caught() {
        let mut random = Random::stream(1, &[]);
        let half = counts(100_000, 20_000, |_| random.below(50_000) as u32);
        assert_eq!(verdict(&half), AuditOutcome::Failed);
        let lower = counts(1_000, 20_000, |_| (random.below(1_000) & random.below(1_024)) as u32);
        assert_eq!(verdict(&lower), AuditOutcome::Failed);
        let one_in_ten_left_out = counts(10, 2_000, |_| random.below(9) as u32);
        assert_eq!(verdict(&one_in_ten_left_out), AuditOutcome::Failed);
    }

    #[test]
    fn numbers_dealt_in_turn_are_caught() {
        assert_eq!(verdict(&counts(100_000, 20_000, |turn| turn)), AuditOutcome::Failed);
        assert_eq!(verdict(&counts(1_000, 20_000, |turn| turn % 1_000)), AuditOutcome::Failed);
    }

    #[test]
    fn few_draws_and_one_number_tell_nothing() {
        assert_eq!(verdict(&counts(1_000, 0, |turn| turn)), AuditOutcome::Inconclusive);
        assert_eq!(verdict(&counts(1_000, 400, |_| 7)), AuditOutcome::Inconclusive);
        let one = Spread::of_meetings(1.0, 1_000.0, 999_000.0);
        assert_eq!(judged("", &one).verdict, AuditOutcome::Inconclusive);
    }
}
