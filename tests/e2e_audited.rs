//! Numbers that no one has checked say so, and what was asked of a run decides its exit status.

use crate::e2e_workdir::{Workdir, kill};

#[test]
fn a_run_whose_data_no_one_looked_at_is_unverified_and_claims_nothing_of_the_servers_as_a_fact() {
    let workdir = Workdir::loaded_in_full();
    let (server, url) = workdir.serve();
    let line = format!("run tpcc/sqlite/axum+rusqlite --url {url} --warmup 0s --calls 200");
    let ran = workdir.run(&line);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let headline = ran.out.lines().find(|text| text.contains("(NOPM)")).unwrap();
    // Nor did anyone look whether the server answers rightly on data that is known.
    assert!(headline.contains("UNVERIFIED") && headline.ends_with("conformance: not run"), "{headline}");
    assert!(
        ran.out.contains("durable (reported by the server)") && !ran.out.contains(", durable,"),
        "{}",
        ran.out
    );
    let document = workdir.document();
    let trial = &document["trials"][0];
    assert_eq!(trial["stack"]["durability"]["claimed"], true);
    let rules = trial["rules"].as_array().unwrap();
    let audit = rules.iter().find(|rule| rule["name"] == "audit").unwrap()["sentence"].as_str().unwrap();
    assert!(audit.starts_with("UNVERIFIED: not checked: the stored data after the run"), "{audit}");

    // Asked for audits, it does not begin where there can be none, and says what would be right.
    let refused = workdir.run(&format!("{line} --require-audit"));
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.err.contains("the data behind --url is not audited"), "{refused:?}");
    assert!(refused.err.contains("hint: give --db"), "{refused:?}");
    let run = workdir.only_run();

    // With the data in sight all audits run.
    let ran = workdir.run(&format!("{line} --db sqlite:bench.db --require-audit"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(!ran.out.contains("UNVERIFIED") && ran.out.contains("(reported by the server)"), "{}", ran.out);

    // Of stored results the one without audits is named.
    let runs = workdir.runs();
    let audited = runs.iter().find(|other| **other != run).unwrap();
    let compared =
        |more: &str| workdir.run(&format!("compare {} {}{more}", run.display(), audited.display()));
    // The one says nothing of its data, so they cannot be shown to have done the same work.
    let different = compared("");
    assert!(different.code() == 1 && different.out.contains("not comparable"), "{different:?}");
    let refused = compared(" --require-audit");
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.err.contains("the stored data was not audited"), "{refused:?}");
    kill(server.pid());
    server.end();
}

#[test]
fn a_direct_run_meets_what_is_required() {
    let workdir = Workdir::loaded();
    let ran = workdir.run("run tpcc --db sqlite:bench.db --warmup 0s --calls 200 --require-audit");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(!ran.out.contains("UNVERIFIED") && !ran.out.contains("reported by the server"), "{}", ran.out);
    assert!(workdir.document()["trials"][0]["stack"]["durability"]["claimed"].is_null());
}
