//! The consumer of published messages. It processes each message exactly once, although messages are delivered at least once.
//!
//! The consumer keeps an inbox ([`Inbox`]) in SQLite. One transaction enters a message there, processes it if it is new, and stores the
//! offset of the next one. After a crash the consumer reads on from the stored offset.

mod inbox;
mod source;

use measure::unix_nanoseconds;
use relay::{Batch, BoxFuture, Relay, SharedDeliveries};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;

pub use inbox::{Inbox, InboxError, Offsets};
pub use source::{Incoming, Received, Source};

/// How long a turn waits for a message.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// A transaction with this many messages takes no more batches.
const TRANSACTION_MAX: usize = 10_000;
/// Batches that the readers of a source may be ahead of the inbox.
const AHEAD_MAX: usize = 8;

/// A consumer of one source. [`relay::run`] drives it; `settled` of a [`Batch`] counts processed messages.
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
    /// A consumer that reads on from the offsets in its inbox.
    pub fn new(source: Source, inbox: Inbox) -> Consumer {
        Consumer { source, inbox, following: None, deliveries: SharedDeliveries::default() }
    }

    async fn turn(&mut self) -> Batch {
        match self.consume().await {
            Ok(batch) => batch,
            Err(error) => {
                // Read on from the offsets in the inbox.
                self.following = None;
                Batch { error: Some(error), ..Batch::default() }
            }
        }
    }

    async fn consume(&mut self) -> Result<Batch, String> {
        if self.following.is_none() {
            let offsets = self.inbox.offsets().map_err(|error| error.to_string())?;
            let (incoming, readers) = self.source.follow(&offsets, AHEAD_MAX).await?;
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
        let taken = self.inbox.take(&batches).map_err(|error| error.to_string())?;
        let processed_us = (unix_nanoseconds() / 1_000).cast_signed();
        let created_us = taken.created.iter().map(|created| (created.0 / 1_000).cast_signed());
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).note(processed_us, created_us);
        Ok(Batch { settled: taken.messages, transactions: 1, ..Batch::default() })
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
