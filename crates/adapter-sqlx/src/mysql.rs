//! MariaDB, and what speaks its dialect.

mod columns;
mod conn;
mod connect;
mod open;

pub use conn::SqlxMySqlConn;
pub use open::SqlxMySql;
