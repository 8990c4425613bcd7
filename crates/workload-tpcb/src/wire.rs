//! The workload as JSON. The contract is `spec/openapi/tpcb.yaml`.

use crate::{Call, Cardinality, DELTA_MAX, Outcome, Tpcb};
use contract::json::write;
use contract::{Answer, BadCall, BadCallKind, Endpoint, Race, Request, Wire, strict};
use std::ops::RangeInclusive;

impl Wire for Tpcb {
    const ENDPOINTS: &'static [Endpoint] = &[Endpoint::post("/tpcb/tpcb")];
    const CONTRACT: &'static [(&'static str, &'static str)] = &[
        ("tpcb.yaml", include_str!("../spec/openapi/tpcb.yaml")),
        ("common.yaml", include_str!("../spec/openapi/common.yaml")),
    ];
    type Extent = Cardinality;

    fn races(extent: &Cardinality, salt: u32, round: u32) -> Vec<Race<Tpcb>> {
        crate::races::races(extent, salt, round)
    }

    fn encode_call(call: &Call, into: &mut Vec<u8>) {
        write(call, into);
    }

    fn decode_call(kind: usize, size: &Cardinality, request: &Request<'_>) -> Result<Call, BadCall> {
        if kind != 0 {
            return Err(bad(BadCallKind::Unknown, format!("there is no kind {kind}")));
        }
        let call: Call = strict::body(request.body)?;
        known("aid", call.aid, size.ids(size.accounts))?;
        known("tid", call.tid, size.ids(size.tellers))?;
        known("bid", call.bid, size.ids(1))?;
        if !call.stays_within_a_store(size) {
            let Call { aid, tid, bid, .. } = call;
            let [account, teller, branch] = call.shards(size);
            let detail = format!(
                "a call stays within one store; aid {aid} is in shard-{account}, tid {tid} in shard-{teller}, bid {bid} in shard-{branch}"
            );
            return Err(bad(BadCallKind::Invalid, detail));
        }
        if !(-DELTA_MAX..=DELTA_MAX).contains(&call.delta) {
            let detail = format!("delta is {}; it runs from {} to {DELTA_MAX}", call.delta, -DELTA_MAX);
            return Err(bad(BadCallKind::Invalid, detail));
        }
        Ok(call)
    }

    fn encode_outcome(outcome: &Outcome, into: &mut Vec<u8>) {
        write(outcome, into);
    }

    fn decode_outcome(_: &Call, answer: &Answer<'_>) -> Result<Outcome, String> {
        serde_json::from_slice(answer.body).map_err(|error| error.to_string())
    }
}

fn bad(kind: BadCallKind, detail: String) -> BadCall {
    BadCall { kind, detail }
}

/// An id of something stored.
fn known(name: &str, id: u32, ids: RangeInclusive<u32>) -> Result<(), BadCall> {
    if ids.contains(&id) {
        return Ok(());
    }
    let (first, last) = ids.into_inner();
    Err(bad(BadCallKind::Unknown, format!("{name} {id} does not exist; it runs from {first} to {last}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Inputs;
    use model::Inputs as _;

    fn json(encode: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut body = Vec::new();
        encode(&mut body);
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn calls_and_outcomes_survive_the_wire() {
        let size = Cardinality::standard(3);
        let mut inputs = Inputs::new(size, 1, 0);
        for _ in 0..1_000 {
            let call = inputs.draw();
            let sent = json(|into| Tpcb::encode_call(&call, into));
            assert_eq!(Tpcb::decode_call(0, &size, &contract::Request::of(sent.as_bytes())).unwrap(), call);
            let outcome = Outcome { abalance: call.delta * 100_000 };
            let answered = json(|into| Tpcb::encode_outcome(&outcome, into));
            assert_eq!(Tpcb::decode_outcome(&call, &contract::Answer::of(answered.as_bytes())), Ok(outcome));
        }
    }

    #[test]
    fn the_json_is_the_contracts() {
        let call = Call { aid: 1, tid: 2, bid: 3, delta: -4 };
        assert_eq!(json(|into| Tpcb::encode_call(&call, into)), r#"{"aid":1,"tid":2,"bid":3,"delta":-4}"#);
        assert_eq!(json(|into| Tpcb::encode_outcome(&Outcome { abalance: -4 }, into)), r#"{"abalance":-4}"#);
    }

    #[test]
    fn what_is_wrong_with_a_call_is_said() {
        use BadCallKind::{Invalid, Malformed, Unknown};
        let check = |body: &str, expected: BadCallKind, words: &str| {
            let error =
                Tpcb::decode_call(0, &Cardinality::standard(1), &contract::Request::of(body.as_bytes()))
                    .unwrap_err();
            assert!(error.kind == expected && error.detail.contains(words), "{body}: {error:?}");
        };
        check("{", Malformed, "EOF");
        check("", Malformed, "EOF");
        check("[]", Invalid, "invalid type: array, expected an object");
        check("[1,1,1,1]", Invalid, "invalid type: array, expected an object");
        check("7", Invalid, "invalid type: integer `7`, expected an object");
        check(r#"{"aid":1,"tid":1,"bid":1}"#, Invalid, "missing field `delta`");
        check(r#"{"aid":1,"tid":1,"bid":1,"delta":1,"x":1}"#, Invalid, "unknown field `x`");
        check(r#"{"aid":1,"aid":1,"tid":1,"bid":1,"delta":1}"#, Invalid, "duplicate field `aid`");
        check(r#"{"aid":"1","tid":1,"bid":1,"delta":1}"#, Invalid, "aid: invalid type: string");
        check(r#"{"aid":-1,"tid":1,"bid":1,"delta":1}"#, Invalid, "aid: invalid value: integer `-1`");
        check(r#"{"aid":1,"tid":1,"bid":1,"delta":0.5}"#, Invalid, "expected a whole number from -");
        check(
            r#"{"aid":1,"tid":1,"bid":1,"delta":5001}"#,
            Invalid,
            "delta is 5001; it runs from -5000 to 5000",
        );
        check(r#"{"aid":1,"tid":1,"bid":1,"delta":-5001}"#, Invalid, "delta is -5001");
        check(r#"{"aid":0,"tid":1,"bid":1,"delta":1}"#, Unknown, "aid 0 does not exist");
        check(r#"{"aid":100001,"tid":1,"bid":1,"delta":1}"#, Unknown, "it runs from 1 to 100000");
        check(r#"{"aid":1,"tid":11,"bid":1,"delta":1}"#, Unknown, "tid 11 does not exist");
        check(r#"{"aid":1,"tid":1,"bid":2,"delta":1}"#, Unknown, "bid 2 does not exist");
        let body = br#"{"aid":1,"tid":1,"bid":1,"delta":1}"#;
        let error =
            Tpcb::decode_call(1, &Cardinality::standard(1), &contract::Request::of(body)).unwrap_err();
        assert_eq!((error.kind, &*error.detail), (Unknown, "there is no kind 1"));
    }

    #[test]
    fn a_call_over_two_stores_is_told_where_its_ids_are() {
        let size = Cardinality { shards: 2, ..Cardinality::standard(3) };
        let decode = |body: &str| Tpcb::decode_call(0, &size, &contract::Request::of(body.as_bytes()));
        let error = decode(r#"{"aid":100000,"tid":11,"bid":1,"delta":1}"#).unwrap_err();
        let expected =
            "a call stays within one store; aid 100000 is in shard-0, tid 11 in shard-1, bid 1 in shard-0";
        assert_eq!((error.kind, &*error.detail), (BadCallKind::Invalid, expected));
        assert!(decode(r#"{"aid":100001,"tid":11,"bid":3,"delta":1}"#).is_ok());
        assert!(decode(r#"{"aid":300001,"tid":11,"bid":3,"delta":1}"#).is_err());
    }

    #[test]
    fn an_answer_without_a_balance_is_no_answer_and_more_fields_are_none_of_ours() {
        let call = Call { aid: 1, tid: 1, bid: 1, delta: 1 };
        assert!(
            Tpcb::decode_outcome(&call, &contract::Answer::of(b"{}"))
                .unwrap_err()
                .contains("missing field `abalance`")
        );
        assert!(Tpcb::decode_outcome(&call, &contract::Answer::of(br#"{"abalance":1.5}"#)).is_err());
        assert_eq!(
            Tpcb::decode_outcome(&call, &contract::Answer::of(br#"{"abalance":1,"teller":"Ann"}"#)),
            Ok(Outcome { abalance: 1 })
        );
    }
}
