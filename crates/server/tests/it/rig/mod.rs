//! A server with sessions that do what a call tells them, and a client that sends what a test tells it.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::toy::{Add, Sum, Toy};
use measure::Monotonic;
use model::{
    AnyTarget, CallWork, Clock, Conflict, DefectKind, Doubt, Fault, Home, Nanos, OpenError, Refusal, Session,
    Stack, StatementTimes, Target,
};
use server::{Limits, ServeError, Server, Settings};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// What `b` of a call makes a session do. Any other `b` is added.
pub(crate) const PANIC: u32 = 900;
pub(crate) const CONFLICT: u32 = 901;
pub(crate) const UNWRITABLE: u32 = 902;
pub(crate) const UNANSWERED: u32 = 903;
pub(crate) const DEFECT: u32 = 904;
pub(crate) const BAD_CALL: u32 = 905;
pub(crate) const WAIT: u32 = 906;
pub(crate) const WORK: u32 = 907;
/// A call with an `a` above this names something that does not exist.
pub(crate) const EXTENT: u32 = 1_000_000;

/// A test that would hang fails after this instead.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// A limit that no test meets: beyond [`WAIT_MAX`].
const NEVER: Nanos = Nanos::from_secs(600);

/// What a client must never see.
pub(crate) const SECRET: &str = "row 17 of table accounts";

/// What sessions and test share.
pub(crate) struct Shared {
    pub(crate) gate: watch::Sender<bool>,
    /// Calls that have begun to wait at the gate.
    pub(crate) waiting: watch::Sender<usize>,
    pub(crate) opened: AtomicUsize,
    pub(crate) applied: AtomicUsize,
}

/// Opens scripted sessions; `TASK` decides where they live.
pub(crate) struct Script<const TASK: bool> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) opens_max: usize,
}

pub(crate) struct Scripted(Arc<Shared>, StatementTimes);

impl<const TASK: bool> Target<Toy> for Script<TASK> {
    type Session = Scripted;

    fn home(&self) -> Home {
        if TASK { Home::Task } else { Home::Thread }
    }

    async fn open(&self, worker: u32) -> Result<Scripted, OpenError> {
        if self.shared.opened.fetch_add(1, Ordering::SeqCst) >= self.opens_max {
            return Err(OpenError::Unusable {
                what: format!("session {worker}"),
                why: "no more of them".into(),
            });
        }
        Ok(Scripted(self.shared.clone(), StatementTimes::default()))
    }

    fn stack(&self) -> Stack {
        Stack { engine: "scripted".into(), route: "direct".into(), ..Stack::default() }
    }
}

impl Session<Toy> for Scripted {
    async fn run(&mut self, call: &Add, work: &mut CallWork) -> Result<Sum, Fault> {
        *work += CallWork { attempts: 1, statements: 2, rows: 3, commits: 1, ..CallWork::default() };
        if work.clocked {
            self.1.clear();
            self.1.add(1, 2, Nanos(1_500));
        }
        match call.b {
            PANIC => panic!("{SECRET}"),
            CONFLICT => return Err(Fault::Conflict(Conflict::Deadlock)),
            UNWRITABLE => return Err(Fault::Refused(Refusal::UNWRITABLE)),
            UNANSWERED => return Err(Fault::InDoubt(Doubt::CommitUnanswered)),
            DEFECT => return Err(Fault::defect(DefectKind::Engine, SECRET)),
            BAD_CALL => return Err(Fault::defect(DefectKind::BadCall, "item 7 does not exist")),
            WAIT => {
                self.0.waiting.send_modify(|waiting| *waiting += 1);
                self.0.gate.subscribe().wait_for(|open| *open).await.unwrap();
            }
            WORK => {
                let clock = Monotonic::start();
                while clock.now() < Nanos::from_millis(20) {
                    std::hint::spin_loop();
                }
                work.spent.statements += clock.now();
            }
            _ => {}
        }
        self.0.applied.fetch_add(1, Ordering::SeqCst);
        Ok(Sum { sum: u64::from(call.a) + u64::from(call.b) })
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(&self.1)
    }
}

pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// Starts a server on a free port, with settings as `change` leaves them.
pub(crate) fn start<const TASK: bool>(change: impl FnOnce(&mut Settings)) -> Running {
    start_with::<TASK>(usize::MAX, change)
}

pub(crate) fn start_with<const TASK: bool>(opens_max: usize, change: impl FnOnce(&mut Settings)) -> Running {
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = log.clone();
    let mut settings = Settings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        sessions: 2,
        // Where a test is about what is cut off it says so: elsewhere a busy machine may take its time.
        limits: Limits {
            drain_max: Nanos::from_secs(60),
            call_max: NEVER,
            head_read_max: NEVER,
            body_read_max: NEVER,
            ..Limits::default()
        },
        log: Arc::new(move |line| lines.lock().unwrap().push(line.to_owned())),
        ..Settings::default()
    };
    change(&mut settings);
    let bound = Server::bind(settings).unwrap();
    let shared = Arc::new(Shared {
        gate: watch::Sender::new(false),
        waiting: watch::Sender::new(0),
        opened: AtomicUsize::new(0),
        applied: AtomicUsize::new(0),
    });
    let addr = bound.addr();
    let target = Script::<TASK> { shared: shared.clone(), opens_max };
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        bound.serve::<Toy>(AnyTarget::new(target), EXTENT, async {
            let _ = stopped.await;
        })
    });
    Running { addr, shared, log, stop: Some(stop), thread: Some(thread) }
}

impl Running {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.addr)
    }

    /// One call on a connection of its own.
    pub(crate) fn add(&self, a: u32, b: u32) -> ServerAnswer {
        self.client().add(a, b)
    }

    /// One call on a connection and a thread of its own.
    pub(crate) fn add_later(&self, a: u32, b: u32) -> JoinHandle<ServerAnswer> {
        let addr = self.addr;
        std::thread::spawn(move || Client::connect(addr).add(a, b))
    }

    /// Waits until so many calls wait at the gate.
    pub(crate) fn wait_for_waiting(&self, count: usize) {
        let mut waiting = self.shared.waiting.subscribe();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        // A call that failed before never comes to wait.
        runtime.block_on(async {
            let come = tokio::time::timeout(WAIT_MAX, waiting.wait_for(|waiting| *waiting >= count));
            come.await.expect("no call waits at the gate").unwrap();
        });
    }

    pub(crate) fn open_gate(&self) {
        self.shared.gate.send_replace(true);
    }

    /// Asks the server to stop, and does not wait.
    pub(crate) fn begin_stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    pub(crate) fn wait(&mut self) -> Result<(), ServeError> {
        self.thread.take().unwrap().join().unwrap()
    }

    pub(crate) fn stop(mut self) -> Result<(), ServeError> {
        self.begin_stop();
        self.wait()
    }
}

/// A connection that sends bytes as they are.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct ServerAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl ServerAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self
            .head
            .lines()
            .find(|line| line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name)))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// A member of the problem document.
    pub(crate) fn problem(&self, member: &str) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(document["status"], self.status);
        for member in ["type", "title", "detail", "applied"] {
            assert!(document[member].is_string(), "{member}: {}", self.body);
        }
        document[member].as_str().unwrap_or_default().to_owned()
    }
}

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Client {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(WAIT_MAX)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// The next answer; `None` if the server closed instead.
    pub(crate) fn receive(&mut self) -> Option<ServerAnswer> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8(self.buffer[..end].to_vec()).unwrap();
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                let mut answer = ServerAnswer { status, head, body: String::new() };
                let length: usize = answer.header("content-length").unwrap_or("0").parse().unwrap();
                if self.buffer.len() >= end + 4 + length {
                    let rest = self.buffer.split_off(end + 4 + length);
                    answer.body = String::from_utf8(self.buffer.split_off(end + 4)).unwrap();
                    self.buffer = rest;
                    return Some(answer);
                }
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.buffer.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("the server does not answer")
                }
                Err(_) => return None,
            }
        }
    }

    pub(crate) fn exchange(&mut self, bytes: impl AsRef<[u8]>) -> ServerAnswer {
        self.send(bytes);
        self.receive().expect("the server closed without an answer")
    }

    pub(crate) fn add(&mut self, a: u32, b: u32) -> ServerAnswer {
        self.exchange(post(&format!(r#"{{"a":{a},"b":{b}}}"#)))
    }
}

/// A good request with this body.
pub(crate) fn post(body: &str) -> String {
    format!(
        "POST /toy/add HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
