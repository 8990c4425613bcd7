//! Rows of a worker's own.

use super::CLIENT;
use model::random::Random;
use workload::Remembered;

/// Rows of its own that a worker remembers.
const HELD: usize = 32;

/// Rows that a worker has created; no one else changes them.
#[derive(Debug, Clone)]
pub(super) struct OwnRows {
    worker: i64,
    /// Each run begins in an epoch of its own, drawn from its number: the ids of others were used by other runs on the same data. The
    /// first row of an epoch stays for good, as a mark for a run that draws the same one.
    epoch: i64,
    /// Ids of the epoch that have been used; none until its first row is acknowledged.
    used: i64,
    held: [(i64, i64); HELD],
    pub(super) count: usize,
    /// Ids of rows that have been removed.
    pub(super) removed: Remembered<i64>,
}

impl OwnRows {
    /// Ids of a worker in an epoch.
    const IDS: i64 = 1 << 19;
    const EPOCHS: i64 = 1 << 15;
    /// The first id of all: far above those of loaded rows.
    const FIRST: i64 = 1 << 52;

    pub(super) fn new(run: u64, worker: u32) -> OwnRows {
        let epoch = Random::stream(run, &[CLIENT, worker.into()]).below(OwnRows::EPOCHS as u64) as i64;
        let removed = Remembered::default();
        OwnRows { worker: worker.into(), epoch, used: 0, held: [(0, 0); HELD], count: 0, removed }
    }

    pub(super) fn is(id: i64) -> bool {
        id >= OwnRows::FIRST
    }

    /// New ids that follow each other, and whether they are the first of an epoch.
    pub(super) fn take(&mut self, count: i64) -> (i64, bool) {
        if self.used + count > OwnRows::IDS {
            self.skip();
        }
        let id = self.mark() + self.used;
        let begins = self.used == 0;
        if !begins {
            self.used += count;
        }
        (id, begins)
    }

    /// The first id of the epoch.
    fn mark(&self) -> i64 {
        OwnRows::FIRST + ((self.worker % (1 << 18)) * OwnRows::EPOCHS + self.epoch) * OwnRows::IDS
    }

    /// Notes that a row, the first of several, has been created.
    pub(super) fn created(&mut self, id: i64, count: i64) {
        match id == self.mark() {
            true => self.used = count,
            false if count == 1 => self.hold(id, 1),
            false => {}
        }
    }

    /// An earlier run has left rows behind under these ids, or they are used up: on to others.
    pub(super) fn skip(&mut self) {
        (self.epoch, self.used) = ((self.epoch + 1) % OwnRows::EPOCHS, 0);
    }

    /// Remembers a row; the oldest is forgotten where there are too many.
    pub(super) fn hold(&mut self, id: i64, version: i64) {
        if self.count == HELD {
            self.remove(0);
        }
        self.held[self.count] = (id, version);
        self.count += 1;
    }

    fn remove(&mut self, at: usize) -> (i64, i64) {
        let row = self.held[at];
        self.held.copy_within(at + 1..self.count, at);
        self.count -= 1;
        row
    }

    /// Takes out the row that was created first; what becomes of it is not known before the answer.
    pub(super) fn oldest(&mut self) -> Option<(i64, i64)> {
        (self.count > 0).then(|| self.remove(0))
    }

    pub(super) fn newest(&mut self) -> Option<(i64, i64)> {
        (self.count > 0).then(|| self.remove(self.count - 1))
    }

    /// One that is held.
    pub(super) fn any(&self, random: &mut Random) -> Option<(i64, i64)> {
        let at = (self.count > 0).then(|| random.below(self.count as u64))?;
        self.held.get(at as usize).copied()
    }
}
