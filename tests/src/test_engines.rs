//! The engines on which fault injectors are set to work, through the connections that users have.

use crate::calls::runtime;
use crate::store::Store;
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::{PostgresOpener, SimpleOpener};
use measure::Monotonic;
use rig::Engine;
use sql::{DbUrl, Dialect, SqlOpener};
use workload_tpcc::Cardinality;

/// An engine with its plain connections.
pub trait TestEngine {
    type Opener: SqlOpener;
    /// What the engine speaks.
    const DIALECT: Dialect;
    /// The private server that it takes; none for files.
    const ENGINE: Option<Engine>;

    /// Opens connections that prepare `statements`.
    ///
    /// # Panics
    /// When the database cannot be reached, or a statement does not fit it.
    fn opener(place: &DbUrl, statements: Vec<String>) -> Self::Opener;

    /// A freshly loaded store.
    fn store(size: Cardinality) -> Store {
        match Self::ENGINE {
            Some(engine) => Store::on(engine, size),
            None => Store::new(size, "synchronous=off"),
        }
    }
}

/// SQLite through `rusqlite`.
#[derive(Debug)]
pub struct OnSqlite;
/// PostgreSQL through `tokio-postgres`.
#[derive(Debug)]
pub struct OnPostgres;
/// The same by the simple protocol, for workloads whose parameters are whole numbers.
#[derive(Debug)]
pub struct OnPostgresSimply;
/// MariaDB through `mysql_async`.
#[derive(Debug)]
pub struct OnMariaDb;

const REACHED: &str = "a database that was just made, and statements that fit it";

impl TestEngine for OnSqlite {
    type Opener = SqliteOpener<Monotonic>;
    const DIALECT: Dialect = Dialect::Sqlite;
    const ENGINE: Option<Engine> = None;

    fn opener(place: &DbUrl, statements: Vec<String>) -> Self::Opener {
        let DbUrl::Sqlite(url) = place else { panic!("{place} is not a file") };
        SqliteOpener::new(url, statements, Monotonic::start()).expect(REACHED)
    }
}

impl TestEngine for OnPostgres {
    type Opener = PostgresOpener;
    const DIALECT: Dialect = Dialect::Postgres;
    const ENGINE: Option<Engine> = Some(Engine::Postgres);

    fn opener(place: &DbUrl, statements: Vec<String>) -> PostgresOpener {
        let DbUrl::Server(url) = place else { panic!("{place} is not on a server") };
        runtime().block_on(PostgresOpener::reach(url, statements)).expect(REACHED)
    }
}

impl TestEngine for OnPostgresSimply {
    type Opener = SimpleOpener;
    const DIALECT: Dialect = Dialect::Postgres;
    const ENGINE: Option<Engine> = Some(Engine::Postgres);

    fn opener(place: &DbUrl, statements: Vec<String>) -> SimpleOpener {
        let DbUrl::Server(url) = place else { panic!("{place} is not on a server") };
        runtime().block_on(SimpleOpener::reach(url, statements)).expect(REACHED)
    }
}

impl TestEngine for OnMariaDb {
    type Opener = MySqlOpener;
    const DIALECT: Dialect = Dialect::MySql;
    const ENGINE: Option<Engine> = Some(Engine::MariaDb);

    fn opener(place: &DbUrl, statements: Vec<String>) -> MySqlOpener {
        let DbUrl::Server(url) = place else { panic!("{place} is not on a server") };
        runtime().block_on(MySqlOpener::reach(url, statements)).expect(REACHED)
    }
}
