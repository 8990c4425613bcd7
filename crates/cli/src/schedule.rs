//! Runs of several trials: which trial is next follows from what was asked and from the trials so far, and from nothing
//! else. Experiments, comparisons, sweeps and searches are each a [`Schedule`]; one runner carries any of them out, and to
//! resume one is to begin with the trials that are on disk.

pub(crate) mod interleaved;
mod runner;
mod stored;

use crate::Answer;
use crate::case::Case;
use crate::experiment::bench::trial_name;
use crate::experiment::plan::Variant;
use crate::ui::Ui;
use crate::underway::{self, Site, Underway};
use anyhow::Result;
use measure::Totals;
use model::Nanos;
use result::{Document, RunKind, Spent, Trial};
use serde::Serialize;
use std::path::Path;

pub(crate) use stored::has_ended;

/// Which trials a run takes, and what they say. It measures nothing and writes nothing.
pub(crate) trait Schedule<W: Case>: Clone + Serialize {
    /// Size of the data.
    fn scale(&self) -> u32;
    /// Every variant of which there are trials. All are loaded and held to the workload before the first trial.
    fn variants(&self) -> Vec<Variant>;
    /// Trials that it takes, where that is known before the last.
    fn trials(&self) -> Option<usize>;
    /// Trials that are run next to each other, so that they can be compared. Where one of them cannot be believed, none is.
    fn block(&self) -> usize;

    /// Whether a trial that cannot be believed costs those after its block too.
    fn in_order(&self) -> bool {
        true
    }

    /// Whether the others go on where a variant cannot be measured.
    fn has_others(&self) -> bool {
        false
    }

    /// What a reader must know, a sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What to do where the trial of this number, from 1, has its turn.
    ///
    /// # Errors
    /// The trials so far leave nothing to measure.
    fn next(&self, number: usize, so_far: &SoFar) -> Result<Next>;

    /// The trial of this number, if it has one, whatever has become of its variant.
    ///
    /// # Errors
    /// Those of [`Schedule::next`].
    fn trial(&self, number: usize, so_far: &SoFar) -> Result<Option<Wanted>> {
        Ok(match self.next(number, so_far)? {
            Next::Trial(wanted) => Some(wanted),
            Next::Skip | Next::End => None,
        })
    }

    /// Why a trial that runs by this plan may end at once, asked while it runs; nothing where none ever does.
    fn end_early<'a>(&'a self, _plan: &drive::Plan) -> Option<Box<EndEarly<'a>>> {
        None
    }

    /// What the user is told of the last trial.
    fn said(&self, _so_far: &SoFar) -> Option<String> {
        None
    }

    /// Puts into the document what the trials so far say.
    fn tell(&self, so_far: &SoFar, document: &mut Document);

    /// Puts into the document what they say now that no other follows.
    fn conclude(&self, so_far: &SoFar, document: &mut Document) {
        self.tell(so_far, document);
    }

    /// Shows those who watch how far it has come.
    fn show(&self, _so_far: &SoFar, document: &Document, ui: &Ui) {
        ui.live().board(document);
    }

    /// What a document that is written says to who asked.
    ///
    /// # Errors
    /// It says nothing.
    fn answer(&self, so_far: &SoFar, document: &Document, ui: &Ui) -> Result<Answer>;
}

/// See [`Schedule::end_early`].
pub(crate) type EndEarly<'a> = dyn Fn(Nanos, &Totals) -> Option<String> + 'a;

/// What to do next.
#[derive(Debug, Clone)]
pub(crate) enum Next {
    Trial(Wanted),
    /// This one is left out, because its variant cannot be measured; others follow.
    Skip,
    /// No other follows.
    End,
}

/// A trial that is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Its variant, by its place in [`Schedule::variants`].
    pub(crate) variant: usize,
    pub(crate) plan: drive::Plan,
    /// What its folder is called.
    pub(crate) folder: String,
    /// What those who watch are told that runs: a variant, a load.
    pub(crate) what: String,
    /// The how manyth trial of that it is, from 0.
    pub(crate) round: u32,
    /// What the user is told, where the number of trials is not known.
    pub(crate) announcement: String,
}

impl Wanted {
    /// A trial whose folder is called after its number, from 1, and `label`.
    pub(crate) fn of(number: usize, label: &str, variant: usize, plan: drive::Plan) -> Wanted {
        let folder = trial_name(number, label);
        Wanted { variant, plan, folder, what: label.into(), round: 0, announcement: String::new() }
    }
}

/// What has come of a run so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct SoFar {
    /// In the order of the document.
    pub(crate) trials: Vec<Trial>,
    /// The number of each.
    pub(crate) numbers: Vec<usize>,
    /// The variant of each.
    pub(crate) variants: Vec<usize>,
    /// Variants that are not measured, or no longer.
    pub(crate) stopped: Vec<Stopped>,
    pub(crate) spent: Spent,
}

impl SoFar {
    pub(crate) fn push(&mut self, number: usize, variant: usize, trial: Trial) {
        self.numbers.push(number);
        self.variants.push(variant);
        self.trials.push(trial);
    }

    /// Leaves out the trials whose numbers are not meant.
    fn retain(&mut self, is_meant: impl Fn(usize) -> bool) {
        let all = std::mem::take(self);
        for ((number, variant), trial) in all.numbers.into_iter().zip(all.variants).zip(all.trials) {
            if is_meant(number) {
                self.push(number, variant, trial);
            }
        }
    }
}

/// A variant that could not be measured.
#[derive(Debug, Clone)]
pub(crate) struct Stopped {
    pub(crate) variant: usize,
    /// The trial that could not be begun; none where the variant could not be prepared.
    pub(crate) number: Option<usize>,
    pub(crate) reason: String,
}

/// Begins a run in a new folder under `out`, which is called after the time and `name`.
///
/// # Errors
/// It could not run, or not to its end for a reason that is none of its variants'.
pub(crate) fn begin<W: Case, S: Schedule<W>>(
    schedule: S,
    kind: RunKind,
    name: &str,
    out: &Path,
    ui: &Ui,
) -> Result<Answer> {
    underway::begin(schedule, kind, name, out, ui, |underway, site| {
        runner::carry_out::<W, S>(underway, None, site)
    })
}

/// Resumes a run that was cut off.
///
/// # Errors
/// What is there is of another machine, engine or load, or those of [`begin`].
pub(crate) fn resume<W: Case, S: Schedule<W>>(underway: Underway<S>, site: &Site<'_>) -> Result<Answer> {
    let schedule = &underway.plan;
    let mut stored = stored::read(site.folder, &underway.id, schedule, &underway.again)?;
    stored::of_this_machine(stored.so_far.trials.iter())?;
    let done = stored.so_far.trials.len();
    stored.notes = stored::announce(&underway.id, done, schedule.trials(), stored.notes, site.ui);
    runner::carry_out::<W, S>(underway, Some(stored), site)
}
