//! Threads besides sessions.

use anyhow::Result;
use std::future::Future;
use std::thread::JoinHandle;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// A thread with a runtime of its own. It is asked to stop, and waited for, when this value is dropped.
pub(crate) struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts a thread whose work ends soon after the receiver does.
    pub(crate) fn start<F: Future<Output = ()>>(
        name: &str,
        work: impl FnOnce(oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> Result<Background> {
        let (stop, stopped) = oneshot::channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let run = move || runtime.block_on(work(stopped));
        let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
        Ok(Background { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
