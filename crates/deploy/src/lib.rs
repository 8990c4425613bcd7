//! What a subject stands on and runs in: databases, ours or the user's, and private engines (`deployment`), as asked for in
//! `spec`; servers in any language by their manifests, built, started, limited and stopped (`docs/servers.md`).
//!
//! It does not know which workloads there are, nor what a trial is, and of HTTP only `GET /health`.

mod consuming;
pub mod database;
mod databases;
mod deployment;
mod error;
mod foreseen;
mod generator;
mod group;
mod host;
pub mod in_use;
mod interrupt;
mod manifest;
pub mod mistake;
mod private;
mod relaying;
mod reporter;
mod revision;
pub mod secrets;
mod server;
mod server_sources;
mod spec;
pub mod subjects;
mod topic;

pub use consuming::Consuming;
pub use database::Database;
pub use databases::Databases;
pub use deployment::{Deployment, at};
pub use error::DeployError;
pub use foreseen::{check_pool, check_sessions};
pub use generator::GeneratorProcess;
pub use interrupt::{Interrupt, is_hangup_ignored};
pub use manifest::{Manifest, Offer};
pub use private::Private;
pub use relaying::{RelayOptions, SinkAddress, SinkKind, default_polling};
pub use reporter::{LongTask, Reporter, announce};
pub use rig::fit_in_memory;
pub use server::{
    DATABASE, PASSWORD, Server, ServerOrder, ServerSettings, launch, owned_variables, variable,
};
pub use server_sources::{ServerSource, SourceSubjects, remove_work_trees, restore_sources, server_sources};
pub use spec::{EngineOptions, Spec};
pub use subjects::{Route, Subject};
pub use topic::{BrokerSpec, RunTopic, broker_address};
