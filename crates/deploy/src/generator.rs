//! A load generator as a process of its own, which can be killed as what it loads can: it says by a pipe what becomes of its
//! calls.

use crate::group::ProcessGroup;
use crate::server::{environment, tail};
use crate::{DeployError, Manifest, ServerOrder, ServerSettings};
use rustix::process::Signal;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// How long it may take to end once it is told to.
const STOP_MAX: Duration = Duration::from_secs(30);

/// A load generator that runs. It ends when we do.
#[derive(Debug)]
pub struct GeneratorProcess {
    group: ProcessGroup,
    /// What is written there ends the load; its end ends the process.
    life: Option<ChildStdin>,
    /// The lines that it has said, each with its end of line if that came too. It closes when the process has gone.
    pub output: Receiver<String>,
    log: PathBuf,
}

impl GeneratorProcess {
    /// Starts one for `asked`, which is for [`drill`](../drill) to read and holds no secret. `log` takes what it writes to
    /// standard error.
    pub fn start(order: &ServerOrder<'_>, asked: &str, log: &Path) -> Result<GeneratorProcess, DeployError> {
        static GENERATOR: LazyLock<Manifest> = LazyLock::new(Manifest::generator);
        let failed = |what: &str| {
            let what = format!("could not {what} the load generator");
            move |error: std::io::Error| DeployError::Server(format!("{what}: {error}"))
        };
        let mut command = GENERATOR.start()?;
        let settings = ServerSettings::of_one(None);
        command.arg(asked).envs(environment(order, &settings));
        let errors = File::create(log).map_err(failed("write the log of"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(failed("start"))?;
        let mut life = child.stdin.take().expect("asked for above");
        let output = child.stdout.take().expect("asked for above");
        let mut group = ProcessGroup::of(child);
        group.watch(Duration::ZERO, Vec::new()).map_err(failed("watch over"))?;
        // Where that fails it has ended, which is seen by what it says: nothing.
        let _ = life.write_all(b"\n");
        let (announce, listed) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            while matches!(output.read_line(&mut line), Ok(1..)) {
                if announce.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Ok(GeneratorProcess { group, life: Some(life), output: listed, log: log.to_owned() })
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.group.kill();
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// Whether SIGKILL has ended it.
    pub fn was_killed(&mut self) -> bool {
        self.group.was_killed()
    }

    /// Has it make no more calls.
    pub fn end_load(&mut self) {
        if let Some(life) = &mut self.life {
            // Who has ended already makes none.
            let _ = life.write_all(b"\n");
        }
    }

    /// Ends it; what it was doing in the background is over then.
    ///
    /// # Errors
    /// It does not end, and was killed, or has failed.
    pub fn stop(mut self) -> Result<(), DeployError> {
        self.life = None;
        match self.group.within(STOP_MAX, || false) {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                Err(DeployError::Server(format!("the load generator ended with {status}{}", self.log_tail())))
            }
            None => Err(DeployError::Server(format!("the load generator did not end{}", self.log_tail()))),
        }
    }

    /// The end of its log, for an error message.
    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }
}

impl Drop for GeneratorProcess {
    fn drop(&mut self) {
        self.group.kill();
        crate::server::remove_empty(&self.log);
    }
}
