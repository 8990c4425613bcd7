//! The dependency edges of the workspace, held to `ARCHITECTURE.md`.

use stackmark_tests::edges::{Need, Unit, units, violations};
use stackmark_tests::repository;

#[test]
fn no_one_knows_whom_they_must_not_know() {
    let units = units(&repository::metadata());
    assert!(units.iter().any(|unit| unit.name == "model"), "the workspace was not found");
    let found = violations(&units);
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

/// Cargo would compile it, and all that needs it, once for `make build` and once more for `make test`.
#[test]
fn tests_add_no_feature_to_what_the_binary_is_made_of() {
    let binary = repository::packages(&["--package", "stackmark", "--edges", "normal,build"]);
    let all = repository::packages(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(binary.iter().any(|package| package.starts_with("serde ")), "nothing was found: {binary:?}");
    let others: Vec<_> = binary.difference(&all).collect();
    assert!(others.is_empty(), "have more features in tests: {others:#?}");
}

fn ours(name: &str) -> Need {
    Need { name: name.to_owned(), ours: true, dev: false, version: "*".to_owned(), from_workspace: true }
}

fn theirs(name: &str) -> Need {
    Need { ours: false, version: "=1.0.0".to_owned(), ..ours(name) }
}

/// A made-up package `name` with one need gives what `expected` says, or nothing.
fn check(name: &str, need: Need, expected: Option<&str>) {
    let (under, name) = name.split_once('/').unwrap_or(("crates", name));
    let unit = Unit {
        name: name.to_owned(),
        under: under.to_owned(),
        needs: vec![need.clone()],
        workspace_lints: true,
    };
    let found = violations(&[unit]);
    assert_eq!(found.first().map(String::as_str), expected, "`{name}` needs {need:?}");
    assert!(found.len() <= 1, "{found:?}");
}

#[test]
fn the_model_is_pure() {
    check("model", theirs("serde"), None);
    check(
        "model",
        theirs("libc"),
        Some("`model` needs nothing but rand_xoshiro, serde, thiserror; not `libc`"),
    );
    check("model", ours("sql"), Some("`model` may not know `sql`"));
}

#[test]
fn workloads_and_adapters_do_not_know_each_other() {
    check("workload-x", ours("sql"), None);
    check("workload-x", theirs("rusqlite"), Some("`workload-x` may not use `rusqlite`"));
    check("workload-x", theirs("tokio"), Some("`workload-x` may not use `tokio`"));
    check("workload-x", ours("adapter-y"), Some("`workload-x` may not know `adapter-y`"));
    check("adapter-y", theirs("rusqlite"), None);
    check("adapter-y", ours("workload-x"), Some("`adapter-y` may not know `workload-x`"));
    check("pair-x-y", ours("workload-x"), None);
    check("pair-x-y", ours("adapter-y"), None);
}

#[test]
fn the_load_generator_knows_no_protocol_and_no_problem() {
    check("drive", theirs("tokio"), None);
    check("drive", theirs("rusqlite"), Some("`drive` may not use `rusqlite`"));
    check("drive", theirs("axum"), Some("`drive` may not use `axum`"));
    check("drive", ours("sql"), Some("`drive` may not know `sql`"));
    check("drive", ours("workload-x"), Some("`drive` may not know `workload-x`"));
}

#[test]
fn a_report_needs_files_only() {
    check("report", ours("model"), None);
    check("report", ours("measure"), None);
    check("report", ours("result"), None);
    check("result", ours("model"), Some("`result` may not know `model`"));
    check("report", ours("drive"), Some("`report` may not know `drive`"));
    check("report", ours("observe"), Some("`report` may not know `observe`"));
    check("report", theirs("tokio"), Some("`report` may not use `tokio`"));
}

#[test]
fn only_the_ends_compose() {
    for name in ["cli", "tests/stackmark-tests", "benches/any"] {
        check(name, ours("workload-x"), None);
        check(name, ours("drive"), None);
    }
    check("server", ours("adapter-y"), None);
    check("deploy", ours("rig"), None);
    check("deploy", ours("workload-x"), Some("`deploy` may not know `workload-x`"));
    check("server", ours("drive"), Some("`server` may not know `drive`"));
    check("measure", ours("drive"), Some("`measure` may not know `drive`"));
    check("helpers", ours("model"), Some("no rule says what `helpers` may know; add one"));
}

#[test]
fn randomness_has_one_source() {
    check("model", theirs("rand_xoshiro"), None);
    check("cli", theirs("rand"), Some("`cli` may not use `rand`"));
    check("drive", theirs("fastrand"), Some("`drive` may not use `fastrand`"));
}

#[test]
fn tests_of_a_crate_may_compose_what_it_must_not_know() {
    check("workload-x", Need { dev: true, ..ours("adapter-y") }, None);
    check("report", Need { dev: true, ..theirs("tokio") }, None);
}

#[test]
fn versions_are_pinned_once() {
    let unpinned = Need { version: "^1.2".to_owned(), ..theirs("serde") };
    check("sql", unpinned.clone(), Some("`serde` is not pinned: `^1.2` should begin with `=`"));
    check("sql", Need { dev: true, ..unpinned }, Some("`serde` is not pinned: `^1.2` should begin with `=`"));
    let own = Need { from_workspace: false, ..theirs("serde") };
    check("sql", own, Some("`sql` gives `serde` a version of its own; say `workspace = true`"));
}

#[test]
fn lints_hold_everywhere() {
    let unit = Unit { name: "sql".to_owned(), under: "crates".to_owned(), ..Unit::default() };
    assert_eq!(violations(&[unit]), ["`sql` does not say `[lints] workspace = true`"]);
}
