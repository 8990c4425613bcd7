//! Options of drills.

use super::values::{span, weights};
use super::{Amounts, EngineArgs, OutArgs, Weights};
use clap::Args;
use deploy::SinkKind;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct Drill {
    /// Subject to test: `workload/engine/adapter`, for example `transfer/postgres/axum+tokio-postgres/2pc`.
    pub(crate) subject: String,
    /// Number of faults, injected one after the other, each with its own load and audits.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) faults: u32,
    /// Inject faults only into these: `generator`, `server`, `engine` (of any store; of a cluster all nodes), `node` (any of
    /// a cluster, or `node-2`), `relay`, `broker`, `consumer`, `storage` (of SQLite's files); optionally with the fault:
    /// `server:kill`, `engine:pause`, `server:cut-off`, `node-1:cut-off` (from the other nodes), `engine:power-cut`, `relay:kill-after-publishing`, `server:kill-after-prepare`, `broker:disk-full` (needs root on
    /// Linux).
    #[arg(long, value_delimiter = ',', value_name = "COMPONENT[:FAULT]")]
    pub(crate) only: Vec<String>,
    /// Inject power cuts of the storage only. For PostgreSQL and MariaDB this needs root on Linux; files of SQLite are then on
    /// an ext4 file system that is shut down. Otherwise, and with `--only storage`, their unflushed writes are undone.
    #[arg(long, conflicts_with = "only")]
    pub(crate) power_cut: bool,
    /// Number of stores that the data is split over, each with its own engine [default: 2 if calls cross
    /// stores, otherwise 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(super::SHARDS_MAX)))]
    pub(crate) shards: Option<u32>,
    #[command(flatten)]
    pub(crate) amounts: Amounts,
    /// Rate of the open loop in calls/s.
    #[arg(long, default_value_t = 200.0, value_parser = rate)]
    pub(crate) rate: f64,
    /// Number of clients, each with at most one call in flight.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) clients: u32,
    /// Kinds of call instead of the workload's mix: `cross-transfer=1` for transfers between stores only.
    #[arg(long, value_name = "KIND=WEIGHT,…", value_parser = weights)]
    pub(crate) mix: Option<Weights>,
    /// Seed of the faults, their moments and the calls.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Longest time of a call; after it the call is in doubt.
    #[arg(long, default_value = "10s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) deadline: Duration,
    /// Longest wait for acknowledged work to settle before the stored data is audited.
    #[arg(long, default_value = "60s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) settle: Duration,
    /// Destination of messages: `file`, or `kafka`, a topic on a private broker; faults are then also injected into the broker
    /// [default: file].
    #[arg(long)]
    pub(crate) sink: Option<SinkKind>,
    /// Maximum messages per batch of the relay, 1 to 10,000 of an outbox, 1 to 64 between stores [default: 500, between stores 64].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::BATCH_MAX)))]
    pub(crate) batch: Option<u32>,
    /// Connections of the relay between stores to each of them, 1 to 16, one for each direction between two stores at most.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::CONNECTIONS_MAX)))]
    pub(crate) relay_connections: u32,
    /// Start a consumer with an inbox, which processes each published message exactly once; faults are then also injected into it.
    #[arg(long)]
    pub(crate) consumer: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// The workload.
    #[arg(long, env = "STACKMARK_WORKLOAD")]
    pub(crate) workload: String,
    /// The databases in their order.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true)]
    pub(crate) db: Vec<String>,
    /// Destination of messages, in styles `dual-write` and `log-first`.
    #[arg(long, env = "STACKMARK_SINK", hide_env_values = true)]
    pub(crate) sink: Option<String>,
    /// What is to be done, as JSON.
    pub(crate) order: String,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (1.0..=100_000.0).contains(&rate) => Ok(rate),
        _ => Err("a rate is 1 to 100000 calls per second".into()),
    }
}
