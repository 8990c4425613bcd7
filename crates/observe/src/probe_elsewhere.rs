//! The stand-in on systems without `/proc`: sees nothing, and says so.

use crate::reading::{Detail, ProcessReading, Reading, Snapshot};
use crate::watch::{ObserveError, Watched};
use model::Nanos;

/// Knows only how many processes it was told of.
pub(crate) struct Probe {
    watched: usize,
}

impl Probe {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
    pub(crate) fn open(watched: &[Watched], _devices: Vec<String>) -> Result<Probe, ObserveError> {
        Ok(Probe { watched: watched.len() })
    }

    pub(crate) fn blind_spots(&self) -> Vec<String> {
        vec![format!("processes, machine and disk: not observed on {}, only on linux", std::env::consts::OS)]
    }

    pub(crate) fn read(&mut self, at: Nanos) -> Reading {
        Reading { at, processes: vec![ProcessReading::default(); self.watched], ..Reading::default() }
    }

    pub(crate) fn snapshot(&mut self, at: Nanos) -> Snapshot {
        Snapshot {
            reading: self.read(at),
            details: vec![Detail::default(); self.watched],
            ..Snapshot::default()
        }
    }
}
