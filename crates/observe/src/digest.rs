//! Turns counters into loads. Pure: the same readings give the same observation on every system.

use crate::document::{
    DiskLoad, MachineLoad, OtherProcess, ProcessLoad, ProcessSlice, Slice, ThreadLoad, Window,
};
use crate::reading::{Bystander, CpuSeconds, Detail, DiskReading, ProcessReading, Reading, Snapshot};
use crate::watch::{Usage, Watched};
use model::Nanos;
use std::collections::{BTreeMap, HashMap};

/// Unwatched processes are named up to this many,
const OTHERS_MAX: usize = 5;
/// and only from this share of a core on.
const OTHERS_CORES_MIN: f64 = 0.01;

/// The two ends of a window.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub(crate) from: &'a Snapshot,
    pub(crate) until: &'a Snapshot,
}

impl Ends<'_> {
    pub(crate) fn window(self) -> Window {
        Window { from_ns: self.from.reading.at, until_ns: self.until.reading.at }
    }

    pub(crate) fn machine(self, others: Vec<OtherProcess>) -> Option<MachineLoad> {
        if self.until.cores.is_empty() {
            return None;
        }
        let (from, until) = (&self.from.reading, &self.until.reading);
        let time = CpuShare::between(&from.cpu, &until.cpu);
        let cores = self.until.cores.len() as f64;
        let watched_s = watched_cpu_s(from, until);
        let writeback_s = writeback_cpu_s(from, until);
        let window_us = self.window().length_s() * 1e6;
        let pressure = |from: Option<u64>, until: Option<u64>| {
            let waited_us = until?.saturating_sub(from?) as f64;
            Some(rounded(ratio(waited_us, window_us).min(1.0)))
        };
        Some(MachineLoad {
            busy_cores: rounded(time.busy() * cores),
            core_busy_shares: self
                .from
                .cores
                .iter()
                .zip(&self.until.cores)
                .map(|(from, until)| rounded(CpuShare::between(from, until).busy()))
                .collect(),
            interrupt_cores: rounded(time.interrupts * cores),
            other_cores: rounded(
                (time.tasks - ratio(watched_s + writeback_s.unwrap_or(0.0), time.total_s)).max(0.0) * cores,
            ),
            writeback_cores: writeback_s.map(|used_s| rounded(ratio(used_s, time.total_s) * cores)),
            writeback_cpu_s: writeback_s.map(rounded),
            steal_share: rounded(time.steal),
            iowait_share: rounded(time.iowait),
            load_1m: rounded(self.until.load_1m),
            cpu_pressure_share: pressure(self.from.cpu_pressure_us, self.until.cpu_pressure_us),
            io_pressure_share: pressure(self.from.io_pressure_us, self.until.io_pressure_us),
            others,
        })
    }

    pub(crate) fn processes(self, watched: &[Watched], gone_at: &[Option<Nanos>]) -> Vec<ProcessLoad> {
        (0..watched.len()).map(|index| self.process(watched[index], index, gone_at[index])).collect()
    }

    fn process(self, watched: Watched, index: usize, gone_at: Option<Nanos>) -> ProcessLoad {
        let (from, until) = (&self.from.reading.processes[index], &self.until.reading.processes[index]);
        let (first, last) = (&self.from.details[index], &self.until.details[index]);
        let threads = ThreadDeltas::between(first, last);
        let length_s = self.window().length_s();
        let bytes = |pick: fn((u64, u64)) -> u64| Some(pick(last.io?).saturating_sub(pick(first.io?)));
        ProcessLoad {
            role: watched.role,
            pid: watched.pid,
            name: last.name.clone(),
            cpu_user_s: rounded((until.cpu_user_s - from.cpu_user_s).max(0.0)),
            cpu_system_s: rounded((until.cpu_system_s - from.cpu_system_s).max(0.0)),
            rss_bytes: until.rss_bytes,
            rss_bytes_max: last.rss_bytes_max.max(until.rss_bytes),
            threads: until.threads,
            busiest_thread: threads
                .busiest
                .map(|(name, cpu_s)| ThreadLoad { name, cores: rounded(ratio(cpu_s, length_s)) }),
            run_queue_s: threads.run_queue_ns.map(|ns| rounded(ns as f64 / 1e9)),
            switches_voluntary: threads.switches_voluntary,
            switches_involuntary: threads.switches_involuntary,
            read_bytes: bytes(|io| io.0),
            written_bytes: bytes(|io| io.1),
            // A server that is stopped once the window has closed did nothing wrong.
            gone_at_ns: gone_at.filter(|at| *at <= self.until.reading.at),
            restarts: until.restarts,
        }
    }

    pub(crate) fn disk(self, device: &str) -> Option<DiskLoad> {
        let (from, until) = (self.from.reading.disk?, self.until.reading.disk?);
        let length_s = self.window().length_s();
        let per_s = |from: u64, until: u64| rounded(ratio(until.saturating_sub(from) as f64, length_s));
        let mean_ms = |ms: u64, count: u64| (count > 0).then(|| rounded(ms as f64 / count as f64));
        let flushes = until.flushes.zip(from.flushes).map(|(until, from)| until.saturating_sub(from));
        Some(DiskLoad {
            device: device.to_owned(),
            busy_share: disk_busy_share(&from, &until, length_s),
            in_flight_mean: per_s(from.requests_ms, until.requests_ms) / 1e3,
            reads_per_s: per_s(from.reads, until.reads),
            writes_per_s: per_s(from.writes, until.writes),
            flushes_per_s: flushes.map(|flushes| per_s(0, flushes)),
            read_bytes_per_s: per_s(from.read_bytes, until.read_bytes),
            written_bytes_per_s: per_s(from.written_bytes, until.written_bytes),
            write_ms_mean: mean_ms(
                until.writing_ms.saturating_sub(from.writing_ms),
                until.writes.saturating_sub(from.writes),
            ),
            flush_ms_mean: mean_ms(until.flushing_ms.saturating_sub(from.flushing_ms), flushes.unwrap_or(0)),
        })
    }
}

/// What each process has used since the reading `first`, and how many cores it kept busy from `before` to `last`.
pub(crate) fn usage(watched: &[Watched], first: &Reading, before: &Reading, last: &Reading) -> Vec<Usage> {
    let length_s = (last.at - before.at).as_secs_f64();
    let of = |index: usize, watched: &Watched| {
        let at = |reading: &Reading| reading.processes.get(index).map_or(0.0, cpu_s);
        let now = last.processes.get(index);
        Usage {
            role: watched.role,
            cpu_s: rounded((at(last) - at(first)).max(0.0)),
            cores: rounded(ratio(at(last) - at(before), length_s).max(0.0)),
            rss_bytes: now.map_or(0, |process| if process.gone { 0 } else { process.rss_bytes }),
        }
    };
    watched.iter().enumerate().map(|(index, watched)| of(index, watched)).collect()
}

/// The time line: one slice between each reading and the next.
pub(crate) fn slices(readings: &[Reading], cores: usize) -> Vec<Slice> {
    readings.windows(2).map(|pair| slice(&pair[0], &pair[1], cores as f64)).collect()
}

fn slice(from: &Reading, until: &Reading, cores: f64) -> Slice {
    let length_s = (until.at - from.at).as_secs_f64();
    let time = CpuShare::between(&from.cpu, &until.cpu);
    let watched = ratio(watched_cpu_s(from, until), length_s);
    let writeback = writeback_cpu_s(from, until).map(|used_s| ratio(used_s, length_s));
    let process = |(from, until): (&ProcessReading, &ProcessReading)| ProcessSlice {
        cores: rounded(ratio(cpu_s(until) - cpu_s(from), length_s).max(0.0)),
        cores_system: rounded(ratio(until.cpu_system_s - from.cpu_system_s, length_s).max(0.0)),
        rss_bytes: if until.gone { 0 } else { until.rss_bytes },
    };
    Slice {
        from_ns: from.at,
        until_ns: until.at,
        busy_cores: rounded(time.busy() * cores),
        other_cores: rounded((time.tasks * cores - watched - writeback.unwrap_or(0.0)).max(0.0)),
        writeback_cores: writeback.map(rounded),
        steal_cores: rounded(time.steal * cores),
        iowait_cores: rounded(time.iowait * cores),
        disk_busy_share: from
            .disk
            .zip(until.disk)
            .map(|(from, until)| disk_busy_share(&from, &until, length_s)),
        processes: from.processes.iter().zip(&until.processes).map(process).collect(),
    }
}

/// The unwatched processes that used the most CPU time between two looks, the busiest first; processes of one name
/// together, since ten compilers are one disturbance.
pub(crate) fn others(before: &[Bystander], after: Vec<Bystander>, length_s: f64) -> Vec<OtherProcess> {
    let before: HashMap<_, _> = before.iter().map(|one| ((one.pid, one.born), one.cpu_s)).collect();
    let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
    for one in after {
        let earlier_s = before.get(&(one.pid, one.born)).copied().unwrap_or(0.0);
        *by_name.entry(one.name).or_default() += one.cpu_s - earlier_s;
    }
    let mut others: Vec<OtherProcess> = by_name
        .into_iter()
        .filter(|(_, cpu_s)| ratio(*cpu_s, length_s) >= OTHERS_CORES_MIN)
        .map(|(name, cpu_s)| OtherProcess { name, cpu_s: rounded(cpu_s) })
        .collect();
    others.sort_by(|a, b| b.cpu_s.total_cmp(&a.cpu_s));
    others.truncate(OTHERS_MAX);
    others
}

/// How the time of some cores was divided.
struct CpuShare {
    tasks: f64,
    interrupts: f64,
    iowait: f64,
    steal: f64,
    /// Core-seconds, of all cores together.
    total_s: f64,
}

impl CpuShare {
    fn between(from: &CpuSeconds, until: &CpuSeconds) -> CpuShare {
        // Idle time and iowait of a core can go back a little (proc(5)); a share must not.
        let grown = |from: f64, until: f64| (until - from).max(0.0);
        let tasks = grown(from.tasks, until.tasks);
        let interrupts = grown(from.interrupts, until.interrupts);
        let idle = grown(from.idle, until.idle);
        let iowait = grown(from.iowait, until.iowait);
        let steal = grown(from.steal, until.steal);
        let total_s = tasks + interrupts + idle + iowait + steal;
        CpuShare {
            tasks: ratio(tasks, total_s),
            interrupts: ratio(interrupts, total_s),
            iowait: ratio(iowait, total_s),
            steal: ratio(steal, total_s),
            total_s,
        }
    }

    fn busy(&self) -> f64 {
        self.tasks + self.interrupts
    }
}

/// What the threads that are alive at the end did since the start.
#[derive(Default)]
struct ThreadDeltas {
    run_queue_ns: Option<u64>,
    switches_voluntary: u64,
    switches_involuntary: u64,
    busiest: Option<(String, f64)>,
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
            if let Some(now) = thread.run_queue_ns {
                let waited = since(now, before.and_then(|before| before.run_queue_ns));
                deltas.run_queue_ns = Some(deltas.run_queue_ns.unwrap_or(0) + waited);
            }
            let cpu_s = thread.cpu_s - before.map_or(0.0, |before| before.cpu_s);
            if deltas.busiest.as_ref().is_none_or(|(_, most)| cpu_s > *most) {
                deltas.busiest = Some((thread.name.clone(), cpu_s));
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

fn disk_busy_share(from: &DiskReading, until: &DiskReading, length_s: f64) -> f64 {
    // The kernel rounds up to its tick, so a busy disk can come out a little above 1.
    rounded(ratio(until.busy_ms.saturating_sub(from.busy_ms) as f64 / 1e3, length_s).min(1.0))
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
    use crate::Role;

    const CORES: usize = 4;

    /// Ten seconds of four cores: 10 core-seconds by the watched process, 6 by others (of which `writing_back` sees 4), 2 of
    /// interrupts, 2 stolen, 4 of iowait, the rest idle.
    fn ends() -> (Snapshot, Snapshot) {
        let snapshot = |at_s: u64, share: f64| {
            let cpu = |cores: f64| CpuSeconds {
                tasks: 100.0 + share * 16.0 * cores,
                interrupts: 10.0 + share * 2.0 * cores,
                idle: 500.0 + share * 16.0 * cores,
                iowait: 3.0 + share * 4.0 * cores,
                steal: 1.0 + share * 2.0 * cores,
            };
            Snapshot {
                reading: Reading {
                    at: Nanos::from_secs(at_s),
                    cpu: cpu(1.0),
                    processes: vec![ProcessReading {
                        cpu_user_s: 50.0 + share * 7.5,
                        cpu_system_s: 5.0 + share * 2.5,
                        rss_bytes: 1 << 20,
                        threads: 2,
                        ..ProcessReading::default()
                    }],
                    disk: Some(DiskReading {
                        writes: (share * 5_000.0) as u64,
                        flushes: Some((share * 1_000.0) as u64),
                        busy_ms: (share * 9_000.0) as u64,
                        flushing_ms: (share * 2_500.0) as u64,
                        written_bytes: (share * 4e7) as u64,
                        ..DiskReading::default()
                    }),
                    writeback_s: None,
                },
                cores: vec![cpu(0.25); CORES],
                cpu_pressure_us: Some((share * 1e6) as u64),
                details: vec![Detail::default()],
                ..Snapshot::default()
            }
        };
        (snapshot(100, 0.0), snapshot(110, 1.0))
    }

    #[test]
    fn the_machine_time_is_divided_among_us_others_and_the_rest() {
        let (from, until) = ends();
        let load = Ends { from: &from, until: &until }.machine(Vec::new()).expect("there are cores");
        assert_eq!((load.busy_cores, load.interrupt_cores, load.other_cores), (1.8, 0.2, 0.6));
        assert_eq!((load.steal_share, load.iowait_share), (0.05, 0.1));
        assert_eq!(load.core_busy_shares, [0.45; CORES]);
        assert_eq!((load.cpu_pressure_share, load.io_pressure_share), (Some(0.1), None));
    }

    #[test]
    fn what_the_kernel_writes_back_is_taken_out_of_others_where_it_is_seen() {
        let (mut from, mut until) = ends();
        (from.reading.writeback_s, until.reading.writeback_s) = (Some(1.0), Some(5.0));
        let load = Ends { from: &from, until: &until }.machine(Vec::new()).expect("there are cores");
        assert_eq!(
            (load.other_cores, load.writeback_cores, load.writeback_cpu_s),
            (0.2, Some(0.4), Some(4.0))
        );
        assert_eq!(load.busy_cores, 1.8);
        let [slice] = &slices(&[from.reading.clone(), until.reading.clone()], CORES)[..] else { panic!() };
        assert_eq!((slice.other_cores, slice.writeback_cores), (0.2, Some(0.4)));
        from.reading.writeback_s = None;
        let load = Ends { from: &from, until: &until }.machine(Vec::new()).expect("there are cores");
        assert_eq!((load.other_cores, load.writeback_cores, load.writeback_cpu_s), (0.6, None, None));
    }

    #[test]
    fn a_process_is_charged_for_the_window_alone() {
        let (from, until) = ends();
        let watched = Watched { role: Role::Server, pid: 7 };
        let check = |gone_at, reported| {
            let load = &Ends { from: &from, until: &until }.processes(&[watched], &[gone_at])[0];
            assert_eq!((load.cpu_user_s, load.cpu_system_s, load.cpu_s()), (7.5, 2.5, 10.0));
            assert_eq!(load.gone_at_ns, reported);
        };
        check(None, None);
        check(Some(Nanos::from_secs(105)), Some(Nanos::from_secs(105)));
        check(Some(Nanos::from_secs(111)), None);
    }

    #[test]
    fn the_disk_is_told_by_its_flushes() {
        let (from, until) = ends();
        let disk = Ends { from: &from, until: &until }.disk("vda").expect("it was read twice");
        assert_eq!((disk.busy_share, disk.writes_per_s, disk.written_bytes_per_s), (0.9, 500.0, 4e6));
        assert_eq!((disk.flushes_per_s, disk.flush_ms_mean), (Some(100.0), Some(2.5)));
        assert_eq!(disk.write_ms_mean, Some(0.0));
    }

    #[test]
    fn slices_add_up_to_the_window() {
        let (from, until) = ends();
        let mut middle = from.reading.clone();
        middle.at = Nanos::from_secs(104);
        middle.processes[0].cpu_user_s += 4.0;
        middle.cpu.tasks += 6.0;
        middle.cpu.idle += 10.0;
        let slices = slices(&[from.reading, middle, until.reading], CORES);
        let cpu_s: f64 = slices
            .iter()
            .map(|slice| slice.processes[0].cores * (slice.until_ns - slice.from_ns).as_secs_f64())
            .sum();
        assert!((cpu_s - 10.0).abs() < 1e-3, "{slices:?}");
        assert_eq!(slices[0].until_ns, slices[1].from_ns);
        assert_eq!((slices[0].busy_cores, slices[0].other_cores), (1.5, 0.5));
    }

    #[test]
    fn counters_that_go_back_do_not_make_negative_loads() {
        let (from, mut until) = ends();
        until.reading.cpu.iowait = 0.0;
        until.reading.processes[0].cpu_user_s = 0.0;
        let ends = Ends { from: &from, until: &until };
        assert_eq!(ends.machine(Vec::new()).expect("there are cores").iowait_share, 0.0);
        assert_eq!(ends.processes(&[Watched { role: Role::Engine, pid: 1 }], &[None])[0].cpu_user_s, 0.0);
    }

    #[test]
    fn an_empty_window_has_no_load() {
        let (from, _) = ends();
        let load = Ends { from: &from, until: &from }.machine(Vec::new()).expect("there are cores");
        assert_eq!((load.busy_cores, load.other_cores, load.cpu_pressure_share), (0.0, 0.0, Some(0.0)));
    }

    #[test]
    fn the_busiest_bystanders_are_named_and_a_reused_pid_is_another_process() {
        let one = |pid, born, name: &str, cpu_s| Bystander { pid, born, name: name.to_owned(), cpu_s };
        let before = [one(1, 1, "init", 50.0), one(2, 1, "old", 9.0), one(3, 1, "backup", 1.0)];
        let after = vec![
            one(1, 1, "init", 50.0),
            one(2, 77, "cc1", 2.0),
            one(3, 1, "backup", 5.5),
            one(9, 80, "cc1", 1.0),
        ];
        let named: Vec<_> =
            others(&before, after, 10.0).into_iter().map(|other| (other.name, other.cpu_s)).collect();
        assert_eq!(named, [("backup".to_owned(), 4.5), ("cc1".to_owned(), 3.0)]);
    }

    #[test]
    fn usage_counts_from_the_first_sample_and_is_fast_as_of_the_last_two() {
        let reading = |second, cpu_user_s, gone| Reading {
            at: Nanos::from_secs(second),
            processes: vec![ProcessReading { cpu_user_s, rss_bytes: 7, gone, ..ProcessReading::default() }],
            ..Reading::default()
        };
        let watched = [Watched { role: Role::Server, pid: 1 }];
        let found =
            usage(&watched, &reading(0, 3.0, false), &reading(8, 4.0, false), &reading(10, 7.0, false));
        assert_eq!(found, [Usage { role: Role::Server, cpu_s: 4.0, cores: 1.5, rss_bytes: 7 }]);
        let alone = usage(&watched, &reading(0, 3.0, false), &reading(0, 3.0, false), &reading(0, 3.0, true));
        assert_eq!(alone, [Usage { role: Role::Server, cpu_s: 0.0, cores: 0.0, rss_bytes: 0 }]);
    }
}
