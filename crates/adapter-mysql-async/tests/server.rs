//! The adapter on a real MariaDB: conformance, faults, refusals, types, and what concurrency may not lose.

#![expect(clippy::unwrap_used, reason = "a test has no one to hand an error to")]

mod support;

use adapter_mysql_async::{MySqlConn, MySqlOpener, connect};
use measure::Monotonic;
use model::{Cents, Conflict, Doubt, Fault, OpenError, Refusal, Target, Tier};
use mysql_async::prelude::Queryable;
use sql::{Dialect, Isolation, Param, Secret, ServerUrl, SqlConn, SqlOpener, StmtId, Tls, TxKind};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use support::{Cut, Proxy, block_on, database, load_tiny, server, server_with};
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{SqlTarget, catalogue};

const ADD: StmtId = StmtId(0);
const READ: StmtId = StmtId(1);
const LOCK: StmtId = StmtId(2);

/// A table of two counters.
async fn counters(url: &ServerUrl) {
    let mut conn = connect(url).await.unwrap();
    conn.query_drop("create table counter (id int primary key, n bigint not null) engine = InnoDB")
        .await
        .unwrap();
    conn.query_drop("insert into counter values (1, 0), (2, 0)").await.unwrap();
}

async fn counter_conn(url: &ServerUrl) -> MySqlConn {
    counting(connect(url).await.unwrap()).await
}

async fn counting(conn: mysql_async::Conn) -> MySqlConn {
    let statements = [
        "update counter set n = n + ?2 where id = ?1",
        "select n from counter where id = ?1",
        "select n from counter where id = ?1 for update",
    ];
    MySqlConn::prepare(conn, &statements.map(str::to_owned), "here").await.unwrap()
}

/// A server that these tests have to themselves, one at a time: full with 20 connections and one more, and with other
/// settings than its own.
fn own() -> MutexGuard<'static, rig::Running> {
    static OWN: LazyLock<Mutex<rig::Running>> = LazyLock::new(|| {
        let settings = [("extra_max_connections", "1"), ("innodb_flush_log_at_trx_commit", "2")];
        Mutex::new(server_with(&settings))
    });
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_error(url: &ServerUrl) -> OpenError {
    block_on(async { MySqlOpener::reach(url, Vec::new()).await.unwrap_err() })
}

#[test]
fn the_plain_style_answers_as_tpcc_asks_at_every_isolation() {
    for (number, isolation) in
        [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable].into_iter().enumerate()
    {
        let url = ServerUrl { isolation, ..database(&format!("tpcc{number}")) };
        block_on(async {
            load_tiny(&url).await;
            let opener = MySqlOpener::reach(&url, catalogue(Dialect::MySql).unwrap()).await.unwrap();
            let target = SqlTarget::new(opener, Monotonic::start());
            assert_eq!(target.stack().isolation, isolation.name());
            let mut session = target.open(0).await.unwrap();
            let done = conform(&mut session, &ConformancePlan::golden(7, 400)).await.unwrap();
            assert!(
                done.golden > 20 && done.random == 400 && done.declined > 0 && done.rejected > 0,
                "{done:?}"
            );
        });
    }
}

#[test]
fn the_stack_says_what_is_in_force() {
    let server = own();
    block_on(async {
        let url = ServerUrl { statement_timeout_ms: 1_500, ..server.tcp_url("tpcc") };
        let opener = MySqlOpener::reach(&url, Vec::new()).await.unwrap();
        let stack = opener.stack();
        assert!(stack.engine_version.contains("MariaDB"), "{}", stack.engine_version);
        assert_eq!((stack.isolation.as_str(), stack.durability.tier), ("repeatable-read", Tier::Delayed));
        let setting = |name: &str| {
            stack.settings.iter().find(|(key, _)| key == name).map_or("missing", |(_, value)| value.as_str())
        };
        assert_eq!(setting("transport"), "TCP");
        assert_eq!(setting("log_bin"), "OFF");
        assert!(setting("max_statement_time").starts_with("1.5"), "{}", setting("max_statement_time"));
        assert!(setting("sql_mode").contains("STRICT_ALL_TABLES"));
        assert_ne!(setting("innodb_buffer_pool_size"), "missing");
    });
}

#[test]
fn values_are_exact_in_both_directions() {
    let url = database("exact");
    block_on(async {
        let mut plain = connect(&url).await.unwrap();
        let table = "create table v (id bigint, small smallint unsigned, big bigint unsigned, money decimal(12,2), \
                     rate decimal(4,4), at datetime, words varchar(40) character set utf8mb4)";
        plain.query_drop(table).await.unwrap();
        let statements = [
            "insert into v values (?1, 65535, 9223372036854775807, ?2, 0.1250, '2024-02-29 23:59:58', ?3)",
            "update v set money = money + cast(?2 as decimal(12,2)) where id = ?1",
            "select id, small, big, money, rate, at, words, null, count(*) from v where id = ?1",
        ];
        let mut conn =
            MySqlConn::prepare(connect(&url).await.unwrap(), &statements.map(str::to_owned), "here")
                .await
                .unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        let largest = Cents(999_999_999_998);
        let insert = [Param::Int(-5), Param::Cents(largest), Param::Text("Grüße, ’tis ‘ok’")];
        assert_eq!(conn.exec(StmtId(0), &insert).await, Ok(1));
        assert_eq!(conn.exec(StmtId(1), &[Param::Int(-5), Param::Cents(Cents(1))]).await, Ok(1));
        // Found, and left as it was: an update counts what it finds.
        assert_eq!(conn.exec(StmtId(1), &[Param::Int(-5), Param::Cents(Cents(0))]).await, Ok(1));
        let row = conn
            .row(StmtId(2), &[Param::Int(-5)], |row| {
                let null = row.int_or_null(7)?.is_none() && row.int(7).is_err() && row.text(0).is_err();
                let words = row.text(6)? == "Grüße, ’tis ‘ok’";
                Ok((
                    row.int(0)?,
                    row.int(1)?,
                    row.int(2)?,
                    row.scaled(3, 2)?,
                    row.scaled(4, 4)?,
                    row.int(5)?,
                    null,
                    words,
                ))
            })
            .await;
        let at = 1_709_251_198;
        assert_eq!(row, Ok(Some((-5, 65_535, i64::MAX, largest.0 + 1, 1_250, at, true, true))));
        conn.commit().await.unwrap();
    });
}

#[test]
fn a_deadlock_and_a_lock_that_is_not_given_are_conflicts() {
    let url = database("deadlock");
    block_on(async {
        counters(&url).await;
        let (mut one, mut two) = (counter_conn(&url).await, counter_conn(&url).await);
        for conn in [&mut one, &mut two] {
            conn.begin(TxKind::Write).await.unwrap();
        }
        one.exec(ADD, &[1_i64.into(), 1_i64.into()]).await.unwrap();
        two.exec(ADD, &[2_i64.into(), 1_i64.into()]).await.unwrap();
        let crossing = [2_i64.into(), 1_i64.into()];
        let back = [1_i64.into(), 1_i64.into()];
        let (first, second) = tokio::join!(one.exec(ADD, &crossing), two.exec(ADD, &back));
        let deadlock = Err(Fault::Conflict(Conflict::Deadlock));
        assert!((first == deadlock) != (second == deadlock), "{first:?} {second:?}");
        one.rollback().await.unwrap();
        two.rollback().await.unwrap();

        // Above, one that waited so briefly could give up before the other comes to block it.
        let mut hasty = connect(&url).await.unwrap();
        hasty.query_drop("set innodb_lock_wait_timeout = 1").await.unwrap();
        let (mut one, mut two) = (counter_conn(&url).await, counting(hasty).await);
        one.begin(TxKind::Write).await.unwrap();
        one.exec(ADD, &[1_i64.into(), 1_i64.into()]).await.unwrap();
        two.begin(TxKind::Write).await.unwrap();
        two.exec(ADD, &[2_i64.into(), 5_i64.into()]).await.unwrap();
        let waited = two.exec(ADD, &[1_i64.into(), 1_i64.into()]).await;
        assert_eq!(waited, Err(Fault::Conflict(Conflict::Busy)));
        // The engine has undone the statement alone; the rest goes with the roll-back.
        two.rollback().await.unwrap();
        one.commit().await.unwrap();
        assert_eq!(two.row(READ, &[2_i64.into()], |row| row.int(0)).await, Ok(Some(0)));
    });
}

#[test]
fn a_statement_that_takes_too_long_is_a_conflict() {
    let url = database("timeout");
    block_on(async {
        counters(&url).await;
        // More than a statement that waits for no one takes, however slow the machine.
        let hasty = ServerUrl { statement_timeout_ms: 5_000, ..url.clone() };
        let (mut one, mut two) = (counter_conn(&url).await, counter_conn(&hasty).await);
        one.begin(TxKind::Write).await.unwrap();
        one.exec(ADD, &[1_i64.into(), 1_i64.into()]).await.unwrap();
        two.begin(TxKind::Write).await.unwrap();
        let waited = two.exec(ADD, &[1_i64.into(), 1_i64.into()]).await;
        assert_eq!(waited, Err(Fault::Conflict(Conflict::Busy)));
        two.rollback().await.unwrap();
        assert_eq!(two.row(READ, &[1_i64.into()], |row| row.int(0)).await, Ok(Some(0)));
    });
}

#[test]
fn what_takes_no_writes_says_so() {
    let server = own();
    server.create_database("unwritable").unwrap();
    let url = server.url("unwritable");
    block_on(async {
        counters(&url).await;
        let mut conn = counter_conn(&url).await;
        conn.begin(TxKind::Read).await.unwrap();
        let written = conn.exec(ADD, &[1_i64.into(), 1_i64.into()]).await;
        assert_eq!(written, Err(Fault::Refused(Refusal::UNWRITABLE)));
        conn.rollback().await.unwrap();
    });
    server.client("mysql", "grant all on unwritable.* to 'plain'@'%' identified by 'pw'").unwrap();
    let plain =
        ServerUrl { user: "plain".into(), password: Some(Secret::new("pw")), ..server.tcp_url("unwritable") };
    block_on(async {
        let mut conn = counter_conn(&plain).await;
        server.client("mysql", "set global read_only = 1").unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        let written = conn.exec(ADD, &[1_i64.into(), 1_i64.into()]).await;
        assert_eq!(written, Err(Fault::Refused(Refusal::UNWRITABLE)));
    });
    let error = open_error(&plain);
    server.client("mysql", "set global read_only = 0").unwrap();
    assert!(
        matches!(error, OpenError::Unusable { .. }) && error.to_string().contains("read-only"),
        "{error}"
    );
}

#[test]
fn a_connection_that_breaks_is_in_doubt_as_far_as_it_is() {
    database("broken");
    let direct = server().tcp_url("broken");
    block_on(async {
        counters(&direct).await;
        let mut witness = counter_conn(&direct).await;
        let lost = Err(Fault::InDoubt(Doubt::ConnectionLost));

        let proxy = Proxy::before(&direct).await;
        let mut conn = counter_conn(&proxy.url).await;
        conn.begin(TxKind::Write).await.unwrap();
        conn.exec(ADD, &[1_i64.into(), 1_i64.into()]).await.unwrap();
        proxy.cut(Cut::Now);
        assert_eq!(conn.exec(ADD, &[1_i64.into(), 1_i64.into()]).await, lost);
        assert_eq!(conn.begin(TxKind::Write).await, Err(Fault::Refused(Refusal::Unreachable)));
        // The server notices by itself, and gives the row free.
        witness.begin(TxKind::Write).await.unwrap();
        assert_eq!(witness.row(LOCK, &[1_i64.into()], |row| row.int(0)).await, Ok(Some(0)));
        witness.rollback().await.unwrap();

        let proxy = Proxy::before(&direct).await;
        let mut conn = counter_conn(&proxy.url).await;
        conn.begin(TxKind::Write).await.unwrap();
        conn.exec(ADD, &[1_i64.into(), 10_i64.into()]).await.unwrap();
        proxy.cut(Cut::Answer);
        assert_eq!(conn.commit().await, Err(Fault::InDoubt(Doubt::CommitUnanswered)));
        // It was committed: the doubt was right.
        assert_eq!(witness.row(READ, &[1_i64.into()], |row| row.int(0)).await, Ok(Some(10)));

        let mut victim = connect(&direct).await.unwrap();
        let id: u64 = victim.query_first("select connection_id()").await.unwrap().unwrap();
        let statements = ["update counter set n = n + ?2 where id = ?1".to_owned()];
        let mut victim = MySqlConn::prepare(victim, &statements, "here").await.unwrap();
        victim.begin(TxKind::Write).await.unwrap();
        server().client("broken", &format!("kill {id}")).unwrap();
        assert_eq!(victim.exec(ADD, &[1_i64.into(), 1_i64.into()]).await, lost);
    });
}

#[test]
fn one_statement_is_all_that_is_sent_and_in_doubt_if_it_wrote_and_its_answer_is_lost() {
    database("alone");
    let direct = server().tcp_url("alone");
    block_on(async {
        counters(&direct).await;
        let mut witness = counter_conn(&direct).await;
        let unanswered = Err(Fault::InDoubt(Doubt::CommitUnanswered));

        let proxy = Proxy::before(&direct).await;
        let mut conn = counter_conn(&proxy.url).await;
        proxy.cut(Cut::Answer);
        conn.begin(TxKind::OneWrite).await.unwrap();
        assert_eq!(conn.exec(ADD, &[1_i64.into(), 10_i64.into()]).await, unanswered);
        // It was committed: the doubt was right.
        assert_eq!(witness.row(READ, &[1_i64.into()], |row| row.int(0)).await, Ok(Some(10)));

        let proxy = Proxy::before(&direct).await;
        let mut conn = counter_conn(&proxy.url).await;
        conn.begin(TxKind::OneWrite).await.unwrap();
        assert_eq!(conn.exec(ADD, &[2_i64.into(), 1_i64.into()]).await, Ok(1));
        // Whatever is sent from now on is lost.
        proxy.cut(Cut::Now);
        conn.commit().await.unwrap();
        conn.begin(TxKind::OneRead).await.unwrap();
        let read = conn.row(READ, &[2_i64.into()], |row| row.int(0)).await;
        assert_eq!(read, Err(Fault::InDoubt(Doubt::ConnectionLost)));
        conn.begin(TxKind::OneWrite).await.unwrap();
        assert_eq!(conn.exec(ADD, &[2_i64.into(), 1_i64.into()]).await, unanswered);
        assert_eq!(witness.row(READ, &[2_i64.into()], |row| row.int(0)).await, Ok(Some(1)));
    });
}

#[test]
fn a_transaction_that_was_given_up_is_undone_by_the_next_one() {
    let url = database("given_up");
    block_on(async {
        counters(&url).await;
        let mut conn = counter_conn(&url).await;
        for next in [TxKind::Write, TxKind::OneWrite] {
            conn.begin(TxKind::Write).await.unwrap();
            assert_eq!(conn.exec(ADD, &[1_i64.into(), 7_i64.into()]).await, Ok(1));
            conn.begin(next).await.unwrap();
            assert_eq!(conn.exec(ADD, &[2_i64.into(), 1_i64.into()]).await, Ok(1));
            conn.commit().await.unwrap();
        }
        let mut witness = counter_conn(&url).await;
        assert_eq!(witness.row(READ, &[1_i64.into()], |row| row.int(0)).await, Ok(Some(0)));
        assert_eq!(witness.row(READ, &[2_i64.into()], |row| row.int(0)).await, Ok(Some(2)));
    });
}

#[test]
fn two_writers_lose_no_update() {
    counters_of(Isolation::ReadCommitted, "one");
    counters_of(Isolation::RepeatableRead, "two");
}

/// Reads under a lock, adds in the client, and writes; two connections, turn by turn as the locks let them.
fn counters_of(isolation: Isolation, name: &str) {
    const EACH: i64 = 100;
    let url = ServerUrl { isolation, ..database(name) };
    block_on(async {
        counters(&url).await;
        let add = async || {
            let mut conn = counter_conn(&url).await;
            for _ in 0..EACH {
                conn.begin(TxKind::Write).await.unwrap();
                // At REPEATABLE READ this fixes the snapshot; the lock must see past it.
                conn.row(READ, &[2_i64.into()], |row| row.int(0)).await.unwrap();
                let before = conn.row(LOCK, &[1_i64.into()], |row| row.int(0)).await.unwrap().unwrap();
                conn.exec(ADD, &[1_i64.into(), 1_i64.into()]).await.unwrap();
                let after = conn.row(LOCK, &[1_i64.into()], |row| row.int(0)).await.unwrap().unwrap();
                assert_eq!(after, before + 1);
                conn.commit().await.unwrap();
            }
        };
        tokio::join!(add(), add());
        let mut conn = counter_conn(&url).await;
        assert_eq!(conn.row(READ, &[1_i64.into()], |row| row.int(0)).await, Ok(Some(2 * EACH)));
    });
}

#[test]
fn who_cannot_come_in_is_told_why_and_without_the_password() {
    let server = own();
    let url = server.tcp_url("tpcc");
    let check = |url: &ServerUrl, reachable: bool, expected: &str| {
        let error = open_error(url);
        let text = error.to_string();
        assert_eq!(matches!(error, OpenError::Unreachable { .. }), !reachable, "{text}");
        assert!(text.contains(expected) && !text.contains("s3cret"), "{text}");
    };
    let wrong = ServerUrl { password: Some(Secret::new("s3cret")), ..url.clone() };
    check(&wrong, true, "with the password given");
    check(&ServerUrl { password: None, ..url.clone() }, true, "with no password");
    check(&url.with_database("nowhere"), true, "no database `nowhere`");
    server.client("tpcc", "create user 'guest'@'%' identified by 's3cret'").unwrap();
    let guest = ServerUrl { user: "guest".into(), password: Some(Secret::new("s3cret")), ..url.clone() };
    check(&guest, true, "`guest`");
    check(&ServerUrl { port: 1, ..url.clone() }, false, "refused");
    check(&ServerUrl { socket: Some("/nowhere/m.sock".into()), ..url.clone() }, false, "No such file");
    check(&ServerUrl { tls: Tls::Require, ..url.clone() }, true, "does not encrypt");
    check(&"postgres://u@h/d".parse().unwrap(), true, "another engine");
    assert!(block_on(connect(&ServerUrl { tls: Tls::Prefer, ..url.clone() })).is_ok());

    block_on(async {
        let mut locked = Vec::new();
        let error = loop {
            match connect(&url).await {
                Ok(conn) => locked.push(conn),
                Err(error) => break error,
            }
            assert!(locked.len() < 100, "the server takes 20 connections");
        };
        assert!(
            matches!(&error, OpenError::Unreachable { why, .. } if why.contains("max_connections are in use")),
            "{error}"
        );
    });
}
