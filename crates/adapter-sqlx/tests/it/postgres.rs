//! The adapter on a real PostgreSQL.

use crate::support::{self, COUNTERS, Cut, Proxy, add, counter, counter_statements, wait};
use adapter_sqlx::{SqlxPostgres, SqlxPostgresConn};
use model::{Cents, Conflict, Doubt, Fault, OpenError, Refusal, Tier};
use rig::Engine;
use rig::for_tests::{SharedEngine, shared};
use sql::{Dialect, Isolation, Param, Secret, ServerUrl, SqlConn as _, SqlOpener as _, StmtId, TxKind};
use std::sync::atomic::AtomicBool;

/// The server, which others may share.
fn server() -> &'static SharedEngine {
    shared(Engine::Postgres)
}

fn database(name: &str) -> ServerUrl {
    server().create_database(name).unwrap();
    server().url(name)
}

fn counters(name: &str) -> ServerUrl {
    let url = database(name);
    server().client(name, COUNTERS).unwrap();
    url
}

async fn reach(url: &ServerUrl) -> SqlxPostgres {
    SqlxPostgres::reach(url, counter_statements()).await.unwrap()
}

async fn open(url: &ServerUrl) -> SqlxPostgresConn {
    reach(url).await.open().await.unwrap()
}

fn error(url: &ServerUrl) -> OpenError {
    wait(SqlxPostgres::reach(url, Vec::new())).unwrap_err()
}

#[test]
fn tpcc_answers_what_the_vectors_and_the_oracle_say() {
    let url = ServerUrl { isolation: Isolation::Serializable, ..database("tpcc") };
    admin::store(&url).load(support::tpcc(Dialect::Postgres), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let statements = workload_tpcc::catalogue(Dialect::Postgres).unwrap();
    wait(async { support::tpcc_conforms(SqlxPostgres::reach(&url, statements).await.unwrap()).await });
}

#[test]
fn tpcb_answers_what_the_vectors_and_the_oracle_say() {
    let url = database("tpcb");
    admin::store(&url).load(support::tpcb(Dialect::Postgres), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let statements = workload_tpcb::catalogue(Dialect::Postgres).unwrap();
    wait(async { support::tpcb_conforms(SqlxPostgres::reach(&url, statements).await.unwrap()).await });
}

#[test]
fn values_are_exact_in_both_directions() {
    let url = database("exact");
    let table = "create table v (id bigint, small smallint, money numeric(14,2), rate numeric(4,4), at timestamp, \
                 words varchar(40), filled char(5))";
    server().client("exact", table).unwrap();
    let statements = [
        "insert into v values (?1, ?2, ?3, 0.1250, ?4, ?5, 'ok')",
        "update v set money = money + ?2 where id = ?1",
        "select id, small, money, rate, at, words, null::integer, count(*), filled from v where id = ?1 \
         group by id, small, money, rate, at, words, filled",
    ];
    wait(async {
        let opener = SqlxPostgres::reach(&url, statements.map(String::from).to_vec()).await.unwrap();
        let mut conn = opener.open().await.unwrap();
        let (id, at) = (Param::Int(-5), 1_709_251_198);
        let largest = Cents(99_999_999_999_998);
        let insert = [id, Param::Int(-321), Param::Cents(largest), Param::Int(at), Param::Text("‘ok’")];
        assert_eq!(conn.exec(StmtId(0), &insert).await, Ok(1));
        assert_eq!(conn.exec(StmtId(1), &[id, Param::Cents(Cents(1))]).await, Ok(1));
        let params = [id];
        let row = conn.row(StmtId(2), &params, |row| {
            assert!(row.int_or_null(6)?.is_none() && row.int(6).is_err() && row.text(0).is_err());
            assert!(row.scaled(2, 1).is_err() && row.int(2).is_err() && row.int(9).is_err());
            assert_eq!((row.text(5)?, row.text(8)?, row.int(7)?), ("‘ok’", "ok", 1));
            Ok([row.int(0)?, row.int(1)?, row.scaled(2, 2)?, row.scaled(3, 4)?, row.int(4)?])
        });
        assert_eq!(row.await, Ok(Some([-5, -321, largest.0 + 1, 1_250, at])));
        // What does not fit is a defect that names it, and the connection goes on.
        let too_wide = [id, Param::Int(40_000), Param::Cents(largest), Param::Int(at), Param::Text("")];
        let fault = conn.exec(StmtId(0), &too_wide).await.unwrap_err();
        assert!(matches!(&fault, Fault::Defect(defect) if defect.what.contains("40000")), "{fault}");
        assert_eq!(conn.exec(StmtId(1), &[id, Param::Cents(Cents(-1))]).await, Ok(1));
    });
}

#[test]
fn of_two_that_block_each_other_one_is_a_conflict() {
    let url = counters("deadlock");
    wait(async { support::one_of_two_is_a_deadlock(&reach(&url).await).await });
}

#[test]
fn a_transaction_that_was_given_up_is_undone_by_the_next_one() {
    let url = counters("given_up");
    wait(async { support::what_was_given_up_is_undone(&reach(&url).await).await });
}

#[test]
fn a_statement_that_takes_too_long_is_a_conflict_and_is_never_committed() {
    // More than a statement that does not sleep takes, however slow the machine.
    let url = ServerUrl { statement_timeout_ms: 5_000, ..counters("timeout") };
    wait(async {
        let statements = [support::COUNTER[0], support::COUNTER[1], "select 1 from pg_sleep(60)"];
        let opener = SqlxPostgres::reach(&url, statements.map(String::from).to_vec()).await.unwrap();
        let mut conn = opener.open().await.unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut conn, 1, 1).await, Ok(1));
        assert_eq!(conn.exec(StmtId(2), &[]).await, Err(Fault::Conflict(Conflict::Busy)));
        assert!(matches!(conn.commit().await, Err(Fault::Defect(_))));
        conn.begin(TxKind::Read).await.unwrap();
        assert_eq!(counter(&mut conn, 1).await, Ok(Some(0)));
        assert_eq!(add(&mut conn, 1, 1).await, Err(Fault::Refused(Refusal::UNWRITABLE)));
    });
}

#[test]
fn a_connection_that_breaks_is_in_doubt_as_far_as_it_is() {
    counters("broken");
    let direct = server().tcp_url("broken");
    wait(async {
        let lost = Err(Fault::InDoubt(Doubt::ConnectionLost));
        let mut conn = open(&direct).await;
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut conn, 1, 1).await, Ok(1));
        let others = "select pg_terminate_backend(pid) from pg_stat_activity \
                      where datname = current_database() and application_name = 'stackmark'";
        server().client("broken", others).unwrap();
        assert_eq!(add(&mut conn, 1, 1).await, lost);
        assert!(conn.rollback().await.is_err());
        assert_eq!(conn.begin(TxKind::Write).await, Err(Fault::Refused(Refusal::Unreachable)));

        let proxy = Proxy::before(&direct).await;
        let mut conn = open(&proxy.url).await;
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut conn, 1, 10).await, Ok(1));
        proxy.cut(Cut::Answer);
        assert_eq!(conn.commit().await, Err(Fault::InDoubt(Doubt::CommitUnanswered)));
        assert_eq!(conn.begin(TxKind::Write).await, Err(Fault::Refused(Refusal::Unreachable)));
        // It was committed: the doubt was right; what was lost before was undone.
        assert_eq!(counter(&mut open(&direct).await, 1).await, Ok(Some(10)));
    });
}

#[test]
fn one_statement_is_all_that_is_sent_of_a_transaction_of_one() {
    counters("alone");
    wait(support::one_statement_is_all_that_is_sent(&server().tcp_url("alone"), open));
}

#[test]
fn who_cannot_come_in_is_told_why_and_without_the_password() {
    let url = counters("told");
    let wrong = ServerUrl { password: Some(Secret::new("hush-hush")), ..url.clone() };
    let tcp = server().tcp_url("told");
    for (url, again_later, expected) in [
        (&wrong, false, "the password for user"),
        (&ServerUrl { password: None, ..url.clone() }, false, "no password is set"),
        (&url.with_database("nowhere"), false, "there is no database `nowhere`; create it with `createdb"),
        (&ServerUrl { port: 1, ..tcp.clone() }, true, "could not reach 127.0.0.1:1:"),
        (&ServerUrl { tls: sql::Tls::Require, ..tcp }, false, "TLS"),
        (&"mysql://u@h/d".parse().unwrap(), false, "another engine"),
    ] {
        let error = error(url);
        let text = error.to_string();
        assert_eq!(matches!(error, OpenError::Unreachable { .. }), again_later, "{text}");
        assert!(text.contains(expected) && !text.contains("hush-hush"), "{text}, expected {expected}");
    }
    let statements = vec!["select lacking from counter".to_owned()];
    let error = wait(SqlxPostgres::reach(&url, statements)).unwrap_err().to_string();
    assert!(error.contains("`select lacking from counter`: column \"lacking\" does not exist"), "{error}");
}

#[test]
fn the_stack_says_what_is_in_force() {
    let url =
        ServerUrl { isolation: Isolation::RepeatableRead, statement_timeout_ms: 1_234, ..database("stack") };
    let connections = server().client("stack", "show max_connections").unwrap();
    let stack = wait(SqlxPostgres::reach(&url, vec!["select ?1::integer".into()])).unwrap().stack();
    assert!(stack.isolation.starts_with("repeatable read;"), "{}", stack.isolation);
    assert_eq!(stack.durability.tier, Tier::Volatile);
    for (name, expected) in
        [("max_connections", connections.trim()), ("transport", "unix"), ("statement_timeout_ms", "1234")]
    {
        assert!(stack.settings.iter().any(|(found, value)| found == name && value == expected), "{name}");
    }
}
