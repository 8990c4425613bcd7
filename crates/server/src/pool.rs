//! Sessions shared by the handlers, for asynchronous drivers.

use crate::sessions::{Ran, Sessions, caught, no_session, spoils_session};
use crate::settings::{Operator, ServeError};
use measure::Monotonic;
use model::{Clock, DefectKind, Doubt, Effort, Fault, Nanos, Refusal, Session, Target, Wire};
use parking_lot::Mutex;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// A fixed number of sessions; who waits longest gets the next free one.
pub(crate) struct Pool<W: Wire, T: Target<W>> {
    /// One permit a slot; a tokio semaphore is first come, first served.
    free: Arc<Semaphore>,
    slots: Arc<Slots<T::Session>>,
    opener: Arc<Opener<T>>,
    waiting: AtomicUsize,
    queued_max: usize,
    sessions: u32,
    call_max: Duration,
    clock: Monotonic,
    workload: PhantomData<fn() -> W>,
}

type Slots<S> = Mutex<Vec<Slot<S>>>;

/// Opens sessions anew, where one was lost.
struct Opener<T> {
    target: Arc<T>,
    operator: Operator,
}

/// A place for a session: empty after one was lost, and filled by the next call that takes it.
struct Slot<S> {
    worker: u32,
    session: Option<S>,
}

/// What a pool is made with.
pub(crate) struct PoolSettings {
    /// Sessions, at least 1.
    pub sessions: u32,
    /// Calls that may wait.
    pub queued_max: usize,
    /// Time for a call, waiting included.
    pub call_max: Nanos,
    /// The server's clock.
    pub clock: Monotonic,
    /// For lines to the operator.
    pub operator: Operator,
}

impl<W: Wire, T: Target<W>> Pool<W, T> {
    /// Opens all sessions.
    ///
    /// # Errors
    /// The first session that cannot be opened.
    pub(crate) async fn open(target: Arc<T>, settings: PoolSettings) -> Result<Pool<W, T>, ServeError> {
        let PoolSettings { sessions, queued_max, call_max, clock, operator } = settings;
        let mut slots = Vec::new();
        // The last one is taken first: in the order of workers under light load.
        for worker in (0..sessions).rev() {
            slots.push(Slot { worker, session: Some(target.open(worker).await?) });
        }
        Ok(Pool {
            free: Arc::new(Semaphore::new(sessions as usize)),
            slots: Arc::new(Mutex::new(slots)),
            opener: Arc::new(Opener { target, operator }),
            waiting: AtomicUsize::new(0),
            queued_max,
            sessions,
            call_max: call_max.into(),
            clock,
            workload: PhantomData,
        })
    }

    /// Waits its turn for a session.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(permit);
        }
        let Some(_place) = Place::take(&self.waiting, self.queued_max) else {
            return Err(Refusal::QueueFull);
        };
        match tokio::time::timeout(self.call_max, Arc::clone(&self.free).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(Refusal::Shedding),
            Err(_) => Err(Refusal::NoSession),
        }
    }
}

impl<W: Wire, T: Target<W>> Sessions<W> for Pool<W, T> {
    async fn run(&self, call: W::Call) -> Ran<W> {
        let asked = self.clock.now();
        let permit = match self.permit().await {
            Ok(permit) => permit,
            Err(refusal) => return Ran::refused(refusal),
        };
        let slot = self.slots.lock().pop().expect("there is a slot for each permit");
        let lease = Lease { slots: Arc::clone(&self.slots), slot: Some(slot), _permit: permit };
        let queue = self.clock.now() - asked;
        let left = self.call_max.saturating_sub(queue.into());
        // A task of its own, which an answer of the engine wakes alone: inside the handler it would wake all of the
        // connection, some thirty times a call.
        let mut call = Running(tokio::spawn(run_on(lease, Arc::clone(&self.opener), call)));
        let mut ran = match tokio::time::timeout(left, &mut call.0).await {
            Ok(Ok(ran)) => ran,
            // The runtime is ending.
            Ok(Err(_)) => Ran::in_doubt(Doubt::ConnectionLost),
            Err(_) => Ran::in_doubt(Doubt::Deadline),
        };
        ran.effort.spent.queue += queue;
        ran
    }

    async fn close(&self, wait_max: Nanos) -> bool {
        let all = self.free.acquire_many(self.sessions);
        let permits = tokio::time::timeout(wait_max.into(), all).await;
        self.free.close();
        self.slots.lock().clear();
        permits.is_ok()
    }
}

/// Runs a call on a session, and gives the session back unless the call has spoilt it.
async fn run_on<W: Wire, T: Target<W>>(
    mut lease: Lease<T::Session>,
    opener: Arc<Opener<T>>,
    call: W::Call,
) -> Ran<W> {
    let slot = lease.slot.as_mut().expect("the slot is there until the lease ends");
    // Out of its slot while it runs: a future that is dropped in mid-call takes the session with it.
    let mut session = match slot.session.take() {
        Some(session) => session,
        None => match opener.target.open(slot.worker).await {
            Ok(session) => session,
            Err(error) => {
                opener.operator.say(&format!("session {}: {error}", slot.worker));
                return Ran::refused(no_session(&error));
            }
        },
    };
    let mut effort = Effort::default();
    let result = match caught(session.run(&call, &mut effort)).await {
        Ok(result) => result,
        Err(panic) => {
            let what = format!("session {} panicked: {panic}", slot.worker);
            return Ran { result: Err(Fault::defect(DefectKind::Engine, what)), effort };
        }
    };
    if !spoils_session(&result) {
        slot.session = Some(session);
    }
    Ran { result, effort }
}

/// A call in its task. Who gives it up, at its deadline or because the client has left, ends it.
struct Running<R>(JoinHandle<R>);

impl<R> Drop for Running<R> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A place in the waiting line, given back when dropped.
struct Place<'a>(&'a AtomicUsize);

impl Place<'_> {
    fn take(waiting: &AtomicUsize, max: usize) -> Option<Place<'_>> {
        let place = Place(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < max).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A slot in use. It goes back before its permit does.
struct Lease<S> {
    slots: Arc<Slots<S>>,
    slot: Option<Slot<S>>,
    _permit: OwnedSemaphorePermit,
}

impl<S> Drop for Lease<S> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.slots.lock().push(slot);
        }
    }
}
