//! Experiments as a user meets them: a variant that cannot start, experiments that are killed and go on, two at once.

use crate::e2e_workdir::{INTERRUPTED, Running, Workdir, assert_good, parse, write};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Trials are short: what counts is what is left of them. Commits wait for no disk: one that stalls would leave a trial
/// without a call.
const SHORT: &str = "--db sqlite:bench.db?synchronous=normal --blocks 2 --calls 200 --warmup 0s --clients 2";

/// The same with trials of a fixed length, for tests that interrupt one.
const SLOWER: &str =
    "--db sqlite:bench.db?synchronous=normal --blocks 2 --duration 300ms --warmup 0s --clients 2";

const FILE: &str = r#"
question = "What does HTTP cost?"
workload = "tpcb"
scale = 1

[plan]
blocks = 2
duration = "300ms"
warmup = "0s"
clients = 2

[[variant]]
name = "direct"
subject = "sqlite/rusqlite"
durability = "delayed"

[[variant]]
name = "through HTTP"
subject = "sqlite/axum+rusqlite"
durability = "delayed"

[[variant]]
name = "PostgreSQL"
subject = "postgres/tokio-postgres"
durability = "delayed"
"#;

/// A folder with `first.toml` and `second.toml`, which ask the same on SQLite.
fn with_two_experiments() -> Workdir {
    let workdir = Workdir::empty();
    let first = FILE.split_once("[[variant]]\nname = \"PostgreSQL\"").unwrap().0;
    fs::write(workdir.path("first.toml"), first).unwrap();
    fs::write(workdir.path("second.toml"), first.replace("What does HTTP cost?", "And again?")).unwrap();
    workdir
}

/// Folders of the trials of the only run that have ended, by name.
pub(crate) fn ended(workdir: &Workdir) -> Vec<PathBuf> {
    let trials = workdir.runs().first().and_then(|run| fs::read_dir(run.join("trials")).ok());
    let folders = trials.into_iter().flatten().flatten().map(|folder| folder.path());
    let whole = |folder: &PathBuf| {
        let text = fs::read_to_string(folder.join("result.json")).unwrap_or_default();
        serde_json::from_str::<Value>(&text).is_ok_and(|document| document["state"] == "complete")
    };
    let mut folders: Vec<PathBuf> = folders.filter(whole).collect();
    folders.sort();
    folders
}

pub(crate) fn resume(workdir: &Workdir) -> String {
    format!("resume {}", workdir.only_run().display())
}

/// Goes on to the end, and no trial that had ended was run again.
#[track_caller]
fn assert_goes_on(workdir: &Workdir, trials: usize) {
    let read = |folder: &PathBuf| fs::read(folder.join("result.json")).unwrap();
    let before: Vec<(PathBuf, Vec<u8>)> =
        ended(workdir).into_iter().map(|folder| (folder.clone(), read(&folder))).collect();
    let ran = workdir.run(&resume(workdir));
    let document = workdir.document();
    assert_good(&ran, &document);
    assert_eq!(document["state"], "complete", "{ran:?}");
    assert_eq!(document["trials"].as_array().unwrap().len(), trials, "{ran:?}");
    assert!(ran.err.contains(&format!("{} of {trials} trials are done", before.len())), "{ran:?}");
    assert!(before.iter().all(|(folder, bytes)| read(folder) == *bytes), "a trial was run again: {ran:?}");
    assert_eq!(ended(workdir).len(), trials);
    assert!(!workdir.only_run().join("private").exists());
    // There is nothing left to go on with.
    workdir.run(&resume(workdir)).refused(&["is complete"]);
}

#[test]
fn a_variant_that_cannot_start_says_why_and_the_others_go_on() {
    let workdir = Workdir::empty();
    write(workdir.path("three.toml"), FILE);
    let mut command = workdir.command("experiment three.toml");
    // Where no private engine can be made, whether or not one is installed.
    command.env("STACKMARK_RIG_DIR", "/dev/null/nowhere");
    let ran = Running::start(command).end();
    assert_eq!(ran.code(), 1, "{ran:?}");
    let document = workdir.document();
    assert_eq!((&document["state"], &document["kind"]), (&"complete".into(), &"experiment".into()));
    let experiment = &document["experiment"];
    let variants: Vec<(&str, &str)> = experiment["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| (variant["name"].as_str().unwrap(), variant["state"].as_str().unwrap()))
        .collect();
    let wanted = [
        ("direct", "measured"),
        ("direct, again", "measured"),
        ("through HTTP", "measured"),
        ("PostgreSQL", "not_started"),
    ];
    assert_eq!(variants, wanted);
    assert!(experiment["variants"][3]["reason"].as_str().is_some_and(|reason| reason.len() > 10));
    assert_eq!(document["trials"].as_array().unwrap().len(), 6);
    let [http, postgres] = &experiment["comparisons"].as_array().unwrap()[..] else { panic!("{document}") };
    assert!(http["ratio"].is_object() && http["noise"].is_object(), "{http}");
    assert_eq!(http["factor"], "route");
    assert!(postgres["ratio"].is_null(), "{postgres}");
    assert!(postgres["sentence"].as_str().unwrap().contains("PostgreSQL could not be started"), "{postgres}");
    // The whole of each trial is in a folder of its own; the main document has no lines over time.
    assert!(document["trials"][0]["slices"].as_array().unwrap().is_empty());
    let whole = ended(&workdir);
    assert_eq!(whole.len(), 6);
    let first = parse(&fs::read_to_string(whole[0].join("result.json")).unwrap());
    assert_eq!((&first["kind"], &first["state"]), (&"trial".into(), &"complete".into()));
    assert!(!first["trials"][0]["slices"].as_array().unwrap().is_empty());
}

/// Two metrics of two variants are two verdicts, in every format.
#[test]
fn each_metric_of_a_file_has_a_verdict_of_its_own() {
    let workdir = Workdir::empty();
    let (two, _) = FILE.split_once("[[variant]]\nname = \"PostgreSQL\"").unwrap();
    let verdict = "[verdict]\nmetrics = [\"throughput\", \"tpcb.p50\"]\nmargin = { throughput = \"2%\" }\n";
    write(workdir.path("two.toml"), &format!("{two}{verdict}"));
    let ran = workdir.run("experiment two.toml");
    let document = workdir.document();
    assert_good(&ran, &document);
    let experiment = &document["experiment"];
    assert_eq!(experiment["metric"]["name"], "throughput");
    let further = experiment["further_metrics"].as_array().unwrap();
    assert_eq!((further.len(), &further[0]["name"]), (1, &"tpcb.p50".into()));
    let comparisons = experiment["comparisons"].as_array().unwrap();
    let metrics: Vec<&str> = comparisons.iter().map(|one| one["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["transactions/s", "tpcb.p50, ms"]);
    for comparison in comparisons {
        assert_eq!(
            (&comparison["adjusted_for"], &comparison["b"]["label"]),
            (&2.into(), &"through HTTP".into())
        );
        assert!(comparison["ratio"].is_object() && comparison["noise"].is_object(), "{comparison}");
        assert_eq!(comparison["blocks"].as_array().unwrap().len(), 2);
    }
    assert_ne!(comparisons[0]["ratio"]["value"], comparisons[1]["ratio"]["value"]);
    for words in ["tpcb.p50, ms", "Through HTTP ", "tpcb.p50"] {
        assert!(ran.out.contains(words), "does not say `{words}`: {}", ran.out);
    }
    let report =
        |format: &str| workdir.run(&format!("report {} --format {format}", workdir.only_run().display())).out;
    assert!(report("md").contains("tpcb.p50, ms"));
    assert!(report("html").contains("tpcb.p50, ms"));
    assert!(report("junit").contains("through HTTP vs direct, tpcb.p50"));
    assert_eq!(report("csv-verdicts").lines().count(), 3);
}

/// As the variants of `shard-scaling`: with another style a transfer between stores has a relay, which has settings of its own.
#[test]
fn what_a_style_brings_along_is_no_other_difference() {
    let workdir = Workdir::empty();
    let head =
        "workload = \"transfer\"\nscale = 2\n[plan]\nblocks = 1\ncalls = 100\nwarmup = \"0s\"\nclients = 2\n";
    let variant = |name: &str, style: &str, rest: &str| {
        format!(
            "[[variant]]\nname = \"{name}\"\nsubject = \"sqlite/rusqlite{style}\"\ndurability = \"delayed\"\n{rest}\n"
        )
    };
    let local = variant("local", "", "base = true\nmix = { transfer = 1 }");
    let others = ["saga", "dual-write"].map(|style| {
        let factors = "against = \"local\"\nfactor = [\"style\", \"shards\", \"mix\"]";
        variant(
            style,
            &format!("/{style}"),
            &format!("{factors}\nshards = 2\nmix = {{ cross-transfer = 1 }}"),
        )
    });
    write(workdir.path("styles.toml"), &format!("{head}{local}{}", others.concat()));
    let ran = workdir.run("experiment styles.toml --no-control --json");
    assert!(matches!(ran.code(), 0 | 1), "{ran:?}");
    let document = parse(&ran.out);
    let comparisons = document["experiment"]["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 2, "{ran:?}");
    for comparison in comparisons {
        let differences = comparison["key_differences"].as_array().unwrap();
        let others: Vec<&Value> =
            differences.iter().filter(|difference| difference["intended"] == false).collect();
        assert!(others.is_empty(), "{}: {others:?}", comparison["b"]["label"]);
        assert_ne!(comparison["verdict"], "not_comparable", "{}", comparison["sentence"]);
    }
}

#[test]
fn a_comparison_takes_several_metrics_too() {
    let workdir = Workdir::loaded();
    workdir
        .run(&format!("compare tpcc tpcc/sqlite/axum+rusqlite {SHORT} --metric cpu,throughput,cpu"))
        .refused(&["the metric `cpu` is named twice"]);
    // It judges throughput, whatever is asked for.
    workdir.run("compare tpcc --confirm-bottleneck --metric p99").refused(&["--metric"]);
    let ran = workdir
        .run(&format!("compare tpcc tpcc/sqlite/axum+rusqlite {SHORT} --no-control --metric throughput,cpu"));
    let document = workdir.document();
    assert_good(&ran, &document);
    let comparisons = document["experiment"]["comparisons"].as_array().unwrap();
    assert_eq!((comparisons.len(), &comparisons[1]["metric"]), (2, &"cpu, CPU s/1,000 calls".into()));
}

#[test]
fn a_comparison_that_is_killed_goes_on_where_it_stopped() {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("compare tpcc tpcc/sqlite/axum+rusqlite {SLOWER}"));
    // All three of a block, which make calls in turn: of fewer, all would run again.
    run.until("a block has ended", || ended(&workdir).len() >= 3);
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    // What is there can be read, and says that it is not whole.
    let ran = workdir.run(&format!("report {}", workdir.only_run().display()));
    assert!(ran.code() == 0 && ran.out.contains("running"), "{ran:?}");
    assert_eq!(workdir.document()["state"], "running");
    assert_goes_on(&workdir, 6);
    let document = workdir.document();
    assert!(document["experiment"]["comparisons"][0]["blocks"].as_array().unwrap().len() == 2, "{document}");
    assert!(document["experiment"]["comparisons"][0]["noise"].is_object(), "{document}");
}

#[test]
fn a_comparison_that_is_killed_while_it_loads_goes_on_from_the_start() {
    let workdir = Workdir::empty();
    let plan = "--blocks 1 --calls 200 --warmup 0s --clients 2 --no-control";
    let run = workdir.start(&format!("compare tpcc tpcc/sqlite/axum+rusqlite {plan}"));
    run.until("it loads", || workdir.files().iter().any(|file| file.ends_with(".loading")));
    run.signal(Signal::KILL);
    assert_eq!(run.end().status.code(), None);
    assert_goes_on(&workdir, 2);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_names_the_command_that_goes_on() {
    let workdir = Workdir::loaded();
    let run = workdir.start(&format!("compare tpcc tpcc/sqlite/axum+rusqlite {SLOWER} --no-control"));
    run.until("a trial has ended", || !ended(&workdir).is_empty());
    run.signal(Signal::INT);
    let ran = run.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    assert!(ran.err.contains("`stackmark resume results/"), "{ran:?}");
    assert_eq!(workdir.document()["state"], "interrupted");
    assert_goes_on(&workdir, 4);
}

#[test]
fn several_experiments_run_one_after_the_other_and_all_are_checked_first() {
    let workdir = with_two_experiments();
    let first = fs::read_to_string(workdir.path("first.toml")).unwrap();
    fs::write(workdir.path("wrong.toml"), first.replace("clients", "client")).unwrap();
    workdir.run("experiment first.toml wrong.toml").refused(&["wrong.toml:10:", "client"]);
    assert!(workdir.runs().is_empty());
    let ran = workdir.run("experiment first.toml second.toml --out first.toml");
    ran.refused(&["not run: second.toml", "error: first.toml: "]);
    let ran = workdir.run("experiment first.toml second.toml --blocks 1 --duration 200ms --json");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let documents = serde_json::Deserializer::from_str(&ran.out).into_iter();
    let documents: Vec<Value> = documents.collect::<Result<_, _>>().unwrap();
    let questions: Vec<&Value> =
        documents.iter().map(|document| &document["experiment"]["question"]).collect();
    assert_eq!(questions, ["What does HTTP cost?", "And again?"]);
    assert!(documents.iter().all(|document| document["state"] == "complete"), "{ran:?}");
    assert_eq!(workdir.runs().len(), 2);
}

#[test]
fn ctrl_c_in_one_of_several_experiments_runs_none_of_the_others() {
    let workdir = with_two_experiments();
    // Far more blocks than are run before the signal.
    let first = fs::read_to_string(workdir.path("first.toml")).unwrap();
    fs::write(workdir.path("first.toml"), first.replace("blocks = 2", "blocks = 100")).unwrap();
    let run = workdir.start("experiment first.toml second.toml");
    run.until("a trial has ended", || !ended(&workdir).is_empty());
    run.signal(Signal::INT);
    let ran = run.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    assert!(ran.err.contains("not run: second.toml"), "{ran:?}");
    assert_eq!(workdir.runs().len(), 1);
}

/// Before its first slice has ended, a turn has nothing to show.
#[test]
fn ctrl_c_in_the_first_turn_ends_a_comparison_that_has_measured_nothing() {
    let workdir = Workdir::loaded();
    let run = workdir.start("compare tpcc tpcc --db sqlite:bench.db --duration 60s --warmup 0s --clients 1");
    run.until("its turns have begun", || run.err().contains("in turn"));
    run.signal(Signal::INT);
    let ran = run.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    assert!(ran.err.contains("stackmark resume "), "{ran:?}");
}

#[test]
fn of_two_experiments_on_one_machine_the_second_is_refused() {
    let workdir = Workdir::loaded();
    let run = workdir.start("compare tpcc tpcc --db sqlite:bench.db --duration 60s --think 10ms");
    run.until("it runs", || workdir.runs().first().is_some_and(|run| run.join("trials").exists()));
    let pid = format!("process {}", run.pid());
    for other in [format!("compare tpcc tpcc {SHORT}"), "run tpcc --duration 1s".to_owned()] {
        workdir.run(&other).refused(&["another run is measuring on this machine", &pid, "results"]);
    }
    // Not even under another lock may two go on with one run.
    let mut other = workdir.command(&resume(&workdir));
    other.env("STACKMARK_LOCK", workdir.path("other.lock"));
    Running::start(other).end().refused(&["another process works on"]);
    run.signal(Signal::KILL);
    let _ = run.end();
    // The kernel gives the right back, whatever ended the first.
    workdir.run(&format!("compare tpcc tpcc {SHORT} --metric p98")).refused(&["no metric"]);
    assert_eq!(workdir.run("quickstart --blocks 1 --duration 200ms --warmup 0s --clients 1").code(), 0);
}

#[test]
fn what_cannot_go_on_says_why() {
    let workdir = Workdir::loaded();
    workdir.run("resume nowhere").refused(&["cannot resume", "plan.json"]);
    let ran = workdir.run(&format!("compare tpcc tpcc {SHORT} --metric p98"));
    ran.refused(&["no metric `p98`", "new-order.p99"]);
    assert!(workdir.runs().is_empty(), "{ran:?}");
}
