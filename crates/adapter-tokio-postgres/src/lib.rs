//! PostgreSQL through tokio-postgres, behind the narrow SQL port. It knows no workload.

mod connect;
mod link;
mod tls;

pub use connect::{Facts, connect, connect_to_write, fault, open_error};
pub use link::{Connected, Link};
