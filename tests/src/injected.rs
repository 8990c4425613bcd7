//! What every workload over the SQL port is held to, on an engine: right answers and sound data on both routes, and fault injectors,
//! each caught by exactly the audits that it violates.

use crate::bite;
use crate::calls::{drive, runtime};
use crate::faulty::spelled;
use crate::loaded_db::{DrivenDb, Edit, LoadedDb, LoadedDbTarget, RowChange};
use crate::routes::{PATIENT, Route, validated};
use crate::served::Served;
use crate::tamper::Tampering;
use crate::test_engines::TestEngine;
use contract::conformance::{Conformance, Disagreement};
use model::{CallWork, Inputs as _, Ledger as _, Session, Target};
use sql::{Dialect, SqlForm};
use std::collections::BTreeSet;
use workload::{Benchmark, Streams};

/// Random calls of a conformance, in addition to the golden ones.
pub const RANDOM_CALLS: u32 = 400;
/// Sessions at once.
const SESSIONS: u32 = 8;

/// A workload that is tested so.
pub trait Injected:
    Benchmark<Extent: Copy + Sync, Evidence: Sync, Claims: Sync> + SqlForm + Copy + Sync
{
    /// The size of the data that is driven and audited; conformance has its own.
    const SIZE: Self::Extent;
    /// Calls that are enough for every fault injector.
    const CALLS: u32;
    /// Calls of many sessions at once.
    const MIX_CALLS: u64;
    /// Recorded calls of a conformance, and declined ones, at least.
    const CONFORMED: [u32; 2];
    const INJECTORS: &'static [Injector<Self>];

    /// The texts of its statements.
    fn statements(dialect: Dialect) -> Vec<String>;

    /// Holds a session to the golden calls and to [`RANDOM_CALLS`].
    fn conform<S: Session<Self>>(session: &mut S) -> impl Future<Output = Result<Conformance, Disagreement>>;

    /// Whether a call is left out when a fault injector is active.
    fn is_left_out(_: &Self::Call) -> bool {
        false
    }

    /// The name of the table and of its check constraint that [`Injector::unchecked`] takes away.
    const CONSTRAINT: [&'static str; 2] = ["", ""];
}

#[derive(Debug)]
pub struct Injector<W: Injected> {
    pub what: &'static str,
    /// Texts in statements, and what they are replaced by.
    pub edits: &'static [Edit],
    /// What goes wrong inside the connection.
    pub tampering: Tampering,
    /// What becomes of a call before it is made.
    pub change: fn(&mut W::Call),
    /// Statements that are executed after the last call.
    pub after: &'static [&'static str],
    /// Whether the engine checks its constraint meanwhile.
    pub checks: bool,
    /// All audits that must fail, and no others; `ledger` for any measure of the ledger.
    pub caught_by: &'static [&'static str],
}

impl<W: Injected> Injector<W> {
    pub const NONE: Injector<W> = Injector {
        what: "nothing is wrong",
        edits: &[],
        tampering: Tampering::None,
        change: |_| {},
        after: &[],
        checks: true,
        caught_by: &[],
    };

    /// One that edits statements.
    pub const fn edits(
        what: &'static str,
        edits: &'static [Edit],
        caught_by: &'static [&'static str],
    ) -> Injector<W> {
        Injector { what, edits, caught_by, ..Injector::NONE }
    }

    /// One that changes calls before they are made.
    pub const fn drawn(
        what: &'static str,
        change: fn(&mut W::Call),
        caught_by: &'static [&'static str],
    ) -> Injector<W> {
        Injector { what, change, caught_by, ..Injector::NONE }
    }

    /// One that changes rows after the last call.
    pub const fn after(
        what: &'static str,
        after: &'static [&'static str],
        caught_by: &'static [&'static str],
    ) -> Injector<W> {
        Injector { what, after, caught_by, ..Injector::NONE }
    }

    /// The same where the engine does not check the constraint.
    #[must_use]
    pub const fn unchecked(self) -> Injector<W> {
        Injector { checks: false, ..self }
    }

    /// One whose connection is tampered with.
    pub const fn tampered(
        what: &'static str,
        tampering: Tampering,
        caught_by: &'static [&'static str],
    ) -> Injector<W> {
        Injector { what, tampering, caught_by, ..Injector::NONE }
    }

    fn statements<B: TestEngine>(&self) -> Vec<String> {
        let [table, constraint] = W::CONSTRAINT;
        let unchecked = match B::DIALECT {
            Dialect::Sqlite => "pragma ignore_check_constraints = on".to_owned(),
            Dialect::Postgres => format!("alter table {table} drop constraint {constraint}"),
            Dialect::MySql => "set check_constraint_checks = 0".to_owned(),
        };
        let after = self.after.iter().map(|text| spelled(B::DIALECT, text));
        (!self.checks).then_some(unchecked).into_iter().chain(after).collect()
    }

    /// Its statements after the last call, unless it has none.
    fn row_change<B: TestEngine>(&self) -> Option<RowChange> {
        let Injector { what, caught_by, .. } = *self;
        (!self.after.is_empty()).then(|| RowChange { what, statements: self.statements::<B>(), caught_by })
    }
}

/// The sessions that users have, with a fault injector in them.
///
/// # Panics
/// When an edit does not fit its statement.
pub fn target<B: TestEngine, W: Injected>(
    loaded_db: &LoadedDb<W>,
    form: W::Form,
    injector: &Injector<W>,
) -> LoadedDbTarget<W, B::Opener> {
    loaded_db.target::<B>(<W as Injected>::statements(B::DIALECT), form, injector.edits, injector.tampering)
}

fn serve<W: Injected, T: Target<W>>(target: T, size: W::Extent, sessions: u32) -> Served<W> {
    Served::with(target, size, W::scale(&size).into(), sessions)
}

/// Sessions in a form answer as the vectors and the oracle say, on a route.
///
/// # Panics
/// At the first answer that does not.
pub fn is_right<B: TestEngine, W: Injected>(form: W::Form, route: Route) {
    let size = W::tiny();
    let loaded_db = LoadedDb::<W>::on::<B>(size);
    let target = target::<B, W>(&loaded_db, form, &Injector::NONE);
    let done = match route {
        Route::Direct => runtime().block_on(conforms(&target)),
        Route::Http => {
            let served = serve(target, size, 1);
            let done = runtime().block_on(conforms(&served.target()));
            assert_eq!(served.log(), [""; 0], "the server complained");
            done
        }
    };
    done.unwrap_or_else(|wrong| panic!("{form:?} {route:?}: {wrong}"));
}

async fn conforms<W: Injected, T: Target<W>>(target: &T) -> Result<(), String> {
    let mut session = target.open(0).await.map_err(|error| error.to_string())?;
    let done = W::conform(&mut session).await.map_err(|wrong| wrong.to_string())?;
    let [golden, declined] = W::CONFORMED;
    assert!(done.golden > golden && done.random == RANDOM_CALLS && done.declined >= declined, "{done:?}");
    Ok(())
}

/// Eight sessions of the load generator, which holds every answer to what it knows, leave sound data and exactly what
/// was acknowledged, on both routes.
///
/// # Panics
/// When they do not.
pub fn the_mix_is_sound_on_both_routes<B: TestEngine, W: Injected>() {
    for route in [Route::Direct, Route::Http] {
        let loaded_db = LoadedDb::<W>::on::<B>(W::SIZE);
        let before = loaded_db.evidence();
        let mut target = target::<B, W>(&loaded_db, W::Form::default(), &Injector::NONE);
        target.policy = PATIENT;
        let (size, streams) = (W::SIZE, Streams { seed: 3, run: 7, ..Streams::default() });
        let inputs = workload::inputs::<W>(&size, &streams);
        let ledger = || W::new_ledger(&W::SIZE);
        let trial = match route {
            Route::Direct => drive(target, SESSIONS, W::MIX_CALLS, inputs, ledger),
            Route::Http => {
                drive(serve(target, W::SIZE, SESSIONS).target(), SESSIONS, W::MIX_CALLS, inputs, ledger)
            }
        };
        validated(&trial);
        let failed = loaded_db.failed(&before, &W::claims(&trial.ledger, true));
        assert_eq!(failed, BTreeSet::new(), "{route:?}");
    }
}

/// A fresh database after the calls of a fault injector.
fn driven<B: TestEngine, W: Injected>(injector: &Injector<W>) -> DrivenDb<W> {
    let loaded_db = LoadedDb::<W>::on::<B>(W::SIZE);
    let before = loaded_db.evidence();
    let target = target::<B, W>(&loaded_db, W::Form::default(), injector);
    let mut ledger = W::new_ledger(&W::SIZE);
    runtime().block_on(async {
        let mut session = target.open(0).await.expect("data that was just loaded");
        let mut inputs =
            workload::inputs::<W>(&W::SIZE, &Streams { seed: 11, run: 7, ..Streams::default() })(0);
        let mut calls = 0;
        while calls < W::CALLS {
            let mut call = inputs.draw();
            if W::is_left_out(&call) {
                continue;
            }
            calls += 1;
            (injector.change)(&mut call);
            let answer = session.run(&call, &mut CallWork::default()).await;
            match &answer {
                // What is wrong with it is for the audits to say here.
                Ok(outcome) => drop(inputs.check(&call, outcome)),
                Err(fault) => panic!("{}: {fault}", injector.what),
            }
            ledger.post(&call, &answer);
        }
    });
    DrivenDb::new(loaded_db, before, W::claims(&ledger, true))
}

/// Every change of rows after right calls is caught by exactly the audits that it violates, and every audit catches one, except those
/// in `elsewhere`.
///
/// # Panics
/// When that is not so.
pub fn row_changes_are_caught<B: TestEngine, W: Injected>(elsewhere: &BTreeSet<&str>) {
    let changes: Vec<RowChange> = W::INJECTORS.iter().filter_map(Injector::row_change::<B>).collect();
    let db = driven::<B, W>(&Injector::NONE);
    let mut audits = db.audit_names();
    audits.retain(|name| !elsewhere.contains(name.as_str()));
    db.assert_caught(&changes, &audits);
}

/// Each fault injector is caught by exactly the audits that it violates, and right calls by none.
///
/// # Panics
/// With those for which that is not so.
pub fn all_are_caught<B: TestEngine, W: Injected>() {
    let cases: Vec<&Injector<W>> = [&Injector::NONE].into_iter().chain(W::INJECTORS).collect();
    bite::assert_none(&bite::all(&cases, |injector| {
        let expected: BTreeSet<String> = injector.caught_by.iter().map(|name| (*name).to_owned()).collect();
        let found = driven::<B, W>(injector).failed_after(&injector.statements::<B>());
        (found != expected).then(|| format!("{}: expected {expected:?}, failed {found:?}", injector.what))
    }));
}

/// Every audit, on whatever engine, and the ledger, is failed by a fault injector, or by one of `elsewhere`.
///
/// # Panics
/// When one is not.
pub fn every_audit_is_failed<W: Injected>(elsewhere: &BTreeSet<&str>) {
    let here = W::INJECTORS.iter().flat_map(|injector| injector.caught_by).copied();
    let caught: BTreeSet<&str> = here.chain(elsewhere.iter().copied()).collect();
    let mut names: BTreeSet<String> = BTreeSet::from(["ledger".to_owned()]);
    for engine in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
        let groups = W::audits(engine).expect("kept by a test of the workload");
        names.extend(groups.into_iter().flat_map(|group| group.audits).map(|audit| audit.name));
    }
    assert_eq!(names.iter().map(String::as_str).collect::<BTreeSet<_>>(), caught);
}
