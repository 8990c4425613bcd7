//! The watch against real processes: children of this test that burn, idle and exit when told to.
#![cfg(target_os = "linux")]

use measure::Monotonic;
use model::{Clock, Nanos};
use observe::{ObserveError, Options, Watch, Watched};
use result::Role;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// What a burn takes at the very least, on however fast a machine; a few ticks of the clock by which the kernel counts.
const BURN_S_MIN: f64 = 0.1;
/// That clock counts whole ticks of 10 ms, and does so once at each end.
const TICKS_S: f64 = 0.02;

/// A child that burns some CPU time whenever it is sent a line, says so, and exits when its input ends.
struct Burner {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Burner {
    fn start() -> Burner {
        Burner::running(
            "while read line; do i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo burnt; done",
        )
    }

    /// Burns in children that end each time, next to one that stays.
    fn with_children() -> Burner {
        Burner::running(
            "burn() { i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; }; \
             sleep 1000 > /dev/null 2>&1 & stays=$!; \
             while read line; do (burn); echo burnt; done; kill $stays",
        )
    }

    fn running(script: &str) -> Burner {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let says = BufReader::new(child.stdout.take().expect("piped"));
        Burner { child, says }
    }

    fn watched(&self) -> Watched {
        Watched::of(Role::Server, self.child.id())
    }

    /// What it has taken so far, with its children that have ended.
    fn cpu_s(&self) -> f64 {
        let process = procfs::process::Process::new(self.child.id().cast_signed()).expect("it runs");
        let stat = process.stat().expect("it runs");
        let children = (stat.cutime + stat.cstime).cast_unsigned();
        (stat.utime + stat.stime + children) as f64 / procfs::ticks_per_second() as f64
    }

    fn burn(&mut self) {
        let before = self.cpu_s();
        while self.cpu_s() < before + BURN_S_MIN {
            self.burn_once();
        }
    }

    fn burn_once(&mut self) {
        self.child.stdin.as_mut().expect("piped").write_all(b"go\n").expect("it listens");
        let mut line = String::new();
        self.says.read_line(&mut line).expect("it answers");
        assert_eq!(line, "burnt\n");
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(watched: Vec<Watched>) -> Watch<Monotonic> {
    Watch::start(watched, &Options::default(), Monotonic::start()).expect("the process runs")
}

#[test]
fn burning_cpu_shows_up_as_cpu_seconds() {
    let mut burner = Burner::start();
    let watch = watch(vec![burner.watched()]);
    burner.burn();
    let seen = watch.stop();
    let [server] = &seen.processes[..] else { panic!("{seen:?}") };
    assert!(server.cpu_s() >= BURN_S_MIN - TICKS_S && server.cpu_user_s > 0.0, "{server:?}");
    assert!(server.cpu_s() <= seen.window_s + 0.05, "one thread can't use more than one core: {seen:?}");
    assert_eq!((server.roles.as_slice(), server.name.as_str()), ([Role::Server].as_slice(), "sh"));
    assert!(server.rss_peak_bytes > 0, "{server:?}");
    assert!(seen.machine.steal_share.is_some() && seen.writeback.is_some(), "{seen:?}");
    // A container does not see the kernel's threads.
    let hidden = |spot: &&String| !spot.ends_with("its threads are not visible here");
    assert_eq!(seen.not_observed.iter().filter(hidden).count(), 0, "{seen:?}");
}

/// PostgreSQL's backends: each ends with its connection, and the postmaster waits for it.
#[test]
fn children_that_have_ended_are_counted_once() {
    let mut burner = Burner::with_children();
    let mut watch = watch(vec![Watched { role: Role::Engine, ..burner.watched() }]);
    burner.burn();
    watch.open_window();
    burner.burn();
    burner.burn();
    watch.close_window();
    let seen = watch.stop();
    let [engine] = &seen.processes[..] else { panic!("{seen:?}") };
    assert!(engine.cpu_s() >= 2.0 * (BURN_S_MIN - TICKS_S), "{engine:?}");
    // They ran one after the other.
    assert!(engine.cpu_s() <= seen.window_s + 0.05, "counted twice: {seen:?}");
}

#[test]
fn the_generator_does_not_count_its_children() {
    let mut burner = Burner::with_children();
    let watch = watch(vec![Watched { role: Role::Generator, ..burner.watched() }, burner.watched()]);
    burner.burn();
    let seen = watch.stop();
    let [single, with_children] = &seen.processes[..] else { panic!("{seen:?}") };
    // Held against what its children take on this machine, because a shell has to begin too.
    assert!(with_children.cpu_s() >= BURN_S_MIN - TICKS_S, "{seen:?}");
    assert!(single.cpu_s() < with_children.cpu_s() / 2.0, "{seen:?}");
}

#[test]
fn an_engine_that_comes_back_under_another_id_is_watched_on() {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    let pid_file = folder.path().join("engine.pid");
    let mut first = Burner::start();
    let engine = Watched { role: Role::Engine, pid_file: Some(pid_file.clone()), ..first.watched() };
    // That of another store, which has no such file.
    let mut other = Burner::start();
    let mut watch = watch(vec![engine, Watched { role: Role::Engine, ..other.watched() }]);
    first.burn();
    watch.close_window();
    first.end();
    watch.close_window();
    let mut second = Burner::start();
    std::fs::write(&pid_file, format!("{}\n/some/folder\n", second.child.id())).expect("the folder is ours");
    watch.close_window();
    second.burn();
    watch.close_window();
    let seen = watch.stop();
    let [engine, of_other] = &seen.processes[..] else { panic!("{seen:?}") };
    assert!(engine.cpu_s() >= 2.0 * (BURN_S_MIN - TICKS_S), "{engine:?}");
    assert!(of_other.cpu_s() < BURN_S_MIN / 2.0 && of_other.roles == [Role::Engine], "{of_other:?}");
    other.end();
}

#[test]
fn what_happens_outside_the_window_does_not_count() {
    let mut burner = Burner::start();
    let mut watch = watch(vec![burner.watched()]);
    burner.burn();
    watch.open_window();
    watch.close_window();
    burner.burn();
    let seen = watch.stop();
    // What the shell does after it has said so is little.
    assert!(seen.processes[0].cpu_s() < BURN_S_MIN / 2.0, "{seen:?}");
    assert!(seen.window_s > 0.0, "{seen:?}");
    let mut after = seen.processes[0].samples.iter().filter(|sample| sample.t_s > seen.window_s);
    assert!(after.any(|sample| sample.cores_busy > 0.0), "{seen:?}");
}

#[test]
fn a_process_that_ends_keeps_its_cpu_seconds() {
    let mut burner = Burner::start();
    let mut watch = watch(vec![Watched::myself(Role::Generator), burner.watched()]);
    burner.burn();
    watch.open_window();
    burner.burn();
    watch.close_window();
    burner.end();
    watch.close_window();
    let seen = watch.stop();
    assert!(seen.processes[1].cpu_s() >= BURN_S_MIN - TICKS_S, "{seen:?}");
}

#[test]
fn a_process_that_no_one_has_waited_for_counts_as_ended() {
    let mut burner = Burner::start();
    let mut watch = watch(vec![burner.watched()]);
    burner.burn();
    drop(burner.child.stdin.take());
    // Its end of the pipe closes a moment before the kernel calls it a zombie.
    assert_eq!(burner.says.read_line(&mut String::new()).expect("the pipe closes"), 0);
    let clock = Monotonic::start();
    while watch.usage()[0].rss_bytes > 0 {
        assert!(clock.now() < Nanos::from_secs(300), "no one notices its end");
        watch.close_window();
    }
    assert!(watch.stop().processes[0].cpu_s() >= BURN_S_MIN - TICKS_S);
}

#[test]
fn a_process_that_does_not_exist_is_refused() {
    let mut burner = Burner::start();
    burner.end();
    let started = Watch::start(vec![burner.watched()], &Options::default(), Monotonic::start());
    let error = started.err().expect("it has ended and been waited for");
    assert!(matches!(error, ObserveError::NoSuchProcess { role: "server", .. }), "{error}");
}

#[test]
fn a_store_in_memory_has_no_disk_to_watch() {
    let options = Options { stores: vec![Path::new("/dev/shm/not-yet.db").to_owned()], ..Options::default() };
    let watch = Watch::start(Vec::new(), &options, Monotonic::start()).expect("the folder exists");
    assert_eq!(watch.stop().disk, None);
}
