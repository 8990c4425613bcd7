//! A trial from the outside: open, start, collect, end.

use crate::arrivals::Timetable;
use crate::control::{Control, Stop};
use crate::crew::{Crew, Go, Job, Queue, Seat};
use crate::outage::Outage;
use crate::plan::{Plan, PlanError};
use measure::{
    CallCounts, Collected, Collector, Gap, Pulse, Slice, SliceSpectra, Timeline, Totals, circulation,
};
use model::{Clock, Home, Nanos, OpenError, Target, Workload, panic_message};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// From the moment when all sessions are open to the start, so that every worker stands ready.
const LEAD: Nanos = Nanos::from_millis(100);
/// The same where the workers have made calls before.
const LEAD_AGAIN: Nanos = Nanos::from_millis(5);
/// The collector looks for full pages at least this often, and obeys a request to stop as fast.
const LOOK_MAX: Nanos = Nanos::from_millis(50);
const LOOK_MIN: Nanos = Nanos::from_millis(1);
/// So long before the window opens, or a slice if that is shorter, it is asked whether it may: eight looks.
pub(crate) const NOTICE: Nanos = Nanos::from_millis(400);
/// A nap this short is as good as none.
const NAP_MIN: Duration = Duration::from_micros(100);

/// What a trial has given.
#[derive(Serialize, Deserialize)]
#[serde(bound(serialize = "W::Ledger: Serialize", deserialize = "W::Ledger: Deserialize<'de>"))]
pub struct Trial<W: Workload> {
    /// Over the calls that were due in the window, and what began and ended in it.
    pub totals: Totals,
    /// Counts of the calls that were due in the warm-up, or made after the window.
    pub uncounted: CallCounts,
    /// The time line, warm-up and drain included.
    pub slices: Vec<Slice>,
    /// What all calls of all phases imply about the data.
    pub ledger: W::Ledger,
    /// Length of the warm-up: longer than planned where the observer found that the engine was not steady.
    pub warmed: Nanos,
    /// When the window opened, by the clock of the trial.
    pub opened: Nanos,
    /// True length of the window: shorter than planned when the trial was cut short.
    pub span: Nanos,
    /// Whether it was asked to stop before its planned end.
    pub interrupted: bool,
    /// Why it failed, if it did: a defect, or a session that could not be reopened. Its numbers are not a result.
    pub failure: Option<String>,
    /// Messages of the first defects.
    pub defects: Vec<String>,
    /// The times without the engine or the server, or without writes, warm-up and drain included, in their order.
    pub outages: Vec<Outage>,
    /// Calls of all phases that were refused, by what for, the most first: the engine's own words where it said something.
    pub refusals: Vec<(String, u64)>,
    /// The times in which no one ran, counted as [`Trial::outages`] are.
    pub gaps: Vec<Gap>,
    /// CPU time of the threads that made the calls, over all phases; zero where the system cannot tell.
    pub cpu: Nanos,
    /// The distributions of the slices, where calls were made for a part of a plan.
    pub spectra: Vec<SliceSpectra>,
}

impl<W: Workload> Trial<W> {
    /// Whether it is unknown of a call if it was done: then the store may still execute it after the last answer.
    pub fn is_in_doubt(&self) -> bool {
        [&self.uncounted, &self.totals.call_counts()].iter().any(|counts| counts.in_doubt + counts.defect > 0)
    }

    /// Calls of the headline kinds that committed in the window, whenever they were due, a second; zero for an empty window.
    pub fn headline_rate(&self) -> f64 {
        let headline = W::KINDS.iter().zip(&self.totals.kinds).filter(|(kind, _)| kind.headline);
        let committed: u64 = headline.map(|(_, totals)| totals.ended.committed).sum();
        if self.span == Nanos::ZERO { 0.0 } else { committed as f64 / self.span.as_secs_f64() }
    }
}

/// Where a trial stands after a slice.
pub struct TrialProgress<'a, W: Workload> {
    /// The slices so far, never none. Calls that ended in the last one and whose worker is busy since may still be missing.
    pub slices: &'a [Slice],
    /// Everything so far: at least what the slices count.
    pub collected: &'a Collected<W>,
    /// Counts so far, of the calls that were due in the window.
    pub call_counts: CallCounts,
    /// The times without the engine or the server so far; one that lasts has no end yet.
    pub outages: Vec<Outage>,
    /// Length of the slices of the window up to and including this one: the time in which what they count has ended.
    pub passed: Nanos,
    /// Time until the window closes at the latest.
    pub left: Nanos,
}

impl<W: Workload> TrialProgress<'_, W> {
    /// The slice that has just ended.
    pub fn slice(&self) -> &Slice {
        self.slices.last().expect("progress is reported after a slice")
    }
}

/// Looks on while a trial runs, on the thread that collects: it must return soon.
///
/// A closure that takes a [`TrialProgress`] is an observer of slices.
pub trait Observer<W: Workload> {
    /// At least every 50 ms.
    fn look(&mut self) {}
    /// The warm-up is about to end. Where this says that something has not settled yet it goes on for another slice, up to
    /// [`Plan::warmup_max`].
    fn is_steady(&mut self) -> bool {
        true
    }
    /// The warm-up is over: the window opens now.
    fn opened(&mut self) {}
    /// The window closes now, early or as planned.
    fn closed(&mut self) {}
    fn slice(&mut self, progress: &TrialProgress<'_, W>);
}

impl<W: Workload, F: FnMut(&TrialProgress<'_, W>)> Observer<W> for F {
    fn slice(&mut self, progress: &TrialProgress<'_, W>) {
        self(progress);
    }
}

/// Why there is no trial.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A session could not be opened; no call was made.
    #[error("could not open session {worker}")]
    Open {
        /// The worker that it was for.
        worker: u32,
        #[source]
        error: OpenError,
    },
    /// The system gave no thread, runtime or timer.
    #[error("could not start the workers")]
    Runtime(#[source] io::Error),
    /// A worker panicked: a bug in a session or in the harness.
    #[error("a worker panicked: {what}")]
    Panicked { what: String },
    /// The moment at which calls were to begin has passed.
    #[error("the sessions were open {:.1} s after the moment at which calls were to begin", by.as_secs_f64())]
    Late { by: Nanos },
}

/// Runs one trial. All sessions are opened before the first call; the calling thread collects meanwhile, and tells
/// `observer`.
///
/// `inputs` gives the stream of a worker, `ledger` a fresh ledger; `stop` ends the trial early, with a valid result.
///
/// # Errors
/// Anything that keeps the trial from taking place, before a call is made; and a panic of a worker. Faults of calls are
/// not errors: they are in the call counts, and [`Trial::failure`] says if they ended the trial.
pub fn run<W, T, C>(
    plan: &Plan,
    target: &Arc<T>,
    inputs: impl Fn(u32) -> W::Inputs,
    ledger: impl Fn() -> W::Ledger,
    clock: C,
    stop: &Stop,
    observer: &mut dyn Observer<W>,
) -> Result<Trial<W>, RunError>
where
    W: Workload,
    T: Target<W>,
    C: Clock,
{
    let mut generator = Box::new(Generator::open(plan, target, inputs, clock)?);
    let trial = generator.round(Round::of(plan), &ledger, stop, observer)?;
    generator.close()?;
    Ok(trial)
}

/// What may differ between the rounds of a [`Generator`].
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// [`Plan::warmup`].
    pub warmup: Nanos,
    /// [`Plan::warmup_max`].
    pub warmup_max: Nanos,
    /// [`Plan::measured`].
    pub measured: Nanos,
    /// [`Plan::seed`].
    pub seed: u64,
}

impl Round {
    /// The one round of a trial.
    pub fn of(plan: &Plan) -> Round {
        let Plan { warmup, warmup_max, measured, seed, .. } = *plan;
        Round { warmup, warmup_max, measured, seed }
    }
}

/// What a [`Generator`] does, whatever clock it reads: it can be behind a pointer.
pub trait LoadGenerator<W: Workload> {
    /// Makes calls for a warm-up, a window and a drain, as a trial of its own.
    ///
    /// # Errors
    /// The spans cannot be carried out, the system gives no thread or timer, or a worker panicked, in this round or before.
    fn round(
        &mut self,
        round: Round,
        ledger: &dyn Fn() -> W::Ledger,
        stop: &Stop,
        observer: &mut dyn Observer<W>,
    ) -> Result<Trial<W>, RunError>;

    /// Closes all sessions.
    ///
    /// # Errors
    /// A worker panicked.
    fn close(self: Box<Self>) -> Result<(), RunError>;
}

/// A load generator whose sessions and streams of inputs last for several rounds.
pub struct Generator<W: Workload, C> {
    clock: C,
    plan: Plan,
    threads: Threads,
    starts: Starts<W>,
    /// From the beginning of a round to its first call.
    lead: Nanos,
}

impl<W: Workload, C: Clock> Generator<W, C> {
    /// Opens all sessions of a plan. No call is made.
    ///
    /// # Errors
    /// The plan cannot be carried out, a session could not be opened, or the system gives no thread.
    pub fn open<T: Target<W>>(
        plan: &Plan,
        target: &Arc<T>,
        inputs: impl Fn(u32) -> W::Inputs,
        clock: C,
    ) -> Result<Generator<W, C>, RunError> {
        plan.validate(W::KINDS)?;
        let crews = assemble(plan, target.home(), inputs);
        let (threads, starts) = open(target, &clock, crews)?;
        Ok(Generator { clock, plan: plan.clone(), threads, starts, lead: LEAD })
    }

    fn join(&mut self) -> Result<(), RunError> {
        self.starts.clear();
        join(std::mem::take(&mut self.threads))
    }
}

impl<W: Workload, C: Clock> LoadGenerator<W> for Generator<W, C> {
    fn round(
        &mut self,
        round: Round,
        ledger: &dyn Fn() -> W::Ledger,
        stop: &Stop,
        observer: &mut dyn Observer<W>,
    ) -> Result<Trial<W>, RunError> {
        let Round { warmup, warmup_max, measured, seed } = round;
        let plan = Plan { warmup, warmup_max, measured, seed, ..self.plan.clone() };
        plan.validate(W::KINDS)?;
        if self.starts.is_empty() {
            return Err(RunError::Panicked { what: "in an earlier round".to_owned() });
        }
        let plan = &plan;
        let (pulse, began) = (Pulse::start().map_err(RunError::Runtime)?, self.clock.now());
        let lead = std::mem::replace(&mut self.lead, LEAD_AGAIN);
        let soonest = self.clock.now() + lead;
        let start = plan.part.and_then(|part| part.starts).unwrap_or(soonest);
        if start < soonest {
            return Err(RunError::Late { by: soonest - start });
        }
        let timeline =
            Timeline { start, warmup: plan.warmup, measured: Timetable::window(plan), slice: plan.slice };
        let control = Arc::new(Control::new(stop.clone(), timeline.window()).counting(plan));
        let timetable = Timetable::of(plan, timeline.start).map(Arc::new);
        let (tapes, mut collector) =
            circulation(self.starts.len() as u32, timeline, plan.times_kept(), &plan.stage_ends(), ledger);
        if plan.part.is_some() {
            collector.keep_spectra();
        }
        let (queue, (ended, ends)) = (queue(plan), mpsc::channel());
        for (start, tape) in self.starts.iter().zip(tapes) {
            // A crew that is gone has panicked; joining it says so.
            let _ = start.send(Go {
                plan: plan.clone(),
                start: timeline.start,
                tape,
                control: Arc::clone(&control),
                timetable: timetable.clone(),
                queue: queue.clone(),
                ended: ended.clone(),
            });
        }
        drop((queue, ended));

        let collecting = Collecting { collector, timeline, latest: timeline.start + plan.warmup_longest() };
        let (Collecting { collector, timeline, .. }, ends) =
            collect(collecting, &self.clock, &control, &ends, observer);
        if ends.len() < self.threads.len() {
            self.join()?;
        }
        let cpu = ends.into_iter().collect::<Result<Vec<Nanos>, RunError>>()?.into_iter().sum();
        let closed = control.closes();
        let Collected { totals, warmup, slices, ledger, spectra } = collector.finish(closed);
        let failure = control.failure();
        Ok(Trial {
            totals,
            uncounted: warmup,
            slices,
            ledger,
            warmed: timeline.warmup,
            opened: timeline.opens(),
            span: closed - timeline.opens(),
            interrupted: control.is_cut_short() && failure.is_none(),
            failure,
            defects: control.defects(),
            outages: control.outages().all(timeline.start),
            refusals: control.outages().refusals(),
            gaps: since_start(pulse.gaps(), timeline.start - began),
            cpu,
            spectra,
        })
    }

    fn close(mut self: Box<Self>) -> Result<(), RunError> {
        self.join()
    }
}

impl<W: Workload, C> Drop for Generator<W, C> {
    /// Ends the threads.
    fn drop(&mut self) {
        self.starts.clear();
        let _ = join(std::mem::take(&mut self.threads));
    }
}

/// Gaps of a watch that began `lead` before the trial, counted from the start of the trial; earlier gaps are left out.
fn since_start(gaps: Vec<Gap>, lead: Nanos) -> Vec<Gap> {
    let ends = |gap: &Gap| gap.from + gap.length;
    gaps.into_iter().filter(|gap| ends(gap) > lead).map(|gap| Gap { from: gap.from - lead, ..gap }).collect()
}

/// Seats the workers: round robin on the runtimes of an asynchronous target, each on its own thread for a blocking one.
pub(crate) fn assemble<W: Workload>(
    plan: &Plan,
    home: Home,
    inputs: impl Fn(u32) -> W::Inputs,
) -> Vec<Vec<Seat<W>>> {
    let first = plan.first_worker();
    let clients = (first..first + plan.workers).map(|id| Seat { id, job: Job::Client(inputs(id)) });
    let deferred = plan.deferred.into_iter().flat_map(|deferred| {
        (0..deferred.workers)
            .map(move |index| Seat { id: plan.workers + index, job: Job::Deferred(deferred) })
    });
    let seats: Vec<Seat<W>> = clients.chain(deferred).collect();
    let threads = match home {
        Home::Task => seats.len().min(plan.runtimes as usize),
        Home::Thread => seats.len(),
    };
    let mut crews: Vec<Vec<Seat<W>>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, seat) in seats.into_iter().enumerate() {
        crews[index % threads].push(seat);
    }
    crews
}

/// The queue of deferred calls, if the plan has one.
pub(crate) fn queue<W: Workload>(plan: &Plan) -> Option<Queue<W>> {
    plan.deferred.map(|deferred| {
        let (enter, leave) = async_channel::bounded(deferred.queue_max as usize);
        Queue { enter, leave }
    })
}

type Threads = Vec<JoinHandle<()>>;
type Starts<W> = Vec<mpsc::Sender<Go<W>>>;

/// Starts the threads and waits until all sessions are open.
fn open<W: Workload, T: Target<W>, C: Clock>(
    target: &Arc<T>,
    clock: &C,
    crews: Vec<Vec<Seat<W>>>,
) -> Result<(Threads, Starts<W>), RunError> {
    let (opened, reports) = mpsc::channel();
    let (mut threads, mut starts) = (Vec::new(), Vec::new());
    for seats in crews {
        let (start, go) = mpsc::channel();
        let crew = Crew {
            seats,
            target: Arc::clone(target),
            clock: clock.clone(),
            opened: Some(opened.clone()),
            go,
        };
        let name = format!("worker-{}", threads.len());
        let thread = std::thread::Builder::new().name(name).spawn(move || crew.run());
        threads.push(thread.map_err(RunError::Runtime)?);
        starts.push(start);
    }
    drop(opened);
    let mut failed = None;
    let ready = reports
        .iter()
        .take(threads.len())
        .map_while(|report| report.map_err(|error| failed = Some(error)).ok());
    if ready.count() == threads.len() {
        return Ok((threads, starts));
    }
    drop(starts);
    // Threads that still open sessions end as soon as they find that there is no start; one that has panicked says so.
    join(threads)?;
    Err(failed.expect("a thread that reports nothing has panicked"))
}

/// Where pages are merged, and by which timeline.
pub(crate) struct Collecting<W: Workload> {
    pub(crate) collector: Collector<W>,
    pub(crate) timeline: Timeline,
    /// When the window opens at the latest.
    pub(crate) latest: Nanos,
}

impl<W: Workload> Collecting<W> {
    /// Lets the warm-up go on for a slice if it is about to end, may go on, and something has not settled.
    pub(crate) fn warm_on(&mut self, now: Nanos, control: &Control, is_steady: impl FnOnce() -> bool) {
        let (opens, step) = (self.timeline.opens(), self.timeline.slice);
        let asked = now < opens && now + NOTICE.min(step) >= opens && opens + step <= self.latest;
        if asked && !is_steady() && control.postpone(step) {
            self.timeline.warmup += step;
            self.collector.postpone(step);
        }
    }
}

/// Merges pages and reports slices until the last crew has ended the round, and gives how each of them did; one that panicked is
/// missing.
fn collect<W: Workload, C: Clock>(
    mut collecting: Collecting<W>,
    clock: &C,
    control: &Control,
    ends: &mpsc::Receiver<Result<Nanos, RunError>>,
    observer: &mut dyn Observer<W>,
) -> (Collecting<W>, Vec<Result<Nanos, RunError>>) {
    let slice = collecting.timeline.slice;
    let look = Duration::from(Nanos(slice.0 / 4).max(LOOK_MIN).min(LOOK_MAX));
    // Workers hand a page over with the first call that ends after it; most do within this.
    let grace = Nanos(slice.0 / 2);
    let (mut next, mut opened, mut closed, mut ended) = (0, false, false, Vec::new());
    loop {
        // Not past the moment at which the window opens or closes: what is sampled then belongs to it.
        let edge = if opened { control.closes() } else { collecting.timeline.opens() };
        let nap = if closed { look } else { look.min(Duration::from(edge - clock.now())).max(NAP_MIN) };
        match ends.recv_timeout(nap) {
            Ok(end) => ended.push(end),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let now = clock.now();
        collecting.warm_on(now, control, || observer.is_steady());
        if !opened && now >= collecting.timeline.opens() {
            opened = true;
            observer.opened();
        }
        if opened && !closed && now >= control.closes() {
            closed = true;
            observer.closed();
        }
        collecting.collector.collect();
        control.check_stop(now);
        observer.look();
        while collecting.timeline.span(next).1 + grace <= now {
            collecting.collector.extend_to(next);
            let collected = collecting.collector.collected();
            let slices = &collected.slices[..=next as usize];
            observer.slice(&TrialProgress {
                slices,
                collected,
                call_counts: collected.totals.call_counts(),
                outages: control.outages().all(collecting.timeline.start),
                passed: measure::measured_length(slices),
                left: control.closes() - now,
            });
            next += 1;
        }
    }
    if opened && !closed {
        observer.closed();
    }
    (collecting, ended)
}

/// Waits for all threads.
fn join(threads: Threads) -> Result<(), RunError> {
    let mut first_error = Ok(());
    for thread in threads {
        if let Err(panic) = thread.join() {
            first_error = first_error.and(Err(RunError::Panicked { what: panic_message(&*panic) }));
        }
    }
    first_error
}
