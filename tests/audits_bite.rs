//! Audits bite: for each audit somebody who does what it forbids, driven by the real load generator, and caught by the
//! audits as the command line runs them. An audit without a saboteur does not count, and fails a test here.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use drive::Trial;
use model::Target;
use sql::Dialect;
use stackmark_tests::bad_inputs::{BadInputs, INPUTS};
use stackmark_tests::calls::{drive, drive_tpcc, now};
use stackmark_tests::sabotage::{
    Deaf, ForMisdrawn, Misdrawn, MisdrawnInputs, MisdrawnLedger, SabotagedTarget, Trick,
};
use stackmark_tests::saboteurs::{DEFECTS, EXACT, SHAPE, Saboteur, UNSEEN};
use stackmark_tests::served::Served;
use stackmark_tests::store::{Found, Store};
use stackmark_tests::tamper::Tampering;
use std::collections::BTreeSet;
use workload_tpcc::audit::{self, InputFinding, Verdict, input_audit};
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{Cardinality, Claims, Ledger, Stmt, StoredTally};

/// The seed of all inputs here.
const SEED: u64 = 7;
/// Calls that are enough for every exact saboteur on tiny data.
const EXACT_CALLS: u64 = 1_200;
/// Calls after which every audit of the shape can tell, on data of the standard's size.
const SHAPE_CALLS: u64 = 4_600;
/// Calls after which every item of the input audit can tell.
const INPUT_CALLS: u64 = 60_000;

/// Drives a saboteur on a store, and looks at what is left.
fn sabotaged(store: &Store, saboteur: &Saboteur, calls: u64) -> Found {
    let before = store.tallies();
    let target = SabotagedTarget::new(store, saboteur.trick);
    let trial = drive_tpcc(store, target, saboteur.workers, calls, SEED);
    assert_eq!(trial.failure, None, "{}", saboteur.what);
    store.find(&before, &Claims::of(&trial.ledger, true))
}

/// What a saboteur was not caught by, or should not have been, in one sentence.
fn judged(saboteur: &Saboteur, found: &Found) -> Option<String> {
    let expected: BTreeSet<String> = saboteur.caught_by.iter().map(|name| (*name).to_owned()).collect();
    let failed = found.failed();
    (failed != expected).then(|| format!("{}: expected {expected:?}, failed {failed:#?}", saboteur.what))
}

/// Runs all, two at a time, and gives what went wrong.
fn all<T: Sync>(items: &[T], check: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (evens, odds): (Vec<_>, Vec<_>) = items.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let run =
        |half: Vec<(usize, &T)>| half.into_iter().filter_map(|(_, item)| check(item)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(odds));
        let mut wrong = run(evens);
        wrong.extend(other.join().unwrap());
        wrong
    })
}

#[track_caller]
fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn each_saboteur_is_caught_by_the_audits_that_it_offends_and_by_no_others() {
    assert_none(&all(EXACT, |saboteur| {
        let store = Store::tiny();
        judged(saboteur, &sabotaged(&store, saboteur, EXACT_CALLS))
    }));
}

const TWIN: Saboteur = Saboteur { what: "nothing is wrong", trick: Trick::None, workers: 1, caught_by: &[] };

#[test]
fn the_honest_twin_passes_on_tiny_data() {
    for workers in [1, 4] {
        let found = sabotaged(&Store::tiny(), &Saboteur { workers, ..TWIN }, EXACT_CALLS);
        assert_eq!(judged(&TWIN, &found), None);
    }
}

#[test]
fn work_that_is_not_the_standard_s_shows_in_the_shape_of_the_data() {
    let standard = || Store::new(Cardinality::standard(2), "synchronous=off");
    let mut cases = vec![TWIN];
    cases.extend(SHAPE);
    assert_none(&all(&cases, |saboteur| {
        let found = sabotaged(&standard(), saboteur, SHAPE_CALLS);
        assert_eq!(found.not_told(), BTreeSet::new(), "{}: too few calls", saboteur.what);
        judged(saboteur, &found)
    }));
}

/// What the input audit says of calls that nobody answered.
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
    input_audit(ledger.counts(), ledger.item_counts(), ledger.customer_counts(), size)
}

#[test]
fn bad_inputs_are_caught_by_the_items_that_they_offend_and_by_no_others() {
    let honest = BadInputs { what: "nothing is wrong", change: |_, _, call| Some(call), caught_by: &[] };
    let mut cases = vec![honest];
    cases.extend(INPUTS);
    assert_none(&all(&cases, |bad| {
        let findings = of_inputs(bad);
        let named = |verdict| findings.iter().filter(move |found| found.finding.verdict == verdict);
        let failed: Vec<&str> = named(Verdict::Failed).map(|found| found.name).collect();
        let untold: Vec<&str> = named(Verdict::NotTold).map(|found| found.name).collect();
        let fine = failed.iter().collect::<BTreeSet<_>>() == bad.caught_by.iter().collect()
            && (untold.is_empty() || !bad.caught_by.is_empty());
        (!fine).then(|| {
            format!("{}: expected {:?}, failed {failed:?}, not told {untold:?}", bad.what, bad.caught_by)
        })
    }));
}

#[test]
fn no_audit_is_without_a_saboteur_and_no_saboteur_names_an_audit_that_is_not_there() {
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
        .flat_map(|saboteur| saboteur.caught_by)
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(stored, caught);

    let size = Cardinality::standard(2);
    let empty = Ledger::new(size);
    let items: BTreeSet<&str> =
        input_audit(empty.counts(), &[], &[], size).iter().map(|item| item.name).collect();
    let caught: BTreeSet<&str> = INPUTS.iter().flat_map(|bad| bad.caught_by).copied().collect();
    assert_eq!(items, caught);
    // As many as there were when this was written: an empty list would be caught completely.
    assert!(stored.len() >= 34 && items.len() >= 13, "{stored:?} {items:?}");
}

#[test]
fn what_an_answer_or_the_schema_gives_away_fails_the_trial() {
    for (what, edits, words) in DEFECTS {
        let store = Store::tiny();
        let target = SabotagedTarget::new(&store, Trick::Statements(edits));
        let trial = drive_tpcc(&store, target, 1, EXACT_CALLS, SEED);
        let failure = trial.failure.unwrap_or_else(|| panic!("{what}: the trial went well"));
        assert!(failure.contains(words), "{what}: {failure}");
        let defects: u64 = trial.totals.kinds.iter().map(|kind| kind.books.defect).sum();
        assert_eq!(defects, 1, "{what}: a defect ends the trial at once");
    }
}

/// The limits of audits, written down: this is why a subject that does not conform is not measured.
#[test]
fn what_no_audit_can_see_is_left_to_conformance_which_does() {
    let plan = ConformancePlan::golden(1, 500);
    for &(what, edits) in UNSEEN {
        let trick = Trick::Statements(edits);
        let found = sabotaged(&Store::tiny(), &Saboteur { what, trick, ..TWIN }, EXACT_CALLS);
        assert_eq!(found.failed(), BTreeSet::new(), "{what}: an audit sees it now; say so in the tables");
        let store = Store::tiny();
        let mut session = now(SabotagedTarget::new(&store, trick).open(0)).unwrap();
        assert!(now(conform(&mut session, &plan)).is_err(), "{what}: conformance does not see it either");
    }
    let store = Store::tiny();
    let mut honest = now(store.target().open(0)).unwrap();
    now(conform(&mut honest, &plan)).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// A trial through HTTP with a saboteur behind the server. Gives what the store had before, and what was claimed.
fn behind_a_server(store: &Store, trick: Trick) -> (Vec<StoredTally>, Ledger) {
    let before = store.tallies();
    let served = Served::start(SabotagedTarget::new(store, trick), store.size, 4);
    let trial = drive_tpcc(store, served.target(), 4, EXACT_CALLS, SEED);
    assert_eq!(trial.failure, None);
    (before, trial.ledger)
}

#[test]
fn an_acknowledged_call_that_never_committed_is_missed_through_http_too_and_after_a_crash() {
    for (stmt, measure) in [
        (Stmt::InsertNewOrder, "ledger: orders placed"),
        (Stmt::InsertHistory, "ledger: payments"),
        (Stmt::DeleteNewOrder, "ledger: orders delivered"),
    ] {
        let store = Store::tiny();
        let trick = Trick::Connection(Tampering::ForgetsCommit(stmt, 5));
        let (before, ledger) = behind_a_server(&store, trick);
        // Of a generator that was killed only the claims of its last slice are left: they bound from below.
        for complete in [true, false] {
            let failed = store.find(&before, &Claims::of(&ledger, complete)).failed();
            assert!(failed.contains(measure), "{measure}: {failed:?}");
        }
    }
}

#[test]
fn a_lost_update_behind_a_server_is_found() {
    let lost = &EXACT[0];
    let store = Store::tiny();
    let (before, ledger) = behind_a_server(&store, lost.trick);
    let found = store.find(&before, &Claims::of(&ledger, true));
    assert_eq!(judged(lost, &found), None);
}
