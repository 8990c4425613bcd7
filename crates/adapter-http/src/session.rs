//! One worker's connection as a session.

use crate::address::Address;
use crate::connection::{Broken, Connection};
use crate::footnotes::read_statements;
use crate::problem;
use crate::request::Request;
use model::{DefectKind, Doubt, Effort, Fault, Refusal, Session, StatementTimes, Wire};
use std::marker::PhantomData;
use std::net::SocketAddr;

/// A session that asks a service over one keep-alive connection.
///
/// After a fault that leaves the connection without a known state (lost, cut answer, a call whose future was
/// dropped) every further call is refused as unreachable, and the owner opens a new session through the
/// target. No call is ever sent twice.
#[derive(Debug)]
pub struct HttpSession<W: Wire> {
    socket: SocketAddr,
    connection: Connection,
    line: Line,
    requests: Vec<Requests>,
    /// What the statements of the last call took, as the server told it.
    statements: StatementTimes,
    workload: PhantomData<fn() -> W>,
}

/// The two requests of a kind of call.
#[derive(Debug)]
pub(crate) struct Requests {
    usual: Request,
    /// Asks for what each statement took.
    clocked: Request,
}

impl Requests {
    /// Requests to `path`.
    pub(crate) fn new(address: &Address, path: &str) -> Requests {
        Requests { usual: Request::post(address, path), clocked: Request::post_clocked(address, path) }
    }
}

/// State of the connection between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Quiet, and ready for the next call.
    Ready,
    /// The server announced that it closes: connecting anew is safe, nothing is under way.
    Closing,
    /// An answer may still be coming. Never used again.
    Broken,
}

impl<W: Wire> HttpSession<W> {
    pub(crate) fn new(socket: SocketAddr, connection: Connection, requests: Vec<Requests>) -> HttpSession<W> {
        let statements = StatementTimes::default();
        HttpSession { socket, connection, line: Line::Ready, requests, statements, workload: PhantomData }
    }

    /// Whether the next call can be sent. `false` means: open another session.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.line != Line::Broken
    }
}

impl<W: Wire> Session<W> for HttpSession<W> {
    async fn run(&mut self, call: &W::Call, effort: &mut Effort) -> Result<W::Outcome, Fault> {
        let before = self.line;
        // Stays so if this future is dropped at any point: what is read next could be the answer to this
        // call.
        self.line = Line::Broken;
        match before {
            Line::Broken => return Err(Fault::Refused(Refusal::Unreachable)),
            Line::Closing => {
                self.connection =
                    Connection::open(self.socket).await.map_err(|_| Fault::Refused(Refusal::Unreachable))?;
            }
            Line::Ready => {}
        }
        let requests = &mut self.requests[W::kind(call)];
        let request = if effort.clocked { &mut requests.clocked } else { &mut requests.usual };
        let request = request.fill(|into| W::encode_call(call, into));
        let answer = match self.connection.exchange(request).await {
            Ok(answer) => answer,
            Err(Broken::Unsent) => return Err(Fault::Refused(Refusal::Unreachable)),
            Err(Broken::Lost) => return Err(Fault::InDoubt(Doubt::ConnectionLost)),
            Err(Broken::Contract(why)) => return Err(Fault::defect(DefectKind::BadAnswer, why)),
        };
        self.line = if answer.close { Line::Closing } else { Line::Ready };
        *effort += answer.effort;
        if effort.clocked {
            self.statements.clear();
            let told = self.connection.bytes(answer.statements);
            read_statements(told, W::STATEMENTS, &mut self.statements);
        }
        let body = self.connection.bytes(answer.body);
        if answer.status != 200 {
            return Err(problem::fault(answer.status, answer.problem.then_some(body)));
        }
        // A server need not count its attempts; that it answered says that there was one.
        effort.attempts = effort.attempts.max(1);
        W::decode_outcome(call, body).map_err(|why| Fault::defect(DefectKind::BadAnswer, why))
    }

    /// Nothing from a server that does not tell.
    fn statement_times(&self) -> Option<&StatementTimes> {
        self.statements.executed().next().map(|_| &self.statements)
    }
}
