//! What was measured: read back from the live system, never assumed.

use serde::{Deserialize, Serialize};

/// The stack under a target, as a part of the comparison key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The engine: `sqlite`.
    pub engine: String,
    /// Its version, as it says itself.
    pub engine_version: String,
    /// The crate or service between us and the engine: `rusqlite`.
    pub adapter: String,
    /// Its version.
    pub adapter_version: String,
    /// How transactions are expressed: `plain`.
    pub style: String,
    /// `direct` or `http`.
    pub route: String,
    /// The server in front of the engine, for the route `http`: name and version.
    pub server: Option<String>,
    /// Isolation of writing transactions.
    pub isolation: String,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Engine and pool settings that a reader may want to compare, in the order of the report.
    pub settings: Vec<(String, String)>,
}

/// What an acknowledged commit survives, and by which settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// The tier by name.
    pub tier: Tier,
    /// The settings that make it so, and anything a reader must know.
    pub detail: String,
}

/// Durability by name, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Every commit is flushed before it is acknowledged.
    Durable,
    /// A crash of the machine may lose the last moments.
    Delayed,
    /// A crash loses everything, or may corrupt it.
    #[default]
    Volatile,
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Tier::Durable => "durable",
            Tier::Delayed => "delayed",
            Tier::Volatile => "volatile",
        })
    }
}
