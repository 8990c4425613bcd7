//! A client and its connection in one place, so that no second task is needed to move the bytes.

use crate::Facts;
use crate::bell::Bell;
use model::Nanos;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

type Wire = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// An open connection: the client that asks, and the link that carries.
#[derive(Debug)]
pub struct Connected {
    /// Asks. Nothing it asks moves unless the link is polled: `link.until(client.query(…))`.
    pub client: Client,
    pub link: Link,
    /// What the session reports.
    pub facts: Facts,
}

/// Carries what a client asks and what the server answers, polled by whoever waits for the answer.
pub struct Link {
    wire: Option<Wire>,
    bell: Arc<Bell>,
    /// Rings the bell.
    waker: Waker,
    /// A notification came that no one has been told of.
    is_notified: bool,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("open", &self.wire.is_some()).finish()
    }
}

impl Link {
    /// After which a connection is looked at: that costs less than a microsecond.
    pub const IDLE_MAX: Nanos = Nanos::from_millis(20);

    pub(crate) fn new(wire: Wire) -> Link {
        let bell = Arc::new(Bell::default());
        Link { wire: Some(wire), waker: Waker::from(Arc::clone(&bell)), bell, is_notified: false }
    }

    /// Whether the connection was open when it was last used.
    pub fn is_open(&self) -> bool {
        self.wire.is_some()
    }

    /// Waits for an answer of this connection's client, and moves the bytes meanwhile: no task, no waking from one to the
    /// other. Several requests share a round trip when they are one future, for example joined ones. The future must wait
    /// for nothing but this client: for a timer or another connection it would not be woken.
    ///
    /// # Errors
    /// Those of the request; when the connection ends first, the reason for that. Requests after it fail at once.
    pub async fn until<T>(&mut self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut answer = pin!(answer);
        // Only what is carried below makes an answer, and it is looked for right after that, so no one need be woken for it.
        let asleep = || Context::from_waker(Waker::noop());
        if let Poll::Ready(result) = self.bell.muted(|| answer.as_mut().poll(&mut asleep())).0 {
            return result;
        }
        poll_fn(|cx| {
            self.bell.hang(cx.waker());
            loop {
                let ended = self.carry();
                let (looked, rung) = self.bell.muted(|| answer.as_mut().poll(&mut asleep()));
                match (looked, ended) {
                    (Poll::Ready(result), _) => return Poll::Ready(result),
                    (Poll::Pending, Some(error)) => return Poll::Ready(Err(error)),
                    // It has asked for more, or made room for more of the answer.
                    (Poll::Pending, None) if rung => {}
                    (Poll::Pending, None) => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// Whether the connection is open now. Nothing is sent: what the server has sent or closed meanwhile is read.
    pub async fn look(&mut self) -> bool {
        poll_fn(|cx| {
            self.bell.hang(cx.waker());
            let _ended = self.carry();
            Poll::Ready(self.is_open())
        })
        .await
    }

    /// Waits for a notification, or for the end of the connection: then false.
    pub(crate) async fn notified(&mut self) -> bool {
        poll_fn(|cx| {
            self.bell.hang(cx.waker());
            let ended = self.carry();
            if std::mem::take(&mut self.is_notified) {
                return Poll::Ready(true);
            }
            if ended.is_some() || !self.is_open() { Poll::Ready(false) } else { Poll::Pending }
        })
        .await
    }

    /// Moves what can be moved now; the reason when the connection ends.
    fn carry(&mut self) -> Option<Error> {
        let wire = self.wire.as_mut()?;
        let mut cx = Context::from_waker(&self.waker);
        loop {
            match wire.poll_message(&mut cx) {
                Poll::Pending => return None,
                Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => self.is_notified = true,
                // Notices: there is no one who would want them.
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    self.wire = None;
                    return Some(error);
                }
                // The client has left; then no one waits.
                Poll::Ready(None) => {
                    self.wire = None;
                    return None;
                }
            }
        }
    }
}
