//! Counters as read from the system: they only grow, and mean something as differences.

use model::Nanos;

/// What is read at every sample: cheap.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) at: Nanos,
    pub(crate) cpu: CpuSeconds,
    /// One a watched process, in their order.
    pub(crate) processes: Vec<ProcessReading>,
    /// One a watched device, in their order; `None` where the system does not know it.
    pub(crate) disks: Vec<Option<DiskReading>>,
    /// Context switches since the machine was started.
    pub(crate) context_switches: u64,
    /// Bytes that all network devices have sent and received; `None` where they are not known.
    pub(crate) network_bytes: Option<u64>,
    /// CPU seconds of the kernel's threads that write back and keep journals; `None` where they cannot be seen.
    pub(crate) writeback_s: Option<f64>,
}

/// CPU time of all cores together.
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
    pub(crate) cpu_user_s: f64,
    pub(crate) cpu_system_s: f64,
    pub(crate) rss_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct DiskReading {
    pub(crate) writes: u64,
    pub(crate) flushes: Option<u64>,
    pub(crate) written_bytes: u64,
    pub(crate) busy_ms: u64,
    pub(crate) flushing_ms: u64,
    /// Requests, to read and to write, that were merged with others.
    pub(crate) merged: u64,
}

impl DiskReading {
    /// What was counted since an earlier reading.
    pub(crate) fn since(&self, from: &DiskReading) -> DiskReading {
        DiskReading {
            writes: self.writes.saturating_sub(from.writes),
            flushes: self.flushes.zip(from.flushes).map(|(until, from)| until.saturating_sub(from)),
            written_bytes: self.written_bytes.saturating_sub(from.written_bytes),
            busy_ms: self.busy_ms.saturating_sub(from.busy_ms),
            flushing_ms: self.flushing_ms.saturating_sub(from.flushing_ms),
            merged: self.merged.saturating_sub(from.merged),
        }
    }
}

/// What is read at the two ends of the window: a few milliseconds with many threads.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) reading: Reading,
    /// Cores of the machine; none where it cannot be observed.
    pub(crate) cores: usize,
    /// One a watched process, in their order.
    pub(crate) details: Vec<Detail>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Detail {
    pub(crate) name: String,
    /// Bytes read and written; `None` without the right to know.
    pub(crate) io: Option<(u64, u64)>,
    pub(crate) threads: Vec<ThreadReading>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ThreadReading {
    pub(crate) tid: i32,
    /// Time on a core; `None` where the kernel does not count it.
    pub(crate) cpu_ns: Option<u64>,
    /// Time ready to run without a core; `None` where the kernel does not count it.
    pub(crate) run_queue_ns: Option<u64>,
    pub(crate) switches_voluntary: u64,
    pub(crate) switches_involuntary: u64,
}
