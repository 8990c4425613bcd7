//! TPC-C on PostgreSQL in two styles that are written by hand, because their point is not to send one statement at a time.
//!
//! - [`PipelinedTarget`]: statements over many rows, and independent statements in one round trip. A New-Order takes two
//!   (one more for each time that an item repeats), a Payment and a Delivery two, the others one.
//! - [`ProcedureTarget`]: a function in PL/pgSQL for each transaction, called in one round trip that commits as well.
//!
//! Both answer what the plain style answers and take locks in its order, so that all three can run next to each other. The
//! statements are in `spec/sql/tpcc`. What an [`model::CallWork`] counts here: statements sent (a function is one), rows that
//! came back, and spans as far as the client can distinguish them: a begin that shares a round trip with statements is part
//! of them, a commit that shares one with the last statement is commit, and a function's commit is part of its statement.

mod decode;
mod pipelined;
mod procedure;
mod round_trips;
mod wire;

use adapter_tokio_postgres::PostgresOpener;
use model::{Clock, Home, OpenError, Stack, Target};
use sql::{Catalogue, CatalogueError, ServerUrl, SqlOpener as _};
use workload_tpcc::Tpcc;

pub use pipelined::PipelinedSession;
pub use procedure::ProcedureSession;

/// Opens sessions that share round trips.
#[derive(Debug)]
pub struct PipelinedTarget<K> {
    url: ServerUrl,
    clock: K,
    stack: Stack,
}

/// Opens sessions that call one function a transaction.
#[derive(Debug)]
pub struct ProcedureTarget<K> {
    url: ServerUrl,
    clock: K,
    stack: Stack,
}

macro_rules! target {
    ($target:ident, $session:ident, $style:literal) => {
        impl<K: Clock> $target<K> {
            /// Connects, to see that the database can be used like this, and to read back its settings.
            ///
            /// # Errors
            /// Those of [`adapter_tokio_postgres::connect_to_write`]; [`OpenError::Unusable`] when a setting does not take or
            /// the tables are not those of TPC-C.
            pub async fn reach(url: &ServerUrl, clock: K) -> Result<$target<K>, OpenError> {
                let opener = PostgresOpener::reach(url, Vec::new()).await?;
                drop($session::open(url, clock.clone()).await?);
                let stack = opener.stack();
                let settings = wire::shown(stack.settings);
                Ok($target {
                    url: url.clone(),
                    clock,
                    stack: Stack { style: $style.into(), isolation: isolation(url), settings, ..stack },
                })
            }
        }

        impl<K: Clock> Target<Tpcc> for $target<K> {
            type Session = $session<K>;

            fn home(&self) -> Home {
                Home::Task
            }

            async fn open(&self, _worker: u32) -> Result<$session<K>, OpenError> {
                $session::open(&self.url, self.clock.clone()).await
            }

            fn stack(&self) -> Stack {
                self.stack.clone()
            }
        }
    };
}

target!(PipelinedTarget, PipelinedSession, "pipelined");
target!(ProcedureTarget, ProcedureSession, "procedure");

/// Reads here are one statement each, and need no level of their own to see one snapshot.
fn isolation(url: &ServerUrl) -> String {
    format!("{}; each reading transaction is one statement", url.isolation.sql())
}

/// The texts of `names` in a file of statements, for PostgreSQL.
fn texts(file: &str, names: &[&str]) -> Result<Vec<String>, CatalogueError> {
    let texts = Catalogue::parse(file)?.select(names)?;
    Ok(texts.iter().map(|text| sql::dollars(text)).collect())
}
