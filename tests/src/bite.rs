//! Fault injectors at work on an engine, and what the audits say of what they leave behind. Each check is a promise of every
//! engine; it fails with what was not caught, or caught by audits that it should not concern.

use crate::calls::{drive_tpcc, drive_trusting, runtime};
use crate::fault_injectors::{EXACT, FaultInjector, SHAPE, UNSEEN};
use crate::faulty::{FaultyTarget, Trick};
use crate::lies::DEFECTS;
use crate::served::Served;
use crate::store::{Store, StoreFindings};
use crate::tamper::Tampering;
use crate::test_engines::TestEngine;
use model::Target as _;
use std::collections::BTreeSet;
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{Call, Cardinality, Claims, Ledger, Stmt, StoredTally};

/// The seed of all inputs here.
pub const SEED: u64 = 7;
/// Calls that are enough for every exact fault injector on tiny data.
pub const EXACT_CALLS: u64 = 1_200;
/// Calls after which every audit of the shape can tell, on data of the standard's size.
pub const SHAPE_CALLS: u64 = 4_600;

/// No one at work.
pub const TWIN: FaultInjector =
    FaultInjector { what: "nothing is wrong", trick: Trick::None, workers: 1, caught_by: &[] };

fn target<B: TestEngine>(store: &Store, trick: Trick) -> FaultyTarget<B::Opener> {
    FaultyTarget::with(store, B::opener(&store.place(), trick.statements(B::DIALECT)), trick)
}

/// Drives a fault injector on a store, and looks at what is left.
///
/// # Panics
/// When the trial fails.
pub fn run_faulty<B: TestEngine>(store: &Store, injector: &FaultInjector, calls: u64) -> StoreFindings {
    let before = store.tallies();
    let trial = drive_trusting(store, target::<B>(store, injector.trick), injector.workers, calls, SEED);
    assert_eq!(trial.failure, None, "{}", injector.what);
    store.find(&before, &Claims::of(&trial.ledger, true))
}

/// What a fault injector was not caught by, or should not have been, in one sentence.
pub fn judged(injector: &FaultInjector, found: &StoreFindings) -> Option<String> {
    let expected: BTreeSet<String> = injector.caught_by.iter().map(|name| (*name).to_owned()).collect();
    let failed = found.failed();
    (failed != expected).then(|| format!("{}: expected {expected:?}, failed {failed:#?}", injector.what))
}

/// Runs all, two at a time, and gives what went wrong.
///
/// # Panics
/// When a check does.
pub fn all<T: Sync>(items: &[T], check: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (evens, odds): (Vec<_>, Vec<_>) = items.iter().enumerate().partition(|(at, _)| at % 2 == 0);
    let run =
        |half: Vec<(usize, &T)>| half.into_iter().filter_map(|(_, item)| check(item)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(odds));
        let mut wrong = run(evens);
        wrong.extend(other.join().expect("a check panicked"));
        wrong
    })
}

/// Fails with all of them.
///
/// # Panics
/// When there is one.
#[track_caller]
pub fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Each of [`EXACT`] is caught by the audits that it offends and by no others; and no one is caught where no one is.
///
/// # Panics
/// With those for whom that is not so.
pub fn exact_fault_injectors_are_caught<B: TestEngine>() {
    let twins = [1, 4].map(|workers| FaultInjector { workers, ..TWIN });
    let cases: Vec<FaultInjector> = twins.into_iter().chain(EXACT.iter().copied()).collect();
    assert_none(&all(&cases, |injector| {
        let store = B::store(Cardinality::tiny());
        judged(injector, &run_faulty::<B>(&store, injector, EXACT_CALLS))
    }));
}

/// All of [`SHAPE`] in one call.
fn misshapen(call: Call) -> Call {
    SHAPE.iter().fold(call, |call, injector| match injector.trick {
        Trick::Instead(other) => other(call),
        _ => call,
    })
}

/// On a server: no one is caught where no one is, by audits that can all tell; and [`SHAPE`] is, all at once and on the
/// same data, which costs most. SQLite has them one by one.
///
/// # Panics
/// When that is not so.
pub fn shape_fault_injectors_are_caught<B: TestEngine>() {
    let engine = B::ENGINE.expect("a file is quickly copied");
    let store = Store::alone_on(engine, Cardinality::standard(2));
    let honest = FaultInjector { workers: 4, ..TWIN };
    let found = run_faulty::<B>(&store, &honest, SHAPE_CALLS);
    assert_eq!((judged(&honest, &found), found.not_told()), (None, BTreeSet::new()));
    let found =
        run_faulty::<B>(&store, &FaultInjector { trick: Trick::Instead(misshapen), ..honest }, SHAPE_CALLS);
    let expected: BTreeSet<String> =
        SHAPE.iter().flat_map(|injector| injector.caught_by).map(|name| (*name).to_owned()).collect();
    assert_eq!(found.failed(), expected);
}

/// Each of [`DEFECTS`] ends the trial at once, with words that say why.
///
/// # Panics
/// With the first for whom that is not so.
pub fn defects_end_the_trial<B: TestEngine>() {
    for (what, trick, words) in DEFECTS {
        let store = B::store(Cardinality::tiny());
        let trial = drive_tpcc(&store, target::<B>(&store, *trick), 1, EXACT_CALLS, SEED);
        let failure = trial.failure.unwrap_or_else(|| panic!("{what}: the trial went well"));
        assert!(failure.contains(words[B::DIALECT as usize]), "{what}: {failure}");
        let defects: u64 = trial.totals.kinds.iter().map(|kind| kind.call_counts.defect).sum();
        assert_eq!(defects, 1, "{what}: a defect ends the trial at once");
    }
}

/// No audit sees one of [`UNSEEN`], and conformance does. The limits of audits, written down: this is why a subject that
/// does not conform is not measured.
///
/// # Panics
/// With the first for whom that is not so.
pub fn what_no_audit_sees_does_not_conform<B: TestEngine>() {
    let plan = ConformancePlan::golden(1, 500);
    let honest = [("nothing is wrong", Trick::None)];
    let unseen = UNSEEN.iter().map(|&(what, edits)| (what, Trick::Statements([edits; 3])));
    let cases: Vec<(&str, Trick)> = honest.into_iter().chain(unseen).collect();
    assert_none(&all(&cases, |&(what, trick)| {
        let store = B::store(Cardinality::tiny());
        let found = run_faulty::<B>(&store, &FaultInjector { what, trick, ..TWIN }, EXACT_CALLS).failed();
        if !found.is_empty() {
            return Some(format!("{what}: {found:?} see it now; say so in the tables"));
        }
        let store = B::store(Cardinality::tiny());
        let target = target::<B>(&store, trick);
        let conforms = runtime().block_on(async {
            let mut session = target.open(0).await.expect("a store that was just made");
            conform(&mut session, &plan).await
        });
        match (trick, conforms) {
            (Trick::None, Err(wrong)) => Some(format!("{what}: {wrong}")),
            (Trick::Statements(_), Ok(_)) => Some(format!("{what}: conformance does not see it either")),
            _ => None,
        }
    }));
}

/// A trial through HTTP with a fault injector behind the server. Gives what the store had before, and what was claimed.
fn behind_a_server<B: TestEngine>(store: &Store, trick: Trick) -> (Vec<StoredTally>, Ledger) {
    let before = store.tallies();
    let served = Served::start(target::<B>(store, trick), store.size, 4);
    let trial = drive_trusting(store, served.target(), 4, EXACT_CALLS, SEED);
    assert_eq!(trial.failure, None);
    (before, trial.ledger)
}

/// An acknowledged call that never committed is missed through HTTP too, and after a crash of the generator; so is a lost
/// update.
///
/// # Panics
/// With the first for which that is not so.
pub fn fault_injectors_behind_a_server_are_caught<B: TestEngine>() {
    for (stmt, measure) in [
        (Stmt::InsertNewOrder, "ledger: orders placed"),
        (Stmt::InsertHistory, "ledger: payments"),
        (Stmt::DeleteNewOrder, "ledger: orders delivered"),
    ] {
        let store = B::store(Cardinality::tiny());
        let trick = Trick::Connection(Tampering::ForgetsCommit(stmt.id(), 5));
        let (before, ledger) = behind_a_server::<B>(&store, trick);
        // Of a generator that was killed only the claims of its last slice are left: they bound from below.
        for complete in [true, false] {
            let failed = store.find(&before, &Claims::of(&ledger, complete)).failed();
            assert!(failed.contains(measure), "{measure}: {failed:?}");
        }
    }
    let lost = EXACT.iter().find(|injector| injector.workers > 1).expect("a race is among them");
    let store = B::store(Cardinality::tiny());
    let (before, ledger) = behind_a_server::<B>(&store, lost.trick);
    assert_eq!(judged(lost, &store.find(&before, &Claims::of(&ledger, true))), None);
}
