//! The OpenAPI documents, fuzzed: what their schemas allow and what they do not is sent to our server, which must answer each as
//! the document says.

use crate::e2e_workdir::Workdir;
use stackmark_tests::repository;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Requests per operation, and the seed.
const FEW: [&str; 2] = ["10", "1"];
/// Two checks ask for less than the contracts: valid by its schema is not valid by the rules (412, 422), and a missing
/// `if-match` is answered with 428.
const EXCLUDED: &str = "positive_data_acceptance,missing_required_header";
/// The fuzzer ends by itself long before.
const SECONDS_MAX: &str = "300";

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_kept(workload: &str, [examples, seed]: [&str; 2]) {
    let fuzzer = repository::root().join("tests/fuzz/.venv/bin/schemathesis");
    if !fuzzer.exists() {
        rig::for_tests::not_run("schemathesis is not installed (scripts/setup-tests.sh)");
        return;
    }
    let workdir = Workdir::empty();
    let ran = workdir.run(&format!("load {workload} --golden --db sqlite:fuzzed.db"));
    assert_eq!(ran.code(), 0, "{ran:?}");
    let mut command =
        workdir.command(&format!("serve {workload} --db sqlite:fuzzed.db --listen 127.0.0.1:0"));
    let mut served = Served(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(served.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap();
    let contract = repository::root().join(format!("spec/openapi/{workload}.yaml"));
    let fuzzed = Command::new("timeout")
        .arg(SECONDS_MAX)
        .arg(fuzzer)
        .arg("run")
        .arg(contract)
        .args([
            "--url",
            url,
            "--max-examples",
            examples,
            "--seed",
            seed,
            "--phases",
            "examples,coverage,fuzzing",
        ])
        .args(["--checks", "all", "--exclude-checks", EXCLUDED, "--no-color"])
        .current_dir(workdir.path("."))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&fuzzed.stdout);
    assert!(fuzzed.status.success(), "{text}\n{}", String::from_utf8_lossy(&fuzzed.stderr));
    assert!(text.contains("Test cases:"), "{text}");
}

#[test]
fn the_contract_of_bookings_is_kept_whatever_is_sent() {
    is_kept("booking", FEW);
}

#[test]
fn the_contract_of_the_catalogue_is_kept_whatever_is_sent() {
    is_kept("catalogue", FEW);
}

#[test]
fn the_contract_of_transfers_is_kept_whatever_is_sent() {
    is_kept("transfer", FEW);
}

#[test]
fn the_contract_of_pgbenchs_transaction_is_kept_whatever_is_sent() {
    is_kept("tpcb", FEW);
}

#[test]
fn the_contract_of_tpc_c_is_kept_whatever_is_sent() {
    is_kept("tpcc", FEW);
}

mod extended {
    use super::*;

    const MANY: [&str; 2] = ["150", "2"];

    #[test]
    fn every_contract_is_kept_whatever_is_sent_for_long() {
        for workload in ["booking", "catalogue", "transfer", "tpcb", "tpcc"] {
            is_kept(workload, MANY);
        }
    }
}
