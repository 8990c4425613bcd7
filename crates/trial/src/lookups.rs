//! Acknowledged calls are looked up at once, while those that are made do not count: before the window, and for a moment after it.

use crate::closing::{PAUSES, SHOWN, of_answers, reference};
use crate::follow::Follow;
use crate::job::Job;
use crate::moments::MomentChecker;
use contract::conformance::{call_json, describe, short};
use deploy::Route;
use drive::{Observer, Round, RunError, TrialProgress};
use measure::Monotonic;
use model::{CallWork, Doubt, Fault, Nanos, Session, Target};
use result::{Audit, Check};
use sql::Dialect;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use targets::{Arriving, Driven, Sampled, Sampler, TrialSession, TrialTarget, wait_for};
use tokio::time::{sleep, timeout};

/// From one call that was looked up to the next.
const APART: Duration = Duration::from_millis(50);
/// How soon the end is noticed.
const LOOK: Duration = Duration::from_millis(20);
/// An answer, or a session, is waited for no longer.
const LONGEST: Duration = Duration::from_secs(2);

/// How long calls are made and looked up after the window, and no longer than the warm-up: a server that is right in its first
/// seconds alone does not know when they come again.
const AFTER: Nanos = Nanos::from_secs(1);

/// Whether calls are looked up now.
#[derive(Debug, Default)]
pub(crate) struct LookupSwitch {
    on: AtomicBool,
    over: AtomicBool,
}

impl LookupSwitch {
    /// The window opens: nothing but the calls is to take time.
    pub(crate) fn pause(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    fn resume(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    /// For good.
    fn end(&self) {
        self.pause();
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Looks up calls whenever it is on.
pub(crate) struct Lookups<W: Driven> {
    pub(crate) sampler: Arc<Sampler<W>>,
    pub(crate) switch: Arc<LookupSwitch>,
    follower: Option<Follower<W>>,
    thread: Option<JoinHandle<LookupCounts>>,
    /// Of a store that can be looked at meanwhile.
    moments: Option<MomentChecker>,
}

/// Who looks up.
struct Follower<W: Driven> {
    /// Over whose sessions.
    target: Arc<TrialTarget<W>>,
    /// After which times a call that was not found is looked up again.
    pauses: &'static [Duration],
    sampler: Arc<Sampler<W>>,
    arriving: Arriving<W>,
    switch: Arc<LookupSwitch>,
}

/// What was looked up.
#[derive(Default)]
struct LookupCounts {
    /// Calls of which it is known whether they were found.
    calls: u64,
    /// Those that were not.
    missing: u64,
    /// Some of these, in words.
    shown: Vec<String>,
    /// Why no other call was looked up.
    ended_by: Option<String>,
}

impl<W: Driven> Job<'_, W> {
    /// Of a server that is warmed up; a time in which calls do not count. Calls are looked up by our own statements where another session does not disturb the
    /// server's (SQLite has one lock) and sees all at once (two stores do not commit in one moment); otherwise over another session of
    /// the server, if it has a `spare` one, which has some time to show them.
    pub(crate) fn lookups(&self, target: &Arc<TrialTarget<W>>, spare: bool) -> Option<Lookups<W>> {
        if self.subject.route() == Route::Direct || self.plan.warmup == Nanos::ZERO {
            return None;
        }
        let (how, urls) = (self.subject.how, self.databases.urls());
        let sees_all = self.audited && urls.len() == 1 && how.dialect != Dialect::Sqlite;
        let store =
            sees_all.then(|| targets::target_over::<W>(reference(how, 1), &urls, &self.databases.size));
        let (target, pauses) = match store.and_then(Result::ok) {
            Some(store) => (Arc::new(store), &PAUSES[..0]),
            None if spare => (Arc::clone(target), &PAUSES[..]),
            None => return None,
        };
        let moments = urls.first().filter(|_| sees_all).and_then(MomentChecker::of::<W>);
        let (sampler, arriving) = Sampler::new();
        let switch = Arc::new(LookupSwitch::default());
        let (its_sampler, its_switch) = (Arc::clone(&sampler), Arc::clone(&switch));
        let follower = Follower { target, pauses, sampler: its_sampler, arriving, switch: its_switch };
        Some(Lookups { sampler, switch, follower: Some(follower), thread: None, moments })
    }

    /// Makes the calls of a trial, and looks some of them up; who looks is to be ended.
    pub(crate) fn make_calls(
        &self,
        target: &Arc<TrialTarget<W>>,
        spare: bool,
        plan: &drive::Plan,
        inputs: &dyn Fn(u32) -> W::Inputs,
        clock: Monotonic,
        follow: &mut Follow<'_, '_, W>,
    ) -> (Result<drive::Trial<W>, RunError>, Option<Lookups<W>>) {
        let mut lookups = self.lookups(target, spare);
        follow.lookups = lookups.as_ref().map(|lookups| Arc::clone(&lookups.switch));
        let sampled = Sampled::new(target, lookups.as_ref().map(|lookups| Arc::clone(&lookups.sampler)));
        let driven = W::generator(plan, sampled, inputs, clock).and_then(|mut generator| {
            let (ledger, stop) = (|| W::new_ledger(&self.databases.size), follow.stop.clone());
            lookups.iter_mut().for_each(Lookups::resume);
            let mut trial = generator.round(Round::of(plan), &ledger, &stop, follow)?;
            if let Some(lookups) = lookups.as_mut().filter(|_| self.goes_on_after(&trial, follow)) {
                lookups.resume();
                let measured = AFTER.min(plan.warmup);
                let round =
                    Round { warmup: Nanos::ZERO, warmup_max: Nanos::ZERO, measured, ..Round::of(plan) };
                trial.absorb_uncounted(generator.round(round, &ledger, &stop, &mut AfterWindow(follow))?);
            }
            generator.close()?;
            Ok(trial)
        });
        (driven, lookups)
    }

    /// Whether calls are made after the window: not where their number was given, where the load has a shape or is that of several
    /// processes, where something else works on what calls leave, or where the trial has ended otherwise than planned.
    fn goes_on_after(&self, trial: &drive::Trial<W>, follow: &Follow<'_, '_, W>) -> bool {
        let drive::Plan { calls, stages, part, deferred, .. } = &self.plan;
        let is_plain = calls.is_none() && stages.is_empty() && part.is_none() && deferred.is_none();
        let is_alone = !self.subject.how.style.is_relayed() && !self.subject.publishes();
        let is_sound = trial.failure.is_none()
            && !trial.interrupted
            && follow.server_failure.is_none()
            && follow.write_failure.is_none();
        is_plain && is_alone && is_sound
    }
}

impl<W: Driven> Lookups<W> {
    /// Begins, or goes on after a window.
    pub(crate) fn resume(&mut self) {
        self.switch.resume();
        let Some(follower) = self.follower.take() else { return };
        let thread = std::thread::Builder::new().name("lookups".into());
        // Without a thread nothing is looked up, and nothing is said to have been.
        self.thread = thread.spawn(move || follower.run()).ok();
        self.moments.iter_mut().for_each(|moments| moments.start(&self.switch));
    }

    /// What came of them; nothing where no call was looked up, and of moments nothing where there was none.
    pub(crate) fn end(mut self) -> Vec<Audit> {
        self.switch.end();
        let looked_up = self.thread.take().and_then(looked_up);
        let whole = self.moments.take().and_then(MomentChecker::end);
        looked_up.into_iter().chain(whole).collect()
    }
}

fn looked_up(thread: JoinHandle<LookupCounts>) -> Option<Audit> {
    let LookupCounts { calls, missing, shown, ended_by } = thread.join().unwrap_or_else(|_| LookupCounts {
        ended_by: Some("the thread that looks up has panicked".into()),
        ..LookupCounts::default()
    });
    let (check, sentence) = match (calls, missing, ended_by) {
        (0, _, None) => return None,
        (0, _, Some(why)) => {
            (Check::Inconclusive, format!("no acknowledged call was looked up at once ({why})"))
        }
        (_, 0, ended_by) => {
            let early = ended_by.map_or_else(String::new, |why| format!(", until that ended early ({why})"));
            let sentence = format!(
                "acknowledged calls looked up at once, outside the measured time, and found: {calls} of {calls}{early}"
            );
            (Check::Passed, sentence)
        }
        _ => {
            let sentence = format!(
                "acknowledged calls looked up at once, outside the measured time, and not found: {missing} of {calls}"
            );
            (Check::Failed, sentence)
        }
    };
    Some(of_answers("acknowledged-at-once", (check, sentence, shown), 0.0))
}

impl<W: Driven> Drop for Lookups<W> {
    fn drop(&mut self) {
        self.switch.end();
    }
}

impl<W: Driven> Follower<W> {
    fn run(mut self) -> LookupCounts {
        let mut seen = LookupCounts::default();
        if let Err(error) = wait_for(self.follow(&mut seen)) {
            seen.ended_by = Some(format!("{error:#}"));
        }
        self.sampler.dismiss();
        seen
    }

    /// Looks up one call after the other over a session of its own, which is opened for the first of them whenever it is on.
    async fn follow(&mut self, seen: &mut LookupCounts) {
        let mut session: Option<TrialSession<W>> = None;
        while !self.switch.is_over() {
            if !self.switch.is_on() {
                // In the window there is no session beside those that are measured.
                session = None;
                self.sampler.dismiss();
                let _ = self.arriving.try_recv();
                sleep(LOOK).await;
                continue;
            }
            self.sampler.get_ready();
            let Ok(Some((call, outcome))) = timeout(LOOK, self.arriving.recv()).await else { continue };
            let open = match session.take() {
                Some(open) => open,
                None => match timeout(LONGEST, self.target.open(0)).await {
                    Ok(Ok(opened)) => opened,
                    Ok(Err(error)) => return seen.ended_by = Some(error.to_string()),
                    Err(_) => return seen.ended_by = Some("no session could be opened in time".into()),
                },
            };
            let open = session.insert(open);
            match self.look_up(open, &call, &outcome).await {
                Ok(None) => {}
                Ok(Some(Lookup::Yes)) => seen.calls += 1,
                Ok(Some(Lookup::No(instead))) => {
                    seen.calls += 1;
                    seen.missing += 1;
                    if seen.shown.len() < SHOWN {
                        let call = short(&call_json::<W>(&call));
                        seen.shown.push(format!("{call}: acknowledged, then {instead}"));
                    }
                }
                // Nothing is known of this one.
                Err(Fault::Refused(_) | Fault::Conflict(_)) => {}
                Err(fault) => return seen.ended_by = Some(fault.to_string()),
            }
            sleep(APART).await;
        }
    }

    /// Whether a call is found; nothing where its answer does not show that, or where the end came first.
    async fn look_up(
        &self,
        session: &mut TrialSession<W>,
        call: &W::Call,
        outcome: &W::Outcome,
    ) -> Result<Option<Lookup>, Fault> {
        let Some(question) = W::lookup(call, outcome) else { return Ok(None) };
        let mut pauses = self.pauses.iter();
        loop {
            let mut work = CallWork::default();
            let later = timeout(LONGEST, session.run(&question, &mut work)).await;
            let later = later.unwrap_or(Err(Fault::InDoubt(Doubt::Deadline)))?;
            match (W::shows(call, outcome, &later), pauses.next()) {
                (None, _) => return Ok(None),
                (Some(true), _) => return Ok(Some(Lookup::Yes)),
                (Some(false), None) => return Ok(Some(Lookup::No(short(&describe::<W>(&Ok(later)))))),
                (Some(false), Some(_)) if !self.switch.is_on() => return Ok(None),
                (Some(false), Some(pause)) => sleep(*pause).await,
            }
        }
    }
}

/// Looks on after the window.
struct AfterWindow<'f, 'a, 'j, W: Driven>(&'f mut Follow<'a, 'j, W>);

impl<W: Driven> Observer<W> for AfterWindow<'_, '_, '_, W> {
    fn look(&mut self) {
        self.0.look();
    }

    fn slice(&mut self, _: &TrialProgress<'_, W>) {}
}

enum Lookup {
    Yes,
    /// What was answered, in words.
    No(String),
}
