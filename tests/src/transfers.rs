//! Transfers on an engine: right answers on both routes, many sessions at once, and everybody who does wrong there.

use crate::beds::Bed;
use crate::bite;
use crate::calls::{drive, runtime};
use crate::housed::{DrivenDb, Edit, Housed, HousedTarget, RowChange};
use crate::routes::Route;
use crate::sagas;
use crate::served::Served;
use crate::tamper::Tampering;
use crate::two_phase::none_left;
use benchmark::{Benchmark as _, Streams};
use model::{Effort, Inputs as _, Ledger as _, Session as _, Target, Workload as _};
use sql::Dialect;
use std::collections::BTreeSet;
use workload_transfer::conformance::{ConformancePlan, conform};
use workload_transfer::{Cardinality, Claims, Crossing, Ledger, Stmt, Transfers, catalogue};

/// Random calls of a conformance, beside the golden ones.
const RANDOM_CALLS: u32 = 400;
/// Sessions at once.
const SESSIONS: u32 = 8;
/// Calls of all of them.
const MIX_CALLS: u64 = 2_000;
/// Calls that are enough for every saboteur.
const CALLS: u32 = 600;

fn target<B: Bed>(
    housed: &Housed<Transfers>,
    edits: &[Edit],
    tampering: Tampering,
) -> HousedTarget<Transfers, B::Opener> {
    let statements = catalogue(B::DIALECT).expect("kept by a test of the workload");
    housed.target::<B>(statements, Crossing::None, edits, tampering)
}

fn serve<T: Target<Transfers>>(target: T, sessions: u32) -> Served<Transfers> {
    let size = Cardinality::tiny();
    Served::with(target, size, u64::from(size.branches), sessions)
}

/// Sessions answer as the vectors and the oracle say, on both routes.
///
/// # Panics
/// At the first that does not.
pub fn it_is_right_on_both_routes<B: Bed>() {
    for route in [Route::Direct, Route::Http] {
        let housed = Housed::on::<B>(Cardinality::tiny());
        let target = target::<B>(&housed, &[], Tampering::None);
        let done = match route {
            Route::Direct => runtime().block_on(conforms(&target)),
            Route::Http => {
                let served = serve(target, 1);
                let done = runtime().block_on(conforms(&served.target()));
                assert_eq!(served.log(), [""; 0], "the server complained");
                done
            }
        };
        done.unwrap_or_else(|wrong| panic!("{route:?}: {wrong}"));
    }
}

async fn conforms<T: Target<Transfers>>(target: &T) -> Result<(), String> {
    let plan = ConformancePlan::golden(5, RANDOM_CALLS);
    let mut session = target.open(0).await.map_err(|error| error.to_string())?;
    let done = conform(&mut session, &plan).await.map_err(|wrong| wrong.to_string())?;
    assert!(done.golden > 40 && done.random == RANDOM_CALLS && done.declined > 30, "{done:?}");
    Ok(())
}

/// Eight sessions of the load generator on 24 accounts leave sound data, all the money, and exactly what was acknowledged.
///
/// # Panics
/// When they do not.
pub fn the_mix_is_sound_on_both_routes<B: Bed>() {
    let _together = none_left();
    for route in [Route::Direct, Route::Http] {
        let housed = Housed::<Transfers>::on::<B>(Cardinality::tiny());
        let before = housed.evidence();
        let target = target::<B>(&housed, &[], Tampering::None);
        let streams = Streams { seed: 3, run: 7, ..Streams::default() };
        let inputs = Transfers::inputs(&housed.size, &streams);
        let trial = match route {
            Route::Direct => drive(target, SESSIONS, MIX_CALLS, inputs, Ledger::new),
            Route::Http => drive(serve(target, SESSIONS).target(), SESSIONS, MIX_CALLS, inputs, Ledger::new),
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
    /// Whether the engine checks balances meanwhile.
    checks: bool,
    /// Every audit that notices, and no other does; measures of the ledger together as `ledger`.
    pub caught_by: &'static [&'static str],
}

const HONEST: Wrong = Wrong {
    what: "nothing is wrong",
    edits: &[],
    tampering: Tampering::None,
    after: &[],
    checks: true,
    caught_by: &[],
};

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
        what: "money is credited twice",
        edits: &[(Stmt::MoveMoney.id(), "else balance + ?3 end", "else balance + ?3 + ?3 end")],
        caught_by: &["account-entries", "ledger"],
        ..HONEST
    },
    Wrong {
        what: "money is debited and not credited",
        edits: &[(Stmt::MoveMoney.id(), "else balance + ?3 end", "else balance + ?3 - ?3 end")],
        caught_by: &["account-entries", "ledger"],
        ..HONEST
    },
    Wrong {
        what: "money is credited and not debited",
        edits: &[(Stmt::MoveMoney.id(), "then balance - ?3 else", "then balance - ?3 + ?3 else")],
        caught_by: &["account-entries", "ledger"],
        ..HONEST
    },
    Wrong {
        what: "some transfers are acknowledged and never committed",
        tampering: Tampering::ForgetsCommit(Stmt::InsertEntries.id(), 20),
        caught_by: &["ledger"],
        ..HONEST
    },
    after(
        "a declined transfer is forgotten",
        &[
            "delete from transfer where state = 2 and sequence = (select one from (select min(sequence) as one from transfer where state = 2) as first_one)",
        ],
        &["ledger"],
    ),
    after(
        "a transfer is shown as made that was not",
        &["update transfer set state = 1 where state = 2"],
        &["ledger", "transfer-credits", "transfer-debits"],
    ),
    after(
        "the ledger has lost a credit",
        &[
            "delete from entry where amount > 0 and sequence = (select one from (select min(sequence) as one from entry) as first_one)",
        ],
        &["account-entries", "ledger", "transfer-credits"],
    ),
    after(
        "a transfer is gone, and its entries are not",
        &[
            "delete from transfer where state = 1 and sequence = (select one from (select min(sequence) as one from entry) as first_one)",
        ],
        &["entry-transfers", "ledger"],
    ),
    after(
        "an entry is of an account that is not here",
        &[
            "update entry set account = 25 where amount > 0 and sequence = (select one from (select min(sequence) as one from entry) as first_one)",
        ],
        &["account-entries", "entry-shape", "entry-transfers", "transfer-credits"],
    ),
    after(
        "a transfer was declined although there was enough",
        &["update transfer set balance = amount where state = 2"],
        &["transfer-shape"],
    ),
    after("an account is gone", &["delete from account where id = 3"], &["ledger", "row-counts"]),
    Wrong {
        checks: false,
        ..after(
            "an account is in debt",
            &["update account set balance = -1 where id = 3"],
            &["account-entries", "ledger", "negative-balances"],
        )
    },
    after(
        "the log has decided what was not done",
        &["insert into decision (run, worker, sequence, source, target) values (9, 9, 9, 3, 4)"],
        &["decision-transfers"],
    ),
    after("the store has other accounts", &["update shard_range set last_account = 25"], &["shard-range"]),
];

impl Wrong {
    fn statements<B: Bed>(&self) -> Vec<String> {
        let unchecked = match B::DIALECT {
            Dialect::Sqlite => "pragma ignore_check_constraints = on",
            Dialect::Postgres => "alter table account drop constraint account_balance_check",
            Dialect::MySql => "set check_constraint_checks = 0",
        };
        let first = (!self.checks).then_some(&unchecked);
        first.into_iter().chain(self.after).map(|&text| text.to_owned()).collect()
    }

    /// Its statements after the last call, unless it has none.
    fn row_change<B: Bed>(&self) -> Option<RowChange> {
        let Wrong { what, caught_by, .. } = *self;
        (!self.after.is_empty()).then(|| RowChange { what, statements: self.statements::<B>(), caught_by })
    }
}

/// Every change of rows after honest calls is caught by exactly the audits that it violates. Every audit catches one, except
/// the audits of sagas and of two-phase commit.
///
/// # Panics
/// When that is not so.
pub fn row_changes_are_caught<B: Bed>() {
    let _together = none_left();
    let changes: Vec<RowChange> = WRONGS.iter().filter_map(Wrong::row_change::<B>).collect();
    let db = driven::<B>(&HONEST);
    let between_stores: BTreeSet<&str> =
        sagas::WRONGS.iter().flat_map(|wrong| wrong.caught_by).copied().collect();
    let mut audits = db.audit_names();
    audits.retain(|name| name == "ledger" || !between_stores.contains(name.as_str()));
    audits.remove("prepared-branches");
    db.assert_caught(&changes, &audits);
}

/// A fresh database after the calls of a fault injector.
fn driven<B: Bed>(wrong: &Wrong) -> DrivenDb<Transfers> {
    let housed = Housed::<Transfers>::on::<B>(Cardinality::tiny());
    let before = housed.evidence();
    let target = target::<B>(&housed, wrong.edits, wrong.tampering);
    let mut ledger = Ledger::new();
    runtime().block_on(async {
        let mut session = target.open(0).await.expect("data that was just loaded");
        let streams = Streams { seed: 11, run: 7, ..Streams::default() };
        let mut inputs = Transfers::inputs(&housed.size, &streams)(0);
        let mut calls = 0;
        while calls < CALLS {
            let call = inputs.draw();
            // What a saboteur forgot it would do again.
            if Transfers::kind(&call) == 3 || Transfers::kind(&call) == 4 {
                continue;
            }
            calls += 1;
            let answer = session.run(&call, &mut Effort::default()).await;
            if let Err(fault) = &answer {
                panic!("{}: {call:?}: {fault}", wrong.what);
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
    let _together = none_left();
    let cases: Vec<Wrong> = [HONEST].into_iter().chain(WRONGS.iter().copied()).collect();
    bite::assert_none(&bite::all(&cases, |wrong| {
        let expected: BTreeSet<String> = wrong.caught_by.iter().map(|name| (*name).to_owned()).collect();
        let found = driven::<B>(wrong).failed_after(&wrong.statements::<B>());
        (found != expected).then(|| format!("{}: expected {expected:?}, noticed {found:?}", wrong.what))
    }));
}
