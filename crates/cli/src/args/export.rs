//! Options of `stackmark export`.

use super::values::calls;
use super::{Amounts, MixArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(subcommand)]
    pub(crate) tool: ExportTool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExportTool {
    /// Script for k6; run it unchanged: `k6 run -e BASE_URL=http://127.0.0.1:8080 script.js`.
    K6(ExportK6),
}

#[derive(Debug, Args)]
pub(crate) struct ExportK6 {
    /// The workload: `catalogue`.
    #[arg(long)]
    pub(crate) workload: String,
    #[command(flatten)]
    pub(crate) amounts: Amounts,
    /// Clients (VUs), each with its own calls, one at a time.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) clients: u32,
    /// Calls in the script over all clients, rounded up to the same number for each.
    #[arg(long, value_name = "N", default_value_t = 4_000, value_parser = calls, allow_hyphen_values = true)]
    pub(crate) calls: u64,
    #[command(flatten)]
    pub(crate) mix: MixArgs,
    /// Seed of inputs.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Write to this file instead of standard output.
    #[arg(long, short)]
    pub(crate) output: Option<PathBuf>,
}
