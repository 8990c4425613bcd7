//! Work that takes its time while everything else goes on: a thread, whose end is waited for at last.

use crate::Plan;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use targets::Driven;

/// How often an interrupt is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Something that a thread finds out.
pub(crate) struct Background<T>(Receiver<T>);

impl<T: Send + 'static> Background<T> {
    /// Begins to find it out.
    pub(crate) fn spawn(
        name: &str,
        find: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<Background<T>> {
        let (ended, found) = channel();
        thread::Builder::new().name(name.into()).spawn(move || {
            // No one may be waiting any more.
            let _ = ended.send(find());
        })?;
        Ok(Background(found))
    }

    /// Waits for what it has found; `what` is printed where that takes more than a moment.
    ///
    /// # Errors
    /// Why it is not known: it was interrupted, or the thread has ended without a word.
    pub(crate) fn end<W: Driven>(
        &self,
        plan: &Plan<'_, W>,
        doing: &dyn Fn(&str),
        what: &str,
    ) -> Result<T, &'static str> {
        let mut is_said = false;
        loop {
            match self.0.recv_timeout(LOOK) {
                Ok(found) => return Ok(found),
                Err(RecvTimeoutError::Disconnected) => return Err("its thread ended early"),
                Err(RecvTimeoutError::Timeout) if plan.interrupt.requested() => return Err("interrupted"),
                Err(RecvTimeoutError::Timeout) if !is_said => {
                    doing(what);
                    is_said = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
