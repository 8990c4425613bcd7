//! From rows to findings.

use super::spread::{self, Spread};
use super::{Audit, AuditOutcome, Context, Figure, Finding};
use crate::Cardinality;
use sql::Value;
use sql::audit::{SIGMAS, only_row, violations};

/// Whole amounts from −5000 to 5000, evenly: the mean of their squares, and the standard deviation of a square as a share
/// of that (√(4/5), as of any even distribution around zero).
pub(super) const MEAN_SQUARE: f64 = 5_000.0 * 5_001.0 / 3.0;
const SQUARE_SCATTER: f64 = 0.894_427;

/// Nothing may come back where history goes back to the load. Where that is not known, balances that agree with it show that it does;
/// balances that do not, show nothing.
pub(super) fn since_the_load(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    match violations(audit, rows, context) {
        Finding { verdict: AuditOutcome::Failed, details, .. } if !context.history_whole => {
            let sentence = format!(
                "history does not account for all balances: rows are lost, or it was emptied, as pgbench does before a run without -n; inconclusive whether {}",
                audit.sentence
            );
            Finding { details, ..Finding::not_told(sentence, None) }
        }
        finding => finding,
    }
}

/// Judges [numbers, draws, meetings].
pub(super) fn spread(audit: &Audit, rows: &[Vec<Value>], _: &Context) -> Finding {
    let Some([numbers, draws, meetings]) = figures(rows) else { return audit.unreadable() };
    spread::judged(audit.sentence, &Spread::of_meetings(numbers, draws, meetings))
}

/// Judges [calls, those of them at home].
pub(super) fn at_home(audit: &Audit, rows: &[Vec<Value>], context: &Context) -> Finding {
    let Some([calls, hits]) = figures(rows) else { return audit.unreadable() };
    home(audit.sentence, context.size, calls, hits)
}

/// With so many branches in a store a call meets its own by chance once in as many; the more of them a store has, the more
/// calls it gets, so that over all stores it is once in their mean.
pub(super) fn home(promise: &str, size: Cardinality, calls: f64, hits: f64) -> Finding {
    let Cardinality { branches, shards, .. } = size;
    if branches == shards {
        let which = if shards == 1 { "one branch" } else { "one branch a store" };
        return Finding::not_told(format!("with {which} everybody is at home"), None);
    }
    let expected = f64::from(shards) / f64::from(branches);
    let tolerance = SIGMAS * (expected * (1.0 - expected) / calls.max(1.0)).sqrt();
    let figure = Figure { measured: hits / calls.max(1.0), expected, tolerance, samples: calls as u64 };
    judged(promise, figure, 0.5 * expected)
}

/// Judges [calls, sum of amounts].
pub(super) fn amount_mean(audit: &Audit, rows: &[Vec<Value>], _: &Context) -> Finding {
    let Some([calls, sum]) = figures(rows) else { return audit.unreadable() };
    mean(audit.sentence, calls, sum)
}

/// The mean as a share of the largest amount.
pub(super) fn mean(promise: &str, calls: f64, sum: f64) -> Finding {
    let most = crate::DELTA_MAX as f64;
    let tolerance = SIGMAS * MEAN_SQUARE.sqrt() / most / calls.max(1.0).sqrt();
    let measured = sum / calls.max(1.0) / most;
    judged(promise, Figure { measured, expected: 0.0, tolerance, samples: calls as u64 }, 0.25)
}

/// Judges [calls, sum of the amounts' squares].
pub(super) fn amount_spread(audit: &Audit, rows: &[Vec<Value>], _: &Context) -> Finding {
    let Some([calls, squares]) = figures(rows) else { return audit.unreadable() };
    squared(audit.sentence, calls, squares)
}

/// The mean square as a share of what it should be.
pub(super) fn squared(promise: &str, calls: f64, squares: f64) -> Finding {
    let measured = squares / calls.max(1.0) / MEAN_SQUARE;
    let tolerance = SIGMAS * SQUARE_SCATTER / calls.max(1.0).sqrt();
    judged(promise, Figure { measured, expected: 1.0, tolerance, samples: calls as u64 }, 0.5)
}

/// A tolerance of `useless` or more would pass what is plainly wrong, so it tells nothing.
fn judged(promise: &str, figure: Figure, useless: f64) -> Finding {
    let Figure { measured, expected, tolerance, samples } = figure;
    let found = format!(
        "{promise}: {:.2} % in {samples} calls; expected {:.2} % ± {:.2}",
        measured * 100.0,
        expected * 100.0,
        tolerance * 100.0
    );
    let (verdict, sentence) = if samples == 0 || tolerance >= useless {
        (AuditOutcome::Inconclusive, format!("too few to decide whether {found}"))
    } else if (measured - expected).abs() <= tolerance {
        (AuditOutcome::Passed, found)
    } else {
        (AuditOutcome::Failed, format!("violated: {found}"))
    };
    Finding::of(verdict, sentence, figure)
}

/// The whole numbers of the one row, exact up to 2⁵³, which no sum of ours comes near.
fn figures<const N: usize>(rows: &[Vec<Value>]) -> Option<[f64; N]> {
    only_row(rows, Value::number)
}

#[cfg(test)]
mod tests {
    use super::super::audits;
    use super::*;
    use sql::Dialect;

    fn judge(name: &str, rows: &[Vec<Value>], context: &Context) -> Finding {
        let groups = audits(Dialect::Sqlite).unwrap();
        let audit = groups.iter().flat_map(|group| &group.audits).find(|audit| audit.name == name).unwrap();
        audit.judge(rows, context)
    }

    fn row(values: &[i64]) -> Vec<Vec<Value>> {
        vec![values.iter().copied().map(Value::Int).collect()]
    }

    const WHOLE: Context = Context { history_whole: true, ..Context::standard(10) };

    #[test]
    fn a_violation_is_shown_with_names_for_its_values() {
        let found = judge("balance-sums", &row(&[5, 5, 4]), &WHOLE);
        assert_eq!(found.verdict, AuditOutcome::Failed);
        assert_eq!(found.details, ["accounts hold 5, tellers hold 5, branches hold 4"]);
        assert_eq!(judge("balance-sums", &[], &WHOLE).verdict, AuditOutcome::Passed);
        let many = vec![vec![Value::Int(1)]; 6];
        assert!(judge("account-branches", &many, &WHOLE).sentence.starts_with("violated more than 5 times"));
    }

    #[test]
    fn a_history_that_may_have_been_emptied_convicts_no_one_and_acquits_whom_it_can() {
        let unknown = Context::standard(10);
        for name in ["history-sum", "branch-history", "teller-history", "account-history"] {
            let rows = row(&[1, 500, 0, 0]);
            assert_eq!(judge(name, &rows, &WHOLE).verdict, AuditOutcome::Failed);
            let found = judge(name, &rows, &unknown);
            assert_eq!(found.verdict, AuditOutcome::Inconclusive);
            assert!(found.sentence.contains("without -n") && found.details.len() == 1, "{found:?}");
            assert_eq!(judge(name, &[], &unknown).verdict, AuditOutcome::Passed);
        }
        // What is stored in three tables needs no history.
        assert_eq!(judge("balance-sums", &row(&[5, 5, 4]), &unknown).verdict, AuditOutcome::Failed);
    }

    #[test]
    fn few_calls_tell_nothing() {
        for name in ["amount-mean", "amount-spread", "accounts-at-home", "tellers-at-home"] {
            for calls in [0, 1, 5] {
                assert_eq!(
                    judge(name, &row(&[calls, calls]), &WHOLE).verdict,
                    AuditOutcome::Inconclusive,
                    "{name}"
                );
            }
        }
        let one = Context { size: crate::Cardinality::standard(1), ..WHOLE };
        assert_eq!(
            judge("accounts-at-home", &row(&[10_000, 10_000]), &one).verdict,
            AuditOutcome::Inconclusive
        );
    }

    #[test]
    fn amounts_that_only_grow_or_are_always_the_same_are_caught() {
        assert_eq!(judge("amount-mean", &row(&[10_000, 100_000]), &WHOLE).verdict, AuditOutcome::Passed);
        assert_eq!(judge("amount-mean", &row(&[10_000, 25_000_000]), &WHOLE).verdict, AuditOutcome::Failed);
        let fair = (MEAN_SQUARE * 10_000.0) as i64;
        assert_eq!(judge("amount-spread", &row(&[10_000, fair]), &WHOLE).verdict, AuditOutcome::Passed);
        assert_eq!(judge("amount-spread", &row(&[10_000, 10_000]), &WHOLE).verdict, AuditOutcome::Failed);
    }

    #[test]
    fn the_branch_of_the_account_is_caught_as_the_branch_of_the_call() {
        assert_eq!(judge("accounts-at-home", &row(&[10_000, 1_020]), &WHOLE).verdict, AuditOutcome::Passed);
        assert_eq!(judge("accounts-at-home", &row(&[10_000, 8_500]), &WHOLE).verdict, AuditOutcome::Failed);
        assert_eq!(judge("tellers-at-home", &row(&[10_000, 10_000]), &WHOLE).verdict, AuditOutcome::Failed);
    }

    #[test]
    fn rows_of_another_shape_tell_nothing() {
        for rows in [vec![], row(&[1]), vec![vec![Value::Null, Value::Null]]] {
            assert_eq!(judge("amount-mean", &rows, &WHOLE).verdict, AuditOutcome::Inconclusive);
            assert_eq!(judge("branch-spread", &rows, &WHOLE).verdict, AuditOutcome::Inconclusive);
        }
        // Some engines give sums as decimals.
        let reals = vec![vec![Value::Real(10_000.0), Value::Real(100_000.0)]];
        assert_eq!(judge("amount-mean", &reals, &WHOLE).verdict, AuditOutcome::Passed);
    }
}
