//! Samples processes, the machine and a disk during a trial, so that a result can say what each part cost, who was
//! saturated, and whether something else used the machine.
//!
//! One light thread reads counters that the kernel keeps anyway.
//! Linux only, through `/proc`. Elsewhere it compiles and runs, and [`Observation::not_observed`] says so.
//!
//! An engine is asked about itself as well, through an [`EngineProbe`] that someone else provides, on a thread of its
//! own.
//!
//! Knows nothing of workloads, engines or trials: roles and a window are all it is told.

mod digest;
mod document;
mod engine;
mod engine_digest;
#[cfg(target_os = "linux")]
mod family;
mod file_system;
#[cfg(target_os = "linux")]
mod kernel;
mod listener;
mod machine;
#[cfg_attr(target_os = "linux", path = "probe_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "probe_elsewhere.rs")]
mod probe;
mod reading;
mod several;
mod speed;
mod spliced;
mod watch;

pub use document::Observation;
pub use engine::{EngineProbe, Gauge, SessionState, StatementCount};
pub use file_system::FileSystem;
pub use listener::{Listening, is_here, listener};
pub use machine::machine;
pub use speed::Probing;
pub use watch::{ObserveError, Options, Usage, Watch, Watched};
