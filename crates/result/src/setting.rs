//! The circumstances of a trial, which are also its comparison key: stack, plan, data, machine.

use super::Stage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was measured: read back from the live system, never assumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    pub engine: String,
    /// Its version, as it says itself.
    pub engine_version: String,
    /// The crate or service between us and the engine: `rusqlite`.
    pub adapter: String,
    pub adapter_version: String,
    /// How transactions are expressed: `plain`, `pipelined`, `procedure`, `orm`.
    pub style: String,
    /// `direct` or `http`.
    pub route: String,
    /// The server in front of the engine, for the route `http`: name and version.
    pub server: Option<String>,
    /// Isolation of writing transactions.
    pub isolation: String,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Engine and pool settings, in the order of the report.
    pub settings: Vec<Setting>,
    /// How PostgreSQL or MariaDB executes the workload's statements, as far as it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<StatementPlan>,
}

/// How an engine executes a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementPlan {
    /// Its name in `spec/sql`: `read_stock`.
    pub statement: String,
    /// Before the first call, in one line: `Limit > Index Scan using orders_customer on orders`.
    pub plan: String,
    /// After the last call, where it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
}

/// What an acknowledged commit survives, and by which settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Durability {
    /// The tier by name.
    pub tier: Tier,
    /// The settings that make it so, and anything a reader must know: `WAL, synchronous=FULL; on tmpfs`.
    pub detail: String,
    /// Whether this is what a server reports that was not started for the run: no one here has read it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
}

impl Durability {
    /// The tier for reports, as what it is: read back, or said by a server of itself.
    pub fn word(&self) -> &'static str {
        match (self.tier, self.claimed) {
            (tier, false) => tier.word(),
            (Tier::Durable, true) => "durable (reported by the server)",
            (Tier::Delayed, true) => "delayed (reported by the server)",
            (Tier::Volatile, true) => "volatile (reported by the server)",
            (Tier::Unknown, true) => "unknown (not reported by the server)",
        }
    }
}

worded! {
    /// Durability by name.
    #[derive(Default)]
    Tier, word {
        /// Every commit is flushed before it is acknowledged.
        Durable = "durable",
        /// A crash of the machine may lose the last moments.
        Delayed = "delayed",
        /// A crash loses everything, or may corrupt it.
        Volatile = "volatile",
        /// Not read: the trial ended before a session was open.
        #[default]
        Unknown = "unknown",
    }
}

impl Tier {
    /// What the tier promises, for a reader who has not met the word.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Tier::Durable => "every commit flushed before it is acknowledged",
            Tier::Delayed => "a crash of the machine may lose the last moments",
            Tier::Volatile => "a crash loses the data, or may corrupt it",
            Tier::Unknown => "what a commit survives was not read",
        }
    }
}

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// As the engine or pool calls it: `journal_mode`.
    pub name: String,
    /// As it was read back: `wal`.
    pub value: String,
}

/// What was asked of the load generator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Concurrent callers: terminals, connections, workers.
    pub clients: u32,
    /// Threads of the load generator.
    pub generator_threads: u32,
    /// When calls become due.
    pub arrivals: Arrivals,
    /// The stages that the window is made of; empty where its rate is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Which kinds of call were asked for, and how many of each, in the order of reports; empty where that was left to the
    /// workload. Other kinds are not called, and the result has none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<Share>,
    /// How unevenly the rows of calls were drawn: `zipf:0.99`, `hot:10:50%`; nothing where that was left to the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<String>,
    /// Planned length of the warm-up in seconds; none of it is counted.
    pub warmup_s: f64,
    /// How long it may get where it goes on until the engine is steady, in seconds; nothing where it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_max_s: Option<f64>,
    /// Planned length of the window in seconds.
    pub measured_s: f64,
    /// Set where the window is in several parts, between which other subjects made calls on the same data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// So many calls were to be made in the window, which ends with them if that is earlier; nothing where any
    /// number was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Longest wait for calls still under way after it, in seconds.
    pub drain_s: f64,
    /// After this long a call is given up and counted as in doubt.
    pub deadline_ns: u64,
    /// Attempts a call, at most; only conflicts are tried again.
    pub attempts_max: u32,
    /// The seed of every random stream.
    pub seed: u64,
    /// Whether kinds that may be queued (TPC-C: Delivery) were queued and done later.
    pub deferred: bool,
}

/// The rounds of a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    pub number: u32,
    /// At the beginning of each, calls were made and nothing was counted for at least so many seconds.
    pub uncounted_s: f64,
}

/// One kind of call of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub kind: String,
    /// How many of the calls are of it, more than 0 and up to 1.
    pub share: f64,
}

impl Share {
    /// A mix for reports; nothing where it was left to the workload.
    pub fn words(mix: &[Share]) -> Option<String> {
        let percent = |share: f64| {
            let digits = format!("{:.2}", share * 100.0);
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let words = mix.iter().map(|share| format!("{} {} %", share.kind, percent(share.share)));
        (!mix.is_empty()).then(|| words.collect::<Vec<_>>().join(", "))
    }
}

impl Plan {
    /// Whether calls of a kind were made.
    pub fn makes(&self, kind: &str) -> bool {
        self.mix.is_empty() || self.mix.iter().any(|share| share.kind == kind)
    }

    /// When calls are due, for reports: `closed loop`, `open loop, Poisson, stages 30s@100,10s@500`.
    pub fn arrivals_words(&self) -> String {
        let stages: Vec<String> = self.stages.iter().map(Stage::words).collect();
        match &self.arrivals {
            arrivals if stages.is_empty() => arrivals.words(),
            Arrivals::Constant { .. } => format!("open loop, constant, stages {}", stages.join(",")),
            _ => format!("open loop, Poisson, stages {}", stages.join(",")),
        }
    }

    /// What calls were asked for otherwise than the workload makes them, in words; nothing where all was left to it.
    pub fn own_words(&self) -> Option<String> {
        let skew = self.skew.as_ref().map(|skew| format!("rows drawn by {skew}"));
        let words: Vec<String> = self.mix_words().into_iter().chain(skew).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// The mix for reports: `new-order 51.14 %, payment 48.86 %`; nothing where it was left to the workload.
    pub fn mix_words(&self) -> Option<String> {
        Share::words(&self.mix)
    }
}

/// When calls become due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Closed loop: the next call is due when the last one has ended.
    Closed {},
    /// Closed loop with keying and think times.
    Paced {
        /// Which times: `spec` for the workload's own, or as given on the command line.
        think: String,
    },
    /// Open loop at a steady rate.
    Constant { rate_per_s: f64 },
    /// Open loop with exponential gaps.
    Poisson {
        /// Mean calls/s due.
        rate_per_s: f64,
    },
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals::Closed {}
    }
}

impl Arrivals {
    /// Whether calls are due whatever the system does, so that response and service times differ.
    pub fn is_open(&self) -> bool {
        matches!(self, Arrivals::Constant { .. } | Arrivals::Poisson { .. })
    }

    /// Whether terminals keep keying and think times.
    pub fn is_paced(&self) -> bool {
        matches!(self, Arrivals::Paced { .. })
    }

    /// Whether these are the workload's own keying and think times.
    pub fn is_by_the_standard(&self) -> bool {
        matches!(self, Arrivals::Paced { think } if think == "spec")
    }

    /// For reports: `closed loop`, `open loop, Poisson, 500/s`.
    pub fn words(&self) -> String {
        match self {
            Arrivals::Closed {} => "closed loop".to_owned(),
            Arrivals::Paced { think } if !self.is_by_the_standard() => {
                format!("closed loop, think time {think}")
            }
            Arrivals::Paced { think } => format!("closed loop, paced ({think})"),
            Arrivals::Constant { rate_per_s } => format!("open loop, constant, {rate_per_s}/s"),
            Arrivals::Poisson { rate_per_s } => format!("open loop, Poisson, {rate_per_s}/s"),
        }
    }
}

/// The data that was worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    pub workload: String,
    /// Its scale, in the unit next to it.
    pub scale: u64,
    /// What the scale counts: `warehouses`.
    pub scale_unit: String,
    /// What can be chosen of the workload besides its scale, and was in force, of the data and of the calls: `stock` 100,000.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, u64>,
    /// Rows at the start.
    pub rows: u64,
    /// Bytes on disk at the start; `null` where the engine does not report.
    pub bytes: Option<u64>,
    /// Bytes on disk at the end, where they were told at the start.
    pub bytes_end: Option<u64>,
    /// What the data is on: `tmpfs`, `ext4`; `null` where it is not known.
    pub file_system: Option<String>,
    /// How that is mounted; `null` where it is not known.
    pub mount_options: Option<String>,
    /// Whether the engine is on another machine, by its address.
    pub remote: bool,
    /// Checksum of the loaded rows; `null` if another tool loaded them.
    pub checksum: Option<String>,
    /// The tool that loaded them, with its version: `stackmark 0.1.0`.
    pub loaded_by: String,
    /// Rows of the smallest table that the calls update, at the start; `null` where it is not known.
    pub hottest_rows: Option<u64>,
    /// Whether foreign keys are declared; `null` where it is not known.
    pub references: Option<bool>,
    /// In what the tables of another tool differ from ours, one sentence each.
    pub tool_notes: Vec<String>,
    /// What each store holds at the start, in order, where there are several; the figures above are of all of them. Empty where
    /// there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<StoreData>,
}

impl Data {
    /// Stores that it is split over: 1 or more.
    pub fn store_count(&self) -> usize {
        self.stores.len().max(1)
    }
}

/// What one of several stores holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreData {
    /// Its name in the deployment: `shard-0`.
    pub name: String,
    pub rows: u64,
    /// Its bytes on disk; `null` where the engine does not report.
    pub bytes: Option<u64>,
    /// Checksum of its loaded rows; `null` if another tool loaded them.
    pub checksum: Option<String>,
}

/// The machine, as far as it matters to a number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Processor by its own name.
    pub cpu: String,
    /// Logical processors that we may use.
    pub cores: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    /// Operating system and version.
    pub os: String,
    /// Frequency governor, where it can be read.
    pub governor: Option<String>,
    /// The hypervisor (`kvm`) or `none`; `null` where it is not known.
    pub virtualised: Option<String>,
    /// Whether the system shares processors out among sessions before it does among processes (Linux, autogroups); `null`
    /// where it is not known.
    pub shares_by_session: Option<bool>,
    /// The logical processors that we may use, by number; `null` where it is not known.
    pub affinity: Option<String>,
    /// Whether two threads share a core: `on`, `off`, `notsupported`; `null` where it is not known.
    pub smt: Option<String>,
    /// When memory comes in huge pages unasked: `always`, `madvise`, `never`; `null` where it is not known.
    pub huge_pages: Option<String>,
    /// Share of CPU time, 0 to 1, that the hypervisor gave to others during the window.
    pub steal_share: Option<f64>,
    /// Share of CPU time, 0 to 1, taken by processes that are no part of the trial; without what the kernel's writeback
    /// and journals took where [`super::Trial::writeback`] tells it.
    pub other_load_share: Option<f64>,
}
