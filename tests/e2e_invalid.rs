//! Data that does not hold what was acknowledged: its number is invalid, no ratio is given of it in any format, and why is
//! said.

use crate::e2e_workdir::{Workdir, parse, write};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A document in the three formats that people read.
fn rendered(workdir: &Workdir, result: &str) -> [String; 3] {
    ["text", "md", "html"].map(|format| {
        let ran = workdir.run(&format!("report {result} --format {format}"));
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.out
    })
}

/// Whatever is wrapped to the width of a page in one line.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The folder of a run that was made with `--out FOLDER`.
fn run_in(workdir: &Workdir, folder: &str) -> String {
    let entry = fs::read_dir(workdir.path(folder)).unwrap().next().expect("a run was made").unwrap();
    format!("{folder}/{}", entry.file_name().into_string().unwrap())
}

#[test]
fn a_stored_result_that_lost_what_it_acknowledged_gets_no_ratio() {
    let workdir = Workdir::loaded();
    for copy in ["other.db", "served.db"] {
        fs::copy(workdir.path("bench.db"), workdir.path(copy)).unwrap();
    }
    let ((_kept, keeping), (_lost, losing)) = (workdir.serve(), workdir.serve_workload("tpcc", "served.db"));
    let run = |url: &str, database: &str, out: &str| {
        let plan = "--calls 200 --warmup 0s --clients 2";
        let ran = workdir.run(&format!("run tpcc --url {url} --db sqlite:{database} {plan} --out {out}"));
        (ran.code(), run_in(&workdir, out))
    };
    let (kept_code, kept) = run(&keeping, "bench.db", "kept");
    // Nothing that this server acknowledges ever reaches the store that is audited.
    let (lost_code, lost) = run(&losing, "other.db", "lost");
    assert_eq!((kept_code, lost_code), (0, 1));
    fs::create_dir(workdir.path("again")).unwrap();
    fs::copy(workdir.path(&kept).join("result.json"), workdir.path("again/result.json")).unwrap();
    let compared = |a: &str, b: &str| {
        let ran = workdir.run(&format!("compare {a} {b} --json"));
        write(workdir.path("pair.json"), &ran.out);
        (ran.code(), parse(&ran.out)["experiment"]["comparisons"][0].take(), rendered(&workdir, "pair.json"))
    };

    let (code, found, [text, markdown, html]) = compared(&kept, "again");
    assert!(code == 0 && found["ratio"]["value"] == 1.0 && found["blocks"][0]["ratio"] == 1.0, "{found}");
    assert!(text.contains(": again vs ") && text.contains("ratio B/A"), "{text}");
    assert!(markdown.contains(": again vs "), "{markdown}");
    assert!(html.contains("Effect of each variant"), "{html}");

    for (a, b) in [(&kept, &lost), (&lost, &kept)] {
        let (code, found, [text, markdown, html]) = compared(a, b);
        assert_eq!(code, 1, "{text}");
        assert!(found["ratio"].is_null() && found["blocks"][0]["ratio"].is_null(), "{found}");
        let why = format!("No ratio: {lost} is invalid (the audit `closing-order-status` failed");
        assert!(found["sentence"].as_str().unwrap().starts_with(&why), "{found}");
        assert!(unwrapped(&text).contains(&why) && text.contains("FAILED"), "{text}");
        assert!(!text.contains(" keeps ") && !text.contains("ratio B/A"), "{text}");
        assert!(markdown.contains("FAILED") && !markdown.contains(" keeps "), "{markdown}");
        assert!(!markdown.contains("ratio B/A"), "{markdown}");
        assert!(html.contains("role=\"alert\"") && html.contains("No ratio:"), "{html}");
        assert!(!html.contains("Effect of each variant") && !html.contains(" keeps "), "{html}");
    }
}

const FILE: &str = r#"
workload = "tpcc"
scale = 1

[plan]
blocks = 2
calls = 200
warmup = "0s"
clients = 1
control = false

[[variant]]
name = "direct"
subject = "sqlite/rusqlite"

# Long enough to take something from it, and slow enough to let someone in.
[[variant]]
name = "losing"
subject = "sqlite/axum+rusqlite"
rate = 20
calls = 240

[[variant]]
name = "grouped"
subject = "sqlite/rusqlite/grouped"
"#;

/// Takes the latest payment out of the history.
fn lose_a_payment(database: &Path) {
    let store = rusqlite::Connection::open(database).unwrap();
    store.busy_timeout(Duration::from_secs(60)).unwrap();
    let lost = "delete from history where rowid = (select max(rowid) from history)";
    assert_eq!(store.execute(lost, []).unwrap(), 1);
}

#[test]
fn a_variant_whose_audit_fails_gets_no_ratio_and_the_others_go_on() {
    let workdir = Workdir::empty();
    write(workdir.path("three.toml"), FILE);
    let running = workdir.start("experiment three.toml");
    let started = |file: &String| file.ends_with("-losing/result.json");
    running.until("the trial has begun", || workdir.files().iter().any(started));
    lose_a_payment(&workdir.only_run().join("private/trial.db"));
    let ran = running.end();
    assert_eq!(ran.code(), 1, "{ran:?}");

    let document = workdir.document();
    assert_eq!(document["state"], "complete");
    let experiment = &document["experiment"];
    let variants = experiment["variants"].as_array().unwrap();
    let states: Vec<&Value> = variants.iter().map(|variant| &variant["state"]).collect();
    assert_eq!(states, ["measured", "invalid", "measured"]);
    let runs = |variant: &Value| {
        variant["trials"].as_array().unwrap().iter().filter(|trial| !trial.is_null()).count()
    };
    assert_eq!(variants.iter().map(runs).collect::<Vec<_>>(), [2, 1, 2], "it does not run again");
    let [losing, grouped] = &experiment["comparisons"].as_array().unwrap()[..] else {
        panic!("{experiment}")
    };
    assert!(grouped["ratio"].is_object(), "{grouped}");
    assert!(losing["ratio"].is_null(), "{losing}");
    let blocks = losing["blocks"].as_array().unwrap();
    assert!(blocks.iter().all(|block| block["ratio"].is_null()), "{losing}");
    let why = "No ratio: losing is invalid (the audit `";
    assert!(losing["sentence"].as_str().unwrap().starts_with(why), "{losing}");

    let [text, markdown, html] = rendered(&workdir, &workdir.only_run().display().to_string());
    assert_eq!(text, ran.out, "what the run printed");
    assert!(unwrapped(&text).contains("invalid the audit"), "{text}");
    assert!(markdown.contains("No ratio: losing is invalid (the audit "), "{markdown}");
    let row = |name: &str| {
        let starts = format!("  {name} ");
        let mut rows = text.lines().filter(|line| line.starts_with(&starts));
        rows.next().unwrap_or_else(|| panic!("no row of {name}: {text}")).to_owned()
    };
    // Behind its name stands the tier of a variant whose data is in memory.
    let losing = if text.contains("losing (volatile)") { "losing (volatile)" } else { "losing" };
    assert!(row("grouped").contains(['×', '%']), "{text}");
    assert!(row("losing").contains(" invalid ") && !row("losing").contains(['×', '%']), "{text}");
    let cells = |start: &str| {
        let mut rows = markdown.lines().filter(|line| line.starts_with(start));
        rows.next().unwrap_or_else(|| panic!("no row {start}: {markdown}")).to_owned()
    };
    assert!(!cells("| grouped").ends_with("| – |"), "{markdown}");
    assert!(cells(&format!("| {losing} | ✕ invalid")).ends_with("| – | – |"), "{markdown}");
    assert!(
        html.contains(&format!("{losing}: invalid")) && html.contains("Failed parts have no result"),
        "{html}"
    );
    assert!(!html.contains(&format!("{losing}: ×")), "{html}");
}
