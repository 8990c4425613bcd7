//! PostgreSQL.

mod conn;
mod connect;
mod open;
mod value;

pub use conn::SqlxPostgresConn;
pub use open::SqlxPostgres;
