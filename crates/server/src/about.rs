//! Who is answering.

use crate::settings::Limits;
use model::Stack;
use serde::Serialize;

/// Version of the HTTP contract, for all workloads.
pub(crate) const CONTRACT_VERSION: u32 = 1;

/// The document at `/about`.
#[derive(Debug, Serialize)]
pub(crate) struct About {
    pub name: &'static str,
    pub version: &'static str,
    /// `tpcc/1`.
    pub contract: String,
    pub workload: &'static str,
    pub scale: u64,
    /// Sessions.
    pub pool: u32,
    /// Threads that speak HTTP.
    pub workers: usize,
    pub pid: u32,
    pub limits: Limits,
    /// Read back from the target.
    pub stack: Stack,
}
