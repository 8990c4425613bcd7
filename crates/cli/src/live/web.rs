//! What is served while a run goes on: the live page with its events, and the metrics. Nothing can be changed there.

use super::hub::{Hub, News};
use anyhow::{Context, Result, bail};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::oneshot;

const PAGE: &str = include_str!("page.html");
/// The page may load nothing from anywhere but its events from here.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// For the last news to reach those who listen.
const END_MAX: Duration = Duration::from_millis(500);

/// An address that is ours.
pub(super) struct Bound {
    listener: TcpListener,
    pub(super) addr: SocketAddr,
}

/// A thread that serves.
#[derive(Debug)]
pub(super) struct Served {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// Listens at `listen`; `option` is what asked for it.
pub(super) fn bind(option: &str, listen: SocketAddr) -> Result<Bound> {
    let listener = TcpListener::bind(listen).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "the port is in use; stop what listens there, or take another port (0 picks a free one)"
                    .into()
            }
            std::io::ErrorKind::AddrNotAvailable => "this machine does not have that address".into(),
            std::io::ErrorKind::PermissionDenied => "not permitted; ports below 1024 need privileges".into(),
            _ => error.to_string(),
        };
        anyhow::anyhow!("could not listen at {listen} for {option}: {why}")
    })?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    Ok(Bound { listener, addr })
}

/// Serves on a thread of its own until stopped.
pub(super) fn serve(hub: &Arc<Hub>, page: Option<Bound>, metrics: Option<Bound>) -> Result<Served> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start what serves the live view")?;
    let page = page.map(|bound| {
        let router = Router::new().route("/", get(live)).route("/events", get(events));
        (bound, router.with_state(hub.clone()))
    });
    let metrics = metrics
        .map(|bound| (bound, Router::new().route("/metrics", get(exposition)).with_state(hub.clone())));
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("live".into())
        .spawn(move || {
            runtime.block_on(async {
                let tasks: Vec<_> = [page, metrics]
                    .into_iter()
                    .flatten()
                    .map(|(bound, router)| tokio::spawn(answer(bound, router)))
                    .collect();
                // A sender that is gone says the same.
                let _ = stopped.await;
                // Time for the end to be written out; whoever does not read it holds no one up.
                tokio::time::sleep(if tasks.is_empty() { Duration::ZERO } else { END_MAX / 5 }).await;
            });
            runtime.shutdown_timeout(END_MAX);
        })
        .context("could not start what serves the live view")?;
    Ok(Served { stop, thread })
}

impl Served {
    /// Stops serving.
    pub(super) fn end(self) {
        let _ = self.stop.send(());
        // A panic there has been printed, and changes no result.
        let _ = self.thread.join();
    }
}

async fn answer(bound: Bound, router: Router) {
    let Bound { listener, addr } = bound;
    let router = router.layer(middleware::from_fn(move |request, next| only_for(addr.ip(), request, next)));
    if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
        // Ends with the runtime; errors of single connections are theirs.
        let _ = axum::serve(listener, router).await;
    }
}

/// A page elsewhere can make a browser ask loopback under a name of its own (DNS rebinding); a request by such a name is
/// turned away.
async fn only_for(bound: IpAddr, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if bound.is_loopback() && !host.is_some_and(is_loopback_name) {
        return (StatusCode::FORBIDDEN, "ask by the address that was printed\n").into_response();
    }
    next.run(request).await
}

/// `localhost`, `127.0.0.1` or `[::1]`, with a port or without.
fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

async fn live() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, PAGE)
}

async fn exposition(State(hub): State<Arc<Hub>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], hub.metrics())
}

/// What a reader has not got yet.
enum Reading {
    First(News, broadcast::Receiver<News>),
    On(broadcast::Receiver<News>),
    Ended,
}

async fn events(State(hub): State<Arc<Hub>>) -> Response {
    let Some((first, receiver)) = hub.subscribe() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many readers\n").into_response();
    };
    let news = stream::unfold(Reading::First(first, receiver), move |reading| next(hub.clone(), reading));
    Sse::new(news).keep_alive(KeepAlive::default()).into_response()
}

async fn next(hub: Arc<Hub>, reading: Reading) -> Option<(Result<Event, Infallible>, Reading)> {
    let (news, receiver) = match reading {
        Reading::First(first, receiver) => (first, receiver),
        Reading::On(mut receiver) => match receiver.recv().await {
            Ok(news) => (news, receiver),
            // Too slow for some news: all that they said is in the whole.
            Err(RecvError::Lagged(_)) => hub.catch_up(&receiver),
            Err(RecvError::Closed) => return None,
        },
        Reading::Ended => return None,
    };
    let reading = if news.event == "end" { Reading::Ended } else { Reading::On(receiver) };
    Some((Ok(Event::default().event(news.event).data(&*news.data)), reading))
}

/// An address to listen at: `127.0.0.1:9000`, `[::1]:9000`, `localhost:9000`, or a port of loopback.
pub(crate) fn listen(text: &str) -> Result<SocketAddr> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let text =
        text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    match text.parse() {
        Ok(addr) => Ok(addr),
        Err(_) => bail!("write an address and a port such as 127.0.0.1:9000, or only a port"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_answers_only_to_its_own_names() {
        for good in ["localhost", "LOCALHOST:9000", "127.0.0.1:9000", "127.0.0.1", "[::1]:9000", "[::1]"] {
            assert!(is_loopback_name(good), "{good}");
        }
        for bad in
            ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1"]
        {
            assert!(!is_loopback_name(bad), "{bad}");
        }
    }

    #[test]
    fn an_address_without_a_host_is_loopback() {
        let check =
            |text: &str, addr: &str| assert_eq!(listen(text).unwrap(), addr.parse().unwrap(), "{text}");
        check("9000", "127.0.0.1:9000");
        check(":9000", "127.0.0.1:9000");
        check("localhost:0", "127.0.0.1:0");
        check("0.0.0.0:9000", "0.0.0.0:9000");
        check("[::1]:9000", "[::1]:9000");
        for wrong in ["tpcc/sqlite/rusqlite", "localhost", "127.0.0.1", "127.0.0.1:99999", "70000", ""] {
            assert!(listen(wrong).unwrap_err().to_string().contains("127.0.0.1:9000"), "{wrong}");
        }
    }

    #[test]
    fn a_port_in_use_is_said_with_what_to_do() {
        let first = bind("--live", "127.0.0.1:0".parse().unwrap()).unwrap();
        let error = bind("--metrics", first.addr).err().unwrap().to_string();
        assert!(error.contains("--metrics") && error.contains("in use"), "{error}");
    }
}
