//! Control plane of each engine: create, bulk load, restore, read settings, run audits.
//!
//! Nothing here is measured. A workload comes in as data only: its initial rows ([`model::rows::Dataset`]), its schema
//! ([`sql::Catalogue`]) and its audit queries as text; the crate knows no workload, no transaction and no adapter, so
//! that its witness is independent of whatever was measured.

mod audit;
mod checksum;
mod found;
mod load;
mod loading;
pub mod mariadb;
pub mod postgres;
mod record;
pub mod sqlite;

pub use audit::{AuditGroup, AuditQuery, AuditRows, Audited};
pub use found::Found;
pub use load::{LoadPlan, LoadProgress, Loaded, Phase, PhaseTimes};
pub use record::{Contents, LoadRecord, TableContents};
