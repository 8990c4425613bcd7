//! What a user types. Help, man page and completions all come from here.

mod amounts;
mod drill;
mod engine;
mod export;
mod load;
mod parts;
mod run;
mod server;
mod stores;
mod values;
mod verify;

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::Transport;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use values::{clients_list, rates_list, resolution, share, span, threads};

pub(crate) use amounts::Amounts;
pub(crate) use drill::{Drill, Generate};
pub(crate) use engine::EngineArgs;
pub(crate) use export::{Export, ExportK6, ExportTool};
pub(crate) use load::LoadArgs;
pub(crate) use parts::{Checks, LiveArgs, MixArgs, OutArgs, PlanArgs};
pub(crate) use run::{Merge, Run};
pub(crate) use server::{Consume, Relay, ServerArgs};
pub(crate) use stores::{SHARDS_MAX, Shards, Stores};
pub(crate) use values::{
    Limit, Limited, Loads, PartArg, Setting, Stages, StartArg, ThinkArg, Weights, programs,
};
pub(crate) use verify::Verify;

/// Benchmark full-stack transactional services, audited.
///
/// The same transactions, data and random stream straight to the database and through an HTTP service; latency free of
/// coordinated omission; audits that invalidate a result whose data is wrong.
#[derive(Debug, Parser)]
#[command(
    name = "stackmark",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Print the result document instead of a report.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print the whole report, and not its answer alone: where the time goes, what the engine waited for, resource use and all warnings.
    #[arg(long, global = true, env = "STACKMARK_EXPLAIN", hide_env = true)]
    pub(crate) explain: bool,
    /// File whose first line is the password of --db, readable by its owner alone; the variable STACKMARK_DB_PASSWORD
    /// does as well.
    #[arg(long, global = true)]
    pub(crate) password_file: Option<PathBuf>,
    /// Folder of other servers: each in a folder of its own with a `server.toml`, as docs/servers.md describes it.
    #[arg(long, global = true, value_name = "FOLDER", default_value = "servers")]
    pub(crate) servers: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load TPC-C into SQLite, run it directly and through the HTTP server, audit, compare, and write a report.
    Quickstart(Quickstart),
    /// List every subject that exists.
    List(List),
    /// Say what is installed, what is missing, and what makes results noisy on this machine.
    Doctor,
    /// Create a database with its schema and data.
    Load(Load),
    /// Run one audited trial.
    Run(Run),
    /// Put what several processes have measured together, as one audited trial.
    Merge(Merge),
    /// Compare two subjects by interleaved trials, or two stored results.
    Compare(Compare),
    /// Carry out an experiment file: variants in interleaved blocks of trials, and a verdict for each.
    Experiment(Experiment),
    /// Resume an experiment, a comparison, a sweep or a search that was interrupted or killed.
    Resume(Resume),
    /// Measure one subject at increasing load: the curve, its knee, saturated resources at each point.
    Sweep(Sweep),
    /// Search the highest open-loop rate that keeps a service level.
    FindMax(FindMax),
    /// Kill, pause and disconnect the processes of a subject under load, and check that nothing was lost or done twice.
    Drill(Drill),
    /// Serve a workload over HTTP until interrupted.
    Serve(Serve),
    /// Do what the calls of a saga have left to be done between stores and forget keys that have expired, until interrupted.
    Relay(Relay),
    /// Process published messages exactly once, with an inbox, until interrupted.
    Consume(Consume),
    /// Check the stored data of an existing database.
    Audit(Audit),
    /// Verify that a server implements a workload's API correctly, one rule at a time.
    Verify(Verify),
    /// Export the calls of a workload for another load generator.
    Export(Export),
    /// Render stored results again.
    Report(Report),
    /// Private engines that stay: start them, list them, remove them.
    Rig(Rig),
    /// Print a shell completion script.
    Completions(Completions),
    /// Print the man page, or that of a command.
    Man(Man),
    /// Become a server, once its starter has put this process under its limits.
    #[command(hide = true)]
    Launch(Launch),
    /// Make the calls of a drill, and tell its parent what becomes of them.
    #[command(hide = true)]
    Generate(Generate),
}

#[derive(Debug, Args)]
pub(crate) struct Quickstart {
    /// Warehouses.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) scale: u32,
    /// Clients, each with one call in flight.
    #[arg(long, short, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) clients: u32,
    /// Blocks, each of one trial per side.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) blocks: u32,
    /// Measured time of each side in a block.
    #[arg(long, short, default_value = "22s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) duration: Duration,
    /// Warm-up before the measurement window.
    #[arg(long, short, default_value = "1s", value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup: Duration,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only subjects whose names begin with these parts: `tpcc`, `tpcc/postgres`.
    pub(crate) subject: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// What to load for: `tpcc`, or a whole subject.
    pub(crate) subject: String,
    #[command(flatten)]
    pub(crate) amounts: Amounts,
    /// Load the small data set of the golden vectors, which `verify` uses, instead of a full scale.
    #[arg(long, conflicts_with_all = ["scale", "seed"])]
    pub(crate) golden: bool,
    /// Database to load: `sqlite:FILE`, with options such as `?journal=wal&synchronous=full&cache=32MiB`;
    /// `postgres://USER@HOST/DATABASE` or `mysql://USER@HOST/DATABASE`, which must exist and be empty. With
    /// `--shards`, one for each store: `--db shard-0=URL --db shard-1=URL`.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, required = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    #[command(flatten)]
    pub(crate) shards: Shards,
    /// Seed of all rows.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads that generate rows; 0 means one per core.
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
    /// Replace an interrupted load, or a complete one of another scale or seed.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Create foreign keys (PostgreSQL, MariaDB): the standard does not require them, and each costs a
    /// look-up per row.
    #[arg(long)]
    pub(crate) foreign_keys: bool,
}

#[derive(Debug, Args, PartialEq)]
pub(crate) struct Compare {
    /// Two subjects, or two stored results; one subject with --setting or --engine-bin; a stored result of whole trials (`compare SUBJECT SUBJECT
    /// --trials`) and a subject, which is measured as that result was. With one --server: the base, a subject or a stored result.
    /// With two: one of the subjects that both servers offer.
    #[arg(num_args = 1..=2, required_unless_present = "source")]
    pub(crate) sides: Vec<String>,
    /// Compare the server in this folder, which has a `server.toml` (docs/servers.md); with @REVISION as it
    /// was at that revision of its git repository (a branch, a tag, a commit), built in a work tree of its
    /// own. If it is given twice, the second is compared with the first.
    #[arg(long = "server", value_name = "PATH[@REVISION]")]
    pub(crate) source: Vec<String>,
    /// With one subject: find its likely bottleneck in a short trial, change that one factor, and report
    /// whether throughput follows.
    #[arg(long, conflicts_with_all = ["max_loss", "metric", "no_control"])]
    pub(crate) confirm_bottleneck: bool,
    /// Blocks, each from a restored state and with one trial per side.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) blocks: u32,
    /// Three blocks instead of five: a wider interval, so only larger differences can be resolved.
    #[arg(long, conflicts_with = "blocks")]
    pub(crate) quick: bool,
    /// Time for warming up and measuring, from which the blocks and their length follow; with --precision, the longest.
    #[arg(long, value_parser = span, allow_hyphen_values = true, conflicts_with_all = ["blocks", "quick", "calls", "stages", "confirm_bottleneck"])]
    pub(crate) time: Option<Duration>,
    /// Add blocks until half the width of each 95 % CI is at most this share, for example `2%`, for at most --time
    /// [default: 20m].
    #[arg(long, value_parser = share, conflicts_with_all = ["blocks", "quick", "calls", "confirm_bottleneck"])]
    pub(crate) precision: Option<f64>,
    /// Largest loss of the second compared with the first that is accepted in each metric, for example `5%`:
    /// exit status 1 if the whole 95 % CI is beyond it, 3 if it is inconclusive.
    #[arg(long, value_parser = share)]
    pub(crate) max_loss: Option<f64>,
    /// With `--max-loss`: exit status 0 instead of 3 if the result is inconclusive.
    #[arg(long, requires = "max_loss")]
    pub(crate) accept_inconclusive: bool,
    /// Metrics to compare: `throughput`, `cpu` (CPU time per call), `p99` of all calls or `new-order.p99` of
    /// one kind; or several, such as `throughput,p99,cpu`, with a verdict for each and intervals adjusted for
    /// their number [default: throughput, and p99,cpu with a rate that is given].
    #[arg(long, value_delimiter = ',')]
    pub(crate) metric: Vec<String>,
    /// Additional intended difference, which does not make the sides "not comparable": a factor or a field of the comparison key, as in
    /// experiment files (docs/experiments.md), for example `stack.isolation`. May be given several times.
    #[arg(long, conflicts_with = "confirm_bottleneck")]
    pub(crate) factor: Vec<String>,
    /// Measure whole trials that follow one another, each from a restored state, instead of letting both sides make calls in
    /// turn on the same data every two seconds.
    #[arg(long)]
    pub(crate) trials: bool,
    /// Leave out the second trial of the first in each block (A/A control), which checks for bias and narrows the interval.
    #[arg(long)]
    pub(crate) no_control: bool,
    #[command(flatten)]
    pub(crate) data: DataArgs,
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
pub(crate) struct Experiment {
    /// Experiment files, or names of those that come with the program. Several run one after the other, each with a
    /// result of its own.
    #[arg(required = true)]
    pub(crate) files: Vec<String>,
    /// Blocks, each of one trial per variant, instead of the number in the file.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) blocks: Option<u32>,
    /// Three blocks instead of the number in the file: wider intervals, so only larger differences can be
    /// resolved.
    #[arg(long, conflicts_with = "blocks")]
    pub(crate) quick: bool,
    /// Measurement window of each trial, instead of the one in the file.
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Warm-up before the measurement window, instead of the one in the file.
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup: Option<Duration>,
    /// Longest warm-up, instead of the one in the file: on engines that count their WAL the warm-up continues
    /// until the WAL per commit is stable.
    #[arg(long, value_parser = span, allow_hyphen_values = true)]
    pub(crate) warmup_max: Option<Duration>,
    /// Measure whole trials that follow one another instead of letting variants on the same data make calls in turn.
    #[arg(long)]
    pub(crate) trials: bool,
    /// Leave out the second trials of the bases (A/A controls), which check for bias and narrow the intervals.
    #[arg(long)]
    pub(crate) no_control: bool,
    /// Largest loss of a variant compared with its base that is accepted, for example `5%`: exit status 1 if
    /// the whole 95 % CI is beyond it, 3 if it is inconclusive.
    #[arg(long, value_parser = share)]
    pub(crate) max_loss: Option<f64>,
    /// With a limit from --max-loss or the file: exit status 0 instead of 3 if the result is inconclusive.
    #[arg(long)]
    pub(crate) accept_inconclusive: bool,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Folder of the run to continue.
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Subject to measure: `workload/engine/adapter`; `tpcc/postgres` means its default adapter.
    pub(crate) subject: String,
    /// Clients of a closed loop, rising: `1,2,4,8`, or `1..32` for each doubling [default: 1..32].
    #[arg(long, value_parser = clients_list)]
    pub(crate) clients: Option<Loads>,
    /// Rates of an open loop instead, in calls/s, rising: `100,200,400`, or `100..800` for each doubling.
    #[arg(long, value_parser = rates_list, conflicts_with = "clients")]
    pub(crate) rates: Option<Loads>,
    /// Number of clients of an open loop, each with at most one call in flight.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) in_flight: u32,
    /// Blocks, each of one trial per load in random order.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) blocks: u32,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FindMax {
    /// Subject to measure: `workload/engine/adapter`; `tpcc/postgres` means its default adapter.
    pub(crate) subject: String,
    /// Service level objective: `p99<50ms`, `new-order.p99<50ms`; if there are several, or several separated
    /// by commas, all must be met. Response times run from due to end.
    #[arg(long, required = true)]
    pub(crate) slo: Vec<String>,
    /// Largest distance between the rate found and one that misses the SLO, for example `5%`.
    #[arg(long, default_value = "5%", value_parser = resolution)]
    pub(crate) resolution: f64,
    /// Confirmation trials at the rate found, which must all meet the SLO.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) confirm: u32,
    /// Number of clients, each with at most one call in flight.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) in_flight: u32,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args, Clone, Default, PartialEq)]
#[command(next_help_heading = "Target")]
pub(crate) struct DataArgs {
    /// Your loaded database [default: a private one, which is loaded and removed afterwards]. For data split
    /// over several stores, one for each: `--db shard-0=URL --db shard-1=URL`. `--db broker=ADDRESS` is your
    /// Kafka broker, for `--sink kafka`.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    #[command(flatten)]
    pub(crate) shards: Shards,
    #[command(flatten)]
    pub(crate) amounts: Amounts,
}

impl Command {
    /// What is asked to be served while the command runs.
    pub(crate) fn live(&self) -> Option<&LiveArgs> {
        match self {
            Command::Run(args) => Some(&args.live),
            Command::Compare(args) => Some(&args.live),
            Command::Experiment(args) => Some(&args.live),
            Command::Resume(args) => Some(&args.live),
            Command::Sweep(args) => Some(&args.live),
            Command::FindMax(args) => Some(&args.live),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The workload: `tpcc`.
    #[arg(env = "STACKMARK_WORKLOAD")]
    pub(crate) workload: String,
    /// Start the server in this folder, which has a `server.toml` (docs/servers.md), in the place of Stackmark's, on a free port, so
    /// that requests can be made by hand.
    #[arg(long = "server", value_name = "PATH[@REVISION]", conflicts_with_all = ["adapter", "listen", "transport", "sink", "until_stdin_ends"])]
    pub(crate) source: Option<String>,
    /// Engine: sqlite, postgres or mariadb [default: that of --db].
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// Driver and style behind HTTP, for example `tokio-postgres/pipelined` [default: the first that `list` has].
    #[arg(long, env = "STACKMARK_ADAPTER")]
    pub(crate) adapter: Option<String>,
    /// Loaded database; for data split over several stores, one for each as in `run`. Environment variables
    /// of the other stores: `STACKMARK_DB_1`, `STACKMARK_DB_2` and so on.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, required = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    /// Listen address; port 0 picks a free one.
    #[arg(long, env = "STACKMARK_LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Listen on a unix socket (`unix`) or with TLS (`tls`) as well, and report at /about where.
    #[arg(long, env = "STACKMARK_TRANSPORT", default_value = "tcp")]
    pub(crate) transport: Transport,
    /// Destination of messages, in styles `dual-write` and `log-first`: `file:PATH`, `kafka://[USER@]HOST:PORT/TOPIC` or `null`.
    #[arg(long, env = "STACKMARK_SINK", hide_env_values = true)]
    pub(crate) sink: Option<String>,
    /// Database sessions.
    #[arg(long, env = "STACKMARK_POOL", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) pool: u32,
    /// Threads besides the sessions [default: half the cores].
    #[arg(long, env = "STACKMARK_THREADS", value_parser = threads)]
    pub(crate) server_threads: Option<usize>,
    /// Stop when standard input ends, so that the server ends with its parent process.
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Launch {
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// The workload: `tpcc`.
    pub(crate) workload: String,
    /// Database to audit; for data split over several stores, one for each as in `run`.
    #[arg(long, env = "STACKMARK_DB", hide_env_values = true, required = true, value_name = "[NAME=]URL")]
    pub(crate) db: Vec<String>,
    /// Folder of a run, which may have been killed: check the data against its acknowledged calls.
    #[arg(long)]
    pub(crate) run: Option<PathBuf>,
    /// Threads.
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Result files, or the folders of runs; with --history also folders that hold such folders.
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// List and plot the runs over time, a series for each subject and load.
    #[arg(long)]
    pub(crate) history: bool,
    /// Limit the history to this subject, or to all subjects that begin with this part of a path:
    /// `tpcc/sqlite`.
    #[arg(long, requires = "history")]
    pub(crate) subject: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write to this file instead of standard output.
    #[arg(long, short)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Rig {
    #[command(subcommand)]
    pub(crate) command: RigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RigCommand {
    /// Start engines from the packages on this machine, each with a data folder and a port of its own.
    Up(RigUp),
    /// What is up, where, and how it is configured.
    Status,
    /// Stop engines and remove their data.
    Down(RigDown),
}

#[derive(Debug, Args)]
pub(crate) struct RigUp {
    /// `postgres`, `mariadb`, `kafka`, or a cluster of MariaDB: `galera`, `spider` [default: `postgres` and `mariadb`].
    pub(crate) engines: Vec<String>,
    /// Nodes of `galera` [default: 3], or data nodes of `spider` [default: 2]; 2 to 7.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=sql::NODES_MAX as i64))]
    pub(crate) nodes: Option<u32>,
    /// Create an empty database of this name where there is none.
    #[arg(long, value_name = "NAME")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RigDown {
    /// `postgres`, `mariadb`, `galera`, `spider`, `kafka` [default: all].
    pub(crate) engines: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Command whose man page to print, such as `run` [default: the program's page].
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    Poisson,
    Constant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliveryArg {
    Inline,
    Deferred,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Md,
    Html,
    Json,
    /// One row per trial and kind of call.
    Csv,
    /// One row per slice and kind of call.
    CsvSlices,
    /// One row per metric and variant of an experiment, with its effect and verdict.
    CsvVerdicts,
    /// Checks, rules and verdicts as test cases, for CI.
    Junit,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
