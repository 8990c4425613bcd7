//! Sessions behind a pointer answer as they do in the open, and are gone with a call that is given up.

use super::*;
use crate::{Conflict, Inputs, Kind, Ledger, Nanos, RetryPolicy, RetryingTarget, Spent, Verdict};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, Ordering};

/// A workload of numbers.
struct Numbers;

impl Workload for Numbers {
    const NAME: &'static str = "numbers";
    const KINDS: &'static [Kind] = &[];
    type Call = u32;
    type Outcome = u32;
    type Inputs = Same;
    type Ledger = Nothing;

    fn kind(_: &u32) -> usize {
        0
    }

    fn verdict(_: &u32) -> Verdict {
        Verdict::Committed
    }

    fn check(_: &u32, _: &u32) -> Result<(), &'static str> {
        Ok(())
    }
}

struct Same;

impl Inputs<Numbers> for Same {
    fn draw(&mut self) -> u32 {
        1
    }
}

struct Nothing;

impl Ledger<Numbers> for Nothing {
    fn post(&mut self, _: &u32, _: &Result<u32, Fault>) {}
    fn absorb(&mut self, _: &Nothing) {}
    fn clear(&mut self) {}
}

/// Adds up what it was called with, and waits as often as a call says; 13 meets a conflict, and 7 does once.
struct Adding {
    sum: u32,
    times: StatementTimes,
}

impl Session<Numbers> for Adding {
    async fn run(&mut self, call: &u32, work: &mut CallWork) -> Result<u32, Fault> {
        work.attempts += 1;
        let mut left = *call;
        if work.clocked && work.attempts == 1 {
            self.times.clear();
        }
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            left = left.saturating_sub(1);
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        if *call == 13 || (*call == 7 && work.attempts == 1) {
            self.times.add(0, 1, Nanos(1));
            return Err(Fault::Conflict(Conflict::Busy));
        }
        self.sum += call;
        if work.clocked {
            self.times.add(0, *call, Nanos(1));
        }
        work.spent = Spent { commit: Nanos(u64::from(*call)), ..work.spent };
        Ok(self.sum)
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(&self.times)
    }
}

fn adding() -> Adding {
    Adding { sum: 0, times: StatementTimes::default() }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn ended(session: &mut AnySession<Numbers>, call: u32, work: &mut CallWork) -> Result<u32, Fault> {
    let mut run = pin!(session.run(&call, work));
    for _ in 1..call {
        assert!(poll(run.as_mut()).is_pending(), "it waits {call} times");
    }
    match poll(run) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it ends after {call} times"),
    }
}

#[test]
fn calls_reach_one_session_one_after_the_other_and_their_work_is_added() {
    let mut session = AnySession::new(adding(), Home::Task);
    let mut work = CallWork::default();
    assert_eq!(ended(&mut session, 1, &mut work), Ok(1));
    assert_eq!(ended(&mut session, 5, &mut work), Ok(6));
    assert_eq!(ended(&mut session, 13, &mut work), Err(Fault::Conflict(Conflict::Busy)));
    assert_eq!(ended(&mut session, 2, &mut work), Ok(8));
    assert_eq!((work.attempts, work.spent.commit), (4, Nanos(8)));
}

#[test]
fn a_call_that_is_given_up_takes_its_session_with_it() {
    let mut session = AnySession::new(adding(), Home::Task);
    let mut work = CallWork::default();
    {
        let mut run = pin!(session.run(&3, &mut work));
        assert!(poll(run.as_mut()).is_pending());
    }
    // The attempt that was cut off is one.
    assert_eq!(work.attempts, 1);
    let mut run = pin!(session.run(&1, &mut work));
    assert_eq!(poll(run.as_mut()), Poll::Ready(Err(Fault::Refused(Refusal::Unreachable))));
}

#[test]
fn a_call_that_was_never_started_leaves_its_session_as_it_was() {
    let mut session = AnySession::new(adding(), Home::Task);
    let mut work = CallWork::default();
    drop(session.run(&3, &mut work));
    assert_eq!((work.attempts, ended(&mut session, 1, &mut work)), (0, Ok(1)));
}

#[test]
fn a_blocking_session_has_ended_its_call_when_it_is_first_asked() {
    let mut session = AnySession::new(adding(), Home::Thread);
    let mut work = CallWork::default();
    assert_eq!(poll(pin!(session.run(&1, &mut work))), Poll::Ready(Ok(1)));
    // One that waits all the same keeps its thread waiting, and no one else.
    assert_eq!(poll(pin!(session.run(&4, &mut work))), Poll::Ready(Ok(5)));
    assert_eq!((work.attempts, work.spent.commit), (2, Nanos(4)));
}

#[test]
fn what_statements_took_is_asked_for_and_told_through_the_pointer() {
    for home in [Home::Task, Home::Thread] {
        let mut session = AnySession::new(adding(), home);
        let calls = |session: &mut AnySession<Numbers>, clocked| {
            let mut work = CallWork { clocked, ..CallWork::default() };
            assert!(poll(pin!(session.run(&1, &mut work))).is_ready());
            assert_eq!(work.clocked, clocked);
            session.statement_times().map(|times| times.executed().map(|(_, time)| time.executions).sum())
        };
        assert_eq!(calls(&mut session, false), Some(0), "{home:?}");
        assert_eq!(calls(&mut session, true), Some(1), "{home:?}");
    }
}

#[test]
fn an_attempt_behind_the_pointer_knows_that_it_is_not_the_first() {
    for home in [Home::Task, Home::Thread] {
        let policy = RetryPolicy { attempts_max: 3, reopens: false };
        let mut session = AnySession::new(adding(), home);
        let mut work = CallWork { clocked: true, ..CallWork::default() };
        let result = {
            let mut run = pin!(policy.run(&mut session, &7, &mut work));
            loop {
                if let Poll::Ready(result) = poll(run.as_mut()) {
                    break result;
                }
            }
        };
        assert_eq!((result, work.attempts), (Ok(7), 2), "{home:?}");
        let times = session.statement_times().unwrap();
        let executed: u32 = times.executed().map(|(_, time)| time.executions).sum();
        assert_eq!(executed, 1 + 7, "{home:?}: of both attempts");
    }
}

/// Opens sessions of which the first ones are found closed by their first call.
struct Closing {
    closed: u32,
    opened: Arc<AtomicU32>,
    fails_after: u32,
}

/// A session of [`Closing`].
struct Opened {
    is_closed: bool,
}

impl Session<Numbers> for Opened {
    async fn run(&mut self, call: &u32, work: &mut CallWork) -> Result<u32, Fault> {
        if self.is_closed {
            return Err(Fault::Refused(Refusal::Unreachable));
        }
        work.attempts += 1;
        Ok(*call)
    }
}

impl Target<Numbers> for Closing {
    type Session = Opened;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _: u32) -> Result<Opened, OpenError> {
        let before = self.opened.fetch_add(1, Ordering::Relaxed);
        if before >= self.fails_after {
            return Err(OpenError::Unreachable { what: "here".into(), why: "nothing answers".into() });
        }
        Ok(Opened { is_closed: before < self.closed })
    }

    fn stack(&self) -> Stack {
        Stack::default()
    }
}

#[test]
fn a_session_that_was_found_closed_is_replaced_once_for_each_call() {
    const UNREACHABLE: Result<u32, Fault> = Err(Fault::Refused(Refusal::Unreachable));
    let check = |closed, fails_after, policy, expected: Result<u32, Fault>, reconnects, opens| {
        let opened = Arc::<AtomicU32>::default();
        let target = Closing { closed, opened: Arc::clone(&opened), fails_after };
        let target = RetryingTarget::new(target, policy);
        let Poll::Ready(Ok(mut session)) = poll(pin!(Target::open(&target, 0))) else { panic!("it opens") };
        let mut work = CallWork::default();
        let ran = poll(pin!(session.run(&5, &mut work)));
        assert_eq!(ran, Poll::Ready(expected.clone()));
        assert_eq!((work.reconnects, opened.load(Ordering::Relaxed)), (reconnects, opens));
        assert_eq!(work.attempts, u32::from(expected.is_ok()), "what was not sent is not an attempt");
    };
    let (again, never) = (RetryPolicy::default(), RetryPolicy { reopens: false, ..RetryPolicy::default() });
    check(0, 9, again, Ok(5), 0, 1);
    check(1, 9, again, Ok(5), 1, 2);
    check(2, 9, again, UNREACHABLE, 1, 2);
    check(1, 1, again, UNREACHABLE, 0, 2);
    check(1, 9, never, UNREACHABLE, 0, 1);
}
