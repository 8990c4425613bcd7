//! Reads the counters from `/proc`.

use crate::family::Family;
use crate::kernel::KernelThreads;
use crate::reading::{CpuSeconds, DiskReading, Reading, Snapshot};
use crate::watch::{ObserveError, Watched};
use model::Nanos;
use procfs::CurrentSI;

/// Sectors of `/proc/diskstats` are of this size whatever the device's own.
const SECTOR_BYTES: u64 = 512;

/// Open handles on the watched processes, the kernel's threads, and the names of the watched devices.
pub(crate) struct Probe {
    processes: Vec<Family>,
    devices: Vec<String>,
    kernel: KernelThreads,
    tick_s: f64,
}

impl Probe {
    pub(crate) fn open(watched: &[Watched], devices: Vec<String>) -> Result<Probe, ObserveError> {
        let open = |watched: &Watched| {
            Family::open(watched)
                .ok_or(ObserveError::NoSuchProcess { role: watched.role.word(), pid: watched.pid })
        };
        Ok(Probe {
            processes: watched.iter().map(open).collect::<Result<_, _>>()?,
            devices,
            kernel: KernelThreads::open("/proc"),
            tick_s: 1.0 / procfs::ticks_per_second() as f64,
        })
    }

    /// What can't be seen here, a clause each.
    pub(crate) fn blind_spots(&mut self) -> Vec<String> {
        let mut spots = Vec::new();
        if let Err(error) = procfs::KernelStats::current() {
            spots.push(format!("the machine's load: {error}"));
        }
        for family in self.processes.iter().filter(|family| family.hides_io()) {
            spots.push(format!(
                "bytes read and written by process {}: it belongs to another user",
                family.pid()
            ));
        }
        if self.kernel.read().is_none() {
            spots.push(
                "CPU time of the kernel's writeback and journals: its threads are not visible here".into(),
            );
        }
        for (device, _) in self.devices.iter().zip(self.disks()).filter(|(_, disk)| disk.is_none()) {
            spots.push(format!("block device {device}: not in /proc/diskstats"));
        }
        spots
    }

    pub(crate) fn read(&mut self, at: Nanos) -> Reading {
        let tick_s = self.tick_s;
        let stat = procfs::KernelStats::current().ok();
        Reading {
            at,
            cpu: stat.as_ref().map(|stat| cpu_seconds(&stat.total, tick_s)).unwrap_or_default(),
            context_switches: stat.map_or(0, |stat| stat.ctxt),
            network_bytes: network_bytes(),
            processes: self.processes.iter_mut().map(|family| family.read(tick_s)).collect(),
            disks: self.disks(),
            writeback_s: self.kernel.read().map(|ticks| ticks as f64 * tick_s),
        }
    }

    /// `at` is read first and the machine's counters next to it; the details, which take longer, come last.
    pub(crate) fn snapshot(&mut self, at: Nanos) -> Snapshot {
        Snapshot {
            reading: self.read(at),
            cores: procfs::KernelStats::current().map_or(0, |stat| stat.cpu_time.len()),
            details: self.processes.iter_mut().map(Family::details).collect(),
        }
    }

    fn disks(&self) -> Vec<Option<DiskReading>> {
        if self.devices.is_empty() {
            return Vec::new();
        }
        let disks = procfs::diskstats().unwrap_or_default();
        let reading = |disk: &procfs::DiskStat| DiskReading {
            writes: disk.writes,
            flushes: disk.flushes,
            written_bytes: disk.sectors_written * SECTOR_BYTES,
            busy_ms: disk.time_in_progress,
            flushing_ms: disk.time_flushing.unwrap_or(0),
            merged: disk.merged + disk.writes_merged,
        };
        let of = |device: &String| disks.iter().find(|disk| disk.name == *device).map(reading);
        self.devices.iter().map(of).collect()
    }
}

/// What is sent over the loopback device is received there too, and counted once.
fn network_bytes() -> Option<u64> {
    let devices = procfs::net::dev_status().ok()?;
    let bytes = |device: &procfs::net::DeviceStatus| match device.name.as_str() {
        "lo" => device.recv_bytes,
        _ => device.recv_bytes + device.sent_bytes,
    };
    Some(devices.values().map(bytes).sum())
}

fn cpu_seconds(time: &procfs::CpuTime, tick_s: f64) -> CpuSeconds {
    let seconds = |ticks: u64| ticks as f64 * tick_s;
    CpuSeconds {
        tasks: seconds(time.user + time.nice + time.system),
        interrupts: seconds(time.irq.unwrap_or(0) + time.softirq.unwrap_or(0)),
        idle: seconds(time.idle),
        iowait: seconds(time.iowait.unwrap_or(0)),
        steal: seconds(time.steal.unwrap_or(0)),
    }
}
