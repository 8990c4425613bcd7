//! The watch against real processes: children of this test that burn, idle and exit when told to.
#![cfg(target_os = "linux")]

use measure::Monotonic;
use model::{Clock, Nanos};
use observe::{Observation, ObserveError, Options, Role, Watch, Watched};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// What a burn takes at the very least; about a third of what it takes on a fast machine of 2026.
const BURN_S_MIN: f64 = 0.04;

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

    /// Burns in children that end each time, beside one that stays.
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
        Watched { role: Role::Server, pid: self.child.id() }
    }

    fn burn(&mut self) {
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
    assert!(server.cpu_user_s >= BURN_S_MIN, "{server:?}");
    assert!(
        server.cpu_s() <= seen.window.length_s() + 0.05,
        "one thread can't use more than one core: {seen:?}"
    );
    assert_eq!((server.role, server.name.as_str()), (Role::Server, "sh"));
    assert_eq!((server.threads, server.gone_at_ns), (1, None));
    assert!(server.rss_bytes > 0 && server.rss_bytes_max >= server.rss_bytes, "{server:?}");
    let busiest = server.busiest_thread.as_ref().expect("it has a thread");
    assert!(busiest.name == "sh" && busiest.cores > 0.0, "{busiest:?}");
    assert!(seen.load.as_ref().is_some_and(|load| load.busy_cores > 0.0), "{seen:?}");
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
    assert!(engine.cpu_s() >= 2.0 * BURN_S_MIN, "{engine:?}");
    // They ran one after the other.
    assert!(engine.cpu_s() <= seen.window.length_s() + 0.05, "counted twice: {seen:?}");
    assert!(engine.threads >= 2, "the child that stays is part of it: {engine:?}");
}

#[test]
fn the_generator_does_not_count_its_children() {
    let mut burner = Burner::with_children();
    let watch = watch(vec![Watched { role: Role::Generator, ..burner.watched() }, burner.watched()]);
    burner.burn();
    let seen = watch.stop();
    let [alone, with_children] = &seen.processes[..] else { panic!("{seen:?}") };
    // Held against what its children take on this machine, because a shell has to begin too.
    assert!(with_children.cpu_s() >= BURN_S_MIN, "{seen:?}");
    assert!(alone.cpu_s() < with_children.cpu_s() / 2.0, "{seen:?}");
    assert_eq!(alone.threads, 1);
}

#[test]
fn an_engine_that_comes_back_under_another_id_is_watched_on() {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    let pid_file = folder.path().join("engine.pid");
    let mut first = Burner::start();
    let engine = Watched { role: Role::Engine, ..first.watched() };
    let options = Options { engine_pid_file: Some(pid_file.clone()), ..Options::default() };
    let mut watch = Watch::start(vec![engine], &options, Monotonic::start()).expect("the process runs");
    first.burn();
    watch.close_window();
    first.end();
    watch.close_window();
    assert_eq!(watch.gone().len(), 1);
    let mut second = Burner::start();
    std::fs::write(&pid_file, format!("{}\n/some/folder\n", second.child.id())).expect("the folder is ours");
    watch.close_window();
    assert_eq!(watch.gone(), []);
    second.burn();
    watch.close_window();
    let seen = watch.stop();
    let engine = &seen.processes[0];
    assert_eq!((engine.restarts, engine.gone_at_ns), (1, None));
    assert!(engine.cpu_s() >= 2.0 * BURN_S_MIN, "{engine:?}");
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
    // Two ticks: what the shell does after it has said so.
    assert!(seen.processes[0].cpu_s() <= 0.02, "{seen:?}");
    assert!(seen.window.from_ns < seen.window.until_ns, "{seen:?}");
    let last = seen.slices.last().expect("the watch went on after the window");
    assert!(seen.slices[0].from_ns < seen.window.from_ns && last.until_ns > seen.window.until_ns, "{seen:?}");
}

#[test]
fn a_process_that_ends_is_noticed_and_keeps_its_cpu_seconds() {
    let mut burner = Burner::start();
    let mut watch = watch(vec![Watched::myself(Role::Generator), burner.watched()]);
    burner.burn();
    watch.open_window();
    burner.burn();
    watch.close_window();
    assert_eq!(watch.gone(), []);
    burner.end();
    watch.close_window();
    let gone = watch.gone();
    assert_eq!(gone.iter().map(|gone| gone.watched).collect::<Vec<_>>(), [burner.watched()]);
    let seen = watch.stop();
    assert_eq!(seen.processes[1].gone_at_ns, Some(gone[0].at));
    assert_eq!(seen.processes[0].gone_at_ns, None);
    assert!(seen.processes[1].cpu_s() >= BURN_S_MIN, "{seen:?}");
}

#[test]
fn a_process_that_nobody_has_waited_for_counts_as_ended() {
    let mut burner = Burner::start();
    let mut watch = watch(vec![burner.watched()]);
    burner.burn();
    drop(burner.child.stdin.take());
    // Its end of the pipe closes a moment before the kernel calls it a zombie.
    assert_eq!(burner.says.read_line(&mut String::new()).expect("the pipe closes"), 0);
    let clock = Monotonic::start();
    while watch.gone().is_empty() {
        assert!(clock.now() < Nanos::from_secs(300), "nobody notices its end");
        watch.close_window();
    }
    assert!(watch.stop().processes[0].cpu_s() >= BURN_S_MIN);
}

#[test]
fn others_who_use_the_machine_are_named() {
    let mut burner = Burner::start();
    let watch = watch(vec![Watched::myself(Role::Generator)]);
    burner.burn();
    let load = watch.stop().load.expect("this is Linux");
    let named = load.others.iter().any(|other| other.name == "sh" && other.cpu_s >= BURN_S_MIN);
    // Only the busiest five are named, and on a busy machine that may be five others.
    let crowded_out = load.others.len() == 5 && load.others.iter().all(|other| other.cpu_s >= BURN_S_MIN);
    assert!(named || crowded_out, "{load:?}");
    assert!(load.other_cores > 0.0, "{load:?}");
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
    let options = Options { store: Some(Path::new("/dev/shm/not-yet.db").to_owned()), ..Options::default() };
    let watch = Watch::start(Vec::new(), &options, Monotonic::start()).expect("the folder exists");
    assert_eq!(watch.stop().disk, None);
}

#[test]
fn an_observation_survives_being_written_and_read() {
    let watch = watch(vec![Watched::myself(Role::Generator)]);
    let seen = watch.stop();
    let text = serde_json::to_string(&seen).expect("plain data");
    let read: Observation = serde_json::from_str(&text).expect("the same data");
    assert_eq!(read, seen);
    assert!(text.contains("\"role\":\"generator\"") && text.contains("\"cpu_user_s\":"), "{text}");
}
