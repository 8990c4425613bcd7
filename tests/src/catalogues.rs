//! The catalogue on an engine: right answers in every form and on both routes, many sessions at once, and everybody who does
//! wrong there.

use crate::beds::Bed;
use crate::bite;
use crate::calls::{drive, runtime};
use crate::housed::{DrivenDb, Edit, Housed, HousedTarget, RowChange};
use crate::routes::Route;
use crate::served::Served;
use crate::tamper::Tampering;
use benchmark::{Benchmark as _, Streams};
use model::{Effort, Inputs as _, Ledger as _, Session as _, Target};
use std::collections::BTreeSet;
use workload_catalogue::conformance::{ConformancePlan, conform};
use workload_catalogue::{Cardinality, Claims, FoodCatalogue, Form, Ledger, Stmt, catalogue};

/// Random calls of a conformance, beside the golden ones.
const RANDOM_CALLS: u32 = 400;
/// Sessions at once.
const SESSIONS: u32 = 8;
/// Calls of all of them.
const MIX_CALLS: u64 = 1_500;
/// Calls that are enough for every saboteur.
const CALLS: u32 = 800;

fn target<B: Bed>(
    housed: &Housed<FoodCatalogue>,
    form: Form,
    edits: &[Edit],
    tampering: Tampering,
) -> HousedTarget<FoodCatalogue, B::Opener> {
    let statements = catalogue(B::DIALECT).expect("kept by a test of the workload");
    housed.target::<B>(statements, form, edits, tampering)
}

fn serve<T: Target<FoodCatalogue>>(target: T, sessions: u32) -> Served<FoodCatalogue> {
    let size = Cardinality::tiny();
    Served::with(target, size, u64::from(size.scale), sessions)
}

/// Every form answers as the vectors and the oracle say, on both routes.
///
/// # Panics
/// At the first that does not.
pub fn every_form_is_right_on_both_routes<B: Bed>() {
    for (form, route) in [
        (Form::Join, Route::Direct),
        (Form::Join, Route::Http),
        (Form::Levels, Route::Direct),
        (Form::Nested, Route::Http),
    ] {
        let housed = Housed::on::<B>(Cardinality::tiny());
        let target = target::<B>(&housed, form, &[], Tampering::None);
        let done = match route {
            Route::Direct => runtime().block_on(conforms(&target)),
            Route::Http => {
                let served = serve(target, 1);
                let done = runtime().block_on(conforms(&served.target()));
                assert_eq!(served.log(), [""; 0], "the server complained");
                done
            }
        };
        done.unwrap_or_else(|wrong| panic!("{form:?} {route:?}: {wrong}"));
    }
}

async fn conforms<T: Target<FoodCatalogue>>(target: &T) -> Result<(), String> {
    let plan = ConformancePlan::golden(5, RANDOM_CALLS);
    let mut session = target.open(0).await.map_err(|error| error.to_string())?;
    let done = conform(&mut session, &plan).await.map_err(|wrong| wrong.to_string())?;
    assert!(done.golden > 100 && done.random == RANDOM_CALLS && done.declined > 50, "{done:?}");
    Ok(())
}

/// Eight sessions of the load generator, which holds every answer to what it knows, leave sound data and exactly what was
/// acknowledged.
///
/// # Panics
/// When they do not.
pub fn the_mix_is_sound_on_both_routes<B: Bed>() {
    for route in [Route::Direct, Route::Http] {
        let housed = Housed::<FoodCatalogue>::on::<B>(Cardinality::tiny());
        let before = housed.evidence();
        let target = target::<B>(&housed, Form::Join, &[], Tampering::None);
        let streams = Streams { seed: 3, ..Streams::default() };
        let inputs = FoodCatalogue::inputs(&housed.size, &streams);
        let trial = match route {
            Route::Direct => drive(target, SESSIONS, MIX_CALLS, inputs, Ledger::default),
            Route::Http => {
                drive(serve(target, SESSIONS).target(), SESSIONS, MIX_CALLS, inputs, Ledger::default)
            }
        };
        assert_eq!(trial.failure, None, "{route:?}");
        let failed = housed.failed(&before, &Claims::of(&trial.ledger, true));
        assert_eq!(failed, BTreeSet::new(), "{route:?}");
    }
}

/// One way to do wrong.
#[derive(Debug, Clone, Copy)]
pub struct Wrong {
    what: &'static str,
    edits: &'static [Edit],
    tampering: Tampering,
    /// Statements that somebody executes after the last call.
    after: &'static [&'static str],
    /// Every audit that notices, and no other does; measures of the ledger together as `ledger`.
    pub caught_by: &'static [&'static str],
}

const HONEST: Wrong =
    Wrong { what: "nothing is wrong", edits: &[], tampering: Tampering::None, after: &[], caught_by: &[] };

const fn after(
    what: &'static str,
    after: &'static [&'static str],
    caught_by: &'static [&'static str],
) -> Wrong {
    Wrong { what, after, caught_by, ..HONEST }
}

/// All of them.
pub const WRONGS: &[Wrong] = &[
    Wrong {
        what: "changes do not reach the price",
        edits: &[(Stmt::UpdateFood.id(), "price = ?9", "price = price + 0 * ?9")],
        caught_by: &["food-versions"],
        ..HONEST
    },
    Wrong {
        what: "changes leave the version as it is",
        edits: &[(Stmt::UpdateFood.id(), "version = version + 1", "version = version + 0")],
        caught_by: &["food-versions", "ledger"],
        ..HONEST
    },
    Wrong {
        what: "some foods are acknowledged and never committed",
        tampering: Tampering::ForgetsCommit(Stmt::InsertFood.id(), 5),
        caught_by: &["ledger"],
        ..HONEST
    },
    Wrong {
        what: "some bulk inserts are acknowledged and never committed",
        tampering: Tampering::ForgetsCommit(Stmt::InsertFoods.id(), 2),
        caught_by: &["ledger"],
        ..HONEST
    },
    Wrong {
        what: "what is removed stays",
        edits: &[(Stmt::DeleteFood.id(), "id = ?1", "id = ?1 and id < 0")],
        caught_by: &["ledger"],
        ..HONEST
    },
    Wrong {
        what: "changes of a category reach another",
        edits: &[(Stmt::UpdateCategory.id(), "version = version + 1", "version = version + 2")],
        caught_by: &["ledger"],
        ..HONEST
    },
    after(
        "an item is gone",
        &["delete from template_item where template = 1 and day = 1 and meal = 1 and item = 1"],
        &["row-counts"],
    ),
    after(
        "a meal is gone, and its items are not",
        &["delete from template_meal where template = 2 and day = 3 and meal = 1"],
        &["row-counts", "template-references"],
    ),
    after(
        "a food that was loaded is gone",
        &["delete from food where id = (select min(food) from template_item)"],
        &["ledger", "row-counts", "template-references"],
    ),
    after("a food is in no category", &["update food set category = 99 where id = 7"], &["food-references"]),
    after("a food has too much energy", &["update food set kcal = 901 where id = 7"], &["food-values"]),
    after(
        "a price is a cent higher",
        &["update food set price = price + 1 where id = 7"],
        &["food-versions"],
    ),
    after("a row has no version", &["update category set version = 0 where id = 3"], &["ledger", "versions"]),
];

impl Wrong {
    fn statements(&self) -> Vec<String> {
        self.after.iter().map(|&text| text.to_owned()).collect()
    }

    /// Its statements after the last call, unless it has none.
    fn row_change(&self) -> Option<RowChange> {
        let Wrong { what, caught_by, .. } = *self;
        (!self.after.is_empty()).then(|| RowChange { what, statements: self.statements(), caught_by })
    }
}

/// Every change of rows after honest calls is caught by exactly the audits that it violates, and every audit catches one.
///
/// # Panics
/// When that is not so.
pub fn row_changes_are_caught<B: Bed>() {
    let changes: Vec<RowChange> = WRONGS.iter().filter_map(Wrong::row_change).collect();
    let db = driven::<B>(&HONEST);
    db.assert_caught(&changes, &db.audit_names());
}

/// A fresh database after the calls of a fault injector.
fn driven<B: Bed>(wrong: &Wrong) -> DrivenDb<FoodCatalogue> {
    let housed = Housed::<FoodCatalogue>::on::<B>(Cardinality::tiny());
    let before = housed.evidence();
    let target = target::<B>(&housed, Form::Join, wrong.edits, wrong.tampering);
    let mut ledger = Ledger::default();
    runtime().block_on(async {
        let mut session = target.open(0).await.expect("data that was just loaded");
        let mut inputs = FoodCatalogue::inputs(&housed.size, &Streams { seed: 11, ..Streams::default() })(0);
        for _ in 0..CALLS {
            let call = inputs.draw();
            let answer = session.run(&call, &mut Effort::default()).await;
            match &answer {
                // What is wrong with it is for the audits to say here.
                Ok(outcome) => drop(inputs.check(&call, outcome)),
                Err(fault) => panic!("{}: {call:?}: {fault}", wrong.what),
            }
            ledger.post(&call, &answer);
        }
    });
    DrivenDb::new(housed, before, Claims::of(&ledger, true))
}

/// Each of [`WRONGS`] is noticed by the audits that it offends and by no others, and honest work by none.
///
/// # Panics
/// With those for whom that is not so.
pub fn wrongs_are_caught<B: Bed>() {
    let cases: Vec<Wrong> = [HONEST].into_iter().chain(WRONGS.iter().copied()).collect();
    bite::assert_none(&bite::all(&cases, |wrong| {
        let expected: BTreeSet<String> = wrong.caught_by.iter().map(|name| (*name).to_owned()).collect();
        let found = driven::<B>(wrong).failed_after(&wrong.statements());
        (found != expected).then(|| format!("{}: expected {expected:?}, noticed {found:?}", wrong.what))
    }));
}
