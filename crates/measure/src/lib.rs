//! Clock, tape, histograms, slices, intervals, comparison: everything between a call's end and a number.

mod clock;

pub use clock::{Monotonic, unix_seconds};
