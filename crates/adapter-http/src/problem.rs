//! Problem documents (RFC 9457) and what they mean to a worker.

use model::{Conflict, DefectKind, Doubt, EngineMessage, Fault, Refusal};
use serde::Deserialize;
use std::borrow::Cow;

/// The part of `type` that all problems of the contract share.
const PROBLEM: &str = "urn:stackmark:problem:";

/// Characters of a server's own words that are kept in a defect.
const QUOTE_MAX: usize = 300;

#[derive(Debug, Default, Deserialize)]
struct Problem<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    title: Cow<'a, str>,
    #[serde(borrow, default)]
    detail: Cow<'a, str>,
    /// `no` or `unknown`.
    #[serde(borrow, default)]
    applied: Cow<'a, str>,
    #[serde(borrow, default)]
    reason: Cow<'a, str>,
}

/// What an answer with a status other than 200 means. `problem` is its body if it is a problem document.
///
/// A type decides before the status does. Without one, only what says so itself counts as not applied: a bare
/// 503 may come from a proxy that lost patience after the call went through.
pub(crate) fn fault(status: u16, problem: Option<&[u8]>) -> Fault {
    let problem =
        problem.and_then(|body| serde_json::from_slice::<Problem<'_>>(body).ok()).unwrap_or_default();
    match problem.kind.strip_prefix(PROBLEM) {
        Some("conflict") => Fault::Conflict(conflict(&problem.reason)),
        Some("refused") => Fault::Refused(refusal(&problem.reason, &problem.detail)),
        Some("in-doubt") => Fault::InDoubt(doubt(&problem.reason)),
        Some("defect") => Fault::defect(DefectKind::Engine, told(status, &problem)),
        _ if status >= 500 && problem.applied == "no" => Fault::Refused(Refusal::Shedding),
        // 408 may have met a request that was on its way (RFC 9110, 15.5.9), or say that a handler was too slow.
        _ if status >= 500 || status == 408 => Fault::InDoubt(Doubt::ServerError),
        Some("malformed" | "invalid" | "unknown-id" | "unconditional") => {
            Fault::defect(DefectKind::BadCall, told(status, &problem))
        }
        _ => Fault::defect(DefectKind::BadAnswer, told(status, &problem)),
    }
}

fn told(status: u16, problem: &Problem<'_>) -> String {
    let words = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
    if words.is_empty() {
        return format!("the server answered with status {status}");
    }
    let kept: String = words.chars().filter(|letter| !letter.is_control()).take(QUOTE_MAX).collect();
    format!("the server answered with status {status}: {kept}")
}

fn conflict(reason: &str) -> Conflict {
    match reason {
        "deadlock" => Conflict::Deadlock,
        "serialization" => Conflict::Serialization,
        _ => Conflict::Busy,
    }
}

fn refusal(reason: &str, words: &str) -> Refusal {
    match reason {
        "no-session" => Refusal::NoSession,
        "queue-full" => Refusal::QueueFull,
        "unreachable" => Refusal::Unreachable,
        "unwritable" => Refusal::Unwritable(EngineMessage::of(words)),
        _ => Refusal::Shedding,
    }
}

fn doubt(reason: &str) -> Doubt {
    match reason {
        "deadline" => Doubt::Deadline,
        "connection-lost" => Doubt::ConnectionLost,
        "commit-unanswered" => Doubt::CommitUnanswered,
        _ => Doubt::ServerError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, kind: &str, rest: &str) -> Fault {
        fault(
            status,
            Some(format!(r#"{{"type":"urn:stackmark:problem:{kind}","extra":[1]{rest}}}"#).as_bytes()),
        )
    }

    #[test]
    fn each_problem_type_has_its_fault() {
        assert_eq!(read(409, "conflict", r#","reason":"deadlock""#), Fault::Conflict(Conflict::Deadlock));
        assert_eq!(
            read(409, "conflict", r#","reason":"serialization""#),
            Fault::Conflict(Conflict::Serialization)
        );
        assert_eq!(read(409, "conflict", ""), Fault::Conflict(Conflict::Busy));
        assert_eq!(read(503, "refused", r#","reason":"queue-full""#), Fault::Refused(Refusal::QueueFull));
        assert_eq!(read(503, "refused", r#","reason":"no-session""#), Fault::Refused(Refusal::NoSession));
        assert_eq!(read(503, "refused", r#","reason":"unwritable""#), Fault::Refused(Refusal::UNWRITABLE));
        assert_eq!(read(503, "refused", r#","reason":"unreachable""#), Fault::Refused(Refusal::Unreachable));
        assert_eq!(read(503, "refused", ""), Fault::Refused(Refusal::Shedding));
        assert_eq!(read(504, "in-doubt", r#","reason":"deadline""#), Fault::InDoubt(Doubt::Deadline));
        assert_eq!(
            read(500, "in-doubt", r#","reason":"commit-unanswered""#),
            Fault::InDoubt(Doubt::CommitUnanswered)
        );
        assert_eq!(
            read(500, "in-doubt", r#","reason":"connection-lost""#),
            Fault::InDoubt(Doubt::ConnectionLost)
        );
        assert_eq!(read(500, "in-doubt", ""), Fault::InDoubt(Doubt::ServerError));
    }

    #[test]
    fn a_call_that_we_built_and_the_server_rejects_is_a_defect() {
        let kind = |fault: Fault| match fault {
            Fault::Defect(defect) => defect.kind,
            other => panic!("{other:?}"),
        };
        for (status, name) in [(400, "malformed"), (422, "invalid"), (404, "unknown-id")] {
            assert_eq!(kind(read(status, name, "")), DefectKind::BadCall);
        }
        assert_eq!(kind(read(404, "unknown-path", "")), DefectKind::BadAnswer);
        assert_eq!(kind(fault(418, None)), DefectKind::BadAnswer);
        assert_eq!(kind(fault(204, None)), DefectKind::BadAnswer);
        assert_eq!(kind(read(500, "defect", r#","applied":"unknown""#)), DefectKind::Engine);
    }

    #[test]
    fn a_failing_server_is_in_doubt_unless_it_says_that_nothing_was_applied() {
        for status in [500, 502, 503, 504, 599] {
            assert_eq!(fault(status, None), Fault::InDoubt(Doubt::ServerError));
            assert_eq!(fault(status, Some(b"<html>")), Fault::InDoubt(Doubt::ServerError));
            assert_eq!(fault(status, Some(br#"{"applied":"unknown"}"#)), Fault::InDoubt(Doubt::ServerError));
            assert_eq!(fault(status, Some(br#"{"applied":"no"}"#)), Fault::Refused(Refusal::Shedding));
        }
    }

    #[test]
    fn a_servers_words_are_quoted_cut_and_cleaned() {
        let detail = format!("bad\\u001b[31m {}", "x".repeat(1_000));
        let Fault::Defect(defect) = read(422, "invalid", &format!(r#","detail":"{detail}""#)) else {
            panic!()
        };
        assert!(
            defect.what.starts_with("the server answered with status 422: bad[31m xxx"),
            "{}",
            defect.what
        );
        assert!(defect.what.len() < 400);
    }
}
