//! Ctrl-C: the first asks everything that runs to end with a valid result, the second ends this process.

use anyhow::{Context, Result};
use signal_hook::consts::signal::{SIGINT, SIGTERM, SIGXFSZ};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the user has asked to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
}

/// What listens, once somebody has asked.
static LISTENING: Mutex<Option<Interrupt>> = Mutex::new(None);

impl Interrupt {
    /// Listens for SIGINT and SIGTERM from now on; whoever asks hears of the same ones, also of those before they asked.
    pub fn listen() -> Result<Interrupt> {
        let mut listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interrupt) = &*listening {
            return Ok(interrupt.clone());
        }
        let interrupt = Interrupt::default();
        let mut signals =
            signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).context("could not listen for signals")?;
        let heard = interrupt.clone();
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for signal in signals.forever() {
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
        // The flag is nobody's: that there is a handler is what counts.
        signal_hook::flag::register(SIGXFSZ, Arc::default()).context("could not listen for signals")?;
        Ok(())
    }

    /// Whether the user has asked.
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// For work that polls a flag.
    pub fn flag(&self) -> &AtomicBool {
        &self.flag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_listen_hear_the_same() {
        let (one, other) = (Interrupt::listen().unwrap(), Interrupt::listen().unwrap());
        assert!(std::ptr::eq(one.flag(), other.flag()) && !one.requested());
    }
}
