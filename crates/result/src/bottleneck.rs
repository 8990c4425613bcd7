//! What a trial of one changed factor said about the likely bottleneck.

use serde::{Deserialize, Serialize};

/// What sets the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suspect {
    /// Too few clients to fill anything.
    Clients,
    /// The load generator's own processor time.
    GeneratorCpu,
    /// The processor time of the server in front of the engine.
    ServerCpu,
    /// The processor time of the engine.
    EngineCpu,
    /// All processors of the machine.
    AllCores,
    /// All processors of the machine, most of them used by others than the system.
    Others,
    /// Commits that wait for storage.
    CommitFlush,
    /// The number of sessions, or of connections.
    Pool,
    /// The one writer of SQLite.
    Writer,
    /// Rows that others hold.
    Lock,
    /// A limit on the processor time of a process.
    Limit,
    /// Keying and think times, or the rate that was asked for.
    Pace,
    /// Nothing stands out.
    Unknown,
}

impl Suspect {
    /// The words for reports: what it is, as the subject of a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Suspect::Clients => "the number of clients",
            Suspect::GeneratorCpu => "the load generator",
            Suspect::ServerCpu => "the server's processor time",
            Suspect::EngineCpu => "the engine's processor time",
            Suspect::AllCores => "the processor time of the machine",
            Suspect::Others => "the processor time that others took",
            Suspect::CommitFlush => "flushing commits to storage",
            Suspect::Pool => "the number of sessions",
            Suspect::Writer => "SQLite's one writer",
            Suspect::Lock => "waiting for rows that others hold",
            Suspect::Limit => "the limit on processor time",
            Suspect::Pace => "the pace that was asked for",
            Suspect::Unknown => "nothing that was observed",
        }
    }

    /// Who is full, in a column of a table.
    #[must_use]
    pub fn who(self) -> &'static str {
        match self {
            Suspect::Clients => "clients of the generator",
            Suspect::GeneratorCpu => "load generator",
            Suspect::ServerCpu | Suspect::EngineCpu | Suspect::AllCores => "all processors",
            Suspect::Others => "all processors, mostly by others",
            Suspect::CommitFlush => "log flushes",
            Suspect::Pool => "connections",
            Suspect::Writer => "SQLite's one writer",
            Suspect::Lock => "row locks",
            Suspect::Limit => "a processor limit",
            Suspect::Pace | Suspect::Unknown => "nobody",
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
    /// The whole interval of the ratio of throughputs, changed through base, must lie above this, if anything.
    pub ratio_min: Option<f64>,
    /// And below this, if anything.
    pub ratio_max: Option<f64>,
    /// Whether it did.
    pub confirmed: bool,
    /// The finding in one sentence.
    pub sentence: String,
}
