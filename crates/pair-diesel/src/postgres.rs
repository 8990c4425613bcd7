//! PostgreSQL.

mod connect;
mod fault;
mod open;

use crate::session::{Engine, Transactions};
use crate::work::{BodyEnd, Stop, Work};
use diesel::pg::{Pg, PgConnection};
use diesel::result::Error;
use model::{CallWork, Clock, Fault, Home, OpenError, Session, Stack, StatementTimes, Target};
use sql::ServerUrl;
use workload_tpcc::{Call, Outcome, Tpcc};

type Backend = Pg;
type Conn = PgConnection;

#[diesel::declare_sql_function]
extern "SQL" {
    /// The engine's clock. It becomes a timestamp where it is stored, in the session's time zone, which is UTC.
    fn now() -> crate::schema::Moment;
}

/// Rows that are read to be written are locked, so that no update is lost at READ COMMITTED.
macro_rules! locked {
    ($query:expr) => {
        $query.for_no_key_update()
    };
}

#[path = "transactions.rs"]
mod transactions;

struct OnPostgres;

impl Engine for OnPostgres {
    type Conn = PgConnection;
    /// In the isolation of the session, which is that of the URL.
    const BEGIN_WRITE: &'static str = "BEGIN TRANSACTION";
    const BEGIN_READ: &'static str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

    fn transact(conn: &mut PgConnection, call: &Call, work: &mut Work<impl Clock>) -> Result<BodyEnd, Stop> {
        transactions::transact(conn, call, work)
    }

    fn fault(error: &Error, at_commit: bool) -> Fault {
        fault::fault(error, at_commit)
    }
}

/// Opens sessions on one database of a PostgreSQL server.
#[derive(Debug)]
pub struct DieselPostgres<K> {
    url: ServerUrl,
    stack: Stack,
    clock: K,
}

/// Runs the transactions through Diesel on one connection to PostgreSQL.
pub struct PostgresSession<K>(Transactions<OnPostgres, K>);

impl<K: Clock> DieselPostgres<K> {
    /// Connects once, checks that the server can be used as the URL says and that it takes writes, and reads back what is in
    /// force.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] when nothing answers, or no one is let in now; [`OpenError::Unusable`] when trying again
    /// will not help: password, database, a server that is too old, takes no writes or whose errors are not in English, a
    /// setting that does not take, and encryption, which the libpq that is compiled in does not speak.
    pub fn reach(url: &ServerUrl, clock: K) -> Result<DieselPostgres<K>, OpenError> {
        Ok(DieselPostgres { url: url.clone(), stack: open::stack(url)?, clock })
    }
}

impl<K: Clock> Target<Tpcc> for DieselPostgres<K> {
    type Session = PostgresSession<K>;

    fn home(&self) -> Home {
        Home::Thread
    }

    async fn open(&self, _worker: u32) -> Result<PostgresSession<K>, OpenError> {
        let (conn, _) = connect::connect(&self.url)?;
        Ok(PostgresSession(Transactions::new(conn, None, self.clock.clone())))
    }

    fn stack(&self) -> Stack {
        self.stack.clone()
    }
}

impl<K: Clock> Session<Tpcc> for PostgresSession<K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.0.run(call, work).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.0.statement_times()
    }
}

impl<K> std::fmt::Debug for PostgresSession<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresSession").finish_non_exhaustive()
    }
}
