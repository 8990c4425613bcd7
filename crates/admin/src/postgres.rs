//! PostgreSQL: a database on a server, used by many at once.
//!
//! In reading order: `session` (a connection that is waited for), `record` (what a loaded database says about itself),
//! `place` (databases as a whole), `inspect` (what lies at an address), `load` (and its parts: `binary`, `writer`,
//! `verify`), `columns` (what another kit made) and `witness` (audits).

mod binary;
mod columns;
mod error;
mod inspect;
mod load;
mod place;
mod record;
mod sample;
mod session;
mod tls;
mod verify;
mod witness;
mod writer;

pub use columns::columns;
pub use error::{Cause, InspectError, LoadError};
pub use inspect::inspect;
pub use load::load;
pub use place::{PlaceError, create_database, drop_database, remove, restore, restore_through_log};
pub use sample::Probe;
pub use witness::{AuditError, Witness};
