//! One run at a time on a database of a server: a lock of the server's, which ends with the connection that has it.

use std::fmt::Debug;

/// What came of asking for it.
#[derive(Debug)]
pub enum LockAttempt {
    /// It is ours as long as this value lives.
    Ours(RunLock),
    /// Others have it: who they say that they are.
    Others(String),
    /// The server has nothing that could be held: a file, or a server that lets us into no other database.
    Unknown,
}

/// A lock that is ours as long as this value lives.
#[derive(Debug)]
pub struct RunLock(pub(crate) Box<dyn LockOwner>);

impl RunLock {
    /// Tells those who are refused who we are, where the server has a place for that.
    pub fn is_of(&mut self, who: &str) {
        self.0.is_of(who);
    }
}

impl Drop for RunLock {
    /// A server that learns of the end of a connection frees its locks some time later, when the next command may have asked for them.
    fn drop(&mut self) {
        self.0.release();
    }
}

/// The session that has the lock.
pub(crate) trait LockOwner: Debug + Send {
    fn is_of(&mut self, who: &str);
    /// Gives the lock back, if the server answers soon; otherwise it goes with the session.
    fn release(&mut self);
}
