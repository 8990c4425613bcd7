//! Sessions that note what each answer is worth, whatever asks through them.

use crate::bad_inputs::rejected;
use crate::finding::{Failure, ReportedWork};
use crate::openapi::Contract;
use crate::request::{Request, one_line};
use adapter_http::{HttpSession, HttpTarget, Reply};
use contract::Wire;
use measure::Monotonic;
use model::{
    CallWork, Clock, Doubt, Fault, Home, Ledger, Nanos, OpenError, Session, Stack, StatementTimes, Target,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connections that one session takes in turn: what one connection was answered, the next must know.
const IN_TURN: usize = 3;
/// No answer takes longer.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Failures that are kept of one rule.
const KEPT: usize = 3;

/// What has been noted so far.
pub(crate) struct Notes<W: Wire> {
    pub url: String,
    pub contract: Contract,
    pub ledger: W::Ledger,
    pub size: W::Extent,
    /// Of answers that were checked against the contract.
    pub answers: Noted,
    /// Of headers that go with what an answer says.
    pub headers: Noted,
    /// Of answers that say what their parts took.
    pub timing: Noted,
    /// Of answers after which the connection must stay open.
    pub kept_open: Noted,
    /// The last request as a line for a shell, and its answer.
    pub last: Option<(String, String)>,
    /// What servers report of their statements: calls, and statements in all.
    pub statements: u64,
    /// What calls took, by kind.
    pub work: Vec<ReportedWork>,
}

/// What was noted of one rule.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub checked: u64,
    pub failures: Vec<Failure>,
}

impl Noted {
    pub(crate) fn enter(&mut self, failure: Option<Failure>) {
        self.checked += 1;
        if self.failures.len() < KEPT {
            self.failures.extend(failure);
        }
    }
}

impl<W: Wire> Notes<W> {
    /// Holds an answer to the contract.
    pub(crate) fn hold(&mut self, request: &Request, reply: &Reply<'_>) {
        if self.contract.is_empty() {
            return;
        }
        let why = self.contract.violations(&request.method, request.path(), reply).into_iter().next();
        let failure = why.map(|why| Failure {
            request: request.curl(&self.url),
            expected: format!("an answer of the contract: {why}"),
            found: one_line(reply),
        });
        self.answers.enter(failure);
    }

    /// A connection on which a call had been answered was closed when the next one was to be sent.
    fn enter_found_closed(&mut self) {
        let request = self.last.as_ref().map_or_else(String::new, |(request, _)| request.clone());
        self.kept_open.enter(Some(Failure {
            request,
            expected: "the connection stays open until the next call".into(),
            found: "it was closed without `connection: close`".into(),
        }));
    }

    fn enter(
        &mut self,
        call: &W::Call,
        result: &Result<W::Outcome, Fault>,
        bytes: &[u8],
        reply: Option<Reply<'_>>,
        work: &CallWork,
        took: Nanos,
    ) {
        let request = Request::parsed(bytes);
        // What is not a call has nothing to be entered, however it was answered.
        if rejected::<W>(W::kind(call), &self.size, &request).is_none() {
            self.ledger.post(call, result);
        }
        let line = request.curl(&self.url);
        let Some(reply) = reply else {
            self.last = Some((line, "no answer of HTTP/1.1".into()));
            return;
        };
        self.hold(&request, &reply);
        // A session refuses an answer whose headers do not go with its body; here they are what is looked for.
        let refused = matches!(result, Err(Fault::Defect(_)));
        let body = refused.then(|| W::decode_outcome(call, &reply.as_answer()).ok()).flatten();
        if let Some(outcome) = result.as_ref().ok().or(body.as_ref()) {
            W::encode_outcome_headers(outcome, &mut |name, value| {
                let (wanted, came) = (value.to_string(), reply.header(name).unwrap_or("none"));
                let failure = (came != wanted).then(|| Failure {
                    request: line.clone(),
                    expected: format!("{name}: {wanted}"),
                    found: format!("{name}: {came}"),
                });
                self.headers.enter(failure);
            });
        }
        let open = (reply.closes && reply.status < 400).then(|| Failure {
            request: line.clone(),
            expected: "the connection stays open".into(),
            found: "connection: close".into(),
        });
        self.kept_open.enter(open);
        self.statements += u64::from(work.statements);
        if result.is_ok() {
            self.work[W::kind(call)].add(work);
        }
        if work.spent.server > Nanos::default() || work.spent.unreadable {
            let failure = work.spent.impossible(took).map(|found| Failure {
                request: line.clone(),
                expected: "parts of server-timing within its total, and that within the response time".into(),
                found: found.to_string(),
            });
            self.timing.enter(failure);
        }
        self.last = Some((line, one_line(&reply)));
    }
}

/// Notes that several share.
pub(crate) type SharedNotes<W> = Arc<Mutex<Notes<W>>>;

/// Looks at the notes, or adds to them.
pub(crate) fn noted<W: Wire, T>(notes: &SharedNotes<W>, what: impl FnOnce(&mut Notes<W>) -> T) -> T {
    what(&mut notes.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Opens sessions that note.
pub(crate) struct Watched<W: Wire> {
    pub target: Arc<HttpTarget<W>>,
    pub notes: SharedNotes<W>,
    pub clock: Monotonic,
    /// Connections that a session takes in turn, at least 1.
    pub in_turn: usize,
}

impl<W: Wire> Watched<W> {
    pub(crate) fn new(target: &Arc<HttpTarget<W>>, notes: &SharedNotes<W>) -> Watched<W> {
        Watched {
            target: Arc::clone(target),
            notes: Arc::clone(notes),
            clock: Monotonic::start(),
            in_turn: IN_TURN,
        }
    }
}

/// A session over several connections in turn.
pub(crate) struct WatchedSession<W: Wire> {
    target: Arc<HttpTarget<W>>,
    notes: SharedNotes<W>,
    clock: Monotonic,
    connections: Vec<HttpSession<W>>,
    next: usize,
}

impl<W: Wire> Target<W> for Watched<W> {
    type Session = WatchedSession<W>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<WatchedSession<W>, OpenError> {
        let mut connections = Vec::new();
        for _ in 0..self.in_turn {
            connections.push(self.target.open(worker).await?);
        }
        let (target, notes) = (Arc::clone(&self.target), Arc::clone(&self.notes));
        Ok(WatchedSession { target, notes, clock: self.clock, connections, next: 0 })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }
}

impl<W: Wire> Session<W> for WatchedSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        self.next = (self.next + 1) % self.connections.len();
        let connection = &mut self.connections[self.next];
        if !connection.is_usable() {
            let opened = self.target.open(0).await;
            *connection = opened.map_err(|_| Fault::Refused(model::Refusal::Unreachable))?;
        }
        // Some of them say what their statements took.
        work.clocked = self.next == 0;
        let started = self.clock.now();
        // Only of this request, also where a call is repeated after a conflict.
        let mut mine = work.asked();
        let result = tokio::time::timeout(ANSWER_MAX, connection.run(call, &mut mine)).await;
        let result = result.unwrap_or(Err(Fault::InDoubt(Doubt::Deadline)));
        let took = Nanos(self.clock.now().0 - started.0);
        let (request, reply) = (connection.request(), connection.answer());
        noted(&self.notes, |notes| {
            if connection.found_closed() {
                notes.enter_found_closed();
            }
            notes.enter(call, &result, request, reply, &mine, took);
        });
        *work += mine;
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        None
    }
}
