//! The rules on the text of our files, held to every file of the repository.

use stackmark_tests::repository;
use stackmark_tests::sources::{
    LINES_MAX, LONG_FILES, dead_links, leaks, length_violation, privilege_violations,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of ours that is text.
fn texts() -> Vec<(PathBuf, String)> {
    let root = repository::root();
    let files = repository::files().expect("the repository can be read");
    assert!(
        files.iter().any(|path| path == Path::new("Cargo.toml")),
        "the repository was not found: {files:?}"
    );
    files
        .into_iter()
        .filter_map(|path| fs::read_to_string(root.join(&path)).ok().map(|text| (path, text)))
        .collect()
}

#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn printing_time_and_chance_have_one_owner_each() {
    let rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let found: Vec<String> = texts()
        .iter()
        .filter(|(path, _)| rust(path))
        .flat_map(|(path, text)| privilege_violations(path, text).unwrap_or_else(|error| vec![error]))
        .collect();
    assert_none(&found);
}

/// No promise may leave `make test` without a reason that a reader finds.
#[test]
fn files_with_extended_tests_are_listed_in_contributing() {
    let texts = texts();
    let (_, listed) =
        texts.iter().find(|(path, _)| path == Path::new("CONTRIBUTING.md")).expect("it is there");
    let begins = |line: &str| line.trim_start().starts_with("mod extended {");
    let with_extended: Vec<&str> = texts
        .iter()
        .filter(|(path, text)| path.extension().is_some_and(|is| is == "rs") && text.lines().any(begins))
        .filter_map(|(path, _)| path.file_stem()?.to_str())
        .collect();
    assert!(with_extended.len() >= 8, "{with_extended:?}");
    for name in with_extended {
        assert!(listed.contains(&format!("`{name}`")), "{name} is not in the table of extended tests");
    }
}

#[test]
fn files_stay_short() {
    let found: Vec<String> = texts().iter().filter_map(|(path, text)| length_violation(path, text)).collect();
    assert_none(&found);
    for (path, reason) in LONG_FILES {
        assert!(!reason.is_empty() && repository::root().join(path).exists(), "{path}: {reason}");
    }
}

#[test]
fn no_file_names_the_machine_that_it_was_written_on() {
    let found: Vec<String> = texts().iter().flat_map(|(path, text)| leaks(path, text)).collect();
    assert_none(&found);
}

#[test]
fn links_in_the_documentation_lead_somewhere() {
    let root = repository::root();
    let markdown = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    let found: Vec<String> = texts()
        .iter()
        .filter(|(path, _)| markdown(path))
        .flat_map(|(path, text)| dead_links(path, text, |target| root.join(target).exists()))
        .collect();
    assert_none(&found);
}

/// What is found in `text` as the source of `krate`, with the place cut off.
fn privileges(krate: &str, text: &str) -> Vec<String> {
    let path = PathBuf::from(format!("crates/{krate}/src/lib.rs"));
    let found = privilege_violations(&path, text).expect("valid Rust");
    let rest = |line: String| line.split_once(": ").expect("a place comes first").1.to_owned();
    found.into_iter().map(rest).collect()
}

#[test]
fn a_print_outside_the_command_line_is_caught() {
    let caught = ["only `cli` writes to standard output: `println!`"];
    assert_eq!(privileges("sql", "fn f() { println!(\"{}\", 1); }"), caught);
    assert_eq!(privileges("sql", "fn f() { if x { std::println!() } }"), caught);
    assert_eq!(privileges("sql", "fn f() { io::stdout().lock(); }").len(), 1);
    assert_eq!(privileges("cli", "fn f() { println!(); io::stdout(); }"), [""; 0]);
    assert_eq!(privileges("sql", "fn f() { eprintln!(); say(\"println!()\"); } // println!()"), [""; 0]);
    assert_eq!(
        privileges("sql", "fn f(c: Child) { c.stdout.take(); command.stdout(Stdio::piped()); }").len(),
        0
    );
}

#[test]
fn a_look_at_the_clock_outside_measure_is_caught() {
    assert_eq!(
        privileges("drive", "fn f() { let t = std::time::Instant::now(); }"),
        ["only `measure` reads the clock: `Instant::now`"]
    );
    assert_eq!(privileges("drive", "fn f() { assert!(SystemTime::now() > x); }").len(), 1);
    assert_eq!(privileges("measure", "fn f() { Instant::now(); }"), [""; 0]);
    assert_eq!(privileges("drive", "/// Like `Instant::now`.\nfn f() { clock.now(); }"), [""; 0]);
}

#[test]
fn a_second_source_of_randomness_is_caught() {
    assert_eq!(
        privileges("drive", "use std::hash::RandomState;"),
        ["only `model` makes randomness: `RandomState`"]
    );
    assert_eq!(privileges("model", "use rand_core::SeedableRng;"), [""; 0]);
}

#[test]
fn tests_may_print_and_the_code_after_them_may_not() {
    let text = "#[cfg(test)] mod tests { fn f() { println!(); } } fn g() { println!(); }";
    assert_eq!(privileges("sql", text).len(), 1);
    assert_eq!(privileges("sql", "#[cfg(test)] mod tests; fn g() { println!(); }").len(), 1);
    assert_eq!(privileges("sql", "#[cfg(all(test, unix))] mod tests { fn f() { println!(); } }").len(), 0);
    assert_eq!(privileges("sql", "#[cfg(not(test))] fn f() { println!(); }").len(), 1);
    let in_tests = privilege_violations(Path::new("crates/sql/tests/a.rs"), "fn f() { println!(); }");
    assert_eq!(in_tests, Ok(Vec::new()));
}

#[test]
fn a_long_file_is_caught_and_a_lock_is_not() {
    let long = "line\n".repeat(LINES_MAX + 1);
    let check = |path: &str, text: &str, caught: bool| {
        assert_eq!(length_violation(Path::new(path), text).is_some(), caught, "{path}");
    };
    check("crates/sql/src/lib.rs", &long, true);
    check("docs/measuring.md", &long, true);
    check("crates/sql/src/lib.rs", &long[5..], false);
    check("Cargo.lock", &long, false);
    check("spec/vectors/tpcc.jsonl", &long, false);
}

#[test]
fn a_path_of_this_machine_is_caught() {
    let check = |text: &str, expected: usize| {
        // A path written here would break the rule itself.
        let text = text.replace('|', "/");
        assert_eq!(leaks(Path::new("README.md"), &text).len(), expected, "{text}");
    };
    check("see |work|main|README.md", 1);
    check("cd '|home|ann|stackmark'", 1);
    check("sqlite:|tmp|bench.db", 1);
    check("docs|work|a.md and ..|tmp|x and ${TMPDIR}|tmp|x", 0);
    check("|dev|shm|bench.db and |proc|stat", 0);
}

#[test]
fn a_private_source_of_packages_is_caught() {
    let check = |path: &str, line: &str, expected: usize| {
        assert_eq!(leaks(Path::new(path), line).len(), expected, "{path}: {line}");
    };
    check("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\"", 0);
    check("Cargo.lock", "source = \"registry+https://crates.example.net/index\"", 1);
    check("tests/browser/package-lock.json", "  \"resolved\": \"https://npm.example.net/a/-/a-1.tgz\",", 1);
    check(".cargo/config.toml", "registry = \"https://crates.example.net\"", 1);
    check("README.md", "source = \"https://example.net\"", 0);
}

#[test]
fn a_dead_link_is_caught() {
    let exists = |path: &Path| path == Path::new("docs/a.md") || path == Path::new("README.md");
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(dead_links(Path::new("docs/b.md"), text, exists), expected, "{text}");
    };
    check("[a](a.md), [r](../README.md), ![h](a.md#here), [w](https://example.net/x), [s](#top)", &[]);
    check("see [a](a.md)\nand [c](c.md)", &["docs/b.md:2: no file `c.md`"]);
    check("[a](docs/a.md)", &["docs/b.md:1: no file `docs/a.md`"]);
}
