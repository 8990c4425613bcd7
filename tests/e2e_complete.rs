//! What a newcomer does, from the first load to the comparison, and what comes out on which stream.

use crate::e2e_invalid::unwrapped;
use crate::e2e_workdir::{Ran, Running, Workdir, assert_good, assert_tier, parse, write};
use serde_json::Value;
use std::fs;

/// A database whose commits wait for no disk: one that stalls would leave a short trial without a call.
const UNFLUSHED: &str = "sqlite:bench.db?synchronous=normal";

#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code(), 0, "{ran:?}");
    ran.out
}

#[test]
fn help_is_in_groups_and_every_command_has_a_man_page() {
    let workdir = Workdir::empty();
    let help = done(workdir.run("run --help"));
    let places: Vec<Option<usize>> = ["Target:", "Load:", "Server:", "Engine:", "Checks:", "Output:"]
        .iter()
        .map(|title| help.find(title))
        .collect();
    assert!(places.iter().all(Option::is_some), "{places:?} {help}");
    for flag in ["-c, --clients", "-d, --duration", "-w, --warmup", "-r, --rate", "-o, --out"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
    let page = done(workdir.run("man run"));
    assert!(page.contains(".TH stackmark-run") && page.contains("slo"), "{page}");
    workdir.run("man rum").refused(&["no command `rum`", "quickstart"]);
}

#[test]
fn subjects_are_listed_by_how_their_names_begin() {
    let workdir = Workdir::empty();
    let listed: Value = serde_json::from_str(&done(workdir.run("list tpcc/sqlite --json"))).unwrap();
    let subjects: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["subject"].as_str().unwrap()).collect();
    assert!(
        subjects.len() > 1 && subjects.iter().all(|subject| subject.starts_with("tpcc/sqlite/")),
        "{subjects:?}"
    );
    workdir.run("list tpcc/sql").refused(&["no subject begins with `tpcc/sql`"]);
    workdir.run("list tpcx").refused(&["tpcx"]);
}

#[test]
fn the_doctor_says_what_is_there_and_what_is_missing_with_the_package() {
    let workdir = Workdir::empty();
    let found: Value = serde_json::from_str(&done(workdir.run("doctor --json"))).unwrap();
    let of =
        |about: &str| found.as_array().unwrap().iter().find(|finding| finding["about"] == about).cloned();
    assert_eq!(of("SQLite").unwrap()["status"], "ok", "{found}");
    assert!(of("cores").is_some() && of("storage of private engines").is_some(), "{found}");
    let mut without = workdir.command("doctor");
    without.env("STACKMARK_POSTGRES_BIN", workdir.path("nothing"));
    let text = done(Running::start(without).end());
    assert!(text.contains("missing  PostgreSQL") && text.contains("hint: "), "{text}");
    assert!(!text.contains("0 missing"), "{text}");
}

#[test]
fn a_subject_is_loaded_run_audited_reported_and_compared() {
    let workdir = Workdir::loaded_in_full();
    // It is there already, so this changes nothing.
    let again: Value =
        serde_json::from_str(&done(workdir.run("load tpcc --json --db sqlite:bench.db"))).unwrap();
    assert_eq!((&again["loaded"], &again["warehouses"]), (&Value::Bool(false), &Value::from(1)));

    let short = "--db sqlite:bench.db --duration 1s --warmup 200ms --clients 2 --rate 200";
    let ran = workdir.run(&format!("run tpcc --json {short}"));
    let stored = fs::read_to_string(workdir.only_run().join("result.json")).unwrap();
    assert_eq!(ran.out, stored, "standard output has the document and nothing else");
    let direct = parse(&stored);
    assert_good(&ran, &direct);
    let trial = &direct["trials"][0];
    assert_eq!((&direct["state"], &trial["subject"]), (&"complete".into(), &"tpcc/sqlite/rusqlite".into()));
    assert!(trial["overall"]["call_counts"]["committed"].as_u64().unwrap() > 0);
    assert_tier(trial, "durable");
    assert_eq!(trial["conformance"]["check"], "passed");
    assert_eq!(trial["plan"]["clients"], 2);

    // Text on standard output, where it went on the other.
    let ran = workdir.run(&format!("run tpcc/sqlite/axum+rusqlite {short}"));
    assert!(ran.err.contains("result.json") && ran.err.contains("report.html"), "{ran:?}");
    let text = &ran.out;
    assert!(text.starts_with("tpcc/sqlite/axum+rusqlite ") && text.contains("NOPM"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour where there is no terminal");

    let runs = workdir.runs();
    let [direct, http] = &runs[..] else { panic!("{runs:?}") };
    let document = parse(&fs::read_to_string(http.join("result.json")).unwrap());
    assert_good(&ran, &document);
    let (work, own) = (&document["trials"][0]["overall"]["work"], &trial["overall"]["work"]);
    assert!(work["http"]["sent"].as_f64().unwrap() > 100.0 && own.get("http").is_none(), "{work} {own}");
    assert!(work["http"]["received_per_s"].as_f64().unwrap() > work["http"]["received"].as_f64().unwrap());
    assert!(text.contains("HTTP bytes"), "{text}");
    for run in [direct, http] {
        assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("</html>"));
        assert!(!run.join("private").exists(), "{:?}", workdir.files());
    }
    audited(&workdir);
    reported(&workdir, http.to_str().unwrap());

    let stored = format!("compare {} {}", direct.display(), http.display());
    assert!(unwrapped(&done(workdir.run(&stored))).contains("no confidence interval"));
    let compared = parse(&done(workdir.run(&format!("{stored} --json"))));
    assert_eq!((&compared["kind"], compared["trials"].as_array().unwrap().len()), (&"comparison".into(), 2));
    let mut half = parse(&fs::read_to_string(http.join("result.json")).unwrap());
    let rate = &mut half["trials"][0]["headline"]["value"]["value"];
    *rate = (rate.as_f64().unwrap() / 2.0).into();
    write(workdir.path("half.json"), &half.to_string());
    // Two single trials have no interval, so that nothing is sure of a small difference.
    let same = http.to_str().unwrap();
    for (other, accept, code) in [
        ("half.json", "", 1),
        (same, "", 3),
        (same, "--accept-inconclusive", 0),
        ("half.json", "--accept-inconclusive", 1),
    ] {
        let ran = workdir.run(&format!("compare {same} {other} --max-loss 5% {accept}"));
        assert_eq!(ran.code(), code, "{ran:?}");
    }
}

fn audited(workdir: &Workdir) {
    let text = done(workdir.run("audit tpcc --db sqlite:bench.db"));
    assert!(text.contains("1 warehouse, loaded by stackmark") && text.contains(" 0 failed"), "{text}");
    let shown: Value =
        serde_json::from_str(&done(workdir.run("audit tpcc --json --db sqlite:bench.db"))).unwrap();
    assert_eq!(shown["scale"], 1);
    // A breach of one condition, by a hand that no run has.
    let broken = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
    broken.execute_batch("update warehouse set w_ytd = w_ytd + 1").unwrap();
    drop(broken);
    let ran = workdir.run("audit tpcc --db sqlite:bench.db");
    assert!(ran.code() == 1 && ran.out.contains("FAILED"), "{ran:?}");
    // Pages that cannot be read are pages that no one has checked.
    let mut pages = fs::read(workdir.path("bench.db")).unwrap();
    let tenth = pages.len() / 10;
    pages[4 * tenth..6 * tenth].fill(0xa5);
    fs::write(workdir.path("torn.db"), pages).unwrap();
    let ran = workdir.run("audit tpcc --db sqlite:torn.db");
    let first = ran.out.lines().nth(1).unwrap_or_default();
    assert!(ran.code() == 1 && first.contains("NOT RUN") && first.contains("malformed"), "{ran:?}");
    fs::remove_file(workdir.path("torn.db")).unwrap();
    let files = workdir.files();
    let refused = workdir.run("run tpcc --db sqlite:bench.db --duration 1s --warmup 0s");
    refused.refused(&["data audit failed before the run", "--fresh"]);
    assert_eq!(workdir.files(), files);
}

fn reported(workdir: &Workdir, run: &str) {
    let stored = fs::read_to_string(format!("{run}/result.json")).unwrap();
    let text = done(workdir.run(&format!("report {run}")));
    let markdown = done(workdir.run(&format!("report {run} --format md")));
    let page = done(workdir.run(&format!("report {run} --format html")));
    assert!(text.contains("new-order") && markdown.contains("| new-order") && page.contains("</html>"));
    for json in ["--format json", "--json"] {
        assert_eq!(done(workdir.run(&format!("report {run}/result.json {json}"))), stored);
    }
    let ran = workdir.run(&format!("report {run} --format html --output page.html"));
    assert_eq!(done(ran), "", "what goes to a file goes nowhere else");
    assert_eq!(fs::read_to_string(workdir.path("page.html")).unwrap(), page);
}

#[test]
fn lists_completions_and_the_man_page_are_data() {
    let workdir = Workdir::empty();
    let check = |line: &str, words: &[&str]| {
        let ran = workdir.run(line);
        assert!(ran.code() == 0 && ran.err.is_empty(), "{ran:?}");
        assert!(words.iter().all(|word| ran.out.contains(word)), "{words:?}: {ran:?}");
        ran.out
    };
    check("list", &["tpcc/sqlite/rusqlite", "tpcc/sqlite/axum+rusqlite", "needs"]);
    let rows: Value = serde_json::from_str(&check("list tpcc --json", &[])).unwrap();
    assert!(rows.as_array().unwrap().iter().any(|row| row["subject"] == "tpcc/sqlite/rusqlite"));
    check("completions bash", &["complete ", "quickstart", "tpcc/postgres/tokio-postgres", "http-tax"]);
    check("completions zsh", &["#compdef stackmark", "tpcc/sqlite/rusqlite"]);
    check("completions fish", &["complete -c stackmark"]);
    check("man", &[".TH stackmark", "quickstart"]);
    check("help", &["quickstart", "audit"]);
    check("--version", &["stackmark 0"]);
    assert!(workdir.files().is_empty());
}

#[test]
fn a_terminal_gets_colour_unless_no_color_says_otherwise() {
    let workdir = Workdir::loaded();
    let ran = workdir.run(&format!("run tpcc --db {UNFLUSHED} --calls 100 --warmup 0s --clients 1"));
    assert_good(&ran, &workdir.document());
    // A terminal is what `script` makes.
    let typed = |environment: &str| {
        let script = format!("{environment} script -qec '$STACKMARK report results/*' /dev/null");
        Running::start(workdir.shell(&script)).end()
    };
    let coloured = typed("");
    if coloured.code() == 127 {
        return rig::for_tests::not_run("there is no `script` to make a terminal with");
    }
    assert!(coloured.out.contains('\u{1b}'), "{coloured:?}");
    for environment in ["NO_COLOR=1", "TERM=dumb"] {
        let plain = typed(environment);
        assert!(plain.code() == 0 && !plain.out.contains('\u{1b}'), "{environment}: {plain:?}");
    }
}

#[test]
fn a_comparison_never_writes_to_the_database_that_it_is_given() {
    let workdir = Workdir::loaded();
    let before = fs::read(workdir.path("bench.db")).unwrap();
    let plan = "--blocks 1 --duration 1s --warmup 0s --rate 100 --clients 2";
    let ran = workdir.run(&format!("compare tpcc tpcc --json --db {UNFLUSHED} {plan}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert_eq!(
        document["experiment"]["comparisons"][0]["verdict"], "inconclusive",
        "one block gives no interval"
    );
    assert!(fs::read(workdir.path("bench.db")).unwrap() == before, "bench.db has been written to");
}

#[test]
fn quickstart_needs_nothing_and_leaves_a_report() {
    let workdir = Workdir::empty();
    let ran = workdir.run("quickstart --blocks 1 --duration 1s --warmup 200ms --clients 2");
    assert!(ran.err.contains("trials 1 to 2 of 2, in turn") && ran.err.contains("report.html"), "{ran:?}");
    assert!(ran.out.contains("through HTTP") && !ran.out.contains('\u{1b}'), "{ran:?}");
    let document = workdir.document();
    assert_good(&ran, &document);
    assert_eq!((&document["state"], &document["kind"]), (&"complete".into(), &"comparison".into()));
    let subjects: Vec<_> =
        document["trials"].as_array().unwrap().iter().map(|trial| &trial["subject"]).collect();
    assert!(subjects.len() == 2 && subjects[0] != subjects[1], "{subjects:?}");
    assert_eq!(document["experiment"]["comparisons"][0]["factor"], "route");
    let mut names: Vec<String> = fs::read_dir(workdir.only_run())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["plan.json", "report.html", "result.json", "trials"], "nothing else is left");
}

#[test]
fn data_on_which_customers_never_ordered_is_refused_with_the_rule_of_the_load_that_it_breaks() {
    let workdir = Workdir::loaded();
    let made = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
    made.execute("update orders set o_c_id = 1 where o_w_id = 1 and o_d_id = 1 and o_id in (5, 6)", [])
        .unwrap();
    let refused = workdir.run("run tpcc/sqlite/rusqlite --db sqlite:bench.db --warmup 0s --duration 1s");
    refused
        .refused(&["order-customers", "each customer of a district has one of the orders that were loaded"]);
}

#[test]
fn data_without_a_name_that_calls_draw_is_refused_and_the_district_is_named() {
    let workdir = Workdir::loaded_in_full();
    let made = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
    made.execute(
        "update customer set c_last = 'BARBARBAR' where c_w_id = 1 and c_d_id = 7 and c_last = 'PRICALLYOUGHT'",
        [],
    )
    .unwrap();
    let refused = workdir.run("run tpcc/sqlite/rusqlite --db sqlite:bench.db --warmup 0s --duration 1s");
    refused.refused(&["last-names", "warehouse 1, district 7, names found 999, names drawn 1000"]);
}

#[test]
fn what_was_wrong_before_a_run_is_told_apart_from_what_it_did() {
    let workdir = Workdir::loaded_in_full();
    let made = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
    made.execute("update stock set s_order_cnt = s_order_cnt + 1 where s_i_id = 77", []).unwrap();
    let ran =
        workdir.run("run tpcc/sqlite/rusqlite --db sqlite:bench.db --warmup 0s --calls 100 --clients 1");
    assert_eq!(ran.code(), 1, "{ran:?}");
    let sentence = unwrapped(&ran.out);
    assert!(sentence.contains("violated before the run already, and as much after it"), "{}", ran.out);
}

/// What a run's picks look like to `item-skew` and `customer-skew`.
fn skew_of_a_run(workdir: &Workdir, seed: u64) -> [Value; 2] {
    let plan = "--warmup 0s --clients 1 --calls 8000";
    let line = format!("run tpcc/sqlite/rusqlite --json --db {UNFLUSHED} {plan} --seed {seed}");
    let ran = workdir.run(&line);
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let audits = document["trials"][0]["audits"].as_array().unwrap();
    ["item-skew", "customer-skew"]
        .map(|name| audits.iter().find(|audit| audit["name"] == name).unwrap().clone())
}

mod extended {
    use super::*;

    /// The shares of the second run were once held to those of both, for ever: the same seed again made the same draws, and
    /// another one made them evener.
    #[test]
    fn a_seed_used_again_and_the_next_one_are_judged_by_what_they_drew_and_even_picks_fail() {
        let workdir = Workdir::loaded_in_full();
        for seed in [1, 1, 2] {
            for audit in skew_of_a_run(&workdir, seed) {
                assert_eq!(audit["check"], "passed", "seed {seed}: {audit}");
            }
        }
        let made = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
        made.execute_batch(
            "update order_line set ol_i_id = abs(random() % 100000) + 1 where ol_o_id > 3000;
             update orders set o_c_id = abs(random() % 3000) + 1 where o_id > 3000;",
        )
        .unwrap();
        let ran = workdir.run("audit tpcc --json --db sqlite:bench.db");
        assert_eq!(ran.code(), 1, "{ran:?}");
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        for name in ["item-skew", "customer-skew"] {
            let audit =
                found["audits"].as_array().unwrap().iter().find(|audit| audit["name"] == name).unwrap();
            assert_eq!(audit["check"], "failed", "{audit}");
        }
    }
}
