//! Rules on the text of our files: who prints, who reads the clock, who makes randomness, how long a file may be, and
//! what must not be written down at all.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::path::{Component, Path, PathBuf};

/// Lines of a file beyond which it should be split.
pub const LINES_MAX: usize = 600;

/// Files that may be longer, and why.
pub const LONG_FILES: &[(&str, &str)] = &[];

/// Something that only one crate may do.
struct Privilege {
    /// The crate that may.
    owner: &'static str,
    what: &'static str,
    /// Runs of tokens that do it. Empty parentheses are one token, `()`.
    forms: &'static [&'static [&'static str]],
}

const PRIVILEGES: &[Privilege] = &[
    Privilege {
        owner: "cli",
        what: "writes to standard output",
        forms: &[&["print", "!"], &["println", "!"], &["stdout", "()"]],
    },
    Privilege {
        owner: "measure",
        what: "reads the clock",
        forms: &[&["Instant", ":", ":", "now"], &["SystemTime", ":", ":", "now"]],
    },
    Privilege {
        owner: "model",
        what: "makes randomness",
        forms: &[&["RandomState"], &["thread_rng"], &["OsRng"], &["SeedableRng"], &["getrandom"]],
    },
];

/// What the Rust source at `path`, relative to the root, does without the right to. Tests, benchmarks and examples may
/// print and read clocks.
pub fn privilege_violations(path: &Path, text: &str) -> Result<Vec<String>, String> {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    let krate = match (parts.next().as_deref(), parts.next()) {
        (Some("crates"), Some(name)) => name,
        _ => return Ok(Vec::new()),
    };
    if parts.any(|part| matches!(&*part, "tests" | "benches" | "examples" | "tests.rs" | "build.rs")) {
        return Ok(Vec::new());
    }
    let stream: TokenStream =
        text.parse().map_err(|error| format!("{}: not Rust: {error}", path.display()))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let mut found = Vec::new();
    for privilege in PRIVILEGES.iter().filter(|privilege| privilege.owner != krate) {
        for form in privilege.forms {
            for run in tokens.windows(form.len()) {
                if run.iter().map(|(token, _)| token.as_str()).eq(form.iter().copied()) {
                    let (owner, what) = (privilege.owner, privilege.what);
                    let line = run[0].1;
                    found.push(format!(
                        "{}:{line}: only `{owner}` {what}: `{}`",
                        path.display(),
                        form.concat()
                    ));
                }
            }
        }
    }
    Ok(found)
}

/// Tokens with their lines, without comments and attributes, and without what is compiled for tests only.
pub(crate) fn flatten(stream: TokenStream, into: &mut Vec<(String, usize)>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                // An attribute, of what follows or (`#!`) of what it is in. The lint on a call names the very function that the call is excused for.
                trees.next_if(|tree| matches!(tree, TokenTree::Punct(inner) if inner.as_char() == '!'));
                let Some(TokenTree::Group(attribute)) = trees.peek() else { continue };
                let for_tests = is_for_tests(attribute.stream());
                trees.next();
                if for_tests {
                    // Up to the body or the semicolon of the item that it belongs to.
                    let ends = |tree: &TokenTree| match tree {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(punct) => punct.as_char() == ';',
                        _ => false,
                    };
                    trees.by_ref().find(ends);
                }
            }
            TokenTree::Group(group) => {
                if group.delimiter() == Delimiter::Parenthesis {
                    let parentheses = if group.stream().is_empty() { "()" } else { "(" };
                    into.push((parentheses.to_owned(), line));
                }
                flatten(group.stream(), into);
            }
            TokenTree::Ident(ident) => into.push((ident.to_string(), line)),
            TokenTree::Punct(punct) => into.push((punct.to_string(), line)),
            TokenTree::Literal(literal) => into.push((literal.to_string(), line)),
        }
    }
}

/// `cfg(test)` and `cfg(all(test, …))`, but not `cfg(not(test))`.
fn is_for_tests(attribute: TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// Whether the length of a file is ours to choose: not for locks, licences and data.
fn is_written_by_hand(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let generated =
        ["Cargo.lock", "package-lock.json"].contains(&name.as_str()) || name.starts_with("LICENSE");
    // Pinned with the hashes of their files, and not ours.
    let generated = generated || name.starts_with("requirements") && name.ends_with(".txt");
    let vendored = path.components().any(|part| part.as_os_str() == "vendor");
    let data = path.extension().is_some_and(|extension| {
        ["jsonl", "json", "png", "svg", "csv", "txt"].iter().any(|data| extension == *data)
    });
    !generated && !vendored && !data
}

/// Why a file is too long, or on the list of long files without need.
pub fn length_violation(path: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let excused = LONG_FILES.iter().any(|(long, _)| path == Path::new(long));
    match (lines > LINES_MAX, excused) {
        (true, false) if is_written_by_hand(path) => {
            Some(format!("{}: {lines} lines, more than {LINES_MAX}: split it", path.display()))
        }
        (false, true) => Some(format!("{}: is no longer too long; take it off the list", path.display())),
        _ => None,
    }
}

/// Paths of the machine that a file was written on, and sources of packages other than the public ones.
pub fn leaks(path: &Path, text: &str) -> Vec<String> {
    // In parts, so that this file does not break its own rule.
    let folders = ["work", "root", "home", "tmp", "Users"].map(|folder| format!("/{folder}/"));
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let leak = folders.iter().find(|folder| names_folder(line, folder)).map(String::as_str);
        let source = package_source(path, line).filter(|source| !is_public(source));
        for what in leak.into_iter().chain(source) {
            found.push(format!("{}:{}: names `{what}`", path.display(), index + 1));
        }
    }
    found
}

/// Whether `folder` stands in `line` as the beginning of an absolute path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || ".-_/})*~".contains(before))
    })
}

/// The source that a line of a lock file or of a tool's configuration takes packages from.
fn package_source<'a>(path: &Path, line: &'a str) -> Option<&'a str> {
    let name = path.file_name()?.to_str()?;
    let (key, value) = match name {
        "Cargo.lock" | "config.toml" | "pip.conf" | ".npmrc" => line.split_once('=')?,
        "package-lock.json" => line.split_once(':')?,
        _ => return None,
    };
    let key = key.trim().trim_matches('"');
    let is_source =
        matches!(key, "source" | "registry" | "index" | "index-url" | "replace-with" | "resolved");
    is_source.then(|| value.trim().trim_matches([',', '"', ' ']))
}

fn is_public(source: &str) -> bool {
    // What cargo writes for its own registry. Lock files of npm hold no addresses at all.
    source.starts_with("registry+https://github.com/rust-lang/crates.io-index")
}

/// Links from the Markdown at `path` to files of ours that are not there, as `exists` tells of a path from the root.
pub fn dead_links(path: &Path, text: &str, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let dead = |(number, line): (usize, &str)| {
        let targets =
            line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        let ours = targets
            .map(|target| target.split('#').next().unwrap_or(target))
            .filter(|target| !target.is_empty() && !target.contains("://"));
        ours.filter(|target| !exists(&resolved(folder, target)))
            .map(|target| format!("{}:{}: no file `{target}`", path.display(), number + 1))
            .collect::<Vec<_>>()
    };
    text.lines().enumerate().flat_map(dead).collect()
}

/// `target` as seen from `folder`, without `.` and `..`.
fn resolved(folder: &Path, target: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}
