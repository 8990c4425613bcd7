//! Where things are.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders that hold nothing of ours.
const NOT_OURS: [&str; 4] = [".git", "target", "node_modules", "results"];

/// The root of the repository.
///
/// # Panics
/// When this package has been moved.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this package is in a folder of the repository").to_owned()
}

/// Every file of ours, relative to the root and sorted: what git tracks, or what is there where git is not.
pub fn files() -> io::Result<Vec<PathBuf>> {
    let root = root();
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output();
    let mut files = match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            String::from_utf8_lossy(&output.stdout)
                .split_terminator('\0')
                .map(PathBuf::from)
                // Deleted and not yet committed; and what packages take from elsewhere, where it is a file of its own.
                .filter(|path| root.join(path).exists() && !root.join(path).is_symlink())
                .collect()
        }
        _ => {
            let mut found = Vec::new();
            walk(&root, &root, &mut found)?;
            found
        }
    };
    files.sort();
    Ok(files)
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_symlink() {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if !NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                walk(root, &path, found)?;
            }
        } else if let Ok(relative) = path.strip_prefix(root) {
            found.push(relative.to_owned());
        }
    }
    Ok(())
}

/// What `cargo metadata` says of the workspace, as far as it is of use here.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The members of the workspace.
    pub packages: Vec<Package>,
    pub workspace_root: PathBuf,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    pub name: String,
    pub manifest_path: PathBuf,
    /// What it says that it needs, in all tables.
    pub dependencies: Vec<Dependency>,
}

/// A dependency as declared.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// The name that it has here, if that is another.
    pub rename: Option<String>,
    /// The versions that will do.
    pub req: String,
    /// `dev`, `build`, or none for what the library itself needs.
    pub kind: Option<String>,
    /// Where it lies, for one of ours.
    pub path: Option<PathBuf>,
}

/// Declared packages and dependencies of the workspace.
///
/// # Panics
/// When cargo fails.
pub fn metadata() -> Metadata {
    let answer = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    serde_json::from_slice(&answer).unwrap_or_else(|error| panic!("cargo metadata: {error}"))
}

/// Packages with their features, as cargo would build them here; `args` are of `cargo tree` and choose which.
///
/// # Panics
/// When cargo fails.
pub fn packages(args: &[&str]) -> BTreeSet<String> {
    let tree = cargo(&[&["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"], args].concat());
    // A package that was told before ends with a star.
    let lines = String::from_utf8_lossy(&tree);
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// What cargo writes to standard output; what it has to say next to goes where that of the test goes.
fn cargo(args: &[&str]) -> Vec<u8> {
    let answer = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(args)
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("could not start cargo: {error}"));
    assert!(answer.status.success(), "`cargo {}` failed", args.join(" "));
    answer.stdout
}

/// The path of the `stackmark` binary: `STACKMARK_BIN` if set, else built now in the profile of this test.
///
/// # Panics
/// When it cannot be built.
pub fn binary() -> PathBuf {
    std::env::var_os("STACKMARK_BIN").map_or_else(|| built("stackmark", "stackmark"), PathBuf::from)
}

/// The path of the program with the tests' own workload: next to `STACKMARK_BIN` if that is set, else built now as
/// [`binary`] is.
///
/// # Panics
/// When it cannot be built.
pub fn toy() -> PathBuf {
    const NAME: &str = "stackmark-toy";
    let beside = std::env::var_os("STACKMARK_BIN").map(|path| PathBuf::from(path).with_file_name(NAME));
    beside.filter(|path| path.exists()).unwrap_or_else(|| built(NAME, NAME))
}

/// The path of a program of a package, built in the profile of this test.
fn built(package: &str, program: &str) -> PathBuf {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let text = cargo(&[
        "build",
        "--package",
        package,
        "--bin",
        program,
        "--profile",
        profile,
        "--message-format",
        "json-render-diagnostics",
    ]);
    let messages = serde_json::Deserializer::from_slice(&text).into_iter::<Value>().filter_map(Result::ok);
    let executable = messages
        .filter(|message| message["target"]["name"] == program)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from));
    executable.expect("cargo names the executable that it built")
}
