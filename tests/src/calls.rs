//! Driving: a number of calls through the real load generator, or lists of calls from several threads at once.

use drive::{Plan, Stop, Trial, TrialProgress};
use measure::Monotonic;
use model::{CallWork, Clock, Fault, Home, Nanos, OpenError, Session, Stack, Target, Workload};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::runtime::{Builder, Runtime};
use workload_tpcc::{Call, Data, Inputs, Knowledge, Ledger, Outcome, Run, Tpcc};

use crate::store::{LOAD_SEED, Store};

/// Longer than any trial here may take, also on a slow machine; calls end them.
const TRIAL_MAX: Nanos = Nanos::from_secs(600);

/// For so long others may keep a session from being opened: a disk that stalls holds up whoever has the file.
const OPENING_MAX: Nanos = Nanos::from_secs(60);

/// A target that asks for the end of the trial after a number of calls, and keeps the calls if asked to.
#[derive(Debug)]
pub struct Counted<W: Workload, T> {
    target: T,
    count: Arc<Count>,
    workload: PhantomData<fn() -> W>,
}

#[derive(Debug)]
struct Count {
    calls: AtomicU64,
    last: u64,
    stop: Stop,
}

/// A session of [`Counted`].
#[derive(Debug)]
pub struct CountedSession<S> {
    session: S,
    count: Arc<Count>,
}

impl<W: Workload, S: Session<W>> Session<W> for CountedSession<S> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        if self.count.calls.fetch_add(1, Ordering::Relaxed) + 1 >= self.count.last {
            self.count.stop.request();
        }
        self.session.run(call, work).await
    }
}

impl<W: Workload, T: Target<W>> Target<W> for Counted<W, T> {
    type Session = CountedSession<T::Session>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        let session = self.target.open(worker).await?;
        Ok(CountedSession { session, count: self.count.clone() })
    }
    fn stack(&self) -> Stack {
        self.target.stack()
    }
}

/// Drives a target in a closed loop until so many calls have begun (a few more with several workers).
///
/// # Panics
/// When there is no trial.
pub fn drive<W: Workload, T: Target<W>>(
    target: T,
    workers: u32,
    calls: u64,
    inputs: impl Fn(u32) -> W::Inputs,
    ledger: impl Fn() -> W::Ledger,
) -> Trial<W> {
    let stop = Stop::new();
    let count = Arc::new(Count { calls: AtomicU64::new(0), last: calls, stop: stop.clone() });
    let target = Arc::new(Counted { target, count, workload: PhantomData });
    let plan = Plan {
        workers,
        warmup: Nanos::ZERO,
        measured: TRIAL_MAX,
        // Collected, and so ended, soon after the last call.
        slice: Nanos::from_millis(20),
        ..Plan::default()
    };
    let mut observer = |_: &TrialProgress<'_, W>| {};
    drive::run(&plan, &target, inputs, ledger, Monotonic::start(), &stop, &mut observer)
        .unwrap_or_else(|error| panic!("no trial: {error}"))
}

/// The standard's inputs on a store, driven, with answers held to all that is known, as users have it.
pub fn drive_tpcc<T: Target<Tpcc>>(
    store: &Store,
    target: T,
    workers: u32,
    calls: u64,
    seed: u64,
) -> Trial<Tpcc> {
    let run = Run { begin: i64::try_from(measure::unix_seconds()).ok(), ..Run::default() };
    let known = Knowledge::of(Data::new(store.size, LOAD_SEED), Some(&store.tallies()), run);
    let inputs = |worker| inputs(store, seed, worker).remembering(&known);
    drive(target, workers, calls, inputs, || Ledger::new(store.size))
}

/// The same by someone who holds an answer to its call alone, so that others can show what they find.
pub fn drive_trusting<T: Target<Tpcc>>(
    store: &Store,
    target: T,
    workers: u32,
    calls: u64,
    seed: u64,
) -> Trial<Tpcc> {
    drive(target, workers, calls, |worker| inputs(store, seed, worker), || Ledger::new(store.size))
}

/// The standard's inputs for a worker on a store.
pub fn inputs(store: &Store, seed: u64, worker: u32) -> Inputs {
    Inputs::new(store.size, Data::c_load_of(LOAD_SEED), seed, worker)
}

/// A runtime for the calling thread alone.
///
/// # Panics
/// When the system gives none.
pub fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a test needs a runtime")
}

/// Runs a future that never waits.
///
/// # Panics
/// When it does.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking driver's futures never wait"),
    }
}

/// Makes lists of calls at once, each on a thread and a session of its own. Gives the answers in the order of the calls.
///
/// # Panics
/// When a session cannot be opened, or panics.
pub fn at_once<T: Target<Tpcc>>(targets: &[&T], lists: &[Vec<Call>]) -> Vec<Vec<Result<Outcome, Fault>>> {
    let start = Barrier::new(lists.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(lists)
            .map(|(worker, calls)| {
                let (start, target) = (&start, targets[worker as usize % targets.len()]);
                scope.spawn(move || {
                    runtime().block_on(async {
                        let session = match targets {
                            [_] => target.open(worker).await,
                            _ => open(target, worker).await,
                        };
                        start.wait();
                        let mut session = session.expect("a store and a server that were just made");
                        let mut answers = Vec::with_capacity(calls.len());
                        for call in calls {
                            answers.push(session.run(call, &mut CallWork::default()).await);
                        }
                        answers
                    })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a session panicked")).collect()
    })
}

/// Opens a session besides those of other targets: under a busy timeout of nothing they keep each other out for moments.
/// Those of one target are opened one after the other.
async fn open<T: Target<Tpcc>>(target: &T, worker: u32) -> Result<T::Session, OpenError> {
    let clock = Monotonic::start();
    loop {
        let opened = target.open(worker).await;
        if !matches!(opened, Err(OpenError::Unreachable { .. })) || clock.now() > OPENING_MAX {
            return opened;
        }
        std::thread::yield_now();
    }
}

/// Calls as they reached the sessions, in the order in which they began.
pub type Log = Arc<Mutex<Vec<Call>>>;

/// A target whose sessions write down the calls that reach them.
#[derive(Debug)]
pub struct Recorded<T> {
    /// What runs the calls.
    pub target: T,
    /// Where they are written down.
    pub log: Log,
}

/// A session of [`Recorded`].
#[derive(Debug)]
pub struct RecordedSession<S> {
    session: S,
    log: Log,
}

impl<S: Session<Tpcc>> Session<Tpcc> for RecordedSession<S> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.log.lock().expect("no one panics while writing").push(call.clone());
        self.session.run(call, work).await
    }
}

impl<T: Target<Tpcc>> Target<Tpcc> for Recorded<T> {
    type Session = RecordedSession<T::Session>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        let session = self.target.open(worker).await?;
        Ok(RecordedSession { session, log: self.log.clone() })
    }
    fn stack(&self) -> Stack {
        self.target.stack()
    }
}

/// A subject of a workload has been asked what its calls left behind, by each kind of reading call, and answers as the data is
/// stored.
///
/// # Panics
/// Where that is not so.
#[track_caller]
pub fn assert_answers_match(trial: &serde_json::Value, workload: &str) {
    let kinds = match workload {
        "tpcb" => 0,
        "catalogue" => 5,
        _ => 2,
    };
    let audits = trial["audits"].as_array().expect("they are a list");
    let all: Vec<_> = audits.iter().filter(|audit| audit["family"] == "responses").collect();
    let is_closing =
        |audit: &&&serde_json::Value| audit["name"].as_str().is_some_and(|name| name.starts_with("closing-"));
    let closing = all.iter().filter(is_closing).count();
    assert!(closing == kinds && all.iter().all(|audit| audit["check"] == "passed"), "{all:#?}");
}
