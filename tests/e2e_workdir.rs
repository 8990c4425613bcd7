//! A user's working folder, and what happens in it.

use measure::Monotonic;
use model::{Clock, Nanos};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stackmark_tests::repository;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};

/// No command of these tests takes longer, even on a slow machine; what does is stuck. For hangs only: no promise of speed.
const WAIT_MAX: Nanos = Nanos::from_secs(280);
const LOOK: Duration = Duration::from_millis(10);

static BINARY: LazyLock<PathBuf> = LazyLock::new(repository::binary);
static TOY: LazyLock<PathBuf> = LazyLock::new(repository::toy);

/// The bytes of `bench.db`, made once for all tests by `stackmark load tpcc` with these arguments.
fn database(name: &str, args: &str) -> Vec<u8> {
    rig::for_tests::fixture(name, || {
        let workdir = Workdir::empty();
        let ran = workdir.run(&format!("load tpcc {args} --db sqlite:bench.db"));
        assert_eq!(ran.code(), 0, "{ran:?}");
        fs::read(workdir.path("bench.db")).unwrap()
    })
}

static SCHEMA: LazyLock<contract::schema::Schema> = LazyLock::new(|| {
    let text = fs::read_to_string(repository::root().join("spec/result.schema.json")).unwrap();
    contract::schema::Schema::whole(serde_json::from_str(&text).unwrap()).unwrap()
});

/// A folder of its own, which goes with this value, and next to it the file that keeps experiments apart: those of other
/// tests run at the same time.
#[derive(Debug)]
pub(crate) struct Workdir(TempDir, NamedTempFile);

impl Workdir {
    pub(crate) fn empty() -> Workdir {
        Workdir(tempfile::tempdir().unwrap(), NamedTempFile::new().unwrap())
    }

    /// On a disk, where a folder in memory will not do.
    pub(crate) fn on_disk() -> Workdir {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Workdir(folder, NamedTempFile::new().unwrap())
    }

    /// With `bench.db`, the golden database, which is tiny: 2 warehouses, 8,218 rows.
    pub(crate) fn loaded() -> Workdir {
        let workdir = Workdir::empty();
        fs::write(workdir.path("bench.db"), database("e2e-golden", "--golden")).unwrap();
        workdir
    }

    /// With `bench.db`, a database of one warehouse as the standard has it: 500,000 rows, 79 MB.
    pub(crate) fn loaded_in_full() -> Workdir {
        let workdir = Workdir::empty();
        fs::write(workdir.path("bench.db"), database("e2e-in-full", "")).unwrap();
        workdir
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Names of what is in it, at any depth.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(self.0.path(), self.0.path(), &mut found);
        found.sort();
        found
    }

    /// A command line after `stackmark`, its parts set apart by spaces.
    pub(crate) fn command(&self, line: &str) -> Command {
        self.command_of(&BINARY, line)
    }

    /// The same of the program that has the tests' own workload next to the others, whose notes take so long to arrive.
    pub(crate) fn start_toy(&self, delay_ms: u32, line: &str) -> Running {
        let mut command = self.command_of(&TOY, line);
        command.env("TOY_DELAY_MS", delay_ms.to_string());
        Running::start(command)
    }

    /// The same of another program, or of a copy of ours.
    pub(crate) fn command_of(&self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        command.args(line.split_whitespace());
        self.settle(&mut command);
        command
    }

    /// A command of the shell, in which `$STACKMARK` is the binary.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("STACKMARK", &*BINARY);
        self.settle(&mut command);
        command
    }

    fn settle(&self, command: &mut Command) {
        command.current_dir(self.0.path()).stdin(Stdio::null()).env_remove("STACKMARK_DB");
        command.env_remove("NO_COLOR").env("TERM", "xterm").env("STACKMARK_LOCK", self.1.path());
        // Tests look for what is in the whole report.
        command.env("STACKMARK_EXPLAIN", "true").env("COLUMNS", "100");
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        self.start(line).end()
    }

    pub(crate) fn start(&self, line: &str) -> Running {
        Running::start(self.command(line))
    }

    /// Starts a server on `bench.db` and waits until it listens.
    pub(crate) fn serve(&self) -> (Running, String) {
        self.serve_workload("tpcc", "bench.db")
    }

    /// The same for a workload and its database.
    pub(crate) fn serve_workload(&self, workload: &str, database: &str) -> (Running, String) {
        let line = format!("serve {workload} --db sqlite:{database} --listen 127.0.0.1:0 --pool 4");
        let server = self.start(&line);
        server.until("it listens", || server.out().ends_with('\n'));
        let url = server.out().trim().strip_prefix("listening on ").unwrap().to_owned();
        (server, url)
    }

    /// Folders of runs, oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("results")).into_iter().flatten();
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs
    }

    /// The only run's folder.
    pub(crate) fn only_run(&self) -> PathBuf {
        let runs = self.runs();
        let [run] = &runs[..] else { panic!("{runs:?}") };
        run.clone()
    }

    /// The result of the only run, held to the schema.
    pub(crate) fn document(&self) -> Value {
        parse(&fs::read_to_string(self.only_run().join("result.json")).unwrap())
    }

    /// Whether calls of the only run have been committed in its window, by what it has written so far.
    pub(crate) fn has_committed(&self) -> bool {
        let runs = self.runs();
        let Some(run) = runs.first() else { return false };
        // A comparison writes down each trial in a folder of its own.
        let trials = fs::read_dir(run.join("trials")).into_iter().flatten().flatten();
        let folders = trials.map(|trial| trial.path()).chain([run.clone()]);
        let committed = |folder: PathBuf| so_far(&folder)?["overall"]["call_counts"]["committed"].as_u64();
        folders.filter_map(committed).any(|committed| committed > 0)
    }

    /// `stackmark audit` finds the twelve conditions kept, and every acknowledged call of the only run in the store.
    pub(crate) fn assert_sound(&self, database: &str) {
        let run = self.only_run();
        let ran = self.run(&format!("audit tpcc --json --db sqlite:{database} --run {}", run.display()));
        assert_eq!(ran.code(), 0, "{ran:?}");
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        let audits = found["audits"].as_array().unwrap();
        let conditions = audits.iter().filter(|audit| audit["family"] == "consistency");
        assert!(conditions.clone().all(|audit| audit["check"] == "passed"), "{found}");
        assert!(conditions.count() >= 12, "{found}");
        let ledger = found["ledger"].as_array().unwrap();
        assert!(!ledger.is_empty() && ledger.iter().all(|found| found["check"] == "passed"), "{found}");
    }
}

fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let entries = match fs::read_dir(folder) {
        // A command that is under way removes folders of its own.
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        entries => entries.unwrap(),
    };
    for entry in entries {
        let path = entry.unwrap().path();
        found.push(path.strip_prefix(root).unwrap().display().to_string());
        if path.is_dir() {
            list(root, &path, found);
        }
    }
}

/// A result document that keeps the schema and whose call counts add up.
pub(crate) fn parse(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let wrong = SCHEMA.violations(&document);
    assert!(wrong.is_empty(), "{wrong:#?}");
    for trial in document["trials"].as_array().unwrap() {
        let kinds = trial["kinds"].as_array().unwrap().iter().map(|kind| &kind["tally"]["call_counts"]);
        for call_counts in kinds.chain([&trial["overall"]["call_counts"]]) {
            let sum =
                |names: &[&str]| names.iter().map(|name| call_counts[*name].as_u64().unwrap()).sum::<u64>();
            assert_eq!(sum(&["due"]), sum(&["started", "dropped"]), "{call_counts}");
            let ends = ["committed", "declined", "conflict", "refused", "in_doubt", "defect"];
            assert_eq!(sum(&["started"]), sum(&ends), "{call_counts}");
        }
    }
    document
}

/// The tier that the settings of a trial make. The tests may have their data in memory, and then the tier says that.
#[track_caller]
pub(crate) fn assert_tier(trial: &Value, of_settings: &str) {
    let on = trial["data"]["file_system"].as_str().unwrap_or_default();
    let tier = if on.ends_with("(memory)") { "volatile" } else { of_settings };
    assert_eq!(trial["stack"]["durability"]["tier"], tier, "{}", trial["stack"]["durability"]);
}

/// Nothing speaks against any trial, and the exit status says so; of a run that Ctrl-C has interrupted, and of subjects that do not do the
/// same work, it says that.
#[track_caller]
pub(crate) fn assert_good(ran: &Ran, document: &Value) {
    let complaints = complaints(document);
    assert!(complaints.is_empty(), "{complaints:#?} {}", ran.err);
    let comparisons = document["experiment"]["comparisons"].as_array().into_iter().flatten();
    let code = match document["state"] == "interrupted" {
        true => INTERRUPTED,
        false => i32::from(comparisons.into_iter().any(|found| found["verdict"] == "not_comparable")),
    };
    assert_eq!(ran.code(), code, "{}", ran.err);
}

/// Exit status after Ctrl-C: 128 + SIGINT.
pub(crate) const INTERRUPTED: i32 = 130;

/// Everything in a document that speaks against its number.
fn complaints(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for trial in document["trials"].as_array().unwrap() {
        found.extend(trial["failure"].as_str().map(str::to_owned));
        for part in ["audits", "ledger", "inputs", "rules"] {
            let bad = |entry: &&Value| entry["check"] == "failed" || entry["severity"] == "bad";
            found.extend(trial[part].as_array().unwrap().iter().filter(bad).map(Value::to_string));
        }
        // A session of ours that is taken for someone else's.
        found
            .extend(trial["engine"]["other_sessions"].as_array().into_iter().flatten().map(Value::to_string));
    }
    found
}

/// Each driver and style of these subjects once, and each driver behind the HTTP server, of the workload whose data is audited
/// soonest. Every style behind the server is a test of conformance.
pub(crate) fn once(subjects: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let in_order =
        ["booking/", "tpcb/", "transfer/", "catalogue/", "tpcc/"].into_iter().flat_map(|workload| {
            subjects.iter().filter(move |subject| subject.starts_with(workload)).map(String::as_str)
        });
    let how = |subject: &str| {
        let how = subject.splitn(3, '/').nth(2)?;
        let whole = if how.starts_with("axum+") { how.split('/').next()? } else { how };
        Some(whole.to_owned())
    };
    in_order.filter(|subject| seen.insert(how(subject))).map(str::to_owned).collect()
}

/// A command that is under way. It is killed when this value goes.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    out: StreamText,
    err: StreamText,
}

/// What a stream has said so far.
#[derive(Debug)]
struct StreamText {
    text: std::sync::Arc<std::sync::Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl StreamText {
    fn of(stream: impl Read + Send + 'static) -> StreamText {
        let text = std::sync::Arc::<std::sync::Mutex<String>>::default();
        let kept = text.clone();
        let reader = std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
        StreamText { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// All of it, once everybody who may write has ended: what a killed command leaves behind holds the stream open.
    fn whole(&mut self) -> String {
        let reader = self.reader.take().unwrap();
        until("everybody who writes to a stream has ended", || reader.is_finished());
        reader.join().unwrap();
        self.so_far()
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = StreamText::of(child.stdout.take().unwrap());
        let err = StreamText::of(child.stderr.take().unwrap());
        Running { child, out, err }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn out(&self) -> String {
        self.out.so_far()
    }

    pub(crate) fn err(&self) -> String {
        self.err.so_far()
    }

    /// Waits for something that this command brings about.
    ///
    /// # Panics
    /// When it has ended without.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let mut has_ended = false;
        until(what, || {
            // What it brought about at its very end counts.
            let is_done = done();
            assert!(is_done || !has_ended, "it ended before {what}: {} {}", self.out(), self.err());
            has_ended = !is_alive(self.pid());
            is_done
        });
    }

    pub(crate) fn signal(&self, signal: Signal) {
        signal_to(self.pid(), signal);
    }

    /// Processes that it has started and that are alive.
    pub(crate) fn children(&self) -> Vec<u32> {
        let processes = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_string_lossy().parse::<u32>().ok());
        processes.filter(|pid| status(*pid).is_some_and(|(_, parent)| parent == self.pid())).collect()
    }

    /// The server that it has started.
    pub(crate) fn server(&self) -> u32 {
        let children = self.children();
        let [server] = children[..] else { panic!("{children:?}") };
        server
    }

    /// Waits for its end, in which nothing of it panicked.
    pub(crate) fn end(self) -> Ran {
        let ran = self.end_anyhow();
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        ran
    }

    /// Waits for its end, however it comes.
    pub(crate) fn end_anyhow(mut self) -> Ran {
        let clock = Monotonic::start();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(clock.now() < WAIT_MAX, "stuck: {} {}", self.out(), self.err.so_far());
            std::thread::sleep(LOOK);
        };
        Ran { status, out: self.out.whole(), err: self.err.whole() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Most have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// State letter and parent of a process that is not a mere leftover.
fn status(pid: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?)).filter(|(state, _)| *state != 'Z')
}

pub(crate) fn is_alive(pid: u32) -> bool {
    status(pid).is_some()
}

pub(crate) fn kill(pid: u32) {
    signal_to(pid, Signal::KILL);
}

pub(crate) fn signal_to(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

#[track_caller]
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let clock = Monotonic::start();
    while !done() {
        assert!(clock.now() < WAIT_MAX, "waited in vain until {what}");
        std::thread::sleep(LOOK);
    }
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    #[track_caller]
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// It could not run: nothing on standard output, and every one of `words` in what it says instead.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        self.without_result(2, words);
    }

    /// Ctrl-C has ended it before there was anything to give on standard output.
    #[track_caller]
    pub(crate) fn interrupted(&self, words: &[&str]) {
        self.without_result(INTERRUPTED, words);
    }

    #[track_caller]
    fn without_result(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code(), self.out.as_str()), (code, ""), "{self:?}");
        assert!(self.err.contains("error: "), "{self:?}");
        // Long messages are wrapped.
        let said = self.err.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(said.contains(word), "{word:?} is not in {said:?}");
        }
    }
}

/// A file with some text.
pub(crate) fn write(path: PathBuf, text: &str) {
    std::io::Write::write_all(&mut File::create(path).unwrap(), text.as_bytes()).unwrap();
}

/// The last trial in a folder as far as it has come, which is written down every second: its document, and over it the
/// lines that are appended while calls are made. Not held to the schema: that takes its time, in which a trial ends.
pub(crate) fn so_far(folder: &Path) -> Option<Value> {
    let lines = fs::read_to_string(folder.join("progress.jsonl")).unwrap_or_default();
    let text = fs::read_to_string(folder.join("result.json")).ok()?;
    let mut document: Value = serde_json::from_str(&text).expect("a reader never sees half a result");
    let mut trial = document["trials"].as_array_mut()?.pop()?;
    if trial["state"] == "running" {
        // The last line may be under way.
        for line in lines.lines().map_while(|line| serde_json::from_str::<Value>(line).ok()) {
            let slices = trial["slices"].as_array_mut().unwrap();
            slices.truncate(line["first_slice"].as_u64().unwrap() as usize);
            slices.extend(line["slices"].as_array().unwrap().iter().cloned());
            trial["overall"] = line["overall"].clone();
        }
    }
    Some(trial)
}
