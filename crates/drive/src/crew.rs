//! One thread of a trial and the workers on it.

use crate::arrivals::{NextCall, Timetable};
use crate::control::Control;
use crate::pacer::{Pacer, TaskTimer};
use crate::plan::{Deferred, Plan};
use crate::timer::{ThreadTimer, Timer, block_on};
use crate::trial::RunError;
use crate::worker::{Limits, Queued, Source, Worker};
use async_channel::{Receiver, Sender};
use measure::{Tape, thread_cpu};
use model::{Clock, Home, Nanos, Target, Workload};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use tokio::runtime::{Builder, LocalOptions};

/// The workers of one thread, before the trial begins.
pub(crate) struct Crew<W: Workload, T: Target<W>, C> {
    pub(crate) seats: Vec<Seat<W>>,
    pub(crate) target: Arc<T>,
    pub(crate) clock: C,
    pub(crate) plan: Plan,
    pub(crate) queue: Option<Queue<W>>,
    /// Says once whether all sessions are open, and is gone then.
    pub(crate) opened: Option<mpsc::Sender<Result<(), RunError>>>,
    /// Brings what is needed to begin; when it closes instead, the trial does not take place.
    pub(crate) go: mpsc::Receiver<Go<W>>,
}

/// A worker's number and what it does.
pub(crate) struct Seat<W: Workload> {
    pub(crate) id: u32,
    pub(crate) job: Job<W>,
}

pub(crate) enum Job<W: Workload> {
    /// Makes calls of its own.
    Terminal(W::Inputs),
    /// Makes calls that others have queued.
    Deferred(Deferred),
}

/// Both ends of the queue of deferred calls.
pub(crate) struct Queue<W: Workload> {
    pub(crate) enter: Sender<Queued<W>>,
    pub(crate) leave: Receiver<Queued<W>>,
}

/// What a crew needs to begin.
pub(crate) struct Go<W: Workload> {
    pub(crate) start: Nanos,
    pub(crate) tape: Tape<W>,
    pub(crate) control: Arc<Control>,
    pub(crate) timetable: Option<Arc<Timetable>>,
}

impl<W: Workload> Clone for Queue<W> {
    fn clone(&self) -> Queue<W> {
        Queue { enter: self.enter.clone(), leave: self.leave.clone() }
    }
}

impl<W: Workload, T: Target<W>, C: Clock> Crew<W, T, C> {
    /// Opens the sessions, waits for the start and makes calls until the end. Returns the CPU time of the calls.
    pub(crate) fn run(self) -> Result<Nanos, RunError> {
        match self.target.home() {
            Home::Task => self.run_on_runtime(),
            Home::Thread => self.run_on_thread(),
        }
    }

    fn run_on_thread(mut self) -> Result<Nanos, RunError> {
        let sessions = block_on(self.open());
        let Some((sessions, go)) = self.begin(sessions) else { return Ok(Nanos::ZERO) };
        let (clock, control) = (self.clock.clone(), Arc::clone(&go.control));
        let _guard = EndOnPanic { clock: clock.clone(), control: Arc::clone(&control) };
        let cpu_before = thread_cpu();
        let (workers, tape) =
            self.seat(sessions, go, |_| ThreadTimer::new(clock.clone(), Arc::clone(&control)));
        workers.into_iter().for_each(|worker| block_on(worker.run()));
        finish(tape);
        Ok(thread_cpu() - cpu_before)
    }

    fn run_on_runtime(mut self) -> Result<Nanos, RunError> {
        let runtime = match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
            Ok(runtime) => runtime,
            Err(error) => {
                self.begin(Err(RunError::Runtime(error)));
                return Ok(Nanos::ZERO);
            }
        };
        let sessions = runtime.block_on(self.open());
        let Some((sessions, go)) = self.begin(sessions) else { return Ok(Nanos::ZERO) };
        let (clock, control) = (self.clock.clone(), Arc::clone(&go.control));
        let _guard = EndOnPanic { clock: clock.clone(), control: Arc::clone(&control) };
        let cpu_before = thread_cpu();
        let tape = runtime.block_on(async {
            let pacer = Pacer::new(clock.clone(), Arc::clone(&control), sessions.len());
            let pacer = Rc::new(pacer.map_err(|error| {
                control.fail(clock.now(), format!("could not make a timer: {error}"));
                RunError::Runtime(error)
            })?);
            let (workers, tape) = self.seat(sessions, go, |place| TaskTimer::new(Rc::clone(&pacer), place));
            let tasks: Vec<_> =
                workers.into_iter().map(|worker| tokio::task::spawn_local(worker.run())).collect();
            let alarm = tokio::task::spawn_local(async move { pacer.run().await });
            for task in tasks {
                if let Err(error) = task.await {
                    // No one cancels workers, so this is a panic; it goes to whoever joins this thread.
                    std::panic::resume_unwind(error.into_panic());
                }
            }
            alarm.abort();
            Ok::<_, RunError>(tape)
        })?;
        finish(tape);
        Ok(thread_cpu() - cpu_before)
    }

    pub(crate) async fn open(&self) -> Result<Vec<T::Session>, RunError> {
        let mut sessions = Vec::with_capacity(self.seats.len());
        for seat in &self.seats {
            let session = self.target.open(seat.id).await;
            sessions.push(session.map_err(|error| RunError::Open { worker: seat.id, error })?);
        }
        Ok(sessions)
    }

    /// Reports whether the sessions are open and waits for the start, if there is one.
    fn begin(&mut self, sessions: Result<Vec<T::Session>, RunError>) -> Option<(Vec<T::Session>, Go<W>)> {
        let (sessions, report) = match sessions {
            Ok(sessions) => (Some(sessions), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // Let go of before it waits: that a crew has panicked is noticed only by no one being left who may report.
        if let Some(opened) = self.opened.take() {
            // Whoever does not listen any more has given up already, and sends no start.
            let _ = opened.send(report);
        }
        Some((sessions?, self.go.recv().ok()?))
    }

    /// Makes the workers, and the tape on which all of them write.
    pub(crate) fn seat<M: Timer>(
        &mut self,
        sessions: Vec<T::Session>,
        go: Go<W>,
        timer: impl Fn(usize) -> M,
    ) -> (Vec<Worker<W, T, M>>, SharedTape<W>) {
        let tape = Rc::new(RefCell::new(go.tape));
        // Taken, so that the queue ends with the last worker that may enter it.
        let (queue, plan) = (self.queue.take(), &self.plan);
        let seats = std::mem::take(&mut self.seats).into_iter().zip(sessions).enumerate();
        let worker = |(place, (seat, session)): (usize, (Seat<W>, T::Session))| {
            let counted = go.control.counts() && matches!(seat.job, Job::Terminal(_));
            let mut limits = Limits { start: go.start, deadline: plan.deadline, drain: plan.drain_max };
            let (source, enter) = match (seat.job, &queue) {
                (Job::Terminal(inputs), queue) => {
                    let turn = NextCall::of(plan, seat.id, go.start, go.timetable.as_ref());
                    (Source::Own { inputs, turn }, queue.as_ref().map(|queue| queue.enter.clone()))
                }
                (Job::Deferred(deferred), queue) => {
                    limits.drain = deferred.limit;
                    let queue = queue.as_ref().expect("a plan that defers has a queue");
                    (Source::Queue(queue.leave.clone()), None)
                }
            };
            Worker {
                id: seat.id,
                target: Arc::clone(&self.target),
                session: Some(session),
                source,
                queue: enter,
                timer: timer(place),
                tape: Rc::clone(&tape),
                control: Arc::clone(&go.control),
                limits,
                refused: 0,
                tickets: counted.then_some(0),
                calls: seat.id,
            }
        };
        (seats.map(worker).collect(), tape)
    }
}

pub(crate) type SharedTape<W> = Rc<RefCell<Tape<W>>>;

/// Hands the last page over, after the last worker has gone.
pub(crate) fn finish<W: Workload>(tape: SharedTape<W>) {
    let tape = Rc::into_inner(tape).expect("workers that have ended hold no tape");
    tape.into_inner().finish();
}

/// Ends the trial when its thread panics: without its workers the rest would be measured for nothing.
struct EndOnPanic<C: Clock> {
    clock: C,
    control: Arc<Control>,
}

impl<C: Clock> Drop for EndOnPanic<C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.control.fail(self.clock.now(), "a worker panicked".to_owned());
        }
    }
}
