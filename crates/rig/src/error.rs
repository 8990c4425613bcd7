//! What can go wrong, by what a person does about it.

use std::path::{Path, PathBuf};

/// Why an engine could not be had.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// Its programs are not on this machine: install the package named.
    #[error("{0}")]
    Missing(String),
    /// A folder cannot be used: choose another, with `STACKMARK_RIG_DIR` or in the options.
    #[error("cannot use folder {}: {why}", path.display())]
    Folder {
        path: PathBuf,
        /// Why, and what would be right.
        why: String,
    },
    /// An option or a name makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The system does not let us do this: the message says what is missing and what would help.
    #[error("{0}")]
    NotPermitted(String),
    /// The engine, or a tool of its, did not do what it was started for.
    #[error("{what}{}", tail(log, kept.as_deref()))]
    Failed {
        /// What was tried, and how it ended.
        what: String,
        /// The last lines of its output.
        log: String,
        /// Where its whole log was kept.
        kept: Option<PathBuf>,
    },
}

impl RigError {
    pub(crate) fn folder(path: &Path, why: impl ToString) -> RigError {
        RigError::Folder { path: path.to_owned(), why: why.to_string() }
    }

    pub(crate) fn failed(what: impl Into<String>, log: impl Into<String>) -> RigError {
        RigError::Failed { what: what.into(), log: log.into(), kept: None }
    }
}

fn tail(log: &str, kept: Option<&Path>) -> String {
    let mut text = String::new();
    if !log.trim().is_empty() {
        text.push_str("; it said:");
        for line in log.trim().lines() {
            text.push_str("\n  ");
            text.push_str(line);
        }
    }
    if let Some(kept) = kept {
        text.push_str(&format!("\nits log is in {}", kept.display()));
    }
    text
}
