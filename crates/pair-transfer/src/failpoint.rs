//! Lets a drill end a coordinator of two-phase commits between its phases.

use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::signal::{SIGUSR1, SIGUSR2};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use workload_transfer::CommitPhase;

/// Environment variable of a process that coordinates. If it is set, SIGUSR1 has the process end by SIGKILL at the next transfer between
/// stores whose parts are all prepared, and SIGUSR2 at the next one that is decided, before its parts are committed.
pub const ENDS_BETWEEN_PHASES: &str = "STACKMARK_ENDS_BETWEEN_PHASES";

static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Takes the signals from now on, if the variable is set.
pub(crate) fn listen() -> io::Result<()> {
    if std::env::var_os(ENDS_BETWEEN_PHASES).is_some() && ASKED.get().is_none() {
        let asked = Arc::clone(ASKED.get_or_init(Arc::default));
        signal_hook::flag::register_usize(SIGUSR1, Arc::clone(&asked), number(CommitPhase::Prepared))?;
        signal_hook::flag::register_usize(SIGUSR2, asked, number(CommitPhase::Decided))?;
    }
    Ok(())
}

/// Ends this process if a signal has asked for that.
pub(crate) fn reached(phase: CommitPhase) {
    if ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed) == number(phase)) {
        // It cannot fail, since a process may always kill itself.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

/// Never that of no phase, which is 0.
const fn number(phase: CommitPhase) -> usize {
    match phase {
        CommitPhase::Prepared => 1,
        CommitPhase::Decided => 2,
    }
}
