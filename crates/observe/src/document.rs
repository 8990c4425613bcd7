//! What an observation says, in the words of the result document.

use result::{Disk, Engine, Machine, MachineWide, Process, Writeback};

/// Everything seen between the start and the stop of a watch. Sums and shares are over the window; time lines are over the
/// whole watch, in seconds from the opening of the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The length of the window in seconds.
    pub window_s: f64,
    /// What the machine is, and what took its processors.
    pub machine: Machine,
    /// What the watched processes did, in the order in which they were given: each with one role, and without what it cost a
    /// call and what it was held to.
    ///
    /// The generator stands for itself alone, because the others may be its children; every other one stands for itself with
    /// all its descendants, those that have ended included. CPU time has the kernel's resolution, 10 ms on most systems.
    pub processes: Vec<Process>,
    /// What the kernel took to write back and keep journals, without what that cost a call; `None` where the machine was not
    /// observed at all.
    pub writeback: Option<Writeback>,
    /// What the whole machine did; `None` where it cannot be observed.
    pub machine_wide: Option<MachineWide>,
    /// What the engine reported, that of several stores summed; `None` where it was not asked.
    pub engine: Option<Engine>,
    /// What the block devices under the watched paths did, for all their users: of several by the names of all, summed but
    /// for the time in which they were busy, which is that of the busiest. `None` for file systems without one.
    pub disk: Option<Disk>,
    /// What could not be observed and why, a clause each. Empty when all was.
    pub not_observed: Vec<String>,
}
