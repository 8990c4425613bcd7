//! Experiments: variants in interleaved blocks of trials, each from a restored state, and a verdict for each.

pub(crate) mod bench;
mod conclude;
mod doubt;
pub(crate) mod factors;
pub(crate) mod file;
pub(crate) mod lock;
pub(crate) mod metric;
mod place;
pub(crate) mod plan;
mod resume;
mod run;
mod underway;

pub(crate) use place::go_through_checkpoints;
pub(crate) use resume::go_on;
pub(crate) use run::begin;
