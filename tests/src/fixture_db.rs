//! Where the databases of tests lie: in folders, and on one server of each engine, which other programs may share.

use crate::calls::runtime;
use adapter_tokio_postgres::Connected;
use admin::{AuditGroup, AuditQuery, LoadPlan, store};
use model::Nanos;
use mysql_async::prelude::Queryable as _;
use rig::Engine;
use rig::for_tests::shared;
use sql::{DbUrl, Dialect, ServerUrl, SqliteUrl, Value};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tempfile::TempDir;

/// How long the audits of a test may take together.
const AUDITS_MAX: Nanos = Nanos::from_secs(120);

/// Where one database lies. It goes with this value.
#[derive(Debug)]
pub(crate) enum FixtureDb {
    /// In a folder of its own.
    Folder {
        folder: TempDir,
        /// The file in it, and its settings.
        url: SqliteUrl,
    },
    Server(ServerUrl),
}

impl FixtureDb {
    /// A copy of what `plan` loads, on the server of an engine; loaded once under that name.
    pub(crate) fn copied(engine: Engine, name: &str, plan: impl FnOnce() -> LoadPlan) -> FixtureDb {
        let to = another(engine);
        // A template takes one copy at a time.
        shared(engine).with_template(
            name,
            |template| loading(template, plan()),
            |template| store(template).copy_to(&to, false).expect("a template that was just loaded"),
        );
        FixtureDb::Server(to)
    }

    /// What `plan` loads, on the server of an engine: for what is too large to keep and to copy.
    pub(crate) fn loaded(engine: Engine, plan: LoadPlan) -> FixtureDb {
        let to = another(engine);
        loading(&to, plan);
        FixtureDb::Server(to)
    }

    /// A copy of what is there, next to it.
    pub(crate) fn copy(&self) -> FixtureDb {
        let copy = match self {
            FixtureDb::Folder { url, .. } => {
                let folder = tempfile::tempdir().expect("a test needs a folder");
                let path = folder.path().join("copy.db");
                FixtureDb::Folder { folder, url: SqliteUrl { path, ..url.clone() } }
            }
            FixtureDb::Server(url) => {
                let engines = Engine::DATABASES.into_iter();
                let mut engines = engines.filter(|engine| dialect(*engine) == url.dialect);
                FixtureDb::Server(another(engines.next().expect("a server is of one of them")))
            }
        };
        store(self.place()).copy_to(copy.place(), false).expect("a database at rest");
        copy
    }

    pub(crate) fn place(&self) -> DbUrl {
        match self {
            FixtureDb::Folder { url, .. } => DbUrl::Sqlite(url.clone()),
            FixtureDb::Server(url) => DbUrl::Server(url.clone()),
        }
    }
}

impl Drop for FixtureDb {
    fn drop(&mut self) {
        if let FixtureDb::Server(url) = self {
            // What cannot be removed now goes with the server, or when the next program looks.
            let _ = store(&*url).remove();
        }
    }
}

/// The dialect of a server.
///
/// # Panics
/// It has none.
pub const fn dialect(engine: Engine) -> Dialect {
    match engine {
        Engine::Postgres => Dialect::Postgres,
        Engine::MariaDb => Dialect::MySql,
        Engine::Kafka => panic!("a broker has no SQL"),
    }
}

/// A database that no one has made yet, on the server of an engine.
fn another(engine: Engine) -> ServerUrl {
    static COPIES: AtomicU32 = AtomicU32::new(0);
    shared(engine).url(&format!("copy_{}", COPIES.fetch_add(1, Ordering::Relaxed)))
}

fn loading(url: &ServerUrl, plan: LoadPlan) {
    let never = AtomicBool::new(false);
    let store = store(url);
    store.create().expect("a server of our own");
    store.load(plan, &mut |_| {}, &never).expect("a test needs its data");
}

/// Rows of a query, from the witness of users.
///
/// # Panics
/// When it cannot be asked.
pub fn rows(place: &DbUrl, query: &str, params: &[i64]) -> Vec<Vec<Value>> {
    store(place).rows(query, params).expect("a database at rest, and a query over its tables")
}

/// A group of audits, as a witness is asked: name, query and most rows of each.
pub(crate) fn asked<'a>(
    prepare: &[String],
    audits: impl Iterator<Item = (&'a String, &'a String, usize)>,
    params: Vec<i64>,
) -> AuditGroup {
    let query = |(name, sql, rows_max): (&String, &String, usize)| AuditQuery {
        name: name.clone(),
        sql: sql.clone(),
        rows_max,
    };
    AuditGroup { prepare: prepare.to_vec(), queries: audits.map(query).collect(), params }
}

/// What each audit returned, in the order of the groups.
pub(crate) fn audited(place: &DbUrl, groups: &[AuditGroup]) -> Vec<Vec<Vec<Value>>> {
    let never = AtomicBool::new(false);
    let found = store(place).audit_all(groups, 2, AUDITS_MAX, &never).expect("a database at rest");
    let names = groups.iter().flat_map(|group| &group.queries).map(|query| &query.name);
    names
        .zip(found.rows)
        .map(|(name, rows)| {
            assert_eq!(*name, rows.name, "answers come in the order of the questions");
            rows.rows.unwrap_or_else(|error| panic!("{name} was not run: {error}"))
        })
        .collect()
}

/// A connection next to all sessions, for who acts behind their backs.
#[derive(Debug)]
pub enum Behind {
    Sqlite(Box<rusqlite::Connection>),
    /// To PostgreSQL.
    Postgres(Box<Connected>),
    /// To MariaDB.
    MySql(Box<mysql_async::Conn>),
}

impl Behind {
    /// Opens it.
    ///
    /// # Panics
    /// When it cannot be opened.
    pub async fn open(place: &DbUrl) -> Behind {
        let why = "a database that was just made";
        match place {
            DbUrl::Sqlite(url) => {
                let connection = rusqlite::Connection::open(&url.path).expect(why);
                connection.busy_timeout(std::time::Duration::from_secs(60)).expect(why);
                connection.execute_batch("pragma synchronous=off").expect(why);
                Behind::Sqlite(Box::new(connection))
            }
            DbUrl::Server(url) if url.dialect == Dialect::MySql => {
                Behind::MySql(Box::new(adapter_mysql_async::connect(url).await.expect(why)))
            }
            DbUrl::Server(url) => {
                Behind::Postgres(Box::new(adapter_tokio_postgres::connect(url).await.expect(why)))
            }
        }
    }

    /// The whole number that a query gives.
    ///
    /// # Panics
    /// When it gives none.
    pub async fn number(&mut self, query: &str) -> i64 {
        let why = "the fault injector's own query";
        match self {
            Behind::Sqlite(connection) => connection.query_row(query, [], |row| row.get(0)).expect(why),
            Behind::Postgres(connected) => {
                let Connected { client, link, .. } = &mut **connected;
                link.until(client.query_one(query, &[])).await.expect(why).get(0)
            }
            Behind::MySql(conn) => conn.query_first(query).await.expect(why).expect(why),
        }
    }

    /// Executes statements in one transaction.
    ///
    /// # Panics
    /// When the engine refuses one.
    pub async fn act(&mut self, statements: &[String]) {
        let why = "the fault injector's own statements";
        if statements.is_empty() {
            return;
        }
        match self {
            Behind::Sqlite(connection) => {
                let all = format!("begin immediate; {}; commit", statements.join("; "));
                connection.execute_batch(&all).expect(why);
            }
            Behind::Postgres(connected) => {
                let Connected { client, link, .. } = &mut **connected;
                // One message is one transaction.
                link.until(client.batch_execute(&statements.join("; "))).await.expect(why);
            }
            Behind::MySql(conn) => {
                conn.query_drop("start transaction").await.expect(why);
                for statement in statements {
                    conn.query_drop(statement).await.expect(why);
                }
                conn.query_drop("commit").await.expect(why);
            }
        }
    }
}

/// Executes statements on a database, in one transaction.
///
/// # Panics
/// When the engine refuses one.
pub fn execute(place: &DbUrl, statements: &[String]) {
    runtime().block_on(async { Behind::open(place).await.act(statements).await });
}
