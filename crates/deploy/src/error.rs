//! What can go wrong with a server.

use rig::RigError;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// Something is wrong with a manifest: file, line, and what would be right.
    #[error("{0}")]
    Manifest(String),
    /// The server did not start, or did not end as it should: what happened, and the end of its log.
    #[error("{0}")]
    Server(String),
    /// It could not be put under its limits.
    #[error(transparent)]
    Limits(#[from] RigError),
}
