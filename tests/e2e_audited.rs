//! Numbers that no one has checked say so, and what was asked of a run decides its exit status.

use crate::e2e_workdir::{Workdir, kill};
use sql::Catalogue;
use std::collections::BTreeSet;
use workload::Benchmark;

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

/// What is wrong, in SQL, and which of the conditions that hold at any moment it breaks.
type PartOfCall = (&'static str, &'static [&'static str]);

/// Of each workload.
const PARTS_OF_CALLS: &[(&str, &[PartOfCall])] = &[
    (
        "tpcc",
        &[
            ("update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1", &["districts"]),
            ("update warehouse set w_ytd = w_ytd + 1 where w_id = 1", &["districts", "history"]),
            ("delete from history where rowid = 1", &["history"]),
            ("update district set d_next_o_id = d_next_o_id + 1 where d_id = 2", &["last_orders"]),
            (
                "delete from order_line where ol_number = 1 and ol_o_id = (select max(o_id) from orders)",
                &["last_orders"],
            ),
        ],
    ),
    (
        "tpcb",
        &[
            ("update pgbench_tellers set tbalance = tbalance + 1 where tid = 1", &["tellers"]),
            ("update pgbench_accounts set abalance = abalance + 1 where aid = 1", &["accounts"]),
            (
                "insert into pgbench_history (tid, bid, aid, delta, mtime) values (1, 1, 1, 1, 0)",
                &["history"],
            ),
        ],
    ),
    (
        "transfer",
        &[
            ("update account set balance = balance + 1 where id = 1", &["balances", "entries"]),
            ("update account set balance = balance + 3 - 2 * id where id in (1, 2)", &["entries"]),
            ("insert into entry values (1, 1, 1, 1, 2, 5)", &["entries"]),
            ("insert into transfer values (1, 1, 1, 1, 2, 5, 1, 0, 0, 0)", &["transfers"]),
        ],
    ),
    ("booking", &[("update event set available = available - 1 where id = 1", &["tickets"])]),
];

#[test]
fn what_holds_at_any_moment_does_not_where_a_part_of_a_call_is_stored() {
    let conditions = |workload: &str| {
        let text = match workload {
            "tpcc" => workload_tpcc::Tpcc::at_any_moment(),
            "tpcb" => workload_tpcb::Tpcb::at_any_moment(),
            "transfer" => workload_transfer::Transfers::at_any_moment(),
            _ => workload_booking::Bookings::at_any_moment(),
        };
        Catalogue::parse(text).unwrap()
    };
    for (workload, faults) in PARTS_OF_CALLS {
        let (workdir, conditions) = (Workdir::empty(), conditions(workload));
        let ran = workdir.run(&format!("load {workload} --golden --db sqlite:bench.db"));
        assert_eq!(ran.code(), 0, "{ran:?}");
        let mut database = rusqlite::Connection::open(workdir.path("bench.db")).unwrap();
        let broken = |database: &rusqlite::Connection| -> Vec<String> {
            let breaks = |query: &str| database.prepare(query).unwrap().exists([]).unwrap();
            conditions.iter().filter(|(_, query)| breaks(query)).map(|(name, _)| name.to_owned()).collect()
        };
        assert_eq!(broken(&database), [""; 0], "{workload}");
        let mut caught = BTreeSet::new();
        for (fault, breaks) in *faults {
            let part = database.transaction().unwrap();
            part.execute(fault, []).unwrap();
            assert_eq!(&broken(&part), breaks, "{workload}: {fault}");
            caught.extend(breaks.iter().copied());
        }
        let all: BTreeSet<&str> = conditions.iter().map(|(name, _)| name).collect();
        assert_eq!(caught, all, "{workload}: a condition that nothing breaks");
    }
}
