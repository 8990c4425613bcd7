//! An alarm clock for one thread: it can be set to ring earlier while someone waits for it.
//!
//! tokio's own timer counts in milliseconds, which is too coarse for a timetable of thousands of calls per second. Linux
//! has timers that are files, precise to some 50 µs; elsewhere tokio's timer has to do.

use model::Nanos;
use std::io;

/// Rings at least this often, so that whoever waits can look around.
const RING_MAX: Nanos = crate::timer::NAP_MAX;

#[cfg(not(target_os = "linux"))]
pub(crate) use coarse::Coarse as Alarm;
#[cfg(target_os = "linux")]
pub(crate) use precise::Precise as Alarm;

#[cfg(target_os = "linux")]
mod precise {
    use super::{Nanos, RING_MAX, io};
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
    use std::os::fd::OwnedFd;
    use tokio::io::unix::AsyncFd;

    pub(crate) struct Precise(AsyncFd<OwnedFd>);

    impl Precise {
        #[expect(deprecated, reason = "an OwnedFd keeps its descriptor; the replacement is unsafe code")]
        pub(crate) fn new() -> io::Result<Precise> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Precise(AsyncFd::new(timer)?))
        }

        /// Rings after this time and not when it was to ring before.
        pub(crate) fn set(&self, after: Nanos) -> io::Result<()> {
            // A timer set to zero never rings.
            let after = after.max(Nanos(1)).min(RING_MAX);
            let it_value = Timespec { tv_sec: 0, tv_nsec: after.0 as i64 };
            let value = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
            rustix::time::timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &value)?;
            Ok(())
        }

        /// Waits for it to ring.
        pub(crate) async fn rung(&self) -> io::Result<()> {
            // Setting it again forgets the expirations, so there is no need to read them.
            self.0.readable().await?.clear_ready();
            Ok(())
        }
    }
}

#[cfg(any(test, not(target_os = "linux")))]
mod coarse {
    use super::{Nanos, RING_MAX, io};
    use std::cell::Cell;
    use tokio::sync::Notify;

    pub(crate) struct Coarse {
        after: Cell<Nanos>,
        set: Notify,
    }

    impl Coarse {
        pub(crate) fn new() -> io::Result<Coarse> {
            Ok(Coarse { after: Cell::new(RING_MAX), set: Notify::new() })
        }

        /// Rings after this time and not when it was to ring before.
        pub(crate) fn set(&self, after: Nanos) -> io::Result<()> {
            self.after.set(after.min(RING_MAX));
            self.set.notify_one();
            Ok(())
        }

        /// Waits for it to ring; rings once too often when it is set.
        pub(crate) async fn rung(&self) -> io::Result<()> {
            tokio::select! {
                () = tokio::time::sleep(self.after.get().into()) => {}
                () = self.set.notified() => {}
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Monotonic;
    use model::Clock;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    /// How long an alarm takes that is set to 60 ms and then to ring earlier.
    macro_rules! rings_after {
        ($alarm:ty) => {
            runtime().block_on(async {
                let alarm = <$alarm>::new().unwrap();
                // Started first: by a clock that starts later it could ring too early, and it rings only once.
                let clock = Monotonic::start();
                alarm.set(Nanos::from_millis(60)).unwrap();
                alarm.set(Nanos::from_millis(5)).unwrap();
                while clock.now() < Nanos::from_millis(5) {
                    alarm.rung().await.unwrap();
                }
                clock.now()
            })
        };
    }

    #[test]
    fn an_alarm_can_be_set_to_ring_earlier() {
        let shots = [(); 20].map(|()| [rings_after!(Alarm), rings_after!(coarse::Coarse)]);
        assert!(shots.as_flattened().iter().all(|rang| *rang >= Nanos::from_millis(5)), "{shots:?}");
        for kind in 0..2 {
            // One of them may come late on a busy machine, and not all.
            let best = shots.iter().map(|shot| shot[kind]).min();
            assert!(best < Some(Nanos::from_millis(50)), "{shots:?}");
        }
    }
}
