//! Turns counters into loads. Pure: the same readings give the same observation on every system.

use crate::reading::{CpuSeconds, Detail, DiskReading, ProcessReading, Reading, Snapshot};
use crate::watch::{Usage, Watched};
use model::Nanos;
use result::{
    Disk, Machine, MachineWide, MachineWideSample, Process, ProcessSample, Writeback, WritebackSample,
};

/// The two ends of a window, and all readings of the watch around it.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub(crate) from: &'a Snapshot,
    pub(crate) until: &'a Snapshot,
    pub(crate) readings: &'a [Reading],
}

impl Ends<'_> {
    pub(crate) fn duration_s(self) -> f64 {
        (self.until.reading.at - self.from.reading.at).as_secs_f64()
    }

    /// Seconds from the opening of the window.
    fn since(self, at: Nanos) -> f64 {
        at.as_secs_f64() - self.from.reading.at.as_secs_f64()
    }

    /// `machine` with what took its processors.
    pub(crate) fn machine(self, machine: Machine) -> Machine {
        if self.until.cores == 0 {
            return machine;
        }
        let (from, until) = (&self.from.reading, &self.until.reading);
        let time = CpuShare::between(&from.cpu, &until.cpu);
        let ours_s = watched_cpu_s(from, until) + writeback_cpu_s(from, until).unwrap_or(0.0);
        Machine {
            steal_share: Some(rounded(time.steal)),
            other_load_share: Some(rounded((time.tasks - ratio(ours_s, time.total_s)).max(0.0))),
            ..machine
        }
    }

    pub(crate) fn writeback(self) -> Option<Writeback> {
        let sample = |pair: &[Reading]| {
            let duration_s = (pair[1].at - pair[0].at).as_secs_f64();
            let used_s = writeback_cpu_s(&pair[0], &pair[1])?;
            Some(WritebackSample {
                t_s: self.since(pair[1].at),
                cores_busy: rounded(ratio(used_s, duration_s)),
            })
        };
        (self.until.cores > 0).then(|| Writeback {
            cpu_s: writeback_cpu_s(&self.from.reading, &self.until.reading).map(rounded),
            cpu_ms_per_1000_committed: None,
            samples: self.readings.windows(2).filter_map(sample).collect(),
        })
    }

    pub(crate) fn machine_wide(self) -> Option<MachineWide> {
        let sample = |pair: &[Reading]| self.machine_wide_between(&pair[0], &pair[1]);
        let whole = self.machine_wide_between(&self.from.reading, &self.until.reading);
        (self.until.cores > 0).then(|| MachineWide {
            context_switches_per_s: whole.context_switches_per_s,
            network_bytes_per_s: whole.network_bytes_per_s,
            merged_requests_per_s: whole.merged_requests_per_s,
            samples: self.readings.windows(2).map(sample).collect(),
        })
    }

    fn machine_wide_between(self, from: &Reading, until: &Reading) -> MachineWideSample {
        let duration_s = (until.at - from.at).as_secs_f64();
        let per_s = |from: u64, until: u64| rounded(ratio(until.saturating_sub(from) as f64, duration_s));
        let disks = from.disks.iter().zip(&until.disks);
        let merged: Vec<u64> =
            disks.filter_map(|(from, until)| Some(until.as_ref()?.since(from.as_ref()?).merged)).collect();
        MachineWideSample {
            t_s: self.since(until.at),
            context_switches_per_s: per_s(from.context_switches, until.context_switches),
            network_bytes_per_s: from
                .network_bytes
                .zip(until.network_bytes)
                .map(|(from, until)| per_s(from, until)),
            merged_requests_per_s: (!merged.is_empty()).then(|| per_s(0, merged.iter().sum())),
        }
    }

    pub(crate) fn processes(self, watched: &[Watched]) -> Vec<Process> {
        watched.iter().enumerate().map(|(index, watched)| self.process(watched, index)).collect()
    }

    fn process(self, watched: &Watched, index: usize) -> Process {
        let (from, until) = (&self.from.reading.processes[index], &self.until.reading.processes[index]);
        let (first, last) = (&self.from.details[index], &self.until.details[index]);
        let threads = ThreadDeltas::between(first, last);
        let bytes = |pick: fn((u64, u64)) -> u64| Some(pick(last.io?).saturating_sub(pick(first.io?)));
        let samples: Vec<ProcessSample> =
            self.readings.windows(2).filter_map(|pair| self.sample(&pair[0], &pair[1], index)).collect();
        Process {
            roles: vec![watched.role],
            name: last.name.clone(),
            pid: watched.pid,
            cpu_user_s: rounded((until.cpu_user_s - from.cpu_user_s).max(0.0)),
            cpu_system_s: rounded((until.cpu_system_s - from.cpu_system_s).max(0.0)),
            cpu_ms_per_1000_committed: None,
            run_queue_s: threads.run_queue_ns.map(|ns| rounded(ns as f64 / 1e9)),
            busiest_thread_s: threads.busiest_ns.map(|ns| rounded(ns as f64 / 1e9)),
            // Not the most since the process began: loading and auditing before the trial are not its cost.
            rss_peak_bytes: samples.iter().map(|sample| sample.rss_bytes).fold(until.rss_bytes, u64::max),
            switches_voluntary: Some(threads.switches_voluntary),
            switches_involuntary: Some(threads.switches_involuntary),
            io_read_bytes: bytes(|io| io.0),
            io_written_bytes: bytes(|io| io.1),
            samples,
            limits: None,
        }
    }

    fn sample(self, from: &Reading, until: &Reading, index: usize) -> Option<ProcessSample> {
        let (before, now) = (from.processes.get(index)?, until.processes.get(index)?);
        let duration_s = (until.at - from.at).as_secs_f64();
        Some(ProcessSample {
            t_s: self.since(until.at),
            cores_busy: rounded(ratio(cpu_s(now) - cpu_s(before), duration_s).max(0.0)),
            rss_bytes: if now.gone { 0 } else { now.rss_bytes },
        })
    }

    /// Of several devices the sums, but for the time in which they were busy: that is of the busiest.
    pub(crate) fn disk(self, devices: &[String]) -> Option<Disk> {
        let both = self.from.reading.disks.iter().zip(&self.until.reading.disks);
        let found: Vec<(&String, DiskReading)> = devices
            .iter()
            .zip(both)
            .filter_map(|(device, (from, until))| Some((device, until.as_ref()?.since(from.as_ref()?))))
            .collect();
        let duration_s = self.duration_s();
        let sum = |of: fn(&DiskReading) -> u64| found.iter().map(|(_, grown)| of(grown)).sum::<u64>();
        let per_s = |count: u64| rounded(ratio(count as f64, duration_s));
        let flushes: Option<u64> = found.iter().map(|(_, grown)| grown.flushes).sum();
        let busiest_ms = found.iter().map(|(_, grown)| grown.busy_ms).max()?;
        Some(Disk {
            device: found.iter().map(|(device, _)| device.as_str()).collect::<Vec<_>>().join(", "),
            // The kernel rounds up to its tick, so a busy disk can come out a little above 1.
            busy_share: rounded(ratio(busiest_ms as f64 / 1e3, duration_s).min(1.0)),
            writes_per_s: per_s(sum(|grown| grown.writes)),
            written_bytes_per_s: per_s(sum(|grown| grown.written_bytes)),
            flushes_per_s: flushes.map(per_s),
            flush_ms_mean: flushes
                .filter(|count| *count > 0)
                .map(|count| rounded(sum(|grown| grown.flushing_ms) as f64 / count as f64)),
        })
    }
}

/// What the processes of each role have used since the reading `first`, and how many cores they kept busy from `before` to
/// `last`.
pub(crate) fn usage(watched: &[Watched], first: &Reading, before: &Reading, last: &Reading) -> Vec<Usage> {
    let duration_s = (last.at - before.at).as_secs_f64();
    let mut usage: Vec<Usage> = Vec::new();
    for (index, watched) in watched.iter().enumerate() {
        let at = |reading: &Reading| reading.processes.get(index).map_or(0.0, cpu_s);
        let now = last.processes.get(index);
        let own = Usage {
            role: watched.role,
            cpu_s: rounded((at(last) - at(first)).max(0.0)),
            cores: rounded(ratio(at(last) - at(before), duration_s).max(0.0)),
            rss_bytes: now.map_or(0, |process| if process.gone { 0 } else { process.rss_bytes }),
        };
        match usage.iter_mut().find(|all| all.role == own.role) {
            Some(all) => {
                all.cpu_s = rounded(all.cpu_s + own.cpu_s);
                all.cores = rounded(all.cores + own.cores);
                all.rss_bytes += own.rss_bytes;
            }
            None => usage.push(own),
        }
    }
    usage
}

/// How the time of all cores was divided.
struct CpuShare {
    tasks: f64,
    steal: f64,
    /// Core-seconds, of all cores together.
    total_s: f64,
}

impl CpuShare {
    fn between(from: &CpuSeconds, until: &CpuSeconds) -> CpuShare {
        // Idle time and iowait of a core can go back a little (proc(5)); a share must not.
        let grown = |of: fn(&CpuSeconds) -> f64| (of(until) - of(from)).max(0.0);
        let (tasks, steal) = (grown(|cpu| cpu.tasks), grown(|cpu| cpu.steal));
        let rest = grown(|cpu| cpu.interrupts) + grown(|cpu| cpu.idle) + grown(|cpu| cpu.iowait);
        let total_s = tasks + steal + rest;
        CpuShare { tasks: ratio(tasks, total_s), steal: ratio(steal, total_s), total_s }
    }
}

/// What the threads that are alive at the end did since the start.
#[derive(Default)]
struct ThreadDeltas {
    run_queue_ns: Option<u64>,
    busiest_ns: Option<u64>,
    switches_voluntary: u64,
    switches_involuntary: u64,
}

impl ThreadDeltas {
    fn between(first: &Detail, last: &Detail) -> ThreadDeltas {
        let mut deltas = ThreadDeltas::default();
        for thread in &last.threads {
            let before = first.threads.iter().find(|before| before.tid == thread.tid);
            let since = |now: u64, before: Option<u64>| now.saturating_sub(before.unwrap_or(0));
            deltas.switches_voluntary +=
                since(thread.switches_voluntary, before.map(|before| before.switches_voluntary));
            deltas.switches_involuntary +=
                since(thread.switches_involuntary, before.map(|before| before.switches_involuntary));
            let used = thread.cpu_ns.map(|now| since(now, before.and_then(|before| before.cpu_ns)));
            deltas.busiest_ns = deltas.busiest_ns.max(used);
            if let Some(now) = thread.run_queue_ns {
                let waited = since(now, before.and_then(|before| before.run_queue_ns));
                deltas.run_queue_ns = Some(deltas.run_queue_ns.unwrap_or(0) + waited);
            }
        }
        deltas
    }
}

fn watched_cpu_s(from: &Reading, until: &Reading) -> f64 {
    let used = |(from, until)| (cpu_s(until) - cpu_s(from)).max(0.0);
    from.processes.iter().zip(&until.processes).map(used).sum()
}

/// Of the kernel's threads that write back; nothing where they were not seen.
fn writeback_cpu_s(from: &Reading, until: &Reading) -> Option<f64> {
    Some((until.writeback_s? - from.writeback_s?).max(0.0))
}

fn cpu_s(process: &ProcessReading) -> f64 {
    process.cpu_user_s + process.cpu_system_s
}

/// Zero where there is nothing to divide by: an empty window has no load.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Four decimals: more would claim what ticks of 10 ms cannot know, and swell the result document.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Role;

    /// Ten seconds of four cores: 10 core-seconds by the watched process, 6 by others (of which `writing_back` sees 4), 2 of
    /// interrupts, 2 stolen, 4 of iowait, the rest idle.
    fn ends() -> (Snapshot, Snapshot) {
        let snapshot = |at_s: u64, share: f64| {
            let cpu = CpuSeconds {
                tasks: 100.0 + share * 16.0,
                interrupts: 10.0 + share * 2.0,
                idle: 500.0 + share * 16.0,
                iowait: 3.0 + share * 4.0,
                steal: 1.0 + share * 2.0,
            };
            Snapshot {
                reading: Reading {
                    at: Nanos::from_secs(at_s),
                    cpu,
                    processes: vec![ProcessReading {
                        cpu_user_s: 50.0 + share * 7.5,
                        cpu_system_s: 5.0 + share * 2.5,
                        rss_bytes: 1 << 20,
                        ..ProcessReading::default()
                    }],
                    disks: vec![
                        Some(DiskReading {
                            writes: (share * 5_000.0) as u64,
                            flushes: Some((share * 1_000.0) as u64),
                            busy_ms: (share * 9_000.0) as u64,
                            flushing_ms: (share * 2_500.0) as u64,
                            written_bytes: (share * 4e7) as u64,
                            merged: (share * 700.0) as u64,
                        }),
                        None,
                        Some(DiskReading {
                            writes: (share * 1_000.0) as u64,
                            flushes: Some((share * 250.0) as u64),
                            busy_ms: (share * 2_000.0) as u64,
                            ..DiskReading::default()
                        }),
                    ],
                    context_switches: 1_000 + (share * 90_000.0) as u64,
                    network_bytes: Some(5 + (share * 2e6) as u64),
                    writeback_s: None,
                },
                cores: 4,
                details: vec![Detail::default()],
            }
        };
        (snapshot(100, 0.0), snapshot(110, 1.0))
    }

    fn of<'a>(from: &'a Snapshot, until: &'a Snapshot) -> Ends<'a> {
        Ends { from, until, readings: &[] }
    }

    fn shares(ends: Ends<'_>) -> (Option<f64>, Option<f64>) {
        let machine = ends.machine(crate::machine());
        (machine.steal_share, machine.other_load_share)
    }

    #[test]
    fn the_machine_time_is_divided_among_us_others_and_the_rest() {
        let (from, until) = ends();
        assert_eq!(shares(of(&from, &until)), (Some(0.05), Some(0.15)));
        let unseen = Snapshot { cores: 0, ..until };
        assert_eq!(shares(of(&from, &unseen)), (None, None));
        assert_eq!(of(&from, &unseen).writeback(), None);
    }

    #[test]
    fn what_the_kernel_writes_back_is_taken_out_of_others_where_it_is_seen() {
        let (mut from, mut until) = ends();
        (from.reading.writeback_s, until.reading.writeback_s) = (Some(1.0), Some(5.0));
        let readings = [from.reading.clone(), until.reading.clone()];
        let ends = Ends { from: &from, until: &until, readings: &readings };
        assert_eq!(shares(ends).1, Some(0.05));
        let seen = ends.writeback().unwrap();
        let samples = [WritebackSample { t_s: 10.0, cores_busy: 0.4 }];
        assert_eq!((seen.cpu_s, seen.samples.as_slice()), (Some(4.0), samples.as_slice()));
        from.reading.writeback_s = None;
        let ends = Ends { from: &from, until: &until, readings: &[] };
        assert_eq!((shares(ends).1, ends.writeback().unwrap().cpu_s), (Some(0.15), None));
    }

    #[test]
    fn what_the_whole_machine_did_is_told_a_second() {
        let (from, until) = ends();
        let readings = [from.reading.clone(), until.reading.clone()];
        let seen = Ends { from: &from, until: &until, readings: &readings }.machine_wide().unwrap();
        let rates = (seen.context_switches_per_s, seen.network_bytes_per_s, seen.merged_requests_per_s);
        assert_eq!(rates, (9_000.0, Some(200_000.0), Some(70.0)));
        assert_eq!((seen.samples.len(), seen.samples[0].t_s), (1, 10.0));
        let mut bare = until.clone();
        (bare.reading.network_bytes, bare.reading.disks) = (None, Vec::new());
        let seen = of(&from, &bare).machine_wide().unwrap();
        assert_eq!((seen.network_bytes_per_s, seen.merged_requests_per_s), (None, None));
        assert_eq!(of(&from, &Snapshot { cores: 0, ..until }).machine_wide(), None);
    }

    #[test]
    fn a_process_is_charged_for_the_window_alone() {
        let (from, until) = ends();
        let load = &of(&from, &until).processes(&[Watched::of(Role::Server, 7)])[0];
        assert_eq!((load.cpu_user_s, load.cpu_system_s, load.cpu_s()), (7.5, 2.5, 10.0));
        assert_eq!(load.rss_peak_bytes, 1 << 20);
    }

    #[test]
    fn the_disk_is_told_by_its_flushes() {
        let (from, until) = ends();
        let disk = of(&from, &until).disk(&["vda".to_owned()]).expect("it was read twice");
        assert_eq!((disk.busy_share, disk.writes_per_s, disk.written_bytes_per_s), (0.9, 500.0, 4e6));
        assert_eq!((disk.flushes_per_s, disk.flush_ms_mean), (Some(100.0), Some(2.5)));
        assert_eq!(of(&from, &until).disk(&[]), None);
    }

    #[test]
    fn several_disks_are_told_by_their_sums_and_the_busiest() {
        let (from, until) = ends();
        let devices = ["vda", "unseen", "vdb"].map(str::to_owned);
        let disk = of(&from, &until).disk(&devices).expect("two were read twice");
        assert_eq!((disk.device.as_str(), disk.busy_share, disk.writes_per_s), ("vda, vdb", 0.9, 600.0));
        assert_eq!((disk.flushes_per_s, disk.flush_ms_mean), (Some(125.0), Some(2.0)));
    }

    #[test]
    fn samples_add_up_to_the_window() {
        let (from, until) = ends();
        let mut middle = from.reading.clone();
        middle.at = Nanos::from_secs(104);
        middle.processes[0].cpu_user_s += 4.0;
        let readings = [from.reading.clone(), middle, until.reading.clone()];
        let ends = Ends { from: &from, until: &until, readings: &readings };
        let samples = &ends.processes(&[Watched::of(Role::Server, 7)])[0].samples;
        assert_eq!(samples.iter().map(|sample| sample.t_s).collect::<Vec<_>>(), [4.0, 10.0]);
        let cpu_s = samples[0].cores_busy * 4.0 + samples[1].cores_busy * 6.0;
        assert!((cpu_s - 10.0).abs() < 1e-3, "{samples:?}");
    }

    #[test]
    fn counters_that_go_back_do_not_make_negative_loads() {
        let (from, mut until) = ends();
        until.reading.cpu.steal = 0.0;
        until.reading.processes[0].cpu_user_s = 0.0;
        let ends = of(&from, &until);
        assert_eq!(shares(ends).0, Some(0.0));
        assert_eq!(ends.processes(&[Watched::of(Role::Engine, 1)])[0].cpu_user_s, 0.0);
    }

    #[test]
    fn an_empty_window_has_no_load() {
        let (from, _) = ends();
        assert_eq!(shares(of(&from, &from)), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn usage_counts_from_the_first_sample_and_is_fast_as_of_the_last_two() {
        let reading = |second, cpu_user_s, gone| Reading {
            at: Nanos::from_secs(second),
            processes: vec![
                ProcessReading { cpu_user_s, rss_bytes: 7, gone, ..ProcessReading::default() };
                2
            ],
            ..Reading::default()
        };
        let watched = [Watched::of(Role::Server, 1)];
        let found =
            usage(&watched, &reading(0, 3.0, false), &reading(8, 4.0, false), &reading(10, 7.0, false));
        assert_eq!(found, [Usage { role: Role::Server, cpu_s: 4.0, cores: 1.5, rss_bytes: 7 }]);
        let single =
            usage(&watched, &reading(0, 3.0, false), &reading(0, 3.0, false), &reading(0, 3.0, true));
        assert_eq!(single, [Usage { role: Role::Server, cpu_s: 0.0, cores: 0.0, rss_bytes: 0 }]);
        // Engines of two stores count as one.
        let two = [Watched::of(Role::Engine, 1), Watched::of(Role::Engine, 2)];
        let both = usage(&two, &reading(0, 3.0, false), &reading(8, 4.0, false), &reading(10, 7.0, false));
        assert_eq!(both, [Usage { role: Role::Engine, cpu_s: 8.0, cores: 3.0, rss_bytes: 14 }]);
    }
}
