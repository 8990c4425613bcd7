//! A call allocates nothing: not in the loop, not in the inputs, not on the tape, not while waiting.
#![expect(unsafe_code, reason = "a counting allocator must implement an unsafe trait; it only passes on")]

use crate::toy::{self, Call, Numbers, Outcome, Posted, Toy};
use drive::{Arrivals, Plan, RatePerSecond, Stop, TrialProgress};
use measure::Monotonic;
use model::{AnyTarget, CallWork, Fault, Home, Nanos, OpenError, Session, Stack, StatementTimes, Target};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

thread_local! {
    /// Allocations of this thread. The collector has a thread of its own, and may allocate.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and makes no calls either.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every method passes its arguments on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls of a session after which everything that is made once has been made.
const SETTLED: u64 = 200;

/// Trials of a plan, until one shows nothing. What happens once in the life of a thread, such as its first wait for a lock
/// that someone holds, may come after it has settled, and a machine may not run us; what a call does, every trial shows.
const TRIALS_MAX: usize = 5;
/// What is allocated once, on the way. A call that allocates does so again and again.
const A_FEW: u64 = 8;

/// What the sessions of a trial have seen.
#[derive(Default)]
struct Seen {
    calls: AtomicU64,
    allocations: AtomicU64,
}

struct Watching<const TASK: bool>(Arc<Seen>);

struct WatchingSession {
    task: bool,
    seen: Arc<Seen>,
    calls: u64,
    before: u64,
    times: StatementTimes,
}

impl<const TASK: bool> Target<Toy> for Watching<TASK> {
    type Session = WatchingSession;

    fn home(&self) -> Home {
        if TASK { Home::Task } else { Home::Thread }
    }

    async fn open(&self, _worker: u32) -> Result<WatchingSession, OpenError> {
        let (seen, times) = (Arc::clone(&self.0), StatementTimes::default());
        Ok(WatchingSession { task: TASK, seen, calls: 0, before: 0, times })
    }

    fn stack(&self) -> Stack {
        toy::stack()
    }
}

impl Session<Toy> for WatchingSession {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let allocations = ALLOCATIONS.get();
        if self.calls == SETTLED {
            self.before = allocations;
        }
        self.calls += 1;
        if self.calls > SETTLED {
            self.seen.calls.fetch_add(1, Ordering::Relaxed);
            self.seen.allocations.fetch_max(allocations - self.before, Ordering::Relaxed);
        }
        work.attempts = 1;
        if work.clocked {
            self.times.add(0, 1, Nanos(1));
        }
        if self.task {
            tokio::task::yield_now().await;
        }
        Ok(if call.number % 100 == 99 { Outcome::No } else { Outcome::Done })
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(&self.times)
    }
}

#[track_caller]
fn check<const TASK: bool>(arrivals: Arrivals, calls_min: u64) {
    let mut found = Vec::new();
    while found.len() < TRIALS_MAX && found.last().is_none_or(|(_, allocations)| *allocations < A_FEW) {
        let (calls, allocations) = watched::<TASK>(arrivals);
        if calls >= calls_min && allocations == 0 {
            return;
        }
        found.push((calls, allocations));
    }
    panic!("calls (at least {calls_min} are wanted) and allocations of a session in each trial: {found:?}");
}

/// Calls that were watched in a trial, and the most allocations that a session saw meanwhile.
fn watched<const TASK: bool>(arrivals: Arrivals) -> (u64, u64) {
    let plan = Plan {
        arrivals,
        workers: 4,
        warmup: Nanos::from_millis(100),
        measured: Nanos::from_millis(500),
        // Many slices, so that pages are turned often.
        slice: Nanos::from_millis(10),
        ..Plan::default()
    };
    let seen = Arc::new(Seen::default());
    // Behind a pointer, as every subject of a user's is driven.
    let target = Arc::new(AnyTarget::new(Watching::<TASK>(Arc::clone(&seen))));
    let (inputs, clock, stop) = (|_| Numbers::new(0), Monotonic::start(), Stop::new());
    let trial =
        drive::run(&plan, &target, inputs, Posted::default, clock, &stop, &mut |_: &TrialProgress<
            '_,
            Toy,
        >| {});
    let trial = trial.expect("the plan is valid and the target opens");
    assert!(trial.slices.len() >= 50);
    (seen.calls.load(Ordering::Relaxed), seen.allocations.load(Ordering::Relaxed))
}

#[test]
fn a_call_allocates_nothing_on_tasks() {
    check::<true>(Arrivals::Closed, 10_000);
    check::<true>(Arrivals::Constant(RatePerSecond(8_000.0)), 2_000);
    check::<true>(Arrivals::Poisson(RatePerSecond(8_000.0)), 2_000);
}

#[test]
fn a_call_allocates_nothing_on_threads() {
    check::<false>(Arrivals::Closed, 10_000);
    check::<false>(Arrivals::Constant(RatePerSecond(8_000.0)), 1_000);
}
