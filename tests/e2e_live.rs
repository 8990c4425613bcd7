//! A run that is watched while it goes on: the live page's events, and the metrics.

use crate::e2e_workdir::{INTERRUPTED, Running, Workdir};
use rustix::process::Signal;
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// For hangs only.
const READ_MAX: Duration = Duration::from_secs(600);

/// The address that a line on standard error names: `live: http://127.0.0.1:40123/`.
fn address(running: &Running, what: &str) -> String {
    let line = |err: String| {
        let start = format!("{what}: http://");
        err.lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned))
    };
    running.until("an address is printed", || line(running.err()).is_some());
    line(running.err()).unwrap().split('/').next().unwrap().to_owned()
}

/// What is read from a request until `enough` of it is there.
fn ask(address: &str, path: &str, host: &str, enough: impl Fn(&str) -> bool) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(READ_MAX)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let (mut answer, mut part) = (String::new(), [0; 4_096]);
    while !enough(&answer) {
        match stream.read(&mut part).unwrap() {
            0 => break,
            bytes => answer.push_str(&String::from_utf8_lossy(&part[..bytes])),
        }
    }
    answer
}

#[test]
fn a_watched_run_tells_its_rate_while_it_runs_and_its_report_in_the_end() {
    let workdir = Workdir::loaded();
    let running = workdir.start(
        "run tpcc --db sqlite:bench.db --clients 2 --think 10ms --warmup 0s --duration 60s --live 127.0.0.1:0 --metrics 0",
    );
    let (live, metrics) = (address(&running, "live"), address(&running, "metrics"));
    // Opens the events and reads none of them: no one waits for it.
    let mut dead = TcpStream::connect(&live).unwrap();
    write!(dead, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();

    let page = ask(&live, "/", "localhost", |_| false);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("EventSource"), "{page}");
    assert!(!page.contains("http://www.") || page.matches("http://").count() == 1, "only the name of SVG");
    let foreign = ask(&live, "/", "evil.example", |_| false);
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");

    let asked_to_end = Cell::new(false);
    let events = ask(&live, "/events", "localhost", |events| {
        if events.matches("event: slice").count() >= 2 && !asked_to_end.replace(true) {
            running.signal(Signal::INT);
        }
        events.contains("event: end")
    });
    assert!(events.contains("event: whole") && events.matches("event: slice").count() >= 2, "{events}");
    assert!(events.contains("\"phase\":\"measured\"") && events.contains("report.html"), "{events}");
    let ran = running.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    assert!(TcpStream::connect(&metrics).is_err(), "what was served ends with the run");
}

#[test]
fn what_is_done_before_and_after_the_calls_is_told() {
    let workdir = Workdir::empty();
    let running =
        workdir.start("run tpcc --scale 2 --clients 2 --warmup 0s --duration 1s --live 127.0.0.1:0");
    let live = address(&running, "live");
    let events = ask(&live, "/events", "localhost", |events| events.contains("event: end"));
    let ran = running.end();
    assert!(ran.code() <= 1, "{ran:?}");
    let listed = [
        "\"words\":\"loading 2 warehouses\"",
        "\"words\":\"checking the answers of tpcc/sqlite/rusqlite\"",
        "\"words\":\"auditing the data before the first call\"",
        "\"words\":\"starting tpcc/sqlite/rusqlite\"",
        "event: rest",
        "\"words\":\"auditing\"",
        "event: end",
    ];
    let mut rest = events.as_str();
    for next in listed {
        let at = rest.find(next).unwrap_or_else(|| panic!("{next} is not told in its turn: {events}"));
        rest = &rest[at + next.len()..];
    }
    assert!(events.contains(" rows") && events.contains("\"share\":0."), "how far the load is: {events}");
}

#[test]
fn metrics_count_what_is_committed() {
    let workdir = Workdir::loaded();
    let running = workdir
        .start("run tpcc --db sqlite:bench.db --clients 2 --think 10ms --warmup 0s --duration 60s --metrics 127.0.0.1:0");
    let metrics = address(&running, "metrics");
    let committed = || -> u64 {
        let text = ask(&metrics, "/metrics", &metrics, |_| false);
        assert!(text.contains("content-type: text/plain; version=0.0.4"), "{text}");
        let lines = text.lines().filter(|line| {
            line.starts_with("stackmark_calls_total{") && line.contains("outcome=\"committed\"")
        });
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    running.until("calls are counted", || committed() > 0);
    running.signal(Signal::INT);
    assert_eq!(running.end().code(), INTERRUPTED);
}

#[test]
fn an_address_in_use_is_told_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for option in ["--live", "--metrics"] {
        let workdir = Workdir::empty();
        let ran = workdir.run(&format!("run tpcc --duration 1s {option} {address}"));
        ran.refused(&[option, "in use", &address.to_string()]);
        assert_eq!(workdir.files(), [""; 0], "nothing was begun");
    }
}

#[test]
fn results_become_tables_and_test_cases_and_a_history() {
    let workdir = Workdir::loaded();
    let ran = workdir.run("run tpcc --db sqlite:bench.db --clients 2 --warmup 0s --duration 1s");
    assert!(ran.code() <= 1, "{ran:?}");
    let run = workdir.only_run().display().to_string();
    let rendered = |line: &str| {
        let ran = workdir.run(line);
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.out
    };
    assert_eq!(rendered(&format!("report {run} --format csv")).lines().count(), 1 + 5 + 1);
    assert!(rendered(&format!("report {run} --format csv-slices")).lines().count() > 5);
    assert!(rendered(&format!("report {run} --format junit")).contains("<testsuites name=\"stackmark\""));
    std::fs::write(workdir.path("results/other.json"), "{\"schema\": \"stackmark-result/99\"}").unwrap();
    let history = rendered("report --history results");
    assert!(history.contains("tpcc/sqlite/rusqlite") && history.contains("stackmark-result/99"), "{history}");
    assert!(rendered("report --history results --format html").contains("Runs over time"));
    assert!(rendered("report --history results --subject tpcb").contains("No results."));
}
