//! The lane in front of SQLite's one writer.

use parking_lot::{ArcRwLockReadGuard, ArcRwLockWriteGuard, RawRwLock, RwLock};
use std::sync::Arc;

/// Orders the transactions of a process that would exclude each other anyway. First come, first served: the lock is
/// handed to the one who waited longest.
///
/// With a write-ahead log only writers pass; with a rollback journal readers share the lane, because there a writer
/// cannot commit while anyone reads, and SQLite would make both sleep.
#[derive(Debug, Clone)]
pub struct Lane {
    lock: Arc<RwLock<()>>,
    readers_pass: bool,
}

/// Permission to run a transaction. Dropped, it is returned, though not to the one who waited longest: see
/// [`Pass::leave`].
#[derive(Debug)]
pub enum Pass {
    Write(ArcRwLockWriteGuard<RawRwLock, ()>),
    /// Next to other readers.
    Read(ArcRwLockReadGuard<RawRwLock, ()>),
}

impl Lane {
    /// A lane for one database file. `readers_pass` under a rollback journal.
    pub fn new(readers_pass: bool) -> Lane {
        Lane { lock: Arc::new(RwLock::new(())), readers_pass }
    }

    /// Whether transactions that only read take a pass too.
    pub fn readers_pass(&self) -> bool {
        self.readers_pass
    }

    /// Without waiting, if no one is in the way.
    pub fn try_enter(&self, write: bool) -> Option<Pass> {
        if write {
            self.lock.try_write_arc().map(Pass::Write)
        } else {
            self.lock.try_read_arc().map(Pass::Read)
        }
    }

    /// Does something while no one else is in the lane. Connections are opened so: the first one to a file makes its log
    /// again and keeps everybody out for a moment, which under a busy timeout of nothing is a failure to open.
    pub fn exclusive<T>(&self, what: impl FnOnce() -> T) -> T {
        let pass = self.enter(true);
        let done = what();
        pass.leave();
        done
    }

    /// Waits for its turn.
    pub fn enter(&self, write: bool) -> Pass {
        if write { Pass::Write(self.lock.write_arc()) } else { Pass::Read(self.lock.read_arc()) }
    }
}

impl Pass {
    /// Hands over to the one who waited longest.
    pub fn leave(self) {
        match self {
            Pass::Write(guard) => ArcRwLockWriteGuard::unlock_fair(guard),
            Pass::Read(guard) => ArcRwLockReadGuard::unlock_fair(guard),
        }
    }
}
