//! The witness stops when told to, and refuses what does not hold still.

use crate::support::tiny;
use admin::{AuditGroup, AuditQuery, Error, store};
use model::Nanos;
use rusqlite::Connection;
use sql::{SqliteUrl, Value};
use std::sync::atomic::AtomicBool;

fn group(prepare: &[&str], queries: &[(&str, &str)]) -> AuditGroup {
    AuditGroup {
        prepare: prepare.iter().map(|text| (*text).to_owned()).collect(),
        queries: queries
            .iter()
            .map(|(name, sql)| AuditQuery { name: (*name).into(), sql: (*sql).into(), rows_max: 6 })
            .collect(),
        params: vec![7],
    }
}

const ENDLESS: &str =
    "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n where x < 0";

#[test]
fn an_endless_query_ends_at_the_deadline_or_when_the_user_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let witness = store(tiny(folder.path()));
    let groups = [group(&[], &[("quick", "select ?1"), ("endless", ENDLESS), ("after", "select 1")])];
    for (deadline, stop) in [(Nanos::from_millis(50), false), (Nanos::from_secs(3_600), true)] {
        let found = witness.audit_all(&groups, 1, deadline, &AtomicBool::new(stop)).unwrap();
        let rows: Vec<_> = found.rows.iter().map(|found| found.rows.clone()).collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[1].clone().unwrap_err().contains("not finished"), "{rows:?}");
        assert!(rows[2].clone().unwrap_err().contains("not finished"), "{rows:?}");
    }
}

#[test]
fn a_query_that_cannot_run_takes_only_itself_or_its_group_along() {
    let folder = tempfile::tempdir().unwrap();
    let witness = store(tiny(folder.path()));
    let groups = [
        group(&[], &[("bad", "select * from no_such"), ("good", "select count(*) from warehouse")]),
        group(&["create temporary table t as select * from no_such"], &[("lost", "select 1")]),
        group(
            &["create temporary table t (x)", "insert into t values (?1)"],
            &[("kept", "select x, null from t")],
        ),
    ];
    let found = witness.audit_all(&groups, 8, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    let rows = |index: usize| found.rows[index].rows.clone();
    assert_eq!(rows(0).unwrap_err(), "no such table: no_such");
    assert_eq!(rows(1).unwrap(), [[Value::Int(2)]]);
    assert_eq!(rows(2).unwrap_err(), "no such table: no_such");
    assert_eq!(rows(3).unwrap(), [[Value::Int(7), Value::Null]]);
}

#[test]
fn a_database_that_is_being_written_to_is_not_audited() {
    let folder = tempfile::tempdir().unwrap();
    let url = SqliteUrl { busy_ms: 0, ..tiny(folder.path()) };
    let writer = Connection::open(&url.path).unwrap();
    writer.execute_batch("begin immediate").unwrap();
    let witness = store(&url);
    let asked = [group(&[], &[("one", "select 1")])];
    let audit = || witness.audit_all(&asked, 1, Nanos::from_secs(600), &AtomicBool::new(false));
    assert!(matches!(audit(), Err(Error::InUse { .. })));
    writer.execute_batch("rollback").unwrap();
    audit().unwrap();
}

#[test]
fn a_witness_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let witness = store(tiny(folder.path()));
    assert!(witness.rows("delete from item", &[]).is_err());
    let asked = [group(&[], &[("one", "delete from item")])];
    let found = witness.audit_all(&asked, 1, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    assert!(found.rows[0].rows.is_err());
    assert_eq!(witness.rows("select count(*) from item", &[]).unwrap(), [[Value::Int(100)]]);
}
