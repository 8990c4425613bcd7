//! Control plane of each engine: create, bulk load, restore, read settings, run audits.
//!
//! Nothing here is measured. A workload comes in as data only: its initial rows ([`model::rows::Dataset`]), its schema
//! ([`sql::Catalogue`]) and its audit queries as text; the crate knows no workload, no transaction and no adapter, so
//! that its witness is independent of whatever was measured.
//!
//! [`store`] gives a database whatever its engine. What all engines have in common is in `load`, `audit` and `record`, and
//! for servers in `server`; `engine` is what they ask of a technology, whose module no one else looks into.

mod audit;
mod checksum;
mod engine;
mod error;
mod found;
mod hold;
mod load;
mod loading;
pub mod mariadb;
mod postgres;
mod reading;
mod record;
mod row_storage;
mod server;
pub mod sqlite;
mod store;

pub use audit::{AuditGroup, AuditQuery, AuditRows, Audited};
pub use error::{Cause, Error};
pub use found::Found;
pub use hold::{LockAttempt, RunLock};
pub use load::{LoadPhase, LoadPlan, LoadProgress, Loaded, PhaseTimes};
pub use loading::ensure_room;
pub use reading::SnapshotReader;
pub use record::{Contents, LoadRecord, TableContents};
pub use row_storage::{RowSafety, RowStorage};
pub use store::{Store, store};
