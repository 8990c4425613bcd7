//! This process and its cores, as Linux tells.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;

/// Keeps the calling thread, and those it starts from now on, on one core. Not where there is no such core, or the
/// system does not let us: the figures then say less.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

/// Memory that the process holds now, in bytes; zero where the system does not tell.
#[must_use]
pub fn resident_bytes() -> u64 {
    status("VmRSS:")
}

/// The most memory that the process has held so far, in bytes.
#[must_use]
pub fn resident_bytes_peak() -> u64 {
    status("VmHWM:")
}

/// CPU seconds of the children that have ended, to a hundredth.
#[must_use]
pub fn children_cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold spaces; fields are counted from behind it.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // Fields 16 and 17 of proc(5); the first behind the name is number 3. A hundred ticks a second on every Linux.
    (ticks(13) + ticks(14)) / 100.0
}

fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1_024
}
