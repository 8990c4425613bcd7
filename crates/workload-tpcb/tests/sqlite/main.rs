//! The workload on real SQLite.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod answers;
mod audits_bite;
mod support;
