//! Groups of options that several commands share.

use super::values::{calls, rate, span, stages, think, weights};
use super::{ArrivalsArg, DeliveryArg, Stages, ThinkArg, Weights};
use crate::live;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use model::{Mix, Skew, Workload};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use workload::Benchmark;

#[derive(Debug, Args, Clone, PartialEq)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutArgs {
    /// Folder that receives a new folder for each run.
    #[arg(long, short, default_value = "results")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args, Clone, Default, PartialEq)]
#[command(next_help_heading = "Output")]
pub(crate) struct LiveArgs {
    /// Serve a live web page of the run at this address [default address: a free port of 127.0.0.1, which is
    /// printed].
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_parser = live::listen)]
    pub(crate) live: Option<SocketAddr>,
    /// Serve metrics of the run for Prometheus at this address, under /metrics.
    #[arg(long, value_name = "ADDR", value_parser = live::listen)]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Debug, Args, Clone, Default, PartialEq)]
#[command(next_help_heading = "Checks")]
pub(crate) struct Checks {
    /// Exit status 1 if an audit of the stored data did not run: with --url and without --db the data is not
    /// audited, and a second Ctrl-C ends the audits.
    #[arg(long)]
    pub(crate) require_audit: bool,
}

/// Default of the measured time, and the most that a number of calls may take.
const DURATION: Duration = Duration::from_secs(60);
const DURATION_OF_CALLS: Duration = Duration::from_secs(24 * 3600);

impl PlanArgs {
    /// The measured time.
    pub(crate) fn duration(&self) -> Duration {
        let otherwise = if self.calls.is_some() { DURATION_OF_CALLS } else { DURATION };
        self.duration.unwrap_or(otherwise)
    }
}

#[derive(Debug, Args, Clone, Default, PartialEq)]
#[command(next_help_heading = "Load")]
pub(crate) struct MixArgs {
    /// Kinds of call instead of the workload's mix, with their relative weights: `new-order=45,payment=43`.
    /// Other kinds are not called.
    #[arg(long, value_name = "KIND=WEIGHT,…", value_parser = weights)]
    pub(crate) mix: Option<Weights>,
    /// Only this kind of call: `payment`.
    #[arg(long, value_name = "KIND", conflicts_with = "mix")]
    pub(crate) only: Option<String>,
    /// Skewed choice of rows: `zipf:0.99`, or `hot:10:50%` for ten rows that get half of the draws. See the
    /// workload's page for the rows [default: the workload's distribution].
    #[arg(long, value_name = "SKEW")]
    pub(crate) skew: Option<Skew>,
}

impl MixArgs {
    /// The skew that was asked for, if any was.
    pub(crate) fn skew_of<W: Benchmark>(&self) -> Result<Option<Skew>> {
        match self.skew {
            Some(skew) if !W::SKEWS => {
                bail!("--skew {skew}: {} draws its rows as it is specified; leave --skew out", W::NAME)
            }
            skew => Ok(skew),
        }
    }

    /// The option that a mix was asked for with.
    pub(crate) fn option(&self) -> &'static str {
        if self.only.is_some() { "--only" } else { "--mix" }
    }

    /// The mix of a workload's calls that was asked for, if any was.
    pub(crate) fn of<W: Workload>(&self) -> Result<Option<Mix>> {
        let only = self.only.iter().map(|kind| vec![(kind.clone(), 1.0)]).next();
        let weights = self.mix.as_ref().map(|weights| weights.0.clone()).or(only);
        let mix = weights.map(|weights| Mix::of(W::KINDS, &weights)).transpose();
        mix.map(Option::flatten).map_err(|error| anyhow!("{}: {error}", self.option()))
    }
}

#[derive(Debug, Args, Clone, PartialEq)]
#[command(next_help_heading = "Load")]
pub(crate) struct PlanArgs {
    /// Clients, each with one call in flight [default: 8; with --think spec ten per warehouse].
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: Option<u32>,
    /// Measurement window [default: 60s; with --calls as long as they take, at most a day; in `compare` 12s per block for
    /// sides that make calls in turn].
    #[arg(long, short, value_parser = span, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Number of calls after which the measurement window ends, over all clients.
    #[arg(long, value_name = "N", value_parser = calls, allow_hyphen_values = true, conflicts_with = "through_checkpoints")]
    pub(crate) calls: Option<u64>,
    /// Warm-up before the measurement window.
    #[arg(long, short, default_value = "10s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup: Duration,
    /// Longest warm-up: on engines that count their WAL the warm-up continues until the WAL per commit is
    /// stable [default: four times --warmup].
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup_max: Option<Duration>,
    /// Complete at least two checkpoints of a private PostgreSQL within the measurement window, which must be
    /// at least 75 s.
    #[arg(long, conflicts_with = "warmup_max")]
    pub(crate) through_checkpoints: bool,
    /// Rate of an open loop in calls/s over all clients: calls are due whether or not earlier ones have
    /// ended.
    #[arg(long, short, group = "open_loop", conflicts_with = "think", value_parser = rate, allow_hyphen_values = true)]
    pub(crate) rate: Option<f64>,
    /// Stages of an open loop, each with its length and rate in calls/s: `30s@100,1m@500,10s@2000`;
    /// `30s@100~500` rises linearly from 100 to 500. Their sum is the measurement window.
    #[arg(long, group = "open_loop", conflicts_with_all = ["think", "duration", "calls", "warmup_max", "through_checkpoints"], value_parser = stages, allow_hyphen_values = true)]
    pub(crate) stages: Option<Stages>,
    /// Arrival process of an open loop.
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson, requires = "open_loop")]
    pub(crate) arrivals: ArrivalsArg,
    /// Think times: `spec` for the keying and think times of the standard with ten clients per warehouse;
    /// `100ms` for a fixed time after each call; `exp:100ms` for a negative exponential time with that mean,
    /// cut at ten times the mean; or `none`.
    #[arg(long, default_value = "none", value_parser = think, allow_hyphen_values = true)]
    pub(crate) think: ThinkArg,
    #[command(flatten)]
    pub(crate) mix: MixArgs,
    /// Execution of Delivery: while its client waits, or queued and executed within 80 s.
    #[arg(long, value_enum, default_value_t = DeliveryArg::Inline)]
    pub(crate) delivery: DeliveryArg,
    /// Longest time of a call; after it the call is in doubt.
    #[arg(long, default_value = "30s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) deadline: Duration,
    /// Longest wait after the window for calls that were due in it.
    #[arg(long, default_value = "30s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) drain: Duration,
    /// Longest wait after that for acknowledged work to settle, such as events that are not published yet,
    /// before the stored data is audited.
    #[arg(long, default_value = "60s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) settle: Duration,
    /// Threads of the load generator for an HTTP subject; a direct subject on SQLite has one per client.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub(crate) generator_threads: u32,
    /// Seed of inputs, arrivals and think times.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}
