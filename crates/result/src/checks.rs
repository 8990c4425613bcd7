//! Validation of a trial: audits, the ledger, the inputs, conformance and the rules.

use super::Suspect;
use serde::{Deserialize, Serialize};

worded! {
    #[derive(Default)]
    Check, words {
        Passed = "passed",
        /// Does not hold.
        Failed = "failed",
        /// Was not made; the sentence says why.
        #[default]
        NotRun = "not run",
        /// Was made, and this data cannot decide it: too few calls, or nothing of the kind (one warehouse has no remote work).
        Inconclusive = "inconclusive",
    }
}

impl Check {
    pub fn from_passed(passed: bool) -> Check {
        if passed { Check::Passed } else { Check::Failed }
    }
}

/// A check of the stored data by a named query that must return nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Its name: `warehouse-ytd`.
    pub name: String,
    /// The store that it was made in, `shard-1`, where the data is split over several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// What it belongs to.
    pub family: AuditFamily,
    pub when: AuditWhen,
    /// Where the rule comes from: `3.3.2.1`; `null` where no standard has it.
    pub clause: Option<String>,
    pub check: Check,
    /// What holds or does not, in one sentence.
    pub sentence: String,
    /// The first violations, ten at most.
    pub violations: Vec<String>,
    /// How long it took in seconds.
    pub duration_s: f64,
}

impl Audit {
    /// Whether it is of the stored data as a run has left it, and not of answers.
    pub fn is_of_data_after_run(&self) -> bool {
        self.when == AuditWhen::AfterRun && self.family != AuditFamily::Responses
    }

    /// Its name, with the store where there are several: `branch_history in shard-1`.
    pub fn full_name(&self) -> String {
        match &self.store {
            Some(store) => format!("{} in {store}", self.name),
            None => self.name.clone(),
        }
    }
}

worded! {
    /// What an audit belongs to.
    AuditFamily, word {
        /// A consistency condition of the workload.
        Consistency = "consistency",
        /// The shape of the data that the run left behind.
        Shape = "shape",
        /// What a subject answers, against what is stored.
        Responses = "responses",
    }
}

worded! {
    /// When an audit was made.
    AuditWhen, words {
        /// Before the first call.
        BeforeRun = "before the run",
        /// After the last call.
        AfterRun = "after the run",
    }
}

/// What acknowledged outcomes imply about the data: the store must be between `low` and `high`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerCheck {
    /// What is added up: `payment amount`.
    pub name: String,
    /// Its unit: `cents`, `rows`.
    pub unit: String,
    /// The least that acknowledged calls imply.
    pub low: i64,
    /// The most, if every call in doubt was applied.
    pub high: i64,
    /// What the store holds beyond its state before the run.
    pub stored: i64,
    pub check: Check,
    pub sentence: String,
}

/// A share of what was really sent, against what the workload prescribes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputCheck {
    /// The property: `payments by last name`.
    pub name: String,
    /// Where the rule comes from; `null` where no standard has it.
    pub clause: Option<String>,
    /// The share prescribed, 0 to 1.
    pub expected: f64,
    /// How far it may be off, 0 to 1, from the number of samples or from the standard.
    pub tolerance: f64,
    /// The share measured, 0 to 1.
    pub measured: f64,
    /// Inputs behind it.
    pub samples: u64,
    pub check: Check,
}

/// Whether the subject answered rightly on tiny data before it was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conformance {
    pub check: Check,
    /// Golden vectors replayed.
    pub vectors: u64,
    /// Random calls compared with the oracle.
    pub random_calls: u64,
    /// How long it took in seconds.
    pub duration_s: f64,
    pub sentence: String,
    /// The first differences, ten at most.
    pub mismatches: Vec<String>,
}

/// A limit that the user set on a trial (`--slo`), and whether the trial meets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SloCheck {
    /// As it was given: `new-order.p99<50ms`.
    pub slo: String,
    /// Inconclusive with too few calls; not run where the result is invalid.
    pub check: Check,
    /// What was measured, or why it is not known.
    pub sentence: String,
}

impl SloCheck {
    /// What became of it: `met`, `missed`, or why neither.
    pub fn words(&self) -> &'static str {
        match self.check {
            Check::Passed => "met",
            Check::Failed => "missed",
            Check::NotRun | Check::Inconclusive => self.check.words(),
        }
    }
}

/// What a rule says about a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name: `think-cap`.
    pub name: String,
    /// How much it matters.
    pub severity: Severity,
    /// What it means for the number, in one sentence a non-expert understands.
    pub sentence: String,
    /// What to do about it; `null` where there is nothing to do.
    pub advice: Option<String>,
    /// What was saturated, of the rule `saturation`; `null` where nothing was.
    pub saturated: Option<Suspect>,
}

worded! {
    /// How much a rule matters.
    #[derive(PartialOrd, Ord)]
    Severity, word {
        /// Nothing to say.
        Ok = "ok",
        /// Worth knowing.
        Info = "info",
        /// The number is worth less than it looks.
        Warning = "warning",
        /// The number must not be used.
        Bad = "bad",
    }
}
