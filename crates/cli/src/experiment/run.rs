//! Carries an experiment out: every trial in its block, from a restored state, and written down before the next begins.

use super::bench::{Bench, Prepared};
use super::conclude::{self, Findings};
use super::metric::Measured;
use super::plan::Experiment;
use super::resume::Stored;
use super::underway::{Agenda, Part, Slot, Standing};
use crate::Answer;
use crate::case::Case;
use crate::confirm;
use crate::folder::Folder;
use crate::interrupt::Interrupt;
use crate::resume;
use crate::run::publish;
use crate::trial;
use crate::ui::{self, Ui};
use crate::underway::{self, Site, Underway};
use anyhow::{Result, anyhow, bail};
use measure::Monotonic;
use model::Clock;
use result::{Document, RunKind, Setting, Spent, State, VariantState};

/// Begins an experiment in a new folder under `out`.
///
/// # Errors
/// It could not run, or not to its end for a reason that is none of its variants'.
pub(crate) fn begin<W: Case>(
    experiment: Experiment,
    kind: RunKind,
    out: &std::path::Path,
    ui: &Ui,
) -> Result<Answer> {
    // What can be wrong is found before the folder is made.
    Measured::named(&experiment.metric, W::KINDS)?;
    let name = match kind {
        RunKind::Comparison => experiment.name.clone(),
        _ => format!("experiment-{}", experiment.name),
    };
    let agenda = Agenda { experiment, again: Vec::new(), spent: Spent::default() };
    underway::begin(agenda, kind, &name, out, ui, |underway, site| {
        carry_out::<W>(underway, Stored::none(), site)
    })
}

/// Carries out what has not been done yet.
pub(crate) fn carry_out<W: Case>(
    underway: Underway<Agenda>,
    stored: Stored,
    site: &Site<'_>,
) -> Result<Answer> {
    let mut runner = Runner::<W>::new(underway, site)?;
    runner.take(&stored);
    runner.write()?;
    let mut bench = Bench::open(runner.underway.plan.experiment.scale, site.folder, site.ui, site.interrupt)?;
    let ready = runner.prepare(&mut bench, &stored);
    let prepared = match ready {
        Ok(prepared) => prepared,
        Err(error) => {
            runner.give_up(&stored);
            return Err(error);
        }
    };
    runner.trials(&mut bench, &prepared, &stored)?;
    drop(bench);
    runner.conclude()
}

/// An experiment under way.
struct Runner<'a, W: Case> {
    underway: Underway<Agenda>,
    measured: Measured,
    cast: Vec<Part>,
    standings: Vec<Standing>,
    /// For each part its trial in each block.
    of_parts: Vec<Vec<Option<usize>>>,
    /// For each block the parts in the order in which they ran.
    blocks: Vec<Vec<usize>>,
    document: Document,
    /// What was spent before this process.
    spent_before: Spent,
    /// What the bench has spent.
    spent_here: Spent,
    clock: Monotonic,
    folder: &'a Folder,
    ui: &'a Ui,
    interrupt: &'a Interrupt,
    workload: std::marker::PhantomData<W>,
}

impl<'a, W: Case> Runner<'a, W> {
    fn new(underway: Underway<Agenda>, site: &Site<'a>) -> Result<Runner<'a, W>> {
        let experiment = &underway.plan.experiment;
        let measured = Measured::named(&experiment.metric, W::KINDS)?;
        let cast = underway.plan.cast();
        let mut subjects: Vec<&str> = Vec::new();
        for variant in &experiment.variants {
            if !subjects.contains(&variant.subject.as_str()) {
                subjects.push(&variant.subject);
            }
        }
        let mut document = underway.document(&subjects);
        document.notes.splice(..0, experiment.notes.iter().cloned());
        let standing = Standing { state: VariantState::Measured, reason: None };
        Ok(Runner {
            measured,
            standings: vec![standing; cast.len()],
            of_parts: vec![vec![None; experiment.blocks as usize]; cast.len()],
            blocks: Vec::new(),
            cast,
            document,
            spent_before: underway.plan.spent,
            spent_here: Spent::default(),
            underway,
            clock: Monotonic::start(),
            folder: site.folder,
            ui: site.ui,
            interrupt: site.interrupt,
            workload: std::marker::PhantomData,
        })
    }

    /// Takes the trials that had ended before for ours.
    fn take(&mut self, stored: &Stored) {
        for (at, slot) in self.underway.plan.slots().iter().enumerate() {
            if let Some(trial) = stored.trial(at) {
                self.document.trials.push(trial.clone());
                self.took(slot, self.document.trials.len() - 1);
            }
        }
    }

    /// Loads every place and holds every variant to the workload. One that cannot be measured says why, and the others go
    /// on; a comparison of two has no others.
    fn prepare(&mut self, bench: &mut Bench<'_, W>, stored: &Stored) -> Result<Vec<Option<Prepared>>> {
        let variants = self.underway.plan.experiment.variants.clone();
        let mut prepared = Vec::new();
        for (index, variant) in variants.iter().enumerate() {
            let ready = bench.prepare(variant);
            self.spent_here = bench.spent();
            if self.interrupt.requested() {
                bail!("interrupted while loading\nhint: {}", resume::goes_on(self.folder));
            }
            prepared.push(match ready {
                Ok(ready) => {
                    stored.agrees(&variant.name, &self.parts_of(index), &ready)?;
                    Some(ready)
                }
                Err(error) if self.underway.kind == RunKind::Comparison => {
                    return Err(error.context(format!("{} cannot be measured", variant.subject)));
                }
                Err(error) => {
                    self.ui.say(&format!("{} could not be started: {error:#}", variant.name));
                    for part in self.parts_of(index) {
                        self.stands(part, VariantState::NotStarted, format!("{error:#}"));
                    }
                    None
                }
            });
        }
        if prepared.iter().all(Option::is_none) {
            let mut reasons = self.cast.iter().zip(&self.standings);
            let first = reasons.find_map(|(part, standing)| Some((&part.name, standing.reason.as_ref()?)));
            let (name, reason) = first.ok_or_else(|| anyhow!("an experiment without variants"))?;
            bail!("no variant could be started; {name}: {reason}");
        }
        // Only now is it sure that it goes on.
        self.underway.plan.again = stored.again().to_vec();
        self.underway.notes.extend(stored.notes().iter().cloned());
        self.document.notes.extend(stored.notes().iter().cloned());
        self.document.notes.extend(bench.notes());
        self.write()?;
        Ok(prepared)
    }

    /// The parts of a variant, by their place in the cast.
    fn parts_of(&self, variant: usize) -> Vec<usize> {
        (0..self.cast.len()).filter(|part| self.cast[*part].variant == variant).collect()
    }

    fn stands(&mut self, part: usize, state: VariantState, reason: String) {
        self.standings[part] = Standing { state, reason: Some(reason) };
    }

    /// Runs every trial that is not stored yet.
    fn trials(
        &mut self,
        bench: &mut Bench<'_, W>,
        prepared: &[Option<Prepared>],
        stored: &Stored,
    ) -> Result<()> {
        let slots = self.underway.plan.slots();
        let (begun, mut run_here) = (self.clock.now().as_secs_f64(), 0_usize);
        for (at, slot) in slots.iter().enumerate() {
            self.underway.plan.again.retain(|block| *block >= slot.block);
            let part = &self.cast[slot.part];
            let to_run = !stored.has_passed(at) && self.runs(slot.part);
            let Some(ready) = prepared[part.variant].as_ref().filter(|_| to_run) else {
                continue;
            };
            if self.interrupt.requested() {
                break;
            }
            let spent = self.clock.now().as_secs_f64() - begun;
            let open = slots[at..].iter().filter(|slot| self.runs(slot.part)).count();
            let left = match run_here {
                0 => String::new(),
                done => format!(", {} left", ui::seconds(spent / done as f64 * open as f64)),
            };
            self.ui.say(&format!("trial {} of {}: {}{left}", at + 1, slots.len(), part.name));
            let goes_on = self.trial(bench, ready, slot)?;
            run_here += 1;
            self.spent_here = bench.spent();
            self.write()?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Whether a part still runs.
    fn runs(&self, part: usize) -> bool {
        self.standings[part].state == VariantState::Measured
    }

    /// Runs one trial; gives whether others are to follow.
    fn trial(&mut self, bench: &mut Bench<'_, W>, ready: &Prepared, slot: &Slot) -> Result<bool> {
        let plan = &self.underway.plan.experiment.variants[self.cast[slot.part].variant].plan;
        // The same calls on all sides, other ones in every block.
        let plan = drive::Plan { seed: plan.seed + u64::from(slot.block), ..plan.clone() };
        self.ui.live().place(&self.cast[slot.part].name, slot.block + 1);
        let index = match bench.trial(ready, &plan, &slot.name, None, &mut self.document) {
            Ok(index) => index,
            Err(_) if self.interrupt.requested() => return Ok(false),
            Err(error) if self.underway.kind == RunKind::Comparison => {
                self.write()?;
                return Err(error);
            }
            Err(error) => {
                let has_run = self.of_parts[slot.part].iter().any(Option::is_some);
                let state = if has_run { VariantState::Void } else { VariantState::NotStarted };
                self.ui.say(&format!("{}: {error:#}", self.cast[slot.part].name));
                self.stands(slot.part, state, format!("{error:#}"));
                return Ok(true);
            }
        };
        let trial = &self.document.trials[index];
        if trial::is_empty(trial) {
            self.document.trials.pop();
            return Ok(false);
        }
        let interrupted = trial.state == State::Interrupted;
        self.took(slot, index);
        // Of two sides one that is void leaves nothing to compare.
        let pointless = self.underway.kind == RunKind::Comparison && !self.runs(slot.part);
        Ok(!interrupted && !pointless)
    }

    /// Notes a trial that has ended.
    fn took(&mut self, slot: &Slot, index: usize) {
        self.of_parts[slot.part][slot.block as usize] = Some(index);
        let block = slot.block as usize;
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, Vec::new());
        }
        self.blocks[block].push(slot.part);
        let trial = &self.document.trials[index];
        if let Some(why) = trial.why_void() {
            self.ui.say(&format!("{} is void: {why}", self.cast[slot.part].name));
            self.stands(slot.part, VariantState::Void, why);
        }
    }

    /// Writes down what there is. Only between trials: nothing of it disturbs what is measured.
    fn write(&mut self) -> Result<()> {
        self.underway.plan.spent = self.spent();
        self.document.experiment = self.told();
        self.underway.put(self.folder)?;
        self.document.notes.push(self.partial());
        let put = self.folder.put_document(&self.document);
        self.document.notes.pop();
        put?;
        self.ui.live().experiment(&self.document, || self.found());
        Ok(())
    }

    /// What a reader must know of a document that is not whole.
    fn partial(&self) -> String {
        resume::partial(&self.document, Some(self.underway.plan.slots().len()), self.folder)
    }

    fn spent(&self) -> Spent {
        let (before, here) = (self.spent_before, self.spent_here);
        let measured = self.document.trials.iter().map(|trial| trial.warmed_s() + trial.measured_s);
        Spent {
            total_s: before.total_s + self.clock.now().as_secs_f64(),
            load_s: before.load_s + here.load_s,
            restore_s: before.restore_s + here.restore_s,
            measured_s: measured.sum(),
            check_s: before.check_s + here.check_s,
        }
    }

    fn findings(&self) -> Findings<'_> {
        Findings {
            plan: &self.underway.plan.experiment,
            measured: &self.measured,
            cast: &self.cast,
            standings: &self.standings,
            of_parts: &self.of_parts,
            trials: &self.document.trials,
        }
    }

    /// What the document says: of a comparison only once there is something to compare.
    fn told(&self) -> Option<result::Experiment> {
        if self.underway.kind == RunKind::Experiment {
            return Some(self.found());
        }
        let found = self.found();
        let comparison = found.comparisons.first().filter(|_| !self.document.trials.is_empty())?;
        let question = format!("{} against {}", ui::capital(&comparison.b.label), comparison.a.label);
        let answer = vec![comparison.sentence.clone()];
        Some(result::Experiment { name: String::new(), question: Some(question), answer, ..found })
    }

    fn found(&self) -> result::Experiment {
        let plan = &self.underway.plan.experiment;
        let comparisons = self.findings().comparisons::<W>();
        let place =
            |variant: usize| self.cast.iter().position(|part| part.variant == variant && !part.control);
        let variants =
            self.cast.iter().zip(&self.standings).zip(&self.of_parts).map(|((part, standing), trials)| {
                let variant = &plan.variants[part.variant];
                let setting =
                    |(name, value): &(String, String)| Setting { name: name.clone(), value: value.clone() };
                result::Variant {
                    name: part.name.clone(),
                    subject: variant.subject.clone(),
                    settings: variant.asked.iter().map(setting).collect(),
                    base: if part.control { place(part.variant) } else { variant.base.and_then(place) },
                    control: part.control,
                    state: standing.state,
                    reason: standing.reason.clone(),
                    trials: trials.clone(),
                }
            });
        result::Experiment {
            name: plan.name.clone(),
            question: plan.question.clone(),
            metric: self.measured.described::<W>(),
            variants: variants.collect(),
            blocks: self.blocks.clone(),
            blocks_planned: plan.blocks,
            answer: conclude::answers(&comparisons, &self.measured),
            comparisons,
            spent: self.spent(),
        }
    }

    /// How it ended: complete unless the user or, of a comparison, a failure ended it.
    fn state(&self) -> State {
        let trials = &self.document.trials;
        let interrupted = trials.last().is_some_and(|trial| trial.state == State::Interrupted)
            || self.interrupt.requested();
        let failed = trials.iter().any(|trial| trial.state == State::Failed);
        match (interrupted, failed && self.underway.kind == RunKind::Comparison) {
            (_, true) => State::Failed,
            (true, false) => State::Interrupted,
            (false, false) => State::Complete,
        }
    }

    /// Draws the conclusions, writes everything, and says what came of it.
    fn conclude(mut self) -> Result<Answer> {
        self.document.state = self.state();
        let found = self.found();
        let spent = found.spent;
        let over = spent.total_s - spent.load_s - spent.measured_s;
        let summary = format!(
            "Restoring the state before each trial took {} in all, checks {}, loading {}; {} were spent measuring, and the \
             whole took {:.0} % more than measuring and loading.",
            ui::seconds(spent.restore_s),
            ui::seconds(spent.check_s),
            ui::seconds(spent.load_s),
            ui::seconds(spent.measured_s),
            over / (spent.measured_s + spent.load_s).max(1e-9) * 100.0
        );
        let limits = Answer::of_limits(&found.comparisons, self.underway.plan.experiment.accept_inconclusive);
        let unsound = self.standings.iter().any(|standing| standing.state != VariantState::Measured);
        self.document.experiment = self.told();
        if self.underway.kind == RunKind::Comparison {
            let suspicion = self.underway.plan.experiment.suspicion.as_ref();
            let comparison = found.comparisons.first();
            self.document.confirmation = suspicion.map(|suspicion| confirm::judge(suspicion, comparison));
            self.document.notes.push(summary);
        }
        self.underway.plan.spent = spent;
        self.underway.put(self.folder)?;
        if self.document.state == State::Interrupted {
            self.document.notes.push(self.partial());
        }
        publish(self.folder, &self.document, self.ui)?;
        if self.document.state == State::Interrupted {
            self.ui.say(&resume::goes_on(self.folder));
            if self.underway.plan.experiment.max_loss.is_some() {
                bail!("interrupted before --max-loss could be judged");
            }
        }
        let audited =
            !self.underway.plan.experiment.require_audit || trial::is_audited(&self.document.trials, self.ui);
        Ok(if unsound || !audited { Answer::Bad } else { limits })
    }

    /// What could not begin leaves no folder, unless it can go on later.
    fn give_up(&mut self, stored: &Stored) {
        if !stored.is_empty() || self.interrupt.requested() {
            self.document.state = State::Interrupted;
            // What cannot be written leaves the last state, which says that it is running.
            let _ = self.folder.put_document(&self.document);
        } else {
            self.folder.empty();
        }
    }
}
