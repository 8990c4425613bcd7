//! The relay beside a trial, of a style that leaves something to one.

use crate::Job;
use anyhow::Result;
use deploy::{Server, SinkAddress, SinkKind};
use observe::Watched;
use result::{Quantiles, Role};
use serde::Deserialize;
use targets::Driven;

/// The file of what was announced, in the folder of a run.
pub(crate) const ANNOUNCED: &str = "announced.jsonl";

/// What a relay says of itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Relayed {
    /// What it has brought to where it belongs.
    #[serde(rename = "settled")]
    pub messages: u64,
    /// In how many batches.
    #[serde(rename = "transactions")]
    pub batches: u64,
    /// How long that took, where it measures it.
    pub lag: Option<Quantiles>,
}

/// A relay that stays until what calls have left to it has come to its end.
pub(crate) struct Relaying(Option<Server>);

impl Relaying {
    /// One for a trial. Whoever started the server that is given by its address has started its relay too.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn beside<W: Driven>(job: &Job<'_, W>) -> Result<Relaying> {
        if job.url.is_some() || !job.audited {
            return Ok(Relaying(None));
        }
        let log = job.folder.path().join("relay.log");
        let relaying = &job.server.relaying;
        let path = job.folder.path().join(ANNOUNCED);
        // Of an earlier trial in the same folder.
        let _ = std::fs::remove_file(&path);
        let sink = match relaying.sink {
            SinkKind::Null => SinkAddress::Null,
            SinkKind::File => SinkAddress::File(path),
        };
        let urls = job.databases.urls();
        Ok(Relaying(job.subject.relay(&urls, relaying, &sink, &log, job.interrupt.flag())?))
    }

    pub(crate) fn watched(&self) -> Option<Watched> {
        self.0.as_ref().map(|relay| Watched::of(Role::Relay, relay.pid()))
    }

    /// What it says of itself; nothing where there is none, or it does not answer.
    pub(crate) fn ask(&self) -> Option<Relayed> {
        let answer = self.0.as_ref()?.about().ok()?;
        serde_json::from_str(&answer).ok()
    }

    pub(crate) fn throttling(&self) -> Option<rig::Throttling> {
        self.0.as_ref().and_then(Server::throttling)
    }

    /// Stops it.
    ///
    /// # Errors
    /// It ended before it was told to, or cannot be stopped.
    pub(crate) fn stop(self) -> Result<()> {
        let Some(mut relay) = self.0 else { return Ok(()) };
        if relay.ended().is_some() {
            anyhow::bail!("the relay ended by itself{}", relay.log_tail());
        }
        Ok(relay.stop()?)
    }
}
