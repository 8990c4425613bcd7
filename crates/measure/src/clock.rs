//! The only place that reads a clock.

use model::{Clock, Nanos};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Reading all clocks takes some 100 ns; what takes this long was interrupted.
#[cfg(target_os = "linux")]
const READ_MAX_NS: i128 = 1_000_000;

/// Two clocks are read within this, or read again. Reading both takes less than a microsecond.
const TOGETHER_MAX: Duration = Duration::from_micros(50);

/// The machine's monotonic clock, counted from when this value was made. About 25 ns a reading.
#[derive(Debug, Clone, Copy)]
pub struct Monotonic {
    origin: Instant,
}

impl Monotonic {
    /// Starts a clock at zero.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub fn start() -> Monotonic {
        Monotonic { origin: Instant::now() }
    }

    /// A clock whose zero is that of the machine's own, so that processes on one machine can tell each other the time.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub fn of_machine() -> Monotonic {
        loop {
            let before = Instant::now();
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            // A process that was stopped between the two would take the pause for a difference between the clocks.
            if before.elapsed() < TOGETHER_MAX {
                let since = Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.try_into().unwrap_or(0));
                return Monotonic { origin: before.checked_sub(since).unwrap_or(before) };
            }
        }
    }
}

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos::from(self.origin.elapsed())
    }
}

/// The machine's clocks at one moment, to be compared with each other. Only [`Clocks::monotonic`] may measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clocks {
    /// Goes on while the machine is awake.
    pub(crate) monotonic: Nanos,
    /// Goes on while it sleeps too; nothing where the system has no such clock.
    pub(crate) since_boot: Option<Nanos>,
    /// The time of day in nanoseconds since 1970, which anyone may set.
    pub(crate) wall_ns: i128,
}

impl Clocks {
    /// Reads them close together: a process that was stopped between two of them would see a difference that is none, so it
    /// reads again.
    #[cfg(target_os = "linux")]
    pub(crate) fn read() -> Clocks {
        use rustix::time::ClockId::{Boottime, Monotonic, Realtime};
        let read = |clock| {
            let time = rustix::time::clock_gettime(clock);
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        };
        let nanos = |ns: i128| Nanos(u64::try_from(ns).unwrap_or(0));
        let mut before = read(Monotonic);
        loop {
            let (since_boot, wall_ns) = (read(Boottime), read(Realtime));
            let monotonic = read(Monotonic);
            if monotonic - before < READ_MAX_NS {
                return Clocks { monotonic: nanos(monotonic), since_boot: Some(nanos(since_boot)), wall_ns };
            }
            before = monotonic;
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub(crate) fn read() -> Clocks {
        static ORIGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let monotonic = ORIGIN.get_or_init(Instant::now).elapsed();
        Clocks {
            monotonic: Nanos::from(monotonic),
            since_boot: None,
            wall_ns: i128::try_from(wall).unwrap_or(i128::MAX),
        }
    }
}

/// Seconds since 1970 in UTC, for stamping results. Never used to measure.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Nanoseconds since 1970 in UTC, for numbers that no other run has. Never used to measure.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub fn unix_nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// CPU time that the calling thread has used so far; zero where the system cannot tell.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_the_machine_have_one_zero() {
        let [first, second] = [Monotonic::of_machine(), Monotonic::of_machine()].map(|clock| clock.origin);
        assert!(first.max(second) - first.min(second) < TOGETHER_MAX);
        assert!(first < Monotonic::start().origin);
    }
}
