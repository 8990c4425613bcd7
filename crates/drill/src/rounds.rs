//! A drill: one fault after the other, each from the first call before it to the last audit after it.

use crate::component::Component;
use crate::ends::{End, line, without_answer};
use crate::generator::LoadOrder;
use crate::load::{Aftermath, Load, Struck};
use crate::stage::{RunningSubject, between_phases, not_within_phase};
use admin::store;
use anyhow::{Context, Result, bail};
use deploy::{Databases, Deployment, Interrupt, ServerSettings, Subject, announce};
use measure::Monotonic;
use model::random::Random;
use model::{Clock, Ledger, Mix, Nanos};
use result::{
    Audit, Check, DoubtFound, Drill, DrillCalls, DrillFault, DrillLine, FaultAction, LedgerCheck, Shortfall,
    WithoutAnswer,
};
use std::path::Path;
use std::time::Duration;
use targets::Driven;
use trial::{After, Interval, Recorded, RunReporter};

/// The first call is answered within this, or the subject cannot be drilled.
const FIRST_MAX: Duration = Duration::from_secs(60);
/// A fault comes after so many milliseconds under load.
const BEFORE_MS: (i64, i64) = (300, 1_200);
/// Range of the ext4 mount option `commit`, in seconds: it changes how much the kernel has written unasked before a power cut.
const COMMIT_S: (i64, i64) = (1, 30);
/// Within this a call is committed again once all is mended.
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// The load goes on for so long then.
const GOES_ON: Duration = Duration::from_millis(300);
/// How long calls that are under way when the load ends may take.
const END_MAX: Duration = Duration::from_secs(60);
/// Calls in doubt that are looked up.
const DOUBTS_MAX: usize = 1_000;

/// What a drill is to do.
#[derive(Debug, Clone)]
pub struct DrillPlan {
    pub faults: u32,
    /// What may be struck, and how; at least one.
    pub among: Vec<(Component, FaultAction)>,
    /// Of faults, moments and calls.
    pub seed: u64,
    /// Calls a second.
    pub rate: f64,
    pub clients: u32,
    /// Which kinds of call, if not the workload's own mix.
    pub mix: Option<Mix>,
    /// How long a call may take.
    pub deadline: Nanos,
    /// How long what is on its way is waited for.
    pub settle_max: Nanos,
    /// Of a server that is started.
    pub server: ServerSettings,
}

/// Carries a drill out on loaded data, of which the `audits` are known. `found` is added to, fault by fault, and `keep` is given it
/// after each. It ends early where the user has asked to stop: what was under way then is not in it.
///
/// # Errors
/// Something could not be started, struck or audited; what was found until then is in `found`.
pub fn drill<W: Driven>(
    subject: &'static Subject,
    (databases, deployment): (&Databases<W>, &mut Deployment),
    audits: &[Audit],
    asked: &DrillPlan,
    (folder, reporter, interrupt): (&Path, &dyn RunReporter, &Interrupt),
    found: &mut Drill,
    keep: &mut dyn FnMut(&Drill) -> Result<()>,
) -> Result<()> {
    let stage = RunningSubject::new(subject, databases, deployment, asked.server.clone(), folder, interrupt)?;
    let clock = Monotonic::of_machine();
    // No two runs on the same data have one number.
    let run = measure::unix_nanoseconds();
    let mut rounds = FaultRounds { stage, asked, audits, reporter, interrupt, clock, run };
    for (number, (component, action)) in (0..).zip(order(asked)) {
        let name = component.name(databases.each.len());
        let what = format!("fault {} of {}: {} {name}", number + 1, asked.faults, action.word());
        reporter.doing(&what);
        let fault = match rounds.round(number, component, action) {
            Ok(fault) => fault,
            Err(error) => {
                let error = error.context(what);
                if let Some(NotBack(fault)) = error.downcast_ref() {
                    found.faults.push((**fault).clone());
                    keep(found)?;
                }
                return Err(error);
            }
        };
        if interrupt.requested() {
            break;
        }
        found.faults.push(fault);
        keep(found)?;
    }
    Ok(())
}

/// A component did not come back, which ends a drill: the fault, with what is known of it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.failures.join("; "))]
struct NotBack(Box<DrillFault>);

/// All that may be struck, each as often as any other but for one.
fn order(asked: &DrillPlan) -> Vec<(Component, FaultAction)> {
    let mut random = Random::stream(asked.seed, &[0]);
    let mut all = Vec::new();
    while all.len() < asked.faults as usize {
        let mut turn = asked.among.clone();
        random.shuffle(&mut turn);
        all.extend(turn);
    }
    all.truncate(asked.faults as usize);
    all
}

struct FaultRounds<'a, W: Driven> {
    stage: RunningSubject<'a, W>,
    asked: &'a DrillPlan,
    audits: &'a [Audit],
    reporter: &'a dyn RunReporter,
    interrupt: &'a Interrupt,
    clock: Monotonic,
    run: u64,
}

/// When what happened, and how long the component took to come back.
#[derive(Debug, Clone, Copy)]
struct FaultMoments {
    started: Nanos,
    struck: Nanos,
    mended: Nanos,
    back: Nanos,
    /// What it had left undecided then.
    left: Option<u64>,
    /// Of a power cut.
    lost_writes: Option<u64>,
}

/// What happened while calls were made.
struct Struckdown<W: Driven> {
    fault: DrillFault,
    ledger: W::Ledger,
    /// When the first call was answered.
    started: Nanos,
    /// When the fault came.
    struck: Nanos,
    /// The calls of a generator that is gone, as in [`Load::ends`].
    ends: Vec<End>,
    /// The generator that is left, until all has settled.
    load: Load<W>,
}

impl<W: Driven> FaultRounds<'_, W> {
    fn round(&mut self, number: u64, component: Component, action: FaultAction) -> Result<DrillFault> {
        let urls = self.stage.databases.urls();
        let before = trial::evidence::<W>(&urls)?;
        let (began, opened) = (measure::unix_nanoseconds(), self.clock.now());
        self.stage.forget_unflushed()?;
        self.stage.renew_destination(number)?;
        self.stage.start()?;
        let mut struck = self.under_load(number, component, action)?;
        self.end_load(&mut struck)?;
        let span = self.clock.now() - opened;
        let settled = match W::is_awaited(self.stage.subject.how.style.name()) {
            true => trial::settle(
                self.stage.databases,
                &before,
                Monotonic::start(),
                self.asked.settle_max,
                self.reporter,
                self.interrupt,
                Interval::of(began, Nanos::ZERO, span),
            )?,
            false => None,
        };
        let Struckdown { mut fault, ledger, load, .. } = struck;
        fault.failures.extend(self.stage.ended());
        load.process.stop()?;
        self.stage.stop()?;
        // Server and relay publish nothing more.
        fault.failures.extend(self.stage.end_consumer(self.asked.settle_max));
        if let Some(settled) = settled {
            fault.settled_s = Some(settled.duration_s).filter(|_| settled.pending_last == 0);
            if settled.pending_last > 0 {
                let sentence = format!(
                    "{} were still pending {:.0} s after the load",
                    settled.pending_last, settled.duration_s
                );
                fault.failures.push(sentence);
            }
        }
        let claims = W::claims(&ledger, true);
        let mut after = trial::after(
            self.stage.databases,
            &before,
            self.audits,
            began / 1_000_000_000,
            &claims,
            self.interrupt,
        )?;
        let (checks, again) = self.messages(number, &before, &claims)?;
        after.ledger.extend(checks);
        fault.duplicates = again;
        judge(&mut fault, after);
        fault.in_doubt_calls = self.doubts(&claims)?;
        Ok(fault)
    }

    fn under_load(
        &mut self,
        number: u64,
        component: Component,
        action: FaultAction,
    ) -> Result<Struckdown<W>> {
        let mut random = Random::stream(self.asked.seed, &[1, number]);
        let mut span = |(low, high)| Duration::from_millis(random.range(low, high).unsigned_abs());
        let [lead, away] = [BEFORE_MS, self.stage.away_ms(component, action)].map(&mut span);
        let mut load = self.stage.generator(self.order(number, 0), self.clock)?;
        let started = self.until_first(&mut load, &mut None)?;
        load.listen(lead, &mut None, &mut |load, _| load.ended.is_some())?;
        let store = match component {
            Component::Engine(store) | Component::Node { store, .. }
                if self.stage.databases.each.len() > 1 =>
            {
                Some(store)
            }
            _ => None,
        };
        let mut struck = self.clock.now();
        let mut after = Some((Struck { at: struck, done: struck, store }, Aftermath::default()));
        let moments = |struck, mended, back| FaultMoments {
            started,
            struck,
            mended,
            back,
            left: None,
            lost_writes: None,
        };
        if matches!(component, Component::Generator | Component::Storage) {
            let not_injected = between_phases(action).and_then(|signal| {
                load.process.signal(signal);
                let not_injected = not_within_phase(self.interrupt, || load.process.was_killed());
                // The fault is its end; until then it made calls.
                struck = self.clock.now();
                after = Some((Struck { at: struck, done: struck, store }, Aftermath::default()));
                not_injected
            });
            load.process.kill();
            load.gone(&mut after)?;
            let is_cut = action == FaultAction::PowerCut;
            // Of a stream of its own: other drawn things are the same whether there is a disk or not.
            let commit_s = commit_s(&mut Random::stream(self.asked.seed, &[2, number]));
            // Half of the times all is lost, otherwise half of it.
            let all = random.chance(1, 2);
            let mut keeps = || !all && random.chance(1, 2);
            let lost_writes = if is_cut { self.stage.cut_power(&mut keeps, commit_s)? } else { None };
            std::thread::sleep(away);
            let mended = self.clock.now();
            if is_cut {
                self.stage.start()?;
            }
            let mut next = self.stage.generator(self.order(number, 1), self.clock)?;
            self.until_first(&mut next, &mut after)?;
            let moments = FaultMoments { lost_writes, ..moments(struck, mended, self.clock.now() - mended) };
            let mut struck = self.go_on(next, Some(load), after, moments, component, action)?;
            struck.fault.failures.extend(not_injected);
            return Ok(struck);
        }
        let not_injected = self.stage.strike(component, action, commit_s(&mut random))?;
        if let Some((of_calls, _)) = &mut after {
            of_calls.done = self.clock.now();
            if between_phases(action).is_some() {
                (struck, of_calls.at) = (of_calls.done, of_calls.done);
            }
        }
        let heard = load.listen(away, &mut after, &mut |_, _| false);
        // Whatever was heard: nothing stays as it was struck.
        let mended = self.clock.now();
        let not_injected = not_injected.or(self.stage.without_effect(component, action)?);
        let back = self.stage.mend(component, action);
        heard?;
        let mut moments = moments(struck, mended, self.clock.now() - mended);
        moments.left = back.as_ref().ok().copied().flatten();
        if let Err(error) = back {
            let mut fault = self.fault(component, action, moments, load.calls, after);
            fault.line = line(started, &load.ends);
            fault.without_answer = self.without_answer(struck, &load.ends, self.clock.now());
            fault.failures.extend(not_injected);
            fault.failures.push(format!("{error:#}"));
            return Err(NotBack(Box::new(fault)).into());
        }
        let mut struck = self.go_on(load, None, after, moments, component, action)?;
        struck.fault.failures.extend(not_injected);
        Ok(struck)
    }

    /// Goes on until a call is committed again, and a little longer.
    fn go_on(
        &mut self,
        mut load: Load<W>,
        dead: Option<Load<W>>,
        mut after: Option<(Struck, Aftermath)>,
        moments: FaultMoments,
        component: Component,
        action: FaultAction,
    ) -> Result<Struckdown<W>> {
        let left = W::pending(&trial::evidence::<W>(&self.stage.databases.urls())?);
        let interrupt = self.interrupt;
        let mut is_over = |load: &Load<W>, after: &Option<(Struck, Aftermath)>| {
            let committed = after.as_ref().is_some_and(|(_, aftermath)| aftermath.first_commit.is_some());
            committed || load.ended.is_some() || interrupt.requested()
        };
        load.listen(AGAIN_MAX, &mut after, &mut is_over)?;
        if let Component::Node { .. } = component {
            // The others may have gone on without it: calls are committed also now that it is back.
            let back = moments.mended + moments.back;
            let store = after.as_ref().and_then(|(struck, _)| struck.store);
            let mut since = Some((Struck { at: back, done: back, store }, Aftermath::default()));
            load.listen(AGAIN_MAX, &mut since, &mut is_over)?;
            if let (Some((_, all)), Some((_, since))) = (&mut after, &since) {
                all.longest = all.longest.max(since.longest);
                all.refused += since.refused;
            }
            if since.is_some_and(|(_, since)| since.first_commit.is_none()) {
                after =
                    after.map(|(struck, aftermath)| (struck, Aftermath { first_commit: None, ..aftermath }));
            }
        }
        load.listen(GOES_ON, &mut after, &mut |load, _| load.ended.is_some())?;
        let mut ledger = W::new_ledger(&self.stage.databases.size);
        let mut calls = DrillCalls::default();
        let mut ends = Vec::new();
        if let Some(dead) = dead {
            ledger.absorb(&dead.ledger);
            calls += dead.calls;
            ends = dead.ends;
        }
        let mut fault = self.fault(component, action, moments, calls, after);
        fault.left = left.or(moments.left);
        if fault.first_commit_s.is_none() {
            let sentence =
                format!("no call was committed within {} s after it was mended", AGAIN_MAX.as_secs());
            fault.failures.push(sentence);
        }
        let FaultMoments { started, struck, .. } = moments;
        Ok(Struckdown { fault, ledger, started, struck, ends, load })
    }

    /// What is known of a fault before anything was audited.
    fn fault(
        &self,
        component: Component,
        action: FaultAction,
        moments: FaultMoments,
        calls: DrillCalls,
        after: Option<(Struck, Aftermath)>,
    ) -> DrillFault {
        let aftermath = after.map(|(_, aftermath)| aftermath).unwrap_or_default();
        DrillFault {
            component: component.name(self.stage.databases.each.len()),
            action,
            after_s: (moments.struck - moments.started).as_secs_f64(),
            unavailable_s: (moments.mended - moments.struck).as_secs_f64(),
            recovery_s: moments.back.as_secs_f64(),
            first_commit_s: aftermath.first_commit.map(Nanos::as_secs_f64),
            longest_s: aftermath.longest.as_secs_f64(),
            calls,
            line: DrillLine::default(),
            without_answer: Vec::new(),
            refused_after: aftermath.refused,
            left: None,
            lost_writes: moments.lost_writes,
            duplicates: None,
            missing: Vec::new(),
            in_doubt_calls: Vec::new(),
            settled_s: None,
            checks_passed: 0,
            failures: Vec::new(),
        }
    }

    /// Waits until a first call is answered; gives when.
    fn until_first(&self, load: &mut Load<W>, after: &mut Option<(Struck, Aftermath)>) -> Result<Nanos> {
        let interrupt = self.interrupt;
        let answered = |load: &Load<W>| load.first.is_some() || load.ended.is_some();
        let more = load.listen(FIRST_MAX, after, &mut |load, _| answered(load) || interrupt.requested())?;
        match (&load.first, &load.ended) {
            (Some(at), _) => Ok(*at),
            (None, Some(Some(why))) => bail!("the load generator could not begin: {why}"),
            _ if interrupt.requested() => Ok(self.clock.now()),
            _ if !more => bail!("the load generator ended{}", load.process.log_tail()),
            _ => bail!("no call was answered within {} s", FIRST_MAX.as_secs()),
        }
    }

    /// Has no more calls made, and waits for those that are under way.
    fn end_load(&self, struck: &mut Struckdown<W>) -> Result<()> {
        let Struckdown { fault, ledger, started, struck: at, ends, load } = struck;
        let until = self.clock.now();
        if let Some(ended) = &load.ended {
            let why = ended.as_deref().unwrap_or("without a request to stop");
            fault.failures.push(format!("the load generator ended by itself: {why}"));
        } else {
            load.process.end_load();
            let more = load.listen(END_MAX, &mut None, &mut |load, _| load.ended.is_some())?;
            match &load.ended {
                Some(None) => {}
                Some(Some(why)) => fault.failures.push(format!("the load generator failed: {why}")),
                None if more => {
                    fault.failures.push(format!("calls did not end within {} s", END_MAX.as_secs()))
                }
                None => {
                    fault.failures.push(format!("the load generator ended{}", load.process.log_tail()));
                    load.gone(&mut None)?;
                }
            }
        }
        ledger.absorb(&load.ledger);
        fault.calls += load.calls;
        ends.append(&mut load.ends);
        fault.line = line(*started, ends);
        fault.without_answer = self.without_answer(*at, ends, until);
        Ok(())
    }

    fn without_answer(&self, struck: Nanos, ends: &[End], until: Nanos) -> Vec<WithoutAnswer> {
        let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
        without_answer(struck, until, ends, &kinds, self.stage.databases.each.len())
    }

    fn order(&self, number: u64, generator: u64) -> LoadOrder {
        let asked = self.asked;
        let databases = self.stage.databases;
        LoadOrder {
            subject: self.stage.subject.path.into(),
            url: None,
            size: serde_json::to_value(&databases.size).expect("a size is plain data"),
            load: databases.seed(),
            seed: Random::stream(asked.seed, &[2, number, generator]).bits(),
            run: self.run + 2 * number + generator,
            rate: asked.rate,
            clients: asked.clients,
            mix: asked.mix.clone(),
            deadline_ms: asked.deadline.0 / 1_000_000,
        }
    }

    /// Checks the messages of a fault against its calls; and how many are duplicates.
    fn messages(
        &mut self,
        number: u64,
        before: &W::Evidence,
        claims: &W::Claims,
    ) -> Result<(Vec<LedgerCheck>, Option<u64>)> {
        let style = self.stage.subject.how.style;
        let runs = [0, 1].map(|generator| self.order(number, generator).run);
        let (databases, (destination, consumer)) = (self.stage.databases, self.stage.take_destination());
        let stored = trial::evidence::<W>(&databases.urls())?;
        let mut checks = W::unpublished_checks(style.name(), &runs, claims, &stored);
        let size = &databases.size;
        let recorded = Recorded::<W> { style, size, runs: &runs, before, claims, stored: &stored };
        if let Some(consumer) = consumer {
            checks.extend(trial::audit_consumer(consumer, &recorded)?);
        }
        let mut again = None;
        if let Some(arrived) = destination.audit(&recorded)? {
            if let Err(error) = destination.close(arrived.is_right()) {
                announce(self.reporter, &format!("{error:#}"));
            }
            again = Some(arrived.duplicates);
            checks.extend(arrived.checks);
        }
        Ok((checks, again))
    }

    /// What became of calls in doubt, as far as stores can tell.
    fn doubts(&self, claims: &W::Claims) -> Result<Vec<DoubtFound>> {
        let databases = self.stage.databases;
        let urls = databases.urls();
        let asked = W::inquiries(&databases.size, claims, self.stage.subject.how.dialect)?;
        let found = asked.into_iter().take(DOUBTS_MAX).map(|inquiry| {
            let url = urls.get(inquiry.store).context("a doubt of a store that is not there")?;
            let rows = store(url).rows(&inquiry.query, &inquiry.params)?;
            Ok(DoubtFound { call: inquiry.call, found: (inquiry.told)(&rows).into() })
        });
        found.collect()
    }
}

/// A drawn setting of the file system whose power is cut.
fn commit_s(random: &mut Random) -> u32 {
    u32::try_from(random.range(COMMIT_S.0, COMMIT_S.1)).expect("within some seconds")
}

/// What a check of the ledger says is missing, if anything is.
fn missing(check: &LedgerCheck) -> Option<Shortfall> {
    let amount = u64::try_from(check.low.saturating_sub(check.stored)).ok().filter(|amount| *amount > 0)?;
    Some(Shortfall { name: check.name.clone(), unit: check.unit.clone(), amount })
}

/// Enters what audits have found.
fn judge(fault: &mut DrillFault, after: After) {
    fault.missing = after.ledger.iter().filter_map(missing).collect();
    let audits = after.audits.iter().map(|audit| {
        let first = audit.violations.first().map(|violation| format!(" ({violation})"));
        (audit.check, format!("{}: {}{}", audit.full_name(), audit.sentence, first.unwrap_or_default()))
    });
    let ledger =
        after.ledger.iter().map(|check| (check.check, format!("{}: {}", check.name, check.sentence)));
    let mut wrong = Vec::new();
    for (check, sentence) in audits.chain(ledger) {
        match check {
            Check::Passed => fault.checks_passed += 1,
            // What was not checked is not shown as passed.
            Check::Failed | Check::NotRun => wrong.push(sentence),
            Check::Inconclusive => {}
        }
    }
    fault.failures.splice(0..0, wrong);
}
