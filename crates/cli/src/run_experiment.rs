//! Experiments, and comparisons of two subjects.

use crate::ui::Ui;
use anyhow::Result;
use result::RunKind;
use schedule::plan::Experiment;
use schedule::{CommandOutcome, Interleaved};
use std::path::Path;
use targets::Driven;

/// Carries out an experiment, or a comparison of its two variants.
pub(crate) fn run_experiment<W: Driven>(
    experiment: Experiment,
    kind: RunKind,
    out: &Path,
    ui: &Ui,
) -> Result<CommandOutcome> {
    // What can be wrong is found before the folder is made.
    let schedule = Interleaved::of::<W>(experiment, kind)?;
    let name = schedule.name();
    trial::begin::<W, _>(schedule, kind, &name, out, ui)
}
