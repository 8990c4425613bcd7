//! The adapter on SQLite.

use crate::support::{self, COUNTERS, add, counter, counter_statements, wait};
use adapter_sqlx::{SqlxSqlite, SqlxSqliteConn};
use model::{Conflict, Fault, OpenError, Tier};
use sql::{Dialect, SqlConn as _, SqlOpener as _, SqliteUrl, StmtId, TxKind};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A file with a table of two counters.
fn counters(options: &str) -> (TempDir, SqliteUrl) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(COUNTERS).unwrap();
    let url = format!("sqlite:{}{options}", path.display()).parse().unwrap();
    (folder, url)
}

async fn reach(url: &SqliteUrl) -> SqlxSqlite {
    SqlxSqlite::reach(url, counter_statements()).await.unwrap()
}

async fn open(url: &SqliteUrl) -> SqlxSqliteConn {
    reach(url).await.open().await.unwrap()
}

#[test]
fn tpcc_answers_what_the_vectors_and_the_oracle_say() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("tpcc.db"));
    admin::store(&url).load(support::tpcc(Dialect::Sqlite), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let statements = workload_tpcc::catalogue(Dialect::Sqlite).unwrap();
    wait(async { support::tpcc_conforms(SqlxSqlite::reach(&url, statements).await.unwrap()).await });
}

#[test]
fn tpcb_answers_what_the_vectors_and_the_oracle_say() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl::file(folder.path().join("tpcb.db"));
    admin::store(&url).load(support::tpcb(Dialect::Sqlite), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let statements = workload_tpcb::catalogue(Dialect::Sqlite).unwrap();
    wait(async { support::tpcb_conforms(SqlxSqlite::reach(&url, statements).await.unwrap()).await });
}

#[test]
fn a_transaction_that_was_given_up_is_undone_by_the_next_one() {
    let (_folder, url) = counters("");
    wait(async { support::what_was_given_up_is_undone(&reach(&url).await).await });
}

#[test]
fn a_second_writer_is_a_conflict_after_the_busy_timeout_and_readers_go_on() {
    let (_folder, url) = counters("?busy_ms=20");
    wait(async {
        let (mut one, mut two) = (open(&url).await, open(&url).await);
        one.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut one, 1, 5).await, Ok(1));
        assert_eq!(two.begin(TxKind::Write).await, Err(Fault::Conflict(Conflict::Busy)));
        two.begin(TxKind::Read).await.unwrap();
        assert_eq!(counter(&mut two, 1).await, Ok(Some(0)));
        one.commit().await.unwrap();
        assert_eq!(counter(&mut two, 1).await, Ok(Some(0)), "still on its snapshot");
        assert_eq!(add(&mut two, 1, 1).await, Err(Fault::Conflict(Conflict::Serialization)));
        two.rollback().await.unwrap();
        two.begin(TxKind::Write).await.unwrap();
        assert_eq!(counter(&mut two, 1).await, Ok(Some(5)));
        two.commit().await.unwrap();
    });
}

#[test]
fn a_commit_that_readers_block_is_a_conflict_and_leaves_nothing() {
    let (_folder, url) = counters("?journal=truncate&busy_ms=20");
    wait(async {
        let (mut reader, mut writer) = (open(&url).await, open(&url).await);
        reader.begin(TxKind::Read).await.unwrap();
        assert_eq!(counter(&mut reader, 1).await, Ok(Some(0)));
        writer.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut writer, 1, 5).await, Ok(1));
        assert_eq!(writer.commit().await, Err(Fault::Conflict(Conflict::Busy)));
        reader.rollback().await.unwrap();
        writer.begin(TxKind::Write).await.unwrap();
        assert_eq!(counter(&mut writer, 1).await, Ok(Some(0)));
        writer.commit().await.unwrap();
    });
}

#[test]
fn a_session_that_is_dropped_in_mid_transaction_leaves_nothing_and_gives_the_lock_back() {
    let (_folder, url) = counters("");
    wait(async {
        let mut conn = open(&url).await;
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(&mut conn, 1, 5).await, Ok(1));
        drop(conn);
        let mut next = open(&url).await;
        // Within the busy timeout: the thread of the one that was dropped ends by itself.
        next.begin(TxKind::Write).await.unwrap();
        assert_eq!(counter(&mut next, 1).await, Ok(Some(0)));
        next.rollback().await.unwrap();
    });
}

#[test]
fn values_are_of_the_type_that_is_asked_for() {
    let (_folder, url) = counters("");
    wait(async {
        let statements = vec!["select 7, null, 'ok', 1.5".to_owned()];
        let mut conn = SqlxSqlite::reach(&url, statements).await.unwrap().open().await.unwrap();
        let row = conn.row(StmtId(0), &[], |row| {
            assert!(row.int_or_null(1)?.is_none() && row.int(1).is_err() && row.text(1).is_err());
            assert!(
                row.int(2).is_err() && row.int(3).is_err() && row.text(0).is_err() && row.int(4).is_err()
            );
            assert_eq!(row.text(2)?, "ok");
            Ok((row.int(0)?, row.scaled(0, 2)?))
        });
        assert_eq!(row.await, Ok(Some((7, 7))));
    });
}

#[test]
fn settings_take_and_are_read_back() {
    for (options, tier, setting) in [
        ("", Tier::Durable, ("journal_mode", "wal")),
        ("?journal=delete&synchronous=extra", Tier::Durable, ("synchronous", "extra")),
        ("?synchronous=normal&cache=2MiB", Tier::Delayed, ("cache_bytes", "2097152")),
        ("?mmap=1MiB&checkpoint=77", Tier::Durable, ("mmap_bytes", "1048576")),
        ("?checkpoint=77", Tier::Durable, ("wal_autocheckpoint_pages", "77")),
        ("?journal=off&synchronous=off", Tier::Volatile, ("journal_mode", "off")),
    ] {
        let (_folder, url) = counters(options);
        let stack = wait(reach(&url)).stack();
        assert_eq!(stack.durability.tier, tier, "{options}");
        assert_eq!((stack.engine.as_str(), stack.adapter.as_str()), ("sqlite", "sqlx"));
        let found = stack.settings.iter().find(|(name, _)| name == setting.0);
        assert_eq!(found.map(|(_, value)| value.as_str()), Some(setting.1), "{options}");
        // Compiled once for rusqlite and for sqlx, as the repository says.
        let compiled = stack.settings.iter().find(|(name, _)| name == "compile_options").unwrap();
        assert!(compiled.1.contains("DEFAULT_LOOKASIDE=1200,256"), "{compiled:?}");
    }
}

#[test]
fn what_is_no_database_is_said_and_what_is_locked_may_be_reached_later() {
    let (folder, url) = counters("?journal=truncate&busy_ms=0");
    let refused = |url: &SqliteUrl| wait(SqlxSqlite::reach(url, Vec::new())).unwrap_err();
    let missing = SqliteUrl::file(folder.path().join("b.db"));
    assert!(matches!(refused(&missing), OpenError::Unreachable { .. }));
    std::fs::write(&missing.path, "this is a text of more than a few bytes, and no database at all").unwrap();
    let error = refused(&missing);
    assert!(matches!(&error, OpenError::Unusable { why, .. } if why.contains("not a database")), "{error}");
    let other = rusqlite::Connection::open(&url.path).unwrap();
    other.execute_batch("begin exclusive").unwrap();
    let error = refused(&url);
    assert!(matches!(error, OpenError::Unreachable { .. }), "{error}");
    other.execute_batch("commit").unwrap();
    let statements = vec!["select lacking from counter".to_owned()];
    let error = wait(SqlxSqlite::reach(&url, statements)).unwrap_err().to_string();
    assert!(error.contains("`select lacking from counter`: no such column: lacking"), "{error}");
}

#[test]
fn slow_storage_is_felt_and_said() {
    let (_folder, url) = counters("?journal=truncate&sync_delay=20ms&shared_memory=off");
    let target = wait(reach(&url));
    let stack = target.stack();
    assert!(
        stack.settings.contains(&("storage".into(), "sync +20 ms, no shared memory".into())),
        "{stack:?}"
    );
    assert!(stack.durability.detail.contains("simulated"), "{stack:?}");
    let mut conn = wait(target.open()).unwrap();
    let clock = measure::Monotonic::start();
    wait(async {
        conn.begin(TxKind::Write).await.unwrap();
        conn.exec(StmtId(0), &[sql::Param::Int(1), sql::Param::Int(1)]).await.unwrap();
        conn.commit().await.unwrap();
    });
    assert!(model::Clock::now(&clock) >= model::Nanos::from_millis(3 * 20), "the flushes were not delayed");
}
