//! Who is answering.

use crate::settings::Limits;
use model::Stack;
use serde::Serialize;
use transport::ExtraEndpoint;

/// Version of the HTTP contract, for all workloads.
pub(crate) const CONTRACT_VERSION: u32 = 1;
/// Our version with that of the framework, which is a part of what is measured. A test holds it to the manifest.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (axum 0.8.9)");

/// The document at `/about`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct About {
    pub name: &'static str,
    pub version: &'static str,
    /// `tpcc/1`.
    pub contract: String,
    pub workload: &'static str,
    pub scale: u64,
    pub pool: u32,
    /// Threads that speak HTTP.
    pub workers: usize,
    pub pid: u32,
    pub limits: Limits,
    /// Where it listens besides TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<ExtraEndpoint>,
    /// Read back from the target.
    pub stack: Stack,
    /// Calls that are still completed although they were answered as in doubt.
    pub unfinished: u64,
}

#[cfg(test)]
mod tests {
    use super::VERSION;

    #[test]
    fn the_frameworks_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        let framework = VERSION.split_once("(axum ").and_then(|(_, rest)| rest.strip_suffix(')')).unwrap();
        assert!(manifest.contains(&format!("axum = {{ version = \"={framework}\"")), "{framework}");
    }
}
