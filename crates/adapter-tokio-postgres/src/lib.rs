//! PostgreSQL through tokio-postgres, behind the narrow SQL port. It knows no workload.
//!
//! A session owns a client and its connection and polls both while it waits for an answer: nothing is spawned, and no task
//! wakes another. `docs/decisions/0006` has the figures.
//!
//! [`PostgresOpener`] has statements prepared; [`SimpleOpener`] sends each as one text, as `pgbench` does by default.

mod bell;
mod conn;
mod connect;
mod link;
mod listen;
mod open;
mod simple;
mod tx;
mod value;

pub use conn::PostgresConn;
pub use connect::{Facts, connect, connect_to_write, fault, open_error};
pub use link::{Connected, Link};
pub use listen::Listener;
pub use open::PostgresOpener;
pub use simple::{SimpleConn, SimpleOpener};
