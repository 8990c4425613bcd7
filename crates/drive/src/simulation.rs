//! A trial in virtual time: the same workers, a clock that stands still while anyone can work.

use crate::arrivals::Timetable;
use crate::control::{Control, Stop};
use crate::crew::{Crew, Go};
use crate::plan::Plan;
use crate::timer::{Missed, Timer};
use crate::toy::{Call, Numbers, Outcome, Posted, Toy, stack};
use crate::trial::{Collecting, NOTICE, assemble, queue};
use measure::{CallCounts, Collected, Timeline, circulation};
use model::{CallWork, Clock, Fault, Home, Nanos, OpenError, Session, Stack, StatementTimes, Target};
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};

/// When simulated trials start.
pub(crate) const START: Nanos = Nanos::from_secs(1);

/// Rounds of polling at a moment before time goes on: a call queued in one is taken in the next.
const ROUNDS: u32 = 3;

/// A clock that goes on to the next moment at which someone waits, when no one can do anything now.
#[derive(Clone)]
pub(crate) struct World(Arc<Mutex<Moments>>);

struct Moments {
    now: Nanos,
    next: Nanos,
}

impl Clock for World {
    fn now(&self) -> Nanos {
        self.0.lock().now
    }
}

impl World {
    fn new() -> World {
        World(Arc::new(Mutex::new(Moments { now: START, next: Nanos::MAX })))
    }

    /// Whether a moment has come; if not, time will not pass it by.
    fn reached(&self, moment: Nanos) -> bool {
        let mut moments = self.0.lock();
        moments.next = if moment > moments.now { moments.next.min(moment) } else { moments.next };
        moment <= moments.now
    }

    pub(crate) fn wait_until(&self, moment: Nanos) -> impl Future<Output = ()> + Send {
        let world = self.clone();
        poll_fn(move |_| if world.reached(moment) { Poll::Ready(()) } else { Poll::Pending })
    }

    fn run(&self, mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>>, mut step: impl FnMut()) {
        let mut context = Context::from_waker(Waker::noop());
        while !tasks.is_empty() {
            for _ in 0..ROUNDS {
                self.0.lock().next = Nanos::MAX;
                tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            }
            step();
            let mut moments = self.0.lock();
            assert!(tasks.is_empty() || moments.next < Nanos::MAX, "everybody waits for nothing");
            moments.now = moments.next;
        }
    }
}

struct WorldTimer {
    world: World,
    oversleeps: Nanos,
    control: Arc<Control>,
}

impl Timer for WorldTimer {
    fn now(&self) -> Nanos {
        self.world.now()
    }

    async fn sleep_until(&mut self, moment: Nanos) {
        poll_fn(|_| {
            let awake = self.control.is_ending() || self.world.reached(moment + self.oversleeps);
            if awake { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    async fn within<F: Future>(&mut self, deadline: Nanos, work: F) -> Result<F::Output, Missed> {
        let mut work = pin!(work);
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if self.world.reached(deadline) => Poll::Ready(Err(Missed)),
            Poll::Pending => Poll::Pending,
        })
        .await
    }
}

/// What a scripted session does with a call: how long it takes, how it ends, in how many attempts.
pub(crate) struct Step {
    pub(crate) takes: Nanos,
    pub(crate) end: Result<Outcome, Fault>,
    pub(crate) attempts: u32,
}

impl Step {
    pub(crate) fn done(takes: Nanos) -> Step {
        Step { takes, end: Ok(Outcome::Done), attempts: 1 }
    }

    pub(crate) fn fault(takes: Nanos, fault: Fault) -> Step {
        Step { takes, end: Err(fault), attempts: 1 }
    }
}

type Script = Arc<dyn Fn(&Call, Nanos) -> Step + Send + Sync>;
type Opening = Arc<dyn Fn(u32, Nanos) -> Result<(), OpenError> + Send + Sync>;

pub(crate) struct Scripted {
    world: World,
    script: Script,
    opening: Opening,
    opened: Mutex<u32>,
}

pub(crate) struct ScriptedSession {
    world: World,
    script: Script,
    /// As if each call were one statement.
    times: StatementTimes,
}

impl Target<Toy> for Scripted {
    type Session = ScriptedSession;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _worker: u32) -> Result<ScriptedSession, OpenError> {
        let number = {
            let mut opened = self.opened.lock();
            *opened += 1;
            *opened - 1
        };
        (self.opening)(number, self.world.now())?;
        let times = StatementTimes::default();
        Ok(ScriptedSession { world: self.world.clone(), script: Arc::clone(&self.script), times })
    }

    fn stack(&self) -> Stack {
        stack()
    }
}

impl Session<Toy> for ScriptedSession {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let now = self.world.now();
        let step = (self.script)(call, now);
        work.attempts = step.attempts;
        self.world.wait_until(now + step.takes).await;
        if work.clocked {
            self.times.clear();
            self.times.add(0, 1, step.takes);
        }
        step.end
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(&self.times)
    }
}

/// A trial to be simulated.
pub(crate) struct Simulation {
    plan: Plan,
    script: Script,
    opening: Opening,
    later_each: u64,
    stop_after: Nanos,
    steady_after: Nanos,
    oversleeps: Nanos,
}

/// What a simulated trial has given.
pub(crate) struct Simulated {
    pub(crate) collected: Collected<Toy>,
    pub(crate) control: Arc<Control>,
    /// Sessions opened, the first ones included.
    pub(crate) opened: u32,
    /// Length of the warm-up.
    pub(crate) warmed: Nanos,
    /// When the last worker ended, from the start.
    pub(crate) lasted: Nanos,
}

impl Simulated {
    pub(crate) fn call_counts(&self) -> CallCounts {
        self.collected.totals.call_counts()
    }
}

impl Simulation {
    pub(crate) fn new(
        plan: Plan,
        script: impl Fn(&Call, Nanos) -> Step + Send + Sync + 'static,
    ) -> Simulation {
        Simulation {
            plan,
            script: Arc::new(script),
            opening: Arc::new(|_, _| Ok(())),
            later_each: 0,
            stop_after: Nanos::MAX,
            steady_after: Nanos::ZERO,
            oversleeps: Nanos::ZERO,
        }
    }

    /// Has `opening` decide whether the session with a number, counted from 0, can be opened.
    pub(crate) fn opening(
        self,
        opening: impl Fn(u32) -> Result<(), OpenError> + Send + Sync + 'static,
    ) -> Simulation {
        self.opening_at(move |number, _| opening(number))
    }

    /// The same, knowing when.
    pub(crate) fn opening_at(
        mut self,
        opening: impl Fn(u32, Nanos) -> Result<(), OpenError> + Send + Sync + 'static,
    ) -> Simulation {
        self.opening = Arc::new(opening);
        self
    }

    /// Makes every `each`th call one that may be deferred.
    pub(crate) fn later_each(mut self, each: u64) -> Simulation {
        self.later_each = each;
        self
    }

    /// Has the user ask for a stop so long after the start.
    pub(crate) fn stop_after(mut self, after: Nanos) -> Simulation {
        self.stop_after = after;
        self
    }

    /// Has the engine get steady so long after the start.
    pub(crate) fn steady_from(mut self, after: Nanos) -> Simulation {
        self.steady_after = after;
        self
    }

    /// Has workers wake so much later than they wanted, as on a busy machine.
    pub(crate) fn oversleeping(mut self, by: Nanos) -> Simulation {
        self.oversleeps = by;
        self
    }

    pub(crate) fn run(self) -> Simulated {
        let plan = self.plan;
        plan.validate(<Toy as model::Workload>::KINDS).unwrap();
        let world = World::new();
        let timeline = Timeline {
            start: START,
            warmup: plan.warmup,
            measured: Timetable::window(&plan),
            slice: plan.slice,
        };
        let stop = Stop::new();
        let control = Arc::new(Control::new(stop.clone(), timeline.window()).counting(&plan));
        let (mut tapes, mut collector) =
            circulation::<Toy>(1, timeline, plan.times_kept(), &plan.stage_ends(), Posted::default);
        if plan.part.is_some() {
            collector.keep_spectra();
        }
        let target = Arc::new(Scripted {
            world: world.clone(),
            script: self.script,
            opening: self.opening,
            opened: Mutex::new(0),
        });
        let seats =
            assemble::<Toy>(&plan, Home::Task, |_| Numbers::new(self.later_each)).into_iter().flatten();
        let (opened, _reports) = mpsc::channel();
        let (_start, go) = mpsc::channel();
        let mut crew = Crew {
            seats: seats.collect(),
            target: Arc::clone(&target),
            clock: world.clone(),
            opened: Some(opened),
            go,
        };
        let sessions = crate::timer::block_on(crew.open());
        let places = crew.begin(sessions).unwrap();
        let (ended, _ends) = mpsc::channel();
        let go = Go {
            plan: plan.clone(),
            queue: queue(&plan),
            ended,
            start: START,
            tape: tapes.pop().unwrap(),
            control: Arc::clone(&control),
            timetable: Timetable::of(&plan, START).map(Arc::new),
        };
        let oversleeps = self.oversleeps;
        let timer = |_| WorldTimer { world: world.clone(), oversleeps, control: Arc::clone(&control) };
        let (workers, tape) = crew.seat(places, go, timer);
        let mut tasks: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        tasks.extend(workers.into_iter().map(|worker| Box::pin(async { drop(worker.run().await) }) as _));
        if self.stop_after < Nanos::MAX {
            let world = world.clone();
            tasks.push(Box::pin(async move {
                world.wait_until(START + self.stop_after).await;
                stop.request();
            }));
        }
        if self.steady_after > Nanos::ZERO {
            // The collector of a real trial looks often; this one when something happens.
            let (world, control, notice) = (world.clone(), Arc::clone(&control), NOTICE.min(plan.slice));
            tasks.push(Box::pin(async move {
                while !control.is_open(world.now()) && !control.is_ending() {
                    let opens = control.window(Nanos::ZERO).opens;
                    world.wait_until(opens - notice).await;
                    world.wait_until(opens).await;
                }
            }));
        }
        let latest = START + plan.warmup_longest();
        let mut collecting = Collecting { collector, timeline, latest };
        let mut last = START;
        world.run(tasks, || {
            last = world.now();
            collecting.warm_on(last, &control, || last >= START + self.steady_after);
            collecting.collector.collect();
        });
        crate::crew::finish(tape);
        let warmed = collecting.timeline.warmup;
        let collected = collecting.collector.finish(control.closes());
        let opened = *target.opened.lock();
        Simulated { collected, control, opened, warmed, lasted: last - START }
    }
}
