//! The golden vectors: the script as requests with their answers, recorded in `spec/vectors/catalogue.jsonl` for every
//! language.

use super::{Answer, script};
use crate::{Call, Cardinality, FoodCatalogue, Oracle};
use model::conformance::written;
use model::{Endpoint, Wire, Workload};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The first line of the file.
#[derive(Debug, Serialize)]
struct Meta {
    workload: &'static str,
    size: Cardinality,
    calls: usize,
    about: &'static str,
}

const ABOUT: &str = "One call a line, in the order in which they are made, by one client, on a database freshly loaded with \
    this size. `answer` is what a right server answers: the status, the headers that this answer has beside those of all, \
    and the body, equal field by field; of a problem document `type` and `status` decide, and words may differ.";

/// One of the other lines.
#[derive(Debug, Serialize)]
struct Vector {
    kind: &'static str,
    request: Request,
    answer: Answered,
}

#[derive(Debug, Serialize)]
struct Request {
    method: &'static str,
    path: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Answered {
    status: u16,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
}

/// The calls and their answers, in order: those of the oracle, which a test holds to the recorded ones.
pub(super) fn golden() -> Vec<(Call, Answer)> {
    let mut oracle = Oracle::new(Cardinality::tiny());
    let answered = |call: Call| {
        let answer = oracle.answer(&call);
        (call, Ok(answer))
    };
    script::calls(Cardinality::tiny()).into_iter().map(answered).collect()
}

/// What `spec/vectors/catalogue.jsonl` must hold.
#[must_use]
pub fn recorded() -> String {
    let golden = golden();
    let size = Cardinality::tiny();
    let meta = Meta { workload: FoodCatalogue::NAME, size, calls: golden.len(), about: ABOUT };
    let mut text = line(&meta);
    for (call, answer) in &golden {
        let Ok(outcome) = answer else { continue };
        let mut headers = BTreeMap::new();
        FoodCatalogue::encode_outcome_headers(outcome, &mut |name, value| {
            headers.insert(name, value.to_string());
        });
        let body = written(|into| FoodCatalogue::encode_outcome(outcome, into));
        let status = FoodCatalogue::status(outcome);
        let kind = FoodCatalogue::kind(call);
        text.push_str(&line(&Vector {
            kind: FoodCatalogue::KINDS[kind].name,
            request: request(kind, call),
            answer: Answered { status, headers, body: raw(body) },
        }));
    }
    text
}

fn request(kind: usize, call: &Call) -> Request {
    let Endpoint { method, .. } = FoodCatalogue::ENDPOINTS[kind];
    let mut headers = BTreeMap::new();
    FoodCatalogue::encode_call_headers(call, &mut |name, value| {
        headers.insert(name, value.to_string());
    });
    Request {
        method: method.name(),
        path: written(|into| FoodCatalogue::encode_path(call, into)),
        headers,
        body: raw(written(|into| FoodCatalogue::encode_call(call, into))),
    }
}

fn raw(body: String) -> Option<Value> {
    (!body.is_empty()).then(|| serde_json::from_str(&body).expect("bodies are JSON"))
}

fn line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("plain structs always become JSON");
    line.push('\n');
    line
}
