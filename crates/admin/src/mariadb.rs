//! MariaDB, and what speaks its dialect: a database on a server.
//!
//! In reading order: `connect`, `record` (what a loaded database says about itself), `inspect` (what lies in a database),
//! `load` (and its parts: `layout`, `writer`, `verify`), `place` (databases made, copied and removed; `files` where their
//! files are ours), and `witness` (audits). Synchronous from outside: each function has runtimes of its own.

mod connect;
mod error;
mod files;
mod inspect;
mod layout;
mod load;
mod place;
mod record;
mod sample;
mod verify;
mod witness;
mod writer;

pub use error::{Cause, LoadError, PlaceError};
pub use inspect::{InspectError, columns, inspect};
pub use load::{load, load_by};
pub use place::{create_database, drop_database, remove, restore};
pub use sample::Probe;
pub use witness::{AuditError, Witness};
pub use writer::Way;
