//! `sweep` and `find-max` as a user meets them, on SQLite with short trials.

use crate::e2e_workdir::{INTERRUPTED, Workdir, parse};
use rustix::process::Signal;
use serde_json::Value;

/// A database whose commits wait for no disk, where a test needs more calls than a slow one gives in its time.
const UNFLUSHED: &str = "sqlite:bench.db?synchronous=normal";

#[test]
fn a_sweep_gives_a_curve_of_audited_trials_in_interleaved_blocks() {
    let workdir = Workdir::loaded();
    let ran = workdir
        .run("sweep tpcc --json --db sqlite:bench.db --clients 1..8 --blocks 2 --duration 200ms --warmup 0s");
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
    let run = workdir.only_run();
    assert!(run.join("report.html").exists());
    assert_eq!(std::fs::read_dir(run.join("trials")).unwrap().count(), 8);
    assert_eq!(
        workdir.run("audit tpcc --db sqlite:bench.db").code(),
        0,
        "the user's own database is as it was"
    );
}

#[test]
fn a_sweep_over_rates_says_what_is_served() {
    let workdir = Workdir::loaded();
    let line = "sweep tpcc --json --db sqlite:bench.db --rates 20,40 --blocks 1 --duration 1s --warmup 0s --in-flight 4";
    let ran = workdir.run(line);
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
    let workdir = Workdir::loaded();
    let line = "find-max tpcc --json --slo p50<30s --slo new-order.p50<30s --resolution 50% --confirm 1 \
                --duration 1s --warmup 0s --in-flight 8";
    let ran = workdir.run(&format!("{line} --db {UNFLUSHED}"));
    let document = parse(&ran.out);
    let search = &document["search"];
    assert_eq!(document["kind"], "search");
    assert_eq!(search["slo"], "p50<30s,new-order.p50<30s");
    let steps = search["steps"].as_array().unwrap();
    assert!(!steps.is_empty(), "{search}");
    // Thirty seconds are never reached: what breaks such a level is that calls are not served as they are due.
    let broken: Vec<&Value> = steps.iter().filter(|step| step["met"] == false).collect();
    assert!(
        broken.iter().all(|step| step["reason"].as_str().unwrap().contains("were served in time")),
        "{search}"
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(steps.last().unwrap()["confirming"] == true, "{search}");
    assert!(search["highest_per_s"].as_f64().unwrap() > 0.0, "{search}");
}

#[test]
fn a_level_that_no_rate_keeps_is_a_bad_answer() {
    let workdir = Workdir::loaded();
    let line = "find-max tpcc --json --slo p50<1us --confirm 1 --duration 500ms --warmup 0s";
    let ran = workdir.run(&format!("{line} --db {UNFLUSHED}"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let search = &parse(&ran.out)["search"];
    assert!(search["highest_per_s"].is_null(), "{search}");
    let sentence = search["sentence"].as_str().unwrap();
    assert!(sentence.contains("No rate met the SLO") || sentence.contains("inconclusive"), "{sentence}");
}

#[test]
fn a_hopeless_step_ends_early_says_why_and_the_search_goes_on() {
    let workdir = Workdir::loaded();
    let line = "find-max tpcc --json --slo p90<1us --duration 6s --warmup 0s --in-flight 2";
    let search = workdir.start(&format!("{line} --db {UNFLUSHED}"));
    let result = || {
        let run = workdir.runs().pop()?;
        serde_json::from_str::<Value>(&std::fs::read_to_string(run.join("result.json")).ok()?).ok()
    };
    search.until("two rates are broken", || {
        result()
            .is_some_and(|found| found["search"]["steps"].as_array().is_some_and(|steps| steps.len() >= 2))
    });
    search.signal(Signal::INT);
    let ran = search.end();
    let document = parse(&ran.out);
    for step in document["search"]["steps"].as_array().unwrap() {
        let trial = &document["trials"][step["trial"].as_u64().unwrap() as usize];
        assert_eq!((&step["met"], &trial["state"]), (&false.into(), &"interrupted".into()), "{step}");
        let ended = step["ended_early_s"].as_f64().unwrap();
        assert!((2.0..5.9).contains(&ended), "{step}");
        assert!(step["reason"].as_str().unwrap().contains("had taken longer than 1 µs"), "{step}");
        assert!(
            trial["audits"].as_array().unwrap().iter().any(|audit| audit["when"] == "after_run"),
            "{trial}"
        );
    }
    let page = std::fs::read_to_string(workdir.only_run().join("report.html")).unwrap();
    assert!(page.contains("ended early after") && ran.err.contains("missed, ended early after"), "{ran:?}");
}

#[test]
fn every_format_tells_of_a_sweep_a_search_and_an_experiment() {
    let experiment = "workload = \"tpcc\"\n[plan]\nwarmup = \"0s\"\nduration = \"300ms\"\nblocks = 1\ncontrol = false\n\
                      [[variant]]\nname = \"a\"\nsubject = \"sqlite/rusqlite\"\ndurability = \"delayed\"\n\
                      [[variant]]\nname = \"b\"\nsubject = \"sqlite/rusqlite\"\ndurability = \"delayed\"\nsqlite = { cache = \"8MiB\" }\n";
    for (line, variant, case) in [
        (
            "sweep tpcc --db UNFLUSHED --clients 1,2 --blocks 1 --duration 200ms --warmup 0s",
            "2 clients",
            "run",
        ),
        (
            "find-max tpcc --db UNFLUSHED --slo p50<1us --duration 300ms --warmup 0s",
            "capacity",
            "a rate meets p50",
        ),
        ("experiment mine.toml", "b", "b vs a"),
    ] {
        let workdir = Workdir::loaded();
        std::fs::write(workdir.path("mine.toml"), experiment).unwrap();
        let ran = workdir.run(&line.replace("UNFLUSHED", UNFLUSHED));
        assert!(ran.code() < 2, "{ran:?}");
        let run = workdir.only_run();
        let made = |format: &str| {
            let ran = workdir.run(&format!("report {} --format {format}", run.display()));
            assert_eq!(ran.code(), 0, "{format}: {ran:?}");
            ran.out
        };
        let csv = made("csv");
        let rows: Vec<&str> = csv.lines().collect();
        let column = |name: &str| rows[0].split(',').position(|title| title == name).unwrap();
        let cells = |name: &str| -> Vec<&str> {
            rows[1..].iter().map(|row| row.split(',').nth(column(name)).unwrap()).collect()
        };
        assert!(cells("variant").contains(&variant) && !cells("variant").contains(&""), "{csv}");
        assert!(made("csv-slices").lines().count() > 5, "{line}");
        assert!(made("junit").contains(case), "{line}");
        assert!(made("md").starts_with('#') && made("html").contains("<main"), "{line}");
        assert_eq!(parse(&made("json"))["trials"], workdir.document()["trials"]);

        // A page is of one result.
        let refused = |line: &str, words: &str| {
            let ran = workdir.run(line);
            assert!(ran.code() == 2 && ran.err.contains(words), "{line}: {ran:?}");
        };
        let (one, file) = (run.display(), run.join("result.json"));
        refused(&format!("report {one} {} --format html", file.display()), "an HTML page shows one result");
        std::fs::copy(&file, workdir.path("alone.json")).unwrap();
        // A result without the folders of its trials has its time lines in short.
        let single = workdir.run("report alone.json --format csv-slices");
        assert_eq!(
            (single.code(), single.out.lines().count()),
            (0, made("csv-slices").lines().count()),
            "{line}"
        );
        let text = std::fs::read_to_string(&file).unwrap();
        let mut document: Value = serde_json::from_str(&text).unwrap();
        for trial in document["trials"].as_array_mut().unwrap() {
            trial.as_object_mut().unwrap().remove("line").expect("a time line in short");
        }
        std::fs::write(workdir.path("alone.json"), document.to_string()).unwrap();
        refused("report alone.json --format csv-slices", "alone.json has no time lines");
    }
}

#[test]
fn ctrl_c_publishes_what_a_sweep_or_a_search_has_measured() {
    for (line, kind) in [
        ("sweep tpcc --json --db sqlite:bench.db --clients 1,2 --blocks 1", "sweep"),
        ("find-max tpcc --json --db sqlite:bench.db --slo p50<30s", "search"),
    ] {
        let workdir = Workdir::loaded();
        // Longer than it takes to see it measure, whatever stalls meanwhile.
        let running = workdir.start(&format!("{line} --duration 60s --warmup 0s"));
        running.until("calls are committed", || workdir.has_committed());
        running.signal(Signal::INT);
        let ran = running.end();
        assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
        let document = parse(&ran.out);
        assert_eq!((&document["kind"], &document["state"]), (&kind.into(), &"interrupted".into()));
        assert_eq!(document["trials"].as_array().unwrap().len(), 1);
        assert_eq!(workdir.document()["state"], "interrupted");
        assert!(workdir.only_run().join("report.html").exists());
    }
}

#[test]
fn what_is_wrong_with_loads_and_levels_is_said_before_anything_starts() {
    let workdir = Workdir::empty();
    for (line, words) in [
        ("sweep tpcc --clients 4,2", "2 follows 4"),
        ("sweep tpcc --clients 8", "`stackmark run`"),
        ("sweep tpcc --clients 1,2 --rates 1,2", "--rates"),
        ("sweep tpcx --clients 1,2", "tpcx"),
        ("find-max tpcc --slo fast", "new-order.p99<50ms"),
        ("find-max tpcc --slo paymant.p99<50ms", "nearest: `payment`"),
        ("find-max tpcc", "--slo"),
    ] {
        let ran = workdir.run(line);
        assert_eq!(ran.code(), 2, "{line}: {ran:?}");
        assert!(ran.err.contains(words), "{line}: {ran:?}");
    }
    assert!(!workdir.path("results").exists());
}

/// More than most servers take by default; the limit of ours is above it.
#[test]
fn five_thousand_clients_over_http_are_served() {
    let workdir = Workdir::empty();
    let line = "run tpcb/sqlite/axum+rusqlite --clients 5000 --calls 10000 --warmup 0s --json";
    let ran = workdir.run(line);
    let document = parse(&ran.out);
    let call_counts = &document["trials"][0]["overall"]["call_counts"];
    assert_eq!(
        (&call_counts["committed"], &call_counts["due"]),
        (&10_000.into(), &10_000.into()),
        "{call_counts}"
    );
}
