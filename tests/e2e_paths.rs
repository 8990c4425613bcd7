//! Folders with names that mean something in an address, or that are no text; and an environment with little in it.

use crate::e2e_workdir::{Ran, Running, Workdir};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Everything that prints a path and reads it again, done in a folder.
fn works_in(folder: &Path, workdir: &Workdir) {
    let run = |line: &str| -> Ran {
        let mut command = workdir.command(line);
        command.current_dir(folder).env("LANG", "C").env("LC_ALL", "C").env_remove("HOME");
        Running::start(command).end()
    };
    let good = |line: &str| {
        let ran = run(line);
        assert_eq!(ran.code(), 0, "{}: {line}: {ran:?}", folder.display());
        ran
    };
    let short = "--clients 2 --warmup 0s --duration 500ms";
    good("load tpcb --golden --db sqlite:bank.db");
    for subject in ["tpcb", "tpcb/sqlite/axum+rusqlite"] {
        good(&format!("run {subject} --db sqlite:bank.db {short} --out runs"));
    }
    good("audit tpcb --db sqlite:bank.db");
    // Each has servers and relays of its own, which get the addresses of private files.
    good(&format!("run booking/sqlite/axum+rusqlite/outbox --sink file {short} --out runs"));
    good("report --history runs");
    let history: Value = serde_json::from_str(&good("report --history runs --json").out).unwrap();
    assert_eq!(history["series"].as_array().map(Vec::len), Some(3), "{history}");
}

/// Each driver and route of SQLite has its own way to a file.
fn every_driver_works_in(folder: &Path, workdir: &Workdir) {
    let run = |line: &str| -> Ran {
        let mut command = workdir.command(line);
        command.current_dir(folder);
        Running::start(command).end()
    };
    let good = |line: &str| {
        let ran = run(line);
        // On so few rows calls meet each other, and a rule says so.
        assert!(matches!(ran.code(), 0 | 1), "{}: {line}: {ran:?}", folder.display());
    };
    let short = "--clients 2 --warmup 0s --duration 500ms";
    for (workload, ways) in [
        ("tpcc", &["rusqlite/grouped", "sqlx", "diesel", "axum+rusqlite", "axum+diesel"][..]),
        ("catalogue", &["rusqlite", "axum+rusqlite/levels"]),
        ("transfer", &["rusqlite", "rusqlite/log-first"]),
    ] {
        good(&format!("load {workload} --golden --db sqlite:{workload}.db"));
        for way in ways {
            good(&format!("run {workload}/sqlite/{way} --db sqlite:{workload}.db {short} --out runs"));
        }
        good(&format!("audit {workload} --db sqlite:{workload}.db"));
    }
    let both = "--db shard-0=sqlite:a.db?journal=truncate --db shard-1=sqlite:b.db?journal=truncate";
    good(&format!("load transfer --golden --shards 2 {both}"));
    good(&format!("run transfer/sqlite/rusqlite/attached {both} {short} --out runs"));
    good("drill tpcb/sqlite/rusqlite --power-cut --faults 1 --out runs");
    good("verify tpcb/sqlite/axum+rusqlite --idle 0s");
    let compared =
        run(&format!("compare tpcb tpcb/sqlite/axum+rusqlite --blocks 2 --no-control {short} --out pairs"));
    assert!(matches!(compared.code(), 0 | 3), "{compared:?}");
}

#[test]
fn every_driver_works_in_a_folder_of_any_name() {
    let workdir = Workdir::empty();
    let folder = workdir.path("").join(OsStr::from_bytes(b"a b?c#d%e&f=g not \xff\xfe text"));
    fs::create_dir(&folder).unwrap();
    every_driver_works_in(&folder, &workdir);
}

#[test]
fn a_folder_may_have_any_name() {
    let workdir = Workdir::empty();
    for name in [&b"a b?c#d%e&f=g 50%25 off %2F\nend"[..], b"not \xff\xfe text"] {
        let folder = workdir.path("").join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        works_in(&folder, &workdir);
    }
}

/// A file whose name has a question mark is named as in any URL.
#[test]
fn a_file_is_named_as_in_a_url() {
    let workdir = Workdir::empty();
    assert_eq!(workdir.run("load tpcb --db sqlite:what%3F.db").code(), 0);
    assert!(workdir.files().contains(&"what?.db".to_owned()), "{:?}", workdir.files());
    workdir.run("run tpcb --db sqlite:wh?at.db").refused(&["option `at.db` has no value", "%3F"]);
}

/// Nothing is written where one works, only below `--out`.
#[test]
fn a_folder_that_cannot_be_written_is_no_hindrance() {
    let workdir = Workdir::empty();
    let folder = workdir.path("fixed");
    fs::create_dir(&folder).unwrap();
    let mut permissions = fs::metadata(&folder).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&folder, permissions).unwrap();
    let mut command = workdir
        .command("run tpcb/sqlite/axum+rusqlite --clients 2 --warmup 0s --duration 500ms --out ../results");
    command.current_dir(&folder).env_remove("HOME");
    let ran = Running::start(command).end();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
