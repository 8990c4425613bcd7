//! A freshly loaded database of any workload, on any engine, and its validation.

use crate::bite;
use crate::faulty::spelled;
use crate::fixture_db::{FixtureDb, asked, audited, execute, rows};
use crate::store::{plan, retrying};
use crate::tamper::{TamperedOpener, Tampering};
use crate::test_engines::TestEngine;
use admin::store;
use measure::Monotonic;
use model::RetryingTarget;
use result::Check;
use sql::audit::AuditOutcome;
use sql::{DbUrl, SqlForm, SqlTarget, SqliteUrl, StmtId};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;
use workload::{Benchmark, LOAD_SEED, Past};

/// The sessions that users have, on connections that may be tampered with.
pub type LoadedDbTarget<W, O> = RetryingTarget<SqlTarget<W, TamperedOpener<O>, Monotonic>>;

/// A text in a statement and what it is replaced by; as [`spelled`].
pub type Edit = (StmtId, &'static str, &'static str);

/// A database of its own, which goes with this value.
#[derive(Debug)]
pub struct LoadedDb<W: Benchmark> {
    fixture_db: FixtureDb,
    /// How much was loaded.
    pub size: W::Extent,
}

impl<W: Benchmark> LoadedDb<W> {
    /// One of that size on an engine.
    ///
    /// # Panics
    /// When it cannot be made: the test could not run.
    pub fn on<B: TestEngine>(size: W::Extent) -> LoadedDb<W> {
        let load = || {
            let schema = W::schema(B::DIALECT).expect("kept by a test of the workload");
            plan(W::dataset(&size, LOAD_SEED), schema, W::NAME, W::scale(&size).into())
        };
        let fixture_db = match B::ENGINE {
            Some(engine) => {
                let mut hash = DefaultHasher::new();
                format!("{size:?}").hash(&mut hash);
                FixtureDb::copied(engine, &format!("{}_{:x}", W::NAME, hash.finish()), load)
            }
            None => {
                let folder = tempfile::tempdir().expect("a test needs a folder");
                let url = SqliteUrl::file(folder.path().join("loaded.db"));
                store(&url)
                    .load(load(), &mut |_| {}, &AtomicBool::new(false))
                    .expect("a test needs its data");
                let url: SqliteUrl = format!("sqlite:{}?synchronous=off", url.path.display())
                    .parse()
                    .expect("the test's own URL");
                FixtureDb::Folder { folder, url }
            }
        };
        LoadedDb { fixture_db, size }
    }

    pub fn place(&self) -> DbUrl {
        self.fixture_db.place()
    }

    /// What it reports.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn evidence(&self) -> W::Evidence {
        let query = W::evidence_query(self.place().dialect()).expect("kept by a test of the workload");
        W::evidence(&rows(&self.place(), &query, &[])).expect("rows of the workload's own query")
    }

    /// Names of the audits that fail; `ledger` where the store is not what was acknowledged since `before`.
    ///
    /// # Panics
    /// When an audit could not be run.
    pub fn failed(&self, before: &W::Evidence, claims: &W::Claims) -> BTreeSet<String> {
        let missed = misses::<W>(before, &self.evidence(), claims);
        self.failed_here(before).into_iter().chain(missed.then(|| "ledger".to_owned())).collect()
    }

    /// Names of the audits of this store that fail.
    ///
    /// # Panics
    /// When an audit could not be run.
    pub fn failed_here(&self, before: &W::Evidence) -> BTreeSet<String> {
        let now = measure::unix_seconds() as i64;
        let context =
            W::context(&self.size, Past { ours: true, fresh: true, run: Some((now, now)) }, Some(before));
        let groups = W::audits(self.place().dialect()).expect("kept by a test of the workload");
        let queries = groups.iter().map(|group| {
            let queries = group.audits.iter().map(|audit| (&audit.name, &audit.query, audit.rows_max));
            asked(&group.prepare, queries, W::params(&context))
        });
        let found = audited(&self.place(), &queries.collect::<Vec<_>>());
        let all = groups.into_iter().flat_map(|group| group.audits).zip(found);
        let failed = all.filter(|(audit, rows)| audit.judge(rows, &context).verdict == AuditOutcome::Failed);
        failed.map(|(audit, _)| audit.name).collect()
    }
}

/// Whether what is stored is not what was acknowledged since `before`.
pub(crate) fn misses<W: Benchmark>(before: &W::Evidence, after: &W::Evidence, claims: &W::Claims) -> bool {
    W::ledger_checks(before, after, claims).iter().any(|found| found.check == Check::Failed)
}

/// A database after calls were made on it, with what is needed to audit it.
#[derive(Debug)]
pub struct DrivenDb<W: Benchmark> {
    loaded_db: LoadedDb<W>,
    before: W::Evidence,
    claims: W::Claims,
}

/// A change of rows after the last call.
#[derive(Debug)]
pub struct RowChange {
    /// A short description for failure messages.
    pub what: &'static str,
    /// Executed in one transaction.
    pub statements: Vec<String>,
    /// All audits that must fail, and no others; `ledger` for any measure of the ledger.
    pub caught_by: &'static [&'static str],
}

impl<W: Benchmark> DrivenDb<W> {
    /// Combines a database with its evidence before the calls and the claims of their acknowledgements.
    pub fn new(loaded_db: LoadedDb<W>, before: W::Evidence, claims: W::Claims) -> DrivenDb<W> {
        DrivenDb { loaded_db, before, claims }
    }

    /// Executes statements and returns the names of the audits that fail then.
    ///
    /// # Panics
    /// When the engine refuses a statement, or an audit could not be run.
    pub fn failed_after(&self, statements: &[String]) -> BTreeSet<String> {
        execute(&self.loaded_db.place(), statements);
        self.loaded_db.failed(&self.before, &self.claims)
    }

    /// The names of this engine's audits, and `ledger`.
    ///
    /// # Panics
    /// When the audits cannot be read, which a test of the workload keeps.
    pub fn audit_names(&self) -> BTreeSet<String> {
        let groups = W::audits(self.loaded_db.place().dialect()).expect("kept by a test of the workload");
        let names = groups.into_iter().flat_map(|group| group.audits).map(|audit| audit.name);
        names.chain(["ledger".to_owned()]).collect()
    }

    /// Applies each change to its own copy and checks that exactly its audits fail. The unchanged database must pass, and
    /// every audit in `audits` must be failed by some change.
    ///
    /// # Panics
    /// With the changes and audits for which this does not hold.
    pub fn assert_caught(&self, changes: &[RowChange], audits: &BTreeSet<String>)
    where
        W: Sync,
        W::Extent: Copy + Sync,
        W::Evidence: Sync,
        W::Claims: Sync,
    {
        assert_eq!(self.failed_after(&[]), BTreeSet::new(), "nothing is wrong");
        let names = |change: &RowChange| -> BTreeSet<String> {
            change.caught_by.iter().map(|name| (*name).to_owned()).collect()
        };
        bite::assert_none(&bite::all(changes, |change| {
            let copy = DrivenDb::<W> {
                loaded_db: LoadedDb::<W> {
                    fixture_db: self.loaded_db.fixture_db.copy(),
                    size: self.loaded_db.size,
                },
                before: self.before.clone(),
                claims: self.claims.clone(),
            };
            let (expected, found) = (names(change), copy.failed_after(&change.statements));
            (found != expected).then(|| format!("{}: expected {expected:?}, failed {found:?}", change.what))
        }));
        let caught: BTreeSet<String> = changes.iter().flat_map(names).collect();
        let untested: Vec<_> = audits.difference(&caught).collect();
        assert!(untested.is_empty(), "no change fails {untested:?}");
    }
}

impl<W: Benchmark + SqlForm> LoadedDb<W> {
    /// The sessions that users have, in a form, with edits of their `statements` and a fault injector in their connections.
    ///
    /// # Panics
    /// When an edit does not fit its statement.
    pub fn target<B: TestEngine>(
        &self,
        mut statements: Vec<String>,
        form: W::Form,
        edits: &[Edit],
        tampering: Tampering,
    ) -> LoadedDbTarget<W, B::Opener> {
        for (stmt, from, to) in edits {
            let (text, from) = (&mut statements[usize::from(stmt.0)], spelled(B::DIALECT, from));
            assert!(text.contains(&from), "`{from}` is not in {text}");
            *text = text.replace(&from, &spelled(B::DIALECT, to));
        }
        let opener = B::opener(&self.place(), statements);
        retrying(SqlTarget::in_form(TamperedOpener { opener, tampering }, Monotonic::start(), form))
    }
}
