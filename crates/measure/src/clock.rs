//! The only place that reads a clock.

use model::{Clock, Nanos};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The machine's monotonic clock, counted from when this value was made. About 25 ns a reading.
#[derive(Debug, Clone, Copy)]
pub struct Monotonic {
    origin: Instant,
}

impl Monotonic {
    /// Starts a clock at zero.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub fn start() -> Monotonic {
        Monotonic { origin: Instant::now() }
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::from(self.origin.elapsed())
    }
}

/// Seconds since 1970 in UTC, for stamping results. Never used to measure.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// CPU time that the calling thread has used so far; zero where the system cannot tell.
#[must_use]
pub fn thread_cpu() -> Nanos {
    #[cfg(target_os = "linux")]
    {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let whole = Nanos::from_secs(u64::try_from(used.tv_sec).unwrap_or(0));
        whole + Nanos(u64::try_from(used.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    Nanos::ZERO
}
