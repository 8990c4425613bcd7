use super::*;
use crate::Inputs;
use model::{Conflict, Fault, Inputs as _, Ledger as _};
use std::collections::BTreeSet;

#[test]
fn file_and_code_name_the_same_queries_on_every_engine() {
    let asked: Vec<&str> =
        GROUPS.iter().flat_map(|group| group.audits.iter().map(About::query)).chain([STORED]).collect();
    assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "a query is asked twice");
    for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
        catalogue(dialect).unwrap().select(&asked).unwrap();
        assert_eq!(audits(dialect).unwrap().iter().map(|group| group.audits.len()).sum::<usize>(), 6);
        assert!(stored(dialect).unwrap().contains("versions"));
    }
}

/// What the audit of many calls does not pass, where a kind is left out.
fn not_passed(drawn: &Mix, asked: &Mix, left_out: Option<usize>) -> Vec<&'static str> {
    let size = Cardinality::tiny();
    let mut inputs = Inputs::new(size, crate::Loaded::of(&size), drawn.clone(), 7, 0, 0);
    let mut ledger = Ledger::new(size);
    for _ in 0..100_000 {
        let call = inputs.draw();
        if Some(FoodCatalogue::kind(&call)) != left_out {
            ledger.post(&call, &Err(Fault::Conflict(Conflict::Busy)));
        }
    }
    let found = input_audit(&ledger, asked).into_iter();
    found.filter(|found| found.finding.verdict != AuditOutcome::Passed).map(|found| found.name).collect()
}

#[test]
fn calls_that_are_left_out_are_caught() {
    let mix = input::standard_mix();
    assert_eq!(not_passed(&mix, &mix, None), [""; 0]);
    assert!(not_passed(&mix, &mix, Some(10)).contains(&"bulk-insert"));
    assert!(not_passed(&mix, &mix, Some(6)).contains(&"food-read"));
}

#[test]
fn a_mix_that_was_asked_for_is_what_calls_are_held_to() {
    let only = Mix::of(FoodCatalogue::KINDS, &[("food-read".to_owned(), 1.0)]).unwrap().unwrap();
    assert_eq!(not_passed(&only, &only, None), [""; 0]);
    let found = not_passed(&input::standard_mix(), &only, None);
    assert_eq!(found.len(), KINDS, "{found:?}");
}

#[test]
fn few_calls_tell_nothing() {
    let found = input_audit(&Ledger::new(Cardinality::tiny()), &input::standard_mix());
    assert!(
        found.iter().all(|found| found.finding.verdict == AuditOutcome::Inconclusive) && found.len() == KINDS
    );
}
