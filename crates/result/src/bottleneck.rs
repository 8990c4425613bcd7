//! What a trial of one changed factor said about the likely bottleneck.

use serde::{Deserialize, Serialize};

worded! {
    /// What limits throughput.
    Suspect, words {
        /// Too few clients to fill anything.
        Clients = "the number of clients",
        /// The load generator's own CPU time.
        GeneratorCpu = "the load generator",
        /// The CPU time of the server in front of the engine.
        ServerCpu = "the server's CPU time",
        /// One thread of the server, which can use one core and no more.
        ServerThread = "one thread of the server",
        /// The CPU time of the engine.
        EngineCpu = "the engine's CPU time",
        /// All processors of the machine.
        AllCores = "the CPU time of the machine",
        /// All processors of the machine, most of them used by others than the system.
        OtherPrograms = "the CPU time that others took",
        /// Commits that wait for storage.
        CommitFlush = "flushing commits to storage",
        /// The number of sessions, or of connections.
        Pool = "the number of sessions",
        /// The one writer of SQLite.
        Writer = "SQLite's one writer",
        Lock = "waiting for rows that others hold",
        /// A limit on the CPU time of a process.
        Limit = "the limit on CPU time",
        /// Keying and think times, or the rate that was asked for.
        OfferedLoad = "the requested rate or think time",
        Unknown = "nothing that was observed",
    }
}

impl Suspect {
    /// Who is full, in a column of a table.
    #[must_use]
    pub fn who(self) -> &'static str {
        match self {
            Suspect::Clients => "clients of the generator",
            Suspect::GeneratorCpu => "load generator",
            Suspect::ServerCpu | Suspect::EngineCpu | Suspect::AllCores => "all cores",
            Suspect::ServerThread => "one thread of the server",
            Suspect::OtherPrograms => "all cores, mostly by others",
            Suspect::CommitFlush => "log flushes",
            Suspect::Pool => "connections",
            Suspect::Writer => "SQLite's one writer",
            Suspect::Lock => "row locks",
            Suspect::Limit => "a CPU limit",
            Suspect::OfferedLoad | Suspect::Unknown => "unknown",
        }
    }
}

/// What a comparison with one factor changed says about the likely bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirmation {
    /// What was suspected after a first trial.
    pub suspect: Suspect,
    /// What was changed, and nothing else: `pool 1 to 8`.
    pub change: String,
    /// The whole interval of the ratio of throughputs, changed through base, must be above this, if anything.
    pub ratio_min: Option<f64>,
    /// And below this, if anything.
    pub ratio_max: Option<f64>,
    pub confirmed: bool,
    /// The finding in one sentence.
    pub sentence: String,
}
