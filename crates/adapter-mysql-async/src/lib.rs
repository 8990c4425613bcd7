//! MariaDB, and what speaks its dialect, through mysql_async, behind the narrow SQL port. It knows no workload.
//!
//! Statements are prepared once, when a connection opens, and run by the binary protocol. What the driver allocates for
//! each statement (parameters, a row's values, its boxed futures) is its own; nothing is added to it but the text of an
//! amount.

mod columns;
mod conn;
mod connect;
mod open;
mod settings;

pub use columns::Current;
pub use conn::MySqlConn;
pub use connect::connect;
pub use open::MySqlOpener;
pub use settings::{ADAPTER, read_back};
