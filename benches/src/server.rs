//! Servers next to a bench.

use crate::cli;
use model::Nanos;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The variable that hands a password to `stackmark`; an empty one is none.
const PASSWORD: &str = "STACKMARK_DB_PASSWORD";

/// A server, a process of its own, which ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens: `http://127.0.0.1:4711`.
    pub url: String,
}

impl Server {
    /// Starts one, which says where it listens in the last word of its first line.
    ///
    /// # Panics
    /// When it cannot be started: a bench has no one to hand an error to.
    pub fn start(command: &mut Command) -> Server {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("what was built can be run");
        let mut text = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut text).expect("the server says where it listens");
        let url = text.split_whitespace().last().unwrap_or_default().to_owned();
        Server { child, url }
    }

    /// CPU time of its threads so far; zero where the system does not report.
    pub fn cpu(&self) -> Nanos {
        let threads =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let used = |thread: std::fs::DirEntry| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        };
        Nanos(threads.filter_map(used).sum())
    }

    /// The most memory that it has had at once, in bytes; zero where the system does not report.
    pub fn resident_bytes_peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or(0) * 1_024
    }

    /// Ours, on a catalogue of scale 1 that is loaded again at `db`; with `taskset` in front of it, on a core of its own.
    pub fn of_catalogue(db: &str, core: Option<usize>) -> Result<Server, String> {
        Server::of_catalogue_on(db, "", core)
    }

    /// The same on a server's database with its password.
    pub fn of_catalogue_on(db: &str, password: &str, core: Option<usize>) -> Result<Server, String> {
        Server::of("catalogue", &[], (db, password), core)
    }

    /// The same of a workload, with options of its load.
    pub fn of(
        workload: &str,
        options: &[&str],
        (db, password): (&str, &str),
        core: Option<usize>,
    ) -> Result<Server, String> {
        let stackmark = cli::binary()?;
        let mut load = Command::new(&stackmark);
        let load = load.env(PASSWORD, password).args(["load", workload, "--fresh", "--db", db]).args(options);
        let load = load.output();
        let loaded = load.map_err(|error| error.to_string())?;
        if !loaded.status.success() {
            return Err(String::from_utf8_lossy(&loaded.stderr).into_owned());
        }
        let mut command = match core {
            Some(core) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &core.to_string()]).arg(stackmark);
                command
            }
            None => Command::new(stackmark),
        };
        command.env(PASSWORD, password);
        command.args([
            "serve",
            workload,
            "--db",
            db,
            "--listen",
            "127.0.0.1:0",
            "--until-stdin-ends",
            "--server-threads",
            "1",
        ]);
        Ok(Server::start(&mut command))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
