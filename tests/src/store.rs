//! TPC-C databases for tests, and their validation: the audits and the ledger, asked as the command line asks.

use crate::fixture_db::{FixtureDb, asked, audited, rows};
use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use admin::{LoadPlan, LoadRecord, store};
use measure::Monotonic;
use model::rows::Dataset;
use model::{RetryPolicy, RetryingTarget};
use rig::Engine;
use rusqlite::Connection;
use sql::{Catalogue, DbUrl, Dialect, ServerUrl, SqliteUrl, Value};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;
use workload::Past;
use workload_tpcc::audit::{self, Audit, AuditOutcome, Family, Finding};
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;
use workload_tpcc::{Cardinality, Claims, Data, SqlTarget, StoredTally, catalogue, schema};

/// Sessions on SQLite with the one retry policy, composed as the server and the direct route compose them.
pub type SqliteTarget = RetryingTarget<SqlTarget<SqliteOpener<Monotonic>, Monotonic>>;

/// The same, with commits that calls share.
pub type GroupedTarget = RetryingTarget<SqlTarget<GroupedOpener<Monotonic>, Monotonic>>;

/// The seed that every database here is loaded with.
pub const LOAD_SEED: u64 = GOLDEN_LOAD_SEED;

/// A freshly loaded database of its own, which goes with this value.
#[derive(Debug)]
pub struct Store {
    fixture_db: FixtureDb,
    /// How much was loaded.
    pub size: Cardinality,
}

/// What was found in a store after calls.
#[derive(Debug)]
pub struct StoreFindings {
    /// Every audit of the stored data with its finding.
    pub audits: Vec<(Audit, Finding)>,
    /// Every measure of the ledger: its name, and its violations.
    pub ledger: Vec<(&'static str, Vec<String>)>,
}

impl Store {
    /// A store of that size on SQLite; `options` as in a URL: `journal=truncate&busy_ms=20`. Each size is loaded once a
    /// test program, and copied from memory then.
    ///
    /// # Panics
    /// When it cannot be made: the test could not run.
    pub fn new(size: Cardinality, options: &str) -> Store {
        let folder = tempfile::tempdir().expect("a test needs a folder");
        let file = folder.path().join("tpcc.db");
        fs::write(&file, template(size)).expect("a test needs room for its database");
        let url: SqliteUrl =
            format!("sqlite:{}?{options}", file.display()).parse().expect("the test's own URL");
        Store { fixture_db: FixtureDb::Folder { folder, url }, size }
    }

    /// The tiny store, for audits that compare exactly. What a crash would leave is not a concern of its tests.
    pub fn tiny() -> Store {
        Store::new(Cardinality::tiny(), "synchronous=off")
    }

    /// A store of that size on the server of an engine. Each size is loaded once, and copied by the
    /// server then.
    ///
    /// # Panics
    /// When it cannot be made: the test could not run.
    pub fn on(engine: Engine, size: Cardinality) -> Store {
        let name = format!("tpcc_{}_{}_{}", size.warehouses, size.items, size.customers);
        let fixture_db =
            FixtureDb::copied(engine, &name, || tpcc_plan(crate::fixture_db::dialect(engine), size));
        Store { fixture_db, size }
    }

    /// The same for a size that one test needs: loaded for it alone, without a copy that others would take theirs from.
    ///
    /// # Panics
    /// When it cannot be made: the test could not run.
    pub fn alone_on(engine: Engine, size: Cardinality) -> Store {
        let fixture_db = FixtureDb::loaded(engine, tpcc_plan(crate::fixture_db::dialect(engine), size));
        Store { fixture_db, size }
    }

    pub fn place(&self) -> DbUrl {
        self.fixture_db.place()
    }

    /// Where it is, if it is in a file.
    ///
    /// # Panics
    /// When it is on a server.
    pub fn file(&self) -> &SqliteUrl {
        match &self.fixture_db {
            FixtureDb::Folder { url, .. } => url,
            FixtureDb::Server(_) => panic!("a store on a server has no file"),
        }
    }

    /// Where it is, if it is on a server.
    ///
    /// # Panics
    /// When it is in a file.
    pub fn server(&self) -> &ServerUrl {
        match &self.fixture_db {
            FixtureDb::Server(url) => url,
            FixtureDb::Folder { .. } => panic!("a store in a file has no server"),
        }
    }

    fn dialect(&self) -> Dialect {
        self.place().dialect()
    }

    /// The folder that it is in.
    ///
    /// # Panics
    /// When it is on a server.
    pub fn folder(&self) -> &TempDir {
        match &self.fixture_db {
            FixtureDb::Folder { folder, .. } => folder,
            FixtureDb::Server(_) => panic!("a store on a server has no folder"),
        }
    }

    /// The sessions that users have on SQLite.
    ///
    /// # Panics
    /// When the database cannot be opened.
    pub fn target(&self) -> SqliteTarget {
        retrying(SqlTarget::new(self.opener(statements()), Monotonic::start()))
    }

    /// The sessions on SQLite whose calls share durable commits.
    ///
    /// # Panics
    /// When the database cannot be opened.
    pub fn grouped(&self) -> GroupedTarget {
        let opener = GroupedOpener::new(self.file(), statements(), Monotonic::start());
        retrying(SqlTarget::new(opener.expect("a database that was just made"), Monotonic::start()))
    }

    /// Opens connections to SQLite that prepare `statements`.
    ///
    /// # Panics
    /// When the database cannot be opened.
    pub fn opener(&self, statements: Vec<String>) -> SqliteOpener<Monotonic> {
        SqliteOpener::new(self.file(), statements, Monotonic::start()).expect("a database that was just made")
    }

    /// A plain connection to SQLite next to all others. It waits as long for them as it takes.
    ///
    /// # Panics
    /// When the database cannot be opened.
    pub fn connection(&self) -> Connection {
        let connection = Connection::open(&self.file().path).expect("a database that was just made");
        connection.busy_timeout(Duration::from_secs(60)).expect("a setting of the connection alone");
        let level = format!("pragma synchronous={}", self.file().synchronous.name());
        connection.execute_batch(&level).expect("a setting of the connection alone");
        connection
    }

    /// The whole number that a query gives; null is none.
    ///
    /// # Panics
    /// When it gives none.
    pub fn number(&self, query: &str) -> i64 {
        let found = rows(&self.place(), query, &[]);
        found.first().and_then(|row| row.first()?.int()).expect("the test's own query, of a whole number")
    }

    /// What each district reports.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn tallies(&self) -> Vec<StoredTally> {
        let query = audit::district_tallies(self.dialect()).expect("kept by a test of the workload");
        let tally = |row: &Vec<Value>| {
            let row: Vec<i64> = row.iter().filter_map(Value::int).collect();
            StoredTally::from_row(&row).expect("fourteen whole numbers")
        };
        rows(&self.place(), &query, &[]).iter().map(tally).collect()
    }

    /// Every audit of the stored data.
    ///
    /// # Panics
    /// When one could not be run.
    pub fn audits(&self) -> Vec<(Audit, Finding)> {
        let now = measure::unix_seconds() as i64;
        let dates = Past { ours: true, fresh: true, run: Some((now, now)) }.dates();
        let context = audit::Context { dates, ..audit::Context::fresh(self.size) };
        let groups = audit::audits(self.dialect()).expect("kept by a test of the workload");
        let queries = groups.iter().map(|group| {
            let queries = group.audits.iter().map(|audit| (&audit.name, &audit.query, audit.rows_max));
            asked(&group.prepare, queries, context.params())
        });
        let found = audited(&self.place(), &queries.collect::<Vec<_>>());
        let all = groups.into_iter().flat_map(|group| group.audits);
        all.zip(found)
            .map(|(audit, rows)| {
                let finding = audit.judge(&rows, &context);
                assert!(!finding.sentence.contains("do not make sense"), "{}: {rows:?}", audit.name);
                (audit, finding)
            })
            .collect()
    }

    /// The audits, and the store against what was acknowledged since `before`.
    ///
    /// # Panics
    /// When an audit could not be run, or districts are missing.
    pub fn find(&self, before: &[StoredTally], claims: &Claims) -> StoreFindings {
        let audits = self.audits();
        let ledger = claims.audit(before, &self.tallies()).expect("the districts stay what they are");
        StoreFindings {
            audits,
            ledger: ledger.into_iter().map(|found| (found.name, found.violations)).collect(),
        }
    }

    /// Fails unless all twelve conditions hold, and so does every audit that compares exactly. Shares are not judged:
    /// the calls of a test need not be those of the standard.
    ///
    /// # Panics
    /// With what was found.
    pub fn assert_sound(&self) {
        for (audit, finding) in self.audits() {
            let untold = finding.verdict == AuditOutcome::Inconclusive || finding.figure.is_some();
            let share = audit.family == Family::Shape && untold;
            let sound = share || finding.verdict == AuditOutcome::Passed;
            assert!(sound, "{}: {} {:?}", audit.name, finding.sentence, finding.details);
        }
    }
}

impl StoreFindings {
    /// Names of what failed, audits and measures of the ledger together.
    pub fn failed(&self) -> BTreeSet<String> {
        let audits = self.audits.iter().filter(|(_, finding)| finding.verdict == AuditOutcome::Failed);
        let ledger = self.ledger.iter().filter(|(_, violations)| !violations.is_empty());
        audits
            .map(|(audit, _)| audit.name.clone())
            .chain(ledger.map(|(name, _)| format!("ledger: {name}")))
            .collect()
    }

    /// Names of the audits that could not tell.
    pub fn not_told(&self) -> BTreeSet<&str> {
        let untold = self.audits.iter().filter(|(_, finding)| finding.verdict == AuditOutcome::Inconclusive);
        untold.map(|(audit, _)| audit.name.as_str()).collect()
    }
}

/// A target with the retry policy that users have.
pub fn retrying<T>(target: T) -> RetryingTarget<T> {
    RetryingTarget::new(target, RetryPolicy::default())
}

/// The statements that users run.
///
/// # Panics
/// Never, while the workload's own tests pass.
pub fn statements() -> Vec<String> {
    catalogue(Dialect::Sqlite).expect("kept by a test of the workload")
}

/// The bytes of a loaded database.
fn template(size: Cardinality) -> Vec<u8> {
    let name: String = format!("tpcc-{size:?}").chars().filter(|char| char.is_ascii_alphanumeric()).collect();
    rig::for_tests::fixture(&name, || {
        let folder = tempfile::tempdir().expect("a test needs a folder");
        let url = SqliteUrl::file(folder.path().join("template.db"));
        store(&url)
            .load(tpcc_plan(Dialect::Sqlite, size), &mut |_| {}, &AtomicBool::new(false))
            .expect("a test needs its data");
        fs::read(&url.path).expect("a database that was just made")
    })
}

fn tpcc_plan(dialect: Dialect, size: Cardinality) -> LoadPlan {
    let schema = schema(dialect).expect("kept by a test of the workload");
    plan(Arc::new(Data::new(size, LOAD_SEED)), schema, "tpcc", u64::from(size.warehouses))
}

/// A load into nothing.
pub(crate) fn plan(dataset: Arc<dyn Dataset>, schema: Catalogue, workload: &str, scale: u64) -> LoadPlan {
    LoadPlan {
        dataset,
        schema,
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            workload: workload.into(),
            scale,
            size: String::new(),
            seed: LOAD_SEED,
        },
        threads: 2,
        fresh: true,
        references: false,
        reload: String::new(),
    }
}
