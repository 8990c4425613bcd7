//! One keep-alive connection: a request out, an answer in.

use crate::chunks;
use crate::head::{self, Framing, Head};
use model::CallWork;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use transport::{Dialer, Stream};

/// A connection that is not there after this time is not going to be.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Bytes of an answer's head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of an answer: head, body and the framing of chunks.
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// The buffer to begin with: every answer of an ordinary call fits.
const BUFFER_BYTES: usize = 8 << 10;

/// An open connection and the buffer for its answers.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    buffer: Vec<u8>,
    filled: usize,
    /// Bytes received since the latest request began.
    received: usize,
}

/// A whole answer; its body is in the connection's buffer until the next exchange.
#[derive(Debug)]
pub(crate) struct ReceivedAnswer {
    pub status: u16,
    pub body: Range<usize>,
    /// Whether the body calls itself a problem document.
    pub problem: bool,
    /// Whether it calls itself JSON, and nothing more special.
    pub json: bool,
    /// Whether the server closes the connection now.
    pub close: bool,
    /// What the server says of its work.
    pub work: CallWork,
    /// Where it says what each statement took; empty where it does not.
    pub statements: Range<usize>,
}

/// Why there is no answer. The connection cannot be used again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The connection was gone before any byte of the request left.
    Unsent,
    /// The server turned the connection away before any byte of the request left: 429 or 503.
    TurnedAway,
    /// The connection went away after that.
    Lost,
    /// What came is not an answer as HTTP/1.1 and our limits want it: one clause.
    Contract(String),
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// What the system says, or that it took too long.
    pub(crate) async fn open(dialer: &Dialer) -> Result<Connection, String> {
        let stream = match tokio::time::timeout(CONNECT_MAX, dialer.open()).await {
            Ok(stream) => stream.map_err(|error| error.to_string())?,
            Err(_) => return Err(format!("no connection within {} s", CONNECT_MAX.as_secs())),
        };
        Ok(Connection { stream, buffer: vec![0; BUFFER_BYTES], filled: 0, received: 0 })
    }

    /// Sends `request` in one write and waits for its answer, in the usual case with one read.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<ReceivedAnswer, Broken> {
        (self.filled, self.received) = (0, 0);
        self.expect_silence().await?;
        self.send(request).await?;
        let head = self.receive_head().await?;
        let body = self.receive_body(&head).await?;
        Ok(ReceivedAnswer {
            status: head.status,
            body,
            problem: head.problem,
            json: head.json,
            close: head.close,
            work: head.work,
            statements: head.statements.0..head.statements.1,
        })
    }

    /// Ready when the server has closed it, or sent what nothing had asked for. Only of TCP: of others it is never ready.
    pub(crate) fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Stream::Tcp(stream) = &self.stream else { return Poll::Pending };
        let mut first = [0; 1];
        // An error is an end too.
        stream.poll_peek(cx, &mut ReadBuf::new(&mut first)).map(drop)
    }

    /// How many bytes the latest answer came in, interim ones and the framing of chunks included.
    pub(crate) fn received(&self) -> usize {
        self.received
    }

    /// Bytes of the latest answer.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Notices what came in while nothing was asked, before anything is sent. Costs no system call on a quiet
    /// connection: the runtime knows already that there is nothing to read.
    async fn expect_silence(&mut self) -> Result<(), Broken> {
        let mut stray = [0; 1];
        let mut stray = ReadBuf::new(&mut stray);
        let silent = poll_fn(|cx| {
            Poll::Ready(match Pin::new(&mut self.stream).poll_read(cx, &mut stray) {
                Poll::Pending => Ok(true),
                Poll::Ready(Ok(())) if !stray.filled().is_empty() => Ok(false),
                Poll::Ready(_) => Err(Broken::Unsent),
            })
        });
        if silent.await? {
            return Ok(());
        }
        self.buffer[0] = stray.filled()[0];
        Err(self.unasked().await)
    }

    /// What a server that says something before it was asked says of the connection; its first byte is in the buffer. Servers that
    /// are full send 429 or 503, and those that have waited long enough 408 (RFC 9110, 15.5.9).
    #[cold]
    async fn unasked(&mut self) -> Broken {
        self.filled = 1;
        match self.receive_head().await.map(|head| head.status) {
            Ok(408) => Broken::Unsent,
            Ok(429 | 503) => Broken::TurnedAway,
            _ => Broken::Contract("the server sent bytes without a request".into()),
        }
    }

    async fn send(&mut self, request: &[u8]) -> Result<(), Broken> {
        let mut sent = 0;
        poll_fn(|cx| {
            let mut stream = Pin::new(&mut self.stream);
            while sent < request.len() {
                match ready!(stream.as_mut().poll_write(cx, &request[sent..])) {
                    Ok(0) => return Poll::Ready(Err(Broken::Lost)),
                    Ok(bytes) => sent += bytes,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) if sent == 0 => return Poll::Ready(Err(Broken::Unsent)),
                    Err(_) => return Poll::Ready(Err(Broken::Lost)),
                }
            }
            // TLS may keep what it has encrypted until it is flushed; the others have nothing to flush.
            stream.poll_flush(cx).map_err(|_| Broken::Lost)
        })
        .await
    }

    async fn receive_head(&mut self) -> Result<Head, Broken> {
        loop {
            if self.filled > 0
                && let Some(head) = head::parse(&self.buffer[..self.filled]).map_err(Broken::Contract)?
            {
                if !(100..=199).contains(&head.status) {
                    return Ok(head);
                }
                // An interim answer (103 early hints): the real one follows.
                self.buffer.copy_within(head.bytes..self.filled, 0);
                self.filled -= head.bytes;
                continue;
            }
            if self.filled >= HEAD_BYTES_MAX {
                return Err(Broken::Contract(format!("the answer's head is over {HEAD_BYTES_MAX} bytes")));
            }
            self.read_more().await?;
        }
    }

    async fn receive_body(&mut self, head: &Head) -> Result<Range<usize>, Broken> {
        let (end, body) = match head.framing {
            Framing::Length(length) => {
                let end = head.bytes + length;
                if end > ANSWER_BYTES_MAX {
                    return Err(too_large());
                }
                while self.filled < end {
                    self.read_more().await?;
                }
                (end, length)
            }
            Framing::Chunked => loop {
                let framed = &self.buffer[head.bytes..self.filled];
                if let Some(found) = chunks::measure(framed).map_err(Broken::Contract)? {
                    let end = head.bytes + found.framed;
                    chunks::compact(&mut self.buffer[head.bytes..end]);
                    break (end, found.body);
                }
                self.read_more().await?;
            },
        };
        if self.filled > end {
            return Err(Broken::Contract("the server sent bytes after the end of its answer".into()));
        }
        Ok(head.bytes..head.bytes + body)
    }

    async fn read_more(&mut self) -> Result<(), Broken> {
        if self.filled == self.buffer.len() {
            if self.filled >= ANSWER_BYTES_MAX {
                return Err(too_large());
            }
            self.buffer.resize((self.filled * 2).min(ANSWER_BYTES_MAX), 0);
        }
        match self.stream.read(&mut self.buffer[self.filled..]).await {
            Ok(0) | Err(_) => Err(Broken::Lost),
            Ok(bytes) => {
                self.filled += bytes;
                self.received += bytes;
                Ok(())
            }
        }
    }
}

fn too_large() -> Broken {
    Broken::Contract(format!("the answer is over {ANSWER_BYTES_MAX} bytes"))
}
