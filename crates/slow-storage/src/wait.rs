//! Waiting for a time that is short compared with what a scheduler calls short.

use measure::Monotonic;
use model::{Clock, Nanos};
use std::cell::Cell;
use std::num::NonZeroU64;
use std::time::Duration;

/// What is spun at the end of a wait, since a sleep wakes late.
///
/// On Linux a sleep is about 75 µs late (median, of 200 µs and of 1 ms alike, on a virtual machine), 50 µs of them by the
/// default slack of a thread's timers. A thread that waits here stops that slack; 22 to 28 µs are left, which fit into
/// this. It costs half a percent of a core at waits of 5 ms.
const SPIN: Duration = Duration::from_micros(30);

thread_local! {
    static PRECISE: Cell<bool> = const { Cell::new(false) };
}

/// Waits for `delay`, never less, and more only as far as the machine has no core for this thread.
pub(crate) fn wait(delay: Duration) {
    if delay.is_zero() {
        return;
    }
    let clock = Monotonic::start();
    if delay > SPIN {
        PRECISE.with(wake_on_time);
        std::thread::sleep(delay - SPIN);
    }
    let end = Nanos::from(delay);
    while clock.now() < end {
        std::hint::spin_loop();
    }
}

/// Takes the slack out of this thread's timers, once. Where the system has none, or refuses, sleeps are as late as ever.
fn wake_on_time(precise: &Cell<bool>) {
    if !precise.replace(true) {
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_shorter_than_asked_for() {
        for micros in [1, 20, 26, 200, 1_000] {
            let (clock, delay) = (Monotonic::start(), Duration::from_micros(micros));
            wait(delay);
            assert!(clock.now() >= Nanos::from(delay), "{micros} µs");
        }
    }
}
