//! `stackmark` itself, as a user would run it, and the result documents that it prints.

use result::{self, Document, Severity};
use sql::SqliteUrl;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the `stackmark` that was built next to the benches and reads the document it prints.
///
/// # Errors
/// Why there is no document, in the words of `stackmark`.
pub fn stackmark(args: &[&str], out: &Path) -> Result<Document, String> {
    stackmark_in(args, &[], out)
}

/// The same with variables in its environment.
pub fn stackmark_in(args: &[&str], env: &[(&str, &str)], out: &Path) -> Result<Document, String> {
    let output = Command::new(binary()?)
        .arg("--json")
        .args(args)
        .arg("--out")
        .arg(out)
        .env_remove("STACKMARK_DB")
        .envs(env.iter().copied())
        .output()
        .map_err(|error| error.to_string())?;
    // A run whose answer is bad (an audit failed, a rule was broken) prints its document as well.
    let text = String::from_utf8_lossy(&output.stdout);
    result::parse(&text, Path::new("what stackmark printed")).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing");
        format!("{error}; stackmark said: {last}")
    })
}

/// The `stackmark` that was built next to the benches.
pub fn binary() -> Result<PathBuf, String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let binary = executable.with_file_name("stackmark");
    match binary.exists() {
        true => Ok(binary),
        false => Err(format!("{} is not built; `make bench` builds it", binary.display())),
    }
}

/// Why a document's results are invalid: the first failure or rule that says so.
pub fn voided(document: &Document) -> Option<String> {
    document.trials.iter().find_map(|trial| {
        let rule = trial.rules.iter().find(|rule| rule.severity == Severity::Bad);
        trial.failure.clone().or(rule.map(|rule| format!("{}: {}", rule.name, rule.sentence)))
    })
}

/// A database as a user would name it.
pub fn address(url: &SqliteUrl, options: &str) -> String {
    format!("sqlite:{}?{options}", url.path.display())
}
