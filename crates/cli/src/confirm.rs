//! `stackmark compare --confirm-bottleneck`: a short trial names a likely bottleneck, and a comparison with one factor
//! changed shows whether throughput follows as it must if that is right.

use crate::outcome::{CommandOutcome, RunTerms};
use crate::ui::Ui;
use anyhow::{Result, bail};
use deploy::Interrupt;
use result::text::seconds;
use result::{RunKind, State, Trial};
use schedule::plan::{Experiment, Suspicion};
use schedule::{Interleaved, confirm, trial_name};
use std::path::Path;
use targets::Driven;
use trial::{Folder, TrialRunner};

/// What the folder of the first trial is called.
const LOOK: &str = "first-look";

/// Looks at the base, the first variant of `experiment`, and begins the comparison that its bottleneck asks for.
///
/// # Errors
/// Nothing stands out, or there is no change of a single factor that would tell; or a trial could not be run.
pub(crate) fn begin<W: Driven>(experiment: Experiment, out: &Path, ui: &Ui) -> Result<CommandOutcome> {
    let trial = look::<W>(&experiment, out, ui)?;
    if trial.state != State::Complete {
        bail!("the first trial did not end as planned, so it shows no bottleneck");
    }
    let Some(likely) = judge::bottleneck(&trial) else {
        bail!("nothing of the first trial was observed that could be confirmed")
    };
    ui.remark(&likely.sentence);
    let mut base = experiment.variants.into_iter().next().expect("a comparison has a base");
    base.name = "as asked".into();
    let change = match confirm::of(likely.what, &trial, &base) {
        Ok(change) => change,
        Err(why) => bail!("cannot confirm that {} limits throughput: {why}", likely.what.words()),
    };
    ui.remark(&format!("to confirm it: {}", change.words));
    let mut notes = experiment.notes;
    notes.extend(change.loud);
    let (ratio_min, ratio_max) = change.expected.bounds();
    let suspicion = Suspicion { suspect: likely.what, change: change.words, ratio_min, ratio_max };
    let planned = Experiment {
        name: format!("{}-confirm", base.subject),
        question: Some(format!("Does {} limit the throughput of {}?", likely.what.words(), base.subject)),
        control: false,
        variants: vec![base, change.variant],
        suspicion: Some(suspicion),
        notes,
        ..experiment
    };
    let schedule = Interleaved::of::<W>(planned, RunKind::Comparison)?;
    let terms = RunTerms::of(&schedule);
    ui.finish(trial::begin::<W, _>(schedule, out, ui)?, terms)
}

/// One trial of the base, in a folder of its own.
fn look<W: Driven>(experiment: &Experiment, out: &Path, ui: &Ui) -> Result<Trial> {
    let base = experiment.variants.first().expect("a comparison has a base");
    let each_s = (base.plan.warmup + base.plan.measured).as_secs_f64();
    ui.remark(&format!(
        "expected: about {} for a first trial and {} for the comparison, plus loading, restoring and audits",
        seconds(each_s),
        seconds(2.0 * f64::from(experiment.blocks) * each_s)
    ));
    let locked = trial::hold(false)?;
    let interrupt = Interrupt::listen()?;
    let (folder, started, id) = Folder::create(out, &format!("{}-{LOOK}", base.subject))?;
    locked.works_in(folder.path());
    let mut document = trial::document(id, started, RunKind::Trial, &[&base.subject]);
    let mut bench =
        TrialRunner::<W>::open(experiment.scale, &experiment.variants, &[], &folder, ui, &interrupt)?;
    let looked = bench
        .prepare(base)
        .and_then(|prepared| bench.trial(&prepared, &base.plan, &trial_name(1, LOOK), None, &document.id));
    if let Err(error) = looked {
        folder.empty();
        return Err(error);
    }
    // The document of the run has no time lines; the trial's own has all of it.
    let mut whole = result::read(&folder.path().join("trials").join(trial_name(1, LOOK)))?;
    let Some(trial) = whole.trials.pop() else { bail!("the first trial left no result") };
    document.trials = vec![trial.clone()];
    document.state = trial.state;
    folder.put_document(&document)?;
    ui.put_page(&folder, &document)?;
    Ok(trial)
}
