//! The only place that repeats a call: the same policy on the direct route and inside a server.

use crate::{Effort, Fault, Home, OpenError, Session, Stack, StatementTimes, Target, Workload};

/// How often a call is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, at least 1. Only conflicts are tried again: nothing of them was applied.
    pub attempts_max: u32,
}

impl RetryPolicy {
    /// For a server, which has repeated what may be repeated.
    pub const ONCE: RetryPolicy = RetryPolicy { attempts_max: 1 };

    /// Runs a call, and repeats it after a conflict as often as this policy allows.
    ///
    /// # Errors
    /// The fault of the last attempt.
    pub async fn run<W: Workload, S: Session<W>>(
        self,
        session: &mut S,
        call: &W::Call,
        effort: &mut Effort,
    ) -> Result<W::Outcome, Fault> {
        let mut attempt = 1;
        loop {
            match session.run(call, effort).await {
                Err(Fault::Conflict(_)) if attempt < self.attempts_max => attempt += 1,
                result => return result,
            }
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy { attempts_max: 10 }
    }
}

/// Repeats a call that met a conflict, at once and up to the policy's limit.
///
/// There is no pause between attempts: engines that lock have already made the caller wait.
#[derive(Debug)]
pub struct Retrying<S> {
    session: S,
    policy: RetryPolicy,
}

impl<S> Retrying<S> {
    /// Wraps a session.
    pub fn new(session: S, policy: RetryPolicy) -> Retrying<S> {
        Retrying { session, policy }
    }
}

impl<W: Workload, S: Session<W>> Session<W> for Retrying<S> {
    async fn run(&mut self, call: &W::Call, effort: &mut Effort) -> Result<W::Outcome, Fault> {
        self.policy.run(&mut self.session, call, effort).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.statement_times()
    }
}

/// Opens sessions that retry.
#[derive(Debug)]
pub struct RetryingTarget<T> {
    /// The target underneath.
    pub target: T,
    /// The policy of every session.
    pub policy: RetryPolicy,
}

impl<W: Workload, T: Target<W>> Target<W> for RetryingTarget<T> {
    type Session = Retrying<T::Session>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        Ok(Retrying::new(self.target.open(worker).await?, self.policy))
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }

    fn unfinished(&self) -> u64 {
        self.target.unfinished()
    }
}
