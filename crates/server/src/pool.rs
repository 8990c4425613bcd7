//! Sessions shared by the handlers, for asynchronous drivers.

use crate::served::{Exchange, Served, ServedSession};
use crate::sessions::{Ran, answer, no_session, spoils_session};
use crate::settings::{Operator, ServeError};
use measure::Monotonic;
use model::{Clock, DefectKind, Doubt, Fault, Nanos, Refusal};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A fixed number of sessions; who waits longest gets the next free one.
pub(crate) struct Pool {
    served: Arc<dyn Served>,
    /// One permit a slot; a tokio semaphore is first come, first served.
    free: Semaphore,
    slots: Mutex<Vec<Slot>>,
    waiting: AtomicUsize,
    queued_max: usize,
    sessions: u32,
    call_max: Duration,
    clock: Monotonic,
    operator: Operator,
}

/// A place for a session: empty after one was lost, and filled by the next call that takes it.
struct Slot {
    worker: u32,
    session: Option<Box<dyn ServedSession>>,
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

impl Pool {
    /// Opens all sessions.
    pub(crate) async fn open(served: Arc<dyn Served>, settings: PoolSettings) -> Result<Pool, ServeError> {
        let PoolSettings { sessions, queued_max, call_max, clock, operator } = settings;
        let mut slots = Vec::new();
        // The last one is taken first: in the order of workers under light load.
        for worker in (0..sessions).rev() {
            slots.push(Slot { worker, session: Some(served.open(worker).await?) });
        }
        Ok(Pool {
            served,
            free: Semaphore::new(sessions as usize),
            slots: Mutex::new(slots),
            waiting: AtomicUsize::new(0),
            queued_max,
            sessions,
            call_max: call_max.into(),
            clock,
            operator,
        })
    }

    async fn run_on(&self, slot: &mut Slot, exchange: Box<dyn Exchange>) -> Ran {
        // Out of its slot while it runs: a future that is dropped in mid-call takes the session with it.
        let mut session = match slot.session.take() {
            Some(session) => session,
            None => match self.served.open(slot.worker).await {
                Ok(session) => session,
                Err(error) => {
                    self.operator.remark(&format!("session {}: {error}", slot.worker));
                    return Ran::refused(no_session(&error));
                }
            },
        };
        match answer(&mut *session, exchange).await {
            Ok(ran) => {
                if !spoils_session(&ran.result) {
                    slot.session = Some(session);
                }
                ran
            }
            Err((panic, work)) => {
                let what = format!("session {} panicked: {panic}", slot.worker);
                Ran { result: Err(Fault::defect(DefectKind::Engine, what)), work }
            }
        }
    }

    pub(crate) async fn run(&self, exchange: Box<dyn Exchange>) -> Ran {
        let asked = self.clock.now();
        let permit = match self.free.try_acquire() {
            Ok(permit) => permit,
            Err(_) => {
                let Some(_place) = QueueSlot::take(&self.waiting, self.queued_max) else {
                    return Ran::refused(Refusal::QueueFull);
                };
                match tokio::time::timeout(self.call_max, self.free.acquire()).await {
                    Ok(Ok(permit)) => permit,
                    Ok(Err(_)) => return Ran::refused(Refusal::Shedding),
                    Err(_) => return Ran::refused(Refusal::NoSession),
                }
            }
        };
        let slot = self.slots.lock().pop().expect("there is a slot for each permit");
        let mut lease = Lease { slots: &self.slots, slot: Some(slot), _permit: permit };
        let queue = self.clock.now() - asked;
        let left = self.call_max.saturating_sub(queue.into());
        let slot = lease.slot.as_mut().expect("the slot is there until the lease ends");
        let mut ran = match tokio::time::timeout(left, self.run_on(slot, exchange)).await {
            Ok(ran) => ran,
            Err(_) => Ran::in_doubt(Doubt::Deadline),
        };
        ran.work.spent.queue += queue;
        ran
    }

    pub(crate) async fn close(&self, wait_max: Nanos) -> bool {
        let all = self.free.acquire_many(self.sessions);
        let permits = tokio::time::timeout(wait_max.into(), all).await;
        self.free.close();
        self.slots.lock().clear();
        permits.is_ok()
    }
}

/// A place in the waiting line, returned when dropped.
struct QueueSlot<'a>(&'a AtomicUsize);

impl QueueSlot<'_> {
    fn take(waiting: &AtomicUsize, max: usize) -> Option<QueueSlot<'_>> {
        let place = QueueSlot(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < max).then_some(place)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A slot in use. It goes back before its permit does.
struct Lease<'a> {
    slots: &'a Mutex<Vec<Slot>>,
    slot: Option<Slot>,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.slots.lock().push(slot);
        }
    }
}
