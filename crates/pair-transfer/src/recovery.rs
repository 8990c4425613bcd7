//! Recovery of branches in doubt, beside sessions.

use crate::Stores;
use anyhow::{Result, anyhow};
use sql::{SqlOpener, TwoPhase};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;
use workload_transfer::recover;

/// Time between two searches for branches in doubt. One that is found twice has been left by the process that prepared it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A thread that decides branches whose owner has gone, until this value goes.
pub(crate) struct Recovery {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Recovery {
    /// Decides what is in doubt now, as it was left by a process that died, and goes on.
    pub(crate) async fn start<O: SqlOpener<Conn: TwoPhase>>(stores: Arc<Stores<O>>) -> Result<Recovery> {
        let mut session = stores.open(true).await?;
        let left = match session.in_doubt().await {
            Ok(found) => recover(&mut session, &found).await.map(drop),
            Err(fault) => Err(fault),
        };
        left.map_err(|fault| anyhow!("branches of transfers that are in doubt cannot be decided: {fault}"))?;
        let (stop, stopped) = oneshot::channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let look = move || runtime.block_on(look(&stores, stopped));
        let thread = std::thread::Builder::new().name("recovery".into()).spawn(look)?;
        Ok(Recovery { stop: Some(stop), thread: Some(thread) })
    }
}

/// Decides what it finds twice, until it is told to stop.
async fn look<O: SqlOpener<Conn: TwoPhase>>(stores: &Stores<O>, mut stopped: oneshot::Receiver<()>) {
    let (mut session, mut before) = (None, BTreeSet::new());
    while timeout(LOOK_EVERY, &mut stopped).await.is_err() {
        let mut open = match session.take() {
            Some(open) => open,
            None => match stores.open(true).await {
                Ok(open) => open,
                // A store that is away is tried again.
                Err(_) => continue,
            },
        };
        let Ok(found) = open.in_doubt().await else { continue };
        let left: Vec<_> = found.iter().filter(|branch| before.contains(*branch)).copied().collect();
        if recover(&mut open, &left).await.is_ok() {
            before = found.into_iter().collect();
            session = Some(open);
        }
    }
}

impl Drop for Recovery {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
