//! One trial, from a deployment to a result: load, audit, conform, drive, settle, audit; and the runner that carries out a
//! schedule of trials, each from a restored state.
//!
//! In reading order: `job` (one trial), `validate` (what validates its number), `bench` (places with their data, and trials
//! on copies of them), `runner` (a schedule, trial by trial), `stored` (what a run that was cut off has). A run's folder is
//! written as it goes: `folder`, `run_state`.

mod alternation;
mod announced;
mod blank;
mod closing;
mod consumed;
mod deployed;
mod destination;
mod folder;
mod follow;
mod headline;
mod job;
mod last_answer;
mod lock;
mod lookups;
mod merge;
mod moments;
mod parts;
mod processes;
mod reach;
mod relaying;
mod reporter;
mod resumed_trials;
mod run_state;
mod runner;
mod server_admin;
mod settle;
mod steady;
mod trial_runner;
mod turn_watch;
mod validate;

pub use consumed::{audit_consumer, consumer_checks};
pub use destination::{Arrived, Destination, Recorded};
pub use folder::{ClaimsFile, Folder, document, read_claims};
pub use job::{Before, EndEarly, Job, PartOfRun, is_empty};
pub use lock::{MachineLock, hold};
pub use merge::{PartResult, PartResults};
pub use parts::{ClockOffset, PART_FILE, PartFile, Seat, SharedHead, SharedPlan, head, part_file, read_part};
pub use processes::roles;
pub use reach::{of_server, reach};
pub use reporter::{RunReporter, SliceView, TrialReporter};
pub use resumed_trials::{is_of_plan, machine_difference};
pub use run_state::{RunContext, RunState, SavedPlan};
pub use runner::{FinishedRun, begin, resume};
pub use server_admin::ServerAdmin;
pub use settle::{Interval, finish, settle};
pub use trial_runner::TrialRunner;
pub use validate::{
    After, Asking, after, audits, before, conformance, evidence, forbids, ledger, no_conformance,
    own_conformance, reachable,
};
