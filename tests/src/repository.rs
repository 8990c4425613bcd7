//! Where things are.

use cargo_metadata::{Message, MetadataCommand};
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
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this package lies in a folder of the repository").to_owned()
}

/// Every file of ours, relative to the root and sorted: what git tracks, or what is there where git is not.
///
/// # Errors
/// When a folder cannot be read.
pub fn files() -> io::Result<Vec<PathBuf>> {
    let root = root();
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output();
    let mut files = match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            String::from_utf8_lossy(&output.stdout)
                .split_terminator('\0')
                .map(PathBuf::from)
                // Deleted and not yet committed.
                .filter(|path| root.join(path).exists())
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

/// Declared packages and dependencies of the workspace.
///
/// # Panics
/// When cargo fails, with what it said.
#[must_use]
pub fn metadata() -> cargo_metadata::Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap_or_else(|error| panic!("cargo metadata: {error}"))
}

/// The path of the `stackmark` binary: `STACKMARK_BIN` if set, else built now in the profile of this test.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("STACKMARK_BIN") {
        return PathBuf::from(path);
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--package",
        "cli",
        "--bin",
        "stackmark",
        "--message-format",
        "json-render-diagnostics",
    ]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| panic!("could not start cargo: {error}"));
    assert!(built.status.success(), "`cargo build --package cli` failed");
    Message::parse_stream(built.stdout.as_slice())
        .filter_map(Result::ok)
        .find_map(|message| match message {
            Message::CompilerArtifact(artifact) if artifact.target.name == "stackmark" => artifact.executable,
            _ => None,
        })
        .expect("cargo names the executable that it built")
        .into_std_path_buf()
}
