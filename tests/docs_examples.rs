//! Every `stackmark` example in the documentation, run against the binary that this tree builds.
//!
//! The examples of one file share an empty folder and run in their order, as a reader would type them.

use stackmark_tests::examples::{Example, agrees, parse};
use stackmark_tests::repository;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of tests among which the documents are divided.
const SHARES: usize = 4;

/// Runs the examples of documents `first`, `first + SHARES`, `first + 2 * SHARES` and so on.
fn run_share(first: usize) {
    let root = repository::root();
    let documents: Vec<(PathBuf, Vec<Example>)> = repository::files()
        .expect("the repository can be read")
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| {
            let text = fs::read_to_string(root.join(&path)).expect("Markdown is text");
            let examples = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path, examples.into_iter().filter(|example| example.command.starts_with("stackmark ")).collect())
        })
        .filter(|(_, examples): &(_, Vec<Example>)| !examples.is_empty())
        .collect();
    assert!(documents.len() > SHARES, "no document has an example");
    let path = path_with(&repository::binary());
    let share = documents.iter().skip(first).step_by(SHARES);
    let failures: Vec<String> =
        share.flat_map(|(document, examples)| run_all(document, examples, &path)).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
}

#[test]
fn the_examples_in_the_documentation_work_1() {
    run_share(0);
}

#[test]
fn the_examples_in_the_documentation_work_2() {
    run_share(1);
}

#[test]
fn the_examples_in_the_documentation_work_3() {
    run_share(2);
}

#[test]
fn the_examples_in_the_documentation_work_4() {
    run_share(3);
}

#[test]
fn every_page_is_in_the_book() {
    let root = repository::root();
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).expect("the book has a summary");
    let files = repository::files().expect("the repository can be read");
    let pages = files.iter().filter_map(|path| path.strip_prefix("docs").ok()?.to_str());
    let missing: Vec<&str> = pages
        .filter(|page| page.ends_with(".md") && *page != "SUMMARY.md" && !page.starts_with("results/"))
        .filter(|page| !summary.contains(&format!("]({page})")))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

fn path_with(binary: &Path) -> OsString {
    let folder = binary.parent().expect("a binary is in a folder").to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&rest)))
        .expect("no folder on the path has a colon in its name")
}

fn run_all(document: &Path, examples: &[Example], path: &OsString) -> Vec<String> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    // A lock of its own: only one experiment may run per lock, and other tests run experiments at the same time.
    let lock = tempfile::NamedTempFile::new().expect("there is room for a file");
    let run = |example: &Example| {
        let place = format!("{}:{}: $ {}", document.display(), example.line, example.command);
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {}\n}} 2>&1", example.command)])
            .current_dir(folder.path())
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .env("STACKMARK_LOCK", lock.path())
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell");
        // Progress lines depend on the speed of this machine.
        let is_progress = |line: &&str| line.starts_with("loading ") && line.contains(" %, ");
        let printed = String::from_utf8_lossy(&output.stdout);
        let printed: String = printed.split_inclusive('\n').filter(|line| !is_progress(line)).collect();
        if output.status.code() != Some(example.status) {
            return Some(format!("{place}\nshould exit {}, {}:\n{printed}", example.status, output.status));
        }
        if !agrees(&example.shown, &printed) {
            return Some(format!("{place}\nshould print:\n{}\nprints:\n{printed}", example.shown.join("\n")));
        }
        None
    };
    examples.iter().filter_map(run).collect()
}
