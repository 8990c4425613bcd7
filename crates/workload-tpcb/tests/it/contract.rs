//! The HTTP contract as written, held to what our own code sends and takes.

use contract::{BadCallKind, Endpoint, Method, Wire};
use model::Workload;
use serde_yaml_ng::Value;
use std::collections::BTreeSet;
use workload_tpcb::{Call, Cardinality, DELTA_MAX, Outcome, Tpcb};

fn contract() -> Value {
    serde_yaml_ng::from_str(include_str!("../../../../spec/openapi/tpcb.yaml")).unwrap()
}

fn schema(name: &str) -> Value {
    contract()["components"]["schemas"][name].clone()
}

fn names(list: &Value) -> BTreeSet<String> {
    list.as_sequence().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Names of the fields that our code writes.
fn written(encode: impl FnOnce(&mut Vec<u8>)) -> BTreeSet<String> {
    let mut body = Vec::new();
    encode(&mut body);
    let json: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&body).unwrap();
    json.keys().cloned().collect()
}

#[test]
fn every_kind_has_its_path() {
    let contract = contract();
    for Endpoint { method, path } in Tpcb::ENDPOINTS {
        assert_eq!(*method, Method::Post);
        assert!(contract["paths"][*path]["post"]["responses"]["200"].is_mapping(), "{path}");
    }
    assert_eq!(Tpcb::ENDPOINTS.len(), Tpcb::KINDS.len());
    assert_eq!(Tpcb::ENDPOINTS[0].path, format!("/{}/{}", Tpcb::NAME, Tpcb::KINDS[0].name));
    let posts = contract["paths"].as_mapping().unwrap().values().filter(|path| path.get("post").is_some());
    assert_eq!(posts.count(), Tpcb::KINDS.len());
}

#[test]
fn fields_are_those_that_we_write() {
    let call = Call { aid: 1, tid: 1, bid: 1, delta: 1 };
    assert_eq!(written(|into| Tpcb::encode_call(&call, into)), names(&schema("TpcbCall")["required"]));
    let outcome = Outcome { abalance: 1 };
    assert_eq!(
        written(|into| Tpcb::encode_outcome(&outcome, into)),
        names(&schema("TpcbOutcome")["required"])
    );
}

#[test]
fn limits_are_those_that_we_keep() {
    let amounts = &schema("TpcbCall")["properties"]["delta"];
    assert_eq!(
        (amounts["minimum"].as_i64(), amounts["maximum"].as_i64()),
        (Some(-DELTA_MAX), Some(DELTA_MAX))
    );
    let balance = &schema("TpcbOutcome")["properties"]["abalance"];
    let call = Call { aid: 1, tid: 1, bid: 1, delta: 1 };
    let check = |abalance| Tpcb::check(&call, &Outcome { abalance });
    let (low, high) = (balance["minimum"].as_i64().unwrap(), balance["maximum"].as_i64().unwrap());
    assert!(check(low).is_ok() && check(high).is_ok() && check(low - 1).is_err() && check(high + 1).is_err());
}

#[test]
fn examples_are_calls_and_answers() {
    let post = &contract()["paths"]["/tpcb/tpcb"]["post"];
    let values = |content: &Value| -> Vec<Vec<u8>> {
        let examples = content["application/json"]["examples"].as_mapping().unwrap();
        examples.values().map(|example| serde_json::to_vec(&example["value"]).unwrap()).collect()
    };
    let size = Cardinality::standard(1);
    for body in values(&post["requestBody"]["content"]) {
        let call = Tpcb::decode_call(0, &size, &contract::Request::of(&body)).unwrap();
        for body in values(&post["responses"]["200"]["content"]) {
            let outcome = Tpcb::decode_outcome(&call, &contract::Answer::of(&body)).unwrap();
            assert_eq!(Tpcb::check(&call, &outcome), Ok(()));
        }
    }
    let error =
        Tpcb::decode_call(0, &size, &contract::Request::of(br#"{"aid":100001,"tid":1,"bid":1,"delta":1}"#))
            .unwrap_err();
    assert_eq!(error.kind, BadCallKind::Unknown);
}
