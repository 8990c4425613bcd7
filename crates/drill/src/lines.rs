//! What a load generator says of its calls, a line of JSON each: written before a call is sent and after its answer has come, so
//! that whoever reads them knows what was acknowledged even if the generator has been killed in between. Each has the time, by the
//! clock of the machine: on a busy one it is read a good deal later.

use anyhow::{Context, Result};
use contract::{Answer, Headers, Wire};
use measure::Monotonic;
use model::{Clock, Conflict, DefectKind, Doubt, Fault, Nanos, Refusal};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Line {
    /// A call is about to be sent.
    Begun {
        worker: u32,
        /// Of the call, as [`digest`] makes it.
        digest: String,
    },
    /// A call was not sent: its worker could open no session.
    Unsent { worker: u32 },
    /// The call under way was answered.
    Answered { worker: u32, answer: CallResponse },
    /// The call under way did not complete.
    Failed { worker: u32, how: Sort, why: String },
    /// No call is made any more.
    Ended {
        /// Why that came by itself, if it did.
        failure: Option<String>,
    },
}

/// An answer as it would cross a wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallResponse {
    status: u16,
    is_problem: bool,
    headers: Vec<(String, String)>,
    body: String,
}

/// In which way a call did not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    Conflict,
    Refused,
    Doubt,
    Defect,
}

impl Headers for CallResponse {
    fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl CallResponse {
    pub(crate) fn of<W: Wire>(outcome: &W::Outcome) -> CallResponse {
        let mut headers = Vec::new();
        W::encode_outcome_headers(outcome, &mut |name, value| {
            headers.push((name.to_owned(), value.to_string()));
        });
        CallResponse {
            status: W::status(outcome),
            is_problem: W::is_problem(outcome),
            headers,
            body: contract::conformance::written(|into| W::encode_outcome(outcome, into)),
        }
    }

    /// # Errors
    /// It is not an answer to the call: the generator and who reads its lines do not speak of the same.
    pub(crate) fn outcome<W: Wire>(&self, call: &W::Call) -> Result<W::Outcome> {
        let CallResponse { status, is_problem, .. } = *self;
        let answer = Answer { status, is_problem, headers: self, body: self.body.as_bytes() };
        W::decode_outcome(call, &answer).map_err(anyhow::Error::msg).with_context(|| {
            format!("the load generator reported an unknown outcome: {} {}", self.status, self.body)
        })
    }
}

impl Sort {
    pub(crate) fn of(fault: &Fault) -> Sort {
        match fault {
            Fault::Conflict(_) => Sort::Conflict,
            Fault::Refused(_) => Sort::Refused,
            Fault::InDoubt(_) => Sort::Doubt,
            Fault::Defect(_) => Sort::Defect,
        }
    }

    /// As much of the fault as a ledger asks for.
    pub(crate) fn fault(self, why: &str) -> Fault {
        match self {
            Sort::Conflict => Fault::Conflict(Conflict::Busy),
            Sort::Refused => Fault::Refused(Refusal::Unreachable),
            Sort::Doubt => Fault::InDoubt(Doubt::Deadline),
            Sort::Defect => Fault::defect(DefectKind::BadAnswer, why),
        }
    }
}

/// What tells a call from others.
pub(crate) fn digest<W: Wire>(call: &W::Call) -> String {
    let mut bytes = Vec::new();
    W::encode_path(call, &mut bytes);
    W::encode_call_headers(call, &mut |name, value| {
        bytes.extend_from_slice(format!("\n{name}: {value}").as_bytes());
    });
    bytes.push(b'\n');
    W::encode_call(call, &mut bytes);
    format!("{:016x}", xxh3_64(&bytes))
}

/// Where lines are written. Each is one write, so that of a generator that is killed only the last one can be cut off.
pub(crate) struct CallReporter {
    into: Mutex<Box<dyn Write + Send>>,
    clock: Monotonic,
}

/// When a line was said, in nanoseconds by [`Monotonic::of_machine`], and the line.
pub(crate) fn read(text: &str) -> serde_json::Result<(Nanos, Line)> {
    let (at, line) = serde_json::from_str(text)?;
    Ok((Nanos(at), line))
}

impl CallReporter {
    pub(crate) fn new(into: Box<dyn Write + Send>) -> CallReporter {
        CallReporter { into: Mutex::new(into), clock: Monotonic::of_machine() }
    }

    pub(crate) fn send(&self, line: &Line) {
        let mut text = serde_json::to_vec(&(self.clock.now().0, line)).expect("lines are text and numbers");
        text.push(b'\n');
        let mut into = self.into.lock().unwrap_or_else(PoisonError::into_inner);
        // No one listens any more only where the parent has gone, which ends this process.
        let _ = into.write_all(&text).and_then(|()| into.flush());
    }
}
