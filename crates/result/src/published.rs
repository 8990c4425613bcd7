//! Messages that were published.

use super::Quantiles;
use serde::{Deserialize, Serialize};

/// Messages that were published: by a relay from an outbox, or by the process that committed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// `null`, `file` or `kafka`.
    pub sink: String,
    /// Messages published, duplicates included; `null` if unknown: they are not stored, and no relay counted them.
    pub messages: Option<u64>,
    /// Batches; `null` if no relay counted them.
    pub batches: Option<u64>,
    /// Duplicates; `null` if not checked.
    pub duplicates: Option<u64>,
    /// From when a message was written into the outbox, before its transaction committed, to when the sink had acknowledged it;
    /// `null` if not measured.
    pub lag: Option<Quantiles>,
    /// One entry per second, from the start of the window until the last message was acknowledged and the window closed; empty if not
    /// measured, or if some messages were never acknowledged.
    pub line: Vec<PublishedSecond>,
    /// What a consumer processed; `null` without one.
    pub consumed: Option<Consumed>,
}

/// What a consumer with an inbox processed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consumed {
    /// Messages that it processed, without duplicates.
    pub messages: u64,
    /// From the creation of a message (the insert of its outbox row; of a dual write: the time at which it was published) to the commit
    /// of the consumer's transaction. Messages that are delivered again are not included. `null` if not measured: messages in a file have
    /// no time.
    pub lag: Option<Quantiles>,
}

/// A second of a relay's work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSecond {
    /// Its end, in seconds from the start of the window.
    pub t_s: f64,
    /// Messages that the sink acknowledged in it.
    pub messages: u64,
    /// Messages whose rows were written and not acknowledged at its end.
    pub backlog: u64,
}

impl Published {
    /// The longest backlog at the end of a second; nothing where it is not known.
    pub fn backlog_max(&self) -> Option<u64> {
        self.line.iter().map(|second| second.backlog).max()
    }
}
