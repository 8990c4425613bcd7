//! What every style on every engine is held to on both routes: the golden vectors and the oracle, and races that only
//! locks or conflicts can settle, with all audits and the ledger afterwards.

use crate::calls::{at_once, drive_tpcc, runtime};
use crate::served::Served;
use crate::store::Store;
use drive::Trial;
use model::{Cents, Ledger as _, RetryPolicy, RetryingTarget, Target, Workload};
use rig::Engine;
use sql::{Isolation, ServerUrl};
use std::collections::{BTreeMap, BTreeSet};
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{
    Call, Cardinality, Claims, DISTRICTS, Delivery, Ledger, Line, NewOrder, Outcome, Payment, Tpcc, Who,
};

/// Sessions at once.
const SESSIONS: u32 = 8;
/// Turns of each session in a race for the same rows.
const TURNS: u32 = 25;
/// Random calls of a conformance, next to the golden ones.
const RANDOM_CALLS: u32 = 400;
/// Calls of the whole mix from all sessions.
const MIX_CALLS: u64 = 800;
/// Attempts that outlast any crowd of [`SESSIONS`], also where most of them end in a conflict.
const ATTEMPTS_MAX: u32 = 1_000;

/// The two ways from a caller to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The caller holds it.
    Direct,
    /// The server holds it.
    Http,
}

/// Races through the server: for the same rows at the engine's own isolation, and the whole mix at another. Gives the attempts of
/// the mix that ended in a conflict.
///
/// # Panics
/// When something is lost, done twice or unsound.
pub fn races<T: Target<Tpcc>>(engine: Engine, other: Isolation, reach: impl Fn(&ServerUrl) -> T) -> u64 {
    let store = Store::on(engine, Cardinality::tiny());
    nothing_is_lost_or_done_twice(&store, Route::Http, reach(store.server()));
    let store = Store::on(engine, Cardinality::tiny());
    the_mix_is_sound(&store, Route::Http, reach(&isolated(&store, other)))
}

/// The other combinations of route and isolation.
///
/// # Panics
/// As [`races`].
pub fn other_races<T: Target<Tpcc>>(engine: Engine, other: Isolation, reach: impl Fn(&ServerUrl) -> T) {
    for route in [Route::Direct, Route::Http] {
        let store = Store::on(engine, Cardinality::tiny());
        the_mix_is_sound(&store, route, reach(store.server()));
    }
    let store = Store::on(engine, Cardinality::tiny());
    nothing_is_lost_or_done_twice(&store, Route::Direct, reach(&isolated(&store, other)));
}

fn isolated(store: &Store, isolation: Isolation) -> ServerUrl {
    ServerUrl { isolation, ..store.server().clone() }
}

/// For calls that all go through in the end.
pub(crate) const PATIENT: RetryPolicy = RetryPolicy { attempts_max: ATTEMPTS_MAX, reopens: false };

/// Through the server every call is answered as the golden vectors and the oracle say.
///
/// # Panics
/// At the first that is not.
pub fn conforms_through_http<T: Target<Tpcc>>(engine: Engine, reach: impl Fn(&ServerUrl) -> T) {
    let store = Store::on(engine, Cardinality::tiny());
    let served = Served::start(reach(store.server()), store.size, 1);
    let target = served.target();
    let done = runtime().block_on(async {
        let mut session = target.open(0).await.expect("a server that was just started");
        conform(&mut session, &ConformancePlan::golden(3, RANDOM_CALLS)).await
    });
    let done = done.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(done.golden > 60 && done.random == RANDOM_CALLS && done.declined > 0, "{done:?}");
}

/// The whole mix from eight sessions of the load generator leaves sound data, exactly what was acknowledged. Gives the
/// attempts that ended in a conflict.
///
/// # Panics
/// When it does not.
pub fn the_mix_is_sound<T: Target<Tpcc>>(store: &Store, route: Route, target: T) -> u64 {
    let before = store.tallies();
    let target = RetryingTarget::new(target, PATIENT);
    let trial = match route {
        Route::Direct => drive_tpcc(store, target, SESSIONS, MIX_CALLS, 3),
        Route::Http => {
            let served = Served::start(target, store.size, SESSIONS);
            drive_tpcc(store, served.target(), SESSIONS, MIX_CALLS, 3)
        }
    };
    validated(&trial);
    let found = store.find(&before, &Claims::of(&trial.ledger, true));
    assert_eq!(found.failed(), BTreeSet::new(), "{found:#?}");
    store.assert_sound();
    trial.totals.kinds.iter().map(|kind| kind.call_counts.retries).sum()
}

/// A trial that ended well, with nothing in doubt and no conflict left.
pub(crate) fn validated<W: Workload>(trial: &Trial<W>) {
    assert_eq!(trial.failure, None);
    let call_counts: Vec<_> = trial.totals.kinds.iter().map(|kind| kind.call_counts).collect();
    assert!(
        call_counts.iter().all(|call_counts| call_counts.conflict == 0 && call_counts.in_doubt == 0),
        "{call_counts:?}"
    );
}

/// Orders in one district, payments to one customer and deliveries of all, in turns.
fn hot_calls(session: u32) -> Vec<Call> {
    let line =
        |mixed: u32| Line { i_id: mixed % 12 + 1, supply_w_id: mixed / 3 % 2 + 1, quantity: mixed % 10 + 1 };
    let turn = |turn: u32| {
        let seed = session * TURNS + turn;
        let mut lines: arrayvec::ArrayVec<Line, 15> = (0..9).map(|at| line(seed * 31 + at * 17)).collect();
        if turn.is_multiple_of(9) {
            lines[8].i_id = Cardinality::tiny().items + 1;
        }
        let order = NewOrder { w_id: 1, d_id: 3, c_id: seed % 30 + 1, lines };
        let pay = Payment {
            w_id: 1,
            d_id: 2,
            c_w_id: 2,
            c_d_id: 4,
            customer: Who::Id(5),
            h_amount: Cents(i64::from(100 + seed * 37)),
        };
        let carry = Delivery { w_id: turn % 2 + 1, o_carrier_id: session + 1 };
        let mut calls = vec![Call::NewOrder(order), Call::Payment(pay)];
        if turn.is_multiple_of(3) {
            calls.push(Call::Delivery(carry));
        }
        calls
    };
    (0..TURNS).flat_map(turn).collect()
}

/// Eight sessions at once want the same rows: no update is lost, no order number is given twice or left out, and no order
/// is delivered twice.
///
/// # Panics
/// When one is.
pub fn nothing_is_lost_or_done_twice<T: Target<Tpcc>>(store: &Store, route: Route, target: T) {
    let before = store.tallies();
    let lists: Vec<Vec<Call>> = (0..SESSIONS).map(hot_calls).collect();
    let target = RetryingTarget::new(target, PATIENT);
    let answers = match route {
        Route::Direct => at_once(&[&target], &lists),
        Route::Http => at_once(&[&Served::start(target, store.size, SESSIONS).target()], &lists),
    };
    let mut ledger = Ledger::new(store.size);
    let mut placed = BTreeSet::new();
    let mut delivered: BTreeMap<(u32, usize), Vec<u32>> = BTreeMap::new();
    for (call, answer) in lists.iter().flatten().zip(answers.iter().flatten()) {
        ledger.post(call, answer);
        match (call, answer) {
            (_, Ok(Outcome::Placed(order))) => assert!(placed.insert(order.o_id), "{} twice", order.o_id),
            (Call::Delivery(call), Ok(Outcome::Delivered(found))) => {
                for (district, o_id) in found.o_ids.iter().enumerate() {
                    delivered.entry((call.w_id, district)).or_default().extend(o_id);
                }
            }
            (_, Ok(_)) => {}
            (call, Err(fault)) => panic!("{call:?}: {fault}"),
        }
    }
    // Three of the turns of each session ask for what is not sold.
    let numbers = 31..31 + SESSIONS * (TURNS - 3);
    assert_eq!(placed, numbers.collect());
    assert_eq!(delivered.len(), (2 * DISTRICTS) as usize);
    for ((w_id, district), mut o_ids) in delivered {
        o_ids.sort_unstable();
        let expected: Vec<u32> = (22..22 + o_ids.len() as u32).collect();
        assert_eq!(o_ids, expected, "warehouse {w_id}, district {}", district + 1);
        assert!(o_ids.len() >= 9, "those that were there before wait no longer: {o_ids:?}");
    }
    let found = store.find(&before, &Claims::of(&ledger, true));
    // Shares of remote work and of items are not those of the standard here.
    let exact = |name: &String| !name.contains("remote") && !name.contains("skew");
    let failed: Vec<String> = found.failed().into_iter().filter(exact).collect();
    assert_eq!(failed, [""; 0], "{found:#?}");
    store.assert_sound();
}
