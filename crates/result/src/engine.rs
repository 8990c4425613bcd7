//! What the engine reported while it was measured: its own counters as time lines, and what its sessions waited
//! for.

use serde::{Deserialize, Serialize};

/// The engine's own account of a trial. Bounded: a long trial has coarser steps, not more of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// The ends of the steps, in seconds from the start of the window; negative in the warm-up.
    pub t_s: Vec<f64>,
    /// Its counters and levels.
    pub gauges: Vec<Gauge>,
    /// What its sessions did and waited for, the most first.
    pub waits: Vec<Wait>,
    /// Looks at its sessions in the window that stand behind the waits.
    pub samples: u64,
    /// The statements that took the most time, where the engine counts them.
    pub statements: Vec<Statement>,
    /// Who else ran statements in the database within the window; `None` where that is not known.
    pub other_sessions: Option<Vec<String>>,
    /// Seconds of the watch in which the engine did not answer, or not in time.
    pub missing_s: f64,
}

/// What engines call the bytes of log that they have written.
pub const LOG_WRITTEN: [&str; 2] = ["wal written", "log written"];
/// What they call the row versions that updates and deletes leave behind.
pub const DEAD_ROWS: &str = "dead rows";
/// What they call the pages that were not in their buffers.
const PAGES_READ: &str = "buffer reads";

impl Engine {
    /// Bytes of log written in the window, where the engine counts them.
    pub fn log_bytes(&self) -> Option<f64> {
        LOG_WRITTEN.iter().find_map(|name| self.gauge(name)?.total)
    }

    /// Row versions that updates and deletes left to be removed later, where it counts them.
    pub fn dead_rows(&self) -> Option<f64> {
        self.gauge(DEAD_ROWS)?.total
    }

    /// Pages that it had to read in the window because they were not in its buffers, where it counts them.
    pub fn pages_read(&self) -> Option<f64> {
        self.gauge(PAGES_READ)?.total
    }

    /// The share of the sampled session time spent in states whose name begins with one of `names`; nothing without a look.
    pub fn waiting(&self, names: &[&str]) -> Option<f64> {
        let is_one = |wait: &&Wait| names.iter().any(|name| wait.name.starts_with(name));
        (self.samples > 0).then(|| self.waits.iter().filter(is_one).map(|wait| wait.share).sum())
    }

    /// The gauge of this name.
    pub fn gauge(&self, name: &str) -> Option<&Gauge> {
        self.gauges.iter().find(|gauge| gauge.name == name)
    }
}

/// The gauge that counts the sessions that anyone opened in the database.
pub const SESSIONS_OPENED: &str = "sessions opened";

/// One of the engine's counters or levels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gauge {
    /// Its name: `wal written`.
    pub name: String,
    /// What it belongs to: `wal`, `locks`, `buffers`.
    pub group: String,
    /// The unit of what is counted: `bytes`, `syncs`, `ms`.
    pub unit: String,
    /// Whether it counts or stands.
    pub kind: GaugeKind,
    /// Over the window: what a counter grew by, the mean of a level; `null` where it is not known.
    pub total: Option<f64>,
    /// A value a step: of a counter its growth a second, of a level its value; `null` where it is not known.
    pub values: Vec<Option<f64>>,
}

/// Whether a gauge counts or stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GaugeKind {
    /// Only grows; means something as a difference.
    #[default]
    Counter,
    /// Goes up and down.
    Level,
}

/// One state in which the engine's sessions were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Its name, as the engine has it: `LWLock:WALWrite`, `Lock:transactionid`; `running` for work on a processor.
    pub name: String,
    /// Share of the sampled session time of the window, 0 to 1; waiting for the client is none of it.
    pub share: f64,
    /// Sessions in it on average, a step; `null` where no one looked.
    pub sessions: Vec<Option<f64>>,
}

/// A statement and what the engine spent on it in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Its text, without values, cut short.
    pub text: String,
    /// Times it was executed.
    pub calls: u64,
    /// Time spent in it in milliseconds.
    pub total_ms: f64,
    /// Rows that it gave or changed.
    pub rows: u64,
}

/// How the committed calls of the window shared durable commits, in a style in which they can. Calls that the
/// engine reads for without a commit of that kind are none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grouping {
    /// Calls whose commit could be shared.
    pub calls: u64,
    /// The engine's commits that made them durable.
    pub commits: u64,
}

impl Grouping {
    /// Calls a commit, on average.
    pub fn calls_a_commit(&self) -> f64 {
        self.calls as f64 / self.commits as f64
    }
}

/// What an outage was without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The engine or the server: sessions had lost their connections, and no call completed.
    #[default]
    Everything,
    /// Room or leave to write: the engine refused calls for that. Those that only read may have completed.
    Writes,
}

/// Calls that were refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// What for: the engine's own words where it said something.
    pub reason: String,
    /// How many, warm-up and drain included.
    pub calls: u64,
}

/// A time in which no call completed, because sessions had lost the engine or the server; or none that writes, because
/// the engine took no writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    pub missing: Missing,
    /// When the first session found it gone, in seconds from the start of the window; negative in the warm-up.
    pub from_s: f64,
    /// When the next call completed, or when the last was refused for want of writes; `null` if none did until the end.
    pub to_s: Option<f64>,
    /// Calls that were under way and whose fate is unknown.
    pub in_doubt: u64,
    /// Calls that found no one.
    pub refused: u64,
}

impl Outage {
    /// Its length in seconds; nothing where it lasted until the end.
    pub fn duration_s(&self) -> Option<f64> {
        self.to_s.map(|to_s| to_s - self.from_s)
    }
}
