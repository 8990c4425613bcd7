//! What the calls of a load generator come to, from what it says of them: the parent draws the same calls and keeps the ledger.

use crate::ends::End;
use crate::generator::LoadOrder;
use crate::lines::{Line, digest, read};
use anyhow::{Result, bail};
use deploy::GeneratorProcess;
use measure::Monotonic;
use model::{Clock, Doubt, Fault, Inputs, Ledger, Nanos, Verdict};
use result::DrillCalls;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;
use targets::Driven;

/// What is looked at while lines come.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// The calls of one generator.
pub(crate) struct Load<W: Driven> {
    pub(crate) process: GeneratorProcess,
    /// As the generator's.
    clock: Monotonic,
    workers: Vec<Worker<W>>,
    size: W::Extent,
    /// What all that it was told implies about the data.
    pub(crate) ledger: W::Ledger,
    pub(crate) calls: DrillCalls,
    /// Each call that ended.
    pub(crate) ends: Vec<End>,
    /// When the first call was answered, if one was.
    pub(crate) first: Option<Nanos>,
    /// Whether it has said that no call is made any more; and why that came by itself, if it did.
    pub(crate) ended: Option<Option<String>>,
}

struct Worker<W: Driven> {
    inputs: W::Inputs,
    under_way: Option<(W::Call, Nanos)>,
}

/// From when on, and for which calls, it is noted how long nothing was committed and how long calls took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Struck {
    pub(crate) at: Nanos,
    /// When striking was done: a call that began before may have met a component that was still there.
    pub(crate) done: Nanos,
    /// The store that was struck, where calls of others tell nothing about it.
    pub(crate) store: Option<usize>,
}

/// What came after a fault.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Aftermath {
    /// From the fault to the end of the first call that was begun after it and committed.
    pub(crate) first_commit: Option<Nanos>,
    /// The longest time that a call took which ended after it.
    pub(crate) longest: Nanos,
    /// Calls that were refused after it.
    pub(crate) refused: u64,
}

/// What was struck, and what was seen of it since; nothing before.
pub(crate) type After = Option<(Struck, Aftermath)>;

impl<W: Driven> Load<W> {
    pub(crate) fn of(
        process: GeneratorProcess,
        clock: Monotonic,
        order: &LoadOrder,
        size: &W::Extent,
    ) -> Load<W> {
        let streams = order.streams();
        let inputs = workload::inputs::<W>(size, &streams);
        Load {
            process,
            clock,
            workers: (0..order.clients)
                .map(|worker| Worker { inputs: inputs(worker), under_way: None })
                .collect(),
            size: size.clone(),
            ledger: W::new_ledger(size),
            calls: DrillCalls::default(),
            ends: Vec::new(),
            first: None,
            ended: None,
        }
    }

    /// Enters what is said for `span`, or until `enough`. Whether the generator still says something.
    pub(crate) fn listen(
        &mut self,
        span: Duration,
        after: &mut After,
        enough: &mut dyn FnMut(&Self, &After) -> bool,
    ) -> Result<bool> {
        let until = self.clock.now() + Nanos::from(span);
        loop {
            if enough(self, after) {
                return Ok(true);
            }
            let now = self.clock.now();
            if now >= until {
                return Ok(true);
            }
            match self.process.output.recv_timeout(LOOK.min((until - now).into())) {
                Ok(text) => self.enter(&text, after)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
            }
        }
    }

    /// Enters all that a generator has said that is gone. What it had under way is in doubt.
    pub(crate) fn gone(&mut self, after: &mut After) -> Result<()> {
        loop {
            match self.process.output.try_recv() {
                Ok(text) => self.enter(&text, after)?,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => std::thread::sleep(LOOK),
            }
        }
        for worker in &mut self.workers {
            if let Some((call, _)) = worker.under_way.take() {
                self.calls.in_doubt += 1;
                self.ledger.post(&call, &Err(Fault::InDoubt(Doubt::ConnectionLost)));
            }
        }
        Ok(())
    }

    fn enter(&mut self, text: &str, after: &mut After) -> Result<()> {
        let (at, line) = match read(text) {
            Ok(line) => line,
            // The last line of a generator that was killed may have been cut off.
            Err(_) if !text.ends_with('\n') => return Ok(()),
            Err(error) => bail!("the load generator wrote an unreadable line ({error}): {text}"),
        };
        match line {
            Line::Begun { worker, digest: listed } => {
                let worker = self.worker(worker)?;
                let call = worker.inputs.draw();
                if digest::<W>(&call) != listed {
                    bail!("the load generator makes other calls than were drawn for it");
                }
                worker.under_way = Some((call, at));
                self.calls.started += 1;
            }
            Line::Unsent { worker } => {
                let call = self.worker(worker)?.inputs.draw();
                self.ended(
                    &call,
                    at,
                    at,
                    &Sorted::Failed(Fault::Refused(model::Refusal::Unreachable)),
                    after,
                );
            }
            Line::Answered { worker, answer } => {
                let worker = self.worker(worker)?;
                let Some((call, started)) = worker.under_way.take() else { bail!("{NONE}") };
                let outcome = answer.outcome::<W>(&call)?;
                if let Err(what) =
                    W::check(&call, &outcome).and_then(|()| worker.inputs.check(&call, &outcome))
                {
                    bail!("a call had a wrong answer: {what}");
                }
                self.first.get_or_insert(at);
                self.ended(&call, started, at, &Sorted::Answered(W::verdict(&outcome)), after);
                self.ledger.post(&call, &Ok(outcome));
            }
            Line::Failed { worker, how, why } => {
                let Some((call, started)) = self.worker(worker)?.under_way.take() else { bail!("{NONE}") };
                let fault = how.fault(&why);
                self.ended(&call, started, at, &Sorted::Failed(fault.clone()), after);
                self.ledger.post(&call, &Err(fault));
            }
            Line::Ended { failure } => self.ended = Some(failure),
        }
        Ok(())
    }

    fn worker(&mut self, worker: u32) -> Result<&mut Worker<W>> {
        match self.workers.get_mut(worker as usize) {
            Some(worker) => Ok(worker),
            None => bail!("the load generator has no worker {worker}"),
        }
    }

    /// Counts a call that has ended, and what that says after a fault.
    fn ended(&mut self, call: &W::Call, started: Nanos, at: Nanos, how: &Sorted, after: &mut After) {
        let count = match how {
            Sorted::Answered(Verdict::Committed) => &mut self.calls.committed,
            Sorted::Answered(Verdict::Declined) => &mut self.calls.declined,
            Sorted::Failed(Fault::Conflict(_)) => &mut self.calls.conflicts,
            Sorted::Failed(Fault::Refused(_)) => &mut self.calls.refused,
            Sorted::Failed(Fault::InDoubt(_)) => &mut self.calls.in_doubt,
            Sorted::Failed(Fault::Defect(_)) => &mut self.calls.defects,
        };
        *count += 1;
        let (kind, store) = (W::kind(call), W::shard(&self.size, call));
        let answer = match how {
            Sorted::Answered(verdict) => Some(*verdict),
            Sorted::Failed(_) => None,
        };
        self.ends.push(End { at, answer, kind, store });
        let Some((struck, aftermath)) = after.as_mut().filter(|(struck, _)| at >= struck.at) else { return };
        aftermath.longest = aftermath.longest.max(at - started);
        match how {
            Sorted::Failed(Fault::Refused(_)) => aftermath.refused += 1,
            Sorted::Answered(Verdict::Committed)
                if started >= struck.done && struck.store.is_none_or(|struck| struck == store) =>
            {
                aftermath.first_commit.get_or_insert(at - struck.at);
            }
            _ => {}
        }
    }
}

const NONE: &str = "the load generator reported the end of a call that it had not started";

enum Sorted {
    Answered(Verdict),
    Failed(Fault),
}
