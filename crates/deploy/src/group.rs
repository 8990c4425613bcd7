//! A process with all that it starts: watched, and killed as one, by us or by who outlives us.

use measure::Monotonic;
use model::Clock;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How often a process is looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(5);
/// How often the processes of a control group are killed, which may start others meanwhile.
const ROUNDS: u32 = 100;

/// `$1` the leader of a process group, `$2` tenths of a second until it is killed, then control groups to empty and remove.
/// Waits in the background, so that it is not a child of ours, for a line, or for our end, which closes the pipe.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
pid=$1 tenths=$2
shift 2
exec 3<&0
{
  read -r line <&3 && exit 0
  alive() { kill -0 -- "-$pid" || kill -0 "$pid"; }
  kill -s TERM "$pid"
  turns=0
  while alive && [ "$turns" -lt "$tenths" ]; do sleep 0.1; turns=$((turns + 1)); done
  if alive; then kill -s KILL -- "-$pid"; kill -s KILL "$pid"; fi
  for group; do
    turns=0
    while [ -e "$group" ] && [ "$turns" -lt 50 ]; do
      for stray in $(cat "$group/cgroup.procs"); do kill -s KILL "$stray"; done
      rmdir "$group" || sleep 0.1
      turns=$((turns + 1))
    done
  done
} &
"#;

/// A child that leads a process group, or is about to.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Child,
    /// How it ended, once it has been reaped: from then on its number may be another's.
    status: Option<ExitStatus>,
    /// Control groups that it is in.
    folders: Vec<PathBuf>,
    /// The watchdog reads the other end.
    watchdog: Option<ChildStdin>,
}

impl ProcessGroup {
    /// Takes a child, which [`ProcessGroup::watch`] lets outlive no one.
    pub(crate) fn of(child: Child) -> ProcessGroup {
        ProcessGroup { child, status: None, folders: Vec::new(), watchdog: None }
    }

    /// From now on it ends when we do, `grace` after SIGTERM at the latest, whatever ends us.
    pub(crate) fn watch(&mut self, grace: Duration, folders: Vec<PathBuf>) -> std::io::Result<()> {
        let mut command = Command::new("/bin/sh");
        let tenths = grace.as_millis() / 100;
        command.args(["-c", WATCHDOG, "stackmark-watchdog", &self.pid().to_string(), &tenths.to_string()]);
        command.args(&folders).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = command.spawn()?;
        self.watchdog = shell.stdin.take();
        self.folders = folders;
        shell.wait().map(drop)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks the leader to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends a signal to the leader.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.leader() {
            // Fails only when it has ended already.
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether SIGKILL has ended the leader.
    pub(crate) fn was_killed(&mut self) -> bool {
        self.status().is_some_and(|status| status.signal() == Some(Signal::KILL.as_raw()))
    }

    /// How the leader ended, if it has; what it had started has then been killed.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // Not reaped by this: until the others are killed, the number of the group stays its own.
        if let Some(pid) = self.leader()
            && !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
        {
            self.kill();
        }
        self.status
    }

    /// Waits for the end of the leader; nothing where it does not come in time, or `over` before.
    pub(crate) fn within(&mut self, max: Duration, over: impl Fn() -> bool) -> Option<ExitStatus> {
        let clock = Monotonic::start();
        loop {
            let status = self.status();
            if status.is_some() || over() || Duration::from(clock.now()) >= max {
                return status;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Kills all of it: the process group, and what a control group lists even if it has left the process group.
    pub(crate) fn kill(&mut self) {
        let Some(leader) = self.leader() else { return };
        let _ = kill_process_group(leader, Signal::KILL);
        // It may not lead its group yet.
        let _ = kill_process(leader, Signal::KILL);
        for _ in 0..ROUNDS {
            let listed = self.listed();
            if listed.is_empty() {
                break;
            }
            for pid in listed {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(LOOK);
        }
        if let Some(mut watchdog) = self.watchdog.take() {
            let _ = writeln!(watchdog, "done");
        }
        self.status = self.child.wait().ok();
    }

    /// Stops all of it where it stands, or lets it go on.
    pub(crate) fn pause(&self, is_paused: bool) {
        let signal = if is_paused { Signal::STOP } else { Signal::CONT };
        let Some(leader) = self.leader() else { return };
        // Fails only for what has ended already.
        let _ = kill_process_group(leader, signal);
        for pid in self.listed() {
            let _ = kill_process(pid, signal);
        }
    }

    /// Processes in its control groups.
    fn listed(&self) -> Vec<Pid> {
        let read = |folder: &PathBuf| fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let listed: Vec<String> = self.folders.iter().map(read).collect();
        let numbers = listed.iter().flat_map(|text| text.lines()).filter_map(|line| line.parse().ok());
        // The leader is killed already, and listed until it is reaped.
        numbers.filter_map(Pid::from_raw).filter(|pid| Some(*pid) != self.leader()).collect()
    }

    /// The number of the leader for as long as it cannot be another's.
    fn leader(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id().cast_signed()).filter(|_| self.status.is_none())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
