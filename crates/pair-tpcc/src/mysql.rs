//! TPC-C on MariaDB, in the style "procedure": one call of a stored procedure is one transaction and one round trip.
//!
//! The procedures are in `spec/sql/tpcc/procedures.mysql.sql`. Each begins its transaction, gives its rows, and commits
//! last: rows that no error follows mean that the transaction is committed. An error before the first row means that
//! nothing was applied; what breaks after it, or breaks the connection, leaves a writing call in doubt.
//!
//! A call counts as one statement and, unless it was declined, one commit: that is what was sent. What the procedure does
//! inside is not seen from here, so the work of this style is "different work" next to the plain one, and is meant to be.

mod answer;
mod procedures;
mod session;
mod target;

pub use procedures::install;
pub use session::ProcedureSession;
pub use target::ProcedureTarget;
