//! A run whose calls several processes make: put together it is what one process measures, and what is missing is named.

use crate::e2e_bad_input::refused;
use crate::e2e_workdir::{Running, Workdir, assert_good, parse};
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;

const DB: &str = "--db sqlite:bench.db";
/// Several processes that write to one file wait for each other: few calls, as a plan of a rate has them.
const LOAD: &str = "--rate 150 --clients 6 --duration 2s --warmup 300ms --seed 5";

/// Seconds in which all parts of a test are ready, also on a machine that runs other tests.
const READY_S: u64 = 8;

/// A moment so many seconds from now.
fn soon(seconds: u64) -> String {
    format!("@{}", measure::unix_seconds() + seconds)
}

fn loaded() -> Workdir {
    let workdir = Workdir::empty();
    let ran = workdir.run(&format!("load tpcb --scale 1 {DB}"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    workdir
}

fn planned(workdir: &Workdir, load: &str) -> String {
    let ran = workdir.run(&format!("run tpcb/sqlite/rusqlite {DB} {load} --write-plan plan.json"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let plan = std::fs::read_to_string(workdir.path("plan.json")).unwrap();
    serde_json::from_str::<Value>(&plan).unwrap()["id"].as_str().unwrap().to_owned()
}

fn started(workdir: &Workdir, parts: impl IntoIterator<Item = u32>, of: u32, more: &str) -> Vec<Running> {
    let at = soon(READY_S);
    let line = |part| format!("run --plan plan.json --part {part}/{of} --start-at {at} {DB} {more}");
    parts.into_iter().map(|part| workdir.start(&line(part))).collect()
}

fn folder(workdir: &Workdir, id: &str, part: u32, of: u32) -> PathBuf {
    workdir.path(&format!("results/{id}-part-{part}-of-{of}"))
}

fn rule(trial: &Value, name: &str) -> Value {
    let rules = trial["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["name"] == name).unwrap_or_else(|| panic!("no {name}: {rules:?}")).clone()
}

#[test]
fn parts_that_are_merged_are_what_one_process_measures() {
    let workdir = loaded();
    let id = planned(&workdir, LOAD);
    for part in started(&workdir, 1..=3, 3, "") {
        let ran = part.end();
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(ran.out.contains(" of 3: ") && ran.err.contains("`stackmark merge` takes"), "{ran:?}");
    }
    let merge =
        |more: &str| format!("merge results/{id}-part-1-of-3 results/{id}-part-2-of-3/part.json {more}");
    let ran = workdir.run(&merge(&format!("results/{id}-part-3-of-3 {DB} --json --require-audit")));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let merged = &document["trials"][0];
    let parts = merged["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 3, "{parts:?}");
    let due: u64 = parts.iter().map(|part| part["due"].as_u64().unwrap()).sum();
    assert_eq!(merged["overall"]["call_counts"]["due"], due);
    let sentence = rule(merged, "parts")["sentence"].as_str().unwrap().to_owned();
    assert!(sentence.contains("3 load generators on 1 machine"), "{sentence}");
    assert_eq!(rule(merged, "parts")["severity"], "ok");
    assert!(merged["audits"].as_array().unwrap().iter().any(|audit| audit["when"] == "after_run"));
    let generators =
        merged["processes"].as_array().unwrap().iter().filter(|process| process["roles"][0] == "generator");
    assert_eq!(generators.count(), 3, "{}", merged["processes"]);
    // The same seed in one process: the same timetable, on data that is loaded alike.
    let alone = Workdir::empty();
    assert_eq!(alone.run(&format!("load tpcb --scale 1 {DB}")).code(), 0);
    let ran = alone.run(&format!("run tpcb/sqlite/rusqlite {DB} {LOAD} --json"));
    let whole = &parse(&ran.out)["trials"][0];
    assert_eq!(whole["overall"]["call_counts"]["due"], merged["overall"]["call_counts"]["due"]);
    for field in ["clients", "arrivals", "measured_s", "seed"] {
        assert_eq!(whole["plan"][field], merged["plan"][field]);
    }
    let checks = |trial: &Value| {
        let checks = trial["ledger"].as_array().unwrap().clone();
        checks.into_iter().map(|check| check["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(checks(whole), checks(merged));
    // What the calls have left is no longer what was acknowledged, and that is seen.
    let sqlite = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
    sqlite
        .execute("delete from pgbench_history where rowid = (select max(rowid) from pgbench_history)", [])
        .unwrap();
    drop(sqlite);
    let ran = workdir.run(&merge(&format!("results/{id}-part-3-of-3 {DB}")));
    assert_eq!(ran.code(), 1, "{ran:?}");
}

#[test]
fn a_part_that_is_killed_missing_or_foreign_is_named_and_voids_the_result() {
    let workdir = loaded();
    let load = LOAD.replace("2s", "4s");
    let id = planned(&workdir, &load);
    let mut parts = started(&workdir, 1..=2, 2, "");
    let killed = parts.pop().unwrap();
    let shown = folder(&workdir, &id, 2, 2).join(result::PROGRESS_FILE);
    killed.until("it has told of its calls", || {
        std::fs::read_to_string(&shown).is_ok_and(|lines| lines.lines().count() > 0)
    });
    killed.signal(Signal::KILL);
    assert!(killed.end_anyhow().status.code() != Some(0));
    assert_eq!(parts.pop().unwrap().end().code(), 0);
    let judged = |places: &str, words: &str| {
        let ran = workdir.run(&format!("merge {places} {DB} --json"));
        assert_eq!(ran.code(), 1, "{ran:?}");
        let document = parse(&ran.out);
        let rule = rule(&document["trials"][0], "parts");
        assert_eq!(rule["severity"], "bad");
        let sentence = rule["sentence"].as_str().unwrap().to_owned();
        assert!(sentence.contains(words), "{sentence}");
        // What is known of the others is still held to the data, and it is there.
        let ledger = document["trials"][0]["ledger"].as_array().unwrap();
        assert!(!ledger.is_empty() && ledger.iter().all(|check| check["check"] != "failed"), "{ledger:?}");
    };
    let first = format!("results/{id}-part-1-of-2");
    judged(&format!("{first} results/{id}-part-2-of-2"), "part 2 has no result");
    judged(&first, "part 2 is missing");
    let other = planned(&workdir, &load);
    assert_eq!(started(&workdir, [2], 2, "").pop().unwrap().end().code(), 0);
    judged(&format!("{first} results/{other}-part-2-of-2"), "part 2 belongs to another run");
}

#[test]
fn parts_of_one_server_are_merged_with_what_it_answers_then() {
    let workdir = loaded();
    let (serving, url) = workdir.serve_workload("tpcb", "bench.db");
    let plan = format!("run tpcb/sqlite/axum+rusqlite --url {url} {DB} {LOAD} --write-plan plan.json");
    assert_eq!(workdir.run(&plan).code(), 0);
    for part in started(&workdir, 1..=2, 2, &format!("--url {url}")) {
        let ran = part.end();
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    let folders: Vec<String> = workdir.runs().iter().map(|run| run.display().to_string()).collect();
    let ran = workdir.run(&format!("merge {} {DB} --url {url} --json", folders.join(" ")));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_eq!(document["trials"][0]["stack"]["route"], "http");
    serving.signal(Signal::INT);
    assert_eq!(serving.end().code(), 0);
}

#[test]
fn what_is_wrong_with_a_plan_or_a_part_is_said_before_anything_starts() {
    let workdir = loaded();
    let write = "--write-plan plan.json";
    for (line, words) in [
        (
            format!("run tpcb/sqlite/rusqlite {write}"),
            &["--write-plan needs --db", "hint: `stackmark load"][..],
        ),
        (format!("run tpcb/sqlite/axum+rusqlite {DB} {write}"), &["needs --url"]),
        (
            format!("run tpcb/sqlite/rusqlite {DB} --calls 10 {write}"),
            &["a number of calls cannot be shared"],
        ),
        (format!("run --part 1/2 {DB}"), &["--plan"]),
        (format!("run --plan plan.json {DB}"), &["--part"]),
        (format!("run --plan plan.json --part 3/2 {DB}"), &["no part 3 of 2"]),
        (format!("run --plan plan.json --part 1/2 {DB}"), &["could not read plan.json"]),
        (format!("run --plan bench.db --part 1/2 {DB}"), &["bench.db"]),
        (format!("merge bench.db {DB}"), &["bench.db"]),
        (format!("merge results/nothing {DB}"), &["none of the parts has left anything"]),
    ] {
        refused(&workdir, &line, words);
    }
    planned(&workdir, LOAD);
    for (more, words) in [
        (format!("--part 1/2 --clients 3 {DB}"), &["--clients"][..]),
        (format!("--part 1/2 --start-at yesterday {DB}"), &["not a moment"]),
        (format!("--part 1/2 --start-at 2020-01-01T00:00:00Z {DB}"), &["has passed"]),
        (format!("--part 1/2 --start-at @9999999999 {DB}"), &["a week from now is the latest"]),
        (format!("--part 1/2 --url http://127.0.0.1:1 {DB}"), &["--url is for subjects through HTTP"]),
        (format!("--part 1/9 {DB}"), &["6 clients cannot be shared by 9 processes"]),
        ("--part 1/2".to_owned(), &["no database is named"]),
    ] {
        refused(&workdir, &format!("run --plan plan.json {more}"), words);
    }
    assert_eq!(workdir.run("load tpcb --scale 2 --db sqlite:other.db").code(), 0);
    refused(
        &workdir,
        "run --plan plan.json --part 1/2 --db sqlite:other.db",
        &["does not hold the data that the plan", "hint: give --db"],
    );
    // A part is made once.
    let line = format!("run --plan plan.json --part 1/1 {DB}");
    assert_eq!(workdir.run(&line).code(), 0);
    refused(&workdir, &line, &["this part has been made"]);
}

/// A command in a working folder, which finds `stackmark` as that of a user would.
fn in_path(workdir: &Workdir, script: &str, variables: &[(&str, &str)]) -> Running {
    let mut command = workdir.shell(script);
    let ours = stackmark_tests::repository::binary();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("bin:{}:{path}", ours.parent().unwrap().display()));
    Running::start({
        command.envs(variables.iter().copied());
        command
    })
}

fn merged(workdir: &Workdir, id: &str, parts: &str) {
    let folders = std::fs::read_dir(workdir.path(parts)).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    assert!(folders.len() == 4 && folders.iter().all(|folder| folder.contains(id)), "{folders:?}");
    let ran = workdir.run(&format!("merge {} {DB} --json", folders.join(" ")));
    assert_good(&ran, &parse(&ran.out));
}

#[test]
fn manifests_of_schedulers_make_the_parts_of_a_plan() {
    let workdir = loaded();
    let packaging = stackmark_tests::repository::root().join("packaging/parts");
    // Each task of an array is told its number by Slurm.
    let id = planned(&workdir, LOAD);
    let (script, start) = (packaging.join("slurm.sh").display().to_string(), soon(READY_S));
    let task = |number: u32| {
        let number = number.to_string();
        let variables = [
            ("SLURM_ARRAY_TASK_ID", number.as_str()),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("START", &start),
            ("STACKMARK_DB", "sqlite:bench.db"),
        ];
        in_path(&workdir, &format!("sh '{script}'"), &variables)
    };
    for task in (1..=4).map(task).collect::<Vec<_>>() {
        let ran = task.end();
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    merged(&workdir, &id, "parts");
    // Each pod by Kubernetes, from zero.
    let id = planned(&workdir, LOAD);
    let job = std::fs::read_to_string(packaging.join("kubernetes.yaml")).unwrap();
    let job: Value = serde_yaml_ng::from_str(&job).unwrap();
    assert_eq!((&job["kind"], &job["spec"]["completionMode"]), (&"Job".into(), &"Indexed".into()));
    assert_eq!((&job["spec"]["completions"], &job["spec"]["backoffLimit"]), (&4.into(), &0.into()));
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], serde_json::json!(["/bin/sh", "-c"]));
    std::fs::create_dir(workdir.path("shared")).unwrap();
    std::fs::rename(workdir.path("plan.json"), workdir.path("shared/plan.json")).unwrap();
    let line =
        container["args"][0].as_str().unwrap().replace("START", &soon(READY_S)).replace("/shared", "shared");
    let line = line.replace("--out shared", "--out pods");
    let pod = |index: u32| {
        let index = index.to_string();
        let variables = [("JOB_COMPLETION_INDEX", index.as_str()), ("STACKMARK_DB", "sqlite:bench.db")];
        in_path(&workdir, &line, &variables)
    };
    for pod in (0..4).map(pod).collect::<Vec<_>>() {
        let ran = pod.end();
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    merged(&workdir, &id, "pods");
}

/// With a shell of this machine in the place of each of the others.
#[test]
fn parts_come_back_over_ssh_and_are_merged() {
    let workdir = loaded();
    let has = |program: &str| std::process::Command::new(program).arg("--version").output().is_ok();
    if !has("parallel") {
        return rig::for_tests::not_run("GNU parallel is not installed (package `parallel`)");
    }
    planned(&workdir, LOAD);
    std::fs::create_dir(workdir.path("bin")).unwrap();
    let ssh = workdir.path("bin/ssh");
    std::fs::write(&ssh, "#!/bin/sh\nunset STACKMARK_DB\nshift\nexec sh -c \"$1\"\n").unwrap();
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = stackmark_tests::repository::root().join("packaging/parts/ssh.sh").display().to_string();
    let db = format!("sqlite:{}", workdir.path("bench.db").display());
    let variables = [("STACKMARK_DB", db.as_str()), ("WAIT", "10")];
    let ran =
        in_path(&workdir, &format!("PATH=$PWD/$PATH; sh '{script}' plan.json one two three"), &variables)
            .end();
    assert_eq!(ran.code(), 0, "{ran:?}");
    for name in ["one", "two", "three"] {
        assert!(ran.err.contains(name), "{ran:?}");
    }
    let merged = workdir.document();
    assert_eq!(merged["trials"][0]["parts"].as_array().unwrap().len(), 3);
}

/// Files come from other machines: what no part writes is refused with the name of the file, and nothing breaks.
#[test]
fn what_a_part_has_left_and_someone_has_changed_is_not_merged() {
    let workdir = loaded();
    let id = planned(&workdir, "--rate 100 --clients 2 --duration 1s --warmup 0s");
    assert_eq!(workdir.run(&format!("run --plan plan.json --part 1/1 {DB}")).code(), 0);
    let file = folder(&workdir, &id, 1, 1).join("part.json");
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let changes: [(&str, Value); 9] = [
        ("/part", 2.into()),
        ("/of", 0.into()),
        ("/opened_us", i64::MAX.into()),
        ("/driven/span", u64::MAX.into()),
        ("/driven/totals/kinds", serde_json::json!([])),
        ("/driven/slices/0/kinds", serde_json::json!([])),
        ("/trial/processes/0/roles", serde_json::json!([])),
        ("/plan/plan/workers", 0.into()),
        ("/schema", "stackmark-part/9".into()),
    ];
    for (place, value) in changes {
        let mut changed = whole.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        std::fs::write(&file, changed.to_string()).unwrap();
        refused(&workdir, &format!("merge results/{id}-part-1-of-1 {DB}"), &["part.json"]);
    }
    // A part whose plan was changed is of another plan.
    std::fs::write(&file, whole.to_string()).unwrap();
    let mut other = whole.clone();
    *other.pointer_mut("/plan/plan/seed").unwrap() = 99.into();
    std::fs::write(workdir.path("other.json"), other.to_string()).unwrap();
    let ran = workdir.run(&format!("merge results/{id}-part-1-of-1 other.json {DB} --json"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = &parse(&ran.out)["trials"][0];
    assert!(rule(trial, "parts")["sentence"].as_str().unwrap().contains("belongs to another run"));
}

#[test]
fn ctrl_c_before_the_first_call_leaves_nothing_and_in_the_middle_a_part_that_voids_the_result() {
    let workdir = loaded();
    let id = planned(&workdir, "--rate 100 --clients 2 --duration 60s --warmup 0s");
    let waiting = workdir.start(&format!("run --plan plan.json --part 1/2 --start-at {} {DB}", soon(60)));
    waiting.until("it has its folder", || !workdir.runs().is_empty());
    waiting.until("it waits", || std::fs::read_to_string(workdir.runs()[0].join("progress.jsonl")).is_ok());
    waiting.signal(Signal::INT);
    let ran = waiting.end();
    assert!(ran.code() == 130 && ran.err.contains("interrupted before a call was made"), "{ran:?}");
    assert!(workdir.runs().is_empty(), "{:?}", workdir.runs());
    let running = workdir.start(&format!("run --plan plan.json --part 1/1 {DB}"));
    running.until("calls are committed", || workdir.has_committed());
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!(ran.code(), 130, "{ran:?}");
    let ran = workdir.run(&format!("merge results/{id}-part-1-of-1 {DB} --json"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = &parse(&ran.out)["trials"][0];
    assert!(rule(trial, "parts")["sentence"].as_str().unwrap().contains("part 1 was interrupted"));
    // All that was acknowledged until then is stored.
    assert!(trial["ledger"].as_array().unwrap().iter().all(|check| check["check"] == "passed"), "{trial:#}");
}
