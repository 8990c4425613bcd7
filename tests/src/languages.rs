//! The servers in other languages, under `servers`: whether they can be built here, and one of them by hand.

use crate::repository;
use measure::Monotonic;
use model::Clock;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use sql::ServerUrl;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Folders under `servers` with a server in another language.
pub const FOLDERS: [&str; 3] = ["c", "go", "python"];

/// That of the server which comes with the program.
pub const OURS: &str = "rust";

/// For a server to listen, or to end. For hangs only.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(10);

/// What its manifest says of a server, as far as tests need it.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// What it is called in subjects.
    pub name: String,
    /// What it is written in.
    pub language: String,
    start: Vec<String>,
    pub serves: Vec<Offer>,
}

/// One combination that a server can be started for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Offer {
    /// The workload's name.
    pub workload: String,
    /// `postgres` or `mariadb`.
    pub engine: String,
    /// The driver, and its style.
    pub how: String,
}

/// Where the servers are.
pub fn folder() -> PathBuf {
    repository::root().join("servers")
}

/// The manifest of a folder's server.
///
/// # Panics
/// When there is none.
pub fn manifest(language: &str) -> Manifest {
    let file = folder().join(language).join("server.toml");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Makes a target of a folder's `Makefile`, once a process. Where the language's tools are not on this machine it is said which
/// are missing, and the answer is no.
///
/// # Panics
/// When the tools are there, and it cannot be made.
pub fn is_made(language: &str, target: &str) -> bool {
    if language == OURS {
        return true;
    }
    static MADE: LazyLock<Mutex<BTreeMap<(String, String), bool>>> = LazyLock::new(Mutex::default);
    let make = |target: &str| {
        let mut command = Command::new("make");
        command.args(["--silent", "--no-print-directory", target]).current_dir(folder().join(language));
        // A `make` above this process has its own ideas of what is to be made.
        for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).output()
    };
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    *made.entry((language.to_owned(), target.to_owned())).or_insert_with(|| {
        let missing = match make("tools") {
            Ok(ran) if ran.status.success() => None,
            Ok(ran) => {
                Some(String::from_utf8_lossy(&ran.stderr).lines().next().unwrap_or_default().to_owned())
            }
            Err(error) => Some(format!("make: {error}")),
        };
        if let Some(missing) = missing {
            rig::for_tests::not_run(format!("the server in servers/{language}: {missing}"));
            return false;
        }
        // Two processes that make the same file at once would spoil it.
        let _held = rig::for_tests::exclusive(&format!("make-{language}"));
        let ran = make(target).expect("make was there a moment ago");
        assert!(ran.status.success(), "make -C servers/{language} {target}: {ran:?}");
        true
    })
}

/// A server that a test has started by hand, on a database that is loaded; it ends with this value.
#[derive(Debug)]
pub struct ByHand {
    child: Child,
    folder: TempDir,
    /// Where it listens: `http://127.0.0.1:41234`.
    pub url: String,
}

impl ByHand {
    /// Starts a combination; with `program` in the place of the manifest's.
    ///
    /// # Panics
    /// When it does not listen in the end.
    pub fn start(language: &str, program: Option<&str>, offer: &Offer, url: &ServerUrl, pool: u32) -> ByHand {
        ByHand::over(language, program, offer, std::slice::from_ref(url), pool)
    }

    /// The same over a database in each of several stores.
    ///
    /// # Panics
    /// When it does not listen in the end.
    pub fn over(
        language: &str,
        program: Option<&str>,
        offer: &Offer,
        urls: &[ServerUrl],
        pool: u32,
    ) -> ByHand {
        let (place, manifest) = (folder().join(language), manifest(language));
        let first = program.unwrap_or(&manifest.start[0]);
        let first = match first {
            "${STACKMARK}" => repository::binary(),
            first if first.contains('/') => place.join(first),
            first => first.into(),
        };
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let log = folder.path().join("server.log");
        let mut command = Command::new(first);
        command.args(&manifest.start[1..]).current_dir(&place);
        command.envs([
            ("STACKMARK_WORKLOAD", offer.workload.clone()),
            ("STACKMARK_ADAPTER", offer.how.clone()),
            ("STACKMARK_POOL", pool.to_string()),
            ("STACKMARK_THREADS", "2".into()),
            ("STACKMARK_LISTEN", "127.0.0.1:0".into()),
            // What is freed is kept for so long that memory would seem to grow.
            ("ASAN_OPTIONS", "quarantine_size_mb=4".into()),
        ]);
        for (store, url) in urls.iter().enumerate() {
            let name = if store == 0 { "STACKMARK_DB".to_owned() } else { format!("STACKMARK_DB_{store}") };
            command.envs(url.password.as_ref().map(|word| (format!("{name}_PASSWORD"), word.reveal())));
            command.env(name, url.to_string());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(&log).expect("the folder is ours"));
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut line = String::new();
        let out = child.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let words = || fs::read_to_string(&log).unwrap_or_default();
        let url = line.trim_end().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("{line:?}: {}", words())).to_owned();
        ByHand { child, folder, url }
    }

    /// What it has written to standard error.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }

    /// Bytes of memory that it and all that it has started hold.
    pub fn resident(&self) -> u64 {
        let mut family = vec![self.child.id()];
        let mut next = 0;
        while let Some(pid) = family.get(next).copied() {
            family.extend(children(pid));
            next += 1;
        }
        family.into_iter().map(resident).sum()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it has ended.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process has a number");
        kill_process(pid, signal).expect("it runs");
    }

    /// Kills it, as if its machine had failed.
    pub fn kill(self) {
        drop(self);
    }

    /// Ends it in order.
    ///
    /// # Panics
    /// When it does not end.
    pub fn end(&mut self) -> ExitStatus {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process has a number");
        let _ = kill_process(pid, Signal::TERM);
        let clock = Monotonic::start();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            assert!(Duration::from(clock.now()) < PATIENCE, "it does not end: {}", self.log());
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        // Its workers end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes that a process has started and that are still there.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    texts
        .flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn resident(pid: u32) -> u64 {
    let text =
        fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes =
        line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
