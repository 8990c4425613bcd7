//! What PostgreSQL's errors become, each made by a real one; and what someone is told who cannot connect.

use crate::support::{batch, database, server, wait};
use adapter_tokio_postgres::{Connected, PostgresConn, PostgresOpener, connect, connect_to_write};
use model::{Conflict, Doubt, Fault, OpenError, Refusal};
use sql::{Isolation, Param, Secret, ServerUrl, SqlConn as _, SqlOpener as _, StmtId, TxKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const ADD: StmtId = StmtId(0);
const READ: StmtId = StmtId(1);
const SLEEP: StmtId = StmtId(2);
const END_MYSELF: StmtId = StmtId(3);
const FAIL: StmtId = StmtId(4);

/// A table of two counters.
async fn counters(url: &ServerUrl) -> PostgresOpener {
    batch(url, "create table t (id integer primary key, x integer); insert into t values (1, 0), (2, 0)")
        .await;
    reach(url).await
}

async fn reach(url: &ServerUrl) -> PostgresOpener {
    let statements = [
        "update t set x = x + 1 where id = ?1",
        "select x from t where id = ?1",
        "select 1 from pg_sleep(60)",
        "select pg_terminate_backend(pg_backend_pid())::text",
        "update t set x = x / 0 where id = ?1",
    ];
    PostgresOpener::reach(url, statements.map(String::from).to_vec()).await.unwrap()
}

async fn counter(conn: &mut PostgresConn, id: i64) -> Result<Option<i64>, Fault> {
    conn.row(READ, &[Param::Int(id)], |row| row.int(0)).await
}

#[test]
fn one_of_two_that_block_each_other_is_a_deadlock_and_the_other_commits() {
    let url = database("deadlock");
    wait(async {
        let opener = counters(&url).await;
        let (mut a, mut b) = (opener.open().await.unwrap(), opener.open().await.unwrap());
        for (conn, id) in [(&mut a, 1), (&mut b, 2)] {
            conn.begin(TxKind::Write).await.unwrap();
            assert_eq!(conn.exec(ADD, &[Param::Int(id)]).await, Ok(1));
        }
        let cross = async |mut conn: PostgresConn, id| {
            let result = conn.exec(ADD, &[Param::Int(id)]).await;
            match result {
                Ok(_) => conn.commit().await.unwrap(),
                Err(_) => conn.rollback().await.unwrap(),
            }
            result
        };
        let (a, b) = futures_util::future::join(cross(a, 2), cross(b, 1)).await;
        let deadlock = Err(Fault::Conflict(Conflict::Deadlock));
        assert!((a == Ok(1) && b == deadlock) || (b == Ok(1) && a == deadlock), "{a:?} {b:?}");
    });
}

#[test]
fn what_cannot_be_serialized_is_a_conflict_and_the_connection_goes_on() {
    let url = ServerUrl { isolation: Isolation::Serializable, ..database("serializable") };
    wait(async {
        let opener = counters(&url).await;
        let (mut a, mut b) = (opener.open().await.unwrap(), opener.open().await.unwrap());
        for conn in [&mut a, &mut b] {
            conn.begin(TxKind::Write).await.unwrap();
            assert_eq!(counter(conn, 1).await, Ok(Some(0)));
        }
        assert_eq!(a.exec(ADD, &[Param::Int(1)]).await, Ok(1));
        a.commit().await.unwrap();
        let serialization = Err(Fault::Conflict(Conflict::Serialization));
        assert_eq!(b.exec(ADD, &[Param::Int(1)]).await, serialization);
        b.rollback().await.unwrap();
        b.begin(TxKind::Write).await.unwrap();
        assert_eq!(counter(&mut b, 1).await, Ok(Some(1)));
        b.commit().await.unwrap();
    });
}

#[test]
fn a_statement_that_takes_too_long_is_a_conflict_and_leaves_nothing() {
    let url = database("timeout");
    wait(async {
        counters(&url).await;
        // More than a statement that does not sleep takes, however slow the machine.
        let hasty = ServerUrl { statement_timeout_ms: 5_000, ..url };
        let mut conn = reach(&hasty).await.open().await.unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(conn.exec(ADD, &[Param::Int(1)]).await, Ok(1));
        assert_eq!(conn.exec(SLEEP, &[]).await, Err(Fault::Conflict(Conflict::Busy)));
        // An error that no one heeds must not look like a commit, as it would in PostgreSQL's own answer.
        assert!(matches!(conn.commit().await, Err(Fault::Defect(_))));
        conn.begin(TxKind::Read).await.unwrap();
        assert_eq!(counter(&mut conn, 1).await, Ok(Some(0)));
        // No write in a transaction that only reads.
        assert_eq!(conn.exec(ADD, &[Param::Int(1)]).await, Err(Fault::Refused(Refusal::UNWRITABLE)));
    });
}

#[test]
fn a_transaction_that_was_given_up_is_undone_by_the_next_one() {
    let url = database("given_up");
    wait(async {
        let mut conn = counters(&url).await.open().await.unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(conn.exec(ADD, &[Param::Int(1)]).await, Ok(1));
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(counter(&mut conn, 1).await, Ok(Some(0)));
    });
}

#[test]
fn a_session_ended_by_the_server_is_in_doubt_once_and_unreachable_from_then_on() {
    let url = database("terminated");
    wait(async {
        let mut conn = counters(&url).await.open().await.unwrap();
        conn.begin(TxKind::Write).await.unwrap();
        let lost = Err(Fault::InDoubt(Doubt::ConnectionLost));
        assert_eq!(conn.exec(END_MYSELF, &[]).await, lost);
        assert!(conn.rollback().await.is_err());
        assert_eq!(conn.begin(TxKind::Write).await, Err(Fault::Refused(Refusal::Unreachable)));
    });
}

/// Passes bytes on, until it sees a commit on its way to the server: then it cuts, before or after the server has it.
pub(crate) async fn cut_at_commit(to: u16, let_through: bool, armed: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let (far, armed) = (TcpStream::connect(("127.0.0.1", to)).await.unwrap(), armed.clone());
            tokio::spawn(async move {
                let (mut near_in, mut near_out) = near.into_split();
                let (mut far_in, mut far_out) = far.into_split();
                let back = tokio::spawn(async move { tokio::io::copy(&mut far_in, &mut near_out).await });
                let mut buffer = vec![0; 1 << 16];
                while let Ok(count @ 1..) = near_in.read(&mut buffer).await {
                    if armed.load(Ordering::Relaxed) {
                        back.abort();
                        if let_through {
                            far_out.write_all(&buffer[..count]).await.unwrap();
                            // The server has read it when it closes, which it does after the commit.
                            far_out.shutdown().await.unwrap();
                            let _ = back.await;
                        }
                        return;
                    }
                    far_out.write_all(&buffer[..count]).await.unwrap();
                }
            });
        }
    });
    port
}

#[test]
fn a_commit_whose_answer_is_lost_is_in_doubt_whether_or_not_it_was_made() {
    let name = "cut";
    let near = database(name);
    wait(async {
        counters(&near).await;
        for let_through in [false, true] {
            let armed = Arc::new(AtomicBool::new(false));
            let port = cut_at_commit(server().tcp_url(name).port, let_through, armed.clone()).await;
            let url = ServerUrl { port, ..server().tcp_url(name) };
            let mut conn = reach(&url).await.open().await.unwrap();
            conn.begin(TxKind::Write).await.unwrap();
            assert_eq!(conn.exec(ADD, &[Param::Int(1)]).await, Ok(1));
            armed.store(true, Ordering::Relaxed);
            assert_eq!(conn.commit().await, Err(Fault::InDoubt(Doubt::CommitUnanswered)));
            assert_eq!(conn.begin(TxKind::Write).await, Err(Fault::Refused(Refusal::Unreachable)));
        }
    });
}

#[test]
fn one_statement_is_all_that_is_sent_and_in_doubt_if_it_wrote_and_its_answer_is_lost() {
    let name = "alone";
    let near = database(name);
    wait(async {
        counters(&near).await;
        let through = async |let_through| {
            let armed = Arc::new(AtomicBool::new(false));
            let port = cut_at_commit(server().tcp_url(name).port, let_through, armed.clone()).await;
            let url = ServerUrl { port, ..server().tcp_url(name) };
            (reach(&url).await.open().await.unwrap(), armed)
        };
        for (let_through, seen) in [(false, 0), (true, 1)] {
            let (mut conn, armed) = through(let_through).await;
            armed.store(true, Ordering::Relaxed);
            conn.begin(TxKind::OneWrite).await.unwrap();
            assert_eq!(conn.exec(ADD, &[Param::Int(1)]).await, Err(Fault::InDoubt(Doubt::CommitUnanswered)));
            let mut witness = reach(&near).await.open().await.unwrap();
            assert_eq!(counter(&mut witness, 1).await, Ok(Some(seen)));
        }
        let (mut conn, armed) = through(false).await;
        conn.begin(TxKind::OneWrite).await.unwrap();
        assert_eq!(conn.exec(ADD, &[Param::Int(2)]).await, Ok(1));
        // Whatever is sent from now on is cut.
        armed.store(true, Ordering::Relaxed);
        conn.commit().await.unwrap();
        conn.begin(TxKind::OneRead).await.unwrap();
        assert_eq!(counter(&mut conn, 2).await, Err(Fault::InDoubt(Doubt::ConnectionLost)));
    });
}

#[test]
fn statements_that_share_a_round_trip_are_one_transaction() {
    let url = database("shared_trip");
    wait(async {
        let mut conn = counters(&url).await.open().await.unwrap();
        let [one, two, none] = [1, 2, 9].map(|id| [Param::Int(id)]);
        let changed = conn.begin_with(&[(ADD, &one), (ADD, &none), (ADD, &two)]).await;
        assert_eq!(changed, Ok(vec![1, 0, 1]));
        conn.commit().await.unwrap();
        // The first error is given, and nothing is kept of what was sent before it or after it.
        let failed = conn.begin_with(&[(ADD, &one), (FAIL, &one), (ADD, &two)]).await;
        assert!(matches!(&failed, Err(Fault::Defect(defect)) if defect.what.contains("zero")), "{failed:?}");
        assert!(conn.commit().await.is_err());
        // What was given up in its middle is undone by the next one.
        assert_eq!(conn.begin_with(&[(ADD, &two)]).await, Ok(vec![1]));
        assert_eq!(conn.begin_with(&[(ADD, &one)]).await, Ok(vec![1]));
        conn.commit().await.unwrap();
        conn.begin(TxKind::OneRead).await.unwrap();
        assert_eq!(counter(&mut conn, 1).await, Ok(Some(2)));
        assert_eq!(counter(&mut conn, 2).await, Ok(Some(1)));
        // A connection that is gone was never attempted on; one that goes with them has committed nothing.
        let ended = conn.begin_with(&[(ADD, &one), (END_MYSELF, &[])]).await;
        assert_eq!(ended, Err(Fault::InDoubt(Doubt::ConnectionLost)));
        assert!(conn.begin_with(&[(ADD, &one)]).await.is_err());
        let mut witness = reach(&url).await.open().await.unwrap();
        assert_eq!(counter(&mut witness, 1).await, Ok(Some(2)));
    });
}

async fn refusal(url: &ServerUrl) -> String {
    match connect_to_write(url).await {
        Ok(_) => panic!("{url} lets us in"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn who_cannot_connect_is_told_why_and_never_the_password() {
    let url = database("told");
    wait(async {
        let wrong = ServerUrl { password: Some(Secret::new("hush-hush")), ..url.clone() };
        let nothing = ServerUrl { port: 1, ..server().tcp_url("told") };
        let read_only = format!("alter database {} set default_transaction_read_only = on", url.database);
        for (url, expected) in [
            (&wrong, "the password for user"),
            (&ServerUrl { password: None, ..url.clone() }, "no password is set"),
            (&url.with_database("nowhere"), "there is no database `nowhere`; create it with `createdb"),
            (&nothing, "could not reach 127.0.0.1:1:"),
            (&ServerUrl { tls: sql::Tls::Require, ..server().tcp_url("told") }, "does not encrypt"),
        ] {
            let error = refusal(url).await;
            assert!(error.contains(expected), "{error}, expected {expected}");
            assert!(!error.contains("hush-hush") && !format!("{url:?}").contains("hush-hush"), "{error}");
        }
        batch(&url, &read_only).await;
        assert!(connect_to_write(&url).await.is_ok(), "a default is not a refusal");
    });
}

#[test]
fn a_full_server_says_so_and_may_be_tried_again() {
    let options = rig::Options { connections: 10, ..rig::Options::small(rig::Engine::Postgres) };
    let small = rig::start(rig::Engine::Postgres, &options).unwrap();
    small.create_database("crowded").unwrap();
    let url = small.url("crowded");
    wait(async {
        let mut held: Vec<Connected> = Vec::new();
        let error = loop {
            match connect(&url).await {
                Ok(connected) => held.push(connected),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("the server has no free session"), "{error}");
    });
}
