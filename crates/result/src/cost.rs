//! What the processes of a trial used of the machine.

use serde::{Deserialize, Serialize};

/// One process over the window, an engine with all its children.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// What it does; an embedded engine shares the process of the generator or of the server, and then both are named.
    pub roles: Vec<Role>,
    /// Its name: `stackmark`, `postgres`.
    pub name: String,
    /// Process id; that of the parent where there are children.
    pub pid: u32,
    /// Processor time in user mode, in seconds.
    pub cpu_user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub cpu_system_s: f64,
    /// Processor time in milliseconds a thousand committed calls; `null` when none was committed.
    pub cpu_ms_per_1000_committed: Option<f64>,
    /// Seconds that its threads were ready to run and had no processor, summed over them; `null` where the system does not
    /// count that.
    pub run_queue_s: Option<f64>,
    /// Processor time of the thread that used the most, in seconds: a thread that is busy all the time is saturated, however many
    /// cores are idle. `null` where the system does not count that.
    pub busiest_thread_s: Option<f64>,
    /// The most memory resident in any sample of the trial, one a second. Of a process with children: private memory of
    /// all of them, and what they share (buffers, the program) once.
    pub rss_peak_bytes: u64,
    /// Context switches because it waited; `null` where they could not be read, as below.
    pub switches_voluntary: Option<u64>,
    /// Context switches because it was interrupted.
    pub switches_involuntary: Option<u64>,
    /// Bytes read from storage.
    pub io_read_bytes: Option<u64>,
    /// Bytes written to storage.
    pub io_written_bytes: Option<u64>,
    /// How it went over time, warm-up included.
    pub samples: Vec<ProcessSample>,
    /// What it was held to, and how often it met that; `null` where nothing limits it.
    pub limits: Option<Limits>,
}

/// What a process may use, with all its children.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processors: 0.5 is half of one; `null` for no limit.
    pub cpu: Option<f64>,
    /// Memory; `null` for no limit.
    pub memory_bytes: Option<u64>,
    /// How often it met its limit of processors in the window; `null` where that could not be read.
    pub throttling: Option<Throttling>,
}

/// What a scheduler counts of a process whose CPU time is limited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttling {
    /// Scheduling periods in which it wanted to run.
    pub periods: u64,
    /// Of these, those in which it had used up its time and had to wait.
    pub throttled_periods: u64,
    /// Seconds it waited, summed over processors.
    pub throttled_s: f64,
}

/// Processor time of `cpu_s` seconds in milliseconds a thousand of `committed` calls.
pub fn cpu_ms_a_thousand(cpu_s: f64, committed: u64) -> Option<f64> {
    (committed > 0).then(|| cpu_s * 1e6 / committed as f64)
}

impl Process {
    /// Processor time in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }

    /// `generator + engine`, for reports.
    pub fn roles_words(&self) -> String {
        self.roles.iter().map(|role| role.word()).collect::<Vec<_>>().join(" + ")
    }
}

/// What the kernel's own threads that write data back and keep journals used within the window, for whomever on
/// this machine: no process is charged for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writeback {
    /// Processor time in seconds; `null` where the kernel's threads are not visible, as in a container.
    pub cpu_s: Option<f64>,
    /// Processor time in milliseconds a thousand committed calls; `null` also when none was committed.
    pub cpu_ms_per_1000_committed: Option<f64>,
    /// How it went over time, warm-up included; empty where the threads are not visible.
    pub samples: Vec<WritebackSample>,
}

impl Writeback {
    /// What reports call it.
    pub const NAME: &'static str = "kernel: writeback and journal";
    /// What they say where it cannot be seen.
    pub const HIDDEN: &'static str = "not visible here";
}

/// What the kernel's writeback and journals took since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WritebackSample {
    /// Seconds from the start of the window; negative in the warm-up.
    pub t_s: f64,
    /// CPU cores used.
    pub cores_busy: f64,
}

/// What the whole machine did in the window, for whomever: what charts of others argue from. None of it is put down
/// to a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineWide {
    /// Times that a processor went from one thread to another.
    pub context_switches_per_s: f64,
    /// What network devices sent and received, what goes over the loopback device counted once; `null` where it is not known.
    pub network_bytes_per_s: Option<f64>,
    /// Requests that were merged with others before they came to the device under the database; `null` where there is none.
    pub merged_requests_per_s: Option<f64>,
    /// How it went over time, warm-up included.
    pub samples: Vec<MachineWideSample>,
}

/// The same since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineWideSample {
    /// Seconds from the start of the window; negative in the warm-up.
    pub t_s: f64,
    /// As in [`MachineWide`].
    pub context_switches_per_s: f64,
    /// As in [`MachineWide`].
    pub network_bytes_per_s: Option<f64>,
    /// As in [`MachineWide`].
    pub merged_requests_per_s: Option<f64>,
}

/// The device under the database over the window, as the system counts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Its name: `nvme0n1`.
    pub device: String,
    /// Share of the time in which it had something to do, 0 to 1. A device that works on many requests at once can do
    /// more at 1.
    pub busy_share: f64,
    /// Writes completed a second.
    pub writes_per_s: f64,
    /// Bytes written a second.
    pub written_bytes_per_s: f64,
    /// Flushes of its cache a second; `null` where the system does not count them.
    pub flushes_per_s: Option<f64>,
    /// Mean time of a flush in milliseconds.
    pub flush_ms_mean: Option<f64>,
}

worded! {
    /// What a process does in a trial.
    Role, word {
        /// Makes the load and measures.
        Generator = "generator",
        /// Answers over HTTP.
        Server = "server",
        /// Stores the data.
        Engine = "engine",
        /// Does what calls have left to be done between stores.
        Relay = "relay",
        Broker = "broker",
        /// Processes published messages.
        Consumer = "consumer",
    }
}

/// A process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessSample {
    /// Seconds from the start of the window; negative in the warm-up.
    pub t_s: f64,
    /// CPU cores used since the sample before: 1.5 is one and a half.
    pub cores_busy: f64,
    /// Memory resident at this moment.
    pub rss_bytes: u64,
}
