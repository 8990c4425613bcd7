//! Golden vectors: calls as requests with their answers, a line each, for servers in every language.

use crate::conformance::{CallResult, written};
use crate::{Endpoint, Wire};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The first line of a file.
#[derive(Serialize)]
struct Meta<'a, S> {
    workload: &'static str,
    size: &'a S,
    calls: usize,
    about: &'static str,
}

const ABOUT: &str = "One call per line, in the order in which they are made, by one client, on a database freshly loaded with \
    this size. `answer` is what a right server answers: the status, the headers that this answer has in addition to those of all, \
    and the body, equal field by field; of a problem document `type` and `status` decide, and words may differ.";

/// One of the other lines.
#[derive(Serialize)]
struct Vector {
    kind: &'static str,
    request: Request,
    answer: Answered,
}

#[derive(Serialize)]
struct Request {
    method: &'static str,
    path: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
}

#[derive(Serialize)]
struct Answered {
    status: u16,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
}

/// What a file of vectors holds, from the calls of a script on data of a size and their right answers. A call that is rejected
/// names something that does not exist, and is told so.
///
/// # Panics
/// When a body is not JSON, which a workload's own is.
pub fn recorded<W: Wire>(size: &impl Serialize, golden: &[(W::Call, CallResult<W>)]) -> String {
    let mut text = line(&Meta { workload: W::NAME, size, calls: golden.len(), about: ABOUT });
    for (call, answer) in golden {
        let kind = W::KINDS[W::kind(call)].name;
        text.push_str(&line(&Vector { kind, request: request::<W>(call), answer: answered::<W>(answer) }));
    }
    text
}

fn request<W: Wire>(call: &W::Call) -> Request {
    let Endpoint { method, .. } = W::ENDPOINTS[W::kind(call)];
    let mut headers = BTreeMap::new();
    W::encode_call_headers(call, &mut |name, value| {
        headers.insert(name, value.to_string());
    });
    Request {
        method: method.name(),
        path: written(|into| W::encode_path(call, into)),
        headers,
        body: raw(&written(|into| W::encode_call(call, into))),
    }
}

fn answered<W: Wire>(answer: &CallResult<W>) -> Answered {
    let mut headers = BTreeMap::new();
    let Ok(outcome) = answer else {
        let body = serde_json::json!({ "type": "urn:stackmark:problem:unknown-id", "status": 404 });
        return Answered { status: 404, headers, body: Some(body) };
    };
    W::encode_outcome_headers(outcome, &mut |name, value| {
        headers.insert(name, value.to_string());
    });
    let body = raw(&written(|into| W::encode_outcome(outcome, into)));
    Answered { status: W::status(outcome), headers, body }
}

fn raw(body: &str) -> Option<Value> {
    (!body.is_empty()).then(|| serde_json::from_str(body).expect("bodies are JSON"))
}

fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("plain structs always become JSON");
    line.push('\n');
    line
}
