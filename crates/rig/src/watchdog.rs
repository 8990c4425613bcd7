//! Ends an engine and removes its folder when we are gone without having done so, whatever ended us.
//!
//! A shell of a few lines waits for the other end of a pipe to close, which the kernel does for us even on `kill -9`. A
//! signal on the parent's death (`PR_SET_PDEATHSIG`) would not do: it is tied to the thread that started the engine, and is
//! cleared when the engine changes its user.

use crate::RigError;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// `$1` folder, `$2` signal to end the engine with, then control groups to remove. Lines read: the number of the process to
/// end, which changes on a restart, or `done`.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
folder=$1 signal=$2
shift 2
pid=
while read -r line; do
  [ "$line" = done ] && exit 0
  pid=$line
done
alive() {
  [ -n "$pid" ] || return 1
  if [ -d /proc/self ]; then
    case $(readlink "/proc/$pid/cwd") in "$folder" | "$folder"/*) return 0 ;; *) return 1 ;; esac
  fi
  kill -0 "$pid"
}
if alive; then
  kill -s "$signal" -- "-$pid"
  turns=0
  while alive && [ "$turns" -lt 140 ]; do sleep 0.05; turns=$((turns + 1)); done
  if alive; then kill -s KILL -- "-$pid"; fi
  while alive && [ "$turns" -lt 280 ]; do sleep 0.05; turns=$((turns + 1)); done
fi
# Of an engine whose power can be cut.
[ -e "$folder/disk.img" ] && umount -l "$folder/data"
turns=0
while [ -e "$folder" ] && [ "$turns" -lt 50 ]; do rm -rf "$folder" || sleep 0.1; turns=$((turns + 1)); done
for group; do rmdir "$group"; done
"#;

/// The shell that waits for our end.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    line: ChildStdin,
}

impl Watchdog {
    /// Watches over a folder, and over the process in it that ends with this signal. `what` names it in errors.
    pub(crate) fn start(
        what: &str,
        signal: &str,
        folder: &Path,
        groups: &[PathBuf],
    ) -> Result<Watchdog, RigError> {
        let failed = |error: &dyn std::fmt::Display| {
            RigError::failed(format!("could not start a shell to watch over {what}: {error}"), "")
        };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "stackmark-watchdog"]).arg(folder);
        command.arg(signal).args(groups);
        // A group of its own: what a terminal sends to us is not for it.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut shell = command.current_dir("/").spawn().map_err(|error| failed(&error))?;
        let line = shell.stdin.take().expect("standard input was asked for as a pipe");
        Ok(Watchdog { shell, line })
    }

    /// Names the process to end with us, in the place of the last.
    pub(crate) fn watch(&mut self, pid: u32) {
        // If the watchdog is gone, the sweeping at the next start is what remains.
        let _ = writeln!(self.line, "{pid}");
    }

    /// Nothing is left to be done.
    pub(crate) fn dismiss(mut self) {
        let _ = writeln!(self.line, "done");
        drop(self.line);
        let _ = self.shell.wait();
    }
}
