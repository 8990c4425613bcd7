//! What makes the result of a trial invalid. Everybody who must know asks here.

use super::{
    Audit, Check, Comparison, Conformance, Document, Experiment, InputCheck, LedgerCheck, Rule, Severity,
    State, Trial, VariantState,
};

/// One thing that makes the result of a trial invalid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Problem<'a> {
    /// The trial failed, or its calls broke the contract.
    Failed {
        /// Why it failed, where that is known.
        why: Option<&'a str>,
        /// The first messages of defects.
        defects: &'a [String],
    },
    /// The engine took no writes for a while: the disk was full, or it had been made read-only.
    LackedWrites,
    /// The subject fails conformance.
    Conformance(&'a Conformance),
    /// The stored data is wrong.
    Audit(&'a Audit),
    /// The stored data is not what acknowledged calls imply.
    Ledger(&'a LedgerCheck),
    /// What was sent is not what the workload prescribes.
    Input(&'a InputCheck),
    /// A rule calls the number bad.
    Rule(&'a Rule),
}

/// The rule of a load that was more than could be served. A search and a curve ask for such loads.
const OVERLOAD: &str = "saturation";

impl Trial {
    /// What makes its result invalid, the gravest first; nothing of one that counts.
    pub fn problems(&self) -> Vec<Problem<'_>> {
        let failed = (self.state == State::Failed || !self.defects.is_empty())
            .then(|| Problem::Failed { why: self.failure.as_deref(), defects: &self.defects });
        let audits = self.audits.iter().filter(|audit| audit.check == Check::Failed);
        let ledger = self.ledger.iter().filter(|found| found.check == Check::Failed);
        let inputs = self.inputs.iter().filter(|input| input.check == Check::Failed);
        let conformance = Some(&self.conformance).filter(|found| found.check == Check::Failed);
        let rules = self.rules.iter().filter(|rule| rule.severity == Severity::Bad);
        failed
            .into_iter()
            .chain(self.lacked_writes().then_some(Problem::LackedWrites))
            .chain(audits.map(Problem::Audit))
            .chain(ledger.map(Problem::Ledger))
            .chain(inputs.map(Problem::Input))
            .chain(conformance.map(Problem::Conformance))
            .chain(rules.map(Problem::Rule))
            .collect()
    }

    /// Whether its result is invalid.
    pub fn is_invalid(&self) -> bool {
        !self.problems().is_empty()
    }

    /// The same where it does not matter that the load was more than could be served.
    pub fn is_invalid_at_any_load(&self) -> bool {
        self.problems().iter().any(|problem| !problem.is_overload())
    }

    /// Why its result is invalid, in a clause: the gravest of its problems.
    pub fn why_invalid(&self) -> Option<String> {
        let problems = self.problems();
        problems.iter().find(|problem| !problem.is_overload()).or(problems.first()).map(Problem::words)
    }
}

impl Problem<'_> {
    /// Whether the load was more than could be served, and nothing else is wrong.
    pub fn is_overload(&self) -> bool {
        matches!(self, Problem::Rule(rule) if rule.name == OVERLOAD)
    }

    /// What it is, in a clause.
    pub fn words(&self) -> String {
        match self {
            Problem::Failed { why: Some(why), .. } => (*why).to_owned(),
            Problem::Failed { defects: [first, ..], .. } => format!("calls broke the contract: {first}"),
            Problem::Failed { .. } => "it failed".to_owned(),
            Problem::LackedWrites => "the engine took no writes for a while".to_owned(),
            Problem::Conformance(found) => format!("it failed conformance: {}", found.sentence),
            Problem::Audit(audit) => format!("the audit `{}` failed: {}", audit.full_name(), audit.sentence),
            Problem::Ledger(found) => format!("the audit of `{}` failed: {}", found.name, found.sentence),
            Problem::Input(input) => format!("the share of `{}` among its inputs is wrong", input.name),
            Problem::Rule(rule) => format!("the rule `{}`: {}", rule.name, rule.sentence),
        }
    }
}

impl Document {
    /// Whether nothing speaks against the numbers of a run: no failed trial, audit, ledger, input or conformance check,
    /// no rule that calls a number bad, and no loss beyond the one that the user allows. Missed limits of the workload
    /// are told in the report and do not make a number wrong.
    pub fn is_good(&self) -> bool {
        self.state != State::Failed
            && !self.trials.iter().any(Trial::is_invalid)
            && self.experiment.as_ref().is_none_or(is_good_experiment)
    }
}

/// Whether every variant was measured and none loses more than the user allows.
fn is_good_experiment(experiment: &Experiment) -> bool {
    experiment.variants.iter().all(|variant| variant.state == VariantState::Measured)
        && !experiment.comparisons.iter().any(Comparison::loses_too_much)
}
/// Why what was measured is not proven: of the first trial in which an audit of the stored data did not run, which and how
/// many did not.
pub fn unaudited(trials: &[Trial]) -> Option<String> {
    let why = |trial: &Trial| {
        let audits = trial.audits.iter().map(|audit| audit.check);
        let checks: Vec<Check> = audits.chain(trial.ledger.iter().map(|found| found.check)).collect();
        let open = checks.iter().filter(|check| **check == Check::NotRun).count();
        match open {
            0 if trial.is_unverified() => Some("the stored data was not audited after the run".to_owned()),
            0 => None,
            open => Some(format!("{open} of {} audits did not run", checks.len())),
        }
    };
    trials
        .iter()
        .find_map(|trial| Some(format!("--require-audit is not met by {}: {}", trial.subject, why(trial)?)))
}
