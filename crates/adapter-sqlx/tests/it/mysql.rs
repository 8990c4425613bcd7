//! The adapter on a real MariaDB.

use crate::support::{self, COUNTERS, Cut, Proxy, add, counter, counter_statements, wait};
use adapter_sqlx::{SqlxMySql, SqlxMySqlConn};
use model::{Cents, Conflict, Doubt, Fault, OpenError, Refusal, Tier};
use rig::Engine;
use rig::for_tests::{SharedEngine, shared};
use sql::{Dialect, Isolation, Param, Secret, ServerUrl, SqlConn as _, SqlOpener as _, StmtId, Tls, TxKind};
use std::sync::atomic::AtomicBool;

/// The server, which others may share.
fn server() -> &'static SharedEngine {
    shared(Engine::MariaDb)
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

async fn reach(url: &ServerUrl) -> SqlxMySql {
    SqlxMySql::reach(url, counter_statements()).await.unwrap()
}

async fn open(url: &ServerUrl) -> SqlxMySqlConn {
    reach(url).await.open().await.unwrap()
}

#[test]
fn tpcc_answers_what_the_vectors_and_the_oracle_say() {
    let url = ServerUrl { isolation: Isolation::ReadCommitted, ..database("tpcc") };
    admin::store(&url).load(support::tpcc(Dialect::MySql), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let statements = workload_tpcc::catalogue(Dialect::MySql).unwrap();
    wait(async { support::tpcc_conforms(SqlxMySql::reach(&url, statements).await.unwrap()).await });
}

#[test]
fn tpcb_answers_what_the_vectors_and_the_oracle_say() {
    let url = database("tpcb");
    admin::store(&url).load(support::tpcb(Dialect::MySql), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let statements = workload_tpcb::catalogue(Dialect::MySql).unwrap();
    wait(async { support::tpcb_conforms(SqlxMySql::reach(&url, statements).await.unwrap()).await });
}

#[test]
fn values_are_exact_in_both_directions() {
    let url = database("exact");
    let table = "create table v (id bigint, small smallint unsigned, big bigint unsigned, money decimal(14,2), \
                 rate decimal(4,4), at datetime, day date, words varchar(40) character set utf8mb4)";
    server().client("exact", table).unwrap();
    let statements = [
        "insert into v values (?1, 65535, 9223372036854775807, ?2, 0.1250, '2024-02-29 23:59:58', '2024-02-29', ?3)",
        "update v set money = money + cast(?2 as decimal(14,2)) where id = ?1",
        "select id, small, big, money, rate, at, day, words, null, count(*), sum(small) from v where id = ?1",
    ];
    wait(async {
        let opener = SqlxMySql::reach(&url, statements.map(String::from).to_vec()).await.unwrap();
        let mut conn = opener.open().await.unwrap();
        let (id, largest) = (Param::Int(-5), Cents(99_999_999_999_998));
        let insert = [id, Param::Cents(largest), Param::Text("Grüße, ’tis ‘ok’")];
        assert_eq!(conn.exec(StmtId(0), &insert).await, Ok(1));
        assert_eq!(conn.exec(StmtId(1), &[id, Param::Cents(Cents(1))]).await, Ok(1));
        let params = [id];
        let row = conn.row(StmtId(2), &params, |row| {
            assert!(row.int_or_null(8)?.is_none() && row.int(8).is_err() && row.text(0).is_err());
            assert!(row.scaled(3, 1).is_err() && row.int(3).is_err() && row.int(11).is_err());
            assert_eq!((row.text(7)?, row.int(9)?, row.int(10)?), ("Grüße, ’tis ‘ok’", 1, 65_535));
            // A whole number holds whole units, whatever is asked of it.
            assert_eq!((row.scaled(0, 2)?, row.scaled(1, 4)?), (-500, 655_350_000));
            assert!(row.scaled(2, 2).is_err(), "out of range");
            let whole = [row.int(0)?, row.int(1)?, row.int(2)?, row.int(5)?, row.int(6)?];
            Ok((whole, row.scaled(3, 2)?, row.scaled(4, 4)?))
        });
        let whole = [-5, 65_535, i64::MAX, 1_709_251_198, 1_709_164_800];
        assert_eq!(row.await, Ok(Some((whole, largest.0 + 1, 1_250))));
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
fn a_statement_that_takes_too_long_is_a_conflict() {
    // More than a statement that waits for no one takes, however slow the machine.
    let url = ServerUrl { statement_timeout_ms: 5_000, ..counters("timeout") };
    wait(async {
        let (mut one, mut two) = (open(&url).await, open(&url).await);
        one.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut one, 1, 1).await, Ok(1));
        two.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut two, 1, 1).await, Err(Fault::Conflict(Conflict::Busy)));
        two.rollback().await.unwrap();
        two.begin(TxKind::Read).await.unwrap();
        assert_eq!(counter(&mut two, 1).await, Ok(Some(0)));
        assert_eq!(add(&mut two, 1, 1).await, Err(Fault::Refused(Refusal::UNWRITABLE)));
    });
}

#[test]
fn a_connection_that_breaks_is_in_doubt_as_far_as_it_is() {
    counters("broken");
    let direct = server().tcp_url("broken");
    wait(async {
        let lost = Err(Fault::InDoubt(Doubt::ConnectionLost));
        let statements = [support::COUNTER[0], support::COUNTER[1], "select connection_id()"];
        let opener = SqlxMySql::reach(&direct, statements.map(String::from).to_vec()).await.unwrap();
        let mut conn = opener.open().await.unwrap();
        let id = conn.row(StmtId(2), &[], |row| row.int(0)).await.unwrap().unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut conn, 1, 1).await, Ok(1));
        server().client("broken", &format!("kill {id}")).unwrap();
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

        let proxy = Proxy::before(&direct).await;
        let mut conn = open(&proxy.url).await;
        conn.begin(TxKind::Write).await.unwrap();
        proxy.cut(Cut::Now);
        assert_eq!(add(&mut conn, 1, 1).await, lost);
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
    let tcp = server().tcp_url("told");
    for (url, again_later, expected) in [
        (
            &ServerUrl { password: Some(Secret::new("s3cret")), ..url.clone() },
            false,
            "with the password given",
        ),
        (&ServerUrl { password: None, ..url.clone() }, false, "with no password"),
        (&url.with_database("nowhere"), false, "no database `nowhere`"),
        (&ServerUrl { port: 1, ..tcp.clone() }, true, "refused"),
        (&ServerUrl { tls: Tls::Require, ..tcp.clone() }, false, "does not encrypt"),
        (&"postgres://u@h/d".parse().unwrap(), false, "another engine"),
    ] {
        let error = wait(SqlxMySql::reach(url, Vec::new())).unwrap_err();
        let text = error.to_string();
        assert_eq!(matches!(error, OpenError::Unreachable { .. }), again_later, "{text}");
        assert!(text.contains(expected) && !text.contains("s3cret"), "{text}, expected {expected}");
    }
    let preferring = ServerUrl { tls: Tls::Prefer, ..tcp };
    assert!(wait(SqlxMySql::reach(&preferring, Vec::new())).is_ok());
    let statements = vec!["select lacking from counter".to_owned()];
    let error = wait(SqlxMySql::reach(&url, statements)).unwrap_err().to_string();
    assert!(error.contains("`select lacking from counter`: Unknown column 'lacking'"), "{error}");
}

#[test]
fn the_stack_says_what_is_in_force() {
    database("stack");
    let url = ServerUrl {
        isolation: Isolation::Serializable,
        statement_timeout_ms: 1_500,
        ..server().tcp_url("stack")
    };
    let stack = wait(SqlxMySql::reach(&url, Vec::new())).unwrap().stack();
    assert!(stack.engine_version.contains("MariaDB"), "{}", stack.engine_version);
    assert_eq!((stack.isolation.as_str(), stack.durability.tier), ("serializable", Tier::Delayed));
    for (name, expected) in [("transport", "TCP"), ("log_bin", "OFF"), ("max_statement_time", "1.5")] {
        let found = stack.settings.iter().find(|(found, _)| found == name);
        assert!(found.is_some_and(|(_, value)| value.starts_with(expected)), "{name}: {found:?}");
    }
}
