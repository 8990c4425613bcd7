//! The load generator: pace, workers, phases.
