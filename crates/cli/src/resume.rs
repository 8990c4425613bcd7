//! `stackmark resume`: goes on with a run of several trials that was interrupted or killed. Here is when
//! the trials that have ended may be used, and the messages; [`trial`] carries out the rest.

use crate::args;
use crate::outcome::{CommandOutcome, RunTerms};
use crate::ui::Ui;
use anyhow::{Result, bail};
use deploy::Interrupt;
use result::{Document, RunKind, State};
use schedule::{Interleaved, Searching, Sweep};
use targets::Driven;
use trial::{Folder, RunContext, SavedPlan};

pub(crate) fn resume<W: Driven>(saved: SavedPlan, args: &args::Resume, ui: &Ui) -> Result<CommandOutcome> {
    let locked = trial::hold(false)?;
    let folder = Folder::reopen(&args.folder)?;
    if result::read(folder.path()).is_ok_and(|document| is_over(&document)) {
        bail!(
            "{} is complete: there is nothing to resume\nhint: `stackmark report {0}` shows it",
            folder.path().display()
        );
    }
    locked.works_in(folder.path());
    let interrupt = Interrupt::listen()?;
    deploy::restore_sources(&saved.servers)?;
    let context = RunContext { folder: &folder, reporter: ui, interrupt: &interrupt };
    let (run, terms) = match saved.kind {
        RunKind::Comparison | RunKind::Experiment => {
            let run = saved.open::<Interleaved>()?;
            if let Some(difference) = trial::machine_difference(run.plan.stored()) {
                bail!(
                    "the stored trials were measured with {difference}: cannot resume on a different machine or kernel"
                );
            }
            let terms = RunTerms::of(&run.plan);
            (trial::resume::<W, Interleaved>(run, &context)?, terms)
        }
        RunKind::Sweep => (trial::resume::<W, Sweep>(saved.open()?, &context)?, RunTerms::default()),
        RunKind::Search => (trial::resume::<W, Searching>(saved.open()?, &context)?, RunTerms::default()),
        RunKind::Drill => {
            bail!("{} is a drill, which cannot be resumed: its engines are gone", folder.path().display())
        }
        RunKind::Trial => bail!("{} is a single trial, which cannot be resumed", folder.path().display()),
    };
    ui.finish((folder, run), terms)
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
