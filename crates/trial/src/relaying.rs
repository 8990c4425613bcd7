//! The relay beside a trial, of a style that leaves something to one.

use crate::Job;
use anyhow::Result;
use deploy::Server;
use observe::Watched;
use result::Role;
use targets::Driven;

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
        let limits = job.server.relay_limits;
        Ok(Relaying(job.subject.relay(&job.databases.urls(), limits, &log, job.interrupt.flag())?))
    }

    pub(crate) fn watched(&self) -> Option<Watched> {
        self.0.as_ref().map(|relay| Watched::of(Role::Relay, relay.pid()))
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
