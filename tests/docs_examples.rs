//! Every `stackmark` example in the documentation, run against the binary that this tree builds.
//!
//! The examples of one file share an empty folder and run in their order, as a reader would type them.

use stackmark_tests::examples::{Example, agrees, parse};
use stackmark_tests::repository;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn the_examples_in_the_documentation_work() {
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
        .collect();
    let path = path_with(&repository::binary());
    let failures: Vec<String> =
        documents.iter().flat_map(|(document, examples)| run_all(document, examples, &path)).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n\n"));
    let count: usize = documents.iter().map(|(_, examples)| examples.len()).sum();
    assert!(count > 0, "no document has an example");
}

fn path_with(binary: &Path) -> OsString {
    let folder = binary.parent().expect("a binary lies in a folder").to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&rest)))
        .expect("no folder on the path has a colon in its name")
}

fn run_all(document: &Path, examples: &[Example], path: &OsString) -> Vec<String> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let run = |example: &Example| {
        let place = format!("{}:{}: $ {}", document.display(), example.line, example.command);
        let output = Command::new("sh")
            .args(["-c", &format!("{{ {}\n}} 2>&1", example.command)])
            .current_dir(folder.path())
            .env("PATH", path)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
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
