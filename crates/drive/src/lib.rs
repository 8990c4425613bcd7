//! The load generator: pace, workers, phases.
//!
//! [`run`] opens one session a worker, lets every worker make calls as the [`Plan`] says, and returns a [`Trial`]: the
//! call counts, the latencies, the slices and the ledger. The loop that makes the calls is in `worker.rs`, and is the same for
//! every kind of arrivals; how it waits is a parameter, so that it runs in virtual time as well.
//!
//! Which call belongs to which phase is said in the documentation of [`measure`].
//!
//! This crate knows no SQL, no HTTP and no workload.

mod alarm;
mod arrivals;
mod control;
mod crew;
mod outage;
mod pacer;
mod parts;
#[cfg(test)]
mod parts_tests;
mod plan;
mod rounds;
#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod simulation;
mod stages;
mod timer;
#[cfg(test)]
#[path = "../tests/it/toy/mod.rs"]
mod toy;
mod trial;
mod worker;
#[cfg(test)]
mod worker_tests;

pub use control::Stop;
pub use outage::Outage;
pub use plan::{Arrivals, Deferred, Part, PartError, Plan, PlanError, RatePerSecond, Rounds, Think, shares};
pub use stages::Stage;
pub use trial::{Generator, LoadGenerator, Observer, Round, RunError, Trial, TrialProgress, run};
pub use worker::CLOCKED_EVERY;
