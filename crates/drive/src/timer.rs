//! Waiting: until a moment, and for an answer no longer than its deadline.

use crate::control::Control;
use model::{Clock, Nanos};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// A thread never sleeps longer than this at a time, so that a request to stop is obeyed within it.
pub(crate) const NAP_MAX: Nanos = Nanos::from_millis(100);

/// The work was not done by its deadline, and has been dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missed;

/// A clock that can also wait. One a worker.
pub(crate) trait Timer {
    /// Now, on the clock of the trial.
    fn now(&self) -> Nanos;

    /// Waits until `moment`, or until the trial is being ended, whichever comes first.
    fn sleep_until(&mut self, moment: Nanos) -> impl Future<Output = ()>;

    /// Does the work and drops it at `deadline`, where that is possible.
    ///
    /// # Errors
    /// [`Missed`] when the deadline came first.
    fn within<F: Future>(
        &mut self,
        deadline: Nanos,
        work: F,
    ) -> impl Future<Output = Result<F::Output, Missed>>;
}

/// For blocking sessions on a thread of their own. It cannot interrupt: a call that returns after its deadline keeps its
/// result, and its whole duration is recorded.
#[derive(Debug)]
pub(crate) struct ThreadTimer<C> {
    clock: C,
    control: Arc<Control>,
}

impl<C: Clock> ThreadTimer<C> {
    pub(crate) fn new(clock: C, control: Arc<Control>) -> ThreadTimer<C> {
        ThreadTimer { clock, control }
    }
}

impl<C: Clock> Timer for ThreadTimer<C> {
    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    async fn sleep_until(&mut self, moment: Nanos) {
        loop {
            let left = moment - self.clock.now();
            if left == Nanos::ZERO || self.control.is_ending() {
                return;
            }
            std::thread::sleep(left.min(NAP_MAX).into());
        }
    }

    #[inline]
    async fn within<F: Future>(&mut self, _deadline: Nanos, work: F) -> Result<F::Output, Missed> {
        Ok(work.await)
    }
}

/// Runs a future on the calling thread, which sleeps while the future waits. Futures of blocking sessions never do.
pub(crate) fn block_on<F: Future>(work: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
