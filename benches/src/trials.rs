//! Trials by the load generator as `stackmark run` makes them, one after the other in one process.

use drive::{Plan, Stop, TrialProgress};
use measure::{Monotonic, Totals, WorkSums};
use model::{Nanos, RetryPolicy, RetryingTarget, Target, Workload};
use std::sync::Arc;
use tokio::runtime::Builder;

/// Clients of the goals.
pub const CLIENTS: u32 = 8;

/// What a trial gave.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Calls that committed in the window, by kind, a second.
    pub rates: Vec<f64>,
    /// CPU time of the generator's threads for a committed call of any kind, in microseconds, warm-up included.
    pub cpu_micros: f64,
    /// Statements of a committed call of any kind, without begin and commit.
    pub statements: f64,
    /// Transactions that it committed.
    pub commits: f64,
}

impl Figures {
    /// Committed calls of all kinds, a second.
    pub fn all(&self) -> f64 {
        self.rates.iter().sum()
    }

    /// Committed calls of the workload's first kind a minute: TPC-C's new orders.
    pub fn first_a_minute(&self) -> f64 {
        self.rates[0] * 60.0
    }
}

/// Makes a trial of eight clients in a closed loop on one thread.
///
/// # Panics
/// When it fails: then it is not a measurement.
pub fn trial<W: Workload, T: Target<W>>(
    target: &Arc<RetryingTarget<T>>,
    window: (Nanos, Nanos),
    seed: u64,
    inputs: impl Fn(u32) -> W::Inputs,
    ledger: impl Fn() -> W::Ledger,
) -> Figures {
    trial_of::<W, T>(CLIENTS, target, window, seed, inputs, ledger)
}

/// The same of so many clients.
///
/// # Panics
/// When it fails: then it is not a measurement.
pub fn trial_of<W: Workload, T: Target<W>>(
    clients: u32,
    target: &Arc<RetryingTarget<T>>,
    (warmup, measured): (Nanos, Nanos),
    seed: u64,
    inputs: impl Fn(u32) -> W::Inputs,
    ledger: impl Fn() -> W::Ledger,
) -> Figures {
    let plan = Plan { workers: clients, warmup, measured, seed, ..Plan::default() };
    let trial = drive::run::<W, _, _>(
        &plan,
        target,
        inputs,
        ledger,
        Monotonic::start(),
        &Stop::new(),
        &mut |_: &TrialProgress<'_, W>| {},
    );
    let trial = trial.expect("the plan is valid and the target opens");
    assert_eq!(trial.failure, None, "a trial that fails is not a measurement");
    let Totals { kinds, .. } = &trial.totals;
    let seconds = trial.span.as_secs_f64();
    let rates = kinds.iter().map(|kind| kind.ended.committed as f64 / seconds).collect();
    let committed = trial.totals.call_counts().committed + trial.uncounted.committed;
    let sum = |of: fn(&WorkSums) -> u64| kinds.iter().map(|kind| of(&kind.work)).sum::<u64>() as f64;
    let calls = sum(|work| work.calls);
    Figures {
        rates,
        cpu_micros: trial.cpu.as_secs_f64() * 1e6 / committed as f64,
        statements: sum(|work| work.statements) / calls,
        commits: sum(|work| work.commits) / calls,
    }
}

/// A target with the one retry policy around it.
pub fn retrying<T>(target: T) -> Arc<RetryingTarget<T>> {
    Arc::new(RetryingTarget::new(target, RetryPolicy::default()))
}

/// Waits for something that is done once, before the trials.
///
/// # Panics
/// When it fails, or the system gives no runtime.
pub fn reach<T, E: std::fmt::Debug>(future: impl Future<Output = Result<T, E>>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().expect("the system gives a runtime");
    runtime.block_on(future).expect("what the bench has loaded can be reached")
}
