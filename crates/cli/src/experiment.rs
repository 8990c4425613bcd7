//! Experiments: variants in interleaved blocks of trials, each from a restored state, and a verdict for each.

pub(crate) mod bench;
pub(crate) mod conclude;
mod doubt;
pub(crate) mod factors;
pub(crate) mod file;
pub(crate) mod lock;
pub(crate) mod metric;
mod place;
pub(crate) mod plan;

pub(crate) use place::go_through_checkpoints;
