//! Programs run to their end within a bound, under an account, and what they leave behind.

use crate::RigError;
use measure::Monotonic;
use model::{Clock, Nanos};
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often a process is asked whether it has got there: a start takes some hundred of these.
pub(crate) const POLL: Duration = Duration::from_millis(2);

/// The account that an engine runs under: ourselves, or another when we are root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    /// User and group to change to; `None` when we stay who we are.
    pub(crate) other: Option<(u32, u32)>,
}

impl Account {
    /// Finds the account for an engine's processes.
    pub(crate) fn find(name: &str) -> Result<Account, RigError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Account { other: None });
        }
        // `id` asks every source of names that the system is set up with, not only /etc/passwd.
        let number = |flag: &str| -> Option<u32> {
            let words = Command::new("id").args([flag, name]).output().ok()?;
            String::from_utf8_lossy(&words.stdout).trim().parse().ok()
        };
        match (number("-u"), number("-g")) {
            (Some(user), Some(group)) => Ok(Account { other: Some((user, group)) }),
            _ => Err(RigError::NotPermitted(format!(
                "could not start the engine: it does not run as root, and account `{name}` does not exist\nhint: create it \
                 (`useradd --system {name}`), or run this as an ordinary user"
            ))),
        }
    }

    /// Puts a command under this account. It gets a process group of its own: Ctrl-C on the terminal is for us, and what it
    /// starts can be ended with it.
    pub(crate) fn command(self, mut command: Command, folder: &Path) -> Command {
        without_settings_of_others(&mut command);
        command.current_dir(folder).stdin(Stdio::null()).process_group(0);
        if let Some((user, group)) = self.other {
            // Without other groups: the standard library clears them when it changes the user as root.
            command.uid(user).gid(group);
        }
        command
    }

    /// Gives a file or folder to this account.
    pub(crate) fn own(self, path: &Path) -> Result<(), RigError> {
        match self.other {
            Some((user, group)) => std::os::unix::fs::chown(path, Some(user), Some(group))
                .map_err(|error| RigError::folder(path, error)),
            None => Ok(()),
        }
    }
}

/// Beginnings of the variables that set up a user's own clients; a private engine does not read them.
const OF_CLIENTS: [&str; 3] = ["PG", "MYSQL_", "MARIADB_"];

/// Keeps the variables of a user's own clients from a command, except those that were set for it.
pub(crate) fn without_settings_of_others(command: &mut Command) {
    let own: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    let is_of_clients =
        |name: &OsString| OF_CLIENTS.iter().any(|begin| name.as_bytes().starts_with(begin.as_bytes()));
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_clients(name) && !own.contains(name)) {
        command.env_remove(name);
    }
}

/// Waits for something within a bound. `None` when the time is over.
pub(crate) fn within<T>(max: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let (clock, max) = (Monotonic::start(), Nanos::from(max));
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if clock.now() > max {
            return None;
        }
        std::thread::sleep(POLL);
    }
}

/// Sends a signal to a process and what it started; whether there was any.
pub(crate) fn signal(pid: u32, signal: Signal) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    rustix::process::kill_process_group(pid, signal).is_ok()
}

/// Sends a signal to a process and to all that descends from it, the first one first, so that it starts no others meanwhile.
/// Engines give their processes groups of their own.
pub(crate) fn signal_family(pid: u32, signal: Signal) {
    let mut reached = Vec::new();
    // A process that was starting another when it was stopped has done so by the next look.
    loop {
        let new: Vec<u32> =
            std::iter::once(pid).chain(descendants(pid)).filter(|pid| !reached.contains(pid)).collect();
        for pid in &new {
            if let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw) {
                // Fails only for what has ended already.
                let _ = rustix::process::kill_process(pid, signal);
            }
        }
        if new.is_empty() {
            return;
        }
        reached.extend(new);
    }
}

/// Most time until processes that were sent `SIGSTOP` have stopped.
const STOP_MAX: Nanos = Nanos::from_secs(2);

/// Waits until a process and all that descends from it, which were sent `SIGSTOP`, run no further code of their own, or for
/// [`STOP_MAX`]. One that waits for a disk stops before it learns what came of that. Where the first thread of a process has stopped, its
/// others do so before they run on.
pub(crate) fn wait_until_stopped(pid: u32) {
    let clock = Monotonic::start();
    while descendants(pid).into_iter().chain([pid]).any(runs_on) && clock.now() < STOP_MAX {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the first thread of a process runs or waits for something that may wake it.
fn runs_on(pid: u32) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = about.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().bytes().next());
    matches!(state, Some(b'R' | b'S'))
}

/// Numbers of all processes that descend from one, as far as the system tells.
pub(crate) fn descendants(of: u32) -> Vec<u32> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let parent = |entry: std::io::Result<std::fs::DirEntry>| {
        let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // Behind the name, which may have anything in it: state and parent.
        let parent = about.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((pid, parent))
    };
    let all: Vec<(u32, u32)> = all.filter_map(parent).collect();
    let mut found = vec![of];
    let mut at = 0;
    while let Some(&next) = found.get(at) {
        found.extend(all.iter().filter(|(_, parent)| *parent == next).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// Whether `pid` is a live process that works in `folder`. A number may have passed to another process since.
pub(crate) fn lives_in(pid: u32, folder: &Path) -> bool {
    if cfg!(target_os = "linux") {
        return std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(folder));
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    rustix::process::test_kill_process(pid).is_ok()
}

/// Output of a program and how it ended.
pub(crate) struct Exited {
    /// `None` when it had to be killed because its time was over.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Exited {
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a program to its end, within a bound; `input` becomes its standard input, `began` gets its number.
pub(crate) fn run(
    mut command: Command,
    input: &str,
    max: Duration,
    began: impl FnOnce(u32),
) -> Result<Exited, RigError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| RigError::failed(format!("could not run {name}: {error}"), "");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    began(child.id());
    let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let out = scope.spawn(move || all_of(out));
        let err = scope.spawn(move || all_of(err));
        if let Some(mut stdin) = stdin {
            // On a thread of its own, since a program that hangs does not read. One that ends without says why by itself.
            scope.spawn(move || stdin.write_all(input.as_bytes()));
        }
        let status = ended_within(&mut child, max);
        if status.is_none() {
            signal(child.id(), Signal::KILL);
            // A client has no group of its own: the signal to it has reached no one.
            let _ = child.kill();
            let _ = child.wait();
        }
        let text = |reader: std::thread::ScopedJoinHandle<'_, String>| reader.join().unwrap_or_default();
        Ok(Exited { status, out: text(out), err: text(err) })
    })
}

fn all_of(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        // What was read before an error is as good as there is.
        let _ = from.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How a child ended, if it did within a bound.
pub(crate) fn ended_within(child: &mut Child, max: Duration) -> Option<ExitStatus> {
    within(max, || child.try_wait().ok().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_reaches_descendants_in_groups_of_their_own() {
        let mut parent = Command::new("/bin/sh");
        let mut parent = parent.args(["-c", "setsid sleep 1000 & wait"]).spawn().unwrap();
        let grown = within(Duration::from_secs(60), || {
            let found = descendants(parent.id());
            // The shell may still be becoming what it starts.
            let is_there = |pid: &u32| {
                std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
            };
            found.iter().any(is_there).then_some(found)
        });
        signal_family(parent.id(), Signal::KILL);
        let _ = parent.wait();
        for pid in grown.unwrap() {
            let gone = within(Duration::from_secs(60), || {
                let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                (about.is_empty() || about.contains(") Z ")).then_some(())
            });
            assert!(gone.is_some(), "{pid} lives");
        }
    }

    #[test]
    fn what_was_sent_a_stop_and_all_that_descends_from_it_has_stopped_afterwards() {
        let mut parent = Command::new("/bin/sh");
        let mut parent = parent.args(["-c", "setsid sleep 1000 & while :; do :; done"]).spawn().unwrap();
        let grown = within(Duration::from_secs(60), || {
            let found = descendants(parent.id());
            (!found.is_empty()).then_some(found)
        });
        signal_family(parent.id(), Signal::STOP);
        wait_until_stopped(parent.id());
        let running: Vec<u32> = grown.unwrap().into_iter().filter(|pid| runs_on(*pid)).collect();
        signal_family(parent.id(), Signal::KILL);
        let _ = parent.wait();
        assert!(running.is_empty(), "{running:?}");
    }

    /// Neither in a group of its own nor reading: how a client hangs whose statement does.
    #[test]
    fn a_program_that_hangs_is_ended_when_its_time_is_over() {
        let mut hanging = Command::new("/bin/sh");
        hanging.args(["-c", "exec sleep 1000"]);
        let more_than_a_pipe_holds = "x".repeat(1 << 20);
        let ended = run(hanging, &more_than_a_pipe_holds, Duration::from_millis(50), |_| {}).unwrap();
        assert!(ended.status.is_none() && !ended.is_success());
        let ended = run(Command::new("/bin/cat"), "all of it", Duration::from_secs(600), |_| {}).unwrap();
        assert!(ended.is_success() && ended.out == "all of it" && ended.err.is_empty());
    }
}
