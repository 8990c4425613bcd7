//! `stackmark compare --confirm-bottleneck`: a short trial names a likely bottleneck, and a comparison with one factor
//! changed says whether throughput follows as it must if that is right.

mod change;

use crate::Answer;
use crate::case::Case;
use crate::experiment::bench::{Bench, trial_name};
use crate::experiment::lock;
use crate::experiment::plan::{Experiment, Suspicion};
use crate::folder::{self, Folder};
use crate::interrupt::Interrupt;
use crate::schedule::interleaved;
use crate::ui::Ui;
use anyhow::{Result, bail};
use result::{Comparison, Confirmation, Interval, RunKind, State, Trial, Verdict};
use std::path::Path;

/// What the folder of the first trial is called.
const LOOK: &str = "first-look";

/// Looks at the base, the first variant of `experiment`, and begins the comparison that its bottleneck asks for.
///
/// # Errors
/// Nothing stands out, or there is no change of a single factor that would tell; or a trial could not be run.
pub(crate) fn begin<W: Case>(experiment: Experiment, out: &Path, ui: &Ui) -> Result<Answer> {
    let trial = look::<W>(&experiment, out, ui)?;
    if trial.state != State::Complete {
        bail!("the first trial did not end as planned, so it shows no bottleneck");
    }
    let Some(likely) = report::bottleneck(&trial) else {
        bail!("nothing of the first trial was observed that could be confirmed")
    };
    ui.say(&likely.sentence);
    let mut base = experiment.variants.into_iter().next().expect("a comparison has a base");
    base.name = "as asked".into();
    let change = match change::of(likely.what, &trial, &base) {
        Ok(change) => change,
        Err(why) => bail!("cannot confirm that {} sets the throughput: {why}", likely.what.words()),
    };
    ui.say(&format!("to confirm it: {}", change.words));
    let mut notes = experiment.notes;
    notes.extend(change.loud);
    let (ratio_min, ratio_max) = change.expected.bounds();
    let suspicion = Suspicion { suspect: likely.what, change: change.words, ratio_min, ratio_max };
    let planned = Experiment {
        name: format!("{}-confirm", base.subject),
        question: Some(format!("Does {} set the throughput of {}?", likely.what.words(), base.subject)),
        control: false,
        // The other way round than usual: it is the effect that is looked for, not a loss.
        max_loss: None,
        variants: vec![base, change.variant],
        suspicion: Some(suspicion),
        notes,
        ..experiment
    };
    interleaved::begin::<W>(planned, RunKind::Comparison, out, ui)
}

/// One trial of the base, in a folder of its own.
fn look<W: Case>(experiment: &Experiment, out: &Path, ui: &Ui) -> Result<Trial> {
    let base = experiment.variants.first().expect("a comparison has a base");
    let held = lock::hold()?;
    let interrupt = Interrupt::listen()?;
    let (folder, started, id) = Folder::create(out, &format!("{}-{LOOK}", base.subject))?;
    held.works_in(folder.path());
    let mut document = folder::document(id, started, RunKind::Trial, &[&base.subject]);
    let mut bench = Bench::<W>::open(experiment.scale, &folder, ui, &interrupt)?;
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
    folder.put_page(&document)?;
    Ok(trial)
}

/// What the comparison says about the suspicion that it was made for.
pub(crate) fn judge(suspicion: &Suspicion, comparison: Option<&Comparison>) -> Confirmation {
    let Suspicion { suspect, change, ratio_min, ratio_max } = suspicion.clone();
    let wanted = match (ratio_min, ratio_max) {
        (Some(min), Some(max)) => format!("{min:.2} to {max:.2} times as much"),
        (Some(min), None) => format!("{min} times as much or more"),
        (None, Some(max)) => format!("{max} times as much or less"),
        (None, None) => "nothing".into(),
    };
    let found = comparison.filter(|comparison| comparison.verdict != Verdict::DifferentWork);
    let interval = found.and_then(|comparison| comparison.ratio).and_then(|ratio| {
        let Interval { value, low, high } = ratio;
        Some((value, low?, high?))
    });
    let confirmed = interval.is_some_and(|(_, low, high)| {
        (ratio_min.is_some() || ratio_max.is_some())
            && ratio_min.is_none_or(|min| low > min)
            && ratio_max.is_none_or(|max| high < max)
    });
    let measured = match interval {
        Some((value, low, high)) => {
            format!("with {change}, throughput is {value:.2} times as much ({low:.2} to {high:.2})")
        }
        // A ratio of different work is no evidence, however large.
        None if comparison.is_some_and(|comparison| comparison.verdict == Verdict::DifferentWork) => {
            format!("with {change}, more than that differed or the work did (see the differences)")
        }
        None => format!("with {change}, no interval of the effect could be given"),
    };
    let words = suspect.words();
    let sentence = if confirmed {
        format!("confirmed: {words} sets the throughput; {measured}, and {wanted} was to be expected")
    } else {
        format!("not confirmed: {measured}, where {wanted} was to be expected if {words} alone set it")
    };
    Confirmation { suspect, change, ratio_min, ratio_max, confirmed, sentence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::testing;
    use result::Suspect;

    fn check(bounds: (Option<f64>, Option<f64>), ratio: (f64, f64, f64), confirmed: bool) {
        let suspicion = Suspicion {
            suspect: Suspect::Pool,
            change: "8 sessions instead of 1".into(),
            ratio_min: bounds.0,
            ratio_max: bounds.1,
        };
        let mut comparison = testing::compared(&testing::comparison()).clone();
        comparison.ratio = Some(Interval { value: ratio.0, low: Some(ratio.1), high: Some(ratio.2) });
        let found = judge(&suspicion, Some(&comparison));
        assert_eq!(found.confirmed, confirmed, "{}", found.sentence);
        let begins = if confirmed {
            "confirmed: the number of sessions sets"
        } else {
            "not confirmed: with 8 sessions"
        };
        assert!(found.sentence.starts_with(begins), "{}", found.sentence);
    }

    #[test]
    fn only_a_whole_interval_beyond_what_was_expected_confirms() {
        check((Some(1.1), None), (2.0, 1.8, 2.2), true);
        check((Some(1.1), None), (1.2, 1.05, 1.4), false);
        check((Some(1.1), None), (1.0, 0.98, 1.02), false);
        check((Some(1.1), None), (0.5, 0.4, 0.6), false);
        check((Some(0.375), Some(0.6)), (0.5, 0.45, 0.55), true);
        check((Some(0.375), Some(0.6)), (0.3, 0.25, 0.36), false);
        check((Some(0.375), Some(0.6)), (0.98, 0.9, 1.1), false);
        check((None, Some(0.8)), (0.5, 0.4, 0.6), true);
        check((None, Some(0.8)), (0.7, 0.6, 0.9), false);
        check((Some(0.9), None), (1.02, 0.95, 1.08), true);
        check((Some(0.9), None), (0.7, 0.6, 0.8), false);
        check((None, None), (2.0, 1.8, 2.2), false);
    }

    #[test]
    fn without_a_ratio_or_with_different_work_nothing_is_confirmed() {
        let suspicion = Suspicion {
            suspect: Suspect::Pool,
            change: "8 sessions instead of 1".into(),
            ratio_min: Some(1.1),
            ratio_max: None,
        };
        assert!(!judge(&suspicion, None).confirmed);
        let mut comparison = testing::compared(&testing::comparison()).clone();
        comparison.ratio = Some(Interval { value: 2.0, low: Some(1.8), high: Some(2.2) });
        comparison.verdict = Verdict::DifferentWork;
        let different = judge(&suspicion, Some(&comparison));
        assert!(
            !different.confirmed && different.sentence.contains("see the differences"),
            "{}",
            different.sentence
        );
        comparison.verdict = Verdict::Better;
        assert!(judge(&suspicion, Some(&comparison)).confirmed);
        comparison.ratio = Some(Interval { value: 2.0, low: None, high: None });
        assert!(!judge(&suspicion, Some(&comparison)).confirmed);
    }
}
