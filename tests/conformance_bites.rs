//! Audits bite: for each audit someone who does what it forbids, driven by the real load generator, and caught by the
//! audits as the command line runs them. An audit without a fault injector does not count, and fails a test here.

use drive::Trial;
use sql::Dialect;
use stackmark_tests::bad_inputs::{BadInputs, INPUTS};
use stackmark_tests::bite::{self, SEED, SHAPE_CALLS, TWIN, all, assert_none, judged, run_faulty};
use stackmark_tests::calls::drive;
use stackmark_tests::fault_injectors::{EXACT, SHAPE};
use stackmark_tests::faulty::{Deaf, ForMisdrawn, Misdrawn, MisdrawnInputs, MisdrawnLedger};
use stackmark_tests::store::Store;
use stackmark_tests::test_engines::OnSqlite;
use std::collections::BTreeSet;
use workload_tpcc::audit::{self, AuditOutcome, InputFinding, input_audit};
use workload_tpcc::{Cardinality, Claims, Ledger};

/// Calls after which every item of the input audit can tell.
const INPUT_CALLS: u64 = 60_000;

#[test]
fn each_fault_injector_is_caught_by_the_audits_that_it_offends_and_by_no_others() {
    bite::exact_fault_injectors_are_caught::<OnSqlite>();
}

#[test]
fn work_that_is_not_the_standard_s_shows_in_the_shape_of_the_data() {
    let standard = || Store::new(Cardinality::standard(2), "synchronous=off");
    let mut cases = vec![TWIN];
    cases.extend(SHAPE);
    assert_none(&all(&cases, |injector| {
        let found = run_faulty::<OnSqlite>(&standard(), injector, SHAPE_CALLS);
        assert_eq!(found.not_told(), BTreeSet::new(), "{}: too few calls", injector.what);
        judged(injector, &found)
    }));
}

/// What the input audit says of calls that no one answered.
fn of_inputs(bad: &BadInputs) -> Vec<InputFinding> {
    let size = Cardinality::standard(2);
    let trial: Trial<Misdrawn> = drive(
        ForMisdrawn(Deaf),
        2,
        INPUT_CALLS,
        |worker| {
            let drawn = workload_tpcc::Inputs::new(size, workload_tpcc::Data::c_load_of(1), SEED, worker);
            MisdrawnInputs::new(drawn, size, bad.change, worker)
        },
        || MisdrawnLedger(Ledger::new(size)),
    );
    let ledger = &trial.ledger.0;
    input_audit(ledger.counts(), ledger.item_counts(), ledger.customer_counts(), size, None)
}

#[test]
fn bad_inputs_are_caught_by_the_items_that_they_offend_and_by_no_others() {
    let honest = BadInputs { what: "nothing is wrong", change: |_, _, call| Some(call), caught_by: &[] };
    let mut cases = vec![honest];
    cases.extend(INPUTS);
    assert_none(&all(&cases, |bad| {
        let findings = of_inputs(bad);
        let named = |verdict| findings.iter().filter(move |found| found.finding.verdict == verdict);
        let failed: Vec<&str> = named(AuditOutcome::Failed).map(|found| found.name).collect();
        let untold: Vec<&str> = named(AuditOutcome::Inconclusive).map(|found| found.name).collect();
        let fine = failed.iter().collect::<BTreeSet<_>>() == bad.caught_by.iter().collect()
            && (untold.is_empty() || !bad.caught_by.is_empty());
        (!fine).then(|| {
            format!("{}: expected {:?}, failed {failed:?}, not told {untold:?}", bad.what, bad.caught_by)
        })
    }));
}

#[test]
fn no_audit_is_without_a_fault_injector_and_no_fault_injector_names_an_audit_that_is_not_there() {
    let audits = audit::audits(Dialect::Sqlite).unwrap();
    let ledger = Claims::default().audit(&[], &[]).unwrap();
    let stored: BTreeSet<String> = audits
        .iter()
        .flat_map(|group| &group.audits)
        .map(|audit| audit.name.clone())
        .chain(ledger.iter().map(|measure| format!("ledger: {}", measure.name)))
        .collect();
    let caught: BTreeSet<String> = EXACT
        .iter()
        .chain(SHAPE)
        .flat_map(|injector| injector.caught_by)
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(stored, caught);

    let size = Cardinality::standard(2);
    let empty = Ledger::new(size);
    let items: BTreeSet<&str> =
        input_audit(empty.counts(), &[], &[], size, None).iter().map(|item| item.name).collect();
    let caught: BTreeSet<&str> = INPUTS.iter().flat_map(|bad| bad.caught_by).copied().collect();
    assert_eq!(items, caught);
    // As many as there were when this was written: an empty list would be caught completely.
    assert!(stored.len() >= 43 && items.len() >= 13, "{stored:?} {items:?}");
}

#[test]
fn what_an_answer_or_the_schema_gives_away_fails_the_trial() {
    bite::defects_end_the_trial::<OnSqlite>();
}

#[test]
fn what_no_audit_can_see_is_left_to_conformance_which_does() {
    bite::what_no_audit_sees_does_not_conform::<OnSqlite>();
}

#[test]
fn fault_injectors_behind_a_server_are_caught_too_and_after_a_crash() {
    bite::fault_injectors_behind_a_server_are_caught::<OnSqlite>();
}
