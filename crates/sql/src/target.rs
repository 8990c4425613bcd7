//! Targets of workloads in their generic form.

use crate::{SqlConn, SqlOpener};
use model::{Clock, Home, OpenError, Session, Stack, Target, Workload};
use std::fmt;
use std::marker::PhantomData;

/// A workload with a generic form: its transactions one statement at a time, for every connection that speaks the port.
pub trait SqlForm: Workload {
    /// What runs them on one connection.
    type Session<C: SqlConn, K: Clock>: Session<Self>;

    /// A session on a connection that has prepared the workload's statements.
    fn session<C: SqlConn, K: Clock>(conn: C, clock: K) -> Self::Session<C, K>;
}

/// Opens sessions that run a workload's transactions one statement at a time.
pub struct SqlTarget<W, O, K> {
    opener: O,
    clock: K,
    workload: PhantomData<fn() -> W>,
}

impl<W: SqlForm, O: SqlOpener, K: Clock> SqlTarget<W, O, K> {
    /// A target over an opener that prepares the workload's statements.
    pub fn new(opener: O, clock: K) -> SqlTarget<W, O, K> {
        SqlTarget { opener, clock, workload: PhantomData }
    }
}

impl<W: Workload, O: fmt::Debug, K> fmt::Debug for SqlTarget<W, O, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlTarget").field("workload", &W::NAME).field("opener", &self.opener).finish()
    }
}

impl<W: SqlForm, O: SqlOpener, K: Clock> Target<W> for SqlTarget<W, O, K> {
    type Session = W::Session<O::Conn, K>;

    fn home(&self) -> Home {
        O::HOME
    }

    async fn open(&self, _worker: u32) -> Result<Self::Session, OpenError> {
        Ok(W::session(self.opener.open().await?, self.clock.clone()))
    }

    fn stack(&self) -> Stack {
        let stack = self.opener.stack();
        // An opener whose connections commit in a way of their own says so.
        let style = if stack.style.is_empty() { "plain".into() } else { stack.style };
        Stack { style, ..stack }
    }
}
