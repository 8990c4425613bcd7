//! Sessions on threads of their own, for blocking drivers.

use crate::served::{Exchange, Served, ServedSession};
use crate::sessions::{Ran, answer, no_session, spoils_session};
use crate::settings::{Operator, ServeError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use measure::Monotonic;
use model::{Clock, DefectKind, Doubt, Fault, Nanos, OpenError, Refusal, caught};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Forwards calls to sessions that are bound to threads: one bounded queue, first come, first served; each
/// lane takes the next call when it is free. One hop there, one hop back: what it adds to a call is what the
/// machine needs to wake two threads. Spinning for the next call would hide that at the price of the CPU time
/// that is measured.
pub(crate) struct Laned {
    queue: Sender<Message>,
    lanes: u32,
    /// Disconnects when the last lane has ended.
    ended: Receiver<()>,
    clock: Monotonic,
    call_max: Duration,
}

enum Message {
    Job(Job),
    Stop,
}

struct Job {
    exchange: Box<dyn Exchange>,
    handed_over: Nanos,
    ticket: Arc<Ticket>,
    reply: oneshot::Sender<Done>,
}

struct Done {
    ran: Ran,
    ended: Nanos,
}

/// Decides between a lane that begins a call and an asker that stops: exactly one of them wins. Without it
/// a call could be reported as never attempted while a lane runs it.
#[derive(Default)]
struct Ticket(AtomicU8);

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

impl Ticket {
    fn begin(&self) -> bool {
        self.0.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn abandon(&self) -> bool {
        self.0.compare_exchange(WAITING, ABANDONED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// The asker's end of a ticket: a connection that breaks takes back a call that has not begun.
struct Asker(Arc<Ticket>);

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// What a set of lanes is made with.
pub(crate) struct LaneSettings {
    /// Lanes, at least 1.
    pub lanes: u32,
    /// Calls that may wait.
    pub queued_max: usize,
    /// Time for a call, waiting included.
    pub call_max: Nanos,
    /// The server's clock.
    pub clock: Monotonic,
    /// For lines to the operator.
    pub operator: Operator,
}

impl Laned {
    /// Opens all sessions, each on a thread of its own.
    ///
    /// # Errors
    /// The first session that cannot be opened, or thread that cannot be started.
    pub(crate) async fn open(served: Arc<dyn Served>, settings: LaneSettings) -> Result<Laned, ServeError> {
        let LaneSettings { lanes, queued_max, call_max, clock, operator } = settings;
        let (queue, jobs) = bounded(queued_max);
        let (alive, ended) = bounded(0);
        let mut opening = Vec::new();
        for worker in 0..lanes {
            let (opened, listed) = oneshot::channel();
            let lane = Lane {
                served: served.clone(),
                worker,
                clock,
                operator: operator.clone(),
                runtime: Handle::current(),
            };
            let (jobs, alive) = (jobs.clone(), alive.clone());
            std::thread::Builder::new()
                .name(format!("lane-{worker}"))
                .spawn(move || {
                    lane.live(&jobs, opened);
                    drop(alive);
                })
                .map_err(ServeError::Threads)?;
            opening.push(listed);
        }
        for listed in opening {
            listed.await.unwrap_or_else(|_| {
                let (what, why) = ("a session".to_owned(), "it panicked while it opened".to_owned());
                Err(OpenError::Unusable { what, why })
            })?;
        }
        Ok(Laned { queue, lanes, ended, clock, call_max: call_max.into() })
    }

    pub(crate) async fn run(&self, exchange: Box<dyn Exchange>) -> Ran {
        let asker = Asker(Arc::default());
        let (reply, answer) = oneshot::channel();
        let job = Job { exchange, handed_over: self.clock.now(), ticket: asker.0.clone(), reply };
        match self.queue.try_send(Message::Job(job)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Ran::refused(Refusal::QueueFull),
            Err(TrySendError::Disconnected(_)) => return Ran::refused(Refusal::Shedding),
        }
        match tokio::time::timeout(self.call_max, answer).await {
            Ok(Ok(Done { mut ran, ended })) => {
                ran.work.spent.queue += self.clock.now() - ended;
                ran
            }
            // The lanes ended first: a server that stops.
            Ok(Err(_)) if asker.0.abandon() => Ran::refused(Refusal::Shedding),
            Ok(Err(_)) => Ran::in_doubt(Doubt::ServerError),
            Err(_) if asker.0.abandon() => Ran::refused(Refusal::NoSession),
            Err(_) => Ran::in_doubt(Doubt::Deadline),
        }
    }

    pub(crate) async fn close(&self, wait_max: Nanos) -> bool {
        let (queue, ended, lanes) = (self.queue.clone(), self.ended.clone(), self.lanes);
        let wait = Duration::from(wait_max);
        // Blocking waits, on a thread that may block. A lane that is stuck in its engine is left behind.
        let closing = tokio::task::spawn_blocking(move || {
            let listed = (0..lanes).all(|_| queue.send_timeout(Message::Stop, wait).is_ok());
            // Nothing is ever sent: this waits for the last lane to let go of its end.
            listed && ended.recv_timeout(wait) == Err(RecvTimeoutError::Disconnected)
        });
        closing.await.unwrap_or(false)
    }
}

/// One thread and its session.
struct Lane {
    served: Arc<dyn Served>,
    worker: u32,
    clock: Monotonic,
    operator: Operator,
    runtime: Handle,
}

impl Lane {
    fn live(&self, jobs: &Receiver<Message>, opened: oneshot::Sender<Result<(), OpenError>>) {
        // A session that waits in spite of its home may wait for the runtime's timers.
        let _entered = self.runtime.enter();
        let mut session = match self.open_session() {
            Ok(session) => Some(session),
            Err(error) => {
                let _ = opened.send(Err(error));
                return;
            }
        };
        if opened.send(Ok(())).is_err() {
            return;
        }
        while let Ok(Message::Job(job)) = jobs.recv() {
            if !job.ticket.begin() {
                continue;
            }
            let queue = self.clock.now() - job.handed_over;
            let mut ran = self.run(&mut session, job.exchange);
            ran.work.spent.queue += queue;
            // An asker that has gone misses its answer; the call stays as it ended.
            let _ = job.reply.send(Done { ran, ended: self.clock.now() });
        }
    }

    fn run(&self, session: &mut Option<Box<dyn ServedSession>>, exchange: Box<dyn Exchange>) -> Ran {
        if session.is_none() {
            match self.open_session() {
                Ok(fresh) => *session = Some(fresh),
                Err(error) => {
                    self.operator.remark(&format!("lane {}: {error}", self.worker));
                    return Ran::refused(no_session(&error));
                }
            }
        }
        let open = session.as_mut().expect("a session was there or has just been opened");
        let ran = self.finish(answer(&mut **open, exchange)).unwrap_or_else(|(panic, work)| {
            let what = format!("session {} panicked: {panic}", self.worker);
            Ran { result: Err(Fault::defect(DefectKind::Engine, what)), work }
        });
        if spoils_session(&ran.result) {
            *session = None;
        }
        ran
    }

    fn open_session(&self) -> Result<Box<dyn ServedSession>, OpenError> {
        self.finish(caught(self.served.open(self.worker))).unwrap_or_else(|panic| {
            let what = format!("session {}", self.worker);
            Err(OpenError::Unusable { what, why: format!("it panicked while it opened: {panic}") })
        })
    }

    /// Drives a future of a blocking driver, which is ready when first polled; one that does wait gets the
    /// runtime.
    fn finish<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        match Pin::as_mut(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => self.runtime.block_on(future),
        }
    }
}
