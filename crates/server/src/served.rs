//! What a server serves, of whatever workload: everything behind this is compiled once.

use contract::{BadCall, Endpoint, Request, Wire};
use model::{
    AnySession, AnyTarget, CallWork, Fault, Home, OpenError, Session, Stack, StatementTime, StatementTimes,
    Target,
};
use std::any::Any;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A workload and a target for its calls.
pub(crate) trait Served: Send + Sync {
    /// The workload's name.
    fn name(&self) -> &'static str;
    /// Method and path of each kind.
    fn endpoints(&self) -> &'static [Endpoint];
    /// Where the sessions live.
    fn home(&self) -> Home;
    /// Read back from the target.
    fn stack(&self) -> Stack;
    /// See [`Target::unfinished`].
    fn unfinished(&self) -> u64;
    fn open(&self, worker: u32) -> Opening<'_>;
    /// Reads a call of a kind; `clocked` where its caller wants a clock around each statement.
    fn decode(&self, kind: usize, request: &Request<'_>, clocked: bool)
    -> Result<Box<dyn Exchange>, BadCall>;
}

/// A session that is being opened.
pub(crate) type Opening<'a> =
    Pin<Box<dyn Future<Output = Result<Box<dyn ServedSession>, OpenError>> + Send + 'a>>;

/// A call on its way through the server, and its outcome on the way back. One allocation, besides those of HTTP.
pub(crate) trait Exchange: Any + Send {
    /// The status of the outcome's answer, once there is one.
    fn status(&self) -> u16;
    /// Whether the outcome's answer is a problem document.
    fn is_problem(&self) -> bool;
    /// Gives the headers that this answer alone has.
    fn headers(&self, each: &mut dyn FnMut(&'static str, &dyn Display));
    /// Appends the outcome's JSON, once there is one.
    fn encode(&self, into: &mut Vec<u8>);
    /// Whether its caller wants a clock around each statement.
    fn is_clocked(&self) -> bool;
    /// Gives each statement that was clocked, by name, once there is an outcome.
    fn statements(&self, each: &mut dyn FnMut(&'static str, StatementTime));
}

/// A session that answers exchanges of its own workload.
pub(crate) trait ServedSession: Send {
    /// Goes on with a call, the same until it has ended; its outcome is then in the exchange.
    fn poll_run(
        &mut self,
        exchange: &mut dyn Exchange,
        work: &mut CallWork,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>>;
}

/// The only one there is: a workload with the target and the size of its data.
pub(crate) struct Of<W: Wire> {
    pub(crate) target: AnyTarget<W>,
    pub(crate) extent: W::Extent,
}

/// Call and outcome of a workload.
struct Exchanged<W: Wire> {
    call: W::Call,
    clocked: bool,
    outcome: Option<W::Outcome>,
    /// Made in clocked calls only.
    statements: Option<Box<StatementTimes>>,
}

impl<W: Wire> Served for Of<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn endpoints(&self) -> &'static [Endpoint] {
        W::ENDPOINTS
    }

    fn home(&self) -> Home {
        self.target.home()
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }

    fn unfinished(&self) -> u64 {
        self.target.unfinished()
    }

    fn open(&self, worker: u32) -> Opening<'_> {
        Box::pin(async move {
            let session: Box<dyn ServedSession> = Box::new(self.target.open(worker).await?);
            Ok(session)
        })
    }

    fn decode(
        &self,
        kind: usize,
        request: &Request<'_>,
        clocked: bool,
    ) -> Result<Box<dyn Exchange>, BadCall> {
        let call = W::decode_call(kind, &self.extent, request)?;
        Ok(Box::new(Exchanged::<W> { call, clocked, outcome: None, statements: None }))
    }
}

impl<W: Wire> Exchanged<W> {
    fn outcome(&self) -> &W::Outcome {
        self.outcome.as_ref().expect("encoded only after its session has ended the call")
    }
}

impl<W: Wire> Exchange for Exchanged<W> {
    fn status(&self) -> u16 {
        W::status(self.outcome())
    }

    fn is_problem(&self) -> bool {
        W::is_problem(self.outcome())
    }

    fn headers(&self, each: &mut dyn FnMut(&'static str, &dyn Display)) {
        W::encode_outcome_headers(self.outcome(), each);
    }

    fn encode(&self, into: &mut Vec<u8>) {
        W::encode_outcome(self.outcome(), into);
    }

    fn is_clocked(&self) -> bool {
        self.clocked
    }

    fn statements(&self, each: &mut dyn FnMut(&'static str, StatementTime)) {
        for (index, time) in self.statements.iter().flat_map(|times| times.executed()) {
            if let Some(name) = W::STATEMENTS.get(index) {
                each(name, time);
            }
        }
    }
}

impl<W: Wire> ServedSession for AnySession<W> {
    fn poll_run(
        &mut self,
        exchange: &mut dyn Exchange,
        work: &mut CallWork,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Fault>> {
        let exchange: &mut dyn Any = exchange;
        let Exchanged::<W> { call, clocked, outcome, statements } =
            exchange.downcast_mut().expect("a server decodes calls of the workload that its sessions answer");
        match ready!(self.poll_run(call, work, cx)) {
            Ok(answer) => {
                *outcome = Some(answer);
                if *clocked {
                    *statements = self.statement_times().cloned().map(Box::new);
                }
                Poll::Ready(Ok(()))
            }
            Err(fault) => Poll::Ready(Err(fault)),
        }
    }
}
