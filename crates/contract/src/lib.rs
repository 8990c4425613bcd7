//! What holds a server to a workload: how calls and answers look in JSON and HTTP, the strict reading of both, JSON Schema as far
//! as `spec/` uses it, and what answers are compared with: golden vectors, random calls, races.

pub mod conformance;
pub mod json;
mod races;
pub mod schema;
pub mod strict;
pub mod vectors;
mod wire;

pub use races::{Judge, Race, Raced};
pub use wire::{Answer, BadCall, BadCallKind, Endpoint, Headers, Method, Request, Wire};
