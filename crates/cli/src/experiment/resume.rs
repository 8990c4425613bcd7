//! `stackmark resume`: goes on with an experiment that was interrupted or killed.

use super::bench::{Prepared, without_lines};
use super::lock;
use super::run::carry_out;
use super::underway::{Slot, Underway};
use crate::case::of_workload;
use crate::convert;
use crate::folder::{Folder, now};
use crate::interrupt::Interrupt;
use crate::ui::Ui;
use crate::{Answer, args};
use anyhow::{Result, bail};
use report::document::{self, Machine, State, Trial};
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

pub(crate) fn resume(args: &args::Resume, ui: &Ui) -> Result<Answer> {
    let underway = Underway::read(&args.folder)?;
    let held = lock::hold()?;
    let folder = Folder::reopen(&args.folder)?;
    let whole = |document: &document::Document| matches!(document.state, State::Complete | State::Failed);
    if document::read(folder.path()).is_ok_and(|document| whole(&document)) {
        bail!(
            "{} is complete: there is nothing to go on with\nhint: `stackmark report {0}` shows it",
            folder.path().display()
        );
    }
    let mut stored = Stored::read(folder.path(), &underway);
    stored.is_of_this_machine()?;
    let (done, all) = (stored.trials.iter().flatten().count(), stored.trials.len());
    stored.notes.insert(
        0,
        format!("It was cut off after {done} of {all} trials, and went on at {}.", now().readable()),
    );
    ui.say(&format!("going on with {}: {done} of {all} trials are done", underway.id));
    for note in &stored.notes[1..] {
        ui.say(note);
    }
    let interrupt = Interrupt::listen()?;
    of_workload!(underway.experiment.workload.clone().as_str(), W => {
        carry_out::<W>(underway, stored, &folder, &held, ui, &interrupt)
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
    fn read(folder: &Path, underway: &Underway) -> Stored {
        let slots = underway.slots();
        // A block that was being run again when it was cut off has trials of two times.
        let (mut trials, mut notes, mut again) = (Vec::new(), Vec::new(), underway.again.clone());
        for slot in &slots {
            let found = read_trial(folder, &underway.id, slot);
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

    /// Fails where a trial so far was measured on another machine, or on another kernel.
    fn is_of_this_machine(&self) -> Result<()> {
        let now = convert::machine(&observe::Machine::read(), None);
        for then in self.trials.iter().flatten().map(|trial| &trial.machine) {
            for (what, then, now) in machine_pairs(then, &now) {
                if then != now {
                    bail!(
                        "the trials so far were measured with {what} {then}, and here it is {now}: one experiment is measured \
                         on one machine\nhint: begin it anew"
                    );
                }
            }
        }
        Ok(())
    }

    /// Fails where the engine is of another version by now, or where the data was loaded otherwise.
    pub(crate) fn agrees(&self, name: &str, parts: &[usize], ready: &Prepared) -> Result<()> {
        let of_variant = self.trials.iter().zip(&self.parts).filter(|(_, part)| parts.contains(part));
        for trial in of_variant.filter_map(|(trial, _)| trial.as_ref()) {
            let (version, checksum) = (&trial.stack.engine_version, &trial.data.checksum);
            if *version != ready.engine_version {
                bail!(
                    "the trials of {name} so far were measured on version {version} of its engine, and here it is {}: that \
                     would be another experiment\nhint: begin it anew",
                    ready.engine_version
                );
            }
            if *checksum != ready.checksum {
                let word = |checksum: &Option<String>| checksum.clone().unwrap_or_else(|| "none".into());
                bail!(
                    "the data of {name} has the checksum {}, and the trials so far worked on {}: that would be another \
                     experiment\nhint: begin it anew",
                    word(&ready.checksum),
                    word(checksum)
                );
            }
        }
        Ok(())
    }
}

/// The trial of a slot, if it has ended.
///
/// # Errors
/// Why what is there cannot be believed.
fn read_trial(folder: &Path, run: &str, slot: &Slot) -> Result<Option<Trial>, String> {
    let path = folder.join("trials").join(&slot.name);
    if !path.join("result.json").exists() {
        return Ok(None);
    }
    let document = document::read(&path).map_err(|error| error.to_string())?;
    let id = format!("{run}/{}", slot.name);
    if document.id != id {
        return Err(format!("it says that it is {}, and not {id}", document.id));
    }
    let ended = matches!(document.state, State::Complete | State::Failed);
    Ok(document.trials.first().filter(|_| ended).map(without_lines))
}

fn machine_pairs(then: &Machine, now: &Machine) -> [(&'static str, String, String); 3] {
    [
        ("the processor", then.cpu.clone(), now.cpu.clone()),
        ("a number of cores of", then.cores.to_string(), now.cores.to_string()),
        ("the kernel", then.kernel.clone(), now.kernel.clone()),
    ]
}
