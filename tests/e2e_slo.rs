//! `run --slo`: limits that a result must meet, and the exit statuses of the program.

use crate::e2e_workdir::{Workdir, parse};
use serde_json::Value;
use stackmark_tests::repository;
use std::fs;

const RUN: &str = "run tpcc --db sqlite:bench.db --clients 2 --warmup 0s --duration 300ms";

/// What became of each limit of the only trial.
fn slos(document: &Value) -> Vec<(&str, &str)> {
    let slos = document["trials"][0]["slos"].as_array().map_or(&[][..], Vec::as_slice);
    slos.iter().map(|slo| (slo["slo"].as_str().unwrap(), slo["check"].as_str().unwrap())).collect()
}

#[test]
fn a_limit_that_is_missed_fails_the_run_and_is_printed_with_its_value() {
    let workdir = Workdir::loaded();
    let ran = workdir.run(&format!("{RUN} --slo p50<1h --slo new-order.rate>1000000,errors<1%"));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let document = workdir.document();
    let expected = [("p50<1h", "passed"), ("new-order.rate>1000000", "failed"), ("errors<1%", "passed")];
    assert_eq!(slos(&document), expected);
    assert!(ran.out.contains("SLO new-order.rate>1000000  missed: "), "{}", ran.out);
    assert!(ran.out.contains("SLO p50<1h") && ran.out.contains("met: p50 "), "{}", ran.out);
    let report = |format: &str| {
        let ran = workdir.run(&format!("report --format {format} {}", workdir.only_run().display()));
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.out
    };
    let junit = report("junit");
    assert!(
        junit.contains("name=\"SLO new-order.rate&gt;1000000\"") && junit.contains("failures=\"1\""),
        "{junit}"
    );
    assert!(report("html").contains("SLO new-order.rate&gt;1000000"));
    assert!(report("md").contains("missed: "));
}

#[test]
fn limits_that_are_met_or_unknown_do_not_fail_a_run() {
    let workdir = Workdir::loaded();
    let ran = workdir.run(&format!("{RUN} --json --slo rate>1 --slo p50<=1h"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(slos(&parse(&ran.out)), [("rate>1", "passed"), ("p50<=1h", "passed")]);
    // Ten calls beyond the percentile take 10,000 of them.
    let ran = workdir.run(&format!("{RUN} --json --slo stock-level.p99.9<1h"));
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert_eq!(slos(&parse(&ran.out)), [("stock-level.p99.9<1h", "inconclusive")]);
}

#[test]
fn what_is_wrong_with_a_limit_is_said_before_anything_starts() {
    let workdir = Workdir::empty();
    for (slo, words) in [
        ("fast", "'new-order.p99<50ms', 'rate>1000'"),
        ("paymant.p99<50ms", "nearest: `payment`"),
        ("rate<5", "a rate has a lower limit"),
        ("errors<5", "not a share such as 0.1%"),
    ] {
        workdir.run(&format!("run tpcc --slo {slo}")).refused(&[words]);
    }
    assert!(!workdir.path("results").exists());
}

/// The table of exit statuses in the README is what the program does. What signals end is tested with interruptions.
#[test]
fn the_exit_statuses_of_the_readme_are_those_of_the_program() {
    let readme = fs::read_to_string(repository::root().join("README.md")).unwrap();
    let rows = readme.lines().skip_while(|line| !line.starts_with("| Exit status |")).skip(2);
    let rows = rows.map_while(|line| line.strip_prefix("| ")?.split_once(" |"));
    let statuses: Vec<&str> = rows.map(|(status, _)| status).collect();
    assert_eq!(statuses, ["0", "1", "2", "3", "129, 130, 143"]);
    let workdir = Workdir::loaded();
    for (status, line) in [
        (0, format!("{RUN} --slo rate>1")),
        (1, format!("{RUN} --slo rate>1000000000")),
        (2, "run no-such-workload".to_owned()),
        (3, format!("{RUN} --slo stock-level.p99.9<1h")),
    ] {
        let ran = workdir.run(&line);
        assert_eq!(ran.code(), status, "{line}: {ran:?}");
    }
}
