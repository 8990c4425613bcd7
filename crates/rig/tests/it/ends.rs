//! An engine ends with the process that started it, whatever ends that.

use model::Clock;
use rig::for_tests::{engines_folder, not_run};
use rig::{Engine, Options};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn base() -> tempfile::TempDir {
    let mut builder = tempfile::Builder::new();
    builder.prefix("rige-").permissions(fs::Permissions::from_mode(0o711));
    builder.tempdir_in(engines_folder()).unwrap()
}

/// The example `hold`, which cargo builds next to the tests.
fn hold(base: &Path, arguments: &[&str]) -> Command {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/hold");
    let mut command = Command::new(program);
    command.env("STACKMARK_RIG_DIR", base).args(arguments).stdout(Stdio::piped());
    command
}

/// Ends with the test, however that ends: it holds for ever, and has the tests' standard error, whose reader would wait
/// as long.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        // Mostly the test has ended it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it and waits for the engine; gives the engine's number and folder.
fn held(mut command: Command) -> (Holder, u32, PathBuf) {
    let mut child = Holder(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (pid, folder) = line.trim().split_once(' ').expect("the engine is up");
    (child, pid.parse().unwrap(), folder.into())
}

fn options(base: &Path) -> Options {
    Options { base: Some(base.to_owned()), ..Options::small(Engine::Postgres) }
}

fn eventually(what: &str, mut ask: impl FnMut() -> bool) {
    let clock = measure::Monotonic::start();
    while !ask() {
        assert!(clock.now().as_secs_f64() < 300.0, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn living_in(folder: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(folder)))
        .collect()
}

fn send(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn no_engine_outlives_its_process_whatever_ends_that() {
    use rustix::process::Signal;
    for engine in Engine::DATABASES {
        for signal in [Signal::KILL, Signal::INT, Signal::TERM] {
            if is_ignored(signal.as_raw()) {
                not_run(format!("whoever started this test has it ignore {signal:?}"));
                continue;
            }
            let base = base();
            let (mut child, pid, folder) = held(hold(base.path(), &[engine.name()]));
            assert!(living_in(&folder).contains(&pid));
            send(child.0.id(), signal);
            assert_eq!(child.0.wait().unwrap().signal(), Some(signal.as_raw()));
            eventually("the engine ends", || living_in(&folder).is_empty());
            eventually("its folder goes", || !folder.exists());
        }
    }
}

/// Whether our children are born deaf to a signal, as those of a shell's background job are to Ctrl-C.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn a_panic_leaves_nothing() {
    let base = base();
    let mut command = hold(base.path(), &["postgres", "panic"]);
    command.stderr(Stdio::null());
    let (mut child, _, folder) = held(command);
    assert_eq!(child.0.wait().unwrap().code(), Some(101));
    // The panic unwinds: everything is gone before the process is.
    assert!(living_in(&folder).is_empty() && !folder.exists());
}

#[test]
fn what_a_killed_run_and_its_killed_watchdog_left_is_swept_at_the_next_start() {
    use rustix::process::Signal;
    for engine in Engine::DATABASES {
        let base = base();
        let (mut child, pid, folder) = held(hold(base.path(), &[engine.name()]));
        let watchdogs: Vec<u32> =
            children_of(child.0.id()).into_iter().filter(|other| *other != pid).collect();
        assert_eq!(watchdogs.len(), 1);
        send(watchdogs[0], Signal::KILL);
        send(child.0.id(), Signal::KILL);
        child.0.wait().unwrap();
        assert!(living_in(&folder).contains(&pid), "with both gone, no one ends the engine");
        let options = options(base.path());
        let next = rig::start(Engine::Postgres, &options).unwrap();
        assert!(living_in(&folder).is_empty() && !folder.exists());
        assert!(next.folder().exists());
    }
}

#[test]
fn a_folder_in_use_is_never_swept() {
    let base = base();
    let (mut child, pid, folder) = held(hold(base.path(), &["postgres"]));
    let options = options(base.path());
    drop(rig::start(Engine::Postgres, &options).unwrap());
    assert!(living_in(&folder).contains(&pid));
    send(child.0.id(), rustix::process::Signal::KILL);
    child.0.wait().unwrap();
    eventually("its folder goes", || !folder.exists());
}

fn children_of(parent: u32) -> Vec<u32> {
    let text = fs::read_dir(format!("/proc/{parent}/task")).unwrap().flatten();
    let lists = text.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}
