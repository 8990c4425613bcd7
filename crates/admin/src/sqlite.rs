//! SQLite: one file, written by one process at a time.
//!
//! In reading order: `record` (what a loaded file says about itself), `place` (the files around a database), `inspect`
//! (what lies at an address), `load` (and its parts: `batch`, `writer`, `verify`), and `witness` (audits).

pub(crate) mod batch;
mod error;
mod inspect;
mod load;
mod place;
mod record;
mod verify;
mod witness;
mod writer;

pub use error::{Cause, LoadError};
pub use inspect::{InspectError, inspect};
pub use load::load;
pub use place::{PlaceError, checkpoint, remove, restore};
pub use witness::{AuditError, Witness};
