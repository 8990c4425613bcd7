//! What a subject runs in. So far: servers in any language, found by their manifests, built, started, limited and stopped.
//! The contract of a server with us is `docs/servers.md`.
//!
//! It knows processes, folders and environments. It does not know workloads, drivers or what a trial is, and of HTTP only
//! `GET /health`.

mod error;
mod group;
mod manifest;
pub mod mistake;
mod server;

pub use error::DeployError;
pub use manifest::{Manifest, Offer};
pub use server::{Order, PASSWORD, Server, ServerSettings, launch};
