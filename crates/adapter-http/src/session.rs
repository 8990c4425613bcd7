//! One worker's connection as a session.

use crate::connection::{Broken, Connection};
use crate::head::Lines;
use crate::problem;
use crate::raw::Reply;
use crate::request::Prepared;
use crate::server_timing::read_statements;
use contract::{Answer, Wire};
use model::{CallWork, Connections, DefectKind, Doubt, Fault, Refusal, Session, StatementTimes};
use std::fmt::Write;
use std::marker::PhantomData;
use std::ops::Range;
use transport::Dialer;

/// Bytes that a request of an ordinary call fits in.
const REQUEST_BYTES: usize = 512;

/// A session that asks a service over one keep-alive connection.
///
/// A connection that the server has closed, announced or not, before anything was sent is opened again, once for each call. After a
/// fault that leaves it without a known state (lost, cut answer, a call whose future was dropped) every further call is refused
/// as unreachable, and the owner opens a new session through the target. No call is ever sent twice.
#[derive(Debug)]
pub struct HttpSession<W: Wire> {
    dialer: Dialer,
    connections: Connections,
    connection: Connection,
    line: ConnectionState,
    requests: Vec<Prepared>,
    /// The request under way.
    request: Vec<u8>,
    /// Whether the last call found the connection closed without a word.
    found_closed: bool,
    /// What the statements of the last call took, as the server told it.
    statements: StatementTimes,
    /// Status of the last answer, where its body is, and whether the server closes behind it; once it has come.
    answered: Option<(u16, Range<usize>, bool)>,
    workload: PhantomData<fn() -> W>,
}

/// State of the connection between calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    /// Quiet, and ready for the next call.
    Ready,
    /// The server announced that it closes: connecting again is safe, nothing is under way.
    Closing,
    /// An answer may still be coming. Never used again.
    Broken,
}

impl<W: Wire> HttpSession<W> {
    pub(crate) fn new(
        dialer: Dialer,
        connections: Connections,
        connection: Connection,
        requests: Vec<Prepared>,
    ) -> HttpSession<W> {
        let statements = StatementTimes::default();
        // The one that was opened to see whether the server is there is no call's own.
        let line = if connections == Connections::PerCall {
            ConnectionState::Closing
        } else {
            ConnectionState::Ready
        };
        let request = Vec::with_capacity(REQUEST_BYTES);
        let answered = None;
        HttpSession {
            dialer,
            connections,
            connection,
            line,
            requests,
            request,
            found_closed: false,
            statements,
            answered,
            workload: PhantomData,
        }
    }

    /// The last request, head and body, as it was sent.
    pub fn request(&self) -> &[u8] {
        &self.request
    }

    /// The answer to it; nothing where none came that is HTTP/1.1 within our limits.
    pub fn answer(&self) -> Option<Reply<'_>> {
        let (status, body, closes) = self.answered.clone()?;
        Some(Reply { closes, ..Reply::of(&self.connection, status, body) })
    }

    /// Whether the last call found the connection closed, although no answer before it had said so.
    pub fn found_closed(&self) -> bool {
        self.found_closed
    }

    /// Whether the next call can be sent. `false` means: open another session.
    pub fn is_usable(&self) -> bool {
        self.line != ConnectionState::Broken
    }

    /// Opens the connection again, as nothing is under way on it.
    #[cold]
    async fn reconnect(&mut self, work: &mut CallWork) -> Result<(), Fault> {
        self.connect().await?;
        work.reconnects += 1;
        Ok(())
    }

    async fn connect(&mut self) -> Result<(), Fault> {
        let opened = Connection::open(&self.dialer).await;
        self.connection = opened.map_err(|_| Fault::Refused(Refusal::Unreachable))?;
        Ok(())
    }
}

/// Checks that the headers of an answer go with the outcome that its body tells: its media type, and others such as `etag`. A
/// client behind a proxy takes its word from them.
fn goes_with<W: Wire>(answer: &Answer<'_>, is_json: bool, outcome: &W::Outcome) -> Result<(), String> {
    let (is_right, media) = match W::is_problem(outcome) {
        true => (answer.is_problem, "application/problem+json"),
        false => (is_json, "application/json"),
    };
    if !answer.body.is_empty() && !is_right {
        let found = answer.headers.get("content-type").unwrap_or("none");
        return Err(format!("the content type is {found}, and that of this answer is {media}"));
    }
    let mut wrong = Ok(());
    W::encode_outcome_headers(outcome, &mut |name, value| {
        let found = answer.headers.get(name);
        let mut rest = Rest(found.unwrap_or_default());
        let is_same = write!(rest, "{value}").is_ok() && rest.0.is_empty() && found.is_some();
        if !is_same && wrong.is_ok() {
            let found = found.unwrap_or("none");
            wrong = Err(format!("the header `{name}` is {found}, and the body says {value}"));
        }
    });
    wrong
}

/// A text that is compared with another one as that is written, which allocates nothing.
struct Rest<'a>(&'a str);

impl Write for Rest<'_> {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        self.0 = self.0.strip_prefix(part).ok_or(std::fmt::Error)?;
        Ok(())
    }
}

impl<W: Wire> Session<W> for HttpSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        let before = self.line;
        // Stays so if this future is dropped at any point: what is read next could be the answer to this
        // call.
        self.line = ConnectionState::Broken;
        match before {
            ConnectionState::Broken => return Err(Fault::Refused(Refusal::Unreachable)),
            // As planned, and no repair.
            ConnectionState::Closing if self.connections == Connections::PerCall => self.connect().await?,
            ConnectionState::Closing => self.reconnect(work).await?,
            ConnectionState::Ready => {}
        }
        (self.answered, self.found_closed) = (None, false);
        self.requests[W::kind(call)].write::<W>(call, work.clocked, &mut self.request);
        let mut exchanged = self.connection.exchange(&self.request).await;
        if before == ConnectionState::Ready && matches!(exchanged, Err(Broken::Unsent)) {
            self.found_closed = true;
            self.reconnect(work).await?;
            exchanged = self.connection.exchange(&self.request).await;
        }
        let answer = match exchanged {
            Ok(answer) => answer,
            Err(Broken::Unsent) => return Err(Fault::Refused(Refusal::Unreachable)),
            Err(Broken::TurnedAway) => {
                self.line = ConnectionState::Closing;
                return Err(Fault::Refused(Refusal::Shedding));
            }
            Err(Broken::Lost) => return Err(Fault::InDoubt(Doubt::ConnectionLost)),
            Err(Broken::Contract(why)) => return Err(Fault::defect(DefectKind::BadAnswer, why)),
        };
        self.answered = Some((answer.status, answer.body.clone(), answer.close));
        let closes = answer.close || self.connections == Connections::PerCall;
        self.line = if closes { ConnectionState::Closing } else { ConnectionState::Ready };
        *work += answer.work;
        work.sent_bytes += self.request.len() as u32;
        work.received_bytes += self.connection.received() as u32;
        if work.clocked {
            self.statements.clear();
            let listed = self.connection.bytes(answer.statements);
            read_statements(listed, W::STATEMENTS, &mut self.statements);
        }
        let is_json = answer.json;
        let answer = Answer {
            status: answer.status,
            is_problem: answer.problem,
            headers: &Lines(self.connection.bytes(0..answer.body.start)),
            body: self.connection.bytes(answer.body),
        };
        if !W::is_outcome(call, &answer) {
            return Err(problem::fault(answer.status, answer.is_problem.then_some(answer.body)));
        }
        // A server need not count its attempts; that it answered says that there was one.
        work.attempts = work.attempts.max(1);
        let mut outcome =
            W::decode_outcome(call, &answer).map_err(|why| Fault::defect(DefectKind::BadAnswer, why))?;
        goes_with::<W>(&answer, is_json, &outcome)
            .map_err(|why| Fault::defect(DefectKind::BadAnswer, why))?;
        if work.wanted.body() {
            W::keep_body(&mut outcome, answer.body);
        }
        Ok(outcome)
    }

    /// Nothing from a server that does not report.
    fn statement_times(&self) -> Option<&StatementTimes> {
        self.statements.executed().next().map(|_| &self.statements)
    }
}
