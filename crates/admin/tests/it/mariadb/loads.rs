//! A load is whole or it is not there; what is not ours stays as it is.

use super::{Database, load_quietly, on_connection, plan};
use crate::support;
use admin::mariadb::{Way, store_by};
use admin::{Error, Found, LoadPlan, Loaded, store};
use model::rows::{Dataset, RowSink, Table};
use mysql_async::prelude::Queryable;
use rig::Engine;
use sql::ServerUrl;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn the_same_rows_have_the_same_checksum_as_in_sqlite_by_either_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = sql::SqliteUrl::file(folder.path().join("tiny.db"));
    let expected =
        support::load_quietly(&file, support::plan(workload_tpcc::Cardinality::tiny(), support::SEED))
            .unwrap();
    let database = Database::new();
    for (way, references) in [(Way::LoadData, false), (Way::Inserts, true)] {
        let plan = LoadPlan { fresh: true, references, ..plan(support::SEED) };
        let loaded =
            store_by(database.url.clone(), way).load(plan, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert_eq!(loaded.contents().tables, expected.contents().tables, "{way:?}");
    }
}

#[test]
fn decimals_and_dates_are_stored_as_what_they_are() {
    let database = Database::tiny();
    let asked = "select min(c_balance), min(c_since), max(c_credit_lim) from customer";
    let row: Option<(String, String, String)> =
        on_connection(&database.url, async |conn| conn.query_first(asked).await.unwrap());
    assert_eq!(row.unwrap(), ("-10.00".into(), "2024-01-01 00:00:00".into(), "50000.00".into()));
    let found = store(&database.url).columns().unwrap();
    let ytd = found.iter().find(|column| column.table == "district" && column.column == "d_ytd").unwrap();
    assert_eq!(ytd.kind, "decimal(12,2)");
}

#[test]
fn a_second_load_finds_the_first_and_another_is_named() {
    let database = Database::new();
    assert_eq!(store(&database.url).inspect().unwrap(), Found::Absent);
    load_quietly(&database.url, plan(support::SEED)).unwrap();
    let Loaded::AlreadyThere(contents) = load_quietly(&database.url, plan(support::SEED)).unwrap() else {
        panic!("loaded again")
    };
    assert_eq!(store(&database.url).inspect().unwrap(), Found::Complete(contents));
    let other = plan(support::SEED + 1);
    let text = load_quietly(&database.url, other.clone()).unwrap_err().to_string();
    assert!(text.contains("seed 11; requested tpcc at scale 2, seed 12"), "{text}");
    let loaded = load_quietly(&database.url, LoadPlan { fresh: true, ..other.clone() }).unwrap();
    assert_eq!(loaded.contents().record, other.record);
    store(&database.url).clear().unwrap();
    assert_eq!(store(&database.url).inspect().unwrap(), Found::Absent);
}

#[test]
fn what_is_not_ours_is_named_and_never_touched() {
    let database = Database::new();
    store(&database.url).create().unwrap();
    database.execute("create table warehouse (w_id int); insert into warehouse values (7)");
    let fresh = LoadPlan { fresh: true, ..plan(support::SEED) };
    let error = load_quietly(&database.url, fresh.clone()).unwrap_err();
    assert!(
        matches!(&error, Error::Foreign { what, .. } if what.contains("the tables warehouse")),
        "{error}"
    );
    assert!(matches!(store(&database.url).clear(), Err(Error::Foreign { .. })));
    let template = Database::tiny();
    assert!(matches!(store(&template.url).copy_to(&database.url, false), Err(Error::Foreign { .. })));
    let count =
        on_connection(&database.url, async |conn| conn.query_first("select w_id from warehouse").await);
    assert_eq!(count.unwrap(), Some(7));
    // A table next to ours survives the replacement of ours.
    template.execute("create table notes (text int)");
    load_quietly(&template.url, fresh).unwrap();
    template.execute("insert into notes values (1)");
    store(&database.url).remove().unwrap();
    assert_eq!(store(&database.url).inspect().unwrap(), Found::Absent);
}

/// Gives up after the first chunks.
struct Endless {
    tables: Vec<Table>,
    stop: Arc<AtomicBool>,
}

impl Dataset for Endless {
    fn tables(&self) -> &[Table] {
        &self.tables
    }
    fn fill(&self, _: usize, chunk: u32, sink: &mut dyn RowSink) {
        if chunk == 3 {
            self.stop.store(true, Ordering::Relaxed);
        }
        for row in 0..1_000 {
            sink.int(i64::from(chunk) * 1_000 + row);
            sink.int(row);
            sink.end();
        }
    }
}

fn endless(stop: &Arc<AtomicBool>) -> LoadPlan {
    let schema =
        "-- name: table_t\ncreate table t (a int not null primary key, b decimal(9,2)) engine = InnoDB\n";
    LoadPlan {
        dataset: Arc::new(Endless {
            tables: vec![Table {
                name: "t",
                columns: &["a", "b"],
                chunks: 1_000_000,
                rows: 1_000_000_000,
                spread_by: None,
            }],
            stop: Arc::clone(stop),
        }),
        schema: sql::Catalogue::parse(schema).unwrap(),
        ..plan(support::SEED)
    }
}

#[test]
fn a_load_that_is_stopped_is_recognised_and_only_replaced_when_asked() {
    let database = Database::new();
    for way in [Way::LoadData, Way::Inserts] {
        let stop = Arc::new(AtomicBool::new(false));
        let mut share = 0.0;
        let mut progress = |now: admin::LoadProgress| {
            assert!(now.share >= share, "progress went back");
            share = now.share;
            // The loader may not have its lock yet, or have let go of it between the two looks.
            if let Ok(Found::Incomplete { running: true, .. }) = store(&database.url).inspect() {
                let second = load_quietly(&database.url, plan(support::SEED));
                assert!(matches!(second, Err(Error::Running(_) | Error::Interrupted { .. })), "{second:?}");
            }
        };
        let fresh = LoadPlan { fresh: true, ..endless(&stop) };
        let error = store_by(database.url.clone(), way).load(fresh, &mut progress, &stop).unwrap_err();
        assert!(matches!(error, Error::Stopped { .. }), "{way:?}: {error:?}");
        let found = store(&database.url).inspect().unwrap();
        assert!(matches!(&found, Found::Incomplete { running: false, .. }), "{found:?}");
    }
    let refused = load_quietly(&database.url, plan(support::SEED)).unwrap_err();
    assert!(matches!(refused, Error::Interrupted { .. }), "{refused}");
    load_quietly(&database.url, LoadPlan { fresh: true, ..plan(support::SEED) }).unwrap();
    assert!(!store(&database.url).columns().unwrap().iter().any(|column| column.table == "t"));
}

#[test]
fn a_copy_is_the_template_and_comes_back_after_changes() {
    let (template, copy) = (Database::tiny(), Database::new());
    let sum = |url: &ServerUrl| {
        let asked = "checksum table warehouse, district, customer, history, new_order, orders, order_line, item, stock";
        let sums: Vec<(String, i64)> = on_connection(url, async |conn| conn.query(asked).await.unwrap());
        sums.into_iter().map(|(_, sum)| sum).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        store(&template.url).copy_to(&copy.url, false).unwrap();
        assert_eq!(store(&copy.url).inspect().unwrap(), store(&template.url).inspect().unwrap());
        assert_eq!(sum(&copy.url), sum(&template.url));
        assert_eq!(store(&copy.url).columns().unwrap(), store(&template.url).columns().unwrap());
        copy.execute("delete from customer; drop table item");
    }
    let empty = Database::new();
    store(&empty.url).create().unwrap();
    assert!(matches!(store(&empty.url).copy_to(&copy.url, false), Err(Error::Missing(_))));
}

#[test]
fn a_server_that_forbids_load_data_gets_inserts() {
    // A server of its own: what is forbidden here is forbidden to everybody on it.
    let mut options = rig::Options::small(Engine::MariaDb);
    options.settings.push(("local_infile".into(), "0".into()));
    let server = rig::start(Engine::MariaDb, &options).expect("MariaDB is installed");
    let url = server.url("tiny");
    store(&url).create().unwrap();
    load_quietly(&url, plan(support::SEED)).unwrap();
    assert!(matches!(store(&url).inspect().unwrap(), Found::Complete(_)));
}

#[test]
fn packets_are_as_small_as_the_server_wants_them() {
    let mut options = rig::Options::small(Engine::MariaDb);
    options.settings.push(("max_allowed_packet".into(), "16384".into()));
    let server = rig::start(Engine::MariaDb, &options).expect("MariaDB is installed");
    for (name, way) in [("loaded", Way::LoadData), ("inserted", Way::Inserts)] {
        let url = server.url(name);
        store(&url).create().unwrap();
        let store = store_by(url, way);
        store.load(plan(support::SEED), &mut |_| {}, &AtomicBool::new(false)).unwrap();
        assert!(matches!(store.inspect().unwrap(), Found::Complete(_)), "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_server_is_said_without_the_password() {
    let database = Database::new();
    let url = ServerUrl { password: Some(sql::Secret::new("geheim")), ..database.server.tcp_url("x") };
    let error = load_quietly(&url, plan(support::SEED)).unwrap_err();
    let text = format!("{error} {:?}", std::error::Error::source(&error).unwrap().to_string());
    assert!(text.contains("Access denied") && !text.contains("geheim"), "{text}");
    let nobody = ServerUrl { port: 1, socket: None, ..database.url.clone() };
    assert!(store(&nobody).inspect().is_err());
}
