//! Private engines: PostgreSQL and MariaDB from the packages on the machine, and Kafka; each with a data folder and a port on
//! loopback of its own, databases with a unix socket too, configured by a list that hides nothing, and gone when we are gone.
//!
//! It knows how to make, start, limit, kill and remove an engine. It does not know any driver: what a started engine
//! says is for `admin` and the adapters. See `docs/rig.md` for the folders, the settings and their reasons.

mod base;
mod cgroup;
mod cluster;
mod command;
mod disk;
mod error;
mod find;
pub mod for_tests;
mod galera;
mod home;
mod kafka;
mod limits;
mod mariadb;
mod named;
mod options;
mod place;
mod postgres;
mod running;
mod settings;
mod shared_memory;
mod spider;
mod state;
mod technology;
mod watchdog;

pub use base::{base_folder, folder};
pub use cgroup::{Cgroup, Throttling, gated};
pub use disk::{FileDisk, can_have_own_disk};
pub use error::RigError;
pub use find::{Installation, find, find_in};
pub use limits::Limits;
pub use named::{EngineKind, NamedEngine, can_have_database, down, status, up};
pub use options::{Engine, Options};
pub use running::{Running, start};
pub use settings::fit_in_memory;
pub use state::USER;
