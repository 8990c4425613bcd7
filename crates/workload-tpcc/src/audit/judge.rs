//! From rows to findings.

use super::skew::{self, Field};
use super::{Audit, AuditOutcome, Context, Figure, Finding};
use sql::Value;
use sql::audit::{SIGMAS, only_row, violations};

pub(super) fn bad_credit(audit: &Audit, rows: &[Vec<Value>], _: &Context) -> Finding {
    judged_share(audit, rows, 0.10)
}

pub(super) fn remote_lines(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    remote(audit, rows, context, 0.01)
}

pub(super) fn remote_payments(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    remote(audit, rows, context, 0.15)
}

fn remote(audit: &Audit, rows: &[Vec<Value>], context: &Context, expected: f64) -> Finding {
    if context.size.warehouses > 1 {
        let finding = judged_share(audit, rows, expected);
        return if context.used_before { unless_repeated(finding) } else { finding };
    }
    let Some([_, remote]) = counts(rows) else { return audit.unreadable() };
    if remote > 0 {
        let sentence = format!("{remote} are remote, and there is one warehouse only");
        return Finding { verdict: AuditOutcome::Failed, sentence, details: Vec::new(), figure: None };
    }
    Finding::not_told("with one warehouse nothing can be remote".into(), None)
}

/// Takes back a violation that runs with the same draws explain: all together they deviate as one of them does. No run of
/// more than some hundred draws deviates by half of what is expected.
fn unless_repeated(finding: Finding) -> Finding {
    let near = |figure: Figure| (figure.measured - figure.expected).abs() < 0.5 * figure.expected;
    if finding.verdict != AuditOutcome::Failed || !finding.figure.is_some_and(near) {
        return finding;
    }
    let Finding { sentence, figure, .. } = finding;
    Finding::not_told(format!("runs before may have made the same draws; {sentence}"), figure)
}

/// Judges [samples, hits].
fn judged_share(audit: &Audit, rows: &[Vec<Value>], expected: f64) -> Finding {
    let Some([samples, hits]) = counts(rows) else { return audit.unreadable() };
    judged_draws(audit.sentence, samples, hits, expected)
}

/// Judges so many hits of independent draws, each a hit with the expected chance.
pub(super) fn judged_draws(promise: &str, samples: u64, hits: u64, expected: f64) -> Finding {
    let figure = share(samples, hits, expected);
    let finding = judged(promise, figure);
    let beyond = (figure.measured - expected).abs() > chance_max(samples, expected);
    if finding.verdict == AuditOutcome::Failed && !beyond {
        let sentence = format!("too few to decide whether {}", compared(promise, figure));
        return Finding { verdict: AuditOutcome::Inconclusive, sentence, ..finding };
    }
    finding
}

/// The deviation of a share that chance can explain with any number of samples: Bernstein's bound, which is once in some
/// hundred thousand at most. Standard errors alone promise as much only where many hits are expected: of three draws with a
/// chance of 0.01, a single hit is beyond five of them.
fn chance_max(samples: u64, expected: f64) -> f64 {
    let samples = samples.max(1) as f64;
    SIGMAS * (expected * (1.0 - expected) / samples).sqrt() + SIGMAS * SIGMAS / (3.0 * samples)
}

/// A share of independent draws, with the tolerance that its number of samples deserves.
pub(super) fn share(samples: u64, hits: u64, expected: f64) -> Figure {
    let measured = hits as f64 / samples.max(1) as f64;
    let tolerance = SIGMAS * (expected * (1.0 - expected) / samples.max(1) as f64).sqrt();
    Figure { measured, expected, tolerance, samples }
}

/// A tolerance of half the expected share or more would pass what is plainly wrong, so it tells nothing.
pub(super) fn judged(promise: &str, figure: Figure) -> Finding {
    let Figure { expected, tolerance, .. } = figure;
    match held(promise, figure) {
        finding
            if finding.verdict == AuditOutcome::Passed && tolerance >= 0.5 * expected.min(1.0 - expected) =>
        {
            let sentence = format!("too few to decide whether {}", finding.sentence);
            Finding { verdict: AuditOutcome::Inconclusive, sentence, ..finding }
        }
        finding => finding,
    }
}

/// The same where it is known already that the tolerance tells right from wrong.
pub(super) fn held(promise: &str, figure: Figure) -> Finding {
    let found = compared(promise, figure);
    let (verdict, sentence) = match (figure.measured - figure.expected).abs() <= figure.tolerance {
        true => (AuditOutcome::Passed, found),
        false => (AuditOutcome::Failed, format!("violated: {found}")),
    };
    Finding::of(verdict, sentence, figure)
}

fn compared(promise: &str, figure: Figure) -> String {
    let Figure { measured, expected, tolerance, samples } = figure;
    format!(
        "{promise}: {:.2} % of {samples}; expected {:.2} % ± {:.2}",
        measured * 100.0,
        expected * 100.0,
        tolerance * 100.0
    )
}

pub(super) fn item_skew(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    judged_skew(audit, rows, context, Field::Item)
}

pub(super) fn customer_skew(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    judged_skew(audit, rows, context, Field::Customer)
}

/// Judges [numbers in use, draws, draws of the tenth of numbers that has most].
fn judged_skew(audit: &Audit, rows: &[Vec<Value>], context: &Context, field: Field) -> Finding {
    let Some([numbers, draws, top]) = counts(rows) else { return audit.unreadable() };
    let Ok(numbers) = u32::try_from(numbers) else { return audit.unreadable() };
    let finding = skew::judged(audit.sentence, field, numbers, draws, top);
    let of_several = context.used_before && context.run_from.is_none();
    let (true, AuditOutcome::Failed, Some(found)) = (of_several, finding.verdict, finding.figure) else {
        return finding;
    };
    let why = if found.measured > found.expected {
        "runs may have made the same draws again, which are as uneven as few are"
    } else if skew::is_even(field, numbers, draws, top) {
        // Each run's picks are uneven, and a few runs' together are too.
        return finding;
    } else {
        "runs with other seeds may have used this data too"
    };
    Finding::not_told(format!("{why}; {}", finding.sentence), finding.figure)
}

/// Nothing may come back. Texts that others have written are cut and put together in their own ways.
pub(super) fn of_our_load(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    if context.ours {
        return violations(audit, rows, context);
    }
    Finding::not_told(format!("on data of another tool it is unknown whether {}", audit.sentence), None)
}

fn counts<const N: usize>(rows: &[Vec<Value>]) -> Option<[u64; N]> {
    only_row(rows, |value| u64::try_from(value.int()?).ok())
}

#[cfg(test)]
mod tests {
    use super::super::{Context, audits};
    use super::*;
    use crate::Cardinality;
    use crate::input::nurand;
    use model::random::Random;
    use sql::Dialect;

    fn check(name: &str, row: &[i64], context: &Context, expected: AuditOutcome) -> Finding {
        let groups = audits(Dialect::Sqlite).unwrap();
        let audit = groups.iter().flat_map(|group| &group.audits).find(|audit| audit.name == name).unwrap();
        let finding = audit.judge(&[row.iter().map(|value| Value::Int(*value)).collect()], context);
        assert_eq!(finding.verdict, expected, "{name} {row:?}: {}", finding.sentence);
        finding
    }

    #[test]
    fn shares_are_judged_by_their_number_of_samples() {
        let ten = Context::standard(10);
        check("bad-credit", &[300_000, 30_100], &ten, AuditOutcome::Passed);
        check("bad-credit", &[300_000, 150_000], &ten, AuditOutcome::Failed);
        check("bad-credit", &[100, 10], &ten, AuditOutcome::Inconclusive);
        check("remote-lines", &[1_000_000, 10_100], &ten, AuditOutcome::Passed);
        check("remote-lines", &[1_000_000, 0], &ten, AuditOutcome::Failed);
        check("remote-lines", &[1_000_000, 100_000], &ten, AuditOutcome::Failed);
        check("remote-lines", &[500, 5], &ten, AuditOutcome::Inconclusive);
        check("remote-lines", &[0, 0], &ten, AuditOutcome::Inconclusive);
        check("remote-payments", &[100_000, 15_050], &ten, AuditOutcome::Passed);
        check("remote-payments", &[100_000, 0], &ten, AuditOutcome::Failed);
        // So few, and still all wrong.
        check("remote-payments", &[100, 100], &ten, AuditOutcome::Failed);
    }

    /// The chance of so many hits or more.
    fn chance(samples: u64, hits: u64, expected: f64) -> f64 {
        let choose =
            |hits: u64| (1..=hits).fold(1.0, |all, at| all * (samples - hits + at) as f64 / at as f64);
        let exactly = |hits: u64| {
            let (hit, missed) = (i32::try_from(hits).unwrap(), i32::try_from(samples - hits).unwrap());
            choose(hits) * expected.powi(hit) * (1.0 - expected).powi(missed)
        };
        (hits..=samples).map(exactly).sum()
    }

    #[test]
    fn what_chance_can_do_to_a_few_samples_is_no_violation() {
        let verdict = |samples, hits, expected| judged_draws("it holds", samples, hits, expected).verdict;
        for expected in [0.01, 0.15, 0.6] {
            for samples in 0..=60 {
                for hits in 0..=samples {
                    if verdict(samples, hits, expected) == AuditOutcome::Failed {
                        let more = chance(samples, hits, expected);
                        let fewer = 1.0 - chance(samples, hits + 1, expected);
                        assert!(more.min(fewer) < 1e-5, "{hits} of {samples}, not {expected}");
                    }
                }
            }
        }
        // Five standard errors say otherwise.
        for (samples, hits) in [(1, 1), (3, 1), (13, 2)] {
            assert_eq!(verdict(samples, hits, 0.01), AuditOutcome::Inconclusive, "{hits} of {samples}");
            assert!(hits as f64 / samples as f64 - 0.01 > share(samples, hits, 0.01).tolerance);
        }
        // All or none of them, and small shifts of many.
        for (samples, hits, expected) in [
            (30, 30, 0.01),
            (60, 60, 0.15),
            (100, 0, 0.6),
            (3_000, 90, 0.01),
            (20_000, 400, 0.01),
            (9_000, 0, 0.01),
        ] {
            assert_eq!(verdict(samples, hits, expected), AuditOutcome::Failed, "{hits} of {samples}");
        }
    }

    /// One run of 10,000 payments, of which 14.46 % are remote, is within five standard errors; twelve runs of them are not.
    #[test]
    fn runs_that_make_the_same_draws_again_are_no_violation() {
        let fresh = Context::standard(10);
        let used = Context { used_before: true, ..fresh };
        check("remote-payments", &[10_000, 1_446], &used, AuditOutcome::Passed);
        let again = [120_000, 12 * 1_446];
        check("remote-payments", &again, &fresh, AuditOutcome::Failed);
        let finding = check("remote-payments", &again, &used, AuditOutcome::Inconclusive);
        assert!(
            finding.sentence.starts_with("runs before may have made the same draws; violated: "),
            "{finding:?}"
        );
        for wrong in [0, 120_000, 5_000, 30_000] {
            check("remote-payments", &[120_000, wrong], &used, AuditOutcome::Failed);
        }
        check("remote-lines", &[1_000_000, 10_700], &used, AuditOutcome::Inconclusive);
        check("remote-lines", &[1_000_000, 0], &used, AuditOutcome::Failed);
        check("remote-lines", &[1_000_000, 20_000], &used, AuditOutcome::Failed);
    }

    #[test]
    fn one_warehouse_has_nothing_remote() {
        let one = Context::standard(1);
        check("remote-lines", &[1_000_000, 0], &one, AuditOutcome::Inconclusive);
        check("remote-lines", &[1_000_000, 1], &one, AuditOutcome::Failed);
        check("remote-payments", &[100_000, 15_000], &one, AuditOutcome::Failed);
    }

    /// [numbers, draws, draws of the busiest tenth], for draws from `pick`.
    fn skew_row(numbers: u32, draws: u32, mut pick: impl FnMut(u32) -> u32) -> [i64; 3] {
        let mut counts = vec![0; numbers as usize];
        (0..draws).for_each(|draw| counts[pick(draw) as usize - 1] += 1);
        let top = (crate::top_tenth(&counts) * f64::from(draws)).round() as i64;
        [i64::from(numbers), i64::from(draws), top]
    }

    #[test]
    fn skew_is_told_from_even_picks_and_from_changing_constants() {
        let (context, random) = (Context::standard(10), &mut Random::stream(77, &[]));
        let right = skew_row(100_000, 300_000, |_| nurand(random, 8191, 5_000, 1, 100_000));
        check("item-skew", &right, &context, AuditOutcome::Passed);
        let even_items = skew_row(100_000, 300_000, |_| random.range(1, 100_000) as u32);
        check("item-skew", &even_items, &context, AuditOutcome::Failed);
        let redrawn = skew_row(100_000, 300_000, |_| {
            let constant = random.below(8_192) as u32;
            nurand(random, 8191, constant, 1, 100_000)
        });
        check("item-skew", &redrawn, &context, AuditOutcome::Failed);
        let two = skew_row(100_000, 300_000, |draw| {
            let constant = if draw % 2 == 0 { 17 } else { 4_242 };
            nurand(random, 8191, constant, 1, 100_000)
        });
        check("item-skew", &two, &context, AuditOutcome::Failed);
        let used = Context { used_before: true, ..context };
        let found = check("item-skew", &two, &used, AuditOutcome::Inconclusive);
        assert!(found.sentence.starts_with("runs with other seeds may have"), "{}", found.sentence);
        // Whoever used the data, even picks are no one's.
        check("item-skew", &even_items, &used, AuditOutcome::Failed);
        // Ten runs with one seed: together as uneven as one of them, which is more than so many draws would be.
        let few = skew_row(100_000, 6_000, |_| nurand(random, 8191, 5_000, 1, 100_000));
        let again = [few[0], few[1] * 10, few[2] * 10];
        let found = check("item-skew", &again, &used, AuditOutcome::Inconclusive);
        assert!(found.sentence.starts_with("runs may have made the same draws again"), "{}", found.sentence);
        // Known to be one run's, they are judged.
        let single = Context { run_from: Some(3_001), ..used };
        check("item-skew", &two, &single, AuditOutcome::Failed);
        check("item-skew", &right, &single, AuditOutcome::Passed);
        let customers = skew_row(3_000, 100_000, |_| nurand(random, 1023, 99, 1, 3_000));
        check("customer-skew", &customers, &context, AuditOutcome::Passed);
        let even = skew_row(3_000, 100_000, |_| random.range(1, 3_000) as u32);
        check("customer-skew", &even, &context, AuditOutcome::Failed);
    }

    #[test]
    fn what_others_note_of_bad_credit_is_not_judged() {
        let ours = Context::standard(1);
        let row = [1, 2, 3, 4, 1_700_000_000, 412, 384, 0];
        check("bad-credit-data", &row, &ours, AuditOutcome::Failed);
        check("bad-credit-data", &row, &Context { ours: false, ..ours }, AuditOutcome::Inconclusive);
    }

    #[test]
    fn few_picks_tell_nothing_about_skew() {
        let (context, random) = (Context::standard(1), &mut Random::stream(78, &[]));
        let few = skew_row(100_000, 500, |_| nurand(random, 8191, 5_000, 1, 100_000));
        let finding = check("item-skew", &few, &context, AuditOutcome::Inconclusive);
        assert!(finding.sentence.contains("too few picks"), "{}", finding.sentence);
        check("item-skew", &[100_000, 0, 0], &context, AuditOutcome::Inconclusive);
    }

    #[test]
    fn figures_that_make_no_sense_are_no_pass() {
        let context = Context::fresh(Cardinality::tiny());
        for (name, row) in [("bad-credit", &[-1, 0][..]), ("item-skew", &[1, 2]), ("remote-lines", &[3])] {
            check(name, row, &context, AuditOutcome::Inconclusive);
        }
    }
}
