//! `stackmark resume`: goes on with a run of several trials that was interrupted or killed. Here is when
//! the trials that have ended may be believed, and what is said; [`trial`] carries out the rest.

use anyhow::{Result, bail};
use result::{Document, RunKind, State};
use schedule::{CommandOutcome, Interleaved, Searching, Sweep};
use targets::Driven;
use trial::{RunContext, SavedPlan};

pub(crate) fn resume_workload<W: Driven>(sealed: SavedPlan, site: &RunContext<'_>) -> Result<CommandOutcome> {
    match sealed.kind {
        RunKind::Comparison | RunKind::Experiment => trial::resume::<W, Interleaved>(sealed.open()?, site),
        RunKind::Sweep => trial::resume::<W, Sweep>(sealed.open()?, site),
        RunKind::Search => trial::resume::<W, Searching>(sealed.open()?, site),
        RunKind::Drill => {
            bail!(
                "{} is a drill, which cannot be resumed: its engines are gone",
                site.folder.path().display()
            )
        }
        RunKind::Trial => {
            bail!("{} is a single trial, which cannot be resumed", site.folder.path().display())
        }
    }
}

/// Whether nothing of a run is left to do. A comparison of which a trial has failed is answered by that; what could not go
/// on can once the reason is gone.
pub(crate) fn is_over(document: &Document) -> bool {
    match document.state {
        State::Complete => true,
        State::Failed => {
            let mut trials = document.trials.iter();
            document.kind == RunKind::Comparison && trials.any(|trial| trial.state == State::Failed)
        }
        State::Running | State::Interrupted => false,
    }
}
