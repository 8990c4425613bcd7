//! Options of `verify`.

use super::values::span;
use super::{Out, ServerArgs, Shards};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// What to verify: a server that is running, `http://127.0.0.1:8080`, or a subject through HTTP that is started here on
    /// private data, `catalogue/postgres/axum+tokio-postgres`. With --server which of the subjects that it serves, where
    /// there are several.
    #[arg(required_unless_present = "source")]
    pub(crate) target: Option<String>,
    /// Verify the server in this folder, which has a `server.toml` (docs/servers.md); with @REVISION as it was at that
    /// revision of its git repository.
    #[arg(long = "server", value_name = "PATH[@REVISION]")]
    pub(crate) source: Option<String>,
    /// The workload that a running server serves: `catalogue`.
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) workload: Option<String>,
    /// The database behind a running server, loaded with `stackmark load --golden`; where a subject is started, the server
    /// on which a database of ours is made for it. Without it no one looks at what a running server stores.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    #[command(flatten)]
    pub(crate) shards: Shards,
    /// Look at these rules only: `golden,race/lost-update`; `race` is all races. Of the others nothing is said.
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// How long idle connections are watched. The contract has servers keep them open for 150 s; a shorter time saves waiting, and
    /// whether they do is then unknown unless one is closed within it.
    #[arg(long, default_value = "150s", value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    pub(crate) idle: Duration,
    /// Seed of random calls.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Write the verdicts to this file too, as test cases for CI.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) out: Out,
}
