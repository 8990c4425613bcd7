//! Experiments: variants in interleaved blocks of trials, each from a restored state, and a verdict for each.

pub(crate) mod bench;
mod place;
pub(crate) mod plan;
