//! Faults under load: what a subject stands on is killed, paused and cut off while calls are made, and what is stored in the
//! end is held to what was acknowledged.
//!
//! The load generator is a process of its own, so that it can be killed too: it tells its parent by a pipe of each call that it
//! begins and of each answer (`lines`, `generator`). The parent draws the same calls and keeps the ledger (`load`). What can be
//! struck is in `component`, and how in `stage`; a fault from the first call to the last audit in `rounds`; connections are cut in `proxy`.

mod component;
mod ends;
mod generator;
mod lines;
mod load;
mod proxy;
mod rounds;
mod stage;

pub use component::{COMPONENTS, Component, Parts};
pub use generator::{LoadOrder, generate};
pub use rounds::{DrillPlan, drill};
pub use stage::{ENDED_AFTER_PUBLISHING, ENDS_AFTER_PUBLISHING};
