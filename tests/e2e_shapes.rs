//! Shapes of load from the command line to the document: which calls are made, and when.

use crate::e2e_workdir::{Workdir, assert_good, parse};
use serde_json::{Value, json};

/// The trial of a run of two seconds with `options`, on a database whose commits wait for no disk.
fn trial(options: &str) -> Value {
    let workdir = Workdir::loaded();
    let line = "run tpcc --json --db sqlite:bench.db?synchronous=normal --warmup 0s";
    let duration = if options.contains("--duration") { "" } else { "--duration 2s" };
    let ran = workdir.run(&format!("{line} {duration} {options}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_eq!(document["state"], "complete");
    workdir.assert_sound("bench.db");
    document["trials"][0].clone()
}

fn kinds(trial: &Value) -> Vec<&str> {
    trial["kinds"].as_array().unwrap().iter().map(|kind| kind["name"].as_str().unwrap()).collect()
}

/// Whether the check of an input has passed, if it was made.
fn input<'a>(trial: &'a Value, name: &str) -> Option<&'a str> {
    let inputs = trial["inputs"].as_array().unwrap();
    inputs.iter().find(|input| input["name"] == name).map(|input| input["check"].as_str().unwrap())
}

#[test]
fn one_kind_alone_is_the_only_one_that_is_called_and_counted() {
    for only in ["payment", "stock-level", "delivery"] {
        let trial = trial(&format!("--only {only} --clients 2"));
        assert_eq!(kinds(&trial), [only]);
        assert_eq!(trial["plan"]["mix"], json!([{"kind": only, "share": 1.0}]));
        let headline = &trial["headline"];
        assert_eq!(headline["label"], format!("own mix: {only} 100 %"));
        assert_eq!(
            (&headline["unit"], &headline["value"]),
            (&"calls/s".into(), &trial["overall"]["rate_per_s"])
        );
        assert_eq!(input(&trial, &format!("{only} in the mix")), Some("passed"));
        assert_eq!(input(&trial, "new-order in the mix"), Some("passed"));
        assert_eq!(input(&trial, "remote lines"), None);
    }
}

#[test]
fn a_mix_with_new_orders_counts_them_and_says_which_mix_it_is() {
    let trial = trial("--mix new-order=45,payment=45,delivery=10 --delivery deferred --clients 2");
    assert_eq!(kinds(&trial), ["new-order", "payment", "delivery"]);
    let headline = &trial["headline"];
    assert_eq!(headline["unit"], "new orders/min");
    assert_eq!(headline["label"], "own mix: new-order 45 %, payment 45 %, delivery 10 %");
    assert_eq!(trial["deferred"]["kind"], "delivery");
}

#[test]
fn a_paced_run_of_another_mix_is_not_called_tpmc() {
    let trial = trial("--think spec --mix new-order=1,payment=9");
    assert_eq!(trial["headline"]["label"], "own mix: new-order 10 %, payment 90 %");
    assert!(trial["efficiency"].is_null());
}

#[test]
fn mixes_are_compared_by_what_all_of_them_have() {
    let workdir = Workdir::loaded();
    let file = |metric: &str| {
        format!(
            "workload = \"tpcc\"\n[plan]\ncalls = 400\nwarmup = \"0s\"\nblocks = 3\ncontrol = false\n\
             only = \"new-order\"\n[verdict]\nmetric = \"{metric}\"\n[[variant]]\nsubject = \"sqlite\"\n\
             [[variant]]\nsubject = \"sqlite\"\nmix = {{ payment = 3, order-status = 1 }}\n"
        )
    };
    crate::e2e_workdir::write(workdir.path("mixes.toml"), &file("throughput"));
    workdir.run("experiment mixes.toml").refused(&["new orders/min and calls/s", "`cpu` or `p99`"]);
    crate::e2e_workdir::write(workdir.path("mixes.toml"), &file("cpu"));
    let ran = workdir.run("experiment mixes.toml --json");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = parse(&ran.out);
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(comparison["factors"], json!(["mix"]));
    let fields: Vec<&str> = comparison["key_differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| difference["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["plan.mix"]);
}

#[test]
fn a_number_of_calls_is_made_and_ends_the_measured_time() {
    for (shape, calls) in [("--clients 4", 500), ("--clients 4 --rate 200", 100), ("--clients 1", 1)] {
        let trial = trial(&format!("{shape} --calls {calls} --duration 120s"));
        assert_eq!(trial["plan"]["calls"], calls);
        let call_counts = &trial["overall"]["call_counts"];
        assert_eq!((&call_counts["due"], &call_counts["started"]), (&calls.into(), &calls.into()), "{shape}");
        assert!(trial["measured_s"].as_f64().unwrap() < 60.0, "{shape}: {}", trial["measured_s"]);
    }
}

#[test]
fn clients_that_think_set_the_rate_and_are_told_so() {
    for (think, words) in [("200ms", "200ms"), ("exp:200ms", "exp:200ms")] {
        let trial = trial(&format!("--think {think} --clients 4"));
        assert_eq!(trial["plan"]["arrivals"], json!({"kind": "paced", "think": words}));
        // Four clients that think for 0.2 s make twenty calls a second at most, but for what chance does to few.
        let due = trial["overall"]["call_counts"]["due"].as_u64().unwrap();
        assert!((4..=90).contains(&due), "{think}: {due}");
        assert_eq!((&trial["headline"]["label"], &trial["efficiency"]), (&"NOPM".into(), &Value::Null));
        let rules = trial["rules"].as_array().unwrap();
        assert!(rules.iter().any(|rule| rule["name"] == "think-cap"), "{rules:?}");
    }
}

#[test]
fn stages_are_rows_of_their_own_with_counts_that_add_up() {
    let workdir = Workdir::loaded();
    let line =
        "run tpcc --json --db sqlite:bench.db?synchronous=normal --warmup 0s --clients 2 --arrivals constant";
    let ran = workdir.run(&format!("{line} --stages 2s@20,1s@60~100,2s@20"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trial = &document["trials"][0];
    assert_eq!(trial["plan"]["stages"][1], json!({"duration_s": 1.0, "from_per_s": 60.0, "to_per_s": 100.0}));
    let stages = trial["stages"].as_array().unwrap();
    let due: Vec<u64> = stages.iter().map(|stage| stage["call_counts"]["due"].as_u64().unwrap()).collect();
    for (due, planned) in due.iter().zip([40_u64, 80, 40]) {
        assert!(due.abs_diff(planned) <= 1, "{stages:?}");
    }
    assert_eq!(trial["overall"]["call_counts"]["due"], due.iter().sum::<u64>());
    assert!(stages[0]["recovery"].is_null() && stages[2]["recovery"].is_null());
    let report = workdir.run(&format!("report {}", workdir.only_run().display()));
    for words in ["2s@20", "1s@60~100", "waiting at end"] {
        assert!(report.out.contains(words), "{report:?}");
    }
}
