//! Options of `verify`.

use super::values::span;
use super::{OutArgs, ServerArgs, Shards};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Server to verify: a running server, `http://127.0.0.1:8080`, or a subject through HTTP that Stackmark
    /// starts on private data, `catalogue/postgres/axum+tokio-postgres`. With --server: one of the subjects
    /// that the server offers.
    #[arg(required_unless_present = "source")]
    pub(crate) target: Option<String>,
    /// Verify the server in this folder, which has a `server.toml` (docs/servers.md); with @REVISION as it was at that
    /// revision of its git repository.
    #[arg(long = "server", value_name = "PATH[@REVISION]")]
    pub(crate) source: Option<String>,
    /// The workload that a running server serves: `catalogue`.
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) workload: Option<String>,
    /// Database of a running server, loaded with `stackmark load --golden`; for a subject that Stackmark
    /// starts, the database server on which a scratch database is created. Without it the data of a running
    /// server is not checked.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    #[command(flatten)]
    pub(crate) shards: Shards,
    /// Rules to check: `golden,race/lost-update`; `race` means all races [default: all rules].
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Time for which idle connections are watched. The contract requires servers to keep them open for 150
    /// s; with a shorter time the rule is not checked unless a connection is closed within it.
    #[arg(long, default_value = "150s", value_name = "TIME", value_parser = span, allow_hyphen_values = true)]
    pub(crate) idle: Duration,
    /// Seed of random calls.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// File for the verdicts as JUnit test cases.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}
