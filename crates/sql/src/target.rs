//! Targets of workloads in their generic form.

use crate::{SqlConn, SqlOpener};
use model::{Clock, Home, OpenError, Session, Stack, Target, Workload};
use std::fmt;

/// A workload with a generic form: its transactions one statement at a time, for every connection that speaks the port.
pub trait SqlForm: Workload {
    /// What runs them on one connection.
    type Session<C: SqlConn, K: Clock>: Session<Self>;
    /// How it does, where a workload has several ways that answer the same; the default is the plain one.
    type Form: fmt::Debug + Copy + Default + Send + Sync + 'static;

    /// A session on a connection that has prepared the workload's statements.
    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, form: Self::Form) -> Self::Session<C, K>;

    /// The name of a form in subjects and results.
    fn style(_form: Self::Form) -> &'static str {
        "plain"
    }
}

/// Opens sessions that run a workload's transactions one statement at a time.
pub struct SqlTarget<W: SqlForm, O, K> {
    opener: O,
    clock: K,
    form: W::Form,
}

impl<W: SqlForm, O: SqlOpener, K: Clock> SqlTarget<W, O, K> {
    /// A target over an opener that prepares the workload's statements.
    pub fn new(opener: O, clock: K) -> SqlTarget<W, O, K> {
        SqlTarget::in_form(opener, clock, W::Form::default())
    }

    /// The same in another form.
    pub fn in_form(opener: O, clock: K, form: W::Form) -> SqlTarget<W, O, K> {
        SqlTarget { opener, clock, form }
    }
}

impl<W: SqlForm, O: fmt::Debug, K> fmt::Debug for SqlTarget<W, O, K> {
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
        Ok(W::session(self.opener.open().await?, self.clock.clone(), self.form))
    }

    fn stack(&self) -> Stack {
        let stack = self.opener.stack();
        // An opener whose connections commit in a way of their own says so.
        let style = if stack.style.is_empty() { W::style(self.form).into() } else { stack.style };
        Stack { style, ..stack }
    }
}
