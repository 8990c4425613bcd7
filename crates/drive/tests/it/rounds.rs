//! Rounds of a generator: sessions and inputs last, and each round is a trial of its own.

use crate::toy::{self, Call, Numbers, Outcome, Posted, Toy};
use drive::{
    Arrivals, Generator, LoadGenerator, Plan, RatePerSecond, Round, RunError, Stop, Trial, TrialProgress,
};
use measure::{Monotonic, Phase, measured_length};
use model::{CallWork, Fault, Home, Ledger, Nanos, OpenError, Session, Stack, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What sessions of a target have done.
#[derive(Default)]
struct Seen {
    opened: AtomicU32,
    closed: AtomicU32,
    calls: AtomicU64,
    /// The highest number of a call so far.
    highest: AtomicU64,
}

/// Sessions that answer after a time; a call out of turn panics.
#[derive(Clone, Default)]
struct TurnTarget<const TASK: bool> {
    seen: Arc<Seen>,
    /// Whose turn it is.
    turn: Arc<AtomicU32>,
    own: u32,
    /// What each call takes; only tasks can wait.
    takes: Duration,
}

struct TurnSession<const TASK: bool>(TurnTarget<TASK>);

impl<const TASK: bool> Target<Toy> for TurnTarget<TASK> {
    type Session = TurnSession<TASK>;

    fn home(&self) -> Home {
        if TASK { Home::Task } else { Home::Thread }
    }

    async fn open(&self, _worker: u32) -> Result<TurnSession<TASK>, OpenError> {
        self.seen.opened.fetch_add(1, Ordering::Relaxed);
        Ok(TurnSession(self.clone()))
    }

    fn stack(&self) -> Stack {
        toy::stack()
    }
}

impl<const TASK: bool> Session<Toy> for TurnSession<TASK> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let TurnSession(TurnTarget { seen, turn, own, takes }) = self;
        assert_eq!(turn.load(Ordering::Relaxed), *own, "a call out of turn");
        work.attempts = 1;
        seen.calls.fetch_add(1, Ordering::Relaxed);
        seen.highest.fetch_max(call.number, Ordering::Relaxed);
        if *takes > Duration::ZERO {
            tokio::time::sleep(*takes).await;
        } else if TASK {
            tokio::task::yield_now().await;
        }
        assert_eq!(turn.load(Ordering::Relaxed), *own, "an answer out of turn");
        Ok(Outcome::Done)
    }
}

impl<const TASK: bool> Drop for TurnSession<TASK> {
    fn drop(&mut self) {
        self.0.seen.closed.fetch_add(1, Ordering::Relaxed);
    }
}

fn plan(arrivals: Arrivals) -> Plan {
    Plan {
        arrivals,
        workers: 3,
        runtimes: 2,
        warmup: Nanos::from_millis(20),
        measured: Nanos::from_millis(60),
        slice: Nanos::from_millis(20),
        ..Plan::default()
    }
}

fn round(generator: &mut Generator<Toy, Monotonic>, plan: &Plan) -> Result<Trial<Toy>, RunError> {
    generator.round(Round::of(plan), &Posted::default, &Stop::new(), &mut |_: &TrialProgress<'_, Toy>| {})
}

/// Two generators take turns: only one makes calls at a time, with the sessions that it opened first.
fn take_turns<const TASK: bool>(arrivals: Arrivals) {
    let turn = Arc::new(AtomicU32::new(0));
    let (plan, clock) = (plan(arrivals), Monotonic::start());
    let mut sides: Vec<_> = (0..2)
        .map(|own| {
            let seen = Arc::new(Seen::default());
            let (seen_there, turn) = (Arc::clone(&seen), Arc::clone(&turn));
            let target = TurnTarget::<TASK> { seen: seen_there, turn, own, ..TurnTarget::default() };
            let generator = Generator::open(&plan, &Arc::new(target), |_| Numbers::new(0), clock);
            (generator.unwrap(), seen, Posted::default())
        })
        .collect();
    let mut whole: [Option<Trial<Toy>>; 2] = [None, None];
    let mut in_slices = [0; 2];
    for own in [0, 1, 1, 0, 1, 0, 0, 1] {
        turn.store(own, Ordering::Relaxed);
        let (generator, seen, posted) = &mut sides[own as usize];
        let before = seen.calls.load(Ordering::Relaxed);
        let trial = round(generator, &plan).unwrap();
        let call_counts = trial.totals.call_counts();
        assert_eq!((call_counts.balance(), trial.uncounted.balance()), (Ok(()), Ok(())));
        assert_eq!(trial.failure, None);
        assert_eq!((trial.warmed, trial.span), (plan.warmup, plan.measured));
        // All calls of the round, and no others.
        let calls = seen.calls.load(Ordering::Relaxed) - before;
        assert_eq!(calls, call_counts.started + trial.uncounted.started);
        posted.absorb(&trial.ledger);
        in_slices[own as usize] += committed_in_slices(&trial);
        match &mut whole[own as usize] {
            Some(whole) => whole.absorb(trial),
            none => *none = Some(trial),
        }
    }
    for ((whole, (.., posted)), in_slices) in whole.iter().zip(&sides).zip(in_slices) {
        let whole = whole.as_ref().unwrap();
        is_one_of_four(whole, &plan, posted);
        assert_eq!(committed_in_slices(whole), in_slices);
    }
    for (generator, seen, posted) in sides {
        assert!(posted.committed > 0);
        assert_eq!(posted.calls, seen.calls.load(Ordering::Relaxed));
        assert_eq!(seen.opened.load(Ordering::Relaxed), plan.workers);
        // Streams of inputs go on where the last round has left them.
        let each = seen.highest.load(Ordering::Relaxed) + 1;
        assert!(each * u64::from(plan.workers) >= posted.calls, "{each} of {}", posted.calls);
        assert_eq!(seen.closed.load(Ordering::Relaxed), 0);
        Box::new(generator).close().unwrap();
        assert_eq!(seen.closed.load(Ordering::Relaxed), plan.workers);
    }
}

/// Calls in the slices of the window. Where the collector is held up, some of the window are in a slice of the warm-up.
fn committed_in_slices(trial: &Trial<Toy>) -> u64 {
    let measured = trial.slices.iter().filter(|slice| slice.phase == Phase::Measured);
    measured.flat_map(|slice| &slice.kinds).map(|kind| kind.committed).sum()
}

/// Four rounds of one plan are one trial: all that they counted, on a time line without what lay between them.
fn is_one_of_four(whole: &Trial<Toy>, plan: &Plan, posted: &Posted) {
    let call_counts = whole.totals.call_counts();
    assert_eq!((call_counts.balance(), whole.uncounted.balance()), (Ok(()), Ok(())));
    assert_eq!((whole.warmed, whole.span), (plan.warmup, Nanos(4 * plan.measured.0)));
    assert_eq!(whole.ledger.calls, posted.calls);
    assert_eq!(call_counts.started + whole.uncounted.started, posted.calls);
    let edges: Vec<_> = whole.slices.iter().map(|slice| (slice.index, slice.from, slice.to)).collect();
    for (pair, index) in edges.windows(2).zip(0..) {
        assert_eq!((pair[0].0, pair[0].2), (index, pair[1].1), "{edges:?}");
    }
    assert_eq!(measured_length(&whole.slices), whole.span);
}

#[test]
fn generators_take_turns_with_the_sessions_that_they_opened_first() {
    for arrivals in [Arrivals::Closed, Arrivals::Poisson(RatePerSecond(2_000.0))] {
        take_turns::<true>(arrivals);
        take_turns::<false>(arrivals);
    }
}

#[test]
fn a_worker_that_panics_in_a_later_round_is_reported_and_the_generator_can_be_dropped() {
    let turn = Arc::new(AtomicU32::new(0));
    let target = TurnTarget::<true> { turn: Arc::clone(&turn), ..TurnTarget::default() };
    let plan = plan(Arrivals::Closed);
    let inputs = |_| Numbers::new(0);
    let mut generator = Generator::open(&plan, &Arc::new(target), inputs, Monotonic::start()).unwrap();
    round(&mut generator, &plan).unwrap();
    turn.store(1, Ordering::Relaxed);
    let error = round(&mut generator, &plan).err().unwrap().to_string();
    assert!(error.contains("a worker panicked") && error.contains("a call out of turn"), "{error}");
    let again = round(&mut generator, &plan).err().unwrap().to_string();
    assert!(again.contains("a worker panicked: in an earlier round"), "{again}");
}

/// Each call takes longer than a round: the next side waits for it, and it counts for the side that made it.
#[test]
fn calls_that_outlast_their_round_end_in_it_and_count_for_their_own_side() {
    let turn = Arc::new(AtomicU32::new(0));
    let plan = Plan { warmup: Nanos(0), ..plan(Arrivals::Closed) };
    let takes = Duration::from(plan.measured) * 3;
    let mut sides: Vec<_> = (0..2)
        .map(|own| {
            let target = TurnTarget::<true> { turn: Arc::clone(&turn), own, takes, ..TurnTarget::default() };
            let target = Arc::new(target);
            let generator = Generator::open(&plan, &target, |_| Numbers::new(0), Monotonic::start());
            (generator.unwrap(), target)
        })
        .collect();
    for own in [0, 1, 1, 0] {
        turn.store(own, Ordering::Relaxed);
        let (generator, target) = &mut sides[own as usize];
        let before = target.seen.calls.load(Ordering::Relaxed);
        let trial = round(generator, &plan).unwrap();
        let call_counts = trial.totals.call_counts();
        assert_eq!((call_counts.balance(), trial.failure), (Ok(()), None));
        assert_eq!((call_counts.started, call_counts.committed), (3, 3));
        assert_eq!((trial.ledger.committed, trial.span), (3, plan.measured));
        assert_eq!(target.seen.calls.load(Ordering::Relaxed) - before, 3);
    }
}

/// As after Ctrl-C between two rounds.
#[test]
fn a_round_that_is_asked_to_stop_before_it_begins_makes_no_call() {
    let seen = Arc::new(Seen::default());
    let target = TurnTarget::<false> { seen: Arc::clone(&seen), ..TurnTarget::default() };
    let plan = plan(Arrivals::Closed);
    let inputs = |_| Numbers::new(0);
    let mut generator = Generator::open(&plan, &Arc::new(target), inputs, Monotonic::start()).unwrap();
    let stop = Stop::new();
    stop.request();
    let trial = generator
        .round(Round::of(&plan), &Posted::default, &stop, &mut |_: &TrialProgress<'_, Toy>| {})
        .unwrap();
    assert!(trial.interrupted);
    assert_eq!(seen.calls.load(Ordering::Relaxed), 0);
}
