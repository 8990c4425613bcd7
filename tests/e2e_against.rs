//! `compare BASE SUBJECT`: a subject is measured as a stored result was, and compared with it.

use crate::e2e_workdir::{Workdir, parse};
use std::fs;

const SUBJECT: &str = "tpcc/sqlite/rusqlite";

/// A working directory with a base: how its trials were measured.
fn with_base(options: &str) -> (Workdir, String) {
    let workdir = Workdir::loaded();
    let line = format!(
        "compare {SUBJECT} {SUBJECT} --db sqlite:bench.db --clients 2 --warmup 0s --duration 300ms --out base {options}"
    );
    let made = workdir.run(&line);
    assert!([0, 3].contains(&made.code()), "{made:?}");
    let folder = fs::read_dir(workdir.path("base")).unwrap().next().unwrap().unwrap();
    let base = format!("base/{}/result.json", folder.file_name().into_string().unwrap());
    (workdir, base)
}

#[test]
fn a_subject_is_measured_as_the_stored_base_was_and_its_loss_decides_the_exit_status() {
    let (workdir, base) = with_base("--trials --blocks 2");
    let ran = workdir.run(&format!("compare {base} {SUBJECT} --max-loss 95% --json"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = parse(&ran.out);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 8, "four of the base, and as many again");
    let seeds: Vec<u64> = trials.iter().map(|trial| trial["plan"]["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds[..4], seeds[4..], "the same calls");
    let comparison = &document["experiment"]["comparisons"][0];
    assert!(comparison["ratio"]["low"].is_number(), "{comparison}");
    assert_eq!(comparison["factors"][0], "revision");
    let notes = document["notes"].to_string();
    assert!(notes.contains(&base) && notes.contains("the interval does not cover it"), "{notes}");

    // A base that was a hundred times as fast, and on the command line the same subject as it.
    let path = workdir.path(&base);
    let mut fast = parse(&fs::read_to_string(&path).unwrap());
    for trial in fast["trials"].as_array_mut().unwrap() {
        for at in ["value", "low", "high"] {
            let value = &mut trial["headline"]["value"][at];
            if let Some(rate) = value.as_f64() {
                *value = (rate * 100.0).into();
            }
        }
    }
    fs::write(workdir.path("fast.json"), fast.to_string()).unwrap();
    let ran = workdir.run("compare fast.json --max-loss 5%");
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.contains(": now vs stored ("), "{}", ran.out);

    // The trials of the base are no point of the history but in their own run.
    let history = workdir.run("report --history --format json base results");
    assert_eq!(history.code(), 0, "{history:?}");
    let history: serde_json::Value = serde_json::from_str(&history.out).unwrap();
    let points =
        history["series"].as_array().unwrap().iter().flat_map(|series| series["points"].as_array().unwrap());
    let of_base = points.filter(|point| point["trials"].as_u64().unwrap() > 4).count();
    assert_eq!(of_base, 0, "{history}");

    // Another route is another factor; the load is that of the base.
    let ran = workdir.run(&format!("compare {base} tpcc/sqlite/axum+rusqlite --max-loss 99.9% --json"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(parse(&ran.out)["experiment"]["comparisons"][0]["factors"][0], "route");
}

#[test]
fn what_cannot_be_a_base_is_refused_before_anything_starts() {
    let (workdir, base) = with_base("--trials --blocks 2");
    let path = workdir.path(&base);
    let document = || parse(&fs::read_to_string(&path).unwrap());
    let refused = |line: &str, words: &str| {
        let refused = workdir.run(line);
        assert_eq!(refused.code(), 2, "{refused:?}");
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
        assert!(!workdir.path("results").exists(), "nothing was started");
    };
    refused(&format!("compare {base} {SUBJECT} --clients 4"), "leave these options out");
    refused(&format!("compare {base} {SUBJECT} --blocks 3"), "leave these options out");
    refused(&format!("compare {base} tpcb/sqlite/rusqlite"), "is of the workload tpcc");
    let changed = |name: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let mut changed = document();
        change(&mut changed);
        fs::write(workdir.path(name), changed.to_string()).unwrap();
    };
    changed("elsewhere.json", &|document| document["trials"][0]["machine"]["cpu"] = "another".into());
    refused(&format!("compare elsewhere.json {SUBJECT}"), "the CPU another, and here it is");
    changed("cut.json", &|document| document["state"] = "interrupted".into());
    refused(&format!("compare cut.json {SUBJECT}"), "only a complete result can be a base");
    changed("other.json", &|document| document["command"] = serde_json::json!(["stackmark", "run", "tpcc"]));
    refused(&format!("compare other.json {SUBJECT}"), "a base is a comparison");
    changed("again.json", &|document| {
        document["experiment"]["variants"][0]["stored"] = true.into();
    });
    refused(&format!("compare again.json {SUBJECT}"), "compares with a stored result itself");
    changed("shorter.json", &|document| document["trials"][1]["plan"]["warmup_s"] = 3.0.into());
    refused(&format!("compare shorter.json {SUBJECT}"), "gives another plan");
    changed("later.json", &|document| {
        document["command"] = serde_json::json!(["stackmark", "compare", "--later"])
    });
    refused(&format!("compare later.json {SUBJECT}"), "does not understand");
    let ran = workdir.run(&format!("run {SUBJECT} --db sqlite:bench.db --warmup 0s --calls 50 --out single"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let folder = fs::read_dir(workdir.path("single")).unwrap().next().unwrap().unwrap();
    let single = format!("single/{}", folder.file_name().into_string().unwrap());
    refused(&format!("compare {single} {SUBJECT}"), "has 1 trial");
}

#[test]
fn sides_that_made_calls_in_turn_are_no_base() {
    let (workdir, base) = with_base("--blocks 1");
    let refused = workdir.run(&format!("compare {base} {SUBJECT}"));
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.err.contains("in turn") && refused.err.contains("--trials"), "{}", refused.err);
}
