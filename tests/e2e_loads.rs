//! `sweep` and `find-max` as a user meets them, on SQLite with short trials.

use crate::e2e_desk::{Desk, Ran, Running, parse};
use serde_json::Value;

/// Runs a command with a right to measure of its own: tests run side by side, and judge no speed.
fn run(desk: &Desk, line: &str) -> Ran {
    let mut command = desk.command(line);
    command.env("STACKMARK_LOCK", desk.path("lock"));
    Running::start(command).end()
}

/// The one folder of a run under `out`.
fn folder(desk: &Desk, out: &str) -> std::path::PathBuf {
    let mut entries = std::fs::read_dir(desk.path(out)).unwrap();
    entries.next().unwrap().unwrap().path()
}

#[test]
fn a_sweep_gives_a_curve_of_audited_trials_in_interleaved_blocks() {
    let desk = Desk::loaded();
    let ran = run(
        &desk,
        "sweep tpcc --json --db sqlite:bench.db --clients 1..8 --blocks 2 --duration 1s --warmup 0s --out swept",
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = parse(&ran.out);
    assert_eq!((&document["kind"], &document["state"]), (&"sweep".into(), &"complete".into()));
    let curve = &document["curve"];
    let points = curve["points"].as_array().unwrap();
    let loads: Vec<f64> = points.iter().map(|point| point["load"].as_f64().unwrap()).collect();
    assert_eq!(loads, [1.0, 2.0, 4.0, 8.0]);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 8);
    for point in points {
        assert_eq!(point["trials"].as_array().unwrap().len(), 2);
        assert!(point["rate"]["low"].is_number(), "{point}");
        for at in point["trials"].as_array().unwrap() {
            let trial = &trials[at.as_u64().unwrap() as usize];
            assert_eq!(trial["plan"]["clients"].as_f64(), point["load"].as_f64());
            assert!(trial["audits"].as_array().unwrap().iter().all(|audit| audit["check"] != "failed"));
            assert!(
                trial["slices"].as_array().unwrap().is_empty(),
                "time lines are in the trials' own folders"
            );
        }
    }
    // The first block has every load once.
    let clients = |range: std::ops::Range<usize>| {
        let mut clients: Vec<u64> =
            trials[range].iter().map(|trial| trial["plan"]["clients"].as_u64().unwrap()).collect();
        clients.sort_unstable();
        clients
    };
    assert_eq!((clients(0..4), clients(4..8)), (vec![1, 2, 4, 8], vec![1, 2, 4, 8]));
    assert!(curve["fit"]["lambda"]["value"].as_f64().unwrap() > 0.0, "{curve}");
    assert!(ran.err.contains("trial 8 of 8") && ran.err.contains(" left"), "{ran:?}");
    let run = folder(&desk, "swept");
    assert!(run.join("report.html").exists());
    assert_eq!(std::fs::read_dir(run.join("trials")).unwrap().count(), 8);
    desk.assert_sound("bench.db");
}

#[test]
fn a_sweep_over_rates_says_what_is_served() {
    let desk = Desk::loaded();
    let line = "sweep tpcc --json --db sqlite:bench.db --rates 20,40 --blocks 1 --duration 2s --warmup 0s --in-flight 4";
    let ran = run(&desk, line);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let document = parse(&ran.out);
    assert_eq!(document["curve"]["axis"], "rate");
    assert!(document["curve"]["fit"].is_null());
    assert!(document["trials"][0]["plan"]["arrivals"]["rate_per_s"].is_number());
    assert!(
        document["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("One trial"))
    );
}

#[test]
fn a_search_finds_a_rate_and_confirms_it() {
    let desk = Desk::loaded();
    let ran = run(
        &desk,
        "find-max tpcc --json --db sqlite:bench.db --slo p50<30s --slo new-order.p90<30s --resolution 50% --confirm 1 \
         --duration 2s --warmup 0s --in-flight 8",
    );
    let document = parse(&ran.out);
    let search = &document["search"];
    assert_eq!(document["kind"], "search");
    assert_eq!(search["slo"], "p50<30s,new-order.p90<30s");
    let steps = search["steps"].as_array().unwrap();
    assert!(!steps.is_empty(), "{search}");
    // Thirty seconds are never reached: what breaks such a level is that calls are not served as they are due.
    let broken: Vec<&Value> = steps.iter().filter(|step| step["kept"] == false).collect();
    assert!(
        broken.iter().all(|step| step["why"].as_str().unwrap().contains("were served in time")),
        "{search}"
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(steps.last().unwrap()["confirming"] == true, "{search}");
    assert!(search["highest_per_s"].as_f64().unwrap() > 0.0, "{search}");
}

#[test]
fn a_level_that_no_rate_keeps_is_a_bad_answer() {
    let desk = Desk::loaded();
    let ran = run(
        &desk,
        "find-max tpcc --json --db sqlite:bench.db --slo p50<1us --confirm 1 --duration 1s --warmup 0s --in-flight 2",
    );
    assert_eq!(ran.code(), 1, "{ran:?}");
    let search = &parse(&ran.out)["search"];
    assert!(search["highest_per_s"].is_null(), "{search}");
    let sentence = search["sentence"].as_str().unwrap();
    assert!(sentence.contains("No rate kept it") || sentence.contains("cannot tell"), "{sentence}");
}

#[test]
fn what_is_wrong_with_loads_and_levels_is_said_before_anything_starts() {
    let desk = Desk::empty();
    for (line, words) in [
        ("sweep tpcc --clients 4,2", "2 follows 4"),
        ("sweep tpcc --clients 8", "`stackmark run`"),
        ("sweep tpcc --clients 1,2 --rates 1,2", "--rates"),
        ("sweep tpcx --clients 1,2", "tpcx"),
        ("find-max tpcc --slo fast", "new-order.p99<50ms"),
        ("find-max tpcc --slo paymant.p99<50ms", "nearest: `payment`"),
        ("find-max tpcc", "--slo"),
    ] {
        let ran = run(&desk, line);
        assert_eq!(ran.code(), 2, "{line}: {ran:?}");
        assert!(ran.err.contains(words), "{line}: {ran:?}");
    }
    assert!(!desk.path("results").exists());
}
