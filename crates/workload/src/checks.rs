//! Findings, as results have them.

use model::LedgerFinding;
use result::{AuditFamily, Check, InputCheck, LedgerCheck};
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

/// The finding where not even the places are those of before.
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
