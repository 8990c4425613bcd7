//! The contract in `spec/openapi` and what our codec and server really do are the same thing.

use contract::schema::Schema;
use contract::{BadCallKind, Method, Wire};
use model::{
    AnyTarget, CallWork, Conflict, DefectKind, Doubt, Fault, Home, Inputs as _, OpenError, Refusal, Session,
    Stack, Target, Workload,
};
use serde_json::{Value, json};
use server::{Server, Settings};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use workload_tpcc::{Call, Cardinality, Inputs, Outcome, Tpcc, kind};

const CONTRACT: &str = include_str!("../../../../spec/openapi/tpcc.yaml");
const COMMON: &str = include_str!("../../../../spec/openapi/common.yaml");
const VECTORS: &str = include_str!("../../../../spec/vectors/tpcc.jsonl");

/// The contract with its common parts under `common`, and every reference to them turned that way.
fn contract() -> Value {
    let mut contract = read(CONTRACT, "common.yaml#/", "#/common/");
    contract["common"] = read(COMMON, "#/", "#/common/");
    contract
}

fn read(text: &str, from: &str, to: &str) -> Value {
    let mut document: serde_yaml_ng::Value = serde_yaml_ng::from_str(text).unwrap();
    document.apply_merge().unwrap();
    let mut document = serde_json::to_value(document).unwrap();
    turn_references(&mut document, from, to);
    document
}

fn turn_references(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && let Some(rest) = reference.strip_prefix(from)
            {
                *reference = format!("{to}{rest}");
            }
            members.values_mut().for_each(|member| turn_references(member, from, to));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| turn_references(item, from, to)),
        _ => {}
    }
}

/// The schema at this place of the contract.
fn schema(contract: &Value, pointer: &str) -> Schema {
    Schema::at(contract.clone(), pointer).unwrap()
}

fn escaped(path: &str) -> String {
    path.replace('/', "~1")
}

fn call_schema(contract: &Value, kind: usize) -> Schema {
    let path = escaped(Tpcc::ENDPOINTS[kind].path);
    schema(contract, &format!("/paths/{path}/post/requestBody/content/application~1json/schema"))
}

fn outcome_schema(contract: &Value, kind: usize) -> Schema {
    let path = escaped(Tpcc::ENDPOINTS[kind].path);
    schema(contract, &format!("/paths/{path}/post/responses/200/content/application~1json/schema"))
}

#[track_caller]
fn is_valid(schema: &Schema, value: &Value) {
    assert_eq!(schema.violations(value), [""; 0]);
}

fn encoded(call: &Call) -> Value {
    let mut body = Vec::new();
    Tpcc::encode_call(call, &mut body);
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn the_paths_are_those_that_are_served() {
    let contract = contract();
    assert_eq!(contract["openapi"], "3.1.0");
    let mut paths: Vec<(&str, &str)> = Vec::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        let operations = match item["$ref"].as_str() {
            Some(elsewhere) => contract.pointer(&elsewhere[1..]).unwrap(),
            None => item,
        };
        paths.extend(operations.as_object().unwrap().keys().map(|method| (path.as_str(), method.as_str())));
    }
    let posts = Tpcc::ENDPOINTS.iter().inspect(|endpoint| assert_eq!(endpoint.method, Method::Post));
    let mut served: Vec<_> = posts.map(|endpoint| (endpoint.path, "post")).collect();
    served.extend([("/health", "get"), ("/about", "get")]);
    paths.sort_unstable();
    served.sort_unstable();
    assert_eq!(paths, served);
    assert_eq!(Tpcc::ENDPOINTS[kind::NEW_ORDER].path, "/tpcc/new-order");
}

#[test]
fn every_reference_and_every_example_of_the_contract_holds() {
    let contract = contract();
    let mut checked = 0;
    let mut places = vec![(String::new(), &contract)];
    while let Some((place, value)) = places.pop() {
        let members: Vec<(String, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(name, value)| (escaped_key(name), value)).collect()
            }
            Value::Array(items) => {
                items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()
            }
            _ => Vec::new(),
        };
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            assert!(contract.pointer(target.strip_prefix('#').unwrap()).is_some(), "{place}: {target}");
        }
        if let (Some(examples), Some(_)) = (value.get("examples"), value.get("schema")) {
            let schema = schema(&contract, &format!("{place}/schema"));
            for example in examples.as_object().unwrap().values() {
                is_valid(&schema, &example["value"]);
                checked += 1;
            }
        }
        places.extend(members.into_iter().map(|(name, value)| (format!("{place}/{name}"), value)));
    }
    assert!(checked >= 14, "{checked}");
}

fn escaped_key(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[test]
fn the_examples_of_calls_and_answers_are_understood_and_right() {
    let contract = contract();
    for (kind, path) in Tpcc::ENDPOINTS.iter().map(|endpoint| endpoint.path).enumerate() {
        let post = &contract["paths"][path]["post"];
        let calls = &post["requestBody"]["content"]["application/json"]["examples"];
        let outcomes = &post["responses"]["200"]["content"]["application/json"]["examples"];
        let decode = |call: &Value| {
            Tpcc::decode_call(
                kind,
                &Cardinality::standard(1),
                &contract::Request::of(call["value"].to_string().as_bytes()),
            )
            .unwrap()
        };
        let calls: Vec<Call> = calls.as_object().unwrap().values().map(decode).collect();
        for outcome in outcomes.as_object().unwrap().values() {
            let answers = |call: &Call| {
                let outcome = Tpcc::decode_outcome(
                    call,
                    &contract::Answer::of(outcome["value"].to_string().as_bytes()),
                )
                .unwrap();
                Tpcc::check(call, &outcome).is_ok()
            };
            assert!(calls.iter().any(answers), "{path}: no example of a call has this answer: {outcome}");
        }
    }
}

#[test]
fn calls_that_are_really_sent_fit_the_contract() {
    let contract = contract();
    let schemas: Vec<_> = (0..Tpcc::ENDPOINTS.len()).map(|kind| call_schema(&contract, kind)).collect();
    let mut inputs = Inputs::new(Cardinality::standard(3), 7, 1, 0);
    for _ in 0..2_300 {
        let call = inputs.draw();
        is_valid(&schemas[Tpcc::kind(&call)], &encoded(&call));
    }
}

/// What each value is replaced by: nothing, other types, and numbers and texts on both sides of every limit.
fn replacements() -> Vec<Option<Value>> {
    const NUMBERS: [u64; 15] = [
        0,
        1,
        5,
        9,
        10,
        11,
        20,
        21,
        3_000,
        3_001,
        1_000_000_000,
        1_000_000_001,
        4_294_967_295,
        4_294_967_296,
        u64::MAX,
    ];
    let others = [Value::Null, json!("7"), json!(1.5), json!(-1), json!({}), json!([]), json!(true)];
    let texts = [0, 1, 16, 17].map(|length| json!("X".repeat(length)));
    let numbers = NUMBERS.map(|number| json!(number));
    std::iter::once(None).chain(others.into_iter().chain(texts).chain(numbers).map(Some)).collect()
}

/// Each variant of `value` in which one member, at any depth, is wrong or one more is there.
fn variants(value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    match value {
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("unknown_field".into(), json!(1));
            all.push(Value::Object(more));
            for (name, member) in members {
                for variant in replacements().into_iter().chain(variants(member).into_iter().map(Some)) {
                    let mut changed = members.clone();
                    match variant {
                        Some(variant) => drop(changed.insert(name.clone(), variant)),
                        None => drop(changed.remove(name)),
                    }
                    all.push(Value::Object(changed));
                }
            }
        }
        Value::Array(items) => {
            let first = items.first().map(variants).unwrap_or_default();
            for variant in first {
                let mut changed = items.clone();
                changed[0] = variant;
                all.push(Value::Array(changed));
            }
            for length in [items.len().saturating_sub(11), 4, 5, 15, 16] {
                all.push(Value::Array(items.iter().cycle().take(length).cloned().collect()));
            }
        }
        _ => {}
    }
    all
}

#[test]
fn the_codec_takes_exactly_the_calls_that_the_contract_allows() {
    let contract = contract();
    let size = Cardinality::standard(3);
    let mut inputs = Inputs::new(size, 7, 1, 0);
    let (mut taken, mut rejected) = (0, 0);
    for _ in 0..46 {
        let call = inputs.draw();
        let kind = Tpcc::kind(&call);
        let schema = call_schema(&contract, kind);
        for variant in variants(&encoded(&call)) {
            let allowed = schema.is_valid(&variant);
            let decoded =
                Tpcc::decode_call(kind, &size, &contract::Request::of(variant.to_string().as_bytes()));
            match decoded {
                Ok(_) => assert!(allowed, "the codec takes {variant}"),
                // A schema cannot know which ids are loaded.
                Err(bad) if bad.kind == BadCallKind::Unknown => {}
                Err(bad) => assert!(!allowed, "the codec rejects {variant}: {}", bad.detail),
            }
            if allowed { taken += 1 } else { rejected += 1 }
        }
    }
    assert!(taken > 10 && rejected > 1_000, "{taken} {rejected}");
}

#[test]
fn answers_that_are_really_given_fit_the_contract() {
    let contract = contract();
    let mut seen = [0; 5];
    for line in VECTORS.lines().skip(1) {
        let vector: Value = serde_json::from_str(line).unwrap();
        let kind = Tpcc::KINDS.iter().position(|kind| vector["kind"] == kind.name).unwrap();
        is_valid(&call_schema(&contract, kind), &vector["call"]);
        if vector["outcome"].is_null() {
            continue;
        }
        seen[kind] += 1;
        let schema = outcome_schema(&contract, kind);
        is_valid(&schema, &vector["outcome"]);
        let call = Tpcc::decode_call(
            kind,
            &Cardinality::tiny(),
            &contract::Request::of(vector["call"].to_string().as_bytes()),
        )
        .unwrap();
        let outcome =
            Tpcc::decode_outcome(&call, &contract::Answer::of(vector["outcome"].to_string().as_bytes()))
                .unwrap();
        let mut body = Vec::new();
        Tpcc::encode_outcome(&outcome, &mut body);
        is_valid(&schema, &serde_json::from_slice(&body).unwrap());
        an_answer_without_a_required_field_is_no_answer(&schema, &call, &vector["outcome"]);
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

fn an_answer_without_a_required_field_is_no_answer(schema: &Schema, call: &Call, outcome: &Value) {
    for (name, value) in outcome.as_object().unwrap() {
        let mut without = outcome.clone();
        without.as_object_mut().unwrap().remove(name);
        let decoded = Tpcc::decode_outcome(call, &contract::Answer::of(without.to_string().as_bytes()));
        // The codec is kinder than the contract in one thing: what may be null may be left out.
        if !value.is_null() && name != "o_carrier_id" {
            assert_eq!(schema.is_valid(&without), decoded.is_ok(), "without {name}: {outcome}");
        }
    }
}

/// Answers each kind of call in its own way.
struct EachItsOwn;

impl Target<Tpcc> for EachItsOwn {
    type Session = EachItsOwn;

    fn home(&self) -> Home {
        Home::Task
    }

    async fn open(&self, _: u32) -> Result<EachItsOwn, OpenError> {
        Ok(EachItsOwn)
    }

    fn stack(&self) -> Stack {
        Stack { settings: vec![("cache".into(), "1".into())], ..Stack::default() }
    }
}

impl Session<Tpcc> for EachItsOwn {
    async fn run(&mut self, call: &Call, _: &mut CallWork) -> Result<Outcome, Fault> {
        match call {
            Call::NewOrder(_) => Err(Fault::Conflict(Conflict::Serialization)),
            Call::Payment(_) => Err(Fault::Refused(Refusal::UNWRITABLE)),
            Call::OrderStatus(_) => Err(Fault::InDoubt(Doubt::Deadline)),
            Call::Delivery(_) => Err(Fault::InDoubt(Doubt::CommitUnanswered)),
            Call::StockLevel(call) if call.d_id == 1 => Err(Fault::defect(DefectKind::Engine, "x")),
            Call::StockLevel(_) => Err(Fault::defect(DefectKind::BadCall, "x")),
        }
    }
}

/// Status, media type and body of the answer.
fn ask(addr: SocketAddr, method: &str, path: &str, media: &str, body: &str) -> (String, String, Value) {
    let mut stream = TcpStream::connect(addr).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {media}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let media = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap();
    (head.split(' ').nth(1).unwrap().into(), media.into(), serde_json::from_str(body).unwrap())
}

#[test]
fn what_the_server_says_beside_outcomes_fits_the_contract() {
    let contract = contract();
    let settings = Settings { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Settings::default() };
    let bound = Server::bind(settings).unwrap();
    let addr = bound.addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = std::thread::spawn(move || {
        bound.serve::<Tpcc>(AnyTarget::new(EachItsOwn), Cardinality::standard(1), async {
            let _ = stopped.await;
        })
    });

    for (path, place) in
        [("/about", "/components/schemas/About"), ("/health", "/common/components/schemas/Health")]
    {
        let (status, media, body) = ask(addr, "GET", path, "", "");
        assert_eq!((status.as_str(), media.as_str()), ("200", "application/json"));
        is_valid(&schema(&contract, place), &body);
    }

    let problem = schema(&contract, "/common/components/schemas/Problem");
    let json = "application/json";
    let example = |kind: usize| {
        let post = &contract["paths"][Tpcc::ENDPOINTS[kind].path]["post"];
        let examples = post["requestBody"]["content"]["application/json"]["examples"].as_object().unwrap();
        examples.values().next().unwrap()["value"].to_string()
    };
    let mut statuses = Vec::new();
    for (path, media, body, want) in [
        (Tpcc::ENDPOINTS[0].path, json, example(0), "409"),
        (Tpcc::ENDPOINTS[1].path, json, example(1), "503"),
        (Tpcc::ENDPOINTS[2].path, json, example(2), "504"),
        (Tpcc::ENDPOINTS[3].path, json, example(3), "500"),
        (Tpcc::ENDPOINTS[4].path, json, r#"{"w_id":1,"d_id":1,"threshold":10}"#.into(), "500"),
        (Tpcc::ENDPOINTS[4].path, json, r#"{"w_id":1,"d_id":2,"threshold":10}"#.into(), "404"),
        (Tpcc::ENDPOINTS[0].path, json, "{".into(), "400"),
        (Tpcc::ENDPOINTS[0].path, json, "{}".into(), "422"),
        (Tpcc::ENDPOINTS[0].path, "text/plain", "{}".into(), "415"),
        (Tpcc::ENDPOINTS[0].path, json, " ".repeat(65_537), "413"),
        ("/tpcc/refund", json, "{}".into(), "404"),
        ("/about", json, "{}".into(), "405"),
    ] {
        let (status, media, body) = ask(addr, "POST", path, media, &body);
        assert_eq!((status.as_str(), media.as_str()), (want, "application/problem+json"), "{path}");
        is_valid(&problem, &body);
        statuses.push(status);
    }
    let described = contract["paths"][Tpcc::ENDPOINTS[0].path]["post"]["responses"].as_object().unwrap();
    assert!(statuses.iter().all(|status| described.contains_key(status)), "{statuses:?}");

    stop.send(()).unwrap();
    server.join().unwrap().unwrap();
}
