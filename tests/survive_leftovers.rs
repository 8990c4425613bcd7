//! Runs that are interrupted or killed: no engine, server or data folder of theirs stays, and nothing of theirs on
//! someone's server.

use crate::workdir::{INTERRUPTED, Running, Workdir, is_alive, parse, so_far, until};
use crate::{book, driver, loaded, start_on, until_committed, without_passwords};
use rig::Engine;
use rig::for_tests::engines_folder;
use rustix::process::Signal;
use stackmark_tests::engines::LockedServer;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer than any test lets it run.
const LONG: &str = "--duration 60s --warmup 0s --clients 2 --think exp:10ms";

/// Starts a run with a private engine, whose folder is made in one of our own.
fn with_private_engine(workdir: &Workdir, base: &Path, engine: Engine) -> Running {
    let mut command = workdir.command(&format!("run tpcb/{} --scale 1 --json {LONG}", driver(engine)));
    without_passwords(&mut command);
    command.env("STACKMARK_RIG_DIR", base);
    let run = Running::start(command);
    until_committed(&run, workdir);
    run
}

pub(crate) fn folders(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The first process of the engine in a folder.
pub(crate) fn engine_of(folder: &Path) -> u32 {
    let state: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("state.json")).unwrap()).unwrap();
    u32::try_from(state["pid"].as_u64().unwrap()).unwrap()
}

/// A folder in which the accounts of engines may look for theirs.
pub(crate) fn base() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let base = tempfile::tempdir_in(engines_folder()).unwrap();
    fs::set_permissions(base.path(), fs::Permissions::from_mode(0o711)).unwrap();
    base
}

#[test]
fn ctrl_c_ends_a_run_and_its_private_engine() {
    for engine in crate::ENGINES {
        let (workdir, base) = (Workdir::empty(), base());
        let run = with_private_engine(&workdir, base.path(), engine);
        let folders = folders(base.path());
        let [folder] = &folders[..] else { panic!("{folders:?}") };
        let pid = engine_of(folder);
        run.signal(Signal::INT);
        let ran = run.end();
        assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
        assert!(!is_alive(pid) && !folder.exists(), "the engine is left: {ran:?}");
        let document = parse(&ran.out);
        assert_eq!(document["state"], "interrupted");
        assert!(book(&document["trials"][0], "committed") > 0);
        assert!(!workdir.files().iter().any(|file| file.contains("private")), "{:?}", workdir.files());
    }
}

#[test]
fn a_killed_run_takes_its_private_engine_with_it() {
    for engine in crate::ENGINES {
        let (workdir, base) = (Workdir::empty(), base());
        let run = with_private_engine(&workdir, base.path(), engine);
        let folder = folders(base.path())[0].clone();
        let pid = engine_of(&folder);
        run.signal(Signal::KILL);
        assert_eq!(run.end().status.code(), None);
        until("the engine and its folder are gone", || !is_alive(pid) && !folder.exists());
        let document = workdir.document();
        assert_eq!(document["state"], "running");
        assert!(book(&so_far(&workdir.only_run()).unwrap(), "committed") > 0);
        let report = workdir.run(&format!("report {}", workdir.only_run().display()));
        assert!(report.code() == 0 && report.out.contains("running"), "{report:?}");
    }
}

#[test]
fn nothing_is_left_on_a_users_server() {
    for engine in crate::ENGINES {
        let mut server = LockedServer::of(engine);
        let url = loaded(&mut server, "tpcb");
        let before = server.databases();
        let workdir = Workdir::empty();
        let run = start_on(&workdir, &format!("run tpcb/{} {LONG}", driver(engine)), &url);
        until_committed(&run, &workdir);
        run.signal(Signal::INT);
        assert_eq!(run.end().code(), INTERRUPTED);
        assert_eq!(server.databases(), before);
        // Every trial of a comparison has a copy of its own.
        let workdir = Workdir::empty();
        let two = format!("tpcb/{} tpcb/{}", driver(engine), driver(engine));
        let run = start_on(&workdir, &format!("compare {two} --blocks 1 --duration 60s --warmup 0s"), &url);
        until_committed(&run, &workdir);
        run.signal(Signal::INT);
        let _ = run.end();
        assert_eq!(server.databases(), before);
    }
}
