//! The HTTP server as a process of its own: started, found, stopped. It ends with us, whatever ends us.

use crate::secrets;
use crate::subjects::Subject;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use sql::{DbUrl, ServerUrl};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A server that has not said where it listens by then has failed.
const READY_MAX: Duration = Duration::from_secs(60);
/// A server that has not ended by then is killed: its own drain takes 10 s at most.
const END_MAX: Duration = Duration::from_secs(15);
const END_LOOK: Duration = Duration::from_millis(5);
/// Bytes of its log that go into an error.
const LOG_TAIL: usize = 2_000;

/// What a server is started with.
#[derive(Debug, Clone)]
pub(crate) struct ServerSettings {
    /// What it may use.
    pub(crate) limits: Option<rig::Limits>,
    pub(crate) pool: u32,
    pub(crate) threads: usize,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    /// The server watches the other end: when we are gone, it goes too.
    _life: ChildStdin,
    log: PathBuf,
    url: String,
    /// Its limits, if it has any.
    cage: Option<rig::Cage>,
}

impl ServerProcess {
    /// Starts `stackmark serve` on a free port of the loopback and waits until it listens.
    pub(crate) fn start(
        subject: &Subject,
        database: &DbUrl,
        settings: &ServerSettings,
        log: &Path,
    ) -> Result<ServerProcess> {
        let program = std::env::current_exe().context("could not find this program's own file")?;
        let errors = File::create(log).with_context(|| format!("could not write {}", log.display()))?;
        let mut command = Command::new(program);
        if let DbUrl::Server(ServerUrl { password: Some(password), .. }) = database {
            command.env(secrets::PASSWORD, password.reveal());
        }
        let mut child = command
            .args(["serve", subject.workload(), "--engine", database.dialect().name()])
            .args(["--how", &subject.how.path(), "--listen", "127.0.0.1:0", "--until-stdin-ends"])
            .args(["--db", &database.to_string()])
            .args(["--pool", &settings.pool.to_string()])
            .args(["--server-threads", &settings.threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("could not start the server")?;
        let life = child.stdin.take().expect("asked for above");
        let said = BufReader::new(child.stdout.take().expect("asked for above"));
        let mut server =
            ServerProcess { child, _life: life, log: log.to_owned(), url: String::new(), cage: None };
        if let Some(limits) = &settings.limits {
            // It has hardly begun to start: nothing of what is measured runs outside its limits.
            let cage = rig::Cage::new(&format!("server-{}", server.pid()), limits)?;
            cage.joins(server.pid())?;
            server.cage = Some(cage);
        }
        server.url = server.await_url(said)?;
        Ok(server)
    }

    fn await_url(&mut self, mut said: BufReader<std::process::ChildStdout>) -> Result<String> {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = said.read_line(&mut line);
            let _ = tell.send(read.map(|_| line));
            // Goes on reading, so that the server never waits for a full pipe.
            let _ = std::io::copy(&mut said, &mut std::io::sink());
        });
        let line = match told.recv_timeout(READY_MAX) {
            Ok(line) => line.context("could not read from the server")?,
            Err(_) => bail!("the server did not listen within {} s{}", READY_MAX.as_secs(), self.log_tail()),
        };
        match line.split_whitespace().find(|word| word.starts_with("http://")) {
            Some(url) => Ok(url.to_owned()),
            None => bail!("the server did not start{}", self.log_tail()),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How often it has met its limits.
    pub(crate) fn throttling(&self) -> Option<rig::Throttling> {
        self.cage.as_ref().map(rig::Cage::throttling)
    }

    /// The end of its log, for an error message.
    pub(crate) fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let text = text.trim();
        let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(LOG_TAIL))..];
        if tail.is_empty() { String::new() } else { format!(": {tail}") }
    }

    /// How it ended, if it did by itself.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("the server ended by itself ({status}){}", self.log_tail()))
    }

    /// Asks it to end, and makes it if it does not.
    ///
    /// # Errors
    /// When it ended in another way than asked; it has ended in any case.
    pub(crate) fn stop(mut self) -> Result<()> {
        if let Some(how) = self.ended() {
            bail!(how);
        }
        self.ask();
        let mut waited = Duration::ZERO;
        while waited < END_MAX {
            if let Some(status) = self.child.try_wait().context("could not wait for the server")? {
                if status.success() {
                    return Ok(());
                }
                bail!("the server ended with {status}{}", self.log_tail());
            }
            std::thread::sleep(END_LOOK);
            waited += END_LOOK;
        }
        bail!("the server did not end within {} s and was killed", END_MAX.as_secs())
    }

    fn ask(&self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            // Fails only when it has ended already.
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        // A server that had nothing to say leaves no log.
        if std::fs::metadata(&self.log).is_ok_and(|about| about.len() == 0) {
            let _ = std::fs::remove_file(&self.log);
        }
    }
}
