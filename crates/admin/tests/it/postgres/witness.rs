//! The witness stops when told to, sees one state, and changes nothing.

use super::support::{empty, execute, nowhere, tiny};
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

const ENDLESS: &str = "select count(*) from generate_series(1, 1000000000000)";

#[test]
fn an_endless_query_ends_on_the_server_at_the_deadline_or_when_the_user_gives_up() {
    let url = tiny("endless");
    let witness = store(&url);
    let groups = [group(&[], &[("quick", "select ?1"), ("endless", ENDLESS), ("after", "select 1")])];
    for (deadline, stop) in [(Nanos::from_millis(200), false), (Nanos::from_secs(3_600), true)] {
        let found = witness.audit_all(&groups, 1, deadline, &AtomicBool::new(stop)).unwrap();
        let rows: Vec<_> = found.rows.iter().map(|found| found.rows.clone()).collect();
        assert!(rows[1].clone().unwrap_err().contains("not finished"), "{rows:?}");
        assert!(rows[2].clone().unwrap_err().contains("not finished"), "{rows:?}");
    }
    let running = format!(
        "select count(*) from pg_stat_activity where datname = '{}' and query like '%generate_series%' \
         and state = 'active'",
        url.database
    );
    // The server answers before it has noted that the session is idle.
    let clock = Monotonic::start();
    while execute(&nowhere("postgres"), &running).trim() != "0" {
        assert!(clock.now() < Nanos::from_secs(300), "it runs on at the server");
    }
}

#[test]
fn a_query_that_cannot_run_takes_only_itself_or_its_group_along() {
    let witness = store(tiny("cannot"));
    let groups = [
        group(&[], &[("bad", "select * from no_such"), ("good", "select count(*) from warehouse")]),
        group(&["create temporary table t as select * from no_such"], &[("lost", "select 1")]),
        group(
            &["create temporary table t (x int8)", "insert into t values (?1)"],
            &[("kept", "select x, null::int, 1.50, 2.00, 'a'::char(3), true from t")],
        ),
        group(&["create temporary table t as select ?1 as x"], &[("made", "select x from t")]),
    ];
    let found = witness.audit_all(&groups, 2, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    let rows = |index: usize| found.rows[index].rows.clone();
    assert_eq!(rows(0).unwrap_err(), "relation \"no_such\" does not exist");
    assert_eq!(rows(1).unwrap(), [[Value::Int(2)]]);
    assert_eq!(rows(2).unwrap_err(), "relation \"no_such\" does not exist");
    let kept =
        [Value::Int(7), Value::Null, Value::Real(1.5), Value::Int(2), Value::Text("a".into()), Value::Int(1)];
    assert_eq!(rows(3).unwrap(), [kept]);
    assert_eq!(rows(4).unwrap(), [[Value::Int(7)]]);
}

#[test]
fn all_groups_see_one_state_while_others_write() {
    let url = tiny("moving");
    let witness = store(&url);
    let writing = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while writing.load(std::sync::atomic::Ordering::Relaxed) {
                execute(&url, "update warehouse set w_ytd = w_ytd + 1");
            }
        });
        let ask = "select sum(w_ytd), pg_sleep(0.2)::text from warehouse";
        let groups =
            [group(&[], &[("one", ask)]), group(&[], &[("two", ask)]), group(&[], &[("three", ask)])];
        let found = witness.audit_all(&groups, 3, Nanos::from_secs(600), &AtomicBool::new(false));
        // Before anything can fail: the scope waits for who writes.
        writing.store(false, std::sync::atomic::Ordering::Relaxed);
        let found = found.unwrap();
        let first = found.rows[0].rows.clone().unwrap();
        assert!(found.rows.iter().all(|rows| rows.rows.clone().unwrap() == first), "{found:?}");
    });
}

#[test]
fn a_witness_changes_nothing() {
    let witness = store(tiny("unchanged"));
    assert!(witness.rows("delete from item", &[]).is_err());
    let asked = [group(&["create temporary table t (x int)"], &[("one", "delete from item returning 1")])];
    let found = witness.audit_all(&asked, 1, Nanos::from_secs(600), &AtomicBool::new(false)).unwrap();
    assert!(found.rows[0].rows.clone().unwrap_err().contains("read-only"), "{found:?}");
    assert_eq!(
        witness.rows("select count(*) from item where i_id <= ?1", &[50]).unwrap(),
        [[Value::Int(50)]]
    );
}

#[test]
fn the_lock_of_a_run_is_free_at_once() {
    support::a_lock_that_was_given_back_is_free_at_once(&empty("locked"));
}
