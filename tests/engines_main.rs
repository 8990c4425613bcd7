//! The `stackmark` binary on PostgreSQL and MariaDB as a user meets it: every subject of the list, databases of other tools
//! and of pgbench, private engines, what they are told and held to.
//!
//! One program, so that each engine is started and loaded once.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

#[expect(dead_code, reason = "shared with the tests of SQLite, which use all of it")]
mod e2e_impostor;
#[expect(dead_code, reason = "shared with the tests of SQLite, which use all of it")]
mod e2e_workdir;
mod engines_drill;
mod engines_galera;
mod engines_languages;
mod engines_mysql;
mod engines_parts;
mod engines_private;
mod engines_readme;
mod engines_spider;
mod engines_subjects;
mod engines_tls;
mod engines_tools;
mod engines_transfer;
mod engines_untried;
mod engines_verify;
mod engines_workdir;
