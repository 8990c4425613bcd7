//! Problem documents (RFC 9457): one text for the client; what it must not see goes to the log.

use contract::{BadCall, BadCallKind};
use model::{Conflict, DefectKind, Doubt, Fault, Refusal};
use serde::Serialize;
use std::borrow::Cow;

/// An answer other than an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    /// HTTP status.
    pub status: u16,
    detail: Cow<'static, str>,
    applied: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Whether the connection is closed: the rest of the request will not be read.
    #[serde(skip)]
    pub close: bool,
}

impl Problem {
    /// A request that was not taken at all.
    fn rejected(
        status: u16,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Problem {
        Problem { kind, title, status, detail: detail.into(), applied: "no", reason: None, close: false }
    }

    pub(crate) fn unknown_path() -> Problem {
        let detail = "nothing is served at this path; the contract lists what is";
        Problem::rejected(404, "urn:stackmark:problem:unknown-path", "unknown path", detail)
    }

    pub(crate) fn method_not_allowed() -> Problem {
        let detail = "this path exists with another method; see the allow header";
        Problem::rejected(405, "urn:stackmark:problem:method-not-allowed", "method not allowed", detail)
    }

    /// Closes: what a request that names two hosts means by its length is not to be trusted either.
    pub(crate) fn bad_host() -> Problem {
        let detail =
            "the request must have one host header with a host, and a port if it has one (RFC 9112 3.2)";
        let problem = Problem::rejected(400, "urn:stackmark:problem:malformed", "malformed request", detail);
        Problem { close: true, ..problem }
    }

    pub(crate) fn body_too_slow() -> Problem {
        let detail = "the body did not arrive in time";
        let problem = Problem::rejected(408, "urn:stackmark:problem:too-slow", "body too slow", detail);
        Problem { close: true, ..problem }
    }

    pub(crate) fn body_broken() -> Problem {
        let detail = "the body ended before it was complete, or its framing is broken";
        let problem = Problem::rejected(400, "urn:stackmark:problem:malformed", "malformed call", detail);
        Problem { close: true, ..problem }
    }

    pub(crate) fn body_too_large(bytes_max: usize) -> Problem {
        let detail = format!("the body is over {bytes_max} bytes");
        let problem = Problem::rejected(413, "urn:stackmark:problem:too-large", "body too large", detail);
        Problem { close: true, ..problem }
    }

    pub(crate) fn unsupported_type() -> Problem {
        let detail = "the content type must be application/json, once, and in no other charset than utf-8";
        Problem::rejected(415, "urn:stackmark:problem:unsupported-type", "unsupported content type", detail)
    }

    pub(crate) fn bad_call(bad: BadCall) -> Problem {
        match bad.kind {
            BadCallKind::Malformed => {
                Problem::rejected(400, "urn:stackmark:problem:malformed", "malformed call", bad.detail)
            }
            BadCallKind::Invalid => {
                Problem::rejected(422, "urn:stackmark:problem:invalid", "invalid call", bad.detail)
            }
            BadCallKind::Unconditional => Problem::rejected(
                428,
                "urn:stackmark:problem:unconditional",
                "unconditional change",
                bad.detail,
            ),
            BadCallKind::Unknown => {
                Problem::rejected(404, "urn:stackmark:problem:unknown-id", "unknown id", bad.detail)
            }
        }
    }

    /// The client's text for a fault.
    pub(crate) fn of(fault: &Fault) -> Problem {
        match fault {
            Fault::Conflict(conflict) => Problem {
                reason: Some(conflict_reason(*conflict)),
                ..Problem::rejected(
                    409,
                    "urn:stackmark:problem:conflict",
                    "conflict",
                    "the engine refused every attempt; repeating is safe",
                )
            },
            Fault::Refused(refusal) => Problem::refused(*refusal),
            Fault::InDoubt(doubt) => Problem {
                kind: "urn:stackmark:problem:in-doubt",
                title: "in doubt",
                status: if *doubt == Doubt::Deadline { 504 } else { 500 },
                detail: "the call may or may not have been applied".into(),
                applied: "unknown",
                reason: Some(doubt_reason(*doubt)),
                close: false,
            },
            Fault::Defect(defect) if defect.kind == DefectKind::BadCall => {
                Problem::rejected(404, "urn:stackmark:problem:unknown-id", "unknown id", defect.what.clone())
            }
            Fault::Defect(_) => Problem {
                kind: "urn:stackmark:problem:defect",
                title: "defect",
                status: 500,
                detail: "internal error; see the server log".into(),
                applied: "unknown",
                reason: None,
                close: false,
            },
        }
    }

    pub(crate) fn refused(refusal: Refusal) -> Problem {
        let detail = match refusal {
            Refusal::Unwritable(text) if !text.words().is_empty() => text.words(),
            _ => "the call was not attempted; trying again later may help",
        };
        let problem = Problem::rejected(503, "urn:stackmark:problem:refused", "refused", detail);
        Problem { reason: Some(refusal_reason(refusal)), ..problem }
    }

    /// As JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers always have a JSON form")
    }
}

fn conflict_reason(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::Busy => "busy",
        Conflict::Deadlock => "deadlock",
        Conflict::Serialization => "serialization",
    }
}

fn refusal_reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NoSession => "no-session",
        Refusal::QueueFull => "queue-full",
        Refusal::Shedding => "shedding",
        Refusal::Unreachable => "unreachable",
        Refusal::Unwritable(_) => "unwritable",
    }
}

fn doubt_reason(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::Deadline => "deadline",
        Doubt::ConnectionLost => "connection-lost",
        Doubt::CommitUnanswered => "commit-unanswered",
        Doubt::ServerError => "server-error",
    }
}
