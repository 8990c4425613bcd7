//! Options of servers and relays.

use super::values::{span, threads};
use clap::Args;
use deploy::{Relaying, Sink, SinkKind};
use relay::Polling;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServerArgs {
    /// Sessions behind the HTTP server [default: as many as clients, 64 at most].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) pool: Option<u32>,
    /// Threads of the HTTP server beside its sessions [default: half the cores].
    #[arg(long, value_parser = threads)]
    pub(crate) server_threads: Option<usize>,
    /// Where a relay publishes the messages of an outbox: `file` is one in the folder of the run, `null` forgets them
    /// [default: file].
    #[arg(long)]
    pub(crate) sink: Option<SinkKind>,
    /// When the relay of an outbox that has found nothing looks again: `adaptive` is after 2 to 500 ms, twice as long each time;
    /// `500ms` is always after as long [default: adaptive].
    #[arg(long)]
    pub(crate) polling: Option<Polling>,
    /// Messages of an outbox that are published together, at most [default: 500].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::BATCH_MAX)))]
    pub(crate) batch: Option<u32>,
}

impl ServerArgs {
    /// The options that are about the relay of an outbox, as far as they were given.
    pub(crate) fn of_outbox(&self) -> Option<&'static str> {
        let given = [
            ("--sink", self.sink.is_some()),
            ("--polling", self.polling.is_some()),
            ("--batch", self.batch.is_some()),
        ];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    pub(crate) fn relaying(&self, limits: Option<rig::Limits>) -> Relaying {
        let Relaying { sink, polling, batch, .. } = Relaying::default();
        Relaying {
            limits,
            sink: self.sink.unwrap_or(sink),
            polling: self.polling.unwrap_or(polling),
            batch: self.batch.unwrap_or(batch),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Relay {
    /// The workload: `transfer`.
    #[arg(env = "STACKMARK_WORKLOAD")]
    pub(crate) workload: String,
    /// Driver and style of the calls [default: the first of the engine that leaves something to a relay].
    #[arg(long, env = "STACKMARK_HOW")]
    pub(crate) how: Option<String>,
    /// The stores, in order: `shard-0=URL` and so on. From the environment the others are `STACKMARK_DB_1` and so on.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, required = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    /// Where to answer /health and /about; port 0 picks a free one.
    #[arg(long, env = "STACKMARK_LISTEN", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// How long the key of a transfer is kept from when it was made.
    #[arg(long, default_value = "24h", value_parser = span, allow_hyphen_values = true)]
    pub(crate) keep_keys: Duration,
    /// Where the messages of an outbox go: `file:PATH`, a message a line; `kafka://HOST:PORT/TOPIC`, a topic that is there; or `null`,
    /// which forgets them. The password of `kafka://USER@HOST:PORT/TOPIC` is in STACKMARK_BROKER_PASSWORD.
    #[arg(long, env = "STACKMARK_SINK", default_value = "null")]
    pub(crate) sink: Sink,
    /// When it looks again after it has found nothing in an outbox: `adaptive` (after 2 to 500 ms), or always after as long.
    #[arg(long, env = "STACKMARK_POLLING", default_value = "adaptive")]
    pub(crate) polling: Polling,
    /// Messages of an outbox that are published together, at most.
    #[arg(long, env = "STACKMARK_BATCH", default_value_t = relay::BATCH, value_parser = clap::value_parser!(u32).range(1..=i64::from(relay::BATCH_MAX)))]
    pub(crate) batch: u32,
    /// Stop when standard input ends: for whoever started this relay.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}
