//! The HTTP contract of a workload as code: bytes to calls and outcomes, without any HTTP.
//!
//! The truth is `spec/openapi`; both ends of our own, client and server, use this one implementation, and servers in
//! other languages are held to the same golden vectors.

use crate::Workload;

/// A workload that can cross a wire as JSON.
pub trait Wire: Workload {
    /// URL path of each kind, in the order of [`Workload::KINDS`]. The method is POST.
    const PATHS: &'static [&'static str];
    /// What ids may be used in calls: depends on the size of the loaded data.
    type Extent: Clone + Send + Sync + 'static;

    /// Appends the call's JSON to `into`. Allocates only while `into` grows.
    fn encode_call(call: &Self::Call, into: &mut Vec<u8>);

    /// Reads a call of a kind, and checks everything that can be checked without the database. A call is an object, and
    /// so is every part of it that has fields: [`crate::strict::read`] sees to that.
    ///
    /// # Errors
    /// What is wrong and where, in words for whoever sent it.
    fn decode_call(kind: usize, extent: &Self::Extent, body: &[u8]) -> Result<Self::Call, BadCall>;

    /// Appends the outcome's JSON to `into`.
    fn encode_outcome(outcome: &Self::Outcome, into: &mut Vec<u8>);

    /// Reads the answer to `call`. Allocates nothing when it is well-formed.
    ///
    /// # Errors
    /// One lower-case clause: what of the contract is broken.
    fn decode_outcome(call: &Self::Call, body: &[u8]) -> Result<Self::Outcome, String>;
}

/// A call that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct BadCall {
    /// What sort of wrong.
    pub kind: BadCallKind,
    /// What, where, and what would be right.
    pub detail: String,
}

impl BadCall {
    /// What a parser says of a body, with the field in whose value it was, if in any ([`crate::strict::read`]).
    pub fn unread(kind: BadCallKind, field: Option<&str>, error: &dyn std::fmt::Display) -> BadCall {
        let detail = match field {
            Some(field) => format!("{field}: {error}"),
            None => error.to_string(),
        };
        BadCall { kind, detail }
    }
}

/// Sorts of bad calls; a server answers 400, 422 and 404.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadCallKind {
    /// Not JSON at all.
    Malformed,
    /// JSON of another shape, or a value out of its range.
    Invalid,
    /// Well-formed, and names something that does not exist.
    Unknown,
}
