//! SQLite.

mod fault;
mod open;

use crate::session::{Engine, Transactions};
use crate::work::{BodyEnd, Stop, Work};
use crate::{ADAPTER, STYLE};
use adapter_rusqlite::Lane;
use diesel::result::Error;
use diesel::sqlite::{Sqlite, SqliteConnection};
use model::{CallWork, Clock, Fault, Home, OpenError, Session, Stack, StatementTimes, Target};
use sql::{Journal, SqliteSettings, SqliteUrl};
use workload_tpcc::{Call, Outcome, Tpcc};

type Backend = Sqlite;
type Conn = SqliteConnection;

#[diesel::declare_sql_function]
extern "SQL" {
    /// The engine's clock, in seconds since 1970.
    #[sql_name = "unixepoch"]
    fn now() -> crate::schema::Moment;
}

/// SQLite has one writer, which has the whole database to itself.
macro_rules! locked {
    ($query:expr) => {
        $query
    };
}

#[path = "transactions.rs"]
mod transactions;

struct OnSqlite;

impl Engine for OnSqlite {
    type Conn = SqliteConnection;
    const BEGIN_WRITE: &'static str = "BEGIN IMMEDIATE";
    const BEGIN_READ: &'static str = "BEGIN DEFERRED";

    fn transact(
        conn: &mut SqliteConnection,
        call: &Call,
        work: &mut Work<impl Clock>,
    ) -> Result<BodyEnd, Stop> {
        transactions::transact(conn, call, work)
    }

    fn fault(error: &Error, at_commit: bool) -> Fault {
        fault::fault(error, at_commit)
    }
}

/// Opens sessions on one SQLite file.
#[derive(Debug)]
pub struct DieselSqlite<K> {
    url: SqliteUrl,
    settings: SqliteSettings,
    lane: Lane,
    clock: K,
}

/// Runs the transactions through Diesel on one connection to SQLite.
pub struct SqliteSession<K>(Transactions<OnSqlite, K>);

impl<K: Clock> DieselSqlite<K> {
    /// Checks that the file can be opened as the URL says, and reads back what is in force.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] when the file is missing, or locked by others for longer than the URL's `busy_ms`;
    /// [`OpenError::Unusable`] when it is not a database, or a setting does not take.
    pub fn new(url: &SqliteUrl, clock: K) -> Result<DieselSqlite<K>, OpenError> {
        let (_, settings) = open::connect(url)?;
        let lane = Lane::new(settings.journal != Journal::Wal.name());
        Ok(DieselSqlite { url: url.clone(), settings, lane, clock })
    }
}

impl<K: Clock> Target<Tpcc> for DieselSqlite<K> {
    type Session = SqliteSession<K>;

    fn home(&self) -> Home {
        Home::Thread
    }

    async fn open(&self, _worker: u32) -> Result<SqliteSession<K>, OpenError> {
        let (conn, _) = self.lane.exclusive(|| open::connect(&self.url))?;
        Ok(SqliteSession(Transactions::new(conn, Some(self.lane.clone()), self.clock.clone())))
    }

    fn stack(&self) -> Stack {
        Stack { style: STYLE.into(), ..self.settings.stack(ADAPTER) }
    }
}

impl<K: Clock> Session<Tpcc> for SqliteSession<K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.0.run(call, work).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.0.statement_times()
    }
}

impl<K> std::fmt::Debug for SqliteSession<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteSession").finish_non_exhaustive()
    }
}
