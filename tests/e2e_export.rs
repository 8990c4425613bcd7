//! Calls that are written down for another load generator, and what a server answers to them.

use crate::e2e_bad_input::refused;
use crate::e2e_impostor::receive;
use crate::e2e_workdir::{Running, Workdir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};

/// A working folder with a loaded server of a workload, and its address.
fn served(workload: &str) -> (Workdir, Running, String) {
    let workdir = Workdir::empty();
    let loaded = workdir.run(&format!("load {workload} --db sqlite:bench.db"));
    assert_eq!(loaded.code(), 0, "{loaded:?}");
    let server = workdir
        .start(&format!("serve {workload} --db sqlite:bench.db?synchronous=normal --listen 127.0.0.1:0"));
    server.until("it listens", || server.out().ends_with('\n'));
    let url = server.out().trim().strip_prefix("listening on ").unwrap().to_owned();
    (workdir, server, url)
}

/// Whether a program is on this machine. Where it is not, says which test it is left out of.
fn is_here(program: &str, version: &str, what: &str) -> bool {
    let here = Command::new(program).arg(version).output().is_ok();
    if !here {
        eprintln!("NOT RUN: {what}, because `{program}` is not installed");
    }
    here
}

fn export(workdir: &Workdir, options: &str) -> String {
    let line = format!("export k6 {options} --output script.mjs");
    let ran = workdir.run(&line);
    assert_eq!((ran.code(), ran.out.as_str()), (0, ""), "{ran:?}");
    std::fs::read_to_string(workdir.path("script.mjs")).unwrap()
}

/// The kinds of call of a script.
fn kinds(script: &str) -> Vec<Value> {
    let json = |line: &str| serde_json::from_str(line.trim().strip_suffix(',')?).ok();
    script.lines().filter_map(json).filter(|kind: &Value| kind["done"].is_array()).collect()
}

/// Makes the calls of a script, those of all clients in turn on one connection, and counts what was done and declined.
fn replay(script: &str, url: &str) -> BTreeMap<String, u32> {
    let (kinds, address) = (kinds(script), url.strip_prefix("http://").unwrap());
    let mut clients: Vec<Vec<Value>> = Vec::new();
    for line in script.lines().skip_while(|line| !line.starts_with("const streams")) {
        match line.strip_suffix(',').and_then(|line| serde_json::from_str::<Value>(line).ok()) {
            Some(call) => clients.last_mut().unwrap().push(call),
            None if line == "[" => clients.push(Vec::new()),
            None => {}
        }
    }
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut counts = BTreeMap::new();
    for call in (0..clients[0].len()).flat_map(|at| clients.iter().map(move |own| &own[at])) {
        let kind = &kinds[call[0].as_u64().unwrap() as usize];
        let (method, path) = (kind["method"].as_str().unwrap(), call[1].as_str().unwrap());
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\n");
        for (name, value) in call[2].as_object().into_iter().flatten() {
            request += &format!("{name}: {}\r\n", value.as_str().unwrap());
        }
        if let Some(body) = call[3].as_str() {
            request +=
                &format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        } else {
            request += "\r\n";
        }
        stream.write_all(request.as_bytes()).unwrap();
        let (status, whole) = receive(&mut answers).unwrap();
        let status: u64 = status.split(' ').nth(1).unwrap().parse().unwrap();
        let body = String::from_utf8_lossy(&whole).split_once("\r\n\r\n").unwrap().1.to_owned();
        let why = match kind["done"].as_array().unwrap().contains(&status.into()) {
            true => "done".to_owned(),
            false => {
                assert_eq!(kind["declines"], true, "{call}: {status} {body}");
                let problem: Value = serde_json::from_str(&body).unwrap();
                problem["type"].as_str().unwrap().strip_prefix("urn:stackmark:problem:").unwrap().to_owned()
            }
        };
        assert!(!script.contains(&format!("\"{why}\",")), "{call}: {status} {body}");
        *counts.entry(why).or_default() += 1;
    }
    counts
}

#[test]
fn a_server_answers_the_calls_of_a_script_as_the_contract_says() {
    for workload in ["booking", "catalogue", "tpcb", "tpcc", "transfer"] {
        let (workdir, _server, url) = served(workload);
        let options = format!("--workload {workload} --clients 4 --calls 600");
        let script = export(&workdir, &options);
        assert_eq!(workdir.run(&format!("export k6 {options}")).out, script);
        let counts = replay(&script, &url);
        assert_eq!(counts.values().sum::<u32>(), 600);
        assert!(counts["done"] > 550, "{counts:?}");
        if workload == "catalogue" {
            // In the order in which they were drawn, all is answered as it was then.
            let planned = ["done", "no-such-food", "stale-version"];
            assert!(counts.keys().all(|why| planned.contains(&why.as_str())), "{counts:?}");
            // Through again, what is there still is declined.
            assert!(replay(&script, &url).contains_key("food-exists"));
        }
        if workload == "booking" {
            assert!(counts.keys().eq(["done"]), "{counts:?}");
            // Keys that were used are answered as they were.
            assert_eq!(replay(&script, &url), counts);
        }
        if workload == "transfer" {
            assert!(counts.keys().eq(["done", "insufficient-funds"]), "{counts:?}");
            // Keys that were used are answered as they were.
            assert_eq!(replay(&script, &url), counts);
        }
    }
}

#[test]
fn a_script_is_javascript() {
    if !is_here("node", "--version", "the syntax of exported scripts") {
        return;
    }
    let workdir = Workdir::empty();
    for workload in ["booking", "catalogue", "tpcb", "tpcc", "transfer"] {
        export(&workdir, &format!("--workload {workload} --calls 100"));
        let checked = Command::new("node").arg("--check").arg(workdir.path("script.mjs")).output().unwrap();
        assert!(checked.status.success(), "{workload}: {checked:?}");
    }
}

/// Runs a script, with the counters of its summary where there is one.
fn run_k6(script: &Path, url: &str, options: &[&str]) -> (Output, BTreeMap<String, u64>) {
    let summary = script.with_extension("json");
    let mut command = Command::new("k6");
    command.args(["run", "--quiet", "--no-usage-report", "--summary-export"]).arg(&summary);
    command.args(["-e", &format!("BASE_URL={url}")]).args(options).arg(script);
    let ran = command.output().unwrap();
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(summary).unwrap()).unwrap();
    let counts = summary["metrics"].as_object().unwrap().iter();
    (ran, counts.filter_map(|(name, metric)| Some((name.clone(), metric["count"].as_u64()?))).collect())
}

#[test]
fn k6_runs_a_script_as_it_is() {
    if !is_here("k6", "version", "exported scripts in k6 itself") {
        return;
    }
    for workload in ["booking", "catalogue", "tpcb", "tpcc", "transfer"] {
        let (workdir, _server, url) = served(workload);
        export(&workdir, &format!("--workload {workload} --clients 3 --calls 600"));
        let script = workdir.path("script.mjs");
        let (ran, counts) = run_k6(&script, &url, &[]);
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(
            (counts["iterations"], counts.get("stackmark_failed")),
            (600, None),
            "{workload}: {counts:?}"
        );
        // Each VU begins with its own calls, of which some are there already.
        let (ran, counts) = run_k6(&script, &url, &["-e", "VUS=2", "-e", "DURATION=1s"]);
        assert!(ran.status.success(), "{ran:?}");
        assert_eq!(counts.get("stackmark_failed"), None, "{workload}: {counts:?}");
        assert_eq!(
            counts.contains_key("stackmark_declined"),
            ["catalogue", "transfer"].contains(&workload),
            "{counts:?}"
        );
        // Of data of another size not one call is made.
        export(&workdir, &format!("--workload {workload} --scale 2"));
        let (ran, counts) = run_k6(&script, &url, &[]);
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(text.contains(&format!("the calls are for {workload} at scale 2")), "{text}");
        assert!(
            !ran.status.success() && counts.get("iterations").is_none_or(|&made| made == 0),
            "{counts:?}"
        );
    }
}

#[test]
fn what_cannot_be_exported_is_said() {
    let workdir = Workdir::empty();
    refused(&workdir, "export k6 --workload catalog", &["no workload `catalog`", "nearest: `catalogue`"]);
    refused(&workdir, "export k6", &["--workload <WORKLOAD>"]);
    refused(&workdir, "export jmeter --workload tpcc", &["unrecognized subcommand 'jmeter'"]);
    refused(&workdir, "export k6 --workload tpcc --scale 0", &["--scale is 0", "1 to 100000 warehouses"]);
    refused(&workdir, "export k6 --workload tpcc --only pay", &["--only: no kind of call `pay`", "payment"]);
    refused(&workdir, "export k6 --workload tpcc --mix pay=1", &["--mix: no kind of call `pay`", "payment"]);
    refused(&workdir, "export k6 --workload tpcb --calls 0", &["'--calls <N>'", "1 or more"]);
    refused(
        &workdir,
        "export k6 --workload tpcb --calls 2000000",
        &["--calls is 2000000", "1000000 at most"],
    );
    refused(&workdir, "export k6 --workload tpcb --clients 0", &["'--clients <CLIENTS>'"]);
    refused(
        &workdir,
        "export k6 --workload tpcb --output no/such/folder.js",
        &["could not write no/such/folder.js"],
    );
}
