//! Recovery of branches in doubt, besides sessions.

use crate::Stores;
use crate::background::Background;
use anyhow::{Result, anyhow};
use sql::{SqlOpener, TwoPhase};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use workload_transfer::recover;

/// Time between two searches for branches in doubt. One that is found twice has been left by the process that prepared it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Decides what is in doubt now, as it was left by a process that died, and starts a thread that decides what other processes leave.
pub(crate) async fn start<O: SqlOpener<Conn: TwoPhase>>(stores: Arc<Stores<O>>) -> Result<Background> {
    let mut session = stores.open(true).await?;
    let left = match session.in_doubt().await {
        Ok(found) => recover(&mut session, &found).await.map(drop),
        Err(fault) => Err(fault),
    };
    left.map_err(|fault| anyhow!("branches of transfers that are in doubt cannot be decided: {fault}"))?;
    Background::start("recovery", async move |stopped| look(&stores, stopped).await)
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
