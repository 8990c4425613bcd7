//! Samples processes and the machine during a trial.
