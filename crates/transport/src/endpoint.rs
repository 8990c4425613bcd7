//! Where a server listens besides TCP.

use serde::{Deserialize, Serialize};

/// Where a server listens besides TCP, as `/about` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ExtraEndpoint {
    /// The name of its socket in the abstract namespace, without the zero byte before it.
    Unix { name: String },
    /// A port of the same address.
    Tls {
        port: u16,
        /// The certificate that it shows, for the name `localhost`, in PEM.
        certificate: String,
    },
}
