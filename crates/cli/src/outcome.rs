//! How a command ended, as its exit status says it.

use crate::args;
use crate::ui::Ui;
use anyhow::{Result, bail};
use result::{Check, Comparison, Document, Loss, RunKind, State, Trial, VariantState, Verdict};
use schedule::{Gate, Interleaved};
use std::process::ExitCode;

/// How a command ended that could run; the worse, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommandOutcome {
    /// Done, and nothing is wrong.
    Good,
    /// A limit was set, and what was measured does not tell whether it is kept.
    Inconclusive,
    /// Done, and something is.
    Bad,
}

impl CommandOutcome {
    /// 2 is that of a command that could not run.
    pub(crate) fn exit_code(self) -> ExitCode {
        match self {
            CommandOutcome::Good => ExitCode::SUCCESS,
            CommandOutcome::Bad => ExitCode::from(1),
            CommandOutcome::Inconclusive => ExitCode::from(3),
        }
    }

    /// Whether comparisons compare the same work, and losses stay within what the user allows, where a limit was set.
    pub(crate) fn of<'a>(
        comparisons: impl IntoIterator<Item = &'a Comparison>,
        accept_inconclusive: bool,
    ) -> CommandOutcome {
        let mut outcome = CommandOutcome::Good;
        for comparison in comparisons {
            if comparison.verdict == Verdict::NotComparable {
                return CommandOutcome::Bad;
            }
            match comparison.loss() {
                Some(Loss::Exceeded) => return CommandOutcome::Bad,
                Some(Loss::Inconclusive) if !accept_inconclusive => outcome = CommandOutcome::Inconclusive,
                Some(Loss::Inconclusive | Loss::Met) | None => {}
            }
        }
        outcome
    }
}

/// What is asked of a run of several trials.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunTerms {
    /// Whether losses have a limit.
    limited: bool,
    /// A limit counts as kept where what was measured does not tell.
    accept_inconclusive: bool,
    /// All audits of the stored data must have run.
    require_audit: bool,
}

impl RunTerms {
    /// Those of an experiment or a comparison.
    pub(crate) fn of(schedule: &Interleaved) -> RunTerms {
        let experiment = schedule.experiment();
        RunTerms {
            limited: experiment.criteria.iter().any(|criterion| criterion.max_loss.is_some()),
            accept_inconclusive: experiment.accept_inconclusive,
            require_audit: experiment.require_audit,
        }
    }

    /// How a run of several trials ended, by its document.
    ///
    /// # Errors
    /// It was interrupted before it could tell.
    pub(crate) fn judge(self, document: &Document, ui: &Ui) -> Result<CommandOutcome> {
        let is_interrupted = document.state == State::Interrupted;
        let outcome = match document.kind {
            RunKind::Search => {
                if is_interrupted {
                    bail!("interrupted before a rate was confirmed");
                }
                let met = document.search.as_ref().is_some_and(|search| search.highest_per_s.is_some());
                good_if(met && !document.trials.iter().any(Trial::is_invalid_at_any_load))
            }
            RunKind::Comparison | RunKind::Experiment => {
                if is_interrupted && self.limited {
                    bail!("interrupted before --max-loss could be judged");
                }
                // None where no side could be started.
                document.experiment.as_ref().map_or(CommandOutcome::Bad, |experiment| {
                    let mut variants = experiment.variants.iter();
                    let measured = variants.all(|variant| variant.state == VariantState::Measured);
                    let kept = CommandOutcome::of(&experiment.comparisons, self.accept_inconclusive);
                    kept.max(good_if(measured))
                })
            }
            RunKind::Sweep | RunKind::Drill | RunKind::Trial => {
                good_if(!document.trials.iter().any(Trial::is_invalid))
            }
        };
        let audited = !self.require_audit || is_audited(&document.trials, ui);
        Ok(outcome.max(good_if(audited)))
    }
}

/// Holds a trial to what was asked of it, and says what came out.
pub(crate) fn of_trial(trial: &mut Trial, gates: &[Gate], checks: &args::Checks, ui: &Ui) -> CommandOutcome {
    trial.slos = gates.iter().map(|gate| gate.judge(trial)).collect();
    let has_slo = |check| trial.slos.iter().any(|slo| slo.check == check);
    let good = !trial.is_invalid()
        && !trial.misses_limit()
        && !has_slo(Check::Failed)
        && (!checks.require_audit || is_audited(std::slice::from_ref(trial), ui));
    match good {
        true if has_slo(Check::Inconclusive) => CommandOutcome::Inconclusive,
        true => CommandOutcome::Good,
        false => CommandOutcome::Bad,
    }
}

/// Whether all audits of the stored data ran in all trials; says why the outcome is bad if not.
pub(crate) fn is_audited(trials: &[Trial], ui: &Ui) -> bool {
    let why = result::unaudited(trials);
    if let Some(why) = &why {
        ui.remark(why);
    }
    why.is_none()
}

fn good_if(good: bool) -> CommandOutcome {
    if good { CommandOutcome::Good } else { CommandOutcome::Bad }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_outcomes_the_worst_is_the_greatest() {
        use CommandOutcome::{Bad, Good, Inconclusive};
        assert_eq!([Good, Bad, Inconclusive].into_iter().max(), Some(Bad));
        assert_eq!([Inconclusive, Good].into_iter().max(), Some(Inconclusive));
    }
}
