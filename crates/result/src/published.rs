//! What was published from an outbox.

use super::Quantiles;
use serde::{Deserialize, Serialize};

/// Messages that a relay has published from an outbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where they went: `null`, `file`, `kafka`.
    pub sink: String,
    /// How many, those that went again included; `null` where a relay within the server published them and nobody looked.
    pub messages: Option<u64>,
    /// In how many batches; `null` where the relay is within the server.
    pub batches: Option<u64>,
    /// Those that came again; `null` where nobody looked.
    pub duplicates: Option<u64>,
    /// From when a message was written into the outbox, before its transaction committed, to when the sink had acknowledged it;
    /// `null` where none was.
    pub lag: Option<Quantiles>,
    /// Each second from the begin of the measured interval until the last message was acknowledged; empty where some never were.
    pub line: Vec<PublishedSecond>,
}

/// A second of a relay's work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSecond {
    /// Its end, in seconds from the start of the measured interval.
    pub t_s: f64,
    /// Messages that the sink acknowledged in it.
    pub messages: u64,
    /// Messages whose rows were written and not acknowledged at its end.
    pub backlog: u64,
}

impl Published {
    /// The longest backlog at the end of a second; nothing where it is not known.
    #[must_use]
    pub fn backlog_max(&self) -> Option<u64> {
        self.line.iter().map(|second| second.backlog).max()
    }
}
