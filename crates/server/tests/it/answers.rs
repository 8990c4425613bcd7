//! What comes back for good calls, bad requests and faults, on threads and on tasks alike.

use crate::rig::{
    BAD_CALL, CONFLICT, DEFECT, PANIC, Running, SECRET, ServerAnswer, UNANSWERED, UNWRITABLE, WAIT, WORK,
    post, start, start_with,
};
use crate::toy::{Add, Sum, Toy};
use adapter_http::{Expected, HttpTarget};
use contract::Wire;
use model::{CallWork, Conflict, DefectKind, Doubt, Fault, Nanos, Refusal, Session, StatementTime, Target};
use server::Settings;
use std::net::Shutdown;
use std::sync::atomic::Ordering;

/// Runs a test on a server with blocking sessions and on one with asynchronous sessions.
fn on_both(test: impl Fn(&Running)) {
    for running in [start::<false>(|_| {}), start::<true>(|_| {})] {
        test(&running);
        running.stop().unwrap();
    }
}

/// Milliseconds of each metric.
fn timing(answer: &ServerAnswer) -> Vec<(String, f64)> {
    let header = answer.header("server-timing").unwrap();
    let metric = |metric: &str| {
        let (name, duration) = metric.trim().split_once(";dur=").unwrap();
        (name.to_owned(), duration.parse().unwrap())
    };
    header.split(',').map(metric).collect()
}

#[test]
fn a_call_is_answered_with_its_outcome_and_its_work() {
    on_both(|server| {
        let mut client = server.client();
        for a in 0..3 {
            let answer = client.add(a, 2);
            assert_eq!(
                (answer.status, answer.body.as_str()),
                (200, format!(r#"{{"sum":{}}}"#, a + 2).as_str())
            );
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(answer.header("stackmark-work"), Some("attempts=1, statements=2, rows=3, commits=1"));
        }
    });
}

#[test]
fn the_parts_of_an_answer_add_up_to_its_total() {
    on_both(|server| {
        let adds_up = |_| {
            let answer = server.add(1, WORK);
            let timing = timing(&answer);
            let names: Vec<&str> = timing.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["queue", "pool", "begin", "query", "commit", "encode", "total"]);
            let (_, total) = timing[6];
            let parts: f64 = timing[..6].iter().map(|(_, duration)| duration).sum();
            assert!(parts <= total, "{timing:?}");
            assert!(timing[3].1 >= 20.0 && timing[0].1 > 0.0 && timing[5].1 > 0.0, "{timing:?}");
            parts >= 0.98 * total
        };
        // A thread that is put aside between two parts is missed by both: in one call or another, and not in all.
        assert!((0..10).any(adds_up), "in ten calls a fiftieth of the total was in no part");
    });
}

#[test]
fn a_fault_crosses_the_wire_unchanged() {
    on_both(|server| {
        let url = server.url();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let target = HttpTarget::<Toy>::reach(&url, &Expected { scale: Some(1) }).await.unwrap();
            let mut session = target.open(0).await.unwrap();
            let mut work = CallWork::default();
            let mut run = async |b| session.run(&Add { a: 1, b }, &mut work).await;
            assert_eq!(run(1).await, Ok(Sum { sum: 2 }));
            assert_eq!(run(CONFLICT).await, Err(Fault::Conflict(Conflict::Deadlock)));
            assert_eq!(run(UNWRITABLE).await, Err(Fault::Refused(Refusal::UNWRITABLE)));
            assert_eq!(run(UNANSWERED).await, Err(Fault::InDoubt(Doubt::CommitUnanswered)));
            for (b, kind) in [(DEFECT, DefectKind::Engine), (BAD_CALL, DefectKind::BadCall)] {
                match run(b).await {
                    Err(Fault::Defect(defect)) => assert_eq!(defect.kind, kind),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(run(2).await, Ok(Sum { sum: 3 }), "the connection outlives every fault");
            assert_eq!(work.attempts, 7);
        });
    });
}

#[test]
fn what_statements_took_is_told_to_who_asks_for_it() {
    on_both(|server| {
        let mut client = server.client();
        assert_eq!(client.add(1, 2).header("stackmark-statements"), None);
        client.send(post(r#"{"a":1,"b":2}"#).replace("\r\nhost", "\r\nStackmark-Clock: statements\r\nhost"));
        let answer = client.receive().unwrap();
        assert_eq!(answer.header("stackmark-statements"), Some("add;n=2;dur=0.001500"));
        assert_eq!(client.add(1, 2).header("stackmark-statements"), None);

        let url = server.url();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let target = HttpTarget::<Toy>::reach(&url, &Expected { scale: Some(1) }).await.unwrap();
            let mut session = target.open(0).await.unwrap();
            for clocked in [false, true] {
                let mut work = CallWork { clocked, ..CallWork::default() };
                session.run(&Add { a: 1, b: 2 }, &mut work).await.unwrap();
                let listed = session.statement_times().map(|times| times.executed().collect::<Vec<_>>());
                let add = (1, StatementTime { executions: 2, spent: Nanos(1_500) });
                assert_eq!(listed, clocked.then(|| vec![add]));
            }
        });
    });
}

#[test]
fn each_fault_has_its_problem_document() {
    on_both(|server| {
        for (b, status, kind, applied, reason) in [
            (CONFLICT, 409, "conflict", "no", "deadlock"),
            (UNWRITABLE, 503, "refused", "no", "unwritable"),
            (UNANSWERED, 500, "in-doubt", "unknown", "commit-unanswered"),
            (DEFECT, 500, "defect", "unknown", ""),
            (BAD_CALL, 404, "unknown-id", "no", ""),
        ] {
            let answer = server.add(1, b);
            assert_eq!(answer.status, status);
            assert_eq!(answer.problem("type"), format!("urn:stackmark:problem:{kind}"));
            assert_eq!(
                (answer.problem("applied"), answer.problem("reason")),
                (applied.into(), reason.into())
            );
            assert_eq!(answer.header("retry-after").is_some(), status == 503);
            assert_eq!(answer.header("stackmark-work"), Some("attempts=1, statements=2, rows=3, commits=1"));
            assert!(!timing(&answer).is_empty());
        }
    });
}

#[test]
fn a_defect_is_told_to_the_log_and_not_to_the_client() {
    on_both(|server| {
        for b in [DEFECT, PANIC] {
            let answer = server.add(1, b);
            assert_eq!(answer.status, 500);
            assert!(!answer.body.contains(SECRET) && !answer.head.contains(SECRET));
        }
        let log = server.log.lock().unwrap();
        assert_eq!(log.len(), 2, "{log:?}");
        assert!(log.iter().all(|line| line.contains(SECRET)), "{log:?}");
        assert!(log[1].contains("panicked"), "{log:?}");
    });
}

#[test]
fn a_session_that_panicked_is_replaced() {
    on_both(|server| {
        let mut client = server.client();
        for round in 0..10 {
            assert_eq!(client.add(1, PANIC).problem("type"), "urn:stackmark:problem:defect");
            assert_eq!(client.add(1, round).status, 200);
        }
    });
}

#[test]
fn a_session_that_cannot_be_replaced_refuses_its_calls() {
    let one = |settings: &mut Settings| settings.sessions = 1;
    for server in [start_with::<false>(1, one), start_with::<true>(1, one)] {
        let mut client = server.client();
        assert_eq!(client.add(1, PANIC).status, 500);
        for _ in 0..3 {
            let answer = client.add(1, 1);
            assert_eq!((answer.status, answer.problem("reason")), (503, "no-session".into()));
        }
        assert!(server.log.lock().unwrap().iter().any(|line| line.contains("no more of them")));
        server.stop().unwrap();
    }
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let server = start::<true>(|_| {});
    let request =
        |head: &str, body: &str| format!("{head}\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let good = "POST /toy/add HTTP/1.1\r\ncontent-type: application/json";
    let mut client = server.client();
    for (bytes, status, kind, detail) in [
        (post(r#"{"a":1"#), 400, "malformed", "EOF"),
        (post(""), 400, "malformed", "EOF"),
        (post("\u{0}\u{1}"), 400, "malformed", "expected value"),
        (post("[1,2]"), 422, "invalid", "invalid type: array, expected an object"),
        (post("null"), 422, "invalid", "invalid type: null, expected an object"),
        (post(r#"{"a":"1","b":2}"#), 422, "invalid", "a: invalid type: string"),
        (post(r#"{"a":1,"b":[2]}"#), 422, "invalid", "b: invalid type: array, expected a whole number"),
        (post(r#"{"a":1}"#), 422, "invalid", "missing field `b`"),
        (post(r#"{"a":1,"b":2,"c":3}"#), 422, "invalid", "unknown field `c`"),
        (post(r#"{"a":-1,"b":2}"#), 422, "invalid", "expected a whole number from 0 to 4294967295"),
        (post(r#"{"a":1000001,"b":2}"#), 404, "unknown-id", "a 1000001 does not exist"),
        (request("POST /toy/subtract HTTP/1.1", "{}"), 404, "unknown-path", "nothing is served"),
        (request("GET /toy/add HTTP/1.1", ""), 405, "method-not-allowed", "another method"),
        (request("DELETE /about HTTP/1.1", ""), 405, "method-not-allowed", "another method"),
        (request("POST /toy/add HTTP/1.1", "{}"), 415, "unsupported-type", "application/json"),
        (
            request("POST /toy/add HTTP/1.1\r\ncontent-type: text/plain", "{}"),
            415,
            "unsupported-type",
            "application/json",
        ),
    ] {
        let answer = client.exchange(&bytes);
        assert_eq!(answer.status, status, "{bytes}");
        assert_eq!(answer.problem("type"), format!("urn:stackmark:problem:{kind}"));
        assert!(answer.problem("detail").contains(detail), "{bytes}: {}", answer.body);
        assert_eq!(answer.problem("applied"), "no");
        assert!(!timing(&answer).is_empty());
        assert!(answer.header("stackmark-work").is_some());
        assert_eq!(answer.header("allow").is_some(), status == 405);
    }
    assert_eq!(client.exchange(request(good, r#"{"a":1,"b":2}"#)).status, 200);
    assert_eq!(server.shared.applied.load(Ordering::SeqCst), 1, "nothing of all that reached a session");
    server.stop().unwrap();
}

#[test]
fn json_is_read_in_utf_8_and_in_nothing_else() {
    let server = start::<true>(|_| {});
    let mut client = server.client();
    for (media, status) in [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("application/json;charset=\"UTF-8\"; x=y", 200),
        ("application/json; charset=utf-16", 415),
        ("application/json; x=y; Charset = latin1", 415),
        ("application/json; charset=", 415),
        ("application/json; charset=utf-8; charset=utf-16", 415),
        ("application/json\r\ncontent-type: text/plain", 415),
    ] {
        let body = r#"{"a":1,"b":2}"#;
        let answer = client.exchange(format!(
            "POST /toy/add HTTP/1.1\r\nhost: x\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(answer.status, status, "{media}: {answer:?}");
        if status == 415 {
            assert!(answer.problem("detail").contains("utf-8"), "{answer:?}");
        }
    }
    assert_eq!(server.shared.applied.load(Ordering::SeqCst), 3);
    server.stop().unwrap();
}

/// RFC 9112 3.2.
#[test]
fn a_request_names_one_host_and_names_it_rightly() {
    let server = start::<true>(|_| {});
    let body = r#"{"a":1,"b":2}"#;
    let rest = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for (path, version, hosts, status) in [
        ("POST /toy/add", "1.1", "host: x\r\n", 200),
        ("POST /toy/add", "1.1", "Host: [::1]:8080\r\n", 200),
        ("POST /toy/add", "1.1", "host:\r\n", 200),
        ("POST /toy/add", "1.0", "", 200),
        ("POST /toy/add", "1.1", "", 400),
        ("POST /toy/add", "1.1", "host: x\r\nhost: x\r\n", 400),
        ("POST /toy/add", "1.0", "host: x\r\nhost: y\r\n", 400),
        ("POST /toy/add", "1.1", "host: x, y\r\n", 400),
        ("POST /toy/add", "1.1", "host: user@x\r\n", 400),
        ("POST /toy/nothing", "1.1", "", 400),
        ("GET /health", "1.1", "", 400),
        ("GET /about", "1.1", "host: x\r\nhost: y\r\n", 400),
    ] {
        let mut client = server.client();
        let answer = client.exchange(format!("{path} HTTP/{version}\r\n{hosts}{rest}"));
        assert_eq!(answer.status, status, "{path} {version} {hosts}");
        if status == 400 {
            assert_eq!(answer.problem("type"), "urn:stackmark:problem:malformed");
            assert_eq!(answer.problem("applied"), "no");
            assert!(answer.problem("detail").contains("one host header"), "{answer:?}");
            assert!(client.receive().is_none(), "the connection is closed: {path} {version} {hosts}");
        }
    }
    assert_eq!(server.shared.applied.load(Ordering::SeqCst), 4);
    server.stop().unwrap();
}

#[test]
fn a_client_that_has_said_all_it_will_say_gets_its_answers() {
    on_both(|server| {
        let mut client = server.client();
        client.send(post(&format!(r#"{{"a":1,"b":{WAIT}}}"#)) + &post(r#"{"a":2,"b":2}"#));
        client.stream.shutdown(Shutdown::Write).unwrap();
        server.wait_for_waiting(1);
        // It has been read to its end by now, or will be before the answer is ready.
        assert_eq!(server.client().exchange("GET /health HTTP/1.1\r\nhost: x\r\n\r\n").status, 200);
        server.open_gate();
        for sum in [1 + WAIT, 4] {
            assert_eq!(client.receive().expect("an answer").body, format!(r#"{{"sum":{sum}}}"#));
        }
        assert!(client.receive().is_none(), "nothing more can come, so the connection ends");

        // A body that will never be whole is not waited for.
        let mut cut = server.client();
        let whole = post(r#"{"a":1,"b":2}"#);
        cut.send(&whole[..whole.len() - 1]);
        cut.stream.shutdown(Shutdown::Write).unwrap();
        assert!(cut.receive().is_none_or(|answer| answer.status == 400));
    });
}

#[test]
fn a_chunked_request_is_a_request() {
    on_both(|server| {
        let bytes = "POST /toy/add HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
            transfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n8\r\n1,\"b\":2}\r\n0\r\n\r\n";
        assert_eq!(server.client().exchange(bytes).body, r#"{"sum":3}"#);
    });
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    on_both(|server| {
        let mut client = server.client();
        let requests: String = (0..20).map(|a| post(&format!(r#"{{"a":{a},"b":1}}"#))).collect();
        client.send(requests);
        for a in 0..20 {
            assert_eq!(client.receive().unwrap().body, format!(r#"{{"sum":{}}}"#, a + 1));
        }
    });
}

#[test]
fn a_server_says_who_it_is() {
    let server = start::<false>(|settings| {
        settings.scale = 7;
        settings.sessions = 3;
    });
    let mut client = server.client();
    let health = client.exchange("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    let answer = client.exchange("GET /about HTTP/1.1\r\nhost: x\r\n\r\n");
    let about: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (&about["contract"], &about["workload"]),
        (&"toy/1".into(), &Toy::ENDPOINTS[0].path[1..4].into())
    );
    assert_eq!((&about["scale"], &about["pool"]), (&7.into(), &3.into()));
    assert_eq!(about["pid"], std::process::id());
    assert_eq!(about["limits"]["body_bytes_max"], 65_536);
    let read: adapter_http::About = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((read.stack.engine.as_str(), read.stack.route.as_str()), ("scripted", "direct"));
    server.stop().unwrap();
}
