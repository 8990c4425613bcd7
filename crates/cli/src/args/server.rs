//! Options of servers and relays.

use super::values::{span, threads};
use clap::Args;
use deploy::{RelayOptions, SinkKind};
use model::{Connections, HttpOptions, Transport};
use relay::Polling;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args, Clone, Default, PartialEq)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Database sessions of the HTTP server [default: as many as clients, at most 64].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) pool: Option<u32>,
    /// Threads of the HTTP server besides its sessions [default: half the cores].
    #[arg(long, value_parser = threads)]
    pub(crate) server_threads: Option<usize>,
    /// What carries HTTP to a server that is started here: `tcp`, `unix` (a unix socket) or `tls` (TLS 1.3 over TCP) [default: tcp].
    #[arg(long)]
    pub(crate) transport: Option<Transport>,
    /// Connections of clients to the HTTP server: `keep` (one for all calls of a client) or `per-call` (each call opens one) [default:
    /// keep].
    #[arg(long)]
    pub(crate) connections: Option<Connections>,
    /// Destination of messages: `file` is a file in the folder of the run; `kafka` creates a topic for each trial, on a private broker or
    /// on the one given by `--db broker=ADDRESS`; `null` discards them [default: file].
    #[arg(long)]
    pub(crate) sink: Option<SinkKind>,
    /// Wait of the relay after a batch that was not full: `adaptive` (2 to 8 ms, doubling up to 500 ms while there are no rows), or a fixed
    /// time of 1ms to 60s [default: adaptive; in style `outbox-notify` 500ms].
    #[arg(long)]
    pub(crate) polling: Option<Polling>,
    /// Maximum messages per batch of the relay, 1 to 10,000 of an outbox, 1 to 64 between stores [default: 500, between stores 64].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::BATCH_MAX)))]
    pub(crate) batch: Option<u32>,
    /// Connections of the relay between stores to each of them, 1 to 16, one for each direction between two stores at most [default: 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::CONNECTIONS_MAX)))]
    pub(crate) relay_connections: Option<u32>,
    /// Partitions of the Kafka topic, 1 to 1,000 [default: 4].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::PARTITIONS_MAX)))]
    pub(crate) partitions: Option<u32>,
    /// Start a consumer with an inbox, which processes each published message exactly once. What it processed is checked too.
    #[arg(long)]
    pub(crate) consumer: bool,
}

impl ServerArgs {
    pub(crate) fn http(&self) -> HttpOptions {
        HttpOptions {
            transport: self.transport.unwrap_or_default(),
            connections: self.connections.unwrap_or_default(),
        }
    }

    pub(crate) fn relaying(&self, limits: Option<rig::Limits>) -> RelayOptions {
        let RelayOptions { sink, connections, partitions, .. } = RelayOptions::default();
        RelayOptions {
            limits,
            sink: self.sink.unwrap_or(sink),
            polling: self.polling,
            batch: self.batch,
            connections: self.relay_connections.unwrap_or(connections),
            partitions: self.partitions.unwrap_or(partitions),
            consumer: self.consumer,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Consume {
    /// Source of the messages: `file:PATH` (one per line), or `kafka://[USER@]HOST:PORT/TOPIC` (the password is in
    /// STACKMARK_BROKER_PASSWORD).
    #[arg(long, env = "STACKMARK_SOURCE", hide_env_values = true)]
    pub(crate) from: String,
    /// SQLite file of the inbox; created if it does not exist, otherwise it must be an inbox of the same source. `consume` resumes from
    /// the offsets stored in it.
    #[arg(long, env = "STACKMARK_INBOX", value_name = "PATH")]
    pub(crate) inbox: PathBuf,
    /// Listen address of the HTTP endpoints /health and /about; port 0 picks a free one.
    #[arg(long, env = "STACKMARK_LISTEN", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Stop when standard input ends, so that the consumer ends with its parent process.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Relay {
    /// The workload: `transfer` (sagas) or `booking` (an outbox).
    #[arg(env = "STACKMARK_WORKLOAD")]
    pub(crate) workload: String,
    /// Driver and style of the calls [default: the engine's first subject in style `saga` or `outbox`].
    #[arg(long, env = "STACKMARK_ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// The stores, in order: `shard-0=URL` and so on. From the environment the others are `STACKMARK_DB_1` and so on.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, required = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    /// Listen address of the HTTP endpoints /health and /about; port 0 picks a free one.
    #[arg(long, env = "STACKMARK_LISTEN", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Retention time of a transfer's idempotency key; longer than any run that makes calls meanwhile.
    #[arg(long, default_value = "24h", value_parser = span, allow_hyphen_values = true)]
    pub(crate) keep_keys: Duration,
    /// Destination of the messages of an outbox: `file:PATH` (a line of JSON for each, appended); `kafka://[USER@]HOST:PORT/TOPIC`
    /// (an existing topic; the password is in STACKMARK_BROKER_PASSWORD); or `null`: rows are removed from the outbox and nothing is
    /// published. Required for an outbox.
    #[arg(long, env = "STACKMARK_SINK", hide_env_values = true)]
    pub(crate) sink: Option<String>,
    /// Wait after a batch of an outbox that was not full: `adaptive` (2 to 8 ms, doubling up to 500 ms while there are no rows), or a fixed
    /// time of 1ms to 60s [default: adaptive; in style `outbox-notify`, which is also notified, 500ms].
    #[arg(long, env = "STACKMARK_POLLING")]
    pub(crate) polling: Option<Polling>,
    /// Maximum messages per batch, 1 to 10,000 of an outbox, 1 to 64 between stores [default: 500, between stores 64].
    #[arg(long, env = "STACKMARK_BATCH", value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::BATCH_MAX)))]
    pub(crate) batch: Option<u32>,
    /// Connections to each store, 1 to 16, one for each direction between two stores at most.
    #[arg(long, env = "STACKMARK_RELAY_CONNECTIONS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::CONNECTIONS_MAX)))]
    pub(crate) relay_connections: u32,
    /// Exit by SIGKILL after a batch was acknowledged, before its rows are removed: for drills.
    #[arg(long, hide = true, env = "STACKMARK_ENDS_AFTER_PUBLISHING", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) ends_after_publishing: bool,
    /// Stop when standard input ends, so that the relay ends with its parent process.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}
