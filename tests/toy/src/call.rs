//! What is asked: a note for a box, with the time that it takes to arrive.

use serde::{Deserialize, Serialize};

/// The largest number of a note; the least is 0.
pub(crate) const NUMBER_MAX: u32 = 999;
/// The longest that a note may take: a day.
pub(crate) const DELAY_MS_MAX: u32 = 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// Box, from 1.
    #[serde(rename = "box")]
    pub(crate) id: u32,
    /// What the note says: 0 to 999.
    pub(crate) number: u32,
    /// Milliseconds from now until it arrives, at most a day.
    pub(crate) delay_ms: u32,
}
