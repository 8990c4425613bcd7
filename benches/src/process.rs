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

/// Keeps the calling thread, and all threads and processes that it starts from now on, on the first two cores: generator
/// and engine share them, as the goals say. Not where the system does not let us.
pub fn keep_on_two_cores() {
    let mut set = CpuSet::new();
    set.set(0);
    set.set(1);
    let _ = sched_setaffinity(None, &set);
}

/// Keeps this process, and what it starts from now on, on one core: between one client and its server the scheduler
/// otherwise chooses again whether they share one, and that alone doubles or halves the time of a call.
pub fn keep_on_one_core() {
    let mut set = CpuSet::new();
    set.set(0);
    let _ = sched_setaffinity(None, &set);
}

/// The load of the machine over the last minute, as it calls it; figures taken while others use it say less.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Memory that the process holds now, in bytes; zero where the system does not report.
pub fn resident_bytes() -> u64 {
    status("VmRSS:")
}

/// The most memory that the process has held so far, in bytes.
pub fn resident_bytes_peak() -> u64 {
    status("VmHWM:")
}

/// Forgets the peak of [`resident_bytes_peak`], so that it is that of what follows. Not where the system does not let us:
/// the peak is then that of all so far.
pub fn forget_resident_bytes_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// CPU seconds of this process so far, outside of the kernel and in it, to a hundredth.
pub fn cpu_seconds() -> (f64, f64) {
    let [user, system, ..] = cpu_times();
    (user, system)
}

/// CPU seconds of the children that have ended, to a hundredth.
pub fn children_cpu_seconds() -> f64 {
    let [.., user, system] = cpu_times();
    user + system
}

/// User and system time of this process, and of its children that have ended, in seconds.
fn cpu_times() -> [f64; 4] {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold spaces; fields are counted from behind it.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // Fields 14 to 17 of proc(5); the first behind the name is number 3. A hundred ticks a second on every Linux.
    [11, 12, 13, 14].map(|at| ticks(at) / 100.0)
}

fn status(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1_024
}
