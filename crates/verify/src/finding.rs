//! What was found: a verdict for each rule.

use model::CallWork;
use result::Check;
use serde::Serialize;
use std::path::Path;

/// Everything that was found of a server.
#[derive(Debug, Clone, Serialize)]
pub struct Verification {
    /// The workload whose contract it has to keep.
    pub workload: String,
    /// The server, as it calls itself: name and version.
    pub server: String,
    /// The subject, where it was started by us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    pub url: String,
    /// Who looked at the stored data.
    pub witness: String,
    /// Whether all rules that were asked for were looked at: not if it was interrupted.
    pub complete: bool,
    /// The rules that were asked for; empty where all were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Seconds that it took.
    pub duration_s: f64,
    /// A verdict for each rule, in the order in which they were checked.
    pub rules: Vec<Rule>,
    /// What the calls of `golden` and `random` took, of each kind that was called: two servers do the same work where this is
    /// the same. Empty where the server does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<ReportedWork>,
}

/// What calls of a kind took, by the server's own word, all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedWork {
    /// The kind: `foods-list`.
    pub kind: String,
    /// Calls that were answered.
    pub calls: u64,
    /// Times they were attempted.
    pub attempts: u64,
    /// Statements, without begin and commit.
    pub statements: u64,
    /// Rows read or changed by them.
    pub rows: u64,
    pub commits: u64,
}

impl ReportedWork {
    /// Of no calls of a kind yet.
    pub(crate) fn of(kind: &str) -> ReportedWork {
        ReportedWork { kind: kind.into(), calls: 0, attempts: 0, statements: 0, rows: 0, commits: 0 }
    }

    pub(crate) fn add(&mut self, work: &CallWork) {
        self.calls += 1;
        self.attempts += u64::from(work.attempts);
        self.statements += u64::from(work.statements);
        self.rows += u64::from(work.rows);
        self.commits += u64::from(work.commits);
    }
}

impl Verification {
    /// Whether no rule is broken, of all that were asked for.
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
    pub check: Check,
    /// How much was looked at: calls, answers, rounds.
    pub checked: u64,
    /// Why it was not checked, or a remark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The first of what breaks it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The file with what the server wrote to standard error, where it was started by us and this rule is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// What breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The request as a line for a shell; empty where none is to blame.
    pub request: String,
    pub expected: String,
    pub found: String,
}

impl Rule {
    /// A rule of which this much was looked at, and this was found to break it.
    pub fn of(name: &str, rule: &str, checked: u64, failures: Vec<Failure>) -> Rule {
        let check = if failures.is_empty() { Check::Passed } else { Check::Failed };
        Rule { name: name.into(), rule: rule.into(), check, checked, note: None, failures, log: None }
    }

    /// A rule that was not looked at.
    pub fn unchecked(name: &str, rule: &str, why: &str) -> Rule {
        Rule { check: Check::NotRun, note: Some(why.into()), ..Rule::of(name, rule, 0, Vec::new()) }
    }

    /// Takes what another rule has found for its own.
    pub fn take(&mut self, other: Rule) {
        self.checked += other.checked;
        if other.check == Check::Failed {
            self.check = Check::Failed;
        }
        self.failures.extend(other.failures);
        self.note = self.note.take().or(other.note);
    }

    /// Names the file with what the server wrote to standard error, if this rule is broken and the file is not empty.
    pub fn name_log(&mut self, log: &Path) {
        if self.check == Check::Failed && log.metadata().is_ok_and(|file| file.len() > 0) {
            self.log = Some(log.display().to_string());
        }
    }

    /// The same with a remark.
    #[must_use]
    pub fn noting(self, note: Option<String>) -> Rule {
        Rule { note, ..self }
    }
}
