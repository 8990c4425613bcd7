//! The moment at which a service began to decline most of what it had accepted.

use serde::{Deserialize, Serialize};

/// From a moment on calls of a kind were declined that had been accepted before, as when everything is sold. All rates of the trial
/// are those before it, or those after it where it is in the first second; shares, latencies and costs are those of the whole window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclineRise {
    /// The end of the time before it, in seconds from the start of the window.
    pub from_s: f64,
    /// The begin of the time after it.
    pub to_s: f64,
    /// The kind of call.
    pub kind: String,
    /// The share of its calls that was declined before; nothing where the moment is in the first second.
    pub declined_before: Option<f64>,
    pub declined_after: f64,
    /// Calls of all kinds that committed in the whole window.
    pub committed: u64,
    /// Committed calls of all kinds per second afterwards.
    pub committed_after_per_s: f64,
    /// Declined calls of all kinds per second afterwards.
    pub declined_after_per_s: f64,
}
