//! Whole trials on the real clock, with sessions of both homes.

use crate::toy::{self, Call, Numbers, Outcome, Posted, Toy};
use drive::{Arrivals, Deferred, Observer, Plan, RatePerSecond, RunError, Stop, Trial, TrialProgress};
use measure::{Monotonic, Phase, Slice};
use model::{CallWork, Clock, Fault, Home, Nanos, OpenError, Session, Stack, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Sessions that answer at once, on a home of choice.
struct AtOnce<const TASK: bool> {
    opens_max: u32,
    opened: AtomicU32,
    /// Sessions that are open.
    open_now: Arc<AtomicU32>,
    script: Script,
}

/// What is special about the sessions of a target.
#[derive(Clone)]
struct Script {
    panic_at: u64,
    /// Number of the session that panics while it opens.
    panic_opening: u32,
    hang_at: u64,
    /// Of a hundred calls of a session, the one that is declined.
    no_at: u64,
    /// Whether a call gives way to other tasks once.
    waits: bool,
    /// Sessions that have made a tenth call.
    busy: Arc<AtomicU32>,
}

struct AtOnceSession {
    open_now: Arc<AtomicU32>,
    script: Script,
}

impl<const TASK: bool> AtOnce<TASK> {
    fn new() -> AtOnce<TASK> {
        let script = Script {
            panic_at: u64::MAX,
            panic_opening: u32::MAX,
            hang_at: u64::MAX,
            // Never a call that may be deferred.
            no_at: 98,
            waits: TASK,
            busy: Arc::default(),
        };
        AtOnce { opens_max: u32::MAX, opened: AtomicU32::new(0), open_now: Arc::default(), script }
    }

    fn with(edit: impl FnOnce(&mut Script)) -> AtOnce<TASK> {
        let mut target = AtOnce::new();
        edit(&mut target.script);
        target
    }
}

impl<const TASK: bool> Target<Toy> for AtOnce<TASK> {
    type Session = AtOnceSession;

    fn home(&self) -> Home {
        if TASK { Home::Task } else { Home::Thread }
    }

    async fn open(&self, _worker: u32) -> Result<AtOnceSession, OpenError> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        assert!(number != self.script.panic_opening, "a bug in opening");
        if number >= self.opens_max {
            return Err(OpenError::Unreachable { what: "toy".to_owned(), why: "no more".to_owned() });
        }
        self.open_now.fetch_add(1, Ordering::Relaxed);
        Ok(AtOnceSession { open_now: Arc::clone(&self.open_now), script: self.script.clone() })
    }

    fn stack(&self) -> Stack {
        toy::stack()
    }
}

impl Session<Toy> for AtOnceSession {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        assert!(call.number < self.script.panic_at, "a bug in the session");
        work.attempts = 1;
        if call.number == 10 {
            self.script.busy.fetch_add(1, Ordering::Relaxed);
        }
        if call.number == self.script.hang_at {
            std::future::pending::<()>().await;
        }
        if self.script.waits {
            tokio::task::yield_now().await;
        }
        Ok(if call.number % 100 == self.script.no_at { Outcome::No } else { Outcome::Done })
    }
}

impl Drop for AtOnceSession {
    fn drop(&mut self) {
        self.open_now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Long enough that a machine which does not run us for a second spoils nothing.
fn plan(arrivals: Arrivals) -> Plan {
    Plan {
        arrivals,
        workers: 3,
        runtimes: 2,
        warmup: Nanos::from_millis(100),
        measured: Nanos::from_secs(2),
        slice: Nanos::from_millis(50),
        ..Plan::default()
    }
}

fn run<const TASK: bool>(plan: &Plan, target: AtOnce<TASK>, stop: &Stop) -> Result<Trial<Toy>, RunError> {
    let target = Arc::new(target);
    let later_each = if plan.deferred.is_some() { 4 } else { 0 };
    let inputs = |_| Numbers::new(later_each);
    drive::run(plan, &target, inputs, Posted::default, Monotonic::start(), stop, &mut |_: &TrialProgress<
        '_,
        Toy,
    >| {})
}

fn check_trial(trial: &Trial<Toy>) {
    let call_counts = trial.totals.call_counts();
    assert_eq!((call_counts.balance(), trial.uncounted.balance()), (Ok(()), Ok(())));
    assert_eq!(trial.ledger.calls, call_counts.started + trial.uncounted.started);
    assert!(call_counts.committed > 0 && trial.headline_rate() > 0.0);
    assert_eq!((trial.failure.as_deref(), trial.defects.len()), (None, 0));
    let ended: u64 = trial.slices.iter().flat_map(|slice| &slice.kinds).map(|ended| ended.committed).sum();
    assert_eq!(ended, trial.ledger.committed);
}

#[test]
fn a_trial_balances_on_tasks_and_on_threads_for_all_arrivals() {
    let rate = RatePerSecond(2_000.0);
    let arrivals = [Arrivals::Closed, Arrivals::Paced, Arrivals::Constant(rate), Arrivals::Poisson(rate)];
    std::thread::scope(|scope| {
        for (arrivals, deferred) in arrivals
            .into_iter()
            .flat_map(|arrivals| [(arrivals, None), (arrivals, Some(Deferred::default()))])
        {
            scope.spawn(move || {
                let plan = Plan { deferred, ..plan(arrivals) };
                check_plan(&plan, &run(&plan, AtOnce::<true>::new(), &Stop::new()).unwrap());
                check_plan(&plan, &run(&plan, AtOnce::<false>::new(), &Stop::new()).unwrap());
            });
        }
    });
}

fn check_plan(plan: &Plan, trial: &Trial<Toy>) {
    check_trial(trial);
    assert_eq!((trial.span, trial.interrupted), (plan.measured, false));
    if let Arrivals::Constant(_) = plan.arrivals {
        // 2,000 a second for 2 s, however late they may be.
        assert_eq!(trial.totals.call_counts().due, 4_000);
    }
}

#[test]
fn a_call_that_nothing_can_make_impossible_is_not_declined() {
    let plan = Plan { deferred: Some(Deferred::default()), ..plan(Arrivals::Closed) };
    // Every fourth call is deferred, and may not be declined.
    let trial = run(&plan, AtOnce::<true>::with(|script| script.no_at = 99), &Stop::new()).unwrap();
    let failure = trial.failure.expect("it was declined all the same");
    assert!(failure.contains("later: a call was declined that cannot be declined"), "{failure}");
    let declined: u64 = trial.totals.kinds.iter().map(|kind| kind.call_counts.declined).sum();
    assert_eq!(declined + trial.uncounted.declined, 0);
}

#[test]
fn every_slice_is_observed_once_and_in_order() {
    let mut seen = Vec::new();
    let trial = drive::run(
        &plan(Arrivals::Closed),
        &Arc::new(AtOnce::<true>::new()),
        |_| Numbers::new(0),
        Posted::default,
        Monotonic::start(),
        &Stop::new(),
        &mut |progress: &TrialProgress<'_, Toy>| {
            assert_eq!(progress.call_counts.balance(), Ok(()));
            // The time that a mean is taken over is that of the slices that it counts, however late it is reported.
            let measured = progress.slices.iter().filter(|slice| slice.phase == Phase::Measured);
            assert_eq!(progress.passed, measured.map(Slice::length).sum());
            seen.push((progress.slice().index, progress.slice().phase));
        },
    );
    let slices = trial.unwrap().slices;
    // The last slice may end with the trial itself, and those before it with a machine that does not run the collector.
    let all: Vec<_> = slices.iter().map(|slice| (slice.index, slice.phase)).collect();
    assert!(all.starts_with(&seen), "{seen:?} of {all:?}");
    assert!(seen.len() > 20, "{} of {}", seen.len(), all.len());
    assert_eq!((slices[1].phase, slices[2].phase), (Phase::WarmUp, Phase::Measured));
}

/// Notes when it was told what.
#[derive(Default)]
struct Edges {
    clock: Option<Monotonic>,
    opened: Vec<Nanos>,
    closed: Vec<Nanos>,
    looks: u32,
}

impl Observer<Toy> for Edges {
    fn look(&mut self) {
        self.looks += 1;
    }
    fn opened(&mut self) {
        self.opened.extend(self.clock.map(|clock| clock.now()));
    }
    fn closed(&mut self) {
        self.closed.extend(self.clock.map(|clock| clock.now()));
    }
    fn slice(&mut self, _: &TrialProgress<'_, Toy>) {}
}

#[test]
fn an_observer_is_told_when_the_window_opens_and_closes() {
    let plan = plan(Arrivals::Closed);
    let clock = Monotonic::start();
    let mut edges = Edges { clock: Some(clock), ..Edges::default() };
    let target = Arc::new(AtOnce::<true>::new());
    let inputs = |_| Numbers::new(0);
    drive::run(&plan, &target, inputs, Posted::default, clock, &Stop::new(), &mut edges).unwrap();
    let (&[opened], &[closed]) = (&edges.opened[..], &edges.closed[..]) else { panic!("told once of each") };
    // Never early; how late depends on how busy the machine is, so only the order of magnitude is held.
    assert!(closed - opened < plan.measured + plan.measured, "{opened:?} {closed:?}");
    assert!(opened >= plan.warmup && edges.looks > 5, "{opened:?}, {} looks", edges.looks);
}

#[test]
fn a_stop_request_ends_the_trial_early_with_a_valid_result() {
    for arrivals in [Arrivals::Closed, Arrivals::Paced, Arrivals::Constant(RatePerSecond(1.0))] {
        let plan = Plan { measured: Nanos::from_secs(600), ..plan(arrivals) };
        let stop = Stop::new();
        let (asks, clock) = (stop.clone(), Monotonic::start());
        let target = Arc::new(AtOnce::<false>::new());
        let mut observe = |progress: &drive::TrialProgress<'_, Toy>| {
            if progress.slice().phase == Phase::Measured {
                asks.request();
            }
        };
        let inputs = |_| Numbers::new(0);
        let trial = drive::run(&plan, &target, inputs, Posted::default, clock, &stop, &mut observe).unwrap();
        assert!(trial.interrupted);
        assert!(trial.span > Nanos::ZERO && trial.span < Nanos::from_secs(60), "{:?}", trial.span);
        assert_eq!(trial.totals.call_counts().balance(), Ok(()));
    }
}

#[test]
fn a_session_that_cannot_be_opened_is_an_error_before_any_call() {
    fn check<const TASK: bool>() {
        let target = AtOnce::<TASK> { opens_max: 2, ..AtOnce::new() };
        let open_now = Arc::clone(&target.open_now);
        let Err(error) = run(&plan(Arrivals::Closed), target, &Stop::new()) else { panic!("it ran") };
        assert!(matches!(error, RunError::Open { .. }), "{error}");
        assert_eq!(open_now.load(Ordering::Relaxed), 0, "sessions are closed again");
    }
    check::<true>();
    check::<false>();
}

#[test]
fn a_plan_that_cannot_be_carried_out_opens_nothing() {
    let target = Arc::new(AtOnce::<true>::new());
    let plan = Plan { workers: 0, ..plan(Arrivals::Closed) };
    let result = drive::run(
        &plan,
        &target,
        |_| Numbers::new(0),
        Posted::default,
        Monotonic::start(),
        &Stop::new(),
        &mut |_: &TrialProgress<'_, Toy>| {},
    );
    assert!(matches!(result, Err(RunError::Plan(_))));
    assert_eq!(target.opened.load(Ordering::Relaxed), 0);
}

#[test]
fn a_panic_in_a_session_ends_the_trial_and_is_told() {
    fn check<const TASK: bool>() {
        let plan = Plan { measured: Nanos::from_secs(600), ..plan(Arrivals::Closed) };
        let target = AtOnce::<TASK>::with(|script| script.panic_at = 50);
        let Err(error) = run(&plan, target, &Stop::new()) else { panic!("it passed") };
        assert_eq!(error.to_string(), "a worker panicked: a bug in the session");
    }
    check::<true>();
    check::<false>();
}

/// While the others, who are ready, wait for the start.
#[test]
fn a_panic_while_a_session_opens_is_told_and_hangs_no_one() {
    fn check<const TASK: bool>() {
        for number in 0..3 {
            let target = AtOnce::<TASK>::with(|script| script.panic_opening = number);
            let Err(error) = run(&plan(Arrivals::Closed), target, &Stop::new()) else { panic!("it ran") };
            assert_eq!(error.to_string(), "a worker panicked: a bug in opening");
        }
    }
    check::<true>();
    check::<false>();
}

#[test]
fn a_session_that_hangs_costs_a_deadline_and_not_the_trial() {
    let deadline = Nanos::from_millis(60);
    let plan = Plan { deadline, warmup: Nanos::ZERO, ..plan(Arrivals::Closed) };
    let target = Arc::new(AtOnce::<true>::with(|script| script.hang_at = 20));
    let (inputs, clock, stop) = (|_| Numbers::new(0), Monotonic::start(), Stop::new());
    let trial =
        drive::run(&plan, &target, inputs, Posted::default, clock, &stop, &mut |_: &TrialProgress<
            '_,
            Toy,
        >| {})
        .unwrap();
    let call_counts = trial.totals.call_counts();
    // A machine that does not run us for 60 ms costs other calls their deadline as well.
    assert!(call_counts.in_doubt >= 3 && call_counts.balance() == Ok(()), "{call_counts:?}");
    let opened = u64::from(target.opened.load(Ordering::Relaxed));
    assert!(
        (6..=3 + call_counts.in_doubt).contains(&opened),
        "each worker has opened a second session: {opened}"
    );
    let longest = trial.totals.faults.max().unwrap();
    // It is given up at its deadline, and the trial ends when it was to end.
    assert!((deadline..plan.measured).contains(&longest), "{longest:?}");
    assert_eq!((trial.span, trial.interrupted), (plan.measured, false));
    assert!(call_counts.committed > 100);
}

#[test]
fn a_session_that_never_waits_does_not_starve_the_others_of_its_thread() {
    let plan = Plan { runtimes: 1, ..plan(Arrivals::Closed) };
    let target = AtOnce::<true>::with(|script| script.waits = false);
    let busy = Arc::clone(&target.script.busy);
    check_trial(&run(&plan, target, &Stop::new()).unwrap());
    assert_eq!(busy.load(Ordering::Relaxed), plan.workers);
}
