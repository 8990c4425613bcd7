//! Whether a session answers as its workload asks: questions with their right answers, put one after the other.
//!
//! It sees outcomes only, so it works on any session: an adapter, a server behind HTTP, someone's own. What no outcome
//! shows is for the audits of the stored data.

use crate::{Endpoint, Wire};
use model::{CallWork, DefectKind, Fault, Session, Verdict, Wanted};
use serde::Serialize;

/// A right answer: an outcome, or the reason to reject the call.
pub type CallResult<W> = Result<<W as model::Workload>::Outcome, Fault>;

/// Where a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Golden,
    /// The script of edge cases, on other data than that of the golden vectors.
    Script,
    Random,
}

impl Origin {
    const fn name(self) -> &'static str {
        match self {
            Origin::Golden => "golden",
            Origin::Script => "script",
            Origin::Random => "random",
        }
    }
}

/// What was compared, all of it in agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// Calls of the script compared with recorded answers (`spec/vectors`). Zero on other data than theirs.
    pub golden: u32,
    /// Calls of the script compared with the oracle alone, on other data than that of the golden vectors.
    pub scripted: u32,
    pub random: u32,
    /// All of them by kind, in the order of [`Workload::KINDS`](model::Workload::KINDS).
    pub kinds: Vec<u32>,
    /// Calls that were rightly declined.
    pub declined: u32,
    /// Calls that were rightly rejected.
    pub rejected: u32,
}

/// The first call with a wrong answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{} call {number}, {kind} {}: {what}", .origin.name(), short(call))]
pub struct Disagreement {
    /// The call's number in the whole run, from 1.
    pub number: u32,
    pub origin: Origin,
    /// Its kind, by name.
    pub kind: &'static str,
    /// The call as JSON.
    pub call: String,
    /// The right answer, as [`describe`] has it, or the reason to reject the call.
    pub expected: String,
    /// The answer given, as [`describe`] has it.
    pub found: String,
    /// The first difference, with both values.
    pub what: String,
}

/// Characters of a text that a sentence shows.
const CALL_MAX: usize = 300;

/// As much of a text as a sentence shows.
pub fn short(call: &str) -> String {
    match call.char_indices().nth(CALL_MAX) {
        Some((end, _)) => format!("{}…", &call[..end]),
        None => call.to_owned(),
    }
}

/// A script of edge cases.
pub enum Script<W: Wire> {
    /// Calls with the answers that are recorded in golden vectors.
    Recorded(Vec<(W::Call, CallResult<W>)>),
    /// Calls to be compared with the oracle alone.
    Asked(Vec<W::Call>),
}

impl<W: Wire> Script<W> {
    fn into_calls(self) -> Vec<(Origin, W::Call, Option<CallResult<W>>)> {
        match self {
            Script::Recorded(calls) => {
                calls.into_iter().map(|(call, answer)| (Origin::Golden, call, Some(answer))).collect()
            }
            Script::Asked(calls) => calls.into_iter().map(|call| (Origin::Script, call, None)).collect(),
        }
    }
}

/// Holds a session to a script and to random calls. `oracle` answers each call rightly, in the order in which they are
/// made; `agree` says what differs between two outcomes.
pub async fn conform<W: Wire, S: Session<W>>(
    session: &mut S,
    script: Script<W>,
    random: impl Iterator<Item = W::Call>,
    mut oracle: impl FnMut(&W::Call) -> CallResult<W>,
    agree: impl Fn(&W::Outcome, &W::Outcome) -> Result<(), String>,
) -> Result<Conformance, Disagreement> {
    let mut done = Conformance { kinds: vec![0; W::KINDS.len()], ..Conformance::default() };
    let drawn = random.map(|call| (Origin::Random, call, None));
    for (number, (origin, call, recorded)) in (1..).zip(script.into_calls().into_iter().chain(drawn)) {
        // The oracle keeps up with recorded calls, because random ones start from what these leave behind.
        let answer = oracle(&call);
        let expected = recorded.unwrap_or(answer);
        let found = session.run(&call, &mut CallWork { wanted: Wanted::Both, ..CallWork::default() }).await;
        let kind = W::kind(&call);
        compare(&expected, &found, &agree).map_err(|what| Disagreement {
            number,
            origin,
            kind: W::KINDS[kind].name,
            call: call_json::<W>(&call),
            expected: describe::<W>(&expected),
            found: describe::<W>(&found),
            what,
        })?;
        match origin {
            Origin::Golden => done.golden += 1,
            Origin::Script => done.scripted += 1,
            Origin::Random => done.random += 1,
        }
        done.kinds[kind] += 1;
        match &expected {
            Ok(outcome) => done.declined += u32::from(W::verdict(outcome) == Verdict::Declined),
            Err(_) => done.rejected += 1,
        }
    }
    Ok(done)
}

fn compare<O>(
    expected: &Result<O, Fault>,
    found: &Result<O, Fault>,
    agree: impl Fn(&O, &O) -> Result<(), String>,
) -> Result<(), String> {
    match (expected, found) {
        (Ok(expected), Ok(found)) => agree(expected, found),
        (Err(_), Err(Fault::Defect(defect))) if defect.kind == DefectKind::BadCall => Ok(()),
        (Ok(_), Err(fault)) => Err(format!("expected an outcome, found a fault: {fault}")),
        (Err(reason), Ok(_)) => Err(format!("expected the call to be rejected ({reason}), found an outcome")),
        (Err(reason), Err(fault)) => {
            Err(format!("expected the call to be rejected ({reason}), found another fault: {fault}"))
        }
    }
}

/// An answer in words: an outcome as JSON, or its status where it has no body or that was not kept; or a fault.
pub fn describe<W: Wire>(answer: &CallResult<W>) -> String {
    match answer {
        Ok(outcome) => {
            let body = written(|into| W::encode_outcome(outcome, into));
            if body.is_empty() { format!("status {}", W::status(outcome)) } else { body }
        }
        Err(fault) => fault.to_string(),
    }
}

/// A call as its body in JSON; behind its method and path where these tell what the kind does not.
pub fn call_json<W: Wire>(call: &W::Call) -> String {
    let Endpoint { method, path } = W::ENDPOINTS[W::kind(call)];
    let asked = written(|into| W::encode_path(call, into));
    let body = written(|into| W::encode_call(call, into));
    if method.has_body() && asked == path {
        body
    } else {
        format!("{} {asked} {body}", method.name()).trim_end().into()
    }
}

/// What of a request or an answer is written as text.
pub fn written(encode: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = Vec::new();
    encode(&mut bytes);
    String::from_utf8(bytes).expect("paths are ASCII, and JSON is UTF-8")
}
