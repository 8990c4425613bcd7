//! TPC-C databases for tests, and what vouches for them: the audits and the ledger, asked as the command line asks.

use adapter_rusqlite::SqliteOpener;
use admin::sqlite::{Witness, load};
use admin::{AuditGroup, AuditQuery, LoadPlan, LoadRecord};
use measure::Monotonic;
use model::{Nanos, RetryPolicy, RetryingTarget};
use rusqlite::Connection;
use sql::{Dialect, SqliteUrl, Value};
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use workload_tpcc::audit::{self, Audit, Family, Finding, Verdict};
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;
use workload_tpcc::{Cardinality, Claims, Data, SqlTarget, StoredTally, catalogue, schema};

/// Sessions on SQLite with the one retry policy, composed as the server and the direct route compose them.
pub type SqliteTarget = RetryingTarget<SqlTarget<SqliteOpener<Monotonic>, Monotonic>>;

/// The seed that every database here is loaded with.
pub const LOAD_SEED: u64 = GOLDEN_LOAD_SEED;

/// How long the audits of a test may take together.
const AUDITS_MAX: Nanos = Nanos::from_secs(120);

/// A freshly loaded database in a folder of its own, which goes with this value.
#[derive(Debug)]
pub struct Store {
    folder: TempDir,
    /// Where it is, and with which settings.
    pub url: SqliteUrl,
    /// How much was loaded.
    pub size: Cardinality,
}

/// What was found in a store after calls.
#[derive(Debug)]
pub struct Found {
    /// Every audit of the stored data with its finding.
    pub audits: Vec<(Audit, Finding)>,
    /// Every measure of the ledger: its name, and its violations.
    pub ledger: Vec<(&'static str, Vec<String>)>,
}

impl Store {
    /// A store of that size; `options` as in a URL: `journal=truncate&busy_ms=20`. Each size is loaded once a test
    /// program, and copied from memory then.
    ///
    /// # Panics
    /// When it cannot be made: the test could not run.
    #[must_use]
    pub fn new(size: Cardinality, options: &str) -> Store {
        let folder = tempfile::tempdir().expect("a test needs a folder");
        let file = folder.path().join("tpcc.db");
        fs::write(&file, template(size)).expect("a test needs room for its database");
        let url = format!("sqlite:{}?{options}", file.display()).parse().expect("the test's own URL");
        Store { folder, url, size }
    }

    /// The tiny store, for audits that compare exactly. What a crash would leave is no concern of its tests.
    #[must_use]
    pub fn tiny() -> Store {
        Store::new(Cardinality::tiny(), "synchronous=off")
    }

    /// The folder that it lies in.
    #[must_use]
    pub fn folder(&self) -> &TempDir {
        &self.folder
    }

    /// The sessions that users have.
    ///
    /// # Panics
    /// When the database cannot be opened.
    #[must_use]
    pub fn target(&self) -> SqliteTarget {
        retrying(SqlTarget::new(self.opener(statements()), Monotonic::start()))
    }

    /// Opens connections that prepare `statements`.
    ///
    /// # Panics
    /// When the database cannot be opened.
    #[must_use]
    pub fn opener(&self, statements: Vec<String>) -> SqliteOpener<Monotonic> {
        SqliteOpener::new(&self.url, statements, Monotonic::start()).expect("a database that was just made")
    }

    /// A plain connection beside all others. It waits as long for them as it takes.
    ///
    /// # Panics
    /// When the database cannot be opened.
    #[must_use]
    pub fn connection(&self) -> Connection {
        let connection = Connection::open(&self.url.path).expect("a database that was just made");
        connection.busy_timeout(Duration::from_secs(60)).expect("a setting of the connection alone");
        let level = format!("pragma synchronous={}", self.url.synchronous.name());
        connection.execute_batch(&level).expect("a setting of the connection alone");
        connection
    }

    /// The whole number that a query gives.
    ///
    /// # Panics
    /// When it gives none.
    #[must_use]
    pub fn number(&self, query: &str) -> i64 {
        self.connection().query_row(query, [], |row| row.get(0)).expect("the test's own query")
    }

    /// What each district says of itself.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn tallies(&self) -> Vec<StoredTally> {
        let query = audit::district_tallies(Dialect::Sqlite).expect("kept by a test of the workload");
        let witness = Witness::open(&self.url).expect("a database at rest");
        let rows = witness.rows(&query, &[]).expect("a query over the standard's tables");
        let tally = |row: &Vec<Value>| {
            let row: Vec<i64> = row.iter().filter_map(Value::int).collect();
            StoredTally::from_row(&row).expect("eight whole numbers")
        };
        rows.iter().map(tally).collect()
    }

    /// Every audit of the stored data.
    ///
    /// # Panics
    /// When one could not be run.
    #[must_use]
    pub fn audits(&self) -> Vec<(Audit, Finding)> {
        let context = audit::Context { size: self.size, mixed_seeds: false };
        let groups = audit::audits(Dialect::Sqlite).expect("kept by a test of the workload");
        let queries: Vec<AuditGroup> = groups.iter().map(|group| asked(group, &context)).collect();
        let never = AtomicBool::new(false);
        let witness = Witness::open(&self.url).expect("a database at rest");
        let audited = witness.audit_all(&queries, 2, AUDITS_MAX, &never).expect("a database at rest");
        let all = groups.into_iter().flat_map(|group| group.audits);
        all.zip(audited.rows)
            .map(|(audit, rows)| {
                assert_eq!(audit.name, rows.name);
                let rows = rows.rows.unwrap_or_else(|why| panic!("{} was not run: {why}", audit.name));
                let finding = audit.judge(&rows, &context);
                (audit, finding)
            })
            .collect()
    }

    /// The audits, and the store against what was acknowledged since `before`.
    ///
    /// # Panics
    /// When an audit could not be run, or districts are missing.
    #[must_use]
    pub fn find(&self, before: &[StoredTally], claims: &Claims) -> Found {
        let audits = self.audits();
        let ledger = claims.audit(before, &self.tallies()).expect("the districts stay what they are");
        Found { audits, ledger: ledger.into_iter().map(|found| (found.name, found.violations)).collect() }
    }

    /// Fails unless all twelve conditions hold, and so does every audit that compares exactly. Shares are not judged:
    /// the calls of a test need not be those of the standard.
    ///
    /// # Panics
    /// With what was found.
    pub fn assert_sound(&self) {
        for (audit, finding) in self.audits() {
            let untold = finding.verdict == Verdict::NotTold || finding.figure.is_some();
            let share = audit.family == Family::Shape && untold;
            let sound = share || finding.verdict == Verdict::Passed;
            assert!(sound, "{}: {} {:?}", audit.name, finding.sentence, finding.details);
        }
    }
}

impl Found {
    /// Names of what failed, audits and measures of the ledger together.
    #[must_use]
    pub fn failed(&self) -> BTreeSet<String> {
        let audits = self.audits.iter().filter(|(_, finding)| finding.verdict == Verdict::Failed);
        let ledger = self.ledger.iter().filter(|(_, violations)| !violations.is_empty());
        audits
            .map(|(audit, _)| audit.name.clone())
            .chain(ledger.map(|(name, _)| format!("ledger: {name}")))
            .collect()
    }

    /// Names of the audits that could not tell.
    #[must_use]
    pub fn not_told(&self) -> BTreeSet<&str> {
        let untold = self.audits.iter().filter(|(_, finding)| finding.verdict == Verdict::NotTold);
        untold.map(|(audit, _)| audit.name.as_str()).collect()
    }
}

/// A target with the retry policy that users have.
pub fn retrying<T>(target: T) -> RetryingTarget<T> {
    RetryingTarget { target, policy: RetryPolicy::default() }
}

/// The statements that users run.
///
/// # Panics
/// Never, while the workload's own tests pass.
#[must_use]
pub fn statements() -> Vec<String> {
    catalogue(Dialect::Sqlite).expect("kept by a test of the workload")
}

fn asked(group: &audit::AuditGroup, context: &audit::Context) -> AuditGroup {
    let query = |audit: &Audit| AuditQuery {
        name: audit.name.clone(),
        sql: audit.query.clone(),
        rows_max: audit.rows_max,
    };
    AuditGroup {
        prepare: group.prepare.clone(),
        queries: group.audits.iter().map(query).collect(),
        params: context.params(),
    }
}

/// The bytes of a loaded database.
fn template(size: Cardinality) -> Arc<[u8]> {
    static LOADED: Mutex<Vec<(Cardinality, Arc<[u8]>)>> = Mutex::new(Vec::new());
    // Held while loading, so that nobody loads the same size a second time.
    let mut loaded = LOADED.lock().expect("a test that could not load has failed already");
    if let Some((_, bytes)) = loaded.iter().find(|(of, _)| *of == size) {
        return bytes.clone();
    }
    let folder = tempfile::tempdir().expect("a test needs a folder");
    let url = SqliteUrl::file(folder.path().join("template.db"));
    let plan = LoadPlan {
        dataset: Arc::new(Data::new(size, LOAD_SEED)),
        schema: schema(Dialect::Sqlite).expect("kept by a test of the workload"),
        record: LoadRecord {
            kit: "stackmark".into(),
            kit_version: env!("CARGO_PKG_VERSION").into(),
            workload: "tpcc".into(),
            scale: u64::from(size.warehouses),
            size: String::new(),
            seed: LOAD_SEED,
        },
        threads: 2,
        fresh: true,
        references: false,
        start_anew: String::new(),
    };
    load(&url, plan, &mut |_| {}, &AtomicBool::new(false)).expect("a test needs its data");
    let bytes: Arc<[u8]> = fs::read(&url.path).expect("a database that was just made").into();
    loaded.push((size, bytes.clone()));
    bytes
}
