//! What an observation says: plain data for the result document, units in the names.
//!
//! CPU time has the kernel's resolution, 10 ms on most systems. "Cores" are CPU seconds a second: 1.5 cores busy means
//! that one and a half cores' worth of time was used on average.

use crate::Machine;
use crate::engine::GaugeKind;
use model::Nanos;
use serde::{Deserialize, Serialize};

/// What a watched process is in the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The load generator; with an embedded engine on the route `direct`, the engine runs in it.
    Generator,
    /// A server between the generator and the engine; with an embedded engine, the engine runs in it.
    Server,
    /// An engine with a process of its own.
    Engine,
    /// A message broker.
    Broker,
}

impl Role {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Generator => "generator",
            Role::Server => "server",
            Role::Engine => "engine",
            Role::Broker => "broker",
        }
    }
}

/// Everything seen between the start and the stop of a watch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The span that all figures but the slices cover.
    pub window: Window,
    /// What the machine is.
    pub machine: Machine,
    /// What the machine did; `None` where it cannot be observed.
    pub load: Option<MachineLoad>,
    /// What the watched processes did, in the order in which they were given.
    pub processes: Vec<ProcessLoad>,
    /// What the engine said of itself; `None` where it was not asked.
    pub engine: Option<EngineLoad>,
    /// What the block device under the watched path did; `None` for a file system without one.
    pub disk: Option<DiskLoad>,
    /// The time line, over the whole watch and so beyond the window on both sides.
    pub slices: Vec<Slice>,
    /// CPU seconds that observing cost, over the whole watch.
    pub observer_cpu_s: f64,
    /// What could not be observed and why, a clause each. Empty when all was.
    pub not_observed: Vec<String>,
}

/// A span on the clock that the watch was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its first moment.
    pub from_ns: Nanos,
    /// Its end.
    pub until_ns: Nanos,
}

impl Window {
    /// How long it is, in seconds.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        (self.until_ns - self.from_ns).as_secs_f64()
    }
}

/// What one process did within the window, its exited threads included. The generator stands for itself alone, because
/// the others may be its children; every other one stands for itself with all its descendants, those that have ended
/// included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessLoad {
    /// What it is in the trial.
    pub role: Role,
    /// Its process id.
    pub pid: u32,
    /// The name of its program, cut to 15 bytes by the kernel.
    pub name: String,
    /// CPU seconds in its own code.
    pub cpu_user_s: f64,
    /// CPU seconds in the kernel on its behalf.
    pub cpu_system_s: f64,
    /// Resident memory at the end of the window: what is private to it and its descendants, and what is shared (buffers,
    /// mapped files) once, as much as one of them has mapped.
    pub rss_bytes: u64,
    /// The most resident memory it ever had, from its own start on; with descendants, the most in any sample.
    pub rss_bytes_max: u64,
    /// Threads at the end of the window, those of descendants included.
    pub threads: u64,
    /// The thread that used the most CPU time: at about 1.0 cores, more cores would not have helped it.
    pub busiest_thread: Option<ThreadLoad>,
    /// Seconds that its threads were ready to run and had no core, summed over them; `None` where the kernel does not count
    /// that. Threads that exited within the window are missing.
    pub run_queue_s: Option<f64>,
    /// Times its threads waited of their own accord. Threads that exited within the window are missing.
    pub switches_voluntary: u64,
    /// Times its threads were made to wait for a core. Threads that exited within the window are missing.
    pub switches_involuntary: u64,
    /// Bytes it caused to be fetched from storage; `None` without the right to know.
    pub read_bytes: Option<u64>,
    /// Bytes it caused to be sent to storage; `None` without the right to know.
    pub written_bytes: Option<u64>,
    /// When it was noticed to have ended, at most one sampling interval late. Its figures then end with the last sample
    /// before.
    pub gone_at_ns: Option<Nanos>,
    /// Times it ended and came back under another process id during the watch. What it used between the last sample
    /// before its end and the end is not known.
    pub restarts: u32,
}

impl ProcessLoad {
    /// CPU seconds, user and system.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }
}

/// One thread's part of a process's CPU time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadLoad {
    /// The name it gave itself, cut to 15 bytes by the kernel.
    pub name: String,
    /// Cores it kept busy on average, 0 to 1.
    pub cores: f64,
}

/// What the machine as a whole did within the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineLoad {
    /// Cores busy on average, by whomever, interrupts included.
    pub busy_cores: f64,
    /// Share of time each core was busy, 0 to 1.
    pub core_busy_shares: Vec<f64>,
    /// Cores busy with interrupts; network traffic within the machine is a part of it.
    pub interrupt_cores: f64,
    /// Cores busy for others than the watched processes, interrupts not, and `writeback_cores` not. The kernel's other
    /// threads are in here, and where `writeback_cores` is not known, those too.
    pub other_cores: f64,
    /// Cores busy with the kernel's own threads that write data back and keep journals, for whomever; `None` where they cannot
    /// be seen. Workers of the kernel are counted by the work that they were last seen at.
    pub writeback_cores: Option<f64>,
    /// CPU seconds of the same.
    pub writeback_cpu_s: Option<f64>,
    /// Share of the machine's time that the hypervisor gave to others, 0 to 1.
    pub steal_share: f64,
    /// Share of the machine's time that cores were idle while a process waited for storage, 0 to 1.
    pub iowait_share: f64,
    /// Runnable and waiting-for-storage threads, averaged by the kernel over the last minute of the window.
    pub load_1m: f64,
    /// Share of the window in which some thread was ready to run and had no core; `None` where the kernel does not tell.
    pub cpu_pressure_share: Option<f64>,
    /// Share of the window in which some thread waited for storage; `None` where the kernel does not tell.
    pub io_pressure_share: Option<f64>,
    /// The unwatched processes that used the most CPU time over the whole watch, by name, at most five, each above 0.01
    /// cores. Those that ended before the watch did are missing; their time is in `other_cores`.
    pub others: Vec<OtherProcess>,
}

/// Processes of one name that were not watched and used the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherProcess {
    /// Their name as the kernel has it, at most 15 bytes for a program.
    pub name: String,
    /// CPU seconds over the whole watch.
    pub cpu_s: f64,
}

/// What a block device did within the window, for all its users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskLoad {
    /// Its name in the kernel: `nvme0n1`.
    pub device: String,
    /// Share of time with at least one request under way, 0 to 1. A device that serves many at once can do more at 1.
    pub busy_share: f64,
    /// Requests under way on average.
    pub in_flight_mean: f64,
    /// Completed reads a second.
    pub reads_per_s: f64,
    /// Completed writes a second.
    pub writes_per_s: f64,
    /// Completed flushes a second: what makes a commit durable. `None` before Linux 5.5.
    pub flushes_per_s: Option<f64>,
    /// Bytes read a second.
    pub read_bytes_per_s: f64,
    /// Bytes written a second.
    pub written_bytes_per_s: f64,
    /// Mean time of a write in milliseconds; `None` without writes.
    pub write_ms_mean: Option<f64>,
    /// Mean time of a flush in milliseconds; `None` without flushes.
    pub flush_ms_mean: Option<f64>,
}

/// One interval of the time line. Intervals follow each other without gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Its first moment, on the clock of the watch.
    pub from_ns: Nanos,
    /// Its end.
    pub until_ns: Nanos,
    /// Cores busy on average, by whomever.
    pub busy_cores: f64,
    /// Cores busy for processes that are not watched, as in [`MachineLoad::other_cores`].
    pub other_cores: f64,
    /// Cores busy with the kernel's own threads that write data back and keep journals; `None` where they cannot be seen.
    pub writeback_cores: Option<f64>,
    /// Cores' worth of time that the hypervisor gave to others.
    pub steal_cores: f64,
    /// Cores idle while a process waited for storage.
    pub iowait_cores: f64,
    /// Share of time the watched block device had a request under way.
    pub disk_busy_share: Option<f64>,
    /// The watched processes, in the order of [`Observation::processes`].
    pub processes: Vec<ProcessSlice>,
}

/// One process in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessSlice {
    /// Cores it kept busy on average, user and system.
    pub cores: f64,
    /// The part of it in the kernel.
    pub cores_system: f64,
    /// Resident memory at the end of the interval; 0 when it has ended.
    pub rss_bytes: u64,
}

/// What an engine said of itself: time lines over the whole watch, sums and shares over the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineLoad {
    /// The ends of the steps, on the clock of the watch; at most 600.
    pub until_ns: Vec<Nanos>,
    /// Its counters and levels, in the order in which it told them.
    pub gauges: Vec<GaugeLine>,
    /// What its sessions did and waited for, the most first.
    pub states: Vec<StateLine>,
    /// Looks at its sessions within the window.
    pub looks: u64,
    /// The statements that took the most time within the window, at most 12.
    pub statements: Vec<StatementLoad>,
    /// Seconds of the watch in which it did not answer.
    pub missing_s: f64,
}

/// One of the engine's counters or levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaugeLine {
    /// Its name.
    pub name: String,
    /// What it belongs to.
    pub group: String,
    /// The unit of what is counted.
    pub unit: String,
    /// Whether it counts or stands.
    pub kind: GaugeKind,
    /// Over the window: growth of a counter, mean of a level; `None` where it is not known.
    pub total: Option<f64>,
    /// A value a step: growth of a counter a second, a level as it stands; `None` where it is not known.
    pub values: Vec<Option<f64>>,
}

/// One state of the engine's sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateLine {
    /// Its name.
    pub name: String,
    /// Share of the sampled session time of the window, 0 to 1.
    pub share: f64,
    /// Sessions in it on average, a step; `None` where nobody looked.
    pub sessions: Vec<Option<f64>>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementLoad {
    /// Its text, without values, cut short.
    pub text: String,
    /// Executions within the window.
    pub calls: u64,
    /// Milliseconds spent in it within the window.
    pub total_ms: f64,
    /// Rows that it gave or changed within the window.
    pub rows: u64,
}
