//! Groups of options that several commands share.

use crate::live;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args, Clone)]
pub(crate) struct Out {
    /// Folder in which each run gets one of its own.
    #[arg(long, default_value = "results")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct LiveArgs {
    /// Show the run on a web page while it goes on: at this address, or at a free port of 127.0.0.1 that is printed.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = live::listen)]
    pub(crate) live: Option<SocketAddr>,
    /// Serve the counters of the run to Prometheus at this address, under /metrics.
    #[arg(long, value_name = "ADDR", value_parser = live::listen)]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct Checks {
    /// Exit with 1, and say why, if any audit of the stored data did not run: at --url without --db nobody looks at the
    /// data, and a second Ctrl-C ends the audits.
    #[arg(long)]
    pub(crate) require_audit: bool,
}
