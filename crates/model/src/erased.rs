//! Sessions and targets behind a pointer: what drives them is compiled once a workload, not once a combination.
//!
//! A call costs one indirect call, and allocates nothing: the future of a session is in room that was allocated when
//! the session was opened, and is used again for each call. No unsafe code is needed for that, because such a future owns
//! the session while it runs, and gives it back when it ends. Futures of blocking sessions never wait, and so need no room
//! beyond the stack.
//! What this costs was measured: `docs/decisions/0010`.

use crate::{CallWork, Fault, Home, OpenError, Refusal, Session, Stack, StatementTimes, Target, Workload};
use crate::{DRIVER_PANICKED, caught};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

/// A session of any type.
///
/// When a call is given up (its future is dropped before it has ended), the session goes with it, as no one knows what
/// it would answer next: every later call is refused as [`Refusal::Unreachable`].
pub struct AnySession<W: Workload>(Box<dyn Resumed<W>>);

impl<W: Workload> AnySession<W> {
    /// Hides the type of a session of a target whose sessions live there.
    pub fn new<S: Session<W> + 'static>(session: S, home: Home) -> AnySession<W> {
        match home {
            Home::Task => AnySession(erased(session, carry)),
            Home::Thread => AnySession(Box::new(Blocking(session))),
        }
    }

    /// Goes on with a call, the same until it has ended. What it took is added to `work` when it ends.
    pub fn poll_run(
        &mut self,
        call: &W::Call,
        work: &mut CallWork,
        cx: &mut Context<'_>,
    ) -> Poll<Result<W::Outcome, Fault>> {
        self.0.poll_run(call, work, cx)
    }
}

impl<W: Workload> std::fmt::Debug for AnySession<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnySession<{}>", W::NAME)
    }
}

impl<W: Workload> Session<W> for AnySession<W> {
    #[inline]
    fn run(
        &mut self,
        call: &W::Call,
        work: &mut CallWork,
    ) -> impl Future<Output = Result<W::Outcome, Fault>> + Send {
        Run { session: self, call, work, under_way: false }
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.0.statement_times()
    }
}

/// A session as [`AnySession`] holds it.
trait Resumed<W: Workload>: Send {
    fn poll_run(
        &mut self,
        call: &W::Call,
        work: &mut CallWork,
        cx: &mut Context<'_>,
    ) -> Poll<Result<W::Outcome, Fault>>;

    /// Gives up the call under way, and the session with it.
    fn give_up(&mut self);

    /// See [`Session::statement_times`].
    fn statement_times(&self) -> Option<&StatementTimes>;
}

/// One call of an [`AnySession`].
struct Run<'s, 'c, 'e, W: Workload> {
    session: &'s mut AnySession<W>,
    call: &'c W::Call,
    work: &'e mut CallWork,
    under_way: bool,
}

impl<W: Workload> Future for Run<'_, '_, '_, W> {
    type Output = Result<W::Outcome, Fault>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let run = self.get_mut();
        let polled = run.session.poll_run(run.call, run.work, cx);
        run.under_way = polled.is_pending();
        polled
    }
}

impl<W: Workload> Drop for Run<'_, '_, '_, W> {
    fn drop(&mut self) {
        if self.under_way {
            // What it had taken is lost with its future, but for this.
            self.work.attempts += 1;
            self.session.0.give_up();
        }
    }
}

/// A session of a known type, and room for its future.
struct Carried<C, S, F> {
    /// [`carry`], of a type of its own, so that what it makes is written where it will be.
    carry: C,
    /// The session between calls. It moves into the future and back, so it is a pointer.
    idle: Option<Box<S>>,
    running: Pin<Box<Option<F>>>,
}

/// What comes back from a call: the session, what the call took, and how it ended.
type Back<W, S> = (Box<S>, CallWork, Result<<W as Workload>::Outcome, Fault>);

/// `before` is what the session must know of the attempts before this one: how many there were, and whether they are clocked.
async fn carry<W: Workload, S: Session<W>>(
    mut session: Box<S>,
    call: W::Call,
    before: CallWork,
) -> Back<W, S> {
    let mut work = before;
    let result = session.run(&call, &mut work).await;
    work.attempts -= before.attempts;
    (session, work, result)
}

/// `carry` is given only so that its type and that of its future have names.
fn erased<W, C, S, F>(session: S, carry: C) -> Box<dyn Resumed<W>>
where
    W: Workload,
    C: Fn(Box<S>, W::Call, CallWork) -> F + Send + 'static,
    S: Session<W> + 'static,
    F: Future<Output = Back<W, S>> + Send + 'static,
{
    Box::new(Carried { carry, idle: Some(Box::new(session)), running: Box::pin(None) })
}

impl<W, C, S, F> Resumed<W> for Carried<C, S, F>
where
    W: Workload,
    C: Fn(Box<S>, W::Call, CallWork) -> F + Send + 'static,
    S: Session<W> + 'static,
    F: Future<Output = Back<W, S>> + Send + 'static,
{
    fn poll_run(
        &mut self,
        call: &W::Call,
        work: &mut CallWork,
        cx: &mut Context<'_>,
    ) -> Poll<Result<W::Outcome, Fault>> {
        if let Some(session) = self.idle.take() {
            let before = CallWork { attempts: work.attempts, ..work.asked() };
            self.running.set(Some((self.carry)(session, call.clone(), before)));
        }
        let Some(running) = self.running.as_mut().as_pin_mut() else {
            return Poll::Ready(Err(Fault::Refused(Refusal::Unreachable)));
        };
        let Poll::Ready((session, took, result)) = running.poll(cx) else { return Poll::Pending };
        self.running.set(None);
        self.idle = Some(session);
        *work += took;
        Poll::Ready(result)
    }

    fn give_up(&mut self) {
        self.running.set(None);
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.idle.as_deref().and_then(S::statement_times)
    }
}

/// A session whose futures never wait.
struct Blocking<S>(S);

impl<W: Workload, S: Session<W>> Resumed<W> for Blocking<S> {
    fn poll_run(
        &mut self,
        call: &W::Call,
        work: &mut CallWork,
        cx: &mut Context<'_>,
    ) -> Poll<Result<W::Outcome, Fault>> {
        let mut run = pin!(self.0.run(call, work));
        match run.as_mut().poll(cx) {
            Poll::Pending => Poll::Ready(waited_for(run)),
            ready => ready,
        }
    }

    /// It is never under way between two polls.
    fn give_up(&mut self) {}

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.0.statement_times()
    }
}

/// Waits on this thread, which is the session's own, for what should not have had to be waited for.
#[cold]
fn waited_for<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A target of any type; its sessions are [`AnySession`]s.
pub struct AnyTarget<W: Workload>(Arc<dyn Opens<W>>);

impl<W: Workload> AnyTarget<W> {
    /// Hides the type of a target.
    pub fn new<T: Target<W>>(target: T) -> AnyTarget<W> {
        AnyTarget(Arc::new(target))
    }
}

impl<W: Workload> Clone for AnyTarget<W> {
    fn clone(&self) -> AnyTarget<W> {
        AnyTarget(Arc::clone(&self.0))
    }
}

impl<W: Workload> std::fmt::Debug for AnyTarget<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AnyTarget<{}>", W::NAME)
    }
}

impl<W: Workload> Target<W> for AnyTarget<W> {
    type Session = AnySession<W>;

    fn home(&self) -> Home {
        self.0.home()
    }

    async fn open(&self, worker: u32) -> Result<AnySession<W>, OpenError> {
        self.0.open(worker).await
    }

    fn stack(&self) -> Stack {
        self.0.stack()
    }

    fn unfinished(&self) -> u64 {
        self.0.unfinished()
    }
}

/// A session that is being opened.
type Opening<'a, W> = Pin<Box<dyn Future<Output = Result<AnySession<W>, OpenError>> + Send + 'a>>;

/// A target as [`AnyTarget`] holds it.
trait Opens<W: Workload>: Send + Sync {
    fn home(&self) -> Home;
    fn open(&self, worker: u32) -> Opening<'_, W>;
    fn stack(&self) -> Stack;
    fn unfinished(&self) -> u64;
}

impl<W: Workload, T: Target<W>> Opens<W> for T {
    fn home(&self) -> Home {
        Target::home(self)
    }

    fn open(&self, worker: u32) -> Opening<'_, W> {
        Box::pin(async move {
            let opened = caught(Target::open(self, worker)).await.unwrap_or_else(|panic| {
                let why = format!("{DRIVER_PANICKED}: {panic}");
                Err(OpenError::Unusable { what: Target::stack(self).engine, why })
            });
            Ok(AnySession::new(opened?, Target::home(self)))
        })
    }

    fn stack(&self) -> Stack {
        Target::stack(self)
    }

    fn unfinished(&self) -> u64 {
        Target::unfinished(self)
    }
}

#[cfg(test)]
#[path = "erased_tests.rs"]
mod tests;
