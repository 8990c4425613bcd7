//! `stackmark resume`: goes on with a run of several trials that was interrupted or killed. Here is when
//! the trials that have ended may be believed, and what is said; [`trial`] carries out the rest.

use crate::args;
use crate::ui::Ui;
use crate::workloads;
use anyhow::{Result, bail};
use deploy::Interrupt;
use result::{Document, RunKind, State};
use schedule::{Answer, Interleaved, Searching, Sweep};
use targets::Driven;
use trial::{Folder, Sealed, Site};

pub(crate) fn resume(args: &args::Resume, ui: &Ui) -> Result<Answer> {
    let sealed = Sealed::read(&args.folder)?;
    let held = trial::hold()?;
    let folder = Folder::reopen(&args.folder)?;
    if result::read(folder.path()).is_ok_and(|document| is_over(&document)) {
        bail!(
            "{} is complete: there is nothing to go on with\nhint: `stackmark report {0}` shows it",
            folder.path().display()
        );
    }
    held.works_in(folder.path());
    let interrupt = Interrupt::listen()?;
    let site = Site { folder: &folder, viewer: ui, interrupt: &interrupt };
    workloads::of(&sealed.workload)?.resume(sealed, &site)
}

pub(crate) fn resume_workload<W: Driven>(sealed: Sealed, site: &Site<'_>) -> Result<Answer> {
    match sealed.kind {
        RunKind::Comparison | RunKind::Experiment => trial::resume::<W, Interleaved>(sealed.open()?, site),
        RunKind::Sweep => trial::resume::<W, Sweep>(sealed.open()?, site),
        RunKind::Search => trial::resume::<W, Searching>(sealed.open()?, site),
        RunKind::Trial => bail!("{} is a single trial, which cannot go on", site.folder.path().display()),
    }
}

/// Whether nothing of a run is left to do. A comparison of which a trial has failed is answered by that; what could not go
/// on can once the reason is gone.
fn is_over(document: &Document) -> bool {
    match document.state {
        State::Complete => true,
        State::Failed => {
            let mut trials = document.trials.iter();
            document.kind == RunKind::Comparison && trials.any(|trial| trial.state == State::Failed)
        }
        State::Running | State::Interrupted => false,
    }
}
