use super::*;
use crate::{Inputs, input};
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
fn not_passed(left_out: Option<usize>) -> Vec<&'static str> {
    let size = Cardinality::tiny();
    let mut inputs = Inputs::new(size, input::templates(&size), 7, 0);
    let mut ledger = Ledger::default();
    for _ in 0..100_000 {
        let call = inputs.draw();
        if Some(FoodCatalogue::kind(&call)) != left_out {
            ledger.post(&call, &Err(Fault::Conflict(Conflict::Busy)));
        }
    }
    let found = input_audit(&ledger).into_iter();
    found.filter(|found| found.finding.verdict != Check::Passed).map(|found| found.name).collect()
}

#[test]
fn calls_that_are_left_out_are_caught() {
    assert_eq!(not_passed(None), [""; 0]);
    assert!(not_passed(Some(10)).contains(&"bulk-insert"));
    assert!(not_passed(Some(6)).contains(&"food-read"));
}

#[test]
fn few_calls_tell_nothing() {
    let found = input_audit(&Ledger::default());
    assert!(found.iter().all(|found| found.finding.verdict == Check::NotTold) && found.len() == KINDS);
}
