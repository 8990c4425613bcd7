//! `stackmark resume`: goes on with a run of several trials that was interrupted or killed. What each kind of run does with
//! the trials that have ended is its own; here is when they may be believed, and what is said.

use crate::experiment::bench::{Prepared, without_lines};
use crate::experiment::{self, lock};
use crate::folder::{Folder, now};
use crate::interrupt::Interrupt;
use crate::sweep::errand;
use crate::ui::Ui;
use crate::underway::{Sealed, Site};
use crate::{Answer, args, find_max, sweep};
use anyhow::{Result, bail};
use result::{Document, Machine, RunKind, State, Trial};
use std::path::Path;

pub(crate) fn resume(args: &args::Resume, ui: &Ui) -> Result<Answer> {
    let sealed = Sealed::read(&args.folder)?;
    let held = lock::hold()?;
    let folder = Folder::reopen(&args.folder)?;
    if result::read(folder.path()).is_ok_and(|document| is_over(&document)) {
        bail!(
            "{} is complete: there is nothing to go on with\nhint: `stackmark report {0}` shows it",
            folder.path().display()
        );
    }
    held.works_in(folder.path());
    let interrupt = Interrupt::listen()?;
    let site = Site { folder: &folder, ui, interrupt: &interrupt };
    match sealed.kind {
        RunKind::Comparison | RunKind::Experiment => experiment::go_on(sealed.open()?, &site),
        RunKind::Sweep => errand::go_on::<sweep::Asked>(sealed.open()?, &site),
        RunKind::Search => errand::go_on::<find_max::Asked>(sealed.open()?, &site),
        RunKind::Trial => bail!("{} is a single trial, which cannot go on", folder.path().display()),
    }
}

/// Whether nothing of a run is left to do. A comparison that has failed is answered by that; a sweep or a search that could not
/// go on can once the reason is gone.
fn is_over(document: &Document) -> bool {
    match document.state {
        State::Complete => true,
        State::Failed => document.kind == RunKind::Comparison,
        State::Running | State::Interrupted => false,
    }
}

/// Whether a trial has come to its end, so that nothing of it has to be measured again.
pub(crate) fn has_ended(trial: &Trial) -> bool {
    match trial.state {
        State::Complete | State::Failed => true,
        State::Interrupted => trial.ended_early.is_some(),
        State::Running => false,
    }
}

/// The trial of a run in the folder `name`, if it has ended.
///
/// # Errors
/// Why what is there cannot be believed.
pub(crate) fn read_trial(folder: &Path, run: &str, name: &str) -> Result<Option<Trial>, String> {
    let path = folder.join("trials").join(name);
    if !path.join("result.json").exists() {
        return Ok(None);
    }
    let document = result::read(&path).map_err(|error| error.to_string())?;
    let id = format!("{run}/{name}");
    if document.id != id {
        return Err(format!("it says that it is {}, and not {id}", document.id));
    }
    Ok(document.trials.first().filter(|trial| has_ended(trial)).map(without_lines))
}

/// Fails where a trial so far was measured on another machine, or on another kernel.
pub(crate) fn of_this_machine<'a>(trials: impl Iterator<Item = &'a Trial>) -> Result<()> {
    let now = observe::machine();
    for then in trials.map(|trial| &trial.machine) {
        for (what, then, now) in machine_pairs(then, &now) {
            if then != now {
                bail!(
                    "the trials so far were measured with {what} {then}, and here it is {now}: one run is measured on \
                     one machine\nhint: begin it anew"
                );
            }
        }
    }
    Ok(())
}

fn machine_pairs(then: &Machine, now: &Machine) -> [(&'static str, String, String); 3] {
    [
        ("the processor", then.cpu.clone(), now.cpu.clone()),
        ("a number of cores of", then.cores.to_string(), now.cores.to_string()),
        ("the kernel", then.kernel.clone(), now.kernel.clone()),
    ]
}

/// Fails where the engine is of another version by now, or where the data was loaded otherwise. `trials` are those of
/// `name` so far.
pub(crate) fn agrees<'a>(
    name: &str,
    trials: impl Iterator<Item = &'a Trial>,
    ready: &Prepared,
) -> Result<()> {
    for trial in trials {
        let (version, checksum) = (&trial.stack.engine_version, &trial.data.checksum);
        if *version != ready.engine_version {
            bail!(
                "the trials of {name} so far were measured on version {version} of its engine, and here it is {}: that \
                 would be another run\nhint: begin it anew",
                ready.engine_version
            );
        }
        if *checksum != ready.checksum {
            let word = |checksum: &Option<String>| checksum.clone().unwrap_or_else(|| "none".into());
            bail!(
                "the data of {name} has the checksum {}, and the trials so far worked on {}: that would be another \
                 run\nhint: begin it anew",
                word(&ready.checksum),
                word(checksum)
            );
        }
    }
    Ok(())
}

/// Says with what a run goes on, and gives that with `found`, what its trials have shown, for the document. `all` are the
/// trials that it is to have, where that is known.
pub(crate) fn announce(
    id: &str,
    done: usize,
    all: Option<usize>,
    found: Vec<String>,
    ui: &Ui,
) -> Vec<String> {
    let trials = trials(done, all);
    let are = if trials == "1 trial" { "is" } else { "are" };
    ui.say(&format!("going on with {id}: {trials} {are} done"));
    for note in &found {
        ui.say(note);
    }
    let cut_off = format!("It was cut off after {trials}, and went on at {}.", now().readable());
    std::iter::once(cut_off).chain(found).collect()
}

/// What a reader must know of a document that is not whole.
pub(crate) fn partial(document: &Document, all: Option<usize>, folder: &Folder) -> String {
    let ended = document.trials.iter().filter(|trial| has_ended(trial)).count();
    format!(
        "This is partial: {}, with {}. {} once nothing works on it.",
        document.state.word(),
        trials(ended, all),
        goes_on(folder)
    )
}

/// The command that goes on with an interrupted run.
pub(crate) fn goes_on(folder: &Folder) -> String {
    format!("`stackmark resume {}` goes on", folder.path().display())
}

/// `3 of 12 trials`.
fn trials(done: usize, all: Option<usize>) -> String {
    match all {
        Some(all) => format!("{done} of {all} trials"),
        None if done == 1 => "1 trial".into(),
        None => format!("{done} trials"),
    }
}
