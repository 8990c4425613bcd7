//! Servers that say no in the middle of a run: each no is counted as what it is, the run goes on when it can again, and its
//! document is valid.

use crate::workdir::Workdir;
use crate::{
    LONG, book, committed_in, driver, ended, loaded, run_on, start_on, until_committed, until_counted,
    until_it_goes_on, with_password,
};
use rig::Engine;
use rig::for_tests::engines_folder;
use serde_json::Value;
use sql::ServerUrl;
use stackmark_tests::engines::LockedServer;
use std::path::PathBuf;
use std::process::Command;

/// A user who may do what a run needs, and nothing else: administrators are let in and may write in any case.
fn plain(server: &LockedServer, url: &ServerUrl) -> ServerUrl {
    let (system, statements) = match server.engine.engine() {
        Engine::Postgres => (
            "tpcb",
            "drop role if exists clerk; create role clerk login createdb password 'clerk'; \
             grant select, insert, update, delete on all tables in schema public to clerk",
        ),
        Engine::Kafka => panic!("a broker has no SQL"),
        Engine::MariaDb => (
            "mysql",
            "create or replace user clerk@'127.0.0.1' identified by 'clerk'; \
             grant select, insert, update, delete, create, drop, index on *.* to clerk@'127.0.0.1'",
        ),
    };
    let _ = match server.engine.engine() {
        Engine::Postgres => server.engine.client(system, "drop owned by clerk").unwrap_or_default(),
        Engine::Kafka => panic!("a broker has no SQL"),
        Engine::MariaDb => String::new(),
    };
    let _ = server.ask(system, statements);
    ServerUrl { user: "clerk".into(), ..with_password(url, "clerk") }
}

/// Runs `tpcb`, and has the server say no in the middle, until calls are refused; it says yes again before the end.
fn check(server: &LockedServer, url: &ServerUrl, no: impl FnOnce(), yes: impl FnOnce()) -> Value {
    check_with(4, "refused", server, url, no, yes)
}

/// The same with so many clients, and until calls have ended in one way.
fn check_with(
    clients: u32,
    column: &str,
    server: &LockedServer,
    url: &ServerUrl,
    no: impl FnOnce(),
    yes: impl FnOnce(),
) -> Value {
    let workdir = Workdir::empty();
    let subject = driver(server.engine.engine());
    let line = format!("run tpcb/{subject} --json {LONG} --clients {clients} --think exp:10ms");
    let run = start_on(&workdir, &line, url);
    until_committed(&run, &workdir);
    no();
    until_counted(&run, &workdir, column);
    yes();
    until_it_goes_on(&run, &workdir);
    let (_, trial) = ended(run);
    assert!(book(&trial, column) > 0, "{}", trial["overall"]["call_counts"]);
    assert_eq!(book(&trial, "defect"), 0, "{trial:#}");
    // Seen while it ran, and so in what it has written. Not in its last slice: one in which a disk stalls has nothing.
    let slices = trial["slices"].as_array().unwrap();
    let faults = |slice: &Value| -> u64 {
        slice["kinds"].as_array().unwrap().iter().map(|kind| kind["faults"].as_u64().unwrap()).sum()
    };
    let mut since = slices.iter().skip_while(|slice| faults(slice) == 0).skip(1);
    assert!(since.any(|slice| committed_in(slice) > 0), "it did not go on: {trial:#}");
    trial
}

#[test]
fn a_server_that_turns_read_only_refuses_calls_for_as_long() {
    let server = &mut LockedServer::of(Engine::MariaDb);
    let all = loaded(server, "tpcb");
    let url = plain(server, &all);
    let turn = |to: &str| drop(server.ask("mysql", &format!("set global read_only = {to}")));
    // One client: with two, one may wait for a row of the other, whose next statement waits for the server to turn, which
    // waits for the first. MariaDB does not see that ring, and stands until innodb_lock_wait_timeout.
    let trial = check_with(1, "refused", server, &url, || turn("on"), || turn("off"));
    assert_eq!(book(&trial, "in_doubt"), 0, "{}", trial["overall"]["call_counts"]);
}

#[test]
fn a_statement_that_waits_too_long_for_a_lock_is_a_conflict() {
    for engine in crate::ENGINES {
        let mut server = LockedServer::of(engine);
        // More than an ordinary statement takes; ten attempts are made of a call, and all of them meet the lock, which is
        // held two and a half times as long.
        let url = ServerUrl { statement_timeout_ms: 200, ..loaded(&mut server, "tpcb") };
        let locked = match engine {
            Engine::Postgres => {
                "begin; lock table pgbench_branches in exclusive mode; select pg_sleep(5); commit"
            }
            Engine::Kafka => panic!("a broker has no SQL"),
            Engine::MariaDb => "begin; select bid from pgbench_branches for update; select sleep(5); commit",
        };
        // The client comes back when the lock is let go.
        let trial = check_with(4, "conflict", &server, &url, || drop(server.ask("tpcb", locked)), || ());
        assert_eq!(
            (book(&trial, "in_doubt"), book(&trial, "refused")),
            (0, 0),
            "{}",
            trial["overall"]["call_counts"]
        );
    }
}

#[test]
fn sessions_that_find_the_server_full_come_back_when_it_is_not() {
    let no_and_yes = [
        (
            Engine::Postgres,
            "alter role clerk connection limit 0; select pg_terminate_backend(pid) from pg_stat_activity where usename = 'clerk'",
            "alter role clerk connection limit -1",
        ),
        (
            Engine::MariaDb,
            "alter user clerk@'127.0.0.1' with max_user_connections 1; kill user clerk@'127.0.0.1'",
            "alter user clerk@'127.0.0.1' with max_user_connections 0",
        ),
    ];
    for (engine, no, yes) in no_and_yes {
        let mut server = LockedServer::of(engine);
        let all = loaded(&mut server, "tpcb");
        let url = plain(&server, &all);
        let system = if engine == Engine::Postgres { "tpcb" } else { "mysql" };
        let trial = check(&server, &url, || drop(server.ask(system, no)), || drop(server.ask(system, yes)));
        // At most one call of each of the four sessions was under way.
        assert!(book(&trial, "in_doubt") <= 4, "{}", trial["overall"]["call_counts"]);
    }
}

/// A small file system, gone with this value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`, said loudly, where no one may make one.
    fn mount(mib: u32) -> Option<SmallDisk> {
        let path = tempfile::tempdir_in(engines_folder()).unwrap().keep();
        let size = format!("size={mib}m,mode=0777");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).output();
        let disk = SmallDisk(path);
        if mounted.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(disk);
        }
        rig::for_tests::not_run(format!("no small disk can be made here: {mounted:?}"));
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The time line shows when the engine took no writes, its own words say why, and the number is bad.
#[track_caller]
fn assert_lacked_writes(trial: &Value) {
    let outages = trial["outages"].as_array().unwrap();
    assert!(outages.iter().any(|outage| outage["missing"] == "writes"), "{outages:?}");
    let refused = trial["refusals"].as_array().unwrap();
    assert!(refused.iter().any(|refused| refused["reason"].as_str().unwrap().len() > 20), "{refused:?}");
    let rules = trial["rules"].as_array().unwrap();
    let bad = rules.iter().find(|rule| rule["name"] == "outage").unwrap();
    assert_eq!(bad["severity"], "bad", "{bad}");
}

/// Runs on a database whose tables are on a small disk, which fills up in the middle and has room again before the end.
fn check_crowded(server: &LockedServer, disk: &SmallDisk) {
    let url = server.engine.tcp_url("crowded");
    let filler = disk.0.join("filler");
    let fill = || {
        let zeros = Command::new("dd")
            .args(["if=/dev/zero", "bs=64k"])
            .arg(format!("of={}", filler.display()))
            .output();
        assert!(zeros.is_ok_and(|ended| !ended.status.success()), "the disk was to be filled");
    };
    let trial = check(server, &url, fill, || std::fs::remove_file(&filler).unwrap());
    assert_lacked_writes(&trial);
}

#[test]
fn a_disk_that_fills_up_under_postgresql_refuses_calls_and_harms_no_data() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let mut server = LockedServer::of(Engine::Postgres);
    let _ = loaded(&mut server, "tpcb");
    // The log of the server stays where it is: without room for that it stops, as it should.
    let place = disk.0.join("space");
    std::fs::create_dir(&place).unwrap();
    let owned = Command::new("chown").arg("--reference").args([&server.engine.data(), &place]).status();
    assert!(owned.is_ok_and(|status| status.success()));
    let _ = server.ask("postgres", &format!("create tablespace small location '{}'", place.display()));
    let _ = server.ask("postgres", "create database crowded template tpcb tablespace small");
    check_crowded(&server, &disk);
    let _ = server.ask("postgres", "drop database crowded with (force)");
    let _ = server.ask("postgres", "drop tablespace small");
}

#[test]
fn a_disk_that_fills_up_under_mariadb_refuses_calls_and_harms_no_data() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let server = LockedServer::of(Engine::MariaDb);
    server.engine.create_database("crowded").unwrap();
    // The folder of the database moves, and the log and the undo of the server stay.
    let (folder, place) = (server.engine.data().join("crowded"), disk.0.join("crowded"));
    let moved = Command::new("mv").args([&folder, &place]).status();
    assert!(moved.is_ok_and(|status| status.success()));
    std::os::unix::fs::symlink(&place, &folder).unwrap();
    let ran = run_on(&Workdir::empty(), "load tpcb --scale 1", &server.engine.tcp_url("crowded"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    check_crowded(&server, &disk);
    let _ = server.ask("mysql", "drop database crowded");
}
