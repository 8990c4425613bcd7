//! The consumer of published messages. It acts on each message once, although messages are delivered at least once.
//!
//! The consumer keeps an inbox ([`Inbox`]) in SQLite. One transaction enters a message there, acts on it if it was not there yet, and
//! stores how far the source has been read. A consumer that was killed therefore reads some messages again, and does not act on them
//! again.

mod inbox;
mod source;

use measure::unix_nanoseconds;
use relay::{Batch, BoxFuture, Relay, SharedDeliveries};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;

pub use inbox::{Inbox, InboxError, Positions};
pub use source::{Incoming, Received, Source};

/// How long a look waits for a message.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// After this many messages a transaction takes no more batches.
const TRANSACTION_MAX: usize = 10_000;
/// Batches that the readers of a source may be ahead of the inbox.
const AHEAD_MAX: usize = 8;

/// A consumer of one source. [`relay::run`] drives it; `settled` of a [`Batch`] counts the messages that it acted on.
pub struct Consumer {
    source: Source,
    inbox: Inbox,
    /// The readers of the source, until something fails.
    following: Option<Following>,
    deliveries: SharedDeliveries,
}

/// Tasks that read a source. They end when this is dropped.
struct Following {
    incoming: Receiver<Result<Incoming, String>>,
    _readers: JoinSet<()>,
}

impl Consumer {
    /// A consumer that continues where its inbox ends.
    #[must_use]
    pub fn new(source: Source, inbox: Inbox) -> Consumer {
        Consumer { source, inbox, following: None, deliveries: SharedDeliveries::default() }
    }

    async fn turn(&mut self) -> Batch {
        match self.consume().await {
            Ok(batch) => batch,
            Err(error) => {
                // Read again from where the inbox ends.
                self.following = None;
                Batch { error: Some(error), ..Batch::default() }
            }
        }
    }

    async fn consume(&mut self) -> Result<Batch, String> {
        if self.following.is_none() {
            let positions = self.inbox.positions().map_err(|error| error.to_string())?;
            let (incoming, readers) = self.source.follow(&positions, AHEAD_MAX).await?;
            self.following = Some(Following { incoming, _readers: readers });
        }
        let Some(Following { incoming, .. }) = &mut self.following else { return Ok(Batch::default()) };
        let Ok(first) = tokio::time::timeout(WAIT_MAX, incoming.recv()).await else {
            return Ok(Batch::default());
        };
        let first = first.ok_or("all readers of the source have ended")??;
        let (mut messages, mut batches) = (first.messages.len(), vec![first]);
        while messages < TRANSACTION_MAX
            && let Ok(next) = incoming.try_recv()
        {
            let next = next?;
            messages += next.messages.len();
            batches.push(next);
        }
        let settled = self.inbox.take(&batches).map_err(|error| error.to_string())?;
        let consumed_us = (unix_nanoseconds() / 1_000).cast_signed();
        let created = batches.iter().flat_map(|batch| &batch.messages).filter_map(|message| message.created);
        let created_us = created.map(|created| (created.0 / 1_000).cast_signed());
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).note(consumed_us, created_us);
        Ok(Batch { settled, transactions: 1, ..Batch::default() })
    }
}

impl Relay for Consumer {
    fn batch(&mut self) -> BoxFuture<'_> {
        Box::pin(self.turn())
    }

    fn deliveries(&self) -> Option<SharedDeliveries> {
        Some(Arc::clone(&self.deliveries))
    }
}
