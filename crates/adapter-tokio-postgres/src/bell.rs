//! What wakes a task that waits for its connection: the socket, and not the task itself.

use futures_util::task::AtomicWaker;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Wake, Waker};

/// Rung meanwhile.
const RUNG: u8 = 1;
/// Whoever would hear it is at work on the connection anyway.
const MUTED: u8 = 2;

/// The waker of a connection. Between a client and its connection lies a queue: to put a request into it wakes whoever
/// polls the connection, and that is the very task that puts it there and polls right afterwards. Without the bell the
/// runtime would run that task once more for each statement, for nothing.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: AtomicU8,
    listener: AtomicWaker,
}

impl Bell {
    /// Says who is to be woken from now on.
    pub(crate) fn hang(&self, listener: &Waker) {
        self.listener.register(listener);
    }

    /// Does something without waking anyone, and says whether the bell was rung meanwhile: the connection must then be
    /// polled again.
    pub(crate) fn muted<T>(&self, work: impl FnOnce() -> T) -> (T, bool) {
        self.state.store(MUTED, Ordering::Release);
        let done = work();
        // One exchange, so that a ring from another thread is either seen here or wakes.
        (done, self.state.swap(0, Ordering::AcqRel) & RUNG != 0)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Bell>) {
        if self.state.fetch_or(RUNG, Ordering::AcqRel) & MUTED == 0 {
            self.listener.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[derive(Default)]
    struct Listener(AtomicU32);

    impl Wake for Listener {
        fn wake(self: Arc<Listener>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_ring_wakes_unless_muted_and_is_then_told_of() {
        let (bell, listener) = (Arc::new(Bell::default()), Arc::new(Listener::default()));
        let (ring, woken) = (Waker::from(Arc::clone(&bell)), || listener.0.load(Ordering::Relaxed));
        bell.hang(&Waker::from(Arc::clone(&listener)));
        assert!(!bell.muted(|| ()).1);
        assert!(bell.muted(|| ring.wake_by_ref()).1);
        assert_eq!(woken(), 0);
        assert!(!bell.muted(|| ()).1, "a ring is told of once");
        ring.wake_by_ref();
        assert_eq!(woken(), 1);
        assert!(!bell.muted(|| ()).1, "who was woken need not be told");
    }
}
