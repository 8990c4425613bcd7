//! Carries a schedule out: every trial from a restored state, and written down before the next begins.

use crate::resumed_trials::{self, ResumedTrials, agrees, trials};
use crate::run_state::{RunContext, RunState};
use crate::trial_runner::{Prepared, TrialRunner};
use crate::{Folder, RunReporter, job, lock};
use anyhow::{Result, bail};
use deploy::Interrupt;
use measure::Monotonic;
use model::Clock;
use result::text::seconds;
use result::{Document, Spent, State, Trial};
use schedule::{CompletedTrials, Next, PlannedTrial, Schedule, Stopped, has_ended};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use targets::Driven;

/// Begins a run in a new folder under `out`.
///
/// # Errors
/// Another run measures on this machine, the folder cannot be made, it could not run, or not to its end for a reason that is none
/// of its variants'.
pub fn begin<W: Driven, S: Schedule<W>>(
    schedule: S,
    out: &Path,
    reporter: &dyn RunReporter,
) -> Result<(Folder, FinishedRun)> {
    let locked = lock::hold(false)?;
    let interrupt = Interrupt::listen()?;
    let (folder, started, id) = Folder::create(out, &schedule.name())?;
    locked.works_in(folder.path());
    let run_state = RunState::new(id, started, W::NAME, schedule.kind(), schedule)?;
    let context = RunContext { folder: &folder, reporter, interrupt: &interrupt };
    let finished = carry_out::<W, S>(run_state, None, &context)?;
    Ok((folder, FinishedRun { locked: Some(locked), ..finished }))
}

/// A run that is written, and has not been shown yet.
#[derive(Debug)]
pub struct FinishedRun {
    pub document: Document,
    /// Where the document is written.
    pub json: PathBuf,
    /// What its user has to know besides.
    pub remark: Option<String>,
    /// Keeps others from measuring until it is shown.
    pub locked: Option<lock::MachineLock>,
}

/// Resumes a run that was cut off.
///
/// # Errors
/// What is there is of another machine, engine or load, or those of [`begin`].
pub fn resume<W: Driven, S: Schedule<W>>(
    run_state: RunState<S>,
    context: &RunContext<'_>,
) -> Result<FinishedRun> {
    let schedule = &run_state.plan;
    let mut stored = resumed_trials::read(context.folder, &run_state.id, schedule, &run_state.again)?;
    if let Some(difference) = resumed_trials::machine_difference(&stored.so_far.trials) {
        bail!(
            "the trials so far were measured with {difference}: cannot resume on a different machine or kernel\nhint: start a new run"
        );
    }
    let done = stored.so_far.trials.len();
    stored.notes =
        resumed_trials::announce(&run_state.id, done, schedule.trials(), stored.notes, context.reporter);
    carry_out::<W, S>(run_state, Some(stored), context)
}

/// Carries out what has not been done yet. `stored` is what a run that was cut off has.
fn carry_out<W: Driven, S: Schedule<W>>(
    mut run_state: RunState<S>,
    stored: Option<ResumedTrials>,
    context: &RunContext<'_>,
) -> Result<FinishedRun> {
    let resumed = stored.is_some();
    let stored = stored.unwrap_or_default();
    let mut runner = Runner::<W, S>::new(&run_state, &stored, context);
    if let Some(words) = run_state.plan.announcement().filter(|_| !resumed) {
        context.reporter.remark(&words);
    }
    // What a resumed run has stays as it is until it is sure that it goes on.
    if !resumed {
        runner.write(&mut run_state)?;
    }
    let mut bench = TrialRunner::open(
        run_state.plan.scale(),
        &run_state.plan.variants(),
        &run_state.plan.together(),
        context.folder,
        context.reporter,
        context.interrupt,
    )?;
    let prepared = match runner.prepare(&mut bench, &run_state.plan) {
        Ok(prepared) => prepared,
        Err(error) => {
            match (resumed, context.interrupt.requested()) {
                (true, _) => {}
                (false, true) => {
                    runner.document.state = State::Interrupted;
                    context.folder.put_document(&runner.document)?;
                }
                // What could not begin leaves no folder.
                (false, false) => context.folder.empty(),
            }
            return Err(error);
        }
    };
    run_state.again.clone_from(&stored.again);
    run_state.notes.extend(stored.notes.iter().cloned());
    runner.document.notes.extend(stored.notes);
    runner.document.notes.extend(bench.notes());
    runner.write(&mut run_state)?;
    if let Err(error) = runner.trials(&mut bench, &prepared, &mut run_state, &stored.again) {
        runner.give_up(&run_state.plan, resumed, &error);
        return Err(error);
    }
    drop(bench);
    runner.conclude(&mut run_state)
}

/// A schedule that is being carried out.
struct Runner<'a, W: Driven, S: Schedule<W>> {
    so_far: CompletedTrials,
    document: Document,
    interrupted: bool,
    /// What was spent before this process.
    spent_before: Spent,
    /// What the bench has spent.
    spent_here: Spent,
    clock: Monotonic,
    context: RunContext<'a>,
    schedule: PhantomData<(W, S)>,
}

impl<'a, W: Driven, S: Schedule<W>> Runner<'a, W, S> {
    fn new(run_state: &RunState<S>, stored: &ResumedTrials, context: &RunContext<'a>) -> Runner<'a, W, S> {
        let schedule = &run_state.plan;
        let variants = schedule.variants();
        let mut subjects: Vec<&str> = Vec::new();
        for variant in &variants {
            if !subjects.contains(&variant.subject.as_str()) {
                subjects.push(&variant.subject);
            }
        }
        let mut document = run_state.document(&subjects);
        document.notes.splice(..0, schedule.notes());
        let mut runner = Runner {
            so_far: CompletedTrials::default(),
            document,
            interrupted: false,
            spent_before: run_state.spent,
            spent_here: Spent::default(),
            clock: Monotonic::start(),
            context: *context,
            schedule: PhantomData,
        };
        let CompletedTrials { trials, numbers, variants, .. } = &stored.so_far;
        for ((trial, number), variant) in trials.iter().zip(numbers).zip(variants) {
            runner.took(schedule, *number, *variant, trial.clone());
        }
        runner.update(schedule);
        let so_far = &runner.so_far;
        context.reporter.board(&runner.document, &|| schedule.shown(so_far));
        runner
    }

    /// Loads every place and holds every variant to the workload. One that cannot be measured says why, and the others go
    /// on, if there are any.
    fn prepare(&mut self, bench: &mut TrialRunner<'_, W>, schedule: &S) -> Result<Vec<Option<Prepared>>> {
        let mut prepared = Vec::new();
        for (index, variant) in schedule.variants().iter().enumerate() {
            let ready = bench.prepare(variant);
            self.spent_here = bench.spent();
            if self.context.interrupt.requested() {
                bail!("interrupted while loading\nhint: {}", goes_on(self.context.folder));
            }
            prepared.push(match ready {
                Ok(ready) => {
                    let trials = self.so_far.variants.iter().zip(&self.so_far.trials);
                    let of_variant = trials.filter(|(of, _)| **of == index);
                    agrees(&variant.name, of_variant.map(|(_, trial)| trial), &ready)?;
                    Some(ready)
                }
                Err(error) if !schedule.has_others() => {
                    return Err(error.context(format!("{} cannot be measured", variant.subject)));
                }
                Err(error) => {
                    let reason = format!("{error:#}");
                    self.context.reporter.remark(&format!("{} could not be started: {reason}", variant.name));
                    self.so_far.stopped.push(Stopped { variant: index, number: None, reason });
                    None
                }
            });
        }
        if let Some(first) = self.so_far.stopped.first().filter(|_| prepared.iter().all(Option::is_none)) {
            let name = &schedule.variants()[first.variant].name;
            bail!("no variant could be started; {name}: {}", first.reason);
        }
        Ok(prepared)
    }

    /// Runs every trial that is wanted and not there yet. `again` are the blocks that are run again. Of other blocks none is
    /// run whose turn is over: it would not have run next to the others of its block.
    fn trials(
        &mut self,
        bench: &mut TrialRunner<'_, W>,
        prepared: &[Option<Prepared>],
        run_state: &mut RunState<S>,
        again: &[u32],
    ) -> Result<()> {
        let schedule = run_state.plan.clone();
        let block_of = |number: usize| ((number - 1) / schedule.block()) as u32;
        let last_stored = self.so_far.numbers.iter().copied().max().unwrap_or(0);
        let has_passed = |number: usize| number <= last_stored && !again.contains(&block_of(number));
        let (started, mut run_here) = (self.clock.now().as_secs_f64(), 0_usize);
        let mut next = 1;
        'all: loop {
            let unit = schedule.unit(next);
            let number = next;
            next = unit.end() + 1;
            run_state.again.retain(|block| *block >= block_of(number));
            if has_passed(number) {
                continue;
            }
            let mut wanted = Vec::new();
            for number in unit {
                match schedule.next(number, &self.so_far)? {
                    Next::Trial(planned) => wanted.push((number, planned)),
                    Next::Skip => {}
                    Next::End => break 'all,
                }
            }
            wanted.retain(|(_, planned)| prepared[planned.variant].is_some());
            let Some((_, first)) = wanted.first() else { continue };
            if self.context.interrupt.requested() {
                self.interrupted = true;
                break;
            }
            let announcement = match schedule.trials() {
                None => first.announcement.clone(),
                Some(all) => {
                    let is_open = |other: &usize| {
                        !has_passed(*other)
                            && matches!(schedule.next(*other, &self.so_far), Ok(Next::Trial(_)))
                    };
                    let open = (number..=all).filter(is_open).count();
                    let each = (self.clock.now().as_secs_f64() - started) / run_here.max(1) as f64;
                    let left = match run_here {
                        0 => String::new(),
                        _ => format!(", {} left", seconds(each * open as f64)),
                    };
                    let what = together(&wanted);
                    match &wanted[..] {
                        [(number, _)] => format!("trial {number} of {all}: {what}{left}"),
                        _ => format!("trials {number} to {} of {all}, in turn: {what}{left}", next - 1),
                    }
                }
            };
            self.context.reporter.remark(&announcement);
            run_here += wanted.len();
            self.unit(bench, prepared, &schedule, &wanted)?;
            self.spent_here = bench.spent();
            self.write(run_state)?;
            if self.interrupted {
                break;
            }
        }
        Ok(())
    }

    /// Runs a trial, or those that are run at once.
    fn unit(
        &mut self,
        bench: &mut TrialRunner<'_, W>,
        prepared: &[Option<Prepared>],
        schedule: &S,
        wanted: &[(usize, PlannedTrial)],
    ) -> Result<()> {
        let ready = |planned: &PlannedTrial| {
            prepared[planned.variant].as_ref().expect("only variants that are ready are left")
        };
        let Some((number, first)) = wanted.first() else { return Ok(()) };
        self.context.reporter.place(&together(wanted), first.round + 1);
        if schedule.in_order() {
            // An earlier run has measured these after it: a later resume must not count them as its own.
            self.context.folder.discard_trials(|other| other > *number)?;
        }
        let id = &self.document.id;
        let ran = match wanted {
            [(_, planned)] if planned.plan.rounds.is_none() => {
                let end_early = schedule.end_early(&planned.plan);
                vec![bench.trial(ready(planned), &planned.plan, &planned.folder, end_early.as_deref(), id)]
            }
            _ => {
                let each: Vec<_> = wanted.iter().map(|(_, planned)| (ready(planned), planned)).collect();
                match bench.alternate(&each, first.plan.seed, !schedule.has_others(), id) {
                    Ok(ran) => ran,
                    Err(error) => {
                        let why = format!("{error:#}");
                        wanted.iter().map(|_| Err(anyhow::Error::msg(why.clone()))).collect()
                    }
                }
            }
        };
        for ((number, planned), ran) in wanted.iter().zip(ran) {
            self.ran(schedule, *number, planned, ran)?;
        }
        Ok(())
    }

    /// Takes what a trial has come to.
    fn ran(&mut self, schedule: &S, number: usize, wanted: &PlannedTrial, ran: Result<Trial>) -> Result<()> {
        match ran {
            Ok(trial) if job::is_empty(&trial) => self.interrupted = true,
            Ok(trial) => {
                self.interrupted |= !has_ended(&trial);
                self.took(schedule, number, wanted.variant, trial);
            }
            Err(_) if self.context.interrupt.requested() => self.interrupted = true,
            Err(error) if !schedule.has_others() => return Err(error),
            Err(error) => {
                let reason = format!("{error:#}");
                self.context.reporter.remark(&format!("{}: {reason}", wanted.what));
                self.so_far.stopped.push(Stopped { variant: wanted.variant, number: Some(number), reason });
            }
        }
        Ok(())
    }

    /// Takes a trial that is there for the next one.
    fn took(&mut self, schedule: &S, number: usize, variant: usize, trial: Trial) {
        self.so_far.push(number, variant, trial);
        if let Some(remark) = schedule.remark(&self.so_far) {
            self.context.reporter.remark(&remark);
        }
    }

    /// Puts what there is into the document.
    fn update(&mut self, schedule: &S) {
        self.so_far.spent = self.spent();
        self.document.trials.clone_from(&self.so_far.trials);
        schedule.update(&self.so_far, &mut self.document);
    }

    /// Writes down what there is. Only between trials: nothing of it disturbs what is measured.
    fn write(&mut self, run_state: &mut RunState<S>) -> Result<()> {
        self.update(&run_state.plan);
        run_state.spent = self.so_far.spent;
        run_state.put(self.context.folder)?;
        let partial = self.partial(run_state);
        self.document.notes.push(partial);
        let put = self.context.folder.put_document(&self.document);
        self.document.notes.pop();
        put?;
        self.context.reporter.board(&self.document, &|| run_state.plan.shown(&self.so_far));
        Ok(())
    }

    /// What a reader must know of a document that is not whole.
    fn partial(&self, run_state: &RunState<S>) -> String {
        let ended = self.so_far.trials.iter().filter(|trial| has_ended(trial)).count();
        format!(
            "This is partial: {}, with {}. {} once nothing works on it.",
            self.document.state.word(),
            trials(ended, run_state.plan.trials()),
            goes_on(self.context.folder)
        )
    }

    fn spent(&self) -> Spent {
        let (before, here) = (self.spent_before, self.spent_here);
        let measured = self.so_far.trials.iter().map(|trial| trial.warmed_s() + trial.measured_s);
        Spent {
            total_s: before.total_s + self.clock.now().as_secs_f64(),
            load_s: before.load_s + here.load_s,
            restore_s: before.restore_s + here.restore_s,
            measured_s: measured.sum(),
            check_s: before.check_s + here.check_s,
        }
    }

    /// Writes down that a run could not go on, and why. One that has measured nothing leaves no folder, unless it can be
    /// resumed.
    fn give_up(&mut self, schedule: &S, resumed: bool, error: &anyhow::Error) {
        if self.so_far.trials.is_empty() && !resumed {
            return self.context.folder.empty();
        }
        self.update(schedule);
        self.document.state = State::Failed;
        self.document.notes.push(format!("It could not be continued: {error:#}"));
        // What cannot be written leaves the last state, which says that it is running.
        let _ = self.context.folder.put_document(&self.document);
    }

    /// Draws the conclusions, and writes everything.
    fn conclude(mut self, run_state: &mut RunState<S>) -> Result<FinishedRun> {
        let folder = self.context.folder;
        self.update(&run_state.plan);
        self.document.state = if self.interrupted { State::Interrupted } else { State::Complete };
        run_state.plan.conclude(&self.so_far, &mut self.document);
        run_state.spent = self.so_far.spent;
        run_state.put(folder)?;
        let interrupted = self.document.state == State::Interrupted;
        if interrupted {
            let partial = self.partial(run_state);
            self.document.notes.push(partial);
        }
        if interrupted && self.so_far.trials.is_empty() {
            let json = folder.put_document(&self.document)?;
            bail!(
                "interrupted before anything was measured; what was done until then: {}\nhint: {}",
                json.display(),
                goes_on(folder)
            );
        }
        let json = folder.put_document(&self.document)?;
        let remark = interrupted.then(|| goes_on(folder));
        Ok(FinishedRun { document: self.document, json, remark, locked: None })
    }
}

/// What runs at once.
fn together(wanted: &[(usize, PlannedTrial)]) -> String {
    let names: Vec<&str> = wanted.iter().map(|(_, planned)| planned.what.as_str()).collect();
    names.join(", ")
}

/// The command that goes on with an interrupted run.
fn goes_on(folder: &Folder) -> String {
    format!("`stackmark resume {}` continues it", folder.path().display())
}
