//! One client's connection, and when it is given up.

use crate::service::Service;
use crate::settings::Limits;
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use measure::Monotonic;
use model::{Clock, Nanos};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tower::Service as _;
use transport::Stream;

/// Header lines of a request.
const HEADERS_MAX: usize = 64;
/// Bytes of a request's head, and of what is read ahead of a body.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// How often a connection is looked at. Limits are kept to within this.
const LOOK: Duration = Duration::from_millis(500);

/// Serves a connection until the client closes it, breaks HTTP or is too slow, or the server stops.
pub(crate) async fn serve(
    stream: Stream,
    router: Router,
    service: Arc<Service>,
    mut stopping: watch::Receiver<bool>,
) {
    let pulse = Arc::new(Pulse::new(service.clock, &service.limits));
    let calls = pulse.clone();
    let service = service_fn(move |request| {
        calls.call_started();
        let answer = match service.refuse_host(&request) {
            None => Ok(router.clone().call(request)),
            Some(refused) => Err(refused),
        };
        let calls = calls.clone();
        async move {
            let answer = match answer {
                Ok(answer) => answer.await,
                Err(refused) => Ok(refused),
            };
            calls.call_ended();
            answer
        }
    });
    // Hyper's own timeout for heads would also close connections of clients that think, so the pulse keeps
    // both.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        // A client that has shut down its writing half may still read: it gets its answer (RFC 9112 9.6 speaks of both
        // halves apart). One that is gone altogether looks the same until it is written to.
        .half_close(true)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Watched { stream, pulse: pulse.clone() }), service);
    let mut connection = pin!(connection);
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            biased;
            // An error here is the client's: it went away or does not speak HTTP.
            _ = connection.as_mut() => return,
            changed = stopping.changed() => {
                connection.as_mut().graceful_shutdown();
                if changed.is_err() || *stopping.borrow() {
                    break;
                }
            }
            _ = look.tick() => if pulse.is_too_slow() { return },
        }
    }
    loop {
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            _ = look.tick() => if pulse.is_too_slow() { return },
        }
    }
}

/// When something last happened on a connection.
struct Pulse {
    clock: Monotonic,
    head_read_max: Nanos,
    idle_max: Nanos,
    in_call: AtomicBool,
    /// When the first byte of an unfinished head came; 0 without one.
    head_since: AtomicU64,
    /// When the latest call ended.
    quiet_since: AtomicU64,
}

impl Pulse {
    fn new(clock: Monotonic, limits: &Limits) -> Pulse {
        Pulse {
            clock,
            head_read_max: limits.head_read_max,
            idle_max: limits.idle_max,
            in_call: AtomicBool::new(false),
            head_since: AtomicU64::new(0),
            quiet_since: AtomicU64::new(clock.now().0),
        }
    }

    fn bytes_came(&self) {
        if !self.in_call.load(Ordering::Relaxed) && self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(self.clock.now().0.max(1), Ordering::Relaxed);
        }
    }

    fn call_started(&self) {
        self.in_call.store(true, Ordering::Relaxed);
        self.head_since.store(0, Ordering::Relaxed);
    }

    fn call_ended(&self) {
        self.quiet_since.store(self.clock.now().0, Ordering::Relaxed);
        self.in_call.store(false, Ordering::Relaxed);
    }

    fn is_too_slow(&self) -> bool {
        if self.in_call.load(Ordering::Relaxed) {
            return false;
        }
        let now = self.clock.now();
        let head_since = self.head_since.load(Ordering::Relaxed);
        let head_late = head_since != 0 && now - Nanos(head_since) > self.head_read_max;
        head_late || now - Nanos(self.quiet_since.load(Ordering::Relaxed)) > self.idle_max
    }
}

/// A stream that tells when bytes come in.
struct Watched {
    stream: Stream,
    pulse: Arc<Pulse>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(cx, into));
        if into.filled().len() > before {
            self.pulse.bytes_came();
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
