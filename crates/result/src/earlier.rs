//! What documents of earlier versions say in another way.

use super::{Comparison, Document, Trial};

/// How a search said why it had ended a step.
const ENDED_EARLY: &str = "It was ended early: ";
/// What stands for the factors of a comparison that has none.
const NO_FACTORS: [&str; 2] = ["nothing (A/A control)", "stored results"];
/// What MariaDB was called, in results and as a part of a subject.
const MARIADB: (&str, &str) = ("mysql", "mariadb");

/// Makes a document of version 1 or 2 one of today's. What was full in a trial stays unknown.
pub(super) fn bring_up_to_date(document: &mut Document) {
    let of_experiment = document.experiment.iter_mut().flat_map(|experiment| &mut experiment.comparisons);
    of_experiment.chain(&mut document.comparison).for_each(of_comparison);
    document.trials.iter_mut().for_each(of_trial);
    document.subjects.iter_mut().for_each(rename);
    let variants = document.experiment.iter_mut().flat_map(|experiment| &mut experiment.variants);
    variants.for_each(|variant| rename(&mut variant.subject));
    if let Some(comparison) = document.comparison.take() {
        document.experiment = Some(comparison.of_pair(&document.trials));
    }
}

fn of_trial(trial: &mut Trial) {
    rename(&mut trial.subject);
    if trial.stack.engine == MARIADB.0 {
        MARIADB.1.clone_into(&mut trial.stack.engine);
    }
    let reason = trial.notes.iter().find_map(|note| note.strip_prefix(ENDED_EARLY)?.strip_suffix('.'));
    trial.ended_early = reason.map(str::to_owned);
}

/// Several factors were named in one text alone: `engine, pool and limits`.
fn of_comparison(comparison: &mut Comparison) {
    if !NO_FACTORS.contains(&comparison.factor.as_str()) {
        let parts = comparison.factor.split(", ").flat_map(|part| part.split(" and "));
        comparison.factors = parts.map(str::to_owned).collect();
    }
    rename(&mut comparison.a.subject);
    rename(&mut comparison.b.subject);
    comparison.noise.iter_mut().for_each(|noise| rename(&mut noise.subject));
    let entries = comparison.blocks.iter_mut().flat_map(|block| &mut block.trials);
    entries.for_each(|entry| rename(&mut entry.subject));
}

fn rename(subject: &mut String) {
    let mut parts: Vec<&str> = subject.split('/').collect();
    if let Some(engine) = parts.get_mut(1).filter(|engine| **engine == MARIADB.0) {
        *engine = MARIADB.1;
        *subject = parts.join("/");
    }
}
