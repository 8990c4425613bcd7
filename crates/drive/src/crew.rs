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

/// The workers of one thread, whose sessions stay open from round to round.
pub(crate) struct Crew<W: Workload, T: Target<W>, C> {
    pub(crate) seats: Vec<Seat<W>>,
    pub(crate) target: Arc<T>,
    pub(crate) clock: C,
    /// Reports once whether all sessions are open, and is gone then.
    pub(crate) opened: Option<mpsc::Sender<Result<(), RunError>>>,
    /// Brings each round; when it closes no other follows.
    pub(crate) go: mpsc::Receiver<Go<W>>,
}

/// A worker's number and what it does.
pub(crate) struct Seat<W: Workload> {
    pub(crate) id: u32,
    pub(crate) job: Job<W>,
}

pub(crate) enum Job<W: Workload> {
    /// Makes calls of its own.
    Client(W::Inputs),
    /// Makes calls that others have queued.
    Deferred(Deferred),
}

/// What a worker keeps from round to round.
pub(crate) struct ResumedWorker<W: Workload, T: Target<W>> {
    pub(crate) seat: Seat<W>,
    pub(crate) session: Option<T::Session>,
    pub(crate) calls: u32,
}

/// Both ends of the queue of deferred calls.
pub(crate) struct Queue<W: Workload> {
    pub(crate) enter: Sender<Queued<W>>,
    pub(crate) leave: Receiver<Queued<W>>,
}

/// A round: what a crew needs to begin it.
pub(crate) struct Go<W: Workload> {
    pub(crate) plan: Plan,
    pub(crate) start: Nanos,
    pub(crate) tape: Tape<W>,
    pub(crate) control: Arc<Control>,
    pub(crate) timetable: Option<Arc<Timetable>>,
    pub(crate) queue: Option<Queue<W>>,
    /// Takes the CPU time of the calls, or what kept them from being made, when the crew has ended the round.
    pub(crate) ended: mpsc::Sender<Result<Nanos, RunError>>,
}

impl<W: Workload> Clone for Queue<W> {
    fn clone(&self) -> Queue<W> {
        Queue { enter: self.enter.clone(), leave: self.leave.clone() }
    }
}

impl<W: Workload, T: Target<W>, C: Clock> Crew<W, T, C> {
    /// Opens the sessions and makes calls in every round until no other comes.
    pub(crate) fn run(self) {
        match self.target.home() {
            Home::Task => self.run_on_runtime(),
            Home::Thread => self.run_on_thread(),
        }
    }

    fn run_on_thread(mut self) {
        let sessions = block_on(self.open());
        let Some(mut places) = self.begin(sessions) else { return };
        while let Ok(go) = self.go.recv() {
            let (clock, control, ended) = (self.clock.clone(), Arc::clone(&go.control), go.ended.clone());
            let _guard = EndOnPanic { clock: clock.clone(), control: Arc::clone(&control) };
            let cpu_before = thread_cpu();
            let (workers, tape) =
                self.seat(places, go, |_| ThreadTimer::new(clock.clone(), Arc::clone(&control)));
            places = workers.into_iter().map(|worker| block_on(worker.run())).collect();
            finish(tape);
            // The receiver is gone if the caller gave up.
            let _ = ended.send(Ok(thread_cpu() - cpu_before));
        }
    }

    fn run_on_runtime(mut self) {
        let runtime = match Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
            Ok(runtime) => runtime,
            Err(error) => {
                self.begin(Err(RunError::Runtime(error)));
                return;
            }
        };
        let sessions = runtime.block_on(self.open());
        let Some(mut places) = self.begin(sessions) else { return };
        while let Ok(go) = self.go.recv() {
            let (clock, control, ended) = (self.clock.clone(), Arc::clone(&go.control), go.ended.clone());
            let _guard = EndOnPanic { clock: clock.clone(), control: Arc::clone(&control) };
            let cpu_before = thread_cpu();
            let result = runtime.block_on(async {
                let pacer = Pacer::new(clock.clone(), Arc::clone(&control), places.len());
                let pacer = Rc::new(pacer.map_err(|error| {
                    control.fail(clock.now(), format!("could not make a timer: {error}"));
                    RunError::Runtime(error)
                })?);
                // Made now: the first worker ends while others still make calls, which allocate nothing.
                let kept = Vec::with_capacity(places.len());
                let seated = std::mem::replace(&mut places, kept);
                let (workers, tape) = self.seat(seated, go, |place| TaskTimer::new(Rc::clone(&pacer), place));
                let tasks: Vec<_> =
                    workers.into_iter().map(|worker| tokio::task::spawn_local(worker.run())).collect();
                let alarm = tokio::task::spawn_local(async move { pacer.run().await });
                for task in tasks {
                    match task.await {
                        Ok(place) => places.push(place),
                        // No one cancels workers, so this is a panic; it goes to the thread that joins this one.
                        Err(error) => std::panic::resume_unwind(error.into_panic()),
                    }
                }
                alarm.abort();
                finish(tape);
                Ok(())
            });
            let _ = ended.send(result.map(|()| thread_cpu() - cpu_before));
        }
        // Sessions may need their runtime to close.
        runtime.block_on(async { drop(places) });
    }

    pub(crate) async fn open(&self) -> Result<Vec<T::Session>, RunError> {
        let mut sessions = Vec::with_capacity(self.seats.len());
        for seat in &self.seats {
            let session = self.target.open(seat.id).await;
            sessions.push(session.map_err(|error| RunError::Open { worker: seat.id, error })?);
        }
        Ok(sessions)
    }

    /// Reports whether the sessions are open, and gives each worker its own.
    pub(crate) fn begin(
        &mut self,
        sessions: Result<Vec<T::Session>, RunError>,
    ) -> Option<Vec<ResumedWorker<W, T>>> {
        let (sessions, report) = match sessions {
            Ok(sessions) => (Some(sessions), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // Dropped before the crew waits for a round: a crew that panicked is noticed only because no sender is left.
        if let Some(opened) = self.opened.take() {
            // A receiver that is gone has given up already, and sends no start.
            let _ = opened.send(report);
        }
        let seats = std::mem::take(&mut self.seats).into_iter().zip(sessions?);
        // From the worker's number on, so that workers do not clock their calls at the same time.
        let place = |(seat, session): (Seat<W>, T::Session)| {
            let calls = seat.id;
            ResumedWorker { seat, session: Some(session), calls }
        };
        Some(seats.map(place).collect())
    }

    /// Makes the workers of a round, and the tape on which all of them write.
    pub(crate) fn seat<M: Timer>(
        &self,
        places: Vec<ResumedWorker<W, T>>,
        go: Go<W>,
        timer: impl Fn(usize) -> M,
    ) -> (Vec<Worker<W, T, M>>, SharedTape<W>) {
        let Go { plan, start, tape, control, timetable, queue, .. } = go;
        let tape = Rc::new(RefCell::new(tape));
        let worker = |(at, place): (usize, ResumedWorker<W, T>)| {
            let ResumedWorker { seat, session, calls } = place;
            let counted = control.counts() && matches!(seat.job, Job::Client(_));
            let mut limits = Limits { start, deadline: plan.deadline, drain: plan.drain_max };
            let (source, enter) = match (seat.job, &queue) {
                (Job::Client(inputs), queue) => {
                    let turn = NextCall::of(&plan, seat.id, start, timetable.as_ref());
                    (Source::Own { inputs, turn }, queue.as_ref().map(|queue| queue.enter.clone()))
                }
                (Job::Deferred(deferred), queue) => {
                    limits.drain = deferred.limit;
                    let queue = queue.as_ref().expect("a plan that defers has a queue");
                    (Source::Queue(queue.leave.clone(), deferred), None)
                }
            };
            Worker {
                id: seat.id,
                target: Arc::clone(&self.target),
                session,
                source,
                queue: enter,
                timer: timer(at),
                tape: Rc::clone(&tape),
                control: Arc::clone(&control),
                limits,
                refused: 0,
                tickets: counted.then_some(0),
                calls,
            }
        };
        // The queue ends with the last worker that may enter it.
        (places.into_iter().enumerate().map(worker).collect(), tape)
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
