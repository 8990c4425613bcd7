//! What carries HTTP to a server that is started here, and whether its connections are kept.

use crate::e2e_bad_input::refused;
use crate::e2e_servers::{SHORT, bank};
use crate::e2e_workdir::{Workdir, assert_good, parse, write};
use serde_json::Value;

const SUBJECT: &str = "run tpcb/sqlite/axum+rusqlite --db sqlite:bank.db";

/// What the result says of a name under the settings of the stack; null where it does not.
fn setting<'a>(trial: &'a Value, name: &str) -> &'a Value {
    let settings = trial["stack"]["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["name"] == name).map_or(&Value::Null, |setting| &setting["value"])
}

#[test]
fn calls_reach_a_server_over_each_transport_on_connections_that_are_kept_or_not() {
    let workdir = bank();
    for transport in ["tcp", "unix", "tls"] {
        for connections in ["keep", "per-call"] {
            let options = format!("--transport {transport} --connections {connections}");
            let ran = workdir.run(&format!("{SUBJECT} {SHORT} {options}"));
            let document = parse(&ran.out);
            assert_good(&ran, &document);
            let trial = &document["trials"][0];
            let told = |name: &str, usual: &str, value: &str| {
                let expected = if value == usual { Value::Null } else { value.into() };
                assert_eq!(setting(trial, name), &expected, "{options}");
            };
            told("transport", "tcp", transport);
            told("connections", "keep", connections);
            let call_counts = &trial["overall"]["call_counts"];
            assert_eq!(call_counts["committed"], 200, "{options}: {call_counts}");
            // Opening a connection is a part of the plan, and not of a repair.
            assert_eq!(call_counts["reconnects"], 0, "{options}");
        }
    }
}

#[test]
fn transports_and_connections_are_factors_of_an_experiment() {
    let workdir = bank();
    let file = "workload = \"tpcb\"\n[plan]\nduration = \"600ms\"\nwarmup = \"0s\"\nblocks = 1\nclients = 2\ncontrol = false\n\
                [[variant]]\nname = \"tcp\"\nsubject = \"sqlite/axum+rusqlite\"\n\
                [[variant]]\nname = \"unix\"\nsubject = \"sqlite/axum+rusqlite\"\ntransport = \"unix\"\n\
                [[variant]]\nname = \"each\"\nsubject = \"sqlite/axum+rusqlite\"\ntransport = \"tls\"\nconnections = \"per-call\"\n\
                [[variant]]\nname = \"direct\"\nsubject = \"sqlite\"\n";
    write(workdir.path("ways.toml"), file);
    let ran = workdir.run("experiment ways.toml --json");
    let document = parse(&ran.out);
    let comparisons = document["experiment"]["comparisons"].as_array().unwrap();
    let factors: Vec<String> = comparisons.iter().map(|found| found["factors"].to_string()).collect();
    assert_eq!(factors, ["[\"transport\"]", "[\"transport\",\"connections\"]", "[\"route\"]"], "{ran:?}");
    for comparison in comparisons {
        let unintended = comparison["key_differences"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| found["intended"] == false);
        assert_eq!(unintended.count(), 0, "{comparison}");
    }
    // All four took turns on one copy of the data.
    assert!(document["trials"].as_array().unwrap().iter().all(|trial| !trial["rounds"].is_null()));
}

#[test]
fn transports_that_are_not_there_are_refused() {
    let workdir = Workdir::empty();
    let direct =
        "--transport and --connections are for subjects through HTTP; tpcb/sqlite/rusqlite is direct";
    refused(&workdir, "run tpcb/sqlite/rusqlite --transport unix", &[direct]);
    refused(&workdir, "sweep tpcb/sqlite/rusqlite --clients 1,2 --connections per-call", &[direct]);
    refused(&workdir, "compare tpcb/sqlite tpcb/sqlite/rusqlite --transport tls", &[direct]);
    refused(&workdir, "run tpcb/sqlite/axum+rusqlite --transport quic", &["use tcp, unix or tls"]);
    refused(&workdir, "run tpcb/sqlite/axum+rusqlite --connections none", &["use keep or per-call"]);
    refused(&workdir, "verify tpcb/sqlite/axum+rusqlite --transport tls", &["verify always uses TCP"]);
    let manifest = "name = \"mine\"\nlanguage = \"any\"\nstart = [\"sh\", \"start.sh\"]\n\
                    serves = [{ workload = \"tpcb\", engine = \"sqlite\", about = \"a server\" }]\n";
    let url = "run tpcb --url http://127.0.0.1:1 --transport tls";
    refused(&workdir, url, &["--transport is for a server that is started here"]);
    let folder = workdir.path("servers/mine");
    std::fs::create_dir_all(&folder).unwrap();
    write(folder.join("server.toml"), manifest);
    write(folder.join("start.sh"), "");
    let words = [
        "the server `mine` does not offer the transport unix; it has tcp",
        "`transports` in the server's manifest",
    ];
    refused(&workdir, "run tpcb/sqlite/mine --transport unix", &words);
}
