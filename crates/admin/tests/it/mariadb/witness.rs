//! The witness stops when told to, changes nothing, and sees one state.

use super::Database;
use crate::support;
use admin::{AuditGroup, AuditQuery, store};
use measure::Monotonic;
use model::{Clock, Nanos};
use sql::Value;
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

#[test]
fn an_endless_query_ends_at_the_server_too() {
    let database = Database::tiny();
    let witness = store(&database.url);
    let endless =
        "select count(*) from stock a, stock b, stock c, stock d, stock e where a.s_data > b.s_data";
    let groups = [group(&[], &[("quick", "select ?1"), ("endless", endless), ("after", "select 1")])];
    for (deadline, stop) in [(Nanos::from_millis(300), false), (Nanos::from_secs(3_600), true)] {
        let found = witness.audit_all(&groups, 1, deadline, &AtomicBool::new(stop)).unwrap();
        let rows: Vec<_> = found.rows.iter().map(|found| found.rows.clone()).collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[1].clone().unwrap_err().contains("not finished"), "{rows:?}");
        assert!(rows[2].clone().unwrap_err().contains("not finished"), "{rows:?}");
        let asked = "select count(*) from information_schema.processlist where info like '%stock a%' and db = database() and id <> connection_id()";
        // The server answers before it has taken the statement off its list.
        let clock = Monotonic::start();
        while witness.rows(asked, &[]).unwrap() != [[Value::Int(0)]] {
            assert!(clock.now() < Nanos::from_secs(300), "it runs on at the server");
        }
    }
}

#[test]
fn a_query_that_cannot_run_takes_only_itself_or_its_group_along() {
    let database = Database::tiny();
    let witness = store(&database.url);
    let groups = [
        group(
            &[],
            &[("bad", "select * from no_such"), ("good", "select count(*), 0.05, 7.00 from warehouse")],
        ),
        group(&["create temporary table t as select * from no_such"], &[("lost", "select 1")]),
        group(
            &["create temporary table t (x int)", "insert into t values (?1)"],
            &[("kept", "select x, null from t"), ("cut", "select s_i_id from stock order by 1")],
        ),
    ];
    let found = witness.audit_all(&groups, 2, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    let rows = |index: usize| found.rows[index].rows.clone();
    assert!(rows(0).unwrap_err().contains("doesn't exist"));
    assert_eq!(rows(1).unwrap(), [[Value::Int(2), Value::Real(0.05), Value::Int(7)]]);
    assert!(rows(2).unwrap_err().contains("doesn't exist"));
    assert_eq!(rows(3).unwrap(), [[Value::Int(7), Value::Null]]);
    assert_eq!(rows(4).unwrap().len(), 6);
}

#[test]
fn a_witness_changes_nothing() {
    let database = Database::tiny();
    let witness = store(&database.url);
    assert!(witness.rows("delete from item", &[]).is_err());
    let asked = [group(&[], &[("one", "delete from item")])];
    let found = witness.audit_all(&asked, 1, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    assert!(found.rows[0].rows.is_err());
    assert_eq!(witness.rows("select count(*) from item", &[]).unwrap(), [[Value::Int(100)]]);
}

#[test]
fn the_lock_of_a_run_is_free_at_once() {
    let database = Database::new();
    store(&database.url).create().unwrap();
    support::a_lock_that_was_given_back_is_free_at_once(&database.url);
}
