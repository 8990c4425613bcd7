//! What makes the result of a trial invalid.
use result::{Check, Missing, Outage, Rule, Severity, State, Trial};

type Change = fn(&mut Trial);

fn rule(name: &str) -> Rule {
    let mut rule = sample_documents::trial().trials[0].rules[0].clone();
    (rule.name, rule.severity) = (name.to_owned(), Severity::Bad);
    rule
}

#[test]
fn whatever_makes_a_number_void_is_told_in_one_place() {
    let changes: [(&str, Change); 8] = [
        ("the server ended", |trial| {
            (trial.state, trial.failure) = (State::Failed, Some("the server ended".to_owned()));
        }),
        ("broke the contract: a row is missing", |trial| trial.defects.push("a row is missing".to_owned())),
        ("took no writes", |trial| {
            let (from_s, to_s) = (1.0, Some(2.0));
            let outage = Outage { missing: Missing::Writes, from_s, to_s, in_doubt: 0, refused: 1 };
            trial.outages.push(outage);
        }),
        ("failed conformance", |trial| trial.conformance.check = Check::Failed),
        ("the audit `", |trial| trial.audits[0].check = Check::Failed),
        ("the audit of `", |trial| trial.ledger[0].check = Check::Failed),
        ("among its inputs", |trial| trial.inputs[0].check = Check::Failed),
        ("the rule `call-accounting`", |trial| trial.rules.push(rule("call-accounting"))),
    ];
    for (words, change) in changes {
        let mut trial = sample_documents::trial().trials.remove(0);
        assert_eq!((trial.problems(), trial.why_invalid()), (Vec::new(), None));
        change(&mut trial);
        assert_eq!(trial.problems().len(), 1, "{words}");
        assert!(trial.is_invalid() && trial.is_invalid_at_any_load(), "{words}");
        assert!(
            trial.why_invalid().is_some_and(|why| why.contains(words)),
            "{words}: {:?}",
            trial.why_invalid()
        );
    }
}

#[test]
fn a_load_that_was_too_much_voids_the_number_of_that_load_alone() {
    let mut trial = sample_documents::trial().trials.remove(0);
    trial.rules.push(rule("saturation"));
    assert!(trial.is_invalid() && !trial.is_invalid_at_any_load());
    trial.audits[0].check = Check::Failed;
    assert!(trial.why_invalid().is_some_and(|why| why.starts_with("the audit")));
}
