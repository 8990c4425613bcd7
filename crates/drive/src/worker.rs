//! The loop: what one worker does from the start of a trial to its end.
//!
//! It is the same for every kind of arrivals. A closed loop, a paced client, a timetable and the queue of deferred
//! calls differ in one thing only: when the next call is due. The worker does not know what it measures, nor on which
//! clock.

use crate::arrivals::NextCall;
use crate::control::Control;
use crate::crew::{Job, ResumedWorker, Seat};
use crate::plan::Deferred;
use crate::timer::{Missed, Timer};
use async_channel::{Receiver, Sender};
use measure::{Moments, Tape};
use model::{
    CallWork, DefectKind, Doubt, Fault, Inputs, Kind, Nanos, OpenError, Refusal, Session, StatementTimes,
    Target, Verdict, Workload,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Pause after a first refused call; it doubles with each further one, so that a dead server does not make us spin.
const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// The longest pause after refused calls.
const PAUSE_MAX: Nanos = Nanos::from_millis(100);
/// One call in this many of each worker has a clock around each statement. Two readings of 25 ns a statement are some 2 µs
/// for a New-Order of 46, so some 40 ns a call on average.
pub const CLOCKED_EVERY: u32 = 64;

/// Makes calls with one session, one at a time.
pub(crate) struct Worker<W: Workload, T: Target<W>, M: Timer> {
    pub(crate) id: u32,
    pub(crate) target: Arc<T>,
    /// Absent after a call in doubt, until the next call needs it.
    pub(crate) session: Option<T::Session>,
    pub(crate) source: Source<W>,
    /// Where calls of deferrable kinds go, if the plan defers them.
    pub(crate) queue: Option<Sender<Queued<W>>>,
    pub(crate) timer: M,
    /// One for all workers of a thread: its page stays in the cache, and there are few to merge.
    pub(crate) tape: Rc<RefCell<Tape<W>>>,
    pub(crate) control: Arc<Control>,
    pub(crate) limits: Limits,
    /// Calls refused in a row.
    pub(crate) refused: u32,
    /// Remaining call budget of the window; `None` means unlimited.
    pub(crate) tickets: Option<u64>,
    /// Calls so far, from the worker's number on, so that workers do not clock theirs at the same time.
    pub(crate) calls: u32,
}

/// Spans that bound a worker's calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The beginning of the trial.
    pub(crate) start: Nanos,
    /// A call takes no longer than this.
    pub(crate) deadline: Nanos,
    /// After the window no call begins or ends later than this.
    pub(crate) drain: Nanos,
}

/// Where calls come from.
pub(crate) enum Source<W: Workload> {
    /// Drawn by the worker itself.
    Own { inputs: W::Inputs, turn: NextCall },
    /// Queued by other workers; the settings are kept for the next round.
    Queue(Receiver<Queued<W>>, Deferred),
}

/// A call that waits for a worker of its own.
pub(crate) struct Queued<W: Workload> {
    call: W::Call,
    due: Nanos,
}

impl<W: Workload, T: Target<W>, M: Timer> Worker<W, T, M> {
    /// Makes calls until none is due any more, and gives back what it keeps for the next round.
    pub(crate) async fn run(mut self) -> ResumedWorker<W, T> {
        self.make_calls().await;
        let job = match self.source {
            Source::Own { inputs, .. } => Job::Client(inputs),
            Source::Queue(_, deferred) => Job::Deferred(deferred),
        };
        ResumedWorker { seat: Seat { id: self.id, job }, session: self.session, calls: self.calls }
    }

    async fn make_calls(&mut self) {
        self.timer.sleep_until(self.limits.start).await;
        let mut free = self.limits.start;
        while let Some((call, due)) = self.source.next().await {
            if let Some(due) = due {
                // Before it waits: no one else would end the window meanwhile.
                if !self.has_ticket(due) {
                    self.control.worker_finished(free);
                    break;
                }
                self.wait_for(due).await;
            }
            let started = self.timer.now();
            self.control.check_stop(started);
            // In a closed loop a call is due the moment its worker is free.
            let due = due.unwrap_or(started);
            let closes = self.control.closes();
            if due >= closes {
                match self.source.supply() {
                    Supply::Worker | Supply::Timetable => break,
                    Supply::Queue => continue,
                }
            }
            if self.control.is_cut_short() || started >= closes + self.limits.drain {
                self.tape.borrow_mut().record_dropped(due, self.control.window(started));
                match self.source.supply() {
                    Supply::Worker => break,
                    Supply::Timetable | Supply::Queue => continue,
                }
            }

            if !self.take_ticket(due, started) {
                self.control.worker_finished(free);
                break;
            }

            let kind = &W::KINDS[W::kind(&call)];
            let mut work = CallWork::default();
            let result = match self.hand_over(kind, &call, due) {
                Some(Ok(())) => {
                    let queued = self.timer.now();
                    self.tape.borrow_mut().record_queueing(due, queued, self.control.window(queued));
                    self.source.answered(queued, kind);
                    free = queued;
                    continue;
                }
                Some(Err(refusal)) => Err(Fault::Refused(refusal)),
                None => {
                    work.clocked = self.is_clocked();
                    self.answer(&call, started, &mut work).await
                }
            };
            let ended = self.timer.now();
            let statements = if work.clocked { self.statement_times() } else { None };
            let (spent, took) = (work.spent, ended - started);
            let result = result.and_then(|outcome| {
                let of_statements = || spent.impossible_statements(statements?.total(), took);
                match spent.impossible(took).or_else(of_statements) {
                    None => Ok(outcome),
                    Some(found) => Err(Fault::defect(DefectKind::BadAnswer, found.to_string())),
                }
            });
            work.spent = spent.within(took);

            let moments = Moments { due, free, started, ended };
            let window = self.control.window(ended);
            self.tape.borrow_mut().record(&call, &result, moments, &work, statements, window);
            self.control.outages().note(&result, ended);
            free = self.react(kind, &result, ended).await;
            self.source.answered(free, kind);
        }
    }

    /// Whether a call that is due then may be made as far as the number of calls goes.
    #[inline]
    fn has_ticket(&mut self, due: Nanos) -> bool {
        let Some(locked) = &mut self.tickets else { return true };
        if *locked == 0 && due >= self.control.window(Nanos::ZERO).opens {
            *locked = self.control.take_tickets();
            return *locked > 0;
        }
        true
    }

    /// The same for a call that begins now, which counts if it was due in the window.
    #[inline]
    fn take_ticket(&mut self, due: Nanos, started: Nanos) -> bool {
        if self.tickets.is_none() || due < self.control.window(started).opens {
            return true;
        }
        let has = self.has_ticket(due);
        self.tickets = self.tickets.map(|locked| locked.saturating_sub(1));
        has
    }

    /// Waits until a call is due, but for one that is due after the window. As long as the window is not open no one knows
    /// where it ends.
    #[inline]
    async fn wait_for(&mut self, due: Nanos) {
        while due >= self.control.closes() && !self.control.is_open(self.timer.now()) {
            let opens = self.control.window(Nanos::ZERO).opens;
            self.timer.sleep_until(opens).await;
            if self.control.is_ending() {
                return;
            }
        }
        if due < self.control.closes() {
            self.timer.sleep_until(due).await;
        }
    }

    /// Whether the next call is one of those with a clock around each statement.
    #[inline]
    fn is_clocked(&mut self) -> bool {
        self.calls = self.calls.wrapping_add(1);
        self.calls.is_multiple_of(CLOCKED_EVERY)
    }

    /// What the statements of the last call took; a session that was dropped after it has no account of it.
    #[cold]
    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.as_ref().and_then(T::Session::statement_times)
    }

    /// Puts a call into the queue if its kind is deferred; `None` if it is to be made here and now.
    #[inline]
    fn hand_over(&self, kind: &Kind, call: &W::Call, due: Nanos) -> Option<Result<(), Refusal>> {
        let queue = self.queue.as_ref().filter(|_| kind.deferred_p90_max.is_some())?;
        Some(queue.try_send(Queued { call: call.clone(), due }).map_err(|_| Refusal::QueueFull))
    }

    /// Makes one call and checks its answer. A session whose call is in doubt is dropped, because no one knows what it
    /// would answer next; and one that reaches no one, because it never will again.
    async fn answer(
        &mut self,
        call: &W::Call,
        started: Nanos,
        work: &mut CallWork,
    ) -> Result<W::Outcome, Fault> {
        let drained = self.control.closes() + self.limits.drain;
        let deadline = (started + self.limits.deadline).min(drained);
        if self.session.is_none() {
            self.reopen(deadline).await?;
        }
        let session = self.session.as_mut().expect("it was there or has just been reopened");
        let outcome = match self.timer.within(deadline, session.run(call, work)).await {
            Ok(result) => result,
            Err(Missed) => Err(Fault::InDoubt(Doubt::Deadline)),
        };
        if matches!(outcome, Err(Fault::InDoubt(_) | Fault::Refused(Refusal::Unreachable))) {
            self.session = None;
        }
        let outcome = outcome?;
        match self.source.check(call, &outcome) {
            Ok(()) => Ok(outcome),
            Err(what) => Err(Fault::defect(DefectKind::BadAnswer, what)),
        }
    }

    /// Opens a new session, on the clock of the call that needs it.
    #[cold]
    async fn reopen(&mut self, deadline: Nanos) -> Result<(), Fault> {
        match self.timer.within(deadline, self.target.open(self.id)).await {
            Ok(Ok(session)) => {
                self.session = Some(session);
                return Ok(());
            }
            Ok(Err(error @ OpenError::Unusable { .. })) => {
                let why = format!("worker {} could not reopen its session: {error}", self.id);
                self.control.fail(self.timer.now(), why);
            }
            Ok(Err(OpenError::Unreachable { .. })) | Err(Missed) => {}
        }
        Err(Fault::Refused(Refusal::Unreachable))
    }

    /// Does what a fault asks for, beyond being counted, and says when the worker is free again: a pause is ours, and
    /// must not make the next call late.
    #[inline]
    async fn react(&mut self, kind: &Kind, result: &Result<W::Outcome, Fault>, ended: Nanos) -> Nanos {
        match result {
            Err(Fault::Refused(_)) => {
                let pause = Nanos(PAUSE_MIN.0 << self.refused.min(4)).min(PAUSE_MAX);
                self.refused += 1;
                self.timer.sleep_until(ended + pause).await;
                return ended + pause;
            }
            Err(Fault::Defect(defect)) => {
                self.control.fail_by_defect(ended, format!("{}: {defect}", kind.name));
            }
            Ok(_) | Err(Fault::Conflict(_) | Fault::InDoubt(_)) => {}
        }
        self.refused = 0;
        ended
    }
}

impl<W: Workload> Source<W> {
    /// The next call and when it is due; no moment stands for as soon as the worker is free.
    #[inline]
    async fn next(&mut self) -> Option<(W::Call, Option<Nanos>)> {
        match self {
            Source::Own { inputs, turn } => {
                let call = inputs.draw();
                let due = turn.due(W::KINDS[W::kind(&call)].pace);
                Some((call, due))
            }
            Source::Queue(queue, _) => {
                let queued = queue.recv().await.ok()?;
                Some((queued.call, Some(queued.due)))
            }
        }
    }

    /// Checks an answer by all that is known: whether it fits its call, whether such a call may be declined at all, and,
    /// where the worker drew the call itself, by what its stream knows.
    #[inline]
    fn check(&mut self, call: &W::Call, outcome: &W::Outcome) -> Result<(), &'static str> {
        W::check(call, outcome)?;
        if W::verdict(outcome) == Verdict::Declined && !W::KINDS[W::kind(call)].may_be_declined() {
            return Err("a call was declined that cannot be declined");
        }
        match self {
            Source::Own { inputs, .. } => inputs.check(call, outcome),
            Source::Queue(..) => Ok(()),
        }
    }

    /// Notes when a call was answered, for the think time after it.
    #[inline]
    fn answered(&mut self, ended: Nanos, kind: &Kind) {
        if let Source::Own { turn, .. } = self {
            turn.answered(ended, kind.pace);
        }
    }

    /// Who supplies the calls, and so which of them are left when the window has closed.
    fn supply(&self) -> Supply {
        match self {
            Source::Own { turn: NextCall::WhenFree | NextCall::Paced(_), .. } => Supply::Worker,
            Source::Own { turn: NextCall::Timetable(_), .. } => Supply::Timetable,
            Source::Queue(..) => Supply::Queue,
        }
    }
}

/// Who supplies a worker's calls.
enum Supply {
    /// The worker: without this call there is no next one.
    Worker,
    /// All workers together: the next call is due whatever became of this one, and later than it.
    Timetable,
    /// Other workers: the queue is emptied to its end.
    Queue,
}
