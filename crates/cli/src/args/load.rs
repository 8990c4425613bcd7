//! Options of a sweep or a search.

use super::values::span;
use super::{ArrivalsArg, DeliveryArg, MixArgs, PlanArgs, ThinkArg};
use clap::Args;
use std::time::Duration;

/// What each trial of a sweep or a search has in common.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Measurement window of each trial.
    #[arg(long, short, default_value = "20s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Warm-up before the measurement window.
    #[arg(long, short, default_value = "5s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup: Duration,
    /// Longest warm-up: on engines that count their WAL the warm-up continues until the WAL per commit is
    /// stable [default: four times --warmup].
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup_max: Option<Duration>,
    /// Complete at least two checkpoints of a private PostgreSQL within the measurement window, which must be
    /// at least 75 s.
    #[arg(long, conflicts_with = "warmup_max")]
    pub(crate) through_checkpoints: bool,
    #[command(flatten)]
    pub(crate) mix: MixArgs,
    /// Arrival process of an open loop.
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    /// Longest time of a call; after it the call is in doubt.
    #[arg(long, default_value = "30s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) deadline: Duration,
    /// Longest wait after the window for calls that were due in it; a search waits at most 5 s.
    #[arg(long, default_value = "30s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) drain: Duration,
    /// Longest wait after that for acknowledged work to settle before the stored data is audited.
    #[arg(long, default_value = "60s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) settle: Duration,
    /// Threads of the load generator for an asynchronous subject; a direct subject on SQLite has one per
    /// client.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub(crate) generator_threads: u32,
    /// Seed of inputs, arrivals, and the order of trials.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl LoadArgs {
    /// The same as a closed loop of the usual number of clients.
    pub(crate) fn closed(&self) -> PlanArgs {
        PlanArgs {
            clients: None,
            duration: Some(self.duration),
            calls: None,
            warmup: self.warmup,
            warmup_max: self.warmup_max,
            through_checkpoints: self.through_checkpoints,
            rate: None,
            stages: None,
            arrivals: self.arrivals,
            think: ThinkArg(None),
            mix: self.mix.clone(),
            delivery: DeliveryArg::Inline,
            deadline: self.deadline,
            drain: self.drain,
            settle: self.settle,
            generator_threads: self.generator_threads,
            seed: self.seed,
        }
    }
}
