//! What was published from an outbox.

use super::Quantiles;
use serde::{Deserialize, Serialize};

/// Messages that a relay has published from an outbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where they went: `null`, `file`.
    pub sink: String,
    /// How many, those that went again included.
    pub messages: u64,
    /// In how many batches.
    pub batches: u64,
    /// Those that came again; `null` where nobody looked.
    pub duplicates: Option<u64>,
    /// From when a message was written into the outbox, before its transaction committed, to when the sink had acknowledged it;
    /// `null` where none was.
    pub lag: Option<Quantiles>,
}
