//! From an address to a server that has stopped cleanly.

use crate::about::{About, CONTRACT_VERSION, VERSION};
use crate::connection;
use crate::lanes::{LaneSettings, Laned};
use crate::pool::{Pool, PoolSettings};
use crate::problem::Problem;
use crate::served::{Of, Served};
use crate::service::Service;
use crate::sessions::Sessions;
use crate::settings::{Operator, ServeError, Settings};
use contract::Wire;
use measure::Monotonic;
use model::{AnyTarget, Home, Nanos, Refusal};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use transport::{ExtraListener, Incoming, Stream};

/// Connections that may wait to be taken, as far as the system allows. The default of the standard library,
/// 128, makes the 129th of many clients that connect at once wait a second for its next try.
const BACKLOG: i32 = 1_024;
/// Sessions that may be asked for: each may be a thread and a connection.
const SESSIONS_MAX: u32 = 4_096;
/// Threads that may be asked for.
const WORKERS_MAX: usize = 1_024;
/// Waiting calls that may be asked for: room for them is set aside.
const QUEUED_MAX: usize = 1 << 20;
/// A pause after the system could not give a connection (no file descriptors): asking again at once would
/// spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for threads to end that should have ended already.
const THREADS_END_MAX: Duration = Duration::from_secs(1);

/// A server from its first session to its end.
type Running<'a> = Pin<Box<dyn Future<Output = Result<(), ServeError>> + 'a>>;
/// What a server waits for before it stops.
type Shutdown<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

#[derive(Debug)]
pub struct Server;

/// A server that listens and does not answer yet: connections wait.
#[derive(Debug)]
pub struct Bound {
    listener: std::net::TcpListener,
    addr: SocketAddr,
    settings: Settings,
}

impl Server {
    /// Listens, so that a port in use is known before anything else is set up.
    ///
    /// # Errors
    /// [`ServeError::Bind`], or [`ServeError::Settings`] for a limit of zero.
    pub fn bind(settings: Settings) -> Result<Bound, ServeError> {
        check(&settings)?;
        let listen = settings.listen;
        let failed = |error: std::io::Error| ServeError::Bind { listen, why: explain(&error) };
        let listener = std::net::TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        rustix::net::listen(&listener, BACKLOG).map_err(|error| failed(error.into()))?;
        let addr = listener.local_addr().map_err(failed)?;
        Ok(Bound { listener, addr, settings })
    }
}

impl Bound {
    /// Where it listens: the port that was picked, if it was asked for port 0.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Opens the sessions, answers until `shutdown` is ready, finishes the calls in flight and closes the
    /// sessions.
    ///
    /// Blocks the calling thread, which must not be one of an asynchronous runtime: the server has a runtime
    /// of its own. `shutdown` is polled on it.
    ///
    /// # Errors
    /// A session that cannot be opened, threads that cannot be started, or calls that were cut off at the
    /// end.
    pub fn serve<W: Wire>(
        self,
        target: AnyTarget<W>,
        extent: W::Extent,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        self.serve_any(Arc::new(Of { target, extent }), Box::pin(shutdown))
    }

    fn serve_any(self, served: Arc<dyn Served>, shutdown: Shutdown<'_>) -> Result<(), ServeError> {
        let runtime = runtime(self.settings.workers).map_err(ServeError::Threads)?;
        let result = runtime.block_on::<Running<'_>>(Box::pin(self.run(served, shutdown)));
        runtime.shutdown_timeout(THREADS_END_MAX);
        result
    }

    async fn run(self, served: Arc<dyn Served>, shutdown: Shutdown<'_>) -> Result<(), ServeError> {
        let clock = Monotonic::start();
        let (sessions, operator) = (self.settings.sessions, Operator::new(self.settings.log.clone()));
        let (queued_max, call_max) = (self.settings.limits.queued_max, self.settings.limits.call_max);
        let opened = match served.home() {
            Home::Thread => {
                let settings =
                    LaneSettings { lanes: sessions, queued_max, call_max, clock, operator: operator.clone() };
                Sessions::Lanes(Laned::open(served.clone(), settings).await?)
            }
            Home::Task => {
                let settings =
                    PoolSettings { sessions, queued_max, call_max, clock, operator: operator.clone() };
                Sessions::Pool(Pool::open(served.clone(), settings).await?)
            }
        };
        self.answer(served, opened, clock, operator, shutdown).await
    }

    async fn answer(
        self,
        served: Arc<dyn Served>,
        sessions: Sessions,
        clock: Monotonic,
        operator: Operator,
        shutdown: Shutdown<'_>,
    ) -> Result<(), ServeError> {
        let Bound { listener, addr, settings } = self;
        let limits = settings.limits.clone();
        let failed = |error: std::io::Error| ServeError::Bind { listen: addr, why: explain(&error) };
        let also = ExtraListener::on(settings.transport, addr).map_err(|error| ServeError::Bind {
            listen: addr,
            why: format!("the transport {}: {}", settings.transport, explain(&error)),
        })?;
        let about = About { transport: also.described(), ..about(&settings, &*served) };
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        let drain_max = limits.drain_max;
        let service = Arc::new(Service::new(served, sessions, about, limits, clock, operator));
        let stopping = accept(&listener, &also, &service, shutdown).await;
        // From here on new connections are refused by the system, and calls by the handlers.
        drop((listener, also));
        service.stopping.store(true, Ordering::Relaxed);
        let cut_off = drain(stopping, &service, drain_max).await;
        let closed = service.sessions.close(if cut_off == 0 { drain_max } else { Nanos::ZERO }).await;
        match cut_off {
            0 if closed => Ok(()),
            0 => Err(ServeError::Unclosed { drain_max }),
            calls => Err(ServeError::Undrained { calls, drain_max }),
        }
    }
}

/// One worker is the calling thread itself: with no one to share with, tasks need no locks between threads.
fn runtime(workers: usize) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(workers).thread_name("http").enable_all().build()
}

fn check(settings: &Settings) -> Result<(), ServeError> {
    let limits = &settings.limits;
    let counts = [
        ("workers", settings.workers, WORKERS_MAX),
        ("sessions", settings.sessions as usize, SESSIONS_MAX as usize),
        ("body_bytes_max", limits.body_bytes_max, usize::MAX),
        ("connections_max", limits.connections_max, Semaphore::MAX_PERMITS),
        ("queued_max", limits.queued_max, QUEUED_MAX),
        ("call_max", usize::from(limits.call_max > Nanos::ZERO), 1),
    ];
    for (name, count, max) in counts {
        if count == 0 {
            return Err(ServeError::Settings(format!("a server needs {name} of at least 1, not 0")));
        }
        if count > max {
            return Err(ServeError::Settings(format!("{name} is {count}; at most {max} can be served")));
        }
    }
    Ok(())
}

fn about(settings: &Settings, served: &dyn Served) -> About {
    About {
        name: "stackmark-server",
        version: VERSION,
        contract: format!("{}/{CONTRACT_VERSION}", served.name()),
        workload: served.name(),
        scale: settings.scale,
        pool: settings.sessions,
        workers: settings.workers,
        pid: std::process::id(),
        limits: settings.limits.clone(),
        transport: None,
        stack: served.stack(),
        unfinished: 0,
    }
}

fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "the port is in use; stop what listens there, or take another port (0 picks a free one)".into()
        }
        std::io::ErrorKind::AddrNotAvailable => "this machine does not have that address".into(),
        std::io::ErrorKind::PermissionDenied => "not permitted; ports below 1024 need privileges".into(),
        _ => error.to_string(),
    }
}

/// Takes connections until `shutdown` is ready. Connections end when they see the change of what is returned.
async fn accept(
    listener: &TcpListener,
    also: &ExtraListener,
    service: &Arc<Service>,
    mut shutdown: Shutdown<'_>,
) -> watch::Sender<bool> {
    let router = service.clone().router();
    let places = Arc::new(Semaphore::new(service.limits.connections_max));
    let (stopping, seen) = watch::channel(false);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut shutdown => return stopping,
            accepted = listener.accept() => accepted.map(|(stream, _)| Incoming::Tcp(stream)),
            accepted = also.accept() => accepted,
        };
        let incoming = match accepted {
            Ok(incoming) => incoming,
            Err(error) if is_clients(&error) => continue,
            Err(error) => {
                service.operator.remark(&format!("could not take a connection: {error}"));
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            tokio::spawn(turn_away(incoming, service.limits.head_read_max));
            continue;
        };
        let (router, service, seen) = (router.clone(), service.clone(), seen.clone());
        tokio::spawn(async move {
            if let Some(stream) = ready(incoming, service.limits.head_read_max).await {
                connection::serve(stream, router, service, seen).await;
            }
            drop(place);
        });
    }
}

/// Whether the client stopped between connecting and being accepted.
fn is_clients(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// A connection on which requests may come, unless its client breaks off or takes too long.
async fn ready(incoming: Incoming, max: Nanos) -> Option<Stream> {
    tokio::time::timeout(max.into(), incoming.ready()).await.ok()?.ok()
}

/// Says 503 to a connection over the limit, without reading a request.
async fn turn_away(incoming: Incoming, max: Nanos) {
    // A handshake would cost more than the connection that is turned away.
    if matches!(incoming, Incoming::Tls(..)) {
        return;
    }
    let Some(mut stream) = ready(incoming, max).await else { return };
    let body = Problem::refused(Refusal::Shedding).to_json();
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // The client may be gone already; then no one misses the answer.
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
    let _ = stream.shutdown().await;
}

/// Waits for connections to end; answers how many calls did not.
async fn drain(stopping: watch::Sender<bool>, service: &Service, drain_max: Nanos) -> usize {
    stopping.send_replace(true);
    match tokio::time::timeout(drain_max.into(), stopping.closed()).await {
        Ok(()) => 0,
        // Connections without a call in flight are only clients that do not close.
        Err(_) => service.calls.load(Ordering::Relaxed),
    }
}
