//! The golden vectors: the script with its answers, recorded in `spec/vectors/tpcc.jsonl` for every language.

use super::agree::{TIME_MAX, TIMES};
use super::{CallResult, GOLDEN_LOAD_SEED, script};
use crate::{Call, Cardinality, Data, LOADED_AT, Oracle, Tpcc};
use contract::Wire;
use contract::conformance::{call_json, describe};
use model::{DefectKind, Fault, Workload};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const COMMITTED: &str = include_str!("../../spec/vectors/tpcc.jsonl");

/// How a vector says that the call is rejected: the type of the problem document without its prefix.
const UNKNOWN_ID: &str = "unknown-id";

/// The first line of the file.
#[derive(Debug, Serialize)]
struct Meta {
    workload: &'static str,
    size: Cardinality,
    load_seed: u64,
    loaded_at: i64,
    calls: usize,
    times: [&'static str; 3],
    time_max: i64,
    about: &'static str,
}

const ABOUT: &str = "One call per line, in the order in which they are made, by one client, on a database freshly \
    loaded with this size and load_seed. `call` is the body of the request of that `kind`. `outcome` is the body of \
    the answer: equal field by field, the order of fields aside. Only the fields named in `times` hold the time of the \
    call, in seconds since 1970: there a number stands for itself or anything greater, up to time_max, while null stands \
    for null. Where `problem` stands instead, the call is rejected with a problem document of that type, and nothing is \
    stored. Amounts are in cents, rates in ten-thousandths. First names sort byte by byte.";

/// One of the other lines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    kind: String,
    call: Value,
    outcome: Option<Value>,
    problem: Option<String>,
}

/// The calls and their recorded answers, in order.
pub(super) fn golden() -> Vec<(Call, CallResult)> {
    COMMITTED.lines().skip(1).map(|line| read(line).expect("a test reads the committed file")).collect()
}

fn read(line: &str) -> Result<(Call, CallResult), String> {
    let vector: Vector = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let kind = Tpcc::KINDS.iter().position(|kind| kind.name == vector.kind);
    let kind = kind.ok_or_else(|| format!("unknown kind {}", vector.kind))?;
    let call = Tpcc::decode_call(
        kind,
        &Cardinality::tiny(),
        &contract::Request::of(vector.call.to_string().as_bytes()),
    );
    let call = call.map_err(|error| error.to_string())?;
    let answer = match (vector.outcome, vector.problem.as_deref()) {
        (Some(outcome), None) => {
            Ok(Tpcc::decode_outcome(&call, &contract::Answer::of(outcome.to_string().as_bytes()))?)
        }
        (None, Some(UNKNOWN_ID)) => Err(Fault::defect(DefectKind::BadCall, UNKNOWN_ID)),
        _ => return Err("neither an outcome nor a known problem".into()),
    };
    Ok((call, answer))
}

/// What `spec/vectors/tpcc.jsonl` must hold, recorded again from the script and the oracle.
pub fn recorded() -> String {
    let data = Data::new(Cardinality::tiny(), GOLDEN_LOAD_SEED);
    let mut oracle = Oracle::new(&data);
    let calls = script::calls(&data);
    let meta = Meta {
        workload: Tpcc::NAME,
        size: data.size(),
        load_seed: GOLDEN_LOAD_SEED,
        loaded_at: LOADED_AT,
        calls: calls.len(),
        times: TIMES,
        time_max: TIME_MAX,
        about: ABOUT,
    };
    let mut text = serde_json::to_string(&meta).expect("plain structs always become JSON");
    text.push('\n');
    for call in calls {
        let kind = Tpcc::KINDS[Tpcc::kind(&call)].name;
        let asked = call_json::<Tpcc>(&call);
        let answer = oracle.answer(&call);
        let answered = match &answer {
            Ok(_) => format!(r#""outcome":{}"#, describe::<Tpcc>(&answer)),
            Err(_) => format!(r#""problem":"{UNKNOWN_ID}""#),
        };
        text.push_str(&format!("{{\"kind\":\"{kind}\",\"call\":{asked},{answered}}}\n"));
    }
    text
}
