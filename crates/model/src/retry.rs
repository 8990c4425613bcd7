//! The only place that repeats a call: the same policy on the direct route and inside a server.

use crate::{CallWork, Fault, Home, OpenError, Refusal, Session, Stack, StatementTimes, Target, Workload};
use std::sync::Arc;

/// How often a call is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, at least 1. Only conflicts are tried again: nothing of them was applied.
    pub attempts_max: u32,
    /// Whether a call whose session was found closed before anything was sent is made with a new session, once.
    pub reopens: bool,
}

impl RetryPolicy {
    /// For sessions over HTTP, which connect again by themselves and whose server repeats conflicts.
    pub const ONCE: RetryPolicy = RetryPolicy { attempts_max: 1, reopens: false };

    /// Runs a call, and repeats it after a conflict as often as this policy allows.
    pub async fn run<W: Workload, S: Session<W>>(
        self,
        session: &mut S,
        call: &W::Call,
        work: &mut CallWork,
    ) -> Result<W::Outcome, Fault> {
        let mut attempt = 1;
        loop {
            match session.run(call, work).await {
                Err(Fault::Conflict(_)) if attempt < self.attempts_max => attempt += 1,
                result => return result,
            }
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy { attempts_max: 10, reopens: true }
    }
}

/// Repeats a call that met a conflict, at once and up to the policy's limit, and replaces a session that a server closed while
/// it was idle.
///
/// There is no pause between attempts: engines that lock have already made the caller wait.
#[derive(Debug)]
pub struct Retrying<W: Workload, T: Target<W>> {
    /// Absent only while a new one is opened, and where that failed.
    session: Option<T::Session>,
    target: Arc<T>,
    worker: u32,
    policy: RetryPolicy,
}

impl<W: Workload, T: Target<W>> Session<W> for Retrying<W, T> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        let policy = self.policy;
        let Some(session) = &mut self.session else { return Err(Fault::Refused(Refusal::Unreachable)) };
        match policy.run(session, call, work).await {
            Err(Fault::Refused(Refusal::Unreachable)) if policy.reopens => {
                let session = self.reopen().await?;
                work.reconnects += 1;
                policy.run(session, call, work).await
            }
            result => result,
        }
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.as_ref().and_then(T::Session::statement_times)
    }
}

impl<W: Workload, T: Target<W>> Retrying<W, T> {
    /// What keeps a new session from opening is found again, and reported, when the next one is opened.
    #[cold]
    async fn reopen(&mut self) -> Result<&mut T::Session, Fault> {
        // First: of a session over several stores, the others' connections may be open, and their servers full.
        self.session = None;
        let opened = self.target.open(self.worker).await;
        let opened = opened.map_err(|_| Fault::Refused(Refusal::Unreachable))?;
        Ok(self.session.insert(opened))
    }
}

/// Opens sessions that retry.
#[derive(Debug)]
pub struct RetryingTarget<T> {
    target: Arc<T>,
    /// The policy of every session.
    pub policy: RetryPolicy,
}

impl<T> RetryingTarget<T> {
    /// Sessions of `target`, with a policy.
    pub fn new(target: T, policy: RetryPolicy) -> RetryingTarget<T> {
        RetryingTarget { target: Arc::new(target), policy }
    }
}

impl<T> Clone for RetryingTarget<T> {
    fn clone(&self) -> RetryingTarget<T> {
        RetryingTarget { target: Arc::clone(&self.target), policy: self.policy }
    }
}

impl<W: Workload, T: Target<W>> Target<W> for RetryingTarget<T> {
    type Session = Retrying<W, T>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        let (session, target) = (self.target.open(worker).await?, Arc::clone(&self.target));
        Ok(Retrying { session: Some(session), target, worker, policy: self.policy })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }

    fn unfinished(&self) -> u64 {
        self.target.unfinished()
    }
}
