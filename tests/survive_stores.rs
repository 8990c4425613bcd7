//! A bank over two engines of which one is killed, cannot be had, or is interrupted: what was acknowledged in either is stored,
//! what happened is told with the name of the store, and nothing of either is left.

use crate::survive_leftovers::{base, engine_of, folders};
use crate::workdir::{INTERRUPTED, Ran, Running, Workdir, is_alive, kill, parse, until, write};
use crate::{
    LONG, assert_audited, book, driver, ended, so_far, trial_of, until_committed, until_counted,
    until_it_goes_on_or, with_password, without_passwords,
};
use rig::for_tests::recovers;
use rig::{Engine, Running as Server};
use rustix::process::Signal;
use serde_json::Value;
use sql::{Secret, ServerUrl};
use stackmark_tests::engines::small;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command on a database of each of two servers, whose passwords are in the environment.
fn over(workdir: &Workdir, line: &str, urls: &[ServerUrl; 2]) -> Command {
    let [first, second] = urls;
    let mut command = workdir.command(&format!("{line} --db shard-0={first} --db shard-1={second}"));
    without_passwords(&mut command);
    for (url, name) in urls.iter().zip(["STACKMARK_DB_PASSWORD", "STACKMARK_DB_1_PASSWORD"]) {
        command.env(name, url.password.as_ref().map_or("", Secret::reveal));
    }
    command
}

fn run_over(workdir: &Workdir, line: &str, urls: &[ServerUrl; 2]) -> Ran {
    Running::start(over(workdir, line, urls)).end()
}

/// Two servers with an empty database each.
fn two(engine: Engine) -> ([Server; 2], [ServerUrl; 2]) {
    let servers = [small(engine, &[]), small(engine, &[])];
    servers.iter().for_each(|server| server.create_database("tpcb").unwrap());
    let urls = [servers[0].tcp_url("tpcb"), servers[1].tcp_url("tpcb")];
    (servers, urls)
}

/// A run with a private engine for each of two stores, whose folders are made in one of our own; once calls are committed.
fn with_private_engines(workdir: &Workdir, base: &Path, more: &str) -> (Running, Vec<PathBuf>) {
    let line =
        format!("run tpcb/{} --shards 2 --scale 2 --json --warmup 0s {more}", driver(Engine::Postgres));
    let mut command = workdir.command(&line);
    without_passwords(&mut command);
    command.env("STACKMARK_RIG_DIR", base);
    let run = Running::start(command);
    until_committed(&run, workdir);
    let folders = folders(base);
    assert_eq!(folders.len(), 2, "{folders:?}; {}", run.err());
    (run, folders)
}

#[track_caller]
fn assert_gone(workdir: &Workdir, folders: &[PathBuf], pids: &[u32]) {
    let left: Vec<&PathBuf> = folders.iter().filter(|folder| folder.exists()).collect();
    assert!(left.is_empty() && !pids.iter().any(|pid| is_alive(*pid)), "{left:?}");
    assert!(!workdir.files().iter().any(|file| file.contains("private")), "{:?}", workdir.files());
}

#[test]
fn a_run_of_which_one_private_engine_is_killed_is_finished_as_failed_and_leaves_neither() {
    let (workdir, base) = (Workdir::empty(), base());
    let (run, folders) =
        with_private_engines(&workdir, base.path(), "--duration 5s --clients 2 --think exp:10ms");
    let pids: Vec<u32> = folders.iter().map(|folder| engine_of(folder)).collect();
    kill(pids[1]);
    let ran = run.end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = trial_of(&ran);
    assert_eq!(trial["state"], "failed", "{trial:#}");
    let failure = trial["failure"].as_str().unwrap();
    assert!(failure.contains("could not be audited after the run: shard-"), "{failure}");
    assert!(
        book(&trial, "committed") > 0 && book(&trial, "refused") > 0,
        "{}",
        trial["overall"]["call_counts"]
    );
    let outage = trial["outages"].as_array().unwrap().last().unwrap();
    assert_eq!((&outage["missing"], &outage["to_s"]), (&"everything".into(), &Value::Null));
    assert_eq!(workdir.document()["state"], "failed");
    assert_gone(&workdir, &folders, &pids);
}

#[test]
fn ctrl_c_ends_a_run_over_two_private_engines_and_both_of_them() {
    let (workdir, base) = (Workdir::empty(), base());
    let (run, folders) =
        with_private_engines(&workdir, base.path(), "--duration 60s --clients 2 --think exp:10ms");
    let pids: Vec<u32> = folders.iter().map(|folder| engine_of(folder)).collect();
    run.signal(Signal::INT);
    let ran = run.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    let document = parse(&ran.out);
    let trial = &document["trials"][0];
    assert_eq!(document["state"], "interrupted");
    assert!(book(trial, "committed") > 0);
    assert_audited(trial);
    // Both are watched, and each says how it was set up.
    let engines = trial["processes"].as_array().unwrap().iter();
    assert_eq!(engines.filter(|process| process["roles"][0] == "engine").count(), 2, "{trial:#}");
    let notes = document["notes"].to_string();
    assert!(
        ["shard-0: PostgreSQL was started", "shard-1: PostgreSQL was started"]
            .iter()
            .all(|note| notes.contains(note))
    );
    assert_gone(&workdir, &folders, &pids);
}

#[test]
fn a_killed_run_takes_both_of_its_private_engines_with_it() {
    let (workdir, base) = (Workdir::empty(), base());
    let (run, folders) =
        with_private_engines(&workdir, base.path(), "--duration 60s --clients 2 --think exp:10ms");
    let pids: Vec<u32> = folders.iter().map(|folder| engine_of(folder)).collect();
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    until("both engines and their folders are gone", || {
        !pids.iter().any(|pid| is_alive(*pid)) && !folders.iter().any(|folder| folder.exists())
    });
    assert_eq!(workdir.document()["state"], "running");
    assert!(book(&so_far(&workdir), "committed") > 0);
}

#[test]
fn each_deployment_of_an_experiment_is_freshly_started_for_a_trial_and_gone_afterwards() {
    let (workdir, base) = (Workdir::empty(), base());
    write(
        workdir.path("stores.toml"),
        "workload = \"tpcb\"\nscale = 2\n[plan]\nblocks = 2\nduration = \"1s\"\nwarmup = \"0s\"\nclients = 2\n\
         control = false\n[[variant]]\nname = \"stores\"\nsubject = \"postgres/tokio-postgres\"\ndurability = \"delayed\"\n\
         shards = [1, 2]\n",
    );
    let mut command = workdir.command("experiment stores.toml");
    without_passwords(&mut command);
    command.env("STACKMARK_RIG_DIR", base.path());
    let ran = Running::start(command).end();
    assert!(matches!(ran.code(), 0 | 1), "{ran:?}");
    let document = workdir.document();
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(comparison["factor"], "shards");
    let differences = comparison["key_differences"].as_array().unwrap().iter();
    let differences = differences.chain(comparison["fingerprint_differences"].as_array().unwrap());
    let unmeant: Vec<&Value> = differences.filter(|found| found["intended"] != true).collect();
    assert!(unmeant.is_empty(), "{unmeant:#?}");
    let mut pids = Vec::new();
    for trial in document["trials"].as_array().unwrap() {
        assert_audited(trial);
        let stores = trial["data"]["stores"].as_array().map_or(1, Vec::len);
        let engines = trial["processes"].as_array().unwrap().iter();
        let engines: Vec<u64> = engines
            .filter(|process| process["roles"][0] == "engine")
            .map(|process| process["pid"].as_u64().unwrap())
            .collect();
        assert_eq!(engines.len(), stores, "{trial:#}");
        pids.extend(engines);
    }
    // Two blocks of one store, and of two; none of the engines twice.
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 2 * (1 + 2), "{pids:?}");
    assert_gone(&workdir, &folders(base.path()), &[]);
    assert!(folders(base.path()).is_empty());
}

#[test]
fn one_store_that_is_killed_and_comes_back_loses_no_acknowledged_call() {
    for (engine, subject) in [
        (Engine::Postgres, "tpcb/postgres/axum+tokio-postgres"),
        (Engine::MariaDb, "tpcb/mariadb/mysql-async"),
    ] {
        let (mut servers, urls) = two(engine);
        let workdir = Workdir::empty();
        let loaded =
            run_over(&Workdir::empty(), &format!("load tpcb/{} --golden --shards 2", driver(engine)), &urls);
        assert_eq!(loaded.code(), 0, "{loaded:?}");
        let run = Running::start(over(
            &workdir,
            &format!("run {subject} --json {LONG} --clients 4 --think exp:10ms"),
            &urls,
        ));
        until_committed(&run, &workdir);
        servers[1].kill();
        until_counted(&run, &workdir, "refused");
        if !recovers(&mut servers[1]) {
            continue;
        }
        until_it_goes_on_or(&run, &workdir, || !servers[1].is_alive());
        let (ran, trial) = ended(run);
        if !servers[1].is_alive() {
            assert!(!recovers(&mut servers[1]), "{} ended by itself", engine.name());
            continue;
        }
        assert_eq!(ran.code(), INTERRUPTED, "{trial:#}");
        assert_eq!(book(&trial, "defect"), 0);
        assert!(!trial["outages"].as_array().unwrap().is_empty(), "{trial:#}");
        // Again, by witnesses that know nothing of the run but its claims.
        let audit = run_over(&workdir, &format!("audit tpcb --run {}", workdir.only_run().display()), &urls);
        assert_eq!(audit.code(), 0, "{audit:?}");

        // And where it does not come back, nothing is begun.
        servers[1].kill();
        let before = workdir.files();
        for line in [format!("run {subject}"), "audit tpcb".into(), "load tpcb --shards 2 --golden".into()] {
            let refused = run_over(&workdir, &line, &urls);
            refused.refused(&["could not reach"]);
            assert!(refused.err.contains("shard-1"), "{refused:?}");
        }
        assert_eq!(workdir.files(), before);
    }
}

#[test]
fn a_load_whose_second_server_is_down_leaves_the_first_empty() {
    let (mut servers, urls) = two(Engine::Postgres);
    servers[1].kill();
    let workdir = Workdir::empty();
    let ran = run_over(&workdir, "load tpcb/postgres --shards 2 --scale 2", &urls);
    ran.refused(&["shard-1", "could not reach"]);
    let tables = servers[0].client("tpcb", "select count(*) from pg_tables where schemaname = 'public'");
    assert_eq!(tables.unwrap().trim(), "0");
    // The password of one store is not that of another.
    servers[1].restart().unwrap();
    let wrong = [urls[0].clone(), with_password(&urls[1], "hunter2-hunter2")];
    let ran = run_over(&workdir, "load tpcb/postgres --shards 2 --scale 2", &wrong);
    ran.refused(&["shard-1", "password"]);
    assert!(!ran.err.contains("hunter2"), "{ran:?}");
}
