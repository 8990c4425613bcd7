//! A load is whole or it says that it is not; what is not ours stays as it is.

use super::support::{SEED, empty, execute, load_quietly, nowhere, on_sqlite, plan, tiny, tiny_plan};
use admin::{Error, Found, LoadPlan, Loaded, store};
use sql::Catalogue;
use sql::postgres::FILLFACTOR;
use std::sync::atomic::{AtomicBool, Ordering};
use workload_tpcc::Cardinality;

#[test]
fn the_same_rows_have_the_same_checksum_on_every_engine() {
    let url = empty("same");
    let loaded = load_quietly(&url, tiny_plan()).unwrap();
    assert_eq!(loaded.contents().tables, on_sqlite().contents().tables);
    let fresh = LoadPlan { threads: 4, fresh: true, references: true, ..tiny_plan() };
    let again = load_quietly(&url, fresh).unwrap();
    assert!(matches!(again, Loaded::Now { .. }));
    assert_eq!(again.contents().checksum(), loaded.contents().checksum());
    let count = |kind: &str| {
        let text =
            "select count(*) from pg_constraint where connamespace = 'public'::regnamespace and contype";
        execute(&url, &format!("{text} = '{kind}'"))
    };
    assert_eq!((count("p").trim(), count("f").trim()), ("9", "10"));
}

#[test]
fn a_second_load_finds_the_first_and_another_is_named() {
    let url = tiny("second");
    let Loaded::AlreadyThere(contents) = load_quietly(&url, tiny_plan()).unwrap() else {
        panic!("loaded again")
    };
    assert_eq!(store(&url).inspect().unwrap(), Found::Complete(contents));
    let other = plan(Cardinality::tiny(), SEED + 1);
    let text = load_quietly(&url, other.clone()).unwrap_err().to_string();
    for part in ["seed 11", "requested tpcc at scale 2, seed 12", "stackmark load tpcc/postgres --fresh"] {
        assert!(text.contains(part), "{text}");
    }
    let mut changed = tiny_plan();
    changed.schema = with_statement("-- name: index_more\ncreate index more on item (i_price)");
    assert!(load_quietly(&url, changed).unwrap_err().to_string().contains("another schema"));
    let loaded = load_quietly(&url, LoadPlan { fresh: true, ..other.clone() }).unwrap();
    assert_eq!(loaded.contents().record, other.record);
}

/// The schema with one more statement.
fn with_statement(more: &str) -> Catalogue {
    let schema = tiny_plan().schema;
    let text: String = schema.iter().map(|(name, text)| format!("-- name: {name}\n{text}\n")).collect();
    Catalogue::parse(&format!("{text}{more}\n")).unwrap()
}

#[test]
fn what_is_not_ours_is_never_touched() {
    let url = empty("foreign");
    assert_eq!(store(&url).inspect().unwrap(), Found::Absent);
    execute(&url, "create table payroll (id int); insert into payroll values (1)");
    for fresh in [false, true] {
        let error = load_quietly(&url, LoadPlan { fresh, ..tiny_plan() }).unwrap_err();
        assert!(error.to_string().contains("payroll"), "{error}");
    }
    let from = tiny("template_foreign");
    assert!(matches!(store(&from).copy_to(&url, false), Err(Error::Foreign { .. })));
    assert!(matches!(store(&url).clear(), Err(Error::Foreign { .. })));
    assert_eq!(execute(&url, "select count(*) from payroll").trim(), "1");
}

#[test]
fn a_row_that_reads_back_otherwise_fails_the_load_and_is_removed() {
    let url = empty("altered");
    let mut altered = tiny_plan();
    altered.schema = with_statement(
        "-- name: index_x\ncreate function f() returns void language sql as 'update item set i_price = 1 where i_id = 5'\n\
         -- name: index_y\nselect f()",
    );
    altered.threads = 1;
    let error = load_quietly(&url, altered).unwrap_err();
    let known = matches!(&error, Error::Mismatch { table, .. } if table == "item")
        || matches!(&error, Error::Failed { doing: "index", .. });
    assert!(known, "{error:?}");
    assert_eq!(store(&url).inspect().unwrap(), Found::Absent);
}

#[test]
fn a_load_that_fails_since_its_connection_is_gone_is_removed() {
    let url = empty("cut");
    let mut cut = false;
    let mut on_progress = |_: admin::LoadProgress| {
        let lock = "select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' and granted and \
                    database = (select oid from pg_database where datname = current_database())";
        cut = cut || execute(&url, lock).trim() == "1";
    };
    let large = plan(Cardinality::standard(1), SEED);
    let error = store(&url).load(large, &mut on_progress, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, Error::Failed { doing: "flush", .. }), "{error:?}");
    assert_eq!(store(&url).inspect().unwrap(), Found::Absent);
}

#[test]
fn a_stopped_load_is_recognised_and_refused_until_started_again() {
    let url = empty("stopped");
    let stop = AtomicBool::new(false);
    let mut seen = Vec::new();
    let mut on_progress = |at: admin::LoadProgress| {
        seen.push(at);
        stop.store(true, Ordering::Relaxed);
    };
    let error = store(&url).load(plan(Cardinality::standard(1), SEED), &mut on_progress, &stop).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error:?}");
    let running = format!(
        "select count(*) from pg_stat_activity where datname = '{}' and query ilike 'copy%' and state = 'active'",
        url.database
    );
    assert_eq!(execute(&nowhere("postgres"), &running).trim(), "0");
    let Found::Incomplete { running, since, .. } = store(&url).inspect().unwrap() else {
        panic!("not recognised")
    };
    assert!(!running && since > 1_700_000_000);
    let refused = load_quietly(&url, tiny_plan()).unwrap_err();
    assert!(matches!(refused, Error::Interrupted { .. }), "{refused:?}");
    load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() }).unwrap();
}

#[test]
fn a_load_that_is_cut_off_with_its_first_statement_is_ours() {
    let url = empty("started");
    execute(&url, "create table stackmark_load (name text primary key, value text not null)");
    let found = store(&url).inspect().unwrap();
    assert!(matches!(found, Found::Incomplete { running: false, .. }), "{found:?}");
    load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() }).unwrap();
    // One that came to a database with other tables tells nothing of them.
    let url = empty("begun_beside");
    execute(&url, "create table stackmark_load (name text primary key, value text not null)");
    execute(&url, "create table payroll (id int)");
    assert!(matches!(store(&url).inspect(), Ok(Found::Foreign { .. })));
    let fresh = load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() });
    assert!(matches!(fresh, Err(Error::Foreign { .. })), "{fresh:?}");
    let copied = store(tiny("template_beside")).copy_to(&url, false);
    assert!(matches!(copied, Err(Error::Foreign { .. })), "{copied:?}");
    // Someone else's table of that name is not ours.
    let url = empty("named_alike");
    execute(&url, "create table stackmark_load (id int)");
    assert!(matches!(store(&url).inspect(), Ok(Found::Foreign { .. })));
}

#[test]
fn a_load_under_way_is_seen_and_left_alone_and_its_progress_goes_forward() {
    let url = empty("running");
    let mut seen = Vec::new();
    let (mut looked, mut refused) = (None, None);
    let mut on_progress = |at: admin::LoadProgress| {
        seen.push(at);
        looked.get_or_insert_with(|| store(&url).inspect().unwrap());
        let fresh = LoadPlan { fresh: true, ..tiny_plan() };
        refused.get_or_insert_with(|| load_quietly(&url, fresh).unwrap_err());
    };
    store(&url)
        .load(plan(Cardinality::standard(1), SEED), &mut on_progress, &AtomicBool::new(false))
        .unwrap();
    assert!(matches!(looked, Some(Found::Incomplete { running: true, .. })), "{looked:?}");
    assert!(matches!(refused, Some(Error::Running(_))), "{refused:?}");
    assert!(seen.is_sorted_by(|a, b| a.share <= b.share), "{seen:?}");
    assert!(seen.iter().all(|at| at.rows_done <= at.rows_all && (0.0..=1.0).contains(&at.share)), "{seen:?}");
}

#[test]
fn a_restored_database_is_the_one_that_was_copied() {
    let from = tiny("restore from");
    let to = nowhere("restore \"to\"");
    store(&from).copy_to(&to, false).unwrap();
    execute(&from, "select 1");
    load_quietly(&to, LoadPlan { fresh: true, ..plan(Cardinality::tiny(), 3) }).unwrap();
    store(&from).copy_to(&to, false).unwrap();
    assert_eq!(store(&to).inspect().unwrap(), store(&from).inspect().unwrap());
    store(&to).clear().unwrap();
    store(&to).clear().unwrap();
    assert_eq!(store(&to).inspect().unwrap(), Found::Absent);
    store(&to).remove().unwrap();
    store(&to).remove().unwrap();
    let unread = store(&to).inspect().unwrap_err();
    assert!(std::error::Error::source(&unread).unwrap().to_string().contains("there is no database"));
    assert!(matches!(store(&to).clear(), Err(Error::Missing(_))));
    assert!(matches!(store(&to).copy_to(nowhere("remote"), false), Err(Error::Missing(_))));
    assert!(matches!(store(&from).create(), Err(Error::Exists(_))));
}

#[test]
fn tables_have_the_fillfactor_that_the_server_asks_for() {
    let url = empty("fillfactor");
    let setting = || {
        let settings = store(&url).settings().unwrap();
        settings.into_iter().find(|(name, _)| name == FILLFACTOR).map(|(_, value)| value)
    };
    load_quietly(&url, tiny_plan()).unwrap();
    assert_eq!(setting(), None);
    let database = &url.database;
    let ask = |value: &str| execute(&url, &format!("alter database {database} set {FILLFACTOR} = '{value}'"));
    ask("70");
    // Loaded before.
    assert_eq!(setting().as_deref(), Some("default"));
    load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() }).unwrap();
    assert_eq!(setting().as_deref(), Some("70"));
    let tables = "select count(*), count(*) filter (where reloptions = '{fillfactor=70}') from pg_class
                  where relkind = 'r' and relnamespace = 'public'::regnamespace";
    // All but the table of the load's record.
    assert_eq!(execute(&url, tables).trim(), "10|9");
    for wrong in ["7", "seventy"] {
        ask(wrong);
        let error = load_quietly(&url, LoadPlan { fresh: true, ..tiny_plan() }).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains("fillfactor") && source.contains(wrong), "{source}");
    }
}
