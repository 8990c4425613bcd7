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
