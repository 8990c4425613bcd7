//! One run at a time on a database of a server: a lock of the server's, which ends with the connection that has it.

use std::fmt::Debug;

/// What came of asking for it.
#[derive(Debug)]
pub enum Held {
    /// It is ours as long as this value lives.
    Ours(Hold),
    /// Others have it: who they say that they are.
    Others(String),
    /// The server has nothing that could be held: a file, or a server that lets us into no other database.
    Unknown,
}

/// A lock that is ours as long as this value lives.
#[derive(Debug)]
pub struct Hold(pub(crate) Box<dyn Holding>);

impl Hold {
    /// Tells those who are refused who we are, where the server has a place for that.
    pub fn is_of(&mut self, who: &str) {
        self.0.is_of(who);
    }
}

/// The session that has the lock.
pub(crate) trait Holding: Debug + Send {
    fn is_of(&mut self, who: &str);
}
