//! Diesel on SQLite: the vectors and the oracle, sessions at once, and what cannot be opened.

use crate::support::{answers, tiny_file, wait};
use adapter_rusqlite::SqliteOpener;
use measure::Monotonic;
use model::{
    CallWork, Cents, Conflict, Fault, Inputs as _, Nanos, OpenError, Session as _, Stack, Target as _,
    Workload as _,
};
use pair_diesel::DieselSqlite;
use rusqlite::Connection;
use sql::{Dialect, SqlOpener as _, SqliteUrl};
use std::collections::BTreeSet;
use std::sync::Barrier;
use workload_tpcc::conformance::{ConformancePlan, GOLDEN_LOAD_SEED, conform};
use workload_tpcc::{Call, Cardinality, Data, Delivery, Inputs, Line, NewOrder, Payment, Stmt, Tpcc, Who};

fn target(url: &SqliteUrl) -> DieselSqlite<Monotonic> {
    DieselSqlite::new(url, Monotonic::start()).unwrap()
}

fn number(url: &SqliteUrl, query: &str) -> i64 {
    Connection::open(&url.path).unwrap().query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn it_answers_what_the_vectors_and_the_oracle_say() {
    let folder = tempfile::tempdir().unwrap();
    // A name that a URI would take for something else.
    let url = tiny_file(folder.path(), "a b?mode=ro#%41.db");
    wait(async {
        let mut session = target(&url).open(0).await.unwrap();
        let plan = ConformancePlan::golden(1, 2_000);
        let done = conform(&mut session, &plan).await.unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(done.golden > 0 && done.random == 2_000 && done.declined > 0, "{done:?}");
    });
}

#[test]
fn it_stands_on_what_rusqlite_stands_on() {
    let folder = tempfile::tempdir().unwrap();
    let plain = tiny_file(folder.path(), "a.db");
    let set = "?journal=truncate&synchronous=extra&cache=2MiB&mmap=1MiB&checkpoint=77";
    let slow = "?journal=truncate&sync_delay=1ms&lock_delay=50us&shared_memory=off";
    let other = |options| format!("sqlite:{}{options}", plain.path.display()).parse().unwrap();
    for url in [plain.clone(), other(set), other(slow)] {
        let rusqlite = SqliteOpener::new(&url, Vec::new(), Monotonic::start()).unwrap().stack();
        let diesel = target(&url).stack();
        assert_eq!((diesel.adapter.as_str(), diesel.style.as_str()), ("diesel", "orm"));
        let Stack { adapter, adapter_version, style, .. } = diesel.clone();
        assert_eq!(diesel, Stack { adapter, adapter_version, style, ..rusqlite });
    }
}

#[test]
fn work_says_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let url = tiny_file(folder.path(), "a.db");
    let order = |items: [u32; 5]| {
        let lines = items.into_iter().map(|i_id| Line { i_id, supply_w_id: 1, quantity: 3 }).collect();
        Call::NewOrder(NewOrder { w_id: 1, d_id: 1, c_id: 1, lines })
    };
    let unused = Fault::Conflict(Conflict::Busy);
    let calls = [order([5, 4, 3, 2, 1]), order([5, 101, 3, 2, 1]), delivery()];
    wait(async {
        let mut session = target(&url).open(0).await.unwrap();
        let mut found = Vec::new();
        for call in &calls {
            let mut work = CallWork::default();
            session.run(call, &mut work).await.unwrap();
            assert!(work.spent.statements > Nanos::ZERO && work.spent.commit > Nanos::ZERO);
            found.push((work.attempts, work.statements, work.rows, work.commits));
        }
        // Five before the lines, three a line, one for all lines; four lines, then an item that is not there; seven a
        // district, whose lines are changed and summed.
        assert_eq!(found[..2], [(1, 5 + 3 * 5 + 1, 5 + 3 * 5 + 5, 1), (1, 5 + 3 * 4 + 1, 5 + 3 * 4, 0)]);
        assert_eq!((found[2].0, found[2].1, found[2].3), (1, 10 * 6, 1));

        // A file that someone else writes.
        let busy = SqliteUrl { busy_ms: 0, ..url.clone() };
        let mut session = target(&busy).open(0).await.unwrap();
        let other = Connection::open(&url.path).unwrap();
        other.execute_batch("begin immediate").unwrap();
        let mut work = CallWork::default();
        assert_eq!(session.run(&delivery(), &mut work).await, Err(unused));
        assert_eq!((work.attempts, work.statements), (1, 0));
        other.execute_batch("commit").unwrap();
        session.run(&delivery(), &mut work).await.unwrap();
    });
}

#[test]
fn every_statement_of_a_clocked_call_has_its_time_and_name() {
    let folder = tempfile::tempdir().unwrap();
    let url = tiny_file(folder.path(), "a.db");
    let mut inputs = Inputs::new(Cardinality::tiny(), Data::c_load_of(GOLDEN_LOAD_SEED), 7, 0);
    wait(async {
        let mut session = target(&url).open(0).await.unwrap();
        let mut names = BTreeSet::new();
        for _ in 0..500 {
            let mut work = CallWork { clocked: true, ..CallWork::default() };
            session.run(&inputs.draw(), &mut work).await.unwrap();
            let times = session.statement_times().unwrap();
            let (mut sent, mut spent) = (0, Nanos::ZERO);
            for (index, time) in times.executed() {
                names.insert(Tpcc::STATEMENTS[index]);
                sent += time.executions;
                spent += time.spent;
            }
            assert_eq!(sent, work.statements);
            assert!(spent > Nanos::ZERO && spent <= work.spent.statements, "{spent:?} of {work:?}");
        }
        assert_eq!(names, Stmt::names(Dialect::Sqlite).iter().copied().collect());
        // A call that does not ask leaves the clock alone: what is there is of the call before.
        let before = session.statement_times().cloned();
        session.run(&delivery(), &mut CallWork::default()).await.unwrap();
        assert_eq!(session.statement_times().cloned(), before);
    });
}

fn delivery() -> Call {
    Call::Delivery(Delivery { w_id: 2, o_carrier_id: 1 })
}

#[test]
fn payments_made_at_once_lose_not_a_cent_under_either_journal() {
    for journal in ["wal", "truncate"] {
        let folder = tempfile::tempdir().unwrap();
        let path = tiny_file(folder.path(), "a.db").path;
        let text = format!("sqlite:{}?journal={journal}&synchronous=off&busy_ms=0", path.display());
        let url: SqliteUrl = text.parse().unwrap();
        let (target, start) = (target(&url), Barrier::new(8));
        let pay = |amount| Payment {
            w_id: 1,
            d_id: 2,
            c_w_id: 2,
            c_d_id: 4,
            customer: Who::Id(5),
            h_amount: Cents(amount),
        };
        let paid: i64 = std::thread::scope(|scope| {
            let sessions: Vec<_> = (0..8)
                .map(|session| {
                    let amounts: Vec<i64> = (0..40).map(|turn| 100 + session * 1_000 + turn * 37).collect();
                    let calls: Vec<Call> = amounts.iter().map(|amount| Call::Payment(pay(*amount))).collect();
                    let (target, start) = (&target, &start);
                    scope.spawn(move || {
                        // No one waits for SQLite's locks: the lane lets one after the other through.
                        for answer in answers(target, &calls, start) {
                            answer.unwrap();
                        }
                        amounts.iter().sum::<i64>()
                    })
                })
                .collect();
            sessions.into_iter().map(|session| session.join().expect("a session panicked")).sum()
        });
        for (query, expected) in [
            ("select w_ytd from warehouse where w_id = 1", 300_000 + paid),
            ("select d_ytd from district where d_w_id = 1 and d_id = 2", 30_000 + paid),
            ("select -c_balance from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5", 1_000 + paid),
            ("select c_payment_cnt from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5", 321),
        ] {
            assert_eq!(number(&url, query), expected, "{journal}: {query}");
        }
    }
}

#[test]
fn what_cannot_be_opened_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("a.db"));
    let error = |url| DieselSqlite::new(url, Monotonic::start()).unwrap_err();
    assert!(matches!(error(&url), OpenError::Unreachable { .. }));
    std::fs::write(&url.path, "this is a text of more than a few bytes, and no database at all").unwrap();
    let words = error(&url).to_string();
    assert!(words.contains("not a database"), "{words}");

    let url = tiny_file(folder.path(), "b.db");
    let other = Connection::open(&url.path).unwrap();
    other.execute_batch("pragma journal_mode = truncate; begin exclusive").unwrap();
    let locked = SqliteUrl { busy_ms: 0, ..url };
    assert!(matches!(error(&locked), OpenError::Unreachable { .. }), "{}", error(&locked));
}
