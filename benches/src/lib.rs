//! Shared parts of the benches: a small database in memory, pairs of measurements, and how they are printed.

pub mod by_hand;
pub mod memory;
pub mod pairs;
