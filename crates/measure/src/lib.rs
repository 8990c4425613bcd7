//! Clock, tape, histograms, slices, intervals, comparison: everything between a call's end and a number.
//!
//! # What belongs where
//! - A call belongs to the phase in which it was **due**: the call counts and the latencies of a trial cover exactly the
//!   calls that were due in the measured window, including those that ended in the drain after it.
//! - The rate counts calls that committed **within** the window, whenever they were due ([`KindTotals::ended`]): past
//!   its capacity a system works off calls that were due long ago, and in a closed loop the calls under way at the
//!   window's edges cancel. [`Backlog`] says what waited for a worker at both ends of the window.
//! - [`Slice`]s are by **end** time and cover everything that ended in them, whenever it was due; each says the phase
//!   in which it lies. Slices of the warm-up are kept, and marked.
//! - The ledger covers every call of every phase, because the store has seen all of them.
//!
//! # How a record travels
//! A [`Tape`] writes into a [`Page`] that it owns. At a slice's end it hands the page to the [`Collector`] through a
//! lock-free ring and takes an empty one; pages circulate, and nothing is allocated, locked or shared in a call.
//!
//! This crate knows no engine, no protocol, no workload, and does not know how calls are made.

mod adjust;
mod call_counts;
mod clock;
mod clocked;
mod collector;
mod compare;
mod decline_rise;
mod intervals;
mod knee;
mod latencies;
mod order;
mod page;
mod pulse;
mod silence;
mod spectrum;
mod stages;
mod steady;
mod stopping;
mod student;
mod tape;
mod timeline;
mod totals;
mod trial_facts;
mod usl;

pub use adjust::{Adjusted, Observed, ObservedBlock, adjust};
pub use call_counts::{CallCounts, Class, Imbalance};
pub use clock::{Monotonic, thread_cpu, unix_nanoseconds, unix_seconds};
pub use clocked::{ClockedSums, FacetTotals, StatementSum};
pub use collector::{Collected, Collector, Slice, SliceTimes, circulation, mean_rate, measured_length};
pub use compare::{
    BLOCKS_MIN, Better, Comparison, Terms, Verdict, blocks_to_tell, compare, group_ratios,
    minimum_detectable_effect, ratio_to_base,
};
pub use intervals::{RateInterval, mean_interval, rate_interval};
pub use knee::{KNEE_BEYOND, KNEE_SHARE, knee};
pub use latencies::{BEYOND_MIN, Latencies, Summary};
pub use order::{Design, turns};
pub use page::Page;
pub use pulse::{Gap, Pulse};
pub use spectrum::{SliceSpectra, Spectrum, join_slices};
pub use stages::StageTotals;
pub use steady::{Steadiness, steadiness};
pub use stopping::{BLOCKS_BEFORE_LOOKS, LOOKS, is_narrow_enough};
pub use tape::{Moments, Tape};
pub use timeline::{Phase, Timeline, Window};
pub use totals::{Backlog, EndedCalls, KindTotals, Times, TimesKept, Totals, WorkSums};
pub use trial_facts::{deferred, fill, quantiles};
pub use usl::{Estimate, LOADS_MIN, LoadRates, UslFit, usl};
