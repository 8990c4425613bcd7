//! Findings, as results have them.

use crate::Reasons;
use model::LedgerFinding;
use result::{AuditFamily, Check, InputCheck, LedgerCheck};
use sql::Value;
use sql::audit::{AuditOutcome, Family, InputFinding};

/// What a ledger found, for the document. `place` is where the store is held to the claims: `district`; `places` are how many
/// there were before and are now, without findings where these are not the same.
pub fn ledger_checks(
    place: &str,
    places: (usize, usize),
    findings: Option<Vec<LedgerFinding>>,
    complete: bool,
) -> Vec<LedgerCheck> {
    match findings {
        Some(findings) => {
            findings.into_iter().map(|finding| ledger_check(finding, place, complete)).collect()
        }
        None => vec![places_differ(place, places)],
    }
}

/// What was found of messages, for the document; `passed` is the sentence of a finding without violations.
pub fn message_checks(findings: Vec<LedgerFinding>, passed: &str, complete: bool) -> Vec<LedgerCheck> {
    let check = |finding| match ledger_check(finding, "worker", complete) {
        found @ LedgerCheck { check: Check::Failed, .. } => found,
        found => LedgerCheck { sentence: passed.into(), ..found },
    };
    findings.into_iter().map(check).collect()
}

/// What was found over all stores together, of which no run is known, for the document.
pub fn whole_checks(findings: Vec<LedgerFinding>) -> Vec<LedgerCheck> {
    let passed = "Over all stores together it is as it must be, whatever has run on them.";
    let check = |finding| match ledger_check(finding, "store", true) {
        found @ LedgerCheck { check: Check::Failed, .. } => found,
        found => LedgerCheck { sentence: passed.into(), ..found },
    };
    findings.into_iter().map(check).collect()
}

/// What was found of the reasons for which calls were declined, for the document: the rows of each.
pub fn reasons_check(reasons: &Reasons, rows: &[Vec<Vec<Value>>]) -> LedgerCheck {
    let asked = reasons.params.iter().zip(rows);
    let missing: Vec<_> = asked.filter(|(_, rows)| rows.is_empty()).map(|(params, _)| params).collect();
    let Reasons { name, doubts, .. } = reasons;
    let check = match missing.len() {
        0 => Check::Passed,
        missing if missing > *doubts => Check::Failed,
        _ => Check::Inconclusive,
    };
    let sentence = match missing.split_first() {
        None => format!(
            "Of each call that was looked up, the store has the reason for which it was declined as {name}."
        ),
        Some((first, more)) => {
            let more =
                if more.is_empty() { String::new() } else { format!("; so it is with {} more", more.len()) };
            let why = match check {
                Check::Inconclusive => {
                    format!(". It may be one of {doubts} calls in doubt, which was lost again")
                }
                _ => String::new(),
            };
            format!("A call was declined as {name}, and {}{more}{why}.", (reasons.missing)(first))
        }
    };
    let calls = reasons.params.len() as i64;
    LedgerCheck {
        name: (*name).into(),
        unit: "rows that calls were declined for".into(),
        low: calls,
        high: calls,
        stored: calls - missing.len() as i64,
        check,
        sentence,
    }
}

/// The same where the store cannot be asked.
pub fn unchecked_reasons(reasons: &Reasons) -> LedgerCheck {
    LedgerCheck {
        check: Check::Inconclusive,
        stored: 0,
        sentence: format!(
            "Whether calls were rightly declined as {} is not known: the store could not be read.",
            reasons.name
        ),
        ..reasons_check(reasons, &[])
    }
}

fn ledger_check(finding: LedgerFinding, place: &str, complete: bool) -> LedgerCheck {
    let LedgerFinding { name, unit, low, high, stored, violations } = finding;
    let sentence = match violations.first() {
        Some(first) => {
            let more = violations.len() - 1;
            let more = if more == 0 { String::new() } else { format!(", and {more} more") };
            format!("{first}{more}.")
        }
        None if complete => format!(
            "In each {place} the store changed by what was acknowledged, and by no more than that and what is in doubt."
        ),
        None => format!("In each {place} the store changed by at least what was acknowledged."),
    };
    LedgerCheck {
        name: name.into(),
        unit: unit.into(),
        low,
        // Without the last claims there is no upper bound; what is stored is then its own.
        high: if complete { high } else { stored.max(high) },
        stored,
        check: Check::from_passed(violations.is_empty()),
        sentence,
    }
}

/// The finding where not even the places are the same as before.
fn places_differ(place: &str, (before, after): (usize, usize)) -> LedgerCheck {
    LedgerCheck {
        name: format!("{place}s"),
        unit: format!("{place}s"),
        low: before as i64,
        high: before as i64,
        stored: after as i64,
        check: Check::Failed,
        sentence: format!("The store does not have the {place}s that it had before."),
    }
}

/// What an audit has found, for the document.
pub const fn check_of(verdict: AuditOutcome) -> Check {
    match verdict {
        AuditOutcome::Passed => Check::Passed,
        AuditOutcome::Failed => Check::Failed,
        AuditOutcome::Inconclusive => Check::Inconclusive,
    }
}

/// What an audit belongs to, for the document.
pub const fn family_of(family: Family) -> AuditFamily {
    match family {
        Family::Consistency => AuditFamily::Consistency,
        Family::Shape => AuditFamily::Shape,
    }
}

/// What was found of what was sent, for the document.
pub fn input_checks(findings: Vec<InputFinding>) -> Vec<InputCheck> {
    let check = |input: InputFinding| {
        let figure = input.finding.figure?;
        Some(InputCheck {
            name: input.name.into(),
            clause: Some(input.clause.into()),
            expected: figure.expected,
            tolerance: figure.tolerance,
            measured: figure.measured,
            samples: figure.samples,
            check: check_of(input.finding.verdict),
        })
    };
    findings.into_iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_is_not_there_fails_unless_calls_in_doubt_explain_it() {
        let reasons = |doubts| Reasons {
            name: "already-booked",
            query: String::new(),
            params: vec![vec![4, 5], vec![8, 6], vec![8, 7]],
            missing: |params| format!("user {} has none", params[1]),
            doubts,
        };
        let there = || vec![vec![Value::Int(1)]];
        let found = |doubts, rows: [Vec<Vec<Value>>; 3]| {
            let found = reasons_check(&reasons(doubts), &rows);
            (found.check, found.stored, found.sentence)
        };
        let (check, stored, _) = found(0, [there(), there(), there()]);
        assert_eq!((check, stored), (Check::Passed, 3));
        let (check, stored, sentence) = found(0, [there(), vec![], there()]);
        assert_eq!((check, stored), (Check::Failed, 2));
        assert_eq!(sentence, "A call was declined as already-booked, and user 6 has none.");
        let (check, stored, sentence) = found(1, [vec![], vec![], there()]);
        assert_eq!((check, stored), (Check::Failed, 1));
        assert!(sentence.ends_with("user 5 has none; so it is with 1 more."), "{sentence}");
        assert_eq!(found(2, [vec![], vec![], there()]).0, Check::Inconclusive);
        let unchecked = unchecked_reasons(&reasons(0));
        assert_eq!((unchecked.check, unchecked.stored), (Check::Inconclusive, 0));
    }
}
