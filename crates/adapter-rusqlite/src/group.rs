//! What the sessions of a target share when their calls share commits: one writing connection, and the turn to use it.

use crate::prepared::{Prepared, fault};
use model::{Conflict, Fault};
use parking_lot::{ArcMutexGuard, Mutex, RawMutex};
use rusqlite::Connection;
use sql::Grouping;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, PoisonError};

/// The most transactions that share a commit. More would keep the first of them waiting for long, and the transaction
/// would outgrow the page cache.
pub(crate) const TRANSACTIONS_MAX: u32 = 64;

/// Places of the statements that we add behind the workload's.
#[derive(Clone, Copy)]
enum Control {
    Begin,
    Savepoint,
    Release,
    RollbackTo,
    Commit,
    Rollback,
}

const CONTROL: [&str; 6] = [
    "begin immediate",
    "savepoint one_call",
    "release one_call",
    "rollback to one_call",
    "commit",
    "rollback",
];

/// The one writer of a database, whose turn sessions take in the order in which they came.
pub(crate) struct CommitGroup {
    writer: Arc<Mutex<Writer>>,
    /// Sessions that wait for their turn and will take it whatever happens.
    waiting: AtomicU32,
    tally: Tally,
}

/// How often calls shared a commit.
#[derive(Debug, Default)]
struct Tally {
    commits: AtomicU64,
    calls: AtomicU64,
}

/// Durable commits, and the calls that they were for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupCommits {
    /// Commits of the engine that were acknowledged to at least one call.
    pub commits: u64,
    /// Calls that were acknowledged by them.
    pub calls: u64,
}

/// The writing connection, for whoever has the turn.
pub(crate) struct Writer {
    pub(crate) prepared: Prepared,
    /// Those who wait for the commit of the transaction that is open.
    joined: Option<Arc<Joined>>,
    /// How many have joined.
    calls: u32,
    /// How many have had a savepoint in it, whatever became of them.
    entered: u32,
}

/// What becomes of the calls of one transaction: the same for all.
#[derive(Default)]
struct Joined {
    // Of the standard library: it wakes everybody by one call of the system, and there are as many as there are clients.
    end: std::sync::Mutex<Option<Result<(), Fault>>>,
    ended: Condvar,
}

/// The turn. Whoever has it must pass it on by [`Turn::leave`] or one of the others.
pub(crate) struct Turn {
    writer: ArcMutexGuard<RawMutex, Writer>,
    group: Arc<CommitGroup>,
}

impl CommitGroup {
    /// Prepares the workload's statements on the connection that all will write through.
    pub(crate) fn new(connection: Connection, statements: &[String]) -> rusqlite::Result<CommitGroup> {
        let prepared = Prepared::new(connection, statements, &CONTROL)?;
        let writer = Writer { prepared, joined: None, calls: 0, entered: 0 };
        Ok(CommitGroup {
            writer: Arc::new(Mutex::new(writer)),
            waiting: AtomicU32::new(0),
            tally: Tally::default(),
        })
    }

    /// What has been shared so far.
    pub(crate) fn shared(&self) -> GroupCommits {
        let Tally { commits, calls } = &self.tally;
        GroupCommits { commits: commits.load(Ordering::Relaxed), calls: calls.load(Ordering::Relaxed) }
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Without waiting, if no one is in the way.
    pub(crate) fn try_turn(self: &Arc<CommitGroup>) -> Option<Turn> {
        self.writer.try_lock_arc().map(|writer| Turn { writer, group: self.clone() })
    }

    /// Waits for its turn.
    pub(crate) fn turn(self: &Arc<CommitGroup>) -> Turn {
        // Counted before it waits: who then leaves the turn knows that someone comes, and leaves the commit to them.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let writer = self.writer.lock_arc();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        Turn { writer, group: self.clone() }
    }
}

impl Turn {
    pub(crate) fn prepared(&mut self) -> &mut Prepared {
        &mut self.writer.prepared
    }

    /// Opens a savepoint, in a transaction that is opened before if there is none. On an error the turn is passed on.
    pub(crate) fn enter(mut self) -> Result<Turn, Fault> {
        let writer = &mut *self.writer;
        let started = if writer.prepared.in_transaction() { Ok(()) } else { writer.begin() };
        match started.and_then(|()| writer.control(Control::Savepoint)) {
            Ok(()) => {
                writer.entered += 1;
                Ok(self)
            }
            Err(error) => {
                let fault = fault(&error, false);
                self.notice(&fault);
                // The first failure is the one to report.
                let _ = self.leave(false);
                Err(fault)
            }
        }
    }

    /// Keeps what was done since the savepoint, and waits until it is committed durably, by this session or a later one;
    /// gives its part in that commit.
    pub(crate) fn commit(mut self) -> Result<Grouping, Fault> {
        let writer = &mut *self.writer;
        if let Err(error) = writer.control(Control::Release) {
            let fault = fault(&error, false);
            // The first failure is the one to report.
            let _ = self.rollback(false);
            return Err(fault);
        }
        writer.calls += 1;
        // Whoever commits in the end may be one who did nothing: the first is always one of those who did.
        let grouping = if writer.calls == 1 { Grouping::First } else { Grouping::Joined };
        if !self.others_come() {
            return self.end().map(|()| grouping);
        }
        let joined = self.writer.joined.get_or_insert_default().clone();
        self.pass_on();
        joined.wait().map(|()| grouping)
    }

    /// Undoes what was done since the savepoint, and nothing of others. What this call read may be what others did and have
    /// not committed yet, so that its answer is no more certain than theirs: with `wait` it learns what became of them.
    pub(crate) fn rollback(mut self, wait: bool) -> Result<(), Fault> {
        let writer = &mut *self.writer;
        let undone = if writer.prepared.in_transaction() {
            writer.control(Control::RollbackTo).and_then(|()| writer.control(Control::Release))
        } else {
            Ok(())
        };
        if let Err(error) = undone {
            // What this session did cannot be told from what others did: all of it goes.
            self.undo(&fault(&error, false));
        }
        self.leave(wait)
    }

    /// After a fault of a statement: the engine ends a transaction by itself where it cannot keep its promises (a full disk,
    /// no memory), and then those who have joined lose what they did.
    #[cold]
    pub(crate) fn notice(&mut self, fault: &Fault) {
        if !self.writer.prepared.in_transaction() {
            self.writer.notify(&Err(fault.clone()));
        }
    }

    /// Leaves the turn with nothing of its own in the transaction.
    fn leave(mut self, wait: bool) -> Result<(), Fault> {
        let writer = &mut *self.writer;
        if !writer.prepared.in_transaction() {
            // Gone by itself, and those who had joined were told by `notice`; if they were not, they may try again.
            writer.notify(&Err(Fault::Conflict(Conflict::Busy)));
            self.pass_on();
            return Ok(());
        }
        if writer.calls == 0 {
            if !self.others_come() {
                // If this fails, the next caller finds the transaction open, and uses it.
                let _ = self.writer.control(Control::Rollback);
                self.writer.notify(&Ok(()));
            }
            self.pass_on();
            return Ok(());
        }
        if !self.others_come() {
            // Those who wait have no one else to commit for them.
            return self.end();
        }
        let joined = self.writer.joined.get_or_insert_default().clone();
        self.pass_on();
        if wait { joined.wait() } else { Ok(()) }
    }

    /// Whether the commit can be left to someone who is coming anyway.
    fn others_come(&self) -> bool {
        self.writer.entered < TRANSACTIONS_MAX && self.group.waiting.load(Ordering::SeqCst) > 0
    }

    /// Commits for everybody, tells them, and passes the turn on.
    fn end(mut self) -> Result<(), Fault> {
        let calls = u64::from(self.writer.calls);
        match self.writer.control(Control::Commit) {
            Ok(()) => {
                self.group.tally.commits.fetch_add(1, Ordering::Relaxed);
                self.group.tally.calls.fetch_add(calls, Ordering::Relaxed);
                self.writer.notify(&Ok(()));
                self.pass_on();
                Ok(())
            }
            Err(error) => {
                // Busy leaves the transaction open and unapplied: another process still reads under a rollback journal,
                // and the busy timeout has passed. Rolling back makes it a plain conflict, for all.
                let fault = fault(&error, true);
                self.undo(&fault);
                self.pass_on();
                Err(fault)
            }
        }
    }

    /// Rolls the whole transaction back and tells all who have joined why.
    #[cold]
    fn undo(&mut self, why: &Fault) {
        let writer = &mut *self.writer;
        let mut listed = Err(why.clone());
        if writer.prepared.in_transaction()
            && let Err(error) = writer.control(Control::Rollback)
        {
            listed = Err(fault(&error, true));
        }
        writer.notify(&listed);
    }

    /// To the one who waited longest.
    fn pass_on(self) {
        ArcMutexGuard::unlock_fair(self.writer);
    }
}

impl Writer {
    fn control(&mut self, control: Control) -> rusqlite::Result<()> {
        self.prepared.control(control as usize)
    }

    fn begin(&mut self) -> rusqlite::Result<()> {
        self.control(Control::Begin)
    }

    /// The transaction is over: those who wait for it are told, and the next begins with no one.
    fn notify(&mut self, end: &Result<(), Fault>) {
        (self.calls, self.entered) = (0, 0);
        if let Some(joined) = self.joined.take() {
            *joined.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end.clone());
            joined.ended.notify_all();
        }
    }
}

impl Joined {
    fn wait(&self) -> Result<(), Fault> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(end) = &*end {
                return end.clone();
            }
            end = self.ended.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
