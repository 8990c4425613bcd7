//! Waiting for the workers of one asynchronous runtime.

use crate::alarm::Alarm;
use crate::control::Control;
use crate::timer::{Missed, Timer};
use model::{Clock, Nanos};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::time::Sleep;

/// Wakes the workers of a runtime at precise moments: one alarm for all of them, set to the earliest.
pub(crate) struct Pacer<C> {
    clock: C,
    control: Arc<Control>,
    alarm: Alarm,
    sleepers: RefCell<Sleepers>,
}

struct Sleepers {
    /// Moments and the worker's place, earliest first.
    moments: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// By place, of those who sleep.
    wakers: Vec<Option<Waker>>,
}

impl<C: Clock> Pacer<C> {
    /// A pacer for `places` workers. Needs the runtime whose workers it wakes.
    pub(crate) fn new(clock: C, control: Arc<Control>, places: usize) -> io::Result<Pacer<C>> {
        let sleepers = Sleepers {
            // A worker that was woken early may leave its old moment behind for as long as that lasts.
            moments: BinaryHeap::with_capacity(2 * places + 2),
            wakers: vec![None; places],
        };
        Ok(Pacer { clock, control, alarm: Alarm::new()?, sleepers: RefCell::new(sleepers) })
    }

    /// Wakes workers when their moments come, for ever. One task of the runtime runs this.
    pub(crate) async fn run(&self) -> io::Result<()> {
        loop {
            self.alarm.set(self.wake_due())?;
            self.alarm.rung().await?;
        }
    }

    /// Wakes all whose moment has come, and says how long until the next one.
    fn wake_due(&self) -> Nanos {
        let ending = self.control.is_ending();
        let now = self.clock.now();
        let mut sleepers = self.sleepers.borrow_mut();
        while let Some(Reverse((moment, place))) = sleepers.moments.peek().copied() {
            if moment > now && !ending {
                return moment - now;
            }
            sleepers.moments.pop();
            if let Some(waker) = sleepers.wakers[place].take() {
                waker.wake();
            }
        }
        Nanos::MAX
    }

    async fn sleep_until(&self, place: usize, moment: Nanos) {
        let mut entered = false;
        poll_fn(|context| {
            let now = self.clock.now();
            if now >= moment || self.control.is_ending() {
                return Poll::Ready(());
            }
            let mut sleepers = self.sleepers.borrow_mut();
            sleepers.wakers[place] = Some(context.waker().clone());
            if !entered {
                entered = true;
                let earliest = sleepers.moments.peek().is_none_or(|Reverse((first, _))| moment < *first);
                sleepers.moments.push(Reverse((moment, place)));
                if earliest {
                    self.alarm.set(moment - now).expect("a timer that exists can be set");
                }
            }
            Poll::Pending
        })
        .await;
    }
}

/// The timer of one worker of a runtime.
pub(crate) struct TaskTimer<C> {
    pacer: Rc<Pacer<C>>,
    place: usize,
    /// Set to the deadline of some call, and looked at only while a call waits: when it rings for a call that has long
    /// been answered, it is set again for the present one. So a deadline costs next to nothing a call.
    watchdog: Pin<Box<Sleep>>,
    watches: Nanos,
}

impl<C: Clock> TaskTimer<C> {
    pub(crate) fn new(pacer: Rc<Pacer<C>>, place: usize) -> TaskTimer<C> {
        TaskTimer {
            pacer,
            place,
            watchdog: Box::pin(tokio::time::sleep(Duration::ZERO)),
            watches: Nanos::ZERO,
        }
    }
}

impl<C: Clock> Timer for TaskTimer<C> {
    #[inline]
    fn now(&self) -> Nanos {
        self.pacer.clock.now()
    }

    async fn sleep_until(&mut self, moment: Nanos) {
        self.pacer.sleep_until(self.place, moment).await;
    }

    async fn within<F: Future>(&mut self, deadline: Nanos, work: F) -> Result<F::Output, Missed> {
        // A session that never waits must not starve the other workers of its thread.
        tokio::task::consume_budget().await;
        let mut work = pin!(work);
        poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            if deadline < self.watches {
                self.watches = Nanos::ZERO;
            }
            while self.watches == Nanos::ZERO || self.watchdog.as_mut().poll(context).is_ready() {
                let now = self.pacer.clock.now();
                if now >= deadline {
                    self.watches = Nanos::ZERO;
                    return Poll::Ready(Err(Missed));
                }
                self.watchdog.set(tokio::time::sleep((deadline - now).into()));
                self.watches = deadline;
            }
            Poll::Pending
        })
        .await
    }
}
