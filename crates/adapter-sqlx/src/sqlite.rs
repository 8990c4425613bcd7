//! SQLite, on a thread that sqlx keeps for each connection.

mod conn;
mod open;

pub use conn::SqlxSqliteConn;
pub use open::SqlxSqlite;
