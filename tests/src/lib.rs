//! What the tests of the whole share: the rules of the repository as functions that take plain data and return what
//! breaks them, so that each rule is itself tested on a made-up offender; and the way to the repository and its binary.

pub mod edges;
pub mod examples;
pub mod repository;
pub mod sources;
