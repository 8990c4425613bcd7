//! Drills on PostgreSQL and MariaDB: shards are killed, paused and cut off, coordinators and relays die, and a style that keeps
//! no record of what it does is caught.

use crate::e2e_workdir::{Running, Workdir, parse, until};
use rig::Engine;
use rig::for_tests::{engines_folder, is_corrupted, not_run};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;

/// The account without rights of each Unix system that tests run on.
const NOBODY: u32 = 65_534;

/// The exit status and the drill; nothing where an engine could not recover.
fn drilled(line: &str) -> Option<(i32, Value)> {
    drilled_with(line, &[])
}

/// The same with variables of the environment.
fn drilled_with(line: &str, variables: &[(&str, &str)]) -> Option<(i32, Value)> {
    let workdir = Workdir::empty();
    let mut command = workdir.command(&format!("drill {line} --json"));
    command.envs(variables.iter().copied());
    let ran = Running::start(command).end();
    if ran.err.contains("mount failed on") {
        not_run("a file system cannot be mounted here");
        return None;
    }
    if line.contains("/mariadb/") && is_corrupted(Engine::MariaDb, &ran.err) {
        return None;
    }
    let document = parse(&ran.out);
    assert_eq!(document["state"], "complete", "{line}: {}", ran.err);
    Some((ran.code(), document["drill"].clone()))
}

#[track_caller]
fn assert_passed(line: &str) {
    let Some((code, drill)) = drilled(line) else { return };
    assert_eq!(code, 0, "{line}: {drill:#}");
    let faults = drill["faults"].as_array().unwrap();
    assert!(faults.iter().all(|fault| fault["failures"].as_array().unwrap().is_empty()), "{drill:#}");
    assert!(faults.iter().all(|fault| fault["first_commit_s"].as_f64().is_some()), "{drill:#}");
    assert!(faults.iter().all(|fault| fault["calls"].get("defects").is_none()), "{drill:#}");
    // Transfers that begin in a shard that was struck had no answer while it was unavailable, but for those that were about to have one.
    let mut shards = 0;
    for fault in faults {
        let shard = fault["component"].as_str().unwrap().strip_prefix("shard-");
        let Some(shard) = shard.and_then(|shard| shard.parse::<u64>().ok()) else { continue };
        let is_own = |of: &&Value| of["kind"] == "transfer" && of["store"] == shard;
        let own = fault["without_answer"].as_array().unwrap().iter().find(is_own).unwrap();
        assert!(
            own["longest_s"].as_f64().unwrap() > fault["unavailable_s"].as_f64().unwrap() / 2.0,
            "{fault:#}"
        );
        shards += 1;
    }
    let names_shards = line.contains("engine") && line.starts_with("transfer/");
    assert!(shards > 0 || !names_shards, "{drill:#}");
}

#[test]
fn shards_under_two_phase_commit_are_killed_paused_and_cut_off_on_postgresql() {
    assert_passed(
        "transfer/postgres/tokio-postgres/2pc --only engine:kill,engine:pause,engine:cut-off --faults 4",
    );
}

#[test]
fn a_server_that_coordinates_two_phase_commit_on_mariadb_dies_between_its_phases() {
    let phases = "server:kill-after-prepare,server:kill-after-decision";
    assert_passed(&format!(
        "transfer/mariadb/axum+mysql-async/2pc --only {phases},engine:cut-off --faults 3"
    ));
}

/// Whether the power of engines can be cut here; otherwise the test says why it did not run.
fn can_have_own_disk() -> bool {
    rig::can_have_own_disk().map_err(not_run).is_ok()
}

/// What a power cut has taken although it was acknowledged.
#[track_caller]
fn assert_missing(line: &str, variables: &[(&str, &str)]) {
    let Some((code, drill)) = drilled_with(line, variables) else { return };
    assert_eq!(code, 1, "{line}: {drill:#}");
    let faults = drill["faults"].as_array().unwrap();
    let missing = |fault: &Value| fault["missing"].as_array().is_some_and(|missing| !missing.is_empty());
    assert!(faults.iter().any(missing), "{line}: {drill:#}");
}

#[test]
fn what_postgresql_has_acknowledged_outlives_power_cuts_unless_it_flushes_nothing() {
    if can_have_own_disk() {
        assert_passed("tpcb/postgres/tokio-postgres --power-cut --faults 2");
        assert_missing("tpcb/postgres/tokio-postgres --power-cut --faults 1 --setting fsync=off", &[]);
    }
}

#[test]
fn what_mariadb_has_acknowledged_outlives_power_cuts() {
    if can_have_own_disk() {
        assert_passed("tpcb/mariadb/mysql-async --power-cut --faults 1");
    }
}

#[test]
fn what_sqlite_has_acknowledged_outlives_power_cuts_of_its_file_system_unless_it_flushes_nothing() {
    if can_have_own_disk() {
        assert_passed("tpcb/sqlite/rusqlite --power-cut --faults 2");
        assert_passed("transfer/sqlite/axum+rusqlite/saga --power-cut --faults 1");
        assert_missing("tpcb/sqlite/rusqlite --power-cut --faults 1 --durability delayed", &[]);
    }
}

#[test]
fn a_killed_drill_of_postgresql_leaves_no_mounted_file_system() {
    leaves_no_mounted_file_system("tpcb/postgres/tokio-postgres");
}

#[test]
fn a_killed_drill_of_sqlite_leaves_no_mounted_file_system() {
    leaves_no_mounted_file_system("tpcb/sqlite/rusqlite");
}

fn leaves_no_mounted_file_system(subject: &str) {
    if !can_have_own_disk() {
        return;
    }
    let workdir = Workdir::empty();
    let base = engines_folder().join(format!("stackmark-mounted-{}", std::process::id()));
    let is_embedded = subject.contains("/sqlite/");
    let place = if is_embedded { workdir.path("results") } else { base.clone() };
    let is_mounted =
        || std::fs::read_to_string("/proc/mounts").unwrap().contains(&format!("{}/", place.display()));
    let mut command = workdir.command(&format!("drill {subject} --power-cut --faults 100"));
    command.env("STACKMARK_RIG_DIR", &base);
    let drill = Running::start(command);
    until("it is mounted, or cannot be", || is_mounted() || drill.err().contains("error:"));
    if !is_mounted() {
        let ran = drill.end();
        assert!(ran.err.contains("mount failed on"), "{ran:?}");
        return not_run("a file system cannot be mounted here");
    }
    drill.signal(Signal::KILL);
    drill.end();
    if is_embedded {
        let image = || workdir.only_run().join("private/storage").exists();
        return until("it is unmounted, and its image is gone", || !is_mounted() && !image());
    }
    until("it is unmounted, and its image is gone", || {
        let left = std::fs::read_dir(&base).unwrap().flatten().filter(|entry| entry.path().is_dir());
        !is_mounted() && left.count() == 0
    });
    std::fs::remove_dir_all(&base).unwrap();
}

#[test]
fn power_cuts_and_settings_that_a_subject_cannot_have_are_refused() {
    let workdir = Workdir::empty();
    workdir
        .run("drill transfer/sqlite/rusqlite/attached --power-cut")
        .refused(&["no storage whose power could be cut"]);
    workdir.run("drill tpcb --setting fsync=off").refused(&["--setting is for PostgreSQL and MariaDB"]);
    workdir.run("drill tpcb/postgres --setting fsync").refused(&["a setting is NAME=VALUE"]);
}

/// Without root no file system can be mounted: power cuts of engines are refused, and those of SQLite's files are simulated by
/// recording what was not flushed.
#[test]
fn without_root_power_cuts_are_refused_or_simulated() {
    // Temporary folders are often their owner's alone.
    let folder = tempfile::tempdir_in(engines_folder()).unwrap();
    let (workdir, program) = (Workdir::empty(), folder.path().join("stackmark"));
    std::fs::copy(workdir.command("").get_program(), &program).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let ran = |line: &str| {
        let mut command = workdir.command_of(&program, line);
        command.current_dir(folder.path()).env("STACKMARK_LOCK", folder.path().join("lock"));
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        Running::start(command).end()
    };
    for engine in ["postgres/tokio-postgres", "mariadb/mysql-async"] {
        let line = format!("drill tpcb/{engine} --power-cut --faults 1");
        ran(&line).refused(&["can lose power", "needs root"]);
    }
    let simulated = ran("drill tpcb/sqlite/rusqlite --power-cut --faults 1 --json");
    assert_eq!(simulated.code(), 0, "{simulated:?}");
    let document = parse(&simulated.out);
    assert!(document["drill"]["faults"][0]["lost_writes"].is_u64(), "{document:#}");
}

mod extended {
    use super::*;

    #[test]
    fn whatever_transfers_stand_on_is_struck_in_every_way_that_it_can_be() {
        for subject in ["transfer/postgres/tokio-postgres", "transfer/mariadb/axum+mysql-async"] {
            for style in ["2pc", "2pc-log", "saga"] {
                assert_passed(&format!("{subject}/{style} --faults 10"));
            }
        }
        assert_passed("transfer/postgres/axum+tokio-postgres/log-first --faults 12");
    }

    /// A library that makes of each flush nothing, and whose packages put it here.
    const NO_FLUSH: &str = "/usr/lib/x86_64-linux-gnu/libeatmydata.so";

    #[test]
    fn a_library_that_flushes_nothing_is_caught() {
        if !std::path::Path::new(NO_FLUSH).exists() {
            not_run(format!("{NO_FLUSH} is not there (package libeatmydata1)"));
        } else if can_have_own_disk() {
            let preloaded = [("LD_PRELOAD", NO_FLUSH)];
            assert_missing("tpcb/postgres/tokio-postgres --power-cut --faults 2", &preloaded);
            assert_missing("tpcb/mariadb/mysql-async --power-cut --faults 2", &preloaded);
        }
    }

    #[test]
    fn commits_that_wait_for_no_flush_may_be_lost_by_a_power_cut() {
        if can_have_own_disk() {
            assert_missing(
                "tpcb/postgres/tokio-postgres --power-cut --faults 2 --durability delayed --rate 2000",
                &[],
            );
            assert_missing(
                "tpcb/mariadb/mysql-async --power-cut --faults 2 --durability delayed --rate 2000",
                &[],
            );
        }
    }

    #[test]
    fn messages_outlive_a_broker_whose_disk_was_full() {
        if can_have_own_disk() && rig::for_tests::broker().is_some() {
            let only = "--sink kafka --only broker:disk-full --faults 2";
            assert_passed(&format!("booking/sqlite/rusqlite/outbox {only}"));
        }
    }

    #[test]
    fn transfers_between_two_stores_outlive_power_cuts_of_either() {
        if can_have_own_disk() {
            assert_passed("transfer/postgres/axum+tokio-postgres/2pc --power-cut --faults 4");
            assert_passed("transfer/postgres/axum+tokio-postgres/saga --power-cut --faults 4");
            assert_passed("transfer/mariadb/axum+mysql-async/2pc --power-cut --faults 4");
        }
    }

    #[test]
    fn a_generator_that_coordinates_two_phase_commit_on_postgresql_dies_between_its_phases() {
        let phases = "generator:kill-after-prepare,generator:kill-after-decision";
        assert_passed(&format!("transfer/postgres/tokio-postgres/2pc-log --only {phases} --faults 2"));
    }

    #[test]
    fn a_saga_on_postgresql_outlives_its_relay_and_a_shard() {
        // Both directions at the same time.
        let relay = "--relay-connections 2 --batch 5";
        assert_passed(&format!(
            "transfer/postgres/tokio-postgres/saga --only relay,engine:kill --faults 4 {relay}"
        ));
    }

    #[test]
    fn a_log_on_kafka_before_a_saga_outlives_its_broker_and_a_shard() {
        if rig::for_tests::broker().is_some() {
            let only = "--sink kafka --only generator,broker:kill,engine:kill --faults 3";
            assert_passed(&format!("transfer/postgres/tokio-postgres/log-first {only}"));
        }
    }

    #[test]
    fn nodes_of_a_cluster_are_killed_and_cut_off_from_each_other() {
        let cluster = "--setting stackmark.galera=2 --setting stackmark.writers=2";
        assert_passed(&format!(
            "tpcb/mariadb/mysql-async {cluster} --only node-1:cut-off,node-2:kill --faults 2"
        ));
    }

    #[test]
    fn data_nodes_and_the_head_of_spider_are_killed_and_cut_off() {
        if rig::for_tests::has_spider() {
            let only = "--only head:kill,node:cut-off,node:kill --faults 5";
            assert_passed(&format!("tpcb/mariadb/mysql-async --setting stackmark.spider=2 {only}"));
        }
    }

    #[test]
    fn dual_writes_lose_money_when_a_shard_dies() {
        // The rate is above capacity: whenever a shard is killed, all clients are busy, about half of them between debit and credit.
        let busy = "--mix cross-transfer=1 --rate 3000 --clients 16";
        let line =
            format!("transfer/postgres/tokio-postgres/dual-write --only engine:kill --faults 2 {busy}");
        let (code, drill) = drilled(&line).unwrap();
        assert_eq!(code, 1, "{drill:#}");
        let failures = drill["faults"].to_string();
        assert!(failures.contains("balance") || failures.contains("credit"), "{drill:#}");
    }
}
