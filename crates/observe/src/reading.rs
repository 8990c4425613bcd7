//! Counters as read from the system: they only grow, and mean something as differences.

use model::Nanos;

/// What is read at every sample: cheap.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) at: Nanos,
    pub(crate) cpu: CpuSeconds,
    /// One a watched process, in their order.
    pub(crate) processes: Vec<ProcessReading>,
    pub(crate) disk: Option<DiskReading>,
    /// CPU seconds of the kernel's threads that write back and keep journals; `None` where they cannot be seen.
    pub(crate) writeback_s: Option<f64>,
}

/// CPU time of one core, or of all together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CpuSeconds {
    /// User, nice and system: what runs on behalf of a process.
    pub(crate) tasks: f64,
    pub(crate) interrupts: f64,
    pub(crate) idle: f64,
    pub(crate) iowait: f64,
    pub(crate) steal: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ProcessReading {
    /// Set from the first reading on that found the process ended; the other figures are then the last known.
    pub(crate) gone: bool,
    /// Times it has come back under another id.
    pub(crate) restarts: u32,
    pub(crate) cpu_user_s: f64,
    pub(crate) cpu_system_s: f64,
    pub(crate) rss_bytes: u64,
    pub(crate) threads: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct DiskReading {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) flushes: Option<u64>,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) busy_ms: u64,
    /// Milliseconds summed over all requests under way.
    pub(crate) requests_ms: u64,
    pub(crate) writing_ms: u64,
    pub(crate) flushing_ms: u64,
}

/// What is read at the two ends of the window: a few milliseconds with many threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) reading: Reading,
    pub(crate) cores: Vec<CpuSeconds>,
    pub(crate) load_1m: f64,
    pub(crate) cpu_pressure_us: Option<u64>,
    pub(crate) io_pressure_us: Option<u64>,
    /// One a watched process, in their order.
    pub(crate) details: Vec<Detail>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Detail {
    pub(crate) name: String,
    pub(crate) rss_bytes_max: u64,
    /// Bytes read and written; `None` without the right to know.
    pub(crate) io: Option<(u64, u64)>,
    pub(crate) threads: Vec<ThreadReading>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ThreadReading {
    pub(crate) tid: i32,
    pub(crate) name: String,
    pub(crate) cpu_s: f64,
    /// Time ready to run without a core; `None` where the kernel does not count it.
    pub(crate) run_queue_ns: Option<u64>,
    pub(crate) switches_voluntary: u64,
    pub(crate) switches_involuntary: u64,
}

/// An unwatched process at the start or stop of a watch.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bystander {
    pub(crate) pid: i32,
    /// Ticks since the system started: with the pid, a name that is never used twice.
    pub(crate) born: u64,
    pub(crate) name: String,
    pub(crate) cpu_s: f64,
}
