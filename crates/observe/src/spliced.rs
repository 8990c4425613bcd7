//! Several windows of one party as if they were one: counters that stand still while others have their turn.
//!
//! What is made of a single window is made of these as it is: time, like every counter, is a sum over the windows.

use crate::engine::{EngineReading, EngineSamples, Mark, StatementCount};
use crate::reading::{CpuSeconds, Detail, DiskReading, ProcessReading, Reading, Snapshot, ThreadReading};
use model::Nanos;
use result::GaugeKind;

/// The two ends of the windows together, and the readings within them.
#[derive(Debug)]
pub(crate) struct Spliced {
    pub(crate) from: Snapshot,
    pub(crate) until: Snapshot,
    pub(crate) readings: Vec<Reading>,
}

impl Spliced {
    /// Of the ends of each window, in their order, and the readings of the whole watch. `watched` is any look at what it watches.
    pub(crate) fn of<'a>(
        watched: &Snapshot,
        windows: impl Iterator<Item = (&'a Snapshot, &'a Snapshot)>,
        readings: &[Reading],
    ) -> Spliced {
        let mut spliced = Spliced::beginning(watched);
        for (from, until) in windows {
            let Spliced { until: sum, readings: line, .. } = &mut spliced;
            let (opens, closes) = (from.reading.at, until.reading.at);
            let within = readings.iter().filter(|reading| opens < reading.at && reading.at < closes);
            line.extend(within.map(|reading| sum.reading.advanced(&from.reading, reading)));
            sum.reading = sum.reading.advanced(&from.reading, &until.reading);
            sum.cores = until.cores;
            for ((sum, from), until) in sum.details.iter_mut().zip(&from.details).zip(&until.details) {
                sum.advance(from, until);
            }
            line.push(sum.reading.clone());
        }
        spliced
    }

    /// Nothing has happened yet.
    fn beginning(first: &Snapshot) -> Spliced {
        let reading = Reading::default().advanced(&first.reading, &first.reading);
        let detail = |detail: &Detail| Detail {
            name: detail.name.clone(),
            io: detail.io.map(|_| (0, 0)),
            threads: Vec::new(),
        };
        let from = Snapshot {
            reading: reading.clone(),
            cores: first.cores,
            details: first.details.iter().map(detail).collect(),
        };
        Spliced { until: from.clone(), from, readings: vec![reading] }
    }
}

impl Reading {
    /// This with what was counted between two others. What one of those two does not know is not known of the sum.
    fn advanced(&self, from: &Reading, until: &Reading) -> Reading {
        let process = |at: usize, now: &ProcessReading| {
            let before = from.processes.get(at).unwrap_or(now);
            let sum = self.processes.get(at).cloned().unwrap_or_default();
            ProcessReading {
                cpu_user_s: sum.cpu_user_s + (now.cpu_user_s - before.cpu_user_s).max(0.0),
                cpu_system_s: sum.cpu_system_s + (now.cpu_system_s - before.cpu_system_s).max(0.0),
                ..now.clone()
            }
        };
        let disk = |at: usize, now: &Option<DiskReading>| {
            let grown = now.as_ref()?.since(from.disks.get(at)?.as_ref()?);
            Some(self.disks.get(at).copied().flatten().unwrap_or_default().plus(&grown))
        };
        let both = |sum: Option<u64>, from: Option<u64>, until: Option<u64>| {
            from.zip(until).map(|(from, until)| sum.unwrap_or(0) + until.saturating_sub(from))
        };
        Reading {
            at: self.at + (until.at - from.at),
            cpu: self.cpu.plus(&from.cpu, &until.cpu),
            processes: until.processes.iter().enumerate().map(|(at, now)| process(at, now)).collect(),
            disks: until.disks.iter().enumerate().map(|(at, now)| disk(at, now)).collect(),
            context_switches: self.context_switches
                + until.context_switches.saturating_sub(from.context_switches),
            network_bytes: both(self.network_bytes, from.network_bytes, until.network_bytes),
            writeback_s: from
                .writeback_s
                .zip(until.writeback_s)
                .map(|(from, until)| self.writeback_s.unwrap_or(0.0) + (until - from).max(0.0)),
        }
    }
}

impl CpuSeconds {
    fn plus(&self, from: &CpuSeconds, until: &CpuSeconds) -> CpuSeconds {
        let sum = |of: fn(&CpuSeconds) -> f64| of(self) + (of(until) - of(from)).max(0.0);
        CpuSeconds {
            tasks: sum(|cpu| cpu.tasks),
            interrupts: sum(|cpu| cpu.interrupts),
            idle: sum(|cpu| cpu.idle),
            iowait: sum(|cpu| cpu.iowait),
            steal: sum(|cpu| cpu.steal),
        }
    }
}

impl DiskReading {
    fn plus(&self, grown: &DiskReading) -> DiskReading {
        DiskReading {
            writes: self.writes + grown.writes,
            flushes: grown.flushes.map(|grown| self.flushes.unwrap_or(0) + grown),
            written_bytes: self.written_bytes + grown.written_bytes,
            busy_ms: self.busy_ms + grown.busy_ms,
            flushing_ms: self.flushing_ms + grown.flushing_ms,
            merged: self.merged + grown.merged,
        }
    }
}

impl Detail {
    /// Adds what a process and its threads did between two looks at them.
    fn advance(&mut self, from: &Detail, until: &Detail) {
        self.name.clone_from(&until.name);
        let grown = |until: (u64, u64), from: (u64, u64)| {
            (until.0.saturating_sub(from.0), until.1.saturating_sub(from.1))
        };
        self.io = from.io.zip(until.io).map(|(from, until)| {
            let (grown, sum) = (grown(until, from), self.io.unwrap_or_default());
            (sum.0 + grown.0, sum.1 + grown.1)
        });
        for thread in &until.threads {
            let before = from.threads.iter().find(|before| before.tid == thread.tid);
            let fresh = ThreadReading { tid: thread.tid, ..ThreadReading::default() };
            let before = before.unwrap_or(&fresh);
            let at = self.threads.iter().position(|known| known.tid == thread.tid).unwrap_or_else(|| {
                self.threads.push(fresh.clone());
                self.threads.len() - 1
            });
            let sum = &mut self.threads[at];
            let time = |sum: Option<u64>, from: Option<u64>, until: Option<u64>| {
                until.map(|until| sum.unwrap_or(0) + until.saturating_sub(from.unwrap_or(0)))
            };
            sum.cpu_ns = time(sum.cpu_ns, before.cpu_ns, thread.cpu_ns);
            sum.run_queue_ns = time(sum.run_queue_ns, before.run_queue_ns, thread.run_queue_ns);
            sum.switches_voluntary += thread.switches_voluntary.saturating_sub(before.switches_voluntary);
            sum.switches_involuntary +=
                thread.switches_involuntary.saturating_sub(before.switches_involuntary);
        }
    }
}

impl EngineSamples {
    /// What was heard in the windows of one party: `parties` says for each window, in their order, whose it is.
    pub(crate) fn spliced(&self, parties: &[usize], party: usize) -> EngineSamples {
        let last = self.opened.iter().map(|opened| (opened, self.closed.as_ref()));
        let windows = self.earlier.iter().map(|(opened, closed)| (opened, closed.as_ref())).chain(last);
        let own = windows.zip(parties).filter(|(_, of)| **of == party);
        let zero = || Some(vec![Some(0.0); self.gauges.len()]);
        let begin = Mark { at: Nanos::ZERO, values: zero(), statements: Vec::new() };
        let mut sum = begin.clone();
        let mut readings = vec![EngineReading { values: zero(), ..EngineReading::default() }];
        for ((opened, closed), _) in own {
            let Some(closed) = closed else { continue };
            let within =
                self.readings.iter().filter(|answer| opened.at < answer.at && answer.at <= closed.at);
            readings.extend(within.map(|answer| EngineReading {
                at: sum.at + (answer.at - opened.at),
                values: self.advanced(&sum, opened, answer.values.as_deref()),
                ..answer.clone()
            }));
            sum.values = self.advanced(&sum, opened, closed.values.as_deref());
            sum.at += closed.at - opened.at;
            for after in &closed.statements {
                let before = opened.statements.iter().find(|before| before.text == after.text);
                enter(&mut sum.statements, before, after);
            }
        }
        EngineSamples {
            gauges: self.gauges.clone(),
            states: self.states.clone(),
            readings,
            opened: Some(begin),
            closed: Some(sum),
            others: self.others.clone(),
            ..EngineSamples::default()
        }
    }

    /// Values of the gauges now: of counters the sum and what they have grown by since the window opened, where they did not
    /// begin again. Of those that are told late a window of a second or two knows nothing.
    fn advanced(&self, sum: &Mark, opened: &Mark, now: Option<&[Option<f64>]>) -> Option<Vec<Option<f64>>> {
        let (sum, opened, now) = (sum.values.as_deref()?, opened.values.as_deref()?, now?);
        let value = |of: &[Option<f64>], at: usize| of.get(at).copied().flatten();
        let advanced = |(at, gauge): (usize, &crate::engine::GaugeName)| match gauge.kind {
            GaugeKind::Level => value(now, at),
            GaugeKind::Counter if gauge.late => None,
            GaugeKind::Counter => {
                let (from, until) = (value(opened, at)?, value(now, at)?);
                (until >= from).then_some(value(sum, at)? + until - from)
            }
        };
        Some(self.gauges.iter().enumerate().map(advanced).collect())
    }
}

/// Adds what a statement took since `before`.
fn enter(sums: &mut Vec<StatementCount>, before: Option<&StatementCount>, after: &StatementCount) {
    let at = sums.iter().position(|sum| sum.text == after.text).unwrap_or_else(|| {
        sums.push(StatementCount { calls: 0, total_ms: 0.0, rows: 0, ..after.clone() });
        sums.len() - 1
    });
    let sum = &mut sums[at];
    sum.calls += after.calls.saturating_sub(before.map_or(0, |before| before.calls));
    sum.total_ms += (after.total_ms - before.map_or(0.0, |before| before.total_ms)).max(0.0);
    sum.rows += after.rows.saturating_sub(before.map_or(0, |before| before.rows));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Ends;
    use crate::engine::GaugeName;
    use crate::engine_digest;
    use crate::watch::Watched;
    use result::Role;

    /// At this second, after so many CPU seconds of the one process and so many writes to the one disk.
    fn snapshot(second: u64, cpu_s: f64, writes: u64) -> Snapshot {
        let reading = Reading {
            at: Nanos::from_secs(second),
            cpu: CpuSeconds { tasks: cpu_s, idle: 2.0 * second as f64 - cpu_s, ..CpuSeconds::default() },
            processes: vec![ProcessReading {
                cpu_user_s: cpu_s,
                rss_bytes: second,
                ..ProcessReading::default()
            }],
            disks: vec![Some(DiskReading { writes, ..DiskReading::default() })],
            network_bytes: (second < 20).then_some(writes),
            ..Reading::default()
        };
        let thread = ThreadReading {
            tid: 7,
            cpu_ns: Some((cpu_s * 1e9) as u64),
            switches_voluntary: writes,
            ..ThreadReading::default()
        };
        let detail = Detail { name: "engine".into(), io: Some((0, writes)), threads: vec![thread] };
        Snapshot { reading, cores: 2, details: vec![detail] }
    }

    #[test]
    fn what_happened_between_the_windows_is_no_ones() {
        let windows = [
            (snapshot(10, 4.0, 100), snapshot(12, 5.0, 150)),
            // Between them others have used 3 CPU seconds and made 900 writes.
            (snapshot(15, 8.0, 1_050), snapshot(17, 10.0, 1_100)),
        ];
        let readings = [11, 13, 16].map(|second| snapshot(second, 4.5, 120).reading);
        let spliced =
            Spliced::of(&windows[0].0, windows.iter().map(|(from, until)| (from, until)), &readings);
        let ends = Ends { from: &spliced.from, until: &spliced.until, readings: &spliced.readings };
        assert_eq!(ends.duration_s(), 4.0);
        let process = &ends.processes(&[Watched::of(Role::Engine, 1)])[0];
        assert_eq!((process.cpu_s(), process.busiest_thread_s), (3.0, Some(3.0)));
        assert_eq!((process.io_written_bytes, process.switches_voluntary), (Some(100), Some(100)));
        let times: Vec<f64> = process.samples.iter().map(|sample| sample.t_s).collect();
        assert_eq!(times, [1.0, 2.0, 3.0, 4.0]);
        let disk = ends.disk(&["vda".to_owned()]).unwrap();
        assert_eq!(disk.writes_per_s, 25.0);
        assert_eq!(ends.machine_wide().unwrap().network_bytes_per_s, Some(25.0));
    }

    #[test]
    fn what_is_not_known_of_a_window_is_not_known_of_all() {
        let windows =
            [(snapshot(10, 0.0, 0), snapshot(12, 1.0, 10)), (snapshot(20, 1.0, 10), snapshot(22, 2.0, 20))];
        let spliced = Spliced::of(&windows[0].0, windows.iter().map(|(from, until)| (from, until)), &[]);
        assert_eq!((spliced.until.reading.network_bytes, spliced.readings.len()), (None, 3));
    }

    #[test]
    fn a_party_that_never_had_its_turn_used_nothing() {
        let spliced = Spliced::of(&snapshot(10, 4.0, 100), std::iter::empty(), &[]);
        let ends = Ends { from: &spliced.from, until: &spliced.until, readings: &spliced.readings };
        assert_eq!(ends.duration_s(), 0.0);
        let process = &ends.processes(&[Watched::of(Role::Engine, 1)])[0];
        assert_eq!((process.cpu_s(), process.io_written_bytes), (0.0, Some(0)));
        let load = engine_digest::digest(&EngineSamples::default().spliced(&[], 1), Nanos::ZERO);
        assert_eq!((load.samples, load.gauges.len()), (0, 0));
    }

    fn mark(second: u64, counted: f64, level: f64) -> Mark {
        let statements =
            vec![StatementCount { text: "update t".into(), calls: counted as u64, total_ms: 0.0, rows: 0 }];
        Mark {
            at: Nanos::from_secs(second),
            values: Some(vec![Some(counted), Some(level), Some(counted)]),
            statements,
        }
    }

    #[test]
    fn counters_of_an_engine_stand_still_while_others_have_their_turn() {
        let gauge = |name: &str, kind| GaugeName {
            name: name.to_owned(),
            group: "wal".to_owned(),
            unit: "bytes".to_owned(),
            kind,
            late: name == "told late",
        };
        let answer = |second: u64, counted: f64, level: f64, running: u64| EngineReading {
            at: Nanos::from_secs(second),
            values: Some(vec![Some(counted), Some(level), Some(counted)]),
            sessions: [(0, running)].into(),
            samples: 10,
        };
        let samples = EngineSamples {
            gauges: vec![
                gauge("written", GaugeKind::Counter),
                gauge("dirty", GaugeKind::Level),
                gauge("told late", GaugeKind::Counter),
            ],
            states: vec!["running".to_owned()],
            readings: vec![
                answer(1, 100.0, 5.0, 0),
                answer(3, 150.0, 7.0, 20),
                answer(4, 900.0, 90.0, 80),
                answer(6, 1_000.0, 100.0, 80),
                answer(8, 1_025.0, 9.0, 40),
            ],
            earlier: vec![
                (mark(1, 100.0, 5.0), Some(mark(3, 150.0, 7.0))),
                (mark(3, 150.0, 7.0), Some(mark(6, 1_000.0, 100.0))),
            ],
            opened: Some(mark(6, 1_000.0, 100.0)),
            closed: Some(mark(8, 1_025.0, 9.0)),
            ..EngineSamples::default()
        };
        let of = |party| engine_digest::digest(&samples.spliced(&[0, 1, 0], party), Nanos::ZERO);
        let (first, second) = (of(0), of(1));
        assert_eq!((first.gauges[0].total, second.gauges[0].total), (Some(75.0), Some(850.0)));
        assert_eq!((first.gauges[1].total, first.gauges[2].total), (Some(8.0), None));
        assert_eq!(first.t_s, [2.0, 4.0]);
        assert_eq!((first.statements[0].calls, second.statements[0].calls), (75, 850));
        assert_eq!((first.samples, second.samples), (20, 20));
        // One that was away counts again.
        let mut away = samples.clone();
        away.closed = Some(mark(8, 3.0, 9.0));
        let load = engine_digest::digest(&away.spliced(&[0, 1, 0], 0), Nanos::ZERO);
        assert_eq!((load.gauges[0].total, load.gauges[1].total), (None, Some(8.0)));
    }
}
