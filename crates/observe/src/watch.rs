//! The watch: a thread that samples, and the window that the figures are for.

use crate::digest::{self, Ends};
use crate::document::Observation;
use crate::engine::{EngineProbe, EngineSampler};
use crate::probe::Probe;
use crate::reading::{Reading, Snapshot};
use crate::several::Several;
use crate::spliced::Spliced;
use crate::{FileSystem, machine};
use model::{Clock, Nanos};
use result::{Engine, Role};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Samples kept. When they are full every second one is dropped and sampling slows down by half: the time line gets
/// coarser, memory stays below a few megabytes, and no sum changes, because samples are running totals.
const SAMPLES_MAX: usize = 7_200;

/// A process to watch, and what it is in the trial. The generator is watched alone, every other one with all its
/// descendants, because the processes of an engine come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Its part in the trial; of several stores each has an engine.
    pub role: Role,
    /// Its process id.
    pub pid: u32,
    /// Where it writes its process id, alone on the first line (PostgreSQL: `postmaster.pid`): an engine that ended and came
    /// back is watched on under its new one.
    pub pid_file: Option<PathBuf>,
}

impl Watched {
    /// A process that does not come back once it has ended.
    pub fn of(role: Role, pid: u32) -> Watched {
        Watched { role, pid, pid_file: None }
    }

    /// This process itself.
    pub fn myself(role: Role) -> Watched {
        Watched::of(role, std::process::id())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Time between samples; at least 10 ms, the resolution of the kernel's counters.
    pub every: Nanos,
    /// Where the data of each store lies: the block devices under them are watched too, each once. May not exist yet.
    pub stores: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options { every: Nanos::from_secs(1), stores: Vec::new() }
    }
}

/// What the watched processes of a role have used so far together, while the watch goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Their part in the trial.
    pub role: Role,
    /// CPU seconds since the watch began, at the latest sample.
    pub cpu_s: f64,
    /// Cores they kept busy between the latest two samples.
    pub cores: f64,
    /// Memory resident at the latest sample, in bytes; zero once they are gone.
    pub rss_bytes: u64,
}

/// Why a watch could not start.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The process ended before it could be watched, or never was.
    #[error("no {role} process with id {pid}")]
    NoSuchProcess {
        /// What it was to be.
        role: &'static str,
        /// The id that nothing answers to.
        pid: u32,
    },
    /// The place of the data cannot be looked at.
    #[error("could not find the file system of {path}", path = path.display())]
    NoFileSystem {
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// The system has no thread left.
    #[error("could not start a sampling thread")]
    NoThread(#[source] std::io::Error),
}

/// A watch that runs. Dropping it ends the sampling without an observation.
pub struct Watch<C: Clock> {
    clock: C,
    watched: Vec<Watched>,
    shared: Arc<Mutex<WatchState>>,
    devices: Vec<String>,
    opened: Snapshot,
    closed: Option<Snapshot>,
    /// The windows before the last one, and whose each was.
    earlier: Vec<(usize, Snapshot, Snapshot)>,
    /// Whose the last window is; nothing before the first one is opened.
    party: Option<usize>,
    not_observed: Vec<String>,
    sampler: Option<EngineSampler>,
    /// Dropping it ends the thread.
    orders: Option<Sender<Realign>>,
    thread: Option<JoinHandle<()>>,
}

/// Start the sampling interval again, so that slices begin where the window begins.
struct Realign;

/// What the sampling thread and the callers of a watch share.
struct WatchState {
    probe: Probe,
    readings: Vec<Reading>,
    every: Nanos,
}

impl<C: Clock> Watch<C> {
    /// Starts sampling. The window is the whole watch until [`Watch::open_window`] and [`Watch::close_window`] say
    /// otherwise.
    ///
    /// # Errors
    /// When a process does not exist, or the place of the data can't be looked at.
    pub fn start(watched: Vec<Watched>, options: &Options, clock: C) -> Result<Watch<C>, ObserveError> {
        let mut devices = Vec::new();
        for path in &options.stores {
            let under = FileSystem::of(path)
                .map_err(|source| ObserveError::NoFileSystem { path: path.clone(), source })?;
            devices.extend(under.device.filter(|device| !devices.contains(device)));
        }
        let mut probe = Probe::open(&watched, devices.clone())?;
        let not_observed = probe.blind_spots();
        let opened = probe.snapshot(clock.now());
        let shared = Arc::new(Mutex::new(WatchState {
            probe,
            readings: vec![opened.reading.clone()],
            every: options.every.max(Nanos::from_millis(10)),
        }));
        let (orders, inbox) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("observe".to_owned())
            .spawn({
                let (shared, clock) = (Arc::clone(&shared), clock.clone());
                move || sample(&shared, &clock, &inbox)
            })
            .map_err(ObserveError::NoThread)?;
        let (orders, thread) = (Some(orders), Some(thread));
        Ok(Watch {
            clock,
            watched,
            shared,
            devices,
            opened,
            closed: None,
            earlier: Vec::new(),
            party: None,
            not_observed,
            sampler: None,
            orders,
            thread,
        })
    }

    /// Asks the engine about itself from now on, by a probe a store, on a thread of its own: an engine that is slow, away or
    /// gone leaves gaps in [`Observation::engine`], and slows nothing else down. What several tell is summed. Without a probe
    /// nothing is asked.
    pub fn ask(&mut self, probes: Vec<Box<dyn EngineProbe>>) -> Result<(), ObserveError> {
        if !probes.is_empty() {
            let sampler = EngineSampler::start(Box::new(Several(probes)), self.clock.clone());
            self.sampler = Some(sampler.map_err(ObserveError::NoThread)?);
        }
        Ok(())
    }

    /// The window begins now: what came before, as a warm-up, does not count.
    pub fn open_window(&mut self) {
        self.open_window_of(0);
    }

    /// A window of one of several parties begins now, which make calls in turn; see [`Watch::stop_each`].
    pub fn open_window_of(&mut self, party: usize) {
        let opened = self.mark();
        if let Some(before) = self.party.replace(party) {
            let closed = self.closed.take().unwrap_or_else(|| opened.clone());
            self.earlier.push((before, std::mem::take(&mut self.opened), closed));
        }
        self.opened = opened;
        self.closed = None;
        if let Some(sampler) = &self.sampler {
            sampler.open();
        }
        if let Some(orders) = &self.orders {
            // The thread ends only with this watch; were it gone, the marks would still be right.
            let _ = orders.send(Realign);
        }
    }

    /// The window ends now: what comes after, as draining and audits, does not count.
    pub fn close_window(&mut self) {
        self.closed = Some(self.mark());
        if let Some(sampler) = &self.sampler {
            sampler.close();
        }
    }

    /// What the watched processes of each role have used so far: the samples that are there already, so that asking costs nothing.
    pub fn usage(&self) -> Vec<Usage> {
        let shared = lock(&self.shared);
        let ([first, ..], [.., last]) = (shared.readings.as_slice(), shared.readings.as_slice()) else {
            return Vec::new();
        };
        let before = shared.readings.iter().rev().nth(1).unwrap_or(last);
        digest::usage(&self.watched, first, before, last)
    }

    /// What the engine has answered so far of its counters: at each reading that has them all, one value for each of
    /// `names`, which lists what different engines call the same. Empty where no one asks it.
    pub fn engine_counts<const N: usize>(&self, names: [&[&str]; N]) -> Vec<[f64; N]> {
        self.sampler.as_ref().map(|sampler| sampler.counts(names)).unwrap_or_default()
    }

    /// Ends the watch, and the window where it is still open.
    #[must_use]
    pub fn stop(mut self) -> Observation {
        let until = self.end();
        let opens = self.opened.reading.at;
        let engine = self.sampler.take().map(|sampler| sampler.end(opens));
        let mut shared = lock(&self.shared);
        shared.sample(self.clock.now());
        self.observation(Ends { from: &self.opened, until: &until, readings: &shared.readings }, engine)
    }

    /// Ends the watch, and says for each of `count` parties what was seen in its windows, one after the other: sums and shares are
    /// over all of them, and time lines are made of them alone.
    #[must_use]
    pub fn stop_each(mut self, count: usize) -> Vec<Observation> {
        let until = self.end();
        let last = self.party.map(|party| (party, std::mem::take(&mut self.opened), until.clone()));
        let windows: Vec<_> = std::mem::take(&mut self.earlier).into_iter().chain(last).collect();
        let parties: Vec<usize> = windows.iter().map(|(party, ..)| *party).collect();
        let engines = self.sampler.take().map(|sampler| sampler.end_each(&parties, count));
        let mut engines = engines.into_iter().flatten();
        let shared = lock(&self.shared);
        (0..count)
            .map(|party| {
                let own = windows.iter().filter(|(of, ..)| *of == party);
                let own = own.map(|(_, from, until)| (from, until));
                let spliced = Spliced::of(&until, own, &shared.readings);
                let Spliced { from, until, readings } = &spliced;
                self.observation(Ends { from, until, readings }, engines.next())
            })
            .collect()
    }

    /// Closes the window, if that is still to be done, and ends the sampling.
    fn end(&mut self) -> Snapshot {
        if self.closed.is_none() {
            self.close_window();
        }
        self.end_thread();
        self.closed.take().expect("closed just now")
    }

    fn observation(&self, ends: Ends<'_>, engine: Option<Engine>) -> Observation {
        Observation {
            window_s: ends.duration_s(),
            machine: ends.machine(machine()),
            processes: ends.processes(&self.watched),
            writeback: ends.writeback(),
            machine_wide: ends.machine_wide(),
            engine,
            disk: ends.disk(&self.devices),
            not_observed: self.not_observed.clone(),
        }
    }

    fn mark(&self) -> Snapshot {
        let mut shared = lock(&self.shared);
        let snapshot = shared.probe.snapshot(self.clock.now());
        shared.keep(snapshot.reading.clone());
        snapshot
    }

    fn end_thread(&mut self) {
        self.orders = None;
        // A thread that panicked has left what it had sampled.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl<C: Clock> Drop for Watch<C> {
    fn drop(&mut self) {
        self.end_thread();
    }
}

impl WatchState {
    fn sample(&mut self, now: Nanos) {
        let reading = self.probe.read(now);
        self.keep(reading);
    }

    fn keep(&mut self, reading: Reading) {
        // A mark soon after a sample would leave a slice too short for counters of 10 ms; without the sample between
        // them its two neighbours become one slice with the same sums.
        let crowded = self.readings.len() > 1
            && self.readings.last().is_some_and(|last| Nanos((reading.at - last.at).0 * 2) < self.every);
        if crowded {
            self.readings.pop();
        }
        self.readings.push(reading);
        if self.readings.len() >= SAMPLES_MAX {
            let mut index = 0;
            self.readings.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every = self.every + self.every;
        }
    }
}

/// The thread: samples until the watch hangs up.
fn sample<C: Clock>(shared: &Mutex<WatchState>, clock: &C, inbox: &mpsc::Receiver<Realign>) {
    let mut due = clock.now() + lock(shared).every;
    loop {
        let every = lock(shared).every;
        let wait = (due - clock.now()).min(every);
        match inbox.recv_timeout(wait.into()) {
            Ok(Realign) => due = clock.now() + every,
            Err(RecvTimeoutError::Timeout) => {
                lock(shared).sample(clock.now());
                // A late sample delays the next ones rather than bunching them.
                due = (due + every).max(clock.now());
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Counters are read or appended, never left half changed, so a panic elsewhere does not spoil them.
fn lock(shared: &Mutex<WatchState>) -> MutexGuard<'_, WatchState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_watch_gets_coarser_and_not_bigger() {
        let every = Nanos::from_secs(1);
        let mut shared = WatchState {
            probe: Probe::open(&[], Vec::new()).expect("there is nothing to open"),
            readings: Vec::new(),
            every,
        };
        let seconds = 20 * SAMPLES_MAX as u64;
        for second in 0..=seconds {
            shared.keep(Reading { at: Nanos::from_secs(second), ..Reading::default() });
        }
        assert!(shared.readings.len() < SAMPLES_MAX);
        assert_eq!(shared.readings.first().map(|first| first.at), Some(Nanos::ZERO));
        assert_eq!(shared.readings.last().map(|last| last.at), Some(Nanos::from_secs(seconds)));
        assert!(shared.every > every);
    }

    #[test]
    fn a_mark_right_after_a_sample_leaves_no_sliver() {
        let mut shared = WatchState {
            probe: Probe::open(&[], Vec::new()).expect("there is nothing to open"),
            readings: Vec::new(),
            every: Nanos::from_secs(1),
        };
        for millis in [0, 1000, 2000, 2100, 3100] {
            shared.keep(Reading { at: Nanos::from_millis(millis), ..Reading::default() });
        }
        let kept: Vec<u64> = shared.readings.iter().map(|reading| reading.at.0 / 1_000_000).collect();
        assert_eq!(kept, [0, 1000, 2100, 3100]);
    }
}
