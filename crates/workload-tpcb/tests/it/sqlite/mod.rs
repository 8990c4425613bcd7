//! The workload on real SQLite.

mod answers;
mod audits_bite;
mod support;
