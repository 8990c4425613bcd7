//! What a result says of the statements of its calls, and of the parts of kinds that are shown apart.

use crate::e2e_workdir::{Workdir, assert_good, parse};
use serde_json::Value;

/// Commits wait for no disk: one that stalls would leave a short run without calls.
const UNFLUSHED: &str = "sqlite:bench.db?synchronous=normal";

/// Each kind with a statement that only its calls have.
const KINDS: [(&str, &str); 5] = [
    ("new-order", "update_stock"),
    ("payment", "pay_warehouse"),
    ("order-status", "newest_order"),
    ("delivery", "oldest_new_order"),
    ("stock-level", "low_stock"),
];

#[test]
fn statements_of_every_kind_are_clocked_directly_and_through_http() {
    let workdir = Workdir::loaded();
    for subject in ["tpcc/sqlite/rusqlite", "tpcc/sqlite/axum+rusqlite", "tpcc/sqlite/diesel"] {
        // One call in 64 is clocked. One client makes the same calls each time: some of every kind are clocked.
        let plan = "--mix new-order=1,payment=1,order-status=1,delivery=1,stock-level=1 --clients 1 --calls 2500 --warmup 0s";
        let ran = workdir.run(&format!("run {subject} --json --db {UNFLUSHED} {plan}"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        for (index, (kind, own)) in KINDS.into_iter().enumerate() {
            let of_kind = &trial["kinds"][index];
            assert_eq!(of_kind["name"], kind);
            assert!(!of_kind["clocked"].is_null(), "{subject}: {of_kind}");
            check_statements(&of_kind["clocked"], own, subject.contains("axum"));
            check_parts(of_kind);
        }
        let rule = trial["rules"].as_array().unwrap().iter().find(|rule| rule["name"] == "clocked");
        assert!(rule.is_none_or(|rule| rule["severity"] == "ok"), "{rule:?}");
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} should be a number"))
}

/// How often all clocked calls of an account sent a statement.
fn executions(clocked: &Value, name: &str) -> u64 {
    let statements = clocked["statements"].as_array().unwrap();
    let found = statements.iter().find(|statement| statement["name"] == name);
    found.map_or(0, |statement| statement["executions"].as_u64().unwrap())
}

#[track_caller]
fn check_statements(clocked: &Value, own: &str, by_server: bool) {
    let calls = clocked["calls"].as_u64().unwrap();
    assert!(calls > 0 && executions(clocked, own) >= calls, "{own}: {clocked}");
    assert_eq!(number(&clocked["server_queue_ns"]) > 0.0, by_server, "{clocked}");
    let statements = clocked["statements"].as_array().unwrap().iter();
    let in_statements: f64 =
        statements.map(|of| number(&of["executions"]) * number(&of["mean_ns"]) / calls as f64).sum();
    let steps = ["server_queue_ns", "pool_wait_ns", "begin_ns", "commit_ns", "encode_ns"];
    let parts: f64 = in_statements + steps.iter().map(|step| number(&clocked[*step])).sum::<f64>();
    // The caller's own clock around the same calls.
    let service = number(&clocked["service_ns"]);
    assert!(in_statements > 0.0 && parts <= service * 1.000_001, "{parts} of {service}: {clocked}");
}

#[track_caller]
fn check_parts(of_kind: &Value) {
    let facets = of_kind["facets"].as_array().unwrap();
    if of_kind["name"] != "payment" && of_kind["name"] != "order-status" {
        assert!(facets.is_empty(), "{of_kind}");
        return;
    }
    let [by_id, by_name] = &facets[..] else { panic!("{facets:?}") };
    assert_eq!((&by_id["name"], &by_name["name"]), (&"by id".into(), &"by last name".into()));
    let committed = |of: &Value| of["count"].as_u64().unwrap();
    let response = &of_kind["tally"]["latency"][0]["response"];
    assert_eq!(committed(&by_id["response"]) + committed(&by_name["response"]), committed(response));
    let calls = |of: &Value| of["clocked"]["calls"].as_u64().unwrap_or(0);
    assert_eq!(calls(by_id) + calls(by_name), calls(of_kind));
    if calls(by_id) > 0 {
        assert_eq!(executions(&by_id["clocked"], "customers_by_name"), 0, "{by_id}");
    }
    if calls(by_name) > 0 {
        assert!(executions(&by_name["clocked"], "customers_by_name") >= calls(by_name), "{by_name}");
    }
}
