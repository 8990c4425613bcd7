//! Diesel on a real PostgreSQL: the vectors and the oracle, sessions at once besides those of the plain style, and faults.

use crate::support::{Answers, answers, server, tiny, wait};
use adapter_tokio_postgres::PostgresOpener;
use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql as query;
use diesel::sql_types::BigInt;
use diesel::{Connection as _, PgConnection, RunQueryDsl as _};
use measure::Monotonic;
use model::{
    CallWork, Cents, Conflict, Doubt, Fault, Inputs as _, OpenError, Refusal, Session as _, Stack,
    Target as _,
};
use pair_diesel::DieselPostgres;
use sql::{Dialect, Isolation, Secret, ServerUrl, SqlOpener as _, Tls};
use std::sync::Barrier;
use workload_tpcc::conformance::{ConformancePlan, GOLDEN_LOAD_SEED, conform};
use workload_tpcc::{
    Call, Cardinality, Data, Delivery, Inputs, Line, NewOrder, Outcome, Payment, SqlTarget, Who, catalogue,
};

fn target(url: &ServerUrl) -> DieselPostgres<Monotonic> {
    DieselPostgres::reach(url, Monotonic::start()).unwrap()
}

/// Another connection to the same database.
fn other(url: &ServerUrl) -> PgConnection {
    let host = url.socket.as_ref().unwrap().display();
    let password = url.password.as_ref().unwrap().reveal();
    let ServerUrl { port, user, database, .. } = url;
    let address = format!("host='{host}' port={port} user={user} dbname={database} password='{password}'");
    PgConnection::establish(&address).unwrap()
}

fn number(conn: &mut PgConnection, text: &str) -> i64 {
    query::<BigInt>(&format!("select ({text})::bigint")).get_result(conn).unwrap()
}

#[test]
fn it_answers_what_the_vectors_and_the_oracle_say() {
    for (isolation, random) in [(Isolation::ReadCommitted, 400), (Isolation::Serializable, 300)] {
        let url = ServerUrl { isolation, ..tiny(&format!("conforms_{random}")) };
        wait(async {
            let mut session = target(&url).open(0).await.unwrap();
            let plan = ConformancePlan::golden(1, random);
            let done = conform(&mut session, &plan).await.unwrap_or_else(|wrong| panic!("{wrong}"));
            assert!(done.golden > 0 && done.random == random && done.declined > 0, "{done:?}");
        });
    }
}

#[test]
fn it_stands_on_what_tokio_postgres_stands_on() {
    let url = tiny("stack");
    let timed =
        ServerUrl { statement_timeout_ms: 1_234, isolation: Isolation::RepeatableRead, ..url.clone() };
    for url in [url, timed] {
        let plain = wait(PostgresOpener::reach(&url, Vec::new())).unwrap().stack();
        let diesel = target(&url).stack();
        assert_eq!((diesel.adapter.as_str(), diesel.style.as_str()), ("diesel", "orm"));
        let Stack { adapter, adapter_version, style, .. } = diesel.clone();
        assert_eq!(diesel, Stack { adapter, adapter_version, style, ..plain });
    }
}

/// Lists of calls made at once, by Diesel and by the plain style in turn.
fn at_once(url: &ServerUrl, lists: &[Vec<Call>]) -> Vec<Answers> {
    let start = Barrier::new(lists.len());
    let diesel = target(url);
    let opener = wait(PostgresOpener::reach(url, catalogue(Dialect::Postgres).unwrap())).unwrap();
    let plain = SqlTarget::new(opener, Monotonic::start());
    std::thread::scope(|scope| {
        let sessions: Vec<_> = lists
            .iter()
            .enumerate()
            .map(|(session, calls)| {
                let (diesel, plain, start) = (&diesel, &plain, &start);
                scope.spawn(move || match session % 3 {
                    2 => answers(plain, calls, start),
                    _ => answers(diesel, calls, start),
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("a session panicked")).collect()
    })
}

/// The conditions that a lost update or half an order would break (3.3.2).
const UNSOUND: [&str; 5] = [
    "select count(*) from warehouse where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id)",
    "select count(*) from district
     where d_next_o_id - 1 <> (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id)",
    "select count(*) from orders where o_ol_cnt <> (
       select count(*) from order_line where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id)",
    "select count(*) from customer where c_balance + c_ytd_payment <> coalesce((
       select sum(ol_amount) from order_line join orders
         on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
       where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and ol_delivery_d is not null), 0)",
    "select count(*) from (select s_w_id, sum(s_ytd) as ytd, sum(s_order_cnt) as cnt from stock group by s_w_id) as taken
     join (select ol_supply_w_id, sum(ol_quantity) as ytd, count(*) as cnt
           from order_line where ol_o_id > 30 group by ol_supply_w_id) as ordered on s_w_id = ol_supply_w_id
     where taken.ytd <> ordered.ytd or taken.cnt <> ordered.cnt",
];

#[test]
fn the_whole_mix_beside_the_plain_style_leaves_sound_data_and_meets_no_deadlock() {
    let url = tiny("mix");
    let size = Cardinality::tiny();
    let lists: Vec<Vec<Call>> = (0..9)
        .map(|worker| {
            let mut inputs = Inputs::new(size, Data::c_load_of(GOLDEN_LOAD_SEED), 3, worker);
            (0..150).map(|_| inputs.draw()).collect()
        })
        .collect();
    let answers = at_once(&url, &lists);
    if let Some(fault) = answers.iter().flatten().find_map(|answer| answer.as_ref().err()) {
        panic!("{fault}");
    }
    let mut conn = other(&url);
    for condition in UNSOUND {
        assert_eq!(number(&mut conn, condition), 0, "{condition}");
    }
}

#[test]
fn orders_payments_and_deliveries_at_once_lose_nothing_and_do_nothing_twice() {
    let url = tiny("races");
    let order = |seed: u32| {
        let lines = (0..9).map(|at| seed * 31 + at * 17).map(|mixed| Line {
            i_id: mixed % 12 + 1,
            supply_w_id: mixed / 3 % 2 + 1,
            quantity: mixed % 10 + 1,
        });
        Call::NewOrder(NewOrder { w_id: 1, d_id: 3, c_id: seed % 30 + 1, lines: lines.collect() })
    };
    let pay = |session: u32, turn: u32| {
        let h_amount = Cents(i64::from(100 + session * 1_000 + turn * 37));
        Payment { w_id: 1, d_id: 2, c_w_id: 2, c_d_id: 4, customer: Who::Id(5), h_amount }
    };
    let turns = |session: u32| {
        (0..20).flat_map(move |turn| {
            let delivery = Delivery { w_id: turn % 2 + 1, o_carrier_id: session + 1 };
            [order(session * 20 + turn), Call::Payment(pay(session, turn)), Call::Delivery(delivery)]
        })
    };
    let lists: Vec<Vec<Call>> = (0..6).map(|session| turns(session).collect()).collect();
    let found: Vec<Outcome> = at_once(&url, &lists).into_iter().flatten().map(Result::unwrap).collect();

    let mut placed = Vec::new();
    let mut delivered = 0;
    let mut balances = Vec::new();
    for outcome in found {
        match outcome {
            Outcome::Placed(order) => placed.push(order.o_id),
            Outcome::Delivered(found) => delivered += found.o_ids.iter().flatten().count() as i64,
            Outcome::Paid(paid) => balances.push(paid.customer.c_balance),
            other => panic!("{other:?}"),
        }
    }
    placed.sort_unstable();
    assert_eq!(placed, (31..151).collect::<Vec<_>>());
    // Each answer shows the balance that its own payment left: no two are alike.
    balances.sort_unstable();
    balances.dedup();
    assert_eq!(balances.len(), 120);
    let paid: i64 = (0..6).flat_map(|s| (0..20).map(move |turn| 100 + s * 1_000 + turn * 37)).sum();
    let mut conn = other(&url);
    for (text, expected) in [
        ("select 100 * w_ytd from warehouse where w_id = 1", 300_000 + paid),
        (
            "select 100 * c_ytd_payment from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5",
            1_000 + paid,
        ),
        ("select 20 * 9 + 120 - count(*) from new_order", delivered),
        ("select sum(c_delivery_cnt) from customer", delivered),
    ] {
        assert_eq!(number(&mut conn, text), expected, "{text}");
    }
    for condition in UNSOUND {
        assert_eq!(number(&mut conn, condition), 0, "{condition}");
    }
}

fn payment() -> Call {
    let (customer, h_amount) = (Who::Id(1), Cents(100));
    Call::Payment(Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer, h_amount })
}

/// How many sessions wait for a lock.
///
/// By what is not granted, and not by what sessions say that they wait for: while one looks for a deadlock it says nothing.
const WAITING: &str = "select count(*) from pg_locks join pg_stat_activity using (pid)
                       where datname = current_database() and not granted";

/// What a payment gives that meets a district locked by someone else, who then does `then`.
fn meeting(url: &ServerUrl, then: impl FnOnce(&mut PgConnection)) -> Result<Outcome, Fault> {
    let mut holder = other(url);
    holder.batch_execute("set deadlock_timeout = '60s'; begin").unwrap();
    holder.batch_execute("update district set d_name = d_name where d_w_id = 1 and d_id = 1").unwrap();
    let target = target(url);
    let mut looker = other(url);
    std::thread::scope(|scope| {
        // Gone, and its locks with it, before the session is waited for: also when something fails in here.
        let mut holder = holder;
        let asking = scope.spawn(|| {
            wait(async {
                let mut session = target.open(0).await.unwrap();
                let answer = session.run(&payment(), &mut CallWork::default()).await;
                if answer.is_err() {
                    // The connection goes on.
                    let status = Delivery { w_id: 2, o_carrier_id: 1 };
                    session.run(&Call::Delivery(status), &mut CallWork::default()).await.unwrap();
                }
                answer
            })
        });
        while number(&mut looker, WAITING) == 0 && !asking.is_finished() {
            std::thread::yield_now();
        }
        then(&mut holder);
        asking.join().expect("a session panicked")
    })
}

#[test]
fn who_meets_others_in_the_wrong_order_is_the_victim_of_a_deadlock() {
    let cross = |holder: &mut PgConnection| {
        holder.batch_execute("update warehouse set w_name = w_name where w_id = 1; commit").unwrap();
    };
    let url = tiny("deadlock");
    // The session looks for a deadlock once, so long after it has begun to wait: by then the other must wait for it.
    let patient = format!("alter database {} set deadlock_timeout = '5s'", url.database);
    other(&url).batch_execute(&patient).unwrap();
    assert_eq!(meeting(&url, cross), Err(Fault::Conflict(Conflict::Deadlock)));
}

#[test]
fn what_cannot_be_serialized_and_what_waits_too_long_are_conflicts() {
    let commit = |holder: &mut PgConnection| holder.batch_execute("commit").unwrap();
    let url = tiny("conflicts");
    let strict = ServerUrl { isolation: Isolation::RepeatableRead, ..url.clone() };
    assert_eq!(meeting(&strict, commit), Err(Fault::Conflict(Conflict::Serialization)));
    // More than a statement that waits for no one takes, however slow the machine.
    let hasty = ServerUrl { statement_timeout_ms: 5_000, ..url.clone() };
    let late = |holder: &mut PgConnection| {
        while number(holder, WAITING) > 0 {
            holder.batch_execute("select pg_stat_clear_snapshot()").unwrap();
        }
        holder.batch_execute("commit").unwrap();
    };
    assert_eq!(meeting(&hasty, late), Err(Fault::Conflict(Conflict::Busy)));
    assert!(meeting(&url, commit).is_ok());
}

#[test]
fn a_session_ended_by_the_server_is_in_doubt_once_and_unreachable_from_then_on() {
    let url = tiny("ended");
    let end = "select pg_terminate_backend(pid) from pg_stat_activity
               where datname = current_database() and pid <> pg_backend_pid() and application_name = 'stackmark'";
    let target = target(&url);
    let mut holder = other(&url);
    wait(async {
        // Between calls: never attempted.
        let mut session = target.open(0).await.unwrap();
        session.run(&payment(), &mut CallWork::default()).await.unwrap();
        holder.batch_execute(end).unwrap();
        let left = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'stackmark'";
        while number(&mut holder, left) > 0 {}
        for _ in 0..2 {
            let answer = session.run(&payment(), &mut CallWork::default()).await;
            assert_eq!(answer, Err(Fault::Refused(Refusal::Unreachable)));
        }
    });
    // In the middle of one.
    holder.batch_execute("begin; update district set d_name = d_name where d_w_id = 1 and d_id = 1").unwrap();
    let mut looker = other(&url);
    std::thread::scope(|scope| {
        // Gone, and its lock with it, before the session is waited for: also when something fails in here.
        let _holder = holder;
        let asking = scope.spawn(|| {
            wait(async {
                let mut session = target.open(0).await.unwrap();
                let first = session.run(&payment(), &mut CallWork::default()).await;
                (first, session.run(&payment(), &mut CallWork::default()).await)
            })
        });
        while number(&mut looker, WAITING) == 0 && !asking.is_finished() {
            std::thread::yield_now();
        }
        looker.batch_execute(end).unwrap();
        let (first, second) = asking.join().expect("a session panicked");
        assert_eq!(first, Err(Fault::InDoubt(Doubt::ConnectionLost)));
        assert_eq!(second, Err(Fault::Refused(Refusal::Unreachable)));
    });
}

#[test]
fn who_cannot_connect_is_told_why_and_never_the_password() {
    let url = tiny("told");
    let tcp = server().tcp_url("told");
    for (url, again_later, expected) in [
        (
            ServerUrl { password: Some(Secret::new("hush'\\-hush")), ..tcp.clone() },
            false,
            "the password for user",
        ),
        (ServerUrl { password: None, ..tcp.clone() }, false, "no password is set"),
        (url.with_database("nowhere"), false, "there is no database `nowhere`; create it with `createdb"),
        (ServerUrl { port: 1, ..tcp.clone() }, true, "refused"),
        (ServerUrl { tls: Tls::Require, ..tcp }, false, "compiled in without TLS"),
    ] {
        let error = DieselPostgres::reach(&url, Monotonic::start()).unwrap_err();
        let words = error.to_string();
        assert_eq!(matches!(error, OpenError::Unreachable { .. }), again_later, "{words}");
        assert!(words.contains(expected) && !words.contains("-hush"), "{words}, expected {expected}");
    }
    let read_only = format!("alter database {} set default_transaction_read_only = on", url.database);
    other(&url).batch_execute(&read_only).unwrap();
    assert!(DieselPostgres::reach(&url, Monotonic::start()).is_ok(), "a default is not a refusal");
}
