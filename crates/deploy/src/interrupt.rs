//! SIGINT, SIGTERM and SIGHUP: the first asks everything that runs to end with a valid result, the second ends this process.

use anyhow::{Context, Result};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the user has asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
}

/// The signal that asked for it; 0 before one did.
static FIRST: AtomicI32 = AtomicI32::new(0);

/// What listens, once someone has asked.
static LISTENING: Mutex<Option<Interrupt>> = Mutex::new(None);

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP from now on; every caller gets the same interrupt, which also knows of signals that
    /// came before the call. A SIGHUP that was ignored when this process started (`nohup`) stays ignored.
    pub fn listen() -> Result<Interrupt> {
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interrupt) = &*listening {
            return Ok(interrupt.clone());
        }
        let interrupt = Interrupt::default();
        let hangup = (!is_hangup_ignored()).then_some(SIGHUP);
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))
            .context("could not listen for signals")?;
        let heard = interrupt.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in signals.forever() {
                    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
                    if heard.flag.swap(true, Ordering::Relaxed) {
                        // The second time: the user means it. 128 + signal, as shells count.
                        std::process::exit(128 + signal);
                    }
                }
            })
            .context("could not start a thread")?;
        Ok(listening.insert(interrupt).clone())
    }

    /// Makes a limit on the size of files (`ulimit -f`) an error of the write that meets it. The signal that comes with it
    /// would end this process in the middle of a trial.
    pub fn outlive_file_limits() -> Result<()> {
        // The flag is no one's: that there is a handler is what counts.
        signal_hook::flag::register(SIGXFSZ, Arc::default()).context("could not listen for signals")?;
        Ok(())
    }

    /// Whether the user has asked.
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The signal that this process was asked to stop with, if it was and listened.
    pub fn signal() -> Option<i32> {
        Some(FIRST.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// For work that polls a flag.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }
}

/// Whether SIGHUP is ignored: by `nohup`, which asks to outlive the terminal. No where the system does not say.
pub fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores(&status, SIGHUP)
}

/// Whether the status of a process, as in `/proc/PID/status`, says that it ignores a signal.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_read_from_the_mask() {
        let status = "Name:\tcat\nSigIgn:\t0000000000001001\nSigCgt:\tffffffffffffffff\n";
        assert!(ignores(status, SIGHUP) && !ignores(status, SIGINT) && !ignores("Name:\tcat\n", SIGHUP));
    }

    #[test]
    fn all_that_listen_hear_the_same() {
        let (one, other) = (Interrupt::listen().unwrap(), Interrupt::listen().unwrap());
        assert!(std::ptr::eq(one.flag(), other.flag()) && !one.requested());
    }
}
