//! What is run by one process, or by several.

use super::{Checks, DataArgs, EngineArgs, LiveArgs, OutArgs, PartArg, PlanArgs, ServerArgs, StartArg};
use clap::Args;
use std::path::PathBuf;

/// What a plan for several processes says already: options that a part of it does not take.
const OF_PLAN: [&str; 46] = [
    "subject",
    "source",
    "slo",
    "shards",
    "scale",
    "events",
    "stock",
    "limited",
    "users",
    "quantity",
    "write_plan",
    "clients",
    "duration",
    "calls",
    "warmup",
    "warmup_max",
    "through_checkpoints",
    "rate",
    "stages",
    "arrivals",
    "think",
    "mix",
    "only",
    "skew",
    "delivery",
    "deadline",
    "drain",
    "settle",
    "generator_threads",
    "seed",
    "pool",
    "server_threads",
    "transport",
    "connections",
    "sink",
    "polling",
    "batch",
    "relay_connections",
    "partitions",
    "consumer",
    "durability",
    "limit",
    "statement_statistics",
    "engine_bin",
    "setting",
    "require_audit",
];

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Subject to measure: `workload/engine/adapter`, for example `tpcc/sqlite/rusqlite`; `tpcc/postgres`
    /// means its default adapter. With --server: one of the subjects that the server offers.
    #[arg(required_unless_present_any = ["source", "shared_plan"])]
    pub(crate) subject: Option<String>,
    /// Measure the server in this folder, which has a `server.toml` (docs/servers.md); with @REVISION as it was at that
    /// revision of its git repository (a branch, a tag, a commit), built in a work tree of its own.
    #[arg(long = "server", value_name = "PATH[@REVISION]", conflicts_with = "url")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Measure a server that is already running, for example `http://127.0.0.1:8080`.
    #[arg(long, help_heading = "Target")]
    pub(crate) url: Option<String>,
    /// Limit that the result must meet: of a response time (`p99<50ms`, `new-order.p99<50ms`), of committed calls per second
    /// (`rate>1000`), or of the share of calls that failed or were dropped (`errors<0.1%`); several by several options or commas.
    /// Exit status 1 if one is missed, 3 if too few calls leave one inconclusive.
    #[arg(long, value_name = "LIMIT", help_heading = "Checks")]
    pub(crate) slo: Vec<String>,
    /// Write a plan into this file that several processes can carry out together, and make no call.
    #[arg(long, value_name = "FILE", help_heading = "Several processes", conflicts_with_all = ["part", "slo"])]
    pub(crate) write_plan: Option<PathBuf>,
    /// Carry out a part of this plan.
    #[arg(
        long = "plan", value_name = "FILE", help_heading = "Several processes", requires = "part",
        conflicts_with_all = OF_PLAN
    )]
    pub(crate) shared_plan: Option<PathBuf>,
    /// Which part, of how many: `1/4`.
    #[arg(long, value_name = "I/N", help_heading = "Several processes", requires = "shared_plan")]
    pub(crate) part: Option<PartArg>,
    /// When calls begin, by the clock of the database: `2026-11-29T10:00:00Z`, or `@` with seconds of Unix time [default: as soon as
    /// all sessions are open].
    #[arg(long, value_name = "TIME", help_heading = "Several processes", requires = "shared_plan")]
    pub(crate) start_at: Option<StartArg>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) checks: Checks,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// What the parts of a run have left: their folders, or the files `part.json` in them.
    #[arg(required = true)]
    pub(crate) parts: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// The server that the parts have called.
    #[arg(long, help_heading = "Target")]
    pub(crate) url: Option<String>,
    /// Limit that the result must meet, as `run` has it.
    #[arg(long, value_name = "LIMIT", help_heading = "Checks")]
    pub(crate) slo: Vec<String>,
    #[command(flatten)]
    pub(crate) checks: Checks,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn a_part_of_a_plan_takes_no_option_that_the_plan_says_already() {
        let mut cli = Cli::command();
        cli.build();
        let run = cli.find_subcommand("run").unwrap();
        let plan = run.get_arguments().find(|arg| arg.get_id() == "shared_plan").unwrap();
        let refused: Vec<&str> =
            run.get_arg_conflicts_with(plan).iter().map(|arg| arg.get_id().as_str()).collect();
        // Where calls go, and where what they come to is put and shown.
        let its_own = ["db", "url", "part", "start_at", "out", "live", "metrics", "shared_plan"];
        let everywhere = ["json", "explain", "password_file", "servers", "help"];
        let all = run.get_arguments().map(|arg| arg.get_id().as_str());
        let missing: Vec<&str> = all
            .filter(|id| !refused.contains(id) && !its_own.contains(id) && !everywhere.contains(id))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
