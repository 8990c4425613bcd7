//! Which trial is next, given those that are done: experiments and comparisons, sweeps and searches are each a [`Schedule`],
//! a pure function of what was asked and of the trials so far. To resume one is to ask it with the trials that are on disk.
//!
//! In reading order: `plan` (what is asked), `interleaved`, `sweep` and `search` (the schedules), `conclude` (what trials
//! say). Nothing here measures, writes or prints.

mod bracket;
mod conclude;
pub mod confirm;
mod early_stop;
pub mod factors;
mod gates;
mod inconclusive;
mod interleaved;
pub mod metric;
pub mod plan;
mod search;
mod slo;
mod sweep;
mod timing;
mod turns;
mod under_load;

use anyhow::Result;
use measure::Totals;
use model::Nanos;
use plan::Variant;
use result::{Document, RunKind, Spent, State, Trial};
use serde::Serialize;
use std::ops::RangeInclusive;
use workload::Benchmark;

pub use gates::Gate;
pub use interleaved::Interleaved;
pub use metric::rate_unit;
pub use search::Searching;
pub use slo::Objective;
pub use sweep::Sweep;
pub use under_load::{Spacing, UnderLoad, pool};

/// Which trials a run takes, and what they say. It measures nothing and writes nothing.
pub trait Schedule<W: Benchmark>: Clone + Serialize {
    /// What kind of run it is; never [`RunKind::Trial`], which cannot be resumed.
    fn kind(&self) -> RunKind;
    /// What the folder of the run is called, after the time.
    fn name(&self) -> String;
    /// Size of the data.
    fn scale(&self) -> u32;
    /// Every variant of which there are trials. All are loaded and held to the workload before the first trial.
    fn variants(&self) -> Vec<Variant>;
    /// Trials that it takes, where that is known before the last.
    fn trials(&self) -> Option<usize>;
    /// Trials that are run next to each other, so that they can be compared. Where one of them cannot be used, none is.
    fn block(&self) -> usize;

    /// Numbers of the trials that are run at once, of which the trial of this number is one: their subjects make calls in turn.
    fn unit(&self, number: usize) -> RangeInclusive<usize> {
        number..=number
    }

    /// For each list of variants whose trials are run at once, by their places: as often as they have trials in it.
    fn together(&self) -> Vec<Vec<usize>> {
        Vec::new()
    }

    /// Whether a trial that cannot be used costs those after its block too.
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

    /// What the user is told before anything starts.
    fn announcement(&self) -> Option<String> {
        None
    }

    /// What to do where the trial of this number, from 1, has its turn.
    ///
    /// # Errors
    /// The trials so far leave nothing to measure.
    fn next(&self, number: usize, so_far: &CompletedTrials) -> Result<Next>;

    /// The trial of this number, if it has one, whatever has become of its variant.
    fn trial(&self, number: usize, so_far: &CompletedTrials) -> Result<Option<PlannedTrial>> {
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
    fn remark(&self, _so_far: &CompletedTrials) -> Option<String> {
        None
    }

    /// Puts into the document what the trials so far say.
    fn update(&self, so_far: &CompletedTrials, document: &mut Document);

    /// Puts into the document what they say now that no other follows.
    fn conclude(&self, so_far: &CompletedTrials, document: &mut Document) {
        self.update(so_far, document);
    }

    /// What those who watch see of an experiment where the document does not say it yet.
    fn shown(&self, _so_far: &CompletedTrials) -> Option<result::Experiment> {
        None
    }
}

/// See [`Schedule::end_early`].
pub type EndEarly<'a> = dyn Fn(Nanos, &Totals) -> Option<String> + 'a;

/// What to do next.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one a trial, and it is taken apart at once")]
pub enum Next {
    /// This one is run.
    Trial(PlannedTrial),
    /// This one is left out, because its variant cannot be measured; others follow.
    Skip,
    /// No other follows.
    End,
}

/// A trial that is wanted.
#[derive(Debug, Clone)]
pub struct PlannedTrial {
    /// Its variant, by its place in [`Schedule::variants`].
    pub variant: usize,
    /// What the load generator does.
    pub plan: drive::Plan,
    /// What its folder is called.
    pub folder: String,
    /// What those who watch are told that runs: a variant, a load.
    pub what: String,
    /// Its zero-based repetition.
    pub round: u32,
    /// What the user is told, where the number of trials is not known.
    pub announcement: String,
}

impl PlannedTrial {
    /// A trial whose folder is called after its number, from 1, and `label`.
    pub fn of(number: usize, label: &str, variant: usize, plan: drive::Plan) -> PlannedTrial {
        let folder = trial_name(number, label);
        PlannedTrial { variant, plan, folder, what: label.into(), round: 0, announcement: String::new() }
    }
}

/// What has come of a run so far.
#[derive(Debug, Clone, Default)]
pub struct CompletedTrials {
    /// In the order of the document.
    pub trials: Vec<Trial>,
    pub numbers: Vec<usize>,
    pub variants: Vec<usize>,
    /// Variants that are not measured, or no longer.
    pub stopped: Vec<Stopped>,
    /// Where its time went.
    pub spent: Spent,
}

impl CompletedTrials {
    /// Takes a trial that is there for the next one.
    pub fn push(&mut self, number: usize, variant: usize, trial: Trial) {
        self.numbers.push(number);
        self.variants.push(variant);
        self.trials.push(trial);
    }

    /// Leaves out the trials whose numbers are not meant.
    pub fn retain(&mut self, is_meant: impl Fn(usize) -> bool) {
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
pub struct Stopped {
    /// Its place in [`Schedule::variants`].
    pub variant: usize,
    /// The trial that could not be begun; none where the variant could not be prepared.
    pub number: Option<usize>,
    pub reason: String,
}

/// The name of a trial's folder: `007-through-http`. Numbers are from 1; names sort as the trials ran.
pub fn trial_name(number: usize, label: &str) -> String {
    let plain = label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let words: String = plain.collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    format!("{number:03}-{}", words.join("-"))
}

/// Whether a trial has come to its end, so that nothing of it has to be measured again.
pub fn has_ended(trial: &Trial) -> bool {
    match trial.state {
        State::Complete | State::Failed => true,
        State::Interrupted => trial.ended_early.is_some(),
        State::Running => false,
    }
}
