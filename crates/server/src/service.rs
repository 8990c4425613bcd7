//! The routes: bytes to a call, a call to a session, an outcome to bytes.

use crate::about::About;
use crate::problem::Problem;
use crate::reply;
use crate::served::{Exchange, Served};
use crate::sessions::{Ran, Sessions};
use crate::settings::{Limits, Operator};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{MethodFilter, get, on};
use bytes::Bytes;
use contract::Method;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Version};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use measure::Monotonic;
use model::{CallWork, Clock, DefectKind, Fault, Nanos, Refusal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Everything that handlers share.
pub(crate) struct Service {
    /// Reads the calls.
    pub served: Arc<dyn Served>,
    pub sessions: Sessions,
    /// `/about`, but for what changes.
    pub about: About,
    pub limits: Limits,
    /// The server's clock.
    pub clock: Monotonic,
    /// For lines to the operator.
    pub operator: Operator,
    /// Set once the server has been asked to stop.
    pub stopping: AtomicBool,
    /// Calls between their decoded body and their answer.
    pub calls: AtomicUsize,
}

impl Service {
    /// A service that has not begun to stop.
    pub(crate) fn new(
        served: Arc<dyn Served>,
        sessions: Sessions,
        about: About,
        limits: Limits,
        clock: Monotonic,
        operator: Operator,
    ) -> Service {
        let (stopping, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
        Service { served, sessions, about, limits, clock, operator, stopping, calls }
    }

    pub(crate) fn router(self: Arc<Self>) -> Router {
        let mut router = Router::new().route("/health", get(health)).route("/about", get(about));
        let endpoints = self.served.endpoints();
        for (kind, endpoint) in endpoints.iter().enumerate() {
            // Kinds that differ only for whoever calls go to one place.
            if endpoints[..kind].contains(endpoint) {
                continue;
            }
            let handler = move |State(service): State<Arc<Self>>, request: Request| async move {
                service.answer(kind, request).await
            };
            router = router.route(endpoint.path, on(filter(endpoint.method), handler));
        }
        router
            .fallback(
                |State(service): State<Arc<Self>>| async move { service.reject(&Problem::unknown_path()) },
            )
            .method_not_allowed_fallback(|State(service): State<Arc<Self>>| async move {
                service.reject(&Problem::method_not_allowed())
            })
            .with_state(self)
    }

    /// The answer to a request that does not say once, and rightly, which host it is for (RFC 9112 3.2).
    pub(crate) fn refuse_host<B>(&self, request: &http::Request<B>) -> Option<Response> {
        (!names_its_host(request.version(), request.headers())).then(|| self.reject(&Problem::bad_host()))
    }

    /// The whole of a call. Its parts follow each other without a gap, so that they add up to the total.
    async fn answer(&self, kind: usize, request: Request) -> Response {
        let started = self.clock.now();
        let mut work = CallWork::default();
        let mut response = match self.decode(kind, request).await {
            Ok(exchange) => {
                let decoded = self.clock.now();
                let ran = self.run(exchange).await;
                let returned = self.clock.now();
                work = ran.work;
                work.spent.encode += decoded - started;
                let mut response = self.encode(&ran.result);
                if let Ok(exchange) = &ran.result {
                    reply::statements(response.headers_mut(), &**exchange);
                }
                work.spent.encode += self.clock.now() - returned;
                response
            }
            Err(problem) => {
                work.spent.encode = self.clock.now() - started;
                reply::problem(&problem)
            }
        };
        work.spent.server = self.clock.now() - started;
        reply::server_timing(response.headers_mut(), &work);
        response
    }

    async fn decode(&self, kind: usize, request: Request) -> Result<Box<dyn Exchange>, Problem> {
        let (head, body) = request.into_parts();
        let endpoint = self.served.endpoints()[kind];
        if endpoint.method.has_body() && !is_json(&head.headers) {
            return Err(Problem::unsupported_type());
        }
        let body = self.read(body).await?;
        let clocked = head.headers.contains_key(reply::CLOCK);
        let (path, query, headers) = (head.uri.path(), head.uri.query(), &Came(&head.headers));
        let request = contract::Request { endpoint, path, query, headers, body: &body };
        self.served.decode(kind, &request, clocked).map_err(Problem::bad_call)
    }

    /// Reads a body, never more of it than its limit.
    async fn read(&self, body: Body) -> Result<Bytes, Problem> {
        use hyper::body::Body as _;
        let bytes_max = self.limits.body_bytes_max;
        if body.size_hint().lower() > bytes_max as u64 {
            return Err(Problem::body_too_large(bytes_max));
        }
        let whole = Limited::new(body, bytes_max).collect();
        match tokio::time::timeout(self.limits.body_read_max.into(), whole).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::body_too_large(bytes_max)),
            Ok(Err(_)) => Err(Problem::body_broken()),
            Err(_) => Err(Problem::body_too_slow()),
        }
    }

    async fn run(&self, exchange: Box<dyn Exchange>) -> Ran {
        if self.stopping.load(Ordering::Relaxed) {
            return Ran::refused(Refusal::Shedding);
        }
        let _counted = CallInFlight::new(&self.calls);
        self.sessions.run(exchange).await
    }

    fn encode(&self, result: &Result<Box<dyn Exchange>, Fault>) -> Response {
        match result {
            Ok(exchange) => reply::outcome(&**exchange),
            Err(fault) => {
                if let Fault::Defect(defect) = fault
                    && defect.kind != DefectKind::BadCall
                {
                    self.operator.remark(&format!("defect: {}", defect.what));
                }
                reply::problem(&Problem::of(fault))
            }
        }
    }

    /// An answer without a call.
    fn reject(&self, problem: &Problem) -> Response {
        let started = self.clock.now();
        self.plain(reply::problem(problem), started)
    }

    fn plain(&self, mut response: Response, started: Nanos) -> Response {
        let mut work = CallWork::default();
        work.spent.encode = self.clock.now() - started;
        work.spent.server = work.spent.encode;
        reply::server_timing(response.headers_mut(), &work);
        response
    }
}

/// Headers as a workload reads them.
struct Came<'a>(&'a HeaderMap);

impl contract::Headers for Came<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Some(""),
            (value, _) => value.and_then(|value| value.to_str().ok()),
        }
    }
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

async fn health(State(service): State<Arc<Service>>) -> Response {
    if service.stopping.load(Ordering::Relaxed) {
        return service.reject(&Problem::refused(Refusal::Shedding));
    }
    let started = service.clock.now();
    service.plain(reply::json(br#"{"status":"ok"}"#.to_vec()), started)
}

async fn about(State(service): State<Arc<Service>>) -> Response {
    let started = service.clock.now();
    let about = About { unfinished: service.served.unfinished(), ..service.about.clone() };
    let json = serde_json::to_vec(&about).expect("texts and numbers always have a JSON form");
    service.plain(reply::json(json), started)
}

/// One `host` of characters that a host and a port may have, where HTTP asks for it.
fn names_its_host(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.as_bytes().iter().all(|&byte| is_of_a_host(byte)),
        (None, _) => version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    }
}

/// RFC 3986 3.2.2 and 3.2.3: names, numbers, IPv6 in brackets, and a port behind a colon.
fn is_of_a_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte)
}

/// `application/json`, once, and in UTF-8 where it says in what: RFC 8259 8.1 knows nothing else.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(only), None) = (types.next(), types.next()) else {
        return false;
    };
    let mut parts = only.as_bytes().split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let media = parts.next().unwrap_or_default();
    media.eq_ignore_ascii_case(b"application/json") && parts.all(|parameter| !is_other_charset(parameter))
}

/// Whether a parameter of a media type asks for another character set than UTF-8.
fn is_other_charset(parameter: &[u8]) -> bool {
    let Some(at) = parameter.iter().position(|&byte| byte == b'=') else {
        return false;
    };
    let (name, value) = (parameter[..at].trim_ascii(), parameter[at + 1..].trim_ascii());
    let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
    name.eq_ignore_ascii_case(b"charset") && !value.eq_ignore_ascii_case(b"utf-8")
}

/// One more call in flight, until dropped.
struct CallInFlight<'a>(&'a AtomicUsize);

impl CallInFlight<'_> {
    fn new(calls: &AtomicUsize) -> CallInFlight<'_> {
        calls.fetch_add(1, Ordering::Relaxed);
        CallInFlight(calls)
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
