//! The workload as JSON: `POST /toy/post` with a call, answered with an outcome.

use crate::call::{DELAY_MS_MAX, NUMBER_MAX};
use crate::{Call, Cardinality, Outcome, Toy};
use contract::{Answer, BadCall, BadCallKind, Endpoint, Request, Wire};
use serde::Serialize;

impl Wire for Toy {
    const ENDPOINTS: &'static [Endpoint] = &[Endpoint::post("/toy/post")];
    type Extent = Cardinality;

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        write(call, into);
    }

    fn decode_call(_kind: usize, size: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        let call = read(request.body)?;
        let bad = |kind, detail| Err(BadCall { kind, detail });
        match call {
            Call { id, .. } if !size.has(id) => bad(
                BadCallKind::Unknown,
                format!("box {id} does not exist; it runs from 1 to {}", size.boxes),
            ),
            Call { number, .. } if number > NUMBER_MAX => {
                bad(BadCallKind::Invalid, format!("number is {number}; it runs from 0 to {NUMBER_MAX}"))
            }
            Call { delay_ms, .. } if delay_ms > DELAY_MS_MAX => {
                bad(BadCallKind::Invalid, format!("delay_ms is {delay_ms}; it runs from 0 to {DELAY_MS_MAX}"))
            }
            call => Ok(call),
        }
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        write(outcome, into);
    }

    fn decode_outcome(_: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        serde_json::from_slice(answer.body).map_err(|error| error.to_string())
    }
}

fn write(value: &impl Serialize, into: &mut Vec<u8>) {
    serde_json::to_writer(into, value).expect("plain structs always become JSON, and a Vec takes every byte");
}

fn read(body: &[u8]) -> Result<Call, BadCall> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = contract::strict::read(&mut json);
    read.and_then(|call| json.end().map(|()| call).map_err(|error| (None, error))).map_err(
        |(field, error)| {
            let kind = if error.is_data() { BadCallKind::Invalid } else { BadCallKind::Malformed };
            BadCall::unread(kind, field, &error)
        },
    )
}
