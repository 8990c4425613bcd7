//! The `stackmark` binary as a user meets it: what is typed, what is printed, how it ends, and what is left on the disk
//! when it is interrupted, killed, given nonsense or lied to.
//!
//! One program for all of it, so that the database they share is loaded once.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod e2e_against;
mod e2e_audited;
mod e2e_bad_input;
mod e2e_booking;
mod e2e_complete;
mod e2e_confirm;
mod e2e_dist;
mod e2e_drill;
mod e2e_experiments;
mod e2e_export;
mod e2e_extremes;
mod e2e_fuzzed;
mod e2e_gaps;
mod e2e_impostor;
mod e2e_in_use;
mod e2e_interrupted;
mod e2e_invalid;
mod e2e_live;
mod e2e_loads;
mod e2e_own_load;
mod e2e_parts;
mod e2e_paths;
mod e2e_plans;
mod e2e_resumed;
mod e2e_resumed_loads;
mod e2e_revisions;
mod e2e_saga;
mod e2e_servers;
mod e2e_shapes;
mod e2e_slo;
mod e2e_statements;
mod e2e_stores;
mod e2e_subjects;
mod e2e_topics;
mod e2e_toy;
mod e2e_transport;
mod e2e_turns;
mod e2e_verify;
mod e2e_workdir;
mod e2e_wrong_answers;
