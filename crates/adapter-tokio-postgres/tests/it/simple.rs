//! The simple protocol on a real PostgreSQL: rows as text, what is refused before it is sent, and how transactions end.

use crate::faults::cut_at_commit;
use crate::support::{batch, database, server, wait};
use adapter_tokio_postgres::{SimpleConn, SimpleOpener};
use model::{Cents, DefectKind, Doubt, Fault, OpenError, Refusal};
use sql::{Param, ServerUrl, SqlConn as _, SqlOpener as _, StmtId, TxKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TAKE: StmtId = StmtId(0);
const READ: StmtId = StmtId(1);
const ALL: StmtId = StmtId(2);
const PREPARED: StmtId = StmtId(3);
const END_MYSELF: StmtId = StmtId(4);

const TABLE: &str =
    "create table t (id integer primary key, x bigint, price numeric(10, 2), name varchar(9));
    insert into t values (1, 10, 12.29, 'leek'), (2, null, null, null)";

async fn reach(url: &ServerUrl) -> SimpleOpener {
    let statements = [
        "update t set x = x - ?2 where id = ?1",
        "select x, price, name from t where id = ?1",
        "select id, x from t order by id",
        "select count(*) from pg_prepared_statements",
        "select pg_terminate_backend(pg_backend_pid())",
    ];
    SimpleOpener::reach(url, statements.map(String::from).to_vec()).await.unwrap()
}

/// A connection to a database of that name, with the table.
async fn opened(name: &str) -> SimpleConn {
    let url = database(name);
    batch(&url, TABLE).await;
    reach(&url).await.open().await.unwrap()
}

async fn x(conn: &mut SimpleConn) -> Result<Option<i64>, Fault> {
    conn.row(READ, &[Param::Int(1)], |row| row.int(0)).await
}

#[test]
fn columns_are_read_from_texts_and_nothing_is_prepared() {
    wait(async {
        let mut conn = opened("simple_columns").await;
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(conn.exec(TAKE, &[Param::Int(1), Param::Int(-5)]).await, Ok(1));
        assert_eq!(conn.exec(TAKE, &[Param::Int(7), Param::Null]).await, Ok(0));
        let row = conn.row(READ, &[Param::Int(1)], |row| {
            assert!(row.int(1).is_err() && row.int(2).is_err() && row.int(3).is_err());
            assert!(row.scaled(1, 1).is_err());
            Ok((row.int(0)?, row.scaled(1, 2)?, row.text(2)?.to_owned()))
        });
        assert_eq!(row.await, Ok(Some((15, 1_229, "leek".to_owned()))));
        let nulls = conn.row(READ, &[Param::Int(2)], |row| {
            assert!(row.int(0).is_err() && row.scaled(1, 2).is_err() && row.text(2).is_err());
            row.int_or_null(0)
        });
        assert_eq!(nulls.await, Ok(Some(None)));
        let mut all = Vec::new();
        conn.rows(ALL, &[], |row| row.int(0), &mut all).await.unwrap();
        assert_eq!(all, [1, 2]);
        // A row that is not as it should be, and the rows behind it, leave the connection in order.
        let found = conn.rows(ALL, &[], |row| row.text(7).map(drop), &mut Vec::new()).await;
        assert!(matches!(found, Err(Fault::Defect(_))), "{found:?}");
        assert_eq!(conn.row(PREPARED, &[], |row| row.int(0)).await, Ok(Some(0)));
        conn.commit().await.unwrap();
        conn.begin(TxKind::Read).await.unwrap();
        assert_eq!(x(&mut conn).await, Ok(Some(15)));
        let refused = conn.exec(TAKE, &[Param::Int(1), Param::Int(1)]).await;
        assert_eq!(refused, Err(Fault::Refused(Refusal::UNWRITABLE)));
        conn.rollback().await.unwrap();
    });
}

#[test]
fn what_is_never_composed_is_refused_and_what_was_done_before_it_is_undone() {
    wait(async {
        let mut conn = opened("simple_refused").await;
        for param in [Param::Text("1"), Param::Cents(Cents(100))] {
            conn.begin(TxKind::Write).await.unwrap();
            assert_eq!(conn.exec(TAKE, &[Param::Int(1), Param::Int(1)]).await, Ok(1));
            let fault = conn.exec(TAKE, &[Param::Int(1), param]).await;
            let is_bad = matches!(&fault, Err(Fault::Defect(defect)) if defect.kind == DefectKind::BadCall);
            assert!(is_bad, "{fault:?}");
            // It must not look like a commit to whoever does not heed it.
            assert!(matches!(conn.commit().await, Err(Fault::Defect(_))));
            conn.begin(TxKind::OneRead).await.unwrap();
            assert_eq!(x(&mut conn).await, Ok(Some(10)));
            conn.commit().await.unwrap();
        }
    });
}

#[test]
fn a_question_mark_in_a_literal_is_refused_when_opening() {
    let url = database("simple_literal");
    wait(async {
        let error =
            SimpleOpener::reach(&url, vec!["select 'really?' where ?1 = 1".into()]).await.unwrap_err();
        assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
        assert!(error.to_string().contains("'really?'"), "{error}");
    });
}

#[test]
fn a_stack_says_by_which_protocol() {
    let url = database("simple_stack");
    wait(async {
        batch(&url, TABLE).await;
        let stack = reach(&url).await.stack();
        assert_eq!((stack.adapter.as_str(), stack.style.as_str()), ("tokio-postgres", "simple"));
        let said: Vec<_> = stack.settings.iter().filter(|(name, _)| name == "protocol").collect();
        assert_eq!(said, [&("protocol".to_owned(), "simple, text".to_owned())]);
    });
}

#[test]
fn a_session_ended_by_the_server_is_in_doubt_once_and_unreachable_from_then_on() {
    wait(async {
        let mut conn = opened("simple_terminated").await;
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(conn.exec(END_MYSELF, &[]).await, Err(Fault::InDoubt(Doubt::ConnectionLost)));
        assert!(conn.rollback().await.is_err());
        assert_eq!(conn.begin(TxKind::Write).await, Err(Fault::Refused(Refusal::Unreachable)));
    });
}

#[test]
fn what_was_to_commit_and_got_no_answer_is_in_doubt() {
    let name = "simple_cut";
    let near = database(name);
    wait(async {
        batch(&near, TABLE).await;
        let take = [Param::Int(1), Param::Int(1)];
        let unanswered = Fault::InDoubt(Doubt::CommitUnanswered);
        for tx in [TxKind::Write, TxKind::OneWrite] {
            for let_through in [false, true] {
                let armed = Arc::new(AtomicBool::new(false));
                let port = cut_at_commit(server().tcp_url(name).port, let_through, armed.clone()).await;
                let url = ServerUrl { port, ..server().tcp_url(name) };
                let mut conn = reach(&url).await.open().await.unwrap();
                conn.begin(tx).await.unwrap();
                if tx == TxKind::Write {
                    assert_eq!(conn.exec(TAKE, &take).await, Ok(1));
                    armed.store(true, Ordering::Relaxed);
                    assert_eq!(conn.commit().await, Err(unanswered.clone()));
                } else {
                    armed.store(true, Ordering::Relaxed);
                    assert_eq!(conn.exec(TAKE, &take).await, Err(unanswered.clone()));
                }
            }
        }
        // Of each pair one had reached the server, which may still be at it.
        let mut witness = reach(&near).await.open().await.unwrap();
        for _ in 0..600 {
            if x(&mut witness).await == Ok(Some(8)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(x(&mut witness).await, Ok(Some(8)));
    });
}
