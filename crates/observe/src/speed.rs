//! How fast the machine is at a moment: a fixed computation on one core, and small writes that are flushed.

use model::Clock;
use result::MachineSpeed;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Steps of the computation: some 5 ms.
const STEPS: u64 = 4_000_000;
/// Computations, of which the median counts: one that was interrupted says nothing of the core.
const SPINS: usize = 5;
/// Writes that are flushed, of which the median counts.
const FLUSHES: usize = 9;
/// Bytes of a write.
const BLOCK: usize = 8 << 10;
/// The file that is written and removed.
const FILE: &str = "flush-probe";

impl Probing<'_> {
    /// Probes now; takes some 25 ms and nine flushes.
    pub fn speed(&self, clock: &impl Clock) -> MachineSpeed {
        let spins = (0..SPINS).map(|_| timed(clock, spin).0).collect();
        let flushes = self.flushes(clock).ok().filter(|flushes| !flushes.is_empty());
        MachineSpeed { spin_ns: median(spins), flush_ns: flushes.map(median) }
    }

    /// What each took; nothing where the data is elsewhere.
    fn flushes(&self, clock: &impl Clock) -> io::Result<Vec<u64>> {
        let device = fs::metadata(self.ours)?.dev();
        let is_same = |path: &PathBuf| fs::metadata(path).is_ok_and(|of| of.dev() == device);
        if self.data.is_empty() || !self.data.iter().all(is_same) {
            return Ok(Vec::new());
        }
        let path = self.ours.join(FILE);
        let mut file = File::create(&path)?;
        let mut flush = || {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&[0x5a; BLOCK])?;
            file.sync_data()
        };
        let flushes = (0..FLUSHES).map(|_| {
            let (ns, ended) = timed(clock, &mut flush);
            ended.map(|()| ns)
        });
        let flushes = flushes.collect();
        fs::remove_file(&path)?;
        flushes
    }
}

/// Nanoseconds that a piece of work takes, and what came of it.
fn timed<T>(clock: &impl Clock, mut work: impl FnMut() -> T) -> (u64, T) {
    let before = clock.now();
    let ended = work();
    ((clock.now() - before).0, ended)
}

/// The fixed computation: no step can begin before the last one has ended, and none is left out.
fn spin() {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for step in 0..STEPS {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(step);
    }
    black_box(state);
}

/// Where the machine is probed.
#[derive(Debug, Clone, Copy)]
pub struct Probing<'a> {
    /// A folder of ours, for a file that is flushed.
    pub ours: &'a Path,
    /// Where the data is. What is on another file system than `ours`, or on another machine, is not probed.
    pub data: &'a [PathBuf],
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Monotonic;

    #[test]
    fn both_are_timed_where_the_data_is_next_to_us_and_no_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let data = [folder.path().to_owned()];
        let speed = Probing { ours: folder.path(), data: &data }.speed(&Monotonic::start());
        assert!(speed.spin_ns > 100_000 && speed.flush_ns.is_some_and(|ns| ns > 0), "{speed:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_disk_that_is_not_that_of_the_data_is_not_probed() {
        let folder = tempfile::tempdir().unwrap();
        let probed =
            |data: &[PathBuf]| Probing { ours: folder.path(), data }.speed(&Monotonic::start()).flush_ns;
        assert_eq!(probed(&[]), None);
        assert_eq!(probed(&["/proc/self".into(), folder.path().to_owned()]), None);
        assert_eq!(probed(&["/no such folder".into()]), None);
    }
}
