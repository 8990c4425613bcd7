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
}

pub(crate) fn resume(args: &args::Resume, ui: &Ui) -> Result<Answer> {
    let mut underway = Underway::read(&args.folder)?;
    let held = lock::hold()?;
    let folder = Folder::reopen(&args.folder)?;
    let whole = |document: &document::Document| matches!(document.state, State::Complete | State::Failed);
    if document::read(folder.path()).is_ok_and(|document| whole(&document)) {
        bail!(
            "{} is complete: there is nothing to go on with\nhint: `stackmark report {0}` shows it",
            folder.path().display()
        );
    }
    let stored = Stored::read(folder.path(), &underway.slots());
    stored.is_of_this_machine()?;
    let (done, all) = (stored.trials.iter().flatten().count(), stored.trials.len());
    underway
        .experiment
        .notes
        .push(format!("It was cut off after {done} of {all} trials, and went on at {}.", now().readable()));
    ui.say(&format!("going on with {}: {done} of {all} trials are done", underway.id));
    let interrupt = Interrupt::listen()?;
    of_workload!(underway.experiment.workload.clone().as_str(), W => {
        carry_out::<W>(underway, stored, &folder, &held, ui, &interrupt)
    })
}

impl Stored {
    /// Of an experiment that has just begun.
    pub(crate) fn none() -> Stored {
        Stored { trials: Vec::new(), parts: Vec::new() }
    }

    /// The trials that have ended. One that was interrupted, or killed, is run again.
    fn read(folder: &Path, slots: &[Slot]) -> Stored {
        let of = |slot: &Slot| {
            let document = document::read(&folder.join("trials").join(&slot.name)).ok()?;
            let ended = matches!(document.state, State::Complete | State::Failed);
            document.trials.first().filter(|_| ended).map(without_lines)
        };
        Stored { trials: slots.iter().map(of).collect(), parts: slots.iter().map(|slot| slot.part).collect() }
    }

    /// The trial of a slot, if it has ended.
    pub(crate) fn trial(&self, slot: usize) -> Option<&Trial> {
        self.trials.get(slot)?.as_ref()
    }

    /// The last slot that has been done.
    pub(crate) fn last(&self) -> Option<usize> {
        self.trials.iter().rposition(Option::is_some)
    }

    /// Fails where the trials so far were measured on another machine, or on another kernel.
    fn is_of_this_machine(&self) -> Result<()> {
        let Some(then) = self.trials.iter().flatten().next().map(|trial| &trial.machine) else {
            return Ok(());
        };
        let now = convert::machine(&observe::Machine::read(), None);
        for (what, then, now) in machine_pairs(then, &now) {
            if then != now {
                bail!(
                    "the trials so far were measured with {what} {then}, and here it is {now}: one experiment is measured on \
                     one machine\nhint: begin it anew"
                );
            }
        }
        Ok(())
    }

    /// Fails where the engine is of another version by now, or where the data was loaded otherwise.
    pub(crate) fn agrees(&self, name: &str, parts: &[usize], ready: &Prepared) -> Result<()> {
        let of_variant = |(trial, part): (&'_ Option<Trial>, &usize)| {
            trial.as_ref().filter(|_| parts.contains(part)).map(|trial| {
                let checksum = trial.data.checksum.clone();
                (trial.stack.engine_version.clone(), checksum)
            })
        };
        let Some((version, checksum)) = self.trials.iter().zip(&self.parts).find_map(of_variant) else {
            return Ok(());
        };
        if version != ready.engine_version {
            bail!(
                "the trials of {name} so far were measured on version {version} of its engine, and here it is {}: that would \
                 be another experiment\nhint: begin it anew",
                ready.engine_version
            );
        }
        if checksum != ready.checksum {
            let word = |checksum: Option<&String>| checksum.map_or("none", String::as_str).to_owned();
            bail!(
                "the data of {name} has the checksum {}, and the trials so far worked on {}: that would be another \
                 experiment\nhint: begin it anew",
                word(ready.checksum.as_ref()),
                word(checksum.as_ref())
            );
        }
        Ok(())
    }
}

fn machine_pairs(then: &Machine, now: &Machine) -> [(&'static str, String, String); 3] {
    [
        ("the processor", then.cpu.clone(), now.cpu.clone()),
        ("a number of cores of", then.cores.to_string(), now.cores.to_string()),
        ("the kernel", then.kernel.clone(), now.kernel.clone()),
    ]
}
