//! The HTTP contract as written, held to what our own code sends and answers: every exchange of the golden vectors.

use contract::{Endpoint, Wire};
use model::Workload;
use serde_json::Value;
use std::collections::BTreeSet;
use workload_catalogue::FoodCatalogue;

fn contract() -> Value {
    read(include_str!("../../../../spec/openapi/catalogue.yaml"))
}

/// What it refers to.
fn parts() -> Value {
    read(include_str!("../../../../spec/openapi/catalogue-parts.yaml"))
}

fn read(text: &str) -> Value {
    let mut yaml: serde_yaml_ng::Value = serde_yaml_ng::from_str(text).unwrap();
    yaml.apply_merge().unwrap();
    serde_yaml_ng::from_value(yaml).unwrap()
}

#[test]
fn every_kind_has_its_path_and_its_method() {
    let contract = contract();
    let mut operations = BTreeSet::new();
    for (Endpoint { method, path }, kind) in FoodCatalogue::ENDPOINTS.iter().zip(FoodCatalogue::KINDS) {
        let operation = &contract["paths"][*path][method.name().to_lowercase()];
        assert_eq!(operation["operationId"], kind.name, "{path}");
        assert_eq!(operation["requestBody"].is_object(), method.has_body(), "{path}");
        operations.insert(operation["operationId"].as_str().unwrap().to_owned());
    }
    let all: BTreeSet<String> = contract["paths"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_object)
        .flat_map(|path| path.values())
        .filter_map(|operation| Some(operation.get("operationId")?.as_str()?.to_owned()))
        .collect();
    assert_eq!(all.difference(&operations).collect::<Vec<_>>(), ["about"]);
}

/// What the contract asks of a body, as far as fields, types and bounds go.
fn fits(parts: &Value, schema: &Value, body: &Value, path: &str) {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(name) => parts.pointer(name.rsplit('#').next().unwrap()).unwrap(),
        None => schema,
    };
    if let Some(options) = schema.get("oneOf") {
        let fit = |option: &&Value| (option["type"] == "null") == body.is_null();
        return fits(parts, options.as_array().unwrap().iter().find(fit).unwrap(), body, path);
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = body.as_object().unwrap_or_else(|| panic!("{path}: {body}"));
            let known = schema["properties"].as_object().unwrap();
            for (name, value) in fields {
                let of = known.get(name).unwrap_or_else(|| panic!("{path}.{name} is not in the contract"));
                fits(parts, of, value, &format!("{path}.{name}"));
            }
            for name in schema["required"].as_array().unwrap() {
                assert!(fields.contains_key(name.as_str().unwrap()), "{path}: {name} is missing");
            }
        }
        Some("array") => {
            let elements = body.as_array().unwrap();
            elements.iter().for_each(|element| fits(parts, &schema["items"], element, path));
        }
        Some("integer") => {
            let number = body.as_i64().unwrap_or_else(|| panic!("{path}: {body}"));
            assert!(schema.get("minimum").is_none_or(|least| number >= least.as_i64().unwrap()), "{path}");
            assert!(schema.get("maximum").is_none_or(|most| number <= most.as_i64().unwrap()), "{path}");
        }
        Some("string") => {
            let text = body.as_str().unwrap_or_else(|| panic!("{path}: {body}"));
            let listed = schema.get("enum").and_then(Value::as_array);
            assert!(listed.is_none_or(|all| all.iter().any(|one| one == text)), "{path}: {text}");
        }
        _ if schema.get("const").is_some() => assert_eq!(*body, schema["const"], "{path}"),
        Some("null") => assert!(body.is_null(), "{path}: {body}"),
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn every_exchange_of_the_vectors_is_in_the_contract() {
    let (contract, parts) = (contract(), parts());
    let vectors = include_str!("../../../../spec/vectors/catalogue.jsonl");
    let mut met = BTreeSet::new();
    for line in vectors.lines().skip(1) {
        let vector: Value = serde_json::from_str(line).unwrap();
        let kind = FoodCatalogue::KINDS.iter().position(|kind| vector["kind"] == kind.name).unwrap();
        let Endpoint { method, path } = FoodCatalogue::ENDPOINTS[kind];
        let operation = &contract["paths"][path][method.name().to_lowercase()];
        if let Some(body) = vector["request"].get("body") {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            fits(&parts, schema, body, line);
        }
        let status = vector["answer"]["status"].to_string();
        let response = operation["responses"].get(&status).unwrap_or_else(|| panic!("{status}: {line}"));
        for (name, _) in vector["answer"].get("headers").and_then(Value::as_object).into_iter().flatten() {
            assert!(response["headers"].get(name).is_some(), "{name}: {line}");
        }
        let media = if status.starts_with('4') { "application/problem+json" } else { "application/json" };
        match vector["answer"].get("body") {
            Some(body) => fits(&parts, &response["content"][media]["schema"], body, line),
            None => assert!(response.get("content").is_none(), "{line}"),
        }
        if let Some(declined) = vector["answer"]["body"].get("type") {
            let name = declined.as_str().unwrap().rsplit(':').next().unwrap();
            let reported = response["description"].as_str().unwrap();
            assert!(reported.contains(&format!("`{name}`")), "{name}: {reported}");
        }
        met.insert((kind, status));
    }
    assert!(met.len() >= 28, "{met:?}");
}
