//! The rules on the text of our files, held to every file of the repository.

use stackmark_tests::repository;
use stackmark_tests::sources::{
    LINES_MAX, LONG_FILES, dead_links, leaks, length_violation, privilege_violations,
};
use stackmark_tests::wording::{avoided, avoided_words, sentences};
use std::collections::BTreeSet;
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

/// A command that names a package which is called otherwise now does not run.
#[test]
fn commands_of_cargo_name_packages_that_exist() {
    let texts = texts();
    let manifests = texts.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let names: BTreeSet<&str> = manifests
        .filter_map(|(_, text)| {
            text.split_once("[package]")?.1.lines().find_map(|line| line.strip_prefix("name = "))
        })
        .map(|name| name.trim_matches('"'))
        .collect();
    assert!(names.contains("stackmark"), "{names:?}");
    let (mut found, mut named) = (Vec::new(), 0);
    for (path, text) in &texts {
        for command in text.lines().filter_map(|line| line.split_once("cargo ")) {
            let mut words = command.1.split_whitespace().skip_while(|word| *word != "-p").skip(1);
            let Some(package) = words.next().map(|word| word.trim_end_matches(['`', '.', ',', ':', ')']))
            else {
                continue;
            };
            named += 1;
            if !names.contains(package) {
                found.push(format!("{}: no package is called `{package}`", path.display()));
            }
        }
    }
    assert!(named > 10, "{named}");
    assert_none(&found);
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

/// The terms and phrases that were replaced do not come back.
#[test]
fn avoided_phrases_are_not_used() {
    let is_read = |path: &Path| {
        let is_source = path.starts_with("crates") && path.components().any(|part| part.as_os_str() == "src");
        // Decisions and pages of experiments are records of their day; they are rewritten with the next run.
        let is_page = path.parent() == Some(Path::new("docs")) || path == Path::new("README.md");
        let is_other = path.starts_with("experiments") || path == Path::new("spec/result.schema.json");
        let is_server = path.starts_with("servers") && !path.starts_with("servers/sql");
        is_source || is_other || is_server || is_page && path.extension().is_some_and(|is| is == "md")
    };
    let texts = texts();
    let read = texts.iter().filter(|(path, _)| is_read(path));
    assert_none(&read.flat_map(|(path, text)| avoided(path, text)).collect::<Vec<_>>());
    assert_eq!(avoided(Path::new("a.rs"), "\"it is\\\n    void: no\"").len(), 1);
}

/// Pages, contracts, schemas, experiments, and what the program prints.
#[test]
fn avoided_words_are_not_used_in_texts_for_users() {
    let is_read = |path: &Path| {
        let is = |ending: &str| path.extension().is_some_and(|extension| extension == ending);
        // Decisions are records of their day.
        let is_page = is("md") && !path.starts_with("docs/decisions");
        let is_spec = path.starts_with("spec") && (is("json") || is("yaml"));
        let is_experiment = path.starts_with("experiments") && is("toml");
        let others = ["Makefile", "crates/cli/src/live/page.html", "tests/snapshots/sentences.txt"];
        is_page || is_spec || is_experiment || others.iter().any(|other| path == Path::new(other))
    };
    let texts = texts();
    let read: Vec<&(PathBuf, String)> = texts.iter().filter(|(path, _)| is_read(path)).collect();
    assert!(read.len() > 60, "{}", read.len());
    let found = |path: &Path, text: &str| avoided_words(path, text);
    assert_none(&read.iter().flat_map(|(path, text)| found(path, text)).collect::<Vec<_>>());
    assert_eq!(found(Path::new("a.md"), "Nobody knows\nOUR kit; ourselves, {us}, busy, us-1").len(), 4);
}

/// At most 20 words of a dialect per 1,000 lines of each crate (`scripts/dialect.sh` prints all of them).
#[test]
fn crates_are_in_plain_english() {
    let script = repository::root().join("scripts/dialect.sh");
    let ran = std::process::Command::new("sh").arg(script).output().expect("a shell is there");
    let printed = String::from_utf8(ran.stdout).expect("it is text");
    assert!(ran.status.success() && printed.lines().count() > 30, "{printed}");
    let share = |line: &str| line.split_whitespace().next().and_then(|share| share.parse::<f64>().ok());
    let many: Vec<String> = printed
        .lines()
        .filter(|line| share(line).is_none_or(|share| share >= 20.0))
        .map(str::to_owned)
        .collect();
    assert_none(&many);
}

/// Every sentence that the program may print, in one file: a change of words shows up there.
#[test]
fn sentences_are_in_one_file() {
    let file = repository::root().join("tests/snapshots/sentences.txt");
    let found: BTreeSet<String> =
        texts().iter().flat_map(|(path, text)| sentences(path, text).expect("it is Rust")).collect();
    assert!(found.len() > 500, "{}", found.len());
    let now: String = found.iter().map(|sentence| format!("{sentence}\n")).collect();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::create_dir_all(file.parent().expect("it has one")).expect("it can be made");
        fs::write(&file, &now).expect("it can be written");
    }
    let before = fs::read_to_string(&file).unwrap_or_default();
    let known: BTreeSet<String> = before.lines().map(str::to_owned).collect();
    let gone = known.difference(&found).map(|sentence| format!("- {sentence}"));
    let new = found.difference(&known).map(|sentence| format!("+ {sentence}"));
    let changed: Vec<String> = gone.chain(new).collect();
    assert!(changed.is_empty(), "accept with INSTA_UPDATE=always:\n{}", changed.join("\n"));
}

/// A setting that one server reports and another does not would not be compared.
#[test]
fn servers_in_all_languages_report_the_same_settings() {
    let of = |engine: &str, names: &'static [&'static str]| {
        let files = [
            format!("servers/c/src/{engine}_open.c"),
            format!("servers/go/internal/{engine}/stack.go"),
            format!("servers/python/stackmark_server/{engine}.py"),
        ];
        files.map(|file| (file, names))
    };
    let servers =
        of("postgres", &sql::postgres::SETTINGS).into_iter().chain(of("mariadb", &sql::MYSQL_SETTINGS));
    let missing = servers.flat_map(|(file, names)| {
        let text = fs::read_to_string(repository::root().join(&file)).expect("the server is there");
        let quoted =
            |name: &str| ['"', '\''].iter().any(|mark| text.contains(&format!("{mark}{name}{mark}")));
        let missing = names.iter().filter(|name| !quoted(name));
        missing.map(|name| format!("{file}: {name}")).collect::<Vec<_>>()
    });
    assert_none(&missing.collect::<Vec<_>>());
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
