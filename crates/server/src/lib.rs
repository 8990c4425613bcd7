//! The reference server: any target behind axum, with the contract of `spec/openapi`.
//!
//! It runs the very sessions that the direct route runs, so what HTTP costs is a difference of one factor. It
//! knows no engine and no workload: calls and outcomes cross the wire through [`contract::Wire`], behind a pointer
//! (`served`), so that routes, queue and HTTP are compiled once. Blocking
//! drivers get a thread a session (`lanes`), asynchronous ones a pool (`pool`); both are one bounded, fair
//! queue.

mod about;
mod connection;
mod lanes;
mod pool;
mod problem;
mod reply;
mod serve;
mod served;
mod service;
mod sessions;
mod settings;

pub use serve::{Bound, Server};
pub use settings::{Limits, Log, ServeError, Settings};
