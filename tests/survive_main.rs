//! What a run must survive on real servers, through the real command line: engines that are killed, connections that are
//! cut, servers that refuse, fill up or turn read-only; and what must never be seen of it: a password, or a stray process.
//!
//! One program for all of it, so that each server is started and loaded once. Tests that use the same server take turns.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod survive_cut;
mod survive_faults;
mod survive_honest;
mod survive_hostile;
mod survive_idle;
mod survive_kill;
mod survive_languages;
mod survive_leftovers;
mod survive_pooler;
mod survive_refusals;
mod survive_resume;
mod survive_secrets;
mod survive_stores;
mod survive_two_runs;
#[path = "e2e_workdir.rs"]
#[expect(dead_code, reason = "the tests on SQLite use the rest of it")]
mod workdir;

use rig::Engine;
use rustix::process::Signal;
use serde_json::Value;
use sql::{Secret, ServerUrl};
use stackmark_tests::engines::LockedServer;
use stackmark_tests::languages::{self, FOLDERS, Manifest, Offer, is_made, manifest};
use std::process::Command;
use workdir::{INTERRUPTED, Ran, Running, Workdir, is_alive, parse};

/// A run for as long as a test needs it: none lasts to the end of this, on however slow a machine.
/// The drain is the default one, long enough that a disk that stalls at the end leaves no call in doubt.
const LONG: &str = "--duration 300s --warmup 0s";

const ENGINES: [Engine; 2] = [Engine::Postgres, Engine::MariaDb];

/// A command on a database of a server. The password is in the environment.
fn command_on(workdir: &Workdir, line: &str, url: &ServerUrl) -> Command {
    let mut command = workdir.command(line);
    without_passwords(&mut command);
    command.env("STACKMARK_DB", url.to_string());
    command.envs(url.password.as_ref().map(|password| ("STACKMARK_DB_PASSWORD", password.reveal())));
    command
}

/// Takes away what the environment of these tests may know.
fn without_passwords(command: &mut Command) {
    for name in ["STACKMARK_DB_PASSWORD", "PGPASSWORD", "PGPASSFILE", "MYSQL_PWD", "HOME"] {
        command.env_remove(name);
    }
}

/// The subjects of a workload that are served in other languages here, the first that each server lists, with the option that
/// says where the servers are.
fn in_other_languages(workload: &str, engine: Engine) -> Vec<String> {
    let servers = languages::folder();
    let subject = |language: &&str| {
        let Manifest { name, serves, .. } = manifest(language);
        let is_it = |offer: &&Offer| offer.engine == engine.name() && offer.workload == workload;
        let how = &serves.iter().find(is_it)?.how;
        Some(format!("{workload}/{}/{name}+{how} --servers {}", engine.name(), servers.display()))
    };
    FOLDERS.iter().filter(|language| is_made(language, "build")).filter_map(subject).collect()
}

/// Starts a command on a subject in another language.
fn start_in_other_language(workdir: &Workdir, line: &str, url: &ServerUrl) -> Running {
    start_with_home(command_on(workdir, line, url))
}

/// Starts a command that may build a server: Go builds into a folder of the user's.
fn start_with_home(mut command: Command) -> Running {
    command.envs(std::env::var_os("HOME").map(|home| ("HOME", home)));
    Running::start(command)
}

fn start_on(workdir: &Workdir, line: &str, url: &ServerUrl) -> Running {
    Running::start(command_on(workdir, line, url))
}

fn run_on(workdir: &Workdir, line: &str, url: &ServerUrl) -> Ran {
    start_on(workdir, line, url).end()
}

/// Waits until calls of a run are committed.
fn until_committed(run: &Running, workdir: &Workdir) {
    run.until("calls are committed", || workdir.has_committed());
}

/// The only trial of the only run, as far as it is written down: that is every second.
fn so_far(workdir: &Workdir) -> Value {
    workdir::so_far(&workdir.only_run()).expect("the trial is in its document before it runs")
}

/// Waits until calls of a run have ended in one way.
fn until_counted(run: &Running, workdir: &Workdir, column: &str) {
    run.until(&format!("calls are {column}"), || book(&so_far(workdir), column) > 0);
}

/// Waits until calls are committed in a slice that begins after now.
fn until_it_goes_on(run: &Running, workdir: &Workdir) {
    until_it_goes_on_or(run, workdir, || false);
}

/// Waits until calls are committed in a slice that begins after now, or until something has come to pass.
fn until_it_goes_on_or(run: &Running, workdir: &Workdir, mut has_come_to_pass: impl FnMut() -> bool) {
    let committed =
        || -> Vec<u64> { so_far(workdir)["slices"].as_array().unwrap().iter().map(committed_in).collect() };
    // What is written may be a slice behind, and another one is under way.
    let next = committed().len() + 2;
    run.until("calls are committed again", || {
        has_come_to_pass() || committed().iter().skip(next).any(|calls| *calls > 0)
    });
}

/// Calls of a slice that were committed.
fn committed_in(slice: &Value) -> u64 {
    slice["kinds"].as_array().unwrap().iter().map(|kind| kind["committed"].as_u64().unwrap()).sum()
}

/// Ends a run that has shown what it was to show. What it has measured until then is a result like any other.
#[track_caller]
fn ended(run: Running) -> (Ran, Value) {
    let (ran, trial) = interrupted(run);
    assert_interrupted(&trial);
    (ran, trial)
}

fn interrupted(run: Running) -> (Ran, Value) {
    run.signal(Signal::INT);
    let ran = run.end();
    let trial = trial_of(&ran);
    (ran, trial)
}

#[track_caller]
fn assert_interrupted(trial: &Value) {
    assert_eq!(trial["state"], "interrupted", "{trial:#}");
    assert_audited(trial);
}

/// The golden database of a workload on a server, which is tiny; loaded once.
fn loaded(server: &mut LockedServer, workload: &str) -> ServerUrl {
    server.database(workload, |url| {
        let ran = run_on(&Workdir::empty(), &format!("load {workload} --golden"), url);
        assert_eq!(ran.code(), 0, "{ran:?}");
    })
}

/// A subject's middle part: `postgres/tokio-postgres`.
fn driver(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "postgres/tokio-postgres",
        Engine::Kafka => panic!("a broker has no SQL"),
        Engine::MariaDb => "mariadb/mysql-async",
    }
}

/// The document of a run that came to its end or was interrupted, and what it says of its only trial.
#[track_caller]
fn trial_of(ran: &Ran) -> Value {
    assert!(matches!(ran.code(), 0 | 1 | INTERRUPTED), "{ran:?}");
    parse(&ran.out)["trials"][0].clone()
}

fn book(trial: &Value, column: &str) -> u64 {
    trial["overall"]["call_counts"][column].as_u64().unwrap()
}

/// No audit of a trial failed: what was acknowledged is stored, and no more than that and what is in doubt.
#[track_caller]
fn assert_audited(trial: &Value) {
    for part in ["audits", "ledger"] {
        let checks = trial[part].as_array().unwrap();
        let failed: Vec<_> = checks.iter().filter(|found| found["check"] == "failed").collect();
        assert!(!checks.is_empty() && failed.is_empty(), "{part}: {failed:#?}");
    }
    assert!(trial["ledger"].as_array().unwrap().iter().all(|found| found["check"] == "passed"), "{trial}");
}

/// The same server and database, another password.
fn with_password(url: &ServerUrl, password: &str) -> ServerUrl {
    ServerUrl { password: Some(Secret::new(password)), ..url.clone() }
}
