//! The golden vectors: the script with its answers, recorded in `spec/vectors/tpcb.jsonl` for every language.

use super::{CallResult, script};
use crate::{Call, Cardinality, Data, Oracle, Outcome, Tpcb};
use contract::conformance::{call_json, describe};
use model::{DefectKind, Fault, Workload};
use serde::{Deserialize, Serialize};

const COMMITTED: &str = include_str!("../../spec/vectors/tpcb.jsonl");

/// How a vector says that the call is rejected: the type of the problem document without its prefix.
const UNKNOWN_ID: &str = "unknown-id";

/// The first line of the file.
#[derive(Debug, Serialize)]
struct Meta {
    workload: &'static str,
    size: Cardinality,
    calls: usize,
    about: &'static str,
}

const ABOUT: &str = "One call per line, in the order in which they are made, by one client, on a database freshly \
    loaded with this size: that many accounts and tellers a branch, all balances zero. `call` is the body of the request \
    of that `kind`. `outcome` is the body of the answer: equal field by field. Where `problem` stands instead, the call \
    is rejected with a problem document of that type, and nothing is stored.";

/// One of the other lines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    kind: String,
    call: Call,
    outcome: Option<Outcome>,
    problem: Option<String>,
}

/// The calls and their recorded answers, in order.
pub(super) fn golden() -> Vec<(Call, CallResult)> {
    COMMITTED.lines().skip(1).map(|line| read(line).expect("a test reads the committed file")).collect()
}

fn read(line: &str) -> Result<(Call, CallResult), String> {
    let vector: Vector = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if !Tpcb::KINDS.iter().any(|kind| kind.name == vector.kind) {
        return Err(format!("unknown kind {}", vector.kind));
    }
    let answer = match (vector.outcome, vector.problem.as_deref()) {
        (Some(outcome), None) => Ok(outcome),
        (None, Some(UNKNOWN_ID)) => Err(Fault::defect(DefectKind::BadCall, UNKNOWN_ID)),
        _ => return Err("neither an outcome nor a known problem".into()),
    };
    Ok((vector.call, answer))
}

/// What `spec/vectors/tpcb.jsonl` must hold, recorded again from the script and the oracle.
pub fn recorded() -> String {
    let size = Cardinality::tiny();
    let mut oracle = Oracle::new(&Data::new(size));
    let calls = script::calls(size);
    let meta = Meta { workload: Tpcb::NAME, size, calls: calls.len(), about: ABOUT };
    let mut text = serde_json::to_string(&meta).expect("plain structs always become JSON");
    text.push('\n');
    for call in calls {
        let kind = Tpcb::KINDS[Tpcb::kind(&call)].name;
        let asked = call_json::<Tpcb>(&call);
        let answer = oracle.answer(&call);
        let answered = match &answer {
            Ok(_) => format!(r#""outcome":{}"#, describe::<Tpcb>(&answer)),
            Err(_) => format!(r#""problem":"{UNKNOWN_ID}""#),
        };
        text.push_str(&format!("{{\"kind\":\"{kind}\",\"call\":{asked},{answered}}}\n"));
    }
    text
}
