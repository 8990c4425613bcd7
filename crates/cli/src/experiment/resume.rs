//! What an experiment that was cut off goes on with: every trial that has ended, but for those of blocks that are run again.

use super::bench::Prepared;
use super::run::carry_out;
use super::underway::Agenda;
use crate::Answer;
use crate::case::of_workload;
use crate::resume::{agrees, announce, of_this_machine, read_trial};
use crate::underway::{Site, Underway};
use anyhow::Result;
use result::Trial;
use std::path::Path;

/// Trials that have ended before, by their slot.
pub(crate) struct Stored {
    trials: Vec<Option<Trial>>,
    /// The part of each slot.
    parts: Vec<usize>,
    /// Whether a slot is of a block that is run again, because a trial in it cannot be believed.
    anew: Vec<bool>,
    /// Those blocks.
    again: Vec<u32>,
    /// What a reader must know of the interruption.
    notes: Vec<String>,
}

/// Goes on with an experiment or a comparison.
///
/// # Errors
/// What is there is of another machine, engine or load, or those of [`carry_out`].
pub(crate) fn go_on(underway: Underway<Agenda>, site: &Site<'_>) -> Result<Answer> {
    let mut stored = Stored::read(site.folder.path(), &underway);
    of_this_machine(stored.trials.iter().flatten())?;
    let (done, all) = (stored.trials.iter().flatten().count(), stored.trials.len());
    stored.notes = announce(&underway.id, done, Some(all), stored.notes, site.ui);
    of_workload!(underway.plan.experiment.workload.clone().as_str(), W => {
        carry_out::<W>(underway, stored, site)
    })
}

impl Stored {
    /// Of an experiment that has just begun.
    pub(crate) fn none() -> Stored {
        Stored {
            trials: Vec::new(),
            parts: Vec::new(),
            anew: Vec::new(),
            again: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The trials that have ended. One that was interrupted, or killed, is run again; and where one cannot be read, or is not
    /// of this run, its whole block is: trials of a block have run next to each other.
    fn read(folder: &Path, underway: &Underway<Agenda>) -> Stored {
        let slots = underway.plan.slots();
        // A block that was being run again when it was cut off has trials of two times.
        let (mut trials, mut notes, mut again) = (Vec::new(), Vec::new(), underway.plan.again.clone());
        for slot in &slots {
            let found = read_trial(folder, &underway.id, &slot.name);
            if let Err(why) = &found {
                again.push(slot.block);
                notes.push(format!(
                    "Trial {} cannot be believed ({why}): block {} is run again.",
                    slot.name,
                    slot.block + 1
                ));
            }
            trials.push(found.unwrap_or(None));
        }
        again.sort_unstable();
        again.dedup();
        let anew: Vec<bool> = slots.iter().map(|slot| again.contains(&slot.block)).collect();
        for (trial, _) in trials.iter_mut().zip(&anew).filter(|(_, anew)| **anew) {
            *trial = None;
        }
        Stored { trials, parts: slots.iter().map(|slot| slot.part).collect(), anew, again, notes }
    }

    /// The trial of a slot, if it has ended.
    pub(crate) fn trial(&self, slot: usize) -> Option<&Trial> {
        self.trials.get(slot)?.as_ref()
    }

    /// Whether there is nothing that could go on.
    pub(crate) fn is_empty(&self) -> bool {
        self.again.is_empty() && self.trials.iter().all(Option::is_none)
    }

    /// The blocks that are run again.
    pub(crate) fn again(&self) -> &[u32] {
        &self.again
    }

    /// Whether the turn of a slot is over, with or without a trial. A slot without one is not run later: its trial would not
    /// have run next to the others of its block.
    pub(crate) fn has_passed(&self, slot: usize) -> bool {
        let last = self.trials.iter().rposition(Option::is_some);
        !self.anew.get(slot).is_some_and(|anew| *anew) && last.is_some_and(|last| slot <= last)
    }

    /// What a reader must know of the interruption, a sentence each.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Fails where the trials of a variant so far were measured otherwise than they would be now; see [`agrees`].
    pub(crate) fn agrees(&self, name: &str, parts: &[usize], ready: &Prepared) -> Result<()> {
        let of_variant = self.trials.iter().zip(&self.parts).filter(|(_, part)| parts.contains(part));
        agrees(name, of_variant.filter_map(|(trial, _)| trial.as_ref()), ready)
    }
}
