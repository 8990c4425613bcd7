//! pgbench's branches over several SQLite files.

use admin::{LoadPlan, LoadRecord, store};
use model::{CallWork, Inputs as _, Session, StatementTimes, Target};
use rusqlite::Connection;
use sql::{DbUrl, Dialect, SqliteUrl};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use targets::{Driven, Driver, How, Style, TrialTarget, target_over, wait_for};
use tempfile::TempDir;
use workload::{Benchmark, split};
use workload_tpcb::{Call, Cardinality, Claims, Inputs, Ledger, StoredTally, Tpcb};

pub(crate) const HOW_RUSQLITE: How =
    How { dialect: Dialect::Sqlite, driver: Driver::Rusqlite, style: Style::Plain };
pub(crate) const HOW_SQLX: How = How { driver: Driver::Sqlx, ..HOW_RUSQLITE };
const CALLS: u32 = 500;

/// Loads what a store is to hold.
pub(crate) fn load<W: Benchmark>(url: DbUrl, part: &W::Extent) {
    let plan = LoadPlan {
        dataset: W::dataset(part, 1),
        schema: W::schema(Dialect::Sqlite).unwrap(),
        references: false,
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: "0".into(),
            workload: W::NAME.into(),
            scale: u64::from(W::scale(part)),
            size: String::new(),
            seed: 1,
        },
        threads: 1,
        fresh: false,
        reload: String::new(),
    };
    store(url).load(plan, &mut |_| {}, &AtomicBool::new(false)).unwrap();
}

/// A loaded bank of three branches, or as many as stores.
pub(crate) struct Bank {
    folder: TempDir,
    size: Cardinality,
}

impl Bank {
    pub(crate) fn new(shards: u32) -> Bank {
        let bank = Bank { folder: tempfile::tempdir().unwrap(), size: Tpcb::tiny_over(shards) };
        for (part, url) in Tpcb::parts(&bank.size).iter().zip(bank.urls()) {
            load::<Tpcb>(url, part);
        }
        bank
    }

    fn file(&self, shard: u32) -> PathBuf {
        self.folder.path().join(format!("shard-{shard}.db"))
    }

    fn urls(&self) -> Vec<DbUrl> {
        // What a crash would leave is none of these tests' concern.
        let url =
            |shard| SqliteUrl { synchronous: sql::Synchronous::Off, ..SqliteUrl::file(self.file(shard)) };
        (0..self.size.shards).map(|shard| url(shard).into()).collect()
    }

    pub(crate) fn target(&self, how: How) -> TrialTarget<Tpcb> {
        target_over(how, &self.urls(), &self.size).unwrap()
    }

    pub(crate) fn inputs(&self) -> Inputs {
        Inputs::new(self.size, 7, 0)
    }

    fn stored(&self) -> Vec<StoredTally> {
        let query = Tpcb::evidence_query(Dialect::Sqlite).unwrap();
        let of = |url: DbUrl| Tpcb::evidence(&store(url).rows(&query, &[]).unwrap()).unwrap();
        Tpcb::join(self.urls().into_iter().map(of).collect())
    }

    fn numbers(&self, shard: u32, query: &str) -> Vec<u32> {
        let connection = Connection::open(self.file(shard)).unwrap();
        let mut statement = connection.prepare(query).unwrap();
        let found = statement.query_map([], |row| row.get(0)).unwrap();
        found.map(Result::unwrap).collect()
    }
}

#[test]
fn each_store_holds_its_branches_and_the_calls_on_them() {
    for how in [HOW_RUSQLITE, HOW_SQLX] {
        let bank = Bank::new(2);
        let before = bank.stored();
        let (mut inputs, mut ledger) = (bank.inputs(), Ledger::new(bank.size));
        let target = bank.target(how);
        wait_for(async {
            let mut session = target.open(0).await.unwrap();
            for _ in 0..CALLS {
                let (call, mut work) = (inputs.draw(), CallWork { clocked: true, ..CallWork::default() });
                let result = session.run(&call, &mut work).await;
                model::Ledger::post(&mut ledger, &call, &result);
                assert_eq!((work.attempts, work.statements, work.commits), (1, 5, 1));
                let clocked = session.statement_times().map(|times| StatementTimes::executed(times).count());
                assert_eq!(clocked, Some(5));
            }
        })
        .unwrap();
        for (shard, part) in (0..).zip(bank.size.parts()) {
            let branches: Vec<u32> = part.ids(1).collect();
            let tables = ["pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"];
            for table in tables {
                let query = format!("select distinct bid from {table} order by bid");
                assert_eq!(bank.numbers(shard, &query), branches, "{table} of shard-{shard}");
            }
        }
        let rows = |shard| bank.numbers(shard, "select count(*) from pgbench_history")[0];
        assert_eq!(rows(0) + rows(1), CALLS);
        let found = Tpcb::ledger_checks(&before, &bank.stored(), &Claims::of(&ledger, true));
        assert!(
            found.len() == 15 && found.iter().all(|found| found.check == result::Check::Passed),
            "{found:?}"
        );
    }
}

#[test]
fn calls_over_two_stores_are_rejected_and_leave_nothing() {
    let bank = Bank::new(2);
    let target = bank.target(HOW_RUSQLITE);
    wait_for(async {
        let mut session = target.open(0).await.unwrap();
        // Account 1 and teller 1 are of the first branch, which is alone in the first store.
        for (aid, tid, bid) in [(1, 1, 2), (1, 11, 1), (51, 1, 2), (1, 1, 0), (1, 1, 9)] {
            let fault =
                session.run(&Call { aid, tid, bid, delta: 5 }, &mut CallWork::default()).await.unwrap_err();
            assert!(fault.to_string().contains("there is no"), "{fault}");
        }
    })
    .unwrap();
    assert!(Tpcb::is_fresh(&bank.stored(), &bank.size));
    // So says the oracle, by the script and by random calls.
    let conformed = Tpcb::conform(&target, &bank.size, 3, 500).unwrap();
    let done = conformed.unwrap();
    assert_eq!((done.golden, done.random), (0, 500));
}

#[test]
fn the_stack_is_that_of_one_store_and_says_how_many_there_are() {
    let of = |shards| {
        let stack = Bank::new(shards).target(HOW_RUSQLITE).stack();
        let stores = stack.settings.iter().find(|(name, _)| name == "stores").map(|(_, value)| value.clone());
        (stack.adapter, stores)
    };
    assert_eq!(of(1), ("rusqlite".to_owned(), None));
    assert_eq!(of(2), ("rusqlite".to_owned(), Some("2".to_owned())));
    assert_eq!(of(3).1.as_deref(), Some("3"));
}

#[test]
fn what_cannot_be_opened_is_named() {
    let bank = Bank::new(2);
    let refused = |urls: &[DbUrl]| {
        let opened = target_over::<Tpcb>(HOW_RUSQLITE, urls, &bank.size);
        format!("{:#}", opened.map(drop).unwrap_err())
    };
    assert_eq!(refused(&bank.urls()[..1]), "data over 2 stores, and addresses of 1");
    let target = bank.target(HOW_RUSQLITE);
    std::fs::remove_file(bank.file(1)).unwrap();
    let error = wait_for(target.open(0)).unwrap().map(drop).unwrap_err().to_string();
    assert!(error.contains("shard-1, ") && error.contains("shard-1.db"), "{error}");
    assert!(refused(&bank.urls()).starts_with("shard-1: "), "{}", refused(&bank.urls()));
}

#[test]
fn a_workload_that_stays_in_one_store_is_not_split() {
    use workload_tpcc::Tpcc;
    let size = Tpcc::tiny();
    assert_eq!(Tpcc::parts(&split::<Tpcc>(size, 1).unwrap()), [size]);
    let error = split::<Tpcc>(size, 2).unwrap_err().to_string();
    assert_eq!(error, "tpcc cannot be split over several stores");
}
