//! What was found: a verdict for each rule.

use result::Check;
use serde::Serialize;

/// Everything that was found of a server.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// The workload whose contract it was held to.
    pub workload: String,
    /// The server, as it calls itself: name and version.
    pub server: String,
    /// The subject, where it was started by us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Where it was.
    pub url: String,
    /// Who looked at the stored data.
    pub witness: String,
    /// Whether all rules were looked at: not if it was interrupted.
    pub complete: bool,
    /// Seconds that it took.
    pub took_s: f64,
    /// A verdict for each rule, in the order in which they were checked.
    pub rules: Vec<Rule>,
}

impl Verification {
    /// Whether no rule is broken, of all.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.complete && self.rules.iter().all(|rule| rule.check != Check::Failed)
    }
}

/// The verdict on one rule.
#[derive(Debug, Clone, Serialize)]
pub struct Rule {
    /// Its name: `race/lost-update`.
    pub name: String,
    /// What must hold, a sentence without its full stop.
    pub rule: String,
    /// Whether it does.
    pub check: Check,
    /// How much was looked at: calls, answers, rounds.
    pub checked: u64,
    /// Why it was not checked, or what else is to be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The first of what breaks it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// What breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The request as a line for a shell; empty where none is to blame.
    pub request: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub found: String,
}

impl Rule {
    /// A rule of which this much was looked at, and this was found to break it.
    #[must_use]
    pub fn of(name: &str, rule: &str, checked: u64, failures: Vec<Failure>) -> Rule {
        let check = if failures.is_empty() { Check::Passed } else { Check::Failed };
        Rule { name: name.into(), rule: rule.into(), check, checked, note: None, failures }
    }

    /// A rule that was not looked at.
    #[must_use]
    pub fn unchecked(name: &str, rule: &str, why: &str) -> Rule {
        Rule { check: Check::NotRun, note: Some(why.into()), ..Rule::of(name, rule, 0, Vec::new()) }
    }

    /// The same with something else to be said of it.
    #[must_use]
    pub fn noting(self, note: Option<String>) -> Rule {
        Rule { note, ..self }
    }
}
