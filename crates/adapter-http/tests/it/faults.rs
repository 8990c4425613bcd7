//! What each way of a server to misbehave becomes.

use crate::rogue::{Peer, answer, ok, posing};
use crate::toy::{Add, Sum, Toy};
use adapter_http::{Expected, HttpSession, HttpTarget};
use model::{
    CallWork, Conflict, Connections, DefectKind, Doubt, Fault, HttpOptions, Nanos, Refusal, Session, Target,
    Transport, Workload,
};
use std::cell::RefCell;
use std::rc::Rc;

const CALL: Add = Add { a: 1, b: 2 };
const RIGHT: &str = r#"{"sum":3}"#;

/// Runs a test with servers on the same thread.
pub(crate) fn with_servers<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

async fn session(url: &str) -> HttpSession<Toy> {
    HttpTarget::<Toy>::reach(url, &Expected::default()).await.unwrap().open(0).await.unwrap()
}

async fn run(session: &mut HttpSession<Toy>) -> Result<Sum, Fault> {
    session.run(&CALL, &mut CallWork::default()).await
}

/// The result of a call whose request is answered with `bytes`, after which the server closes; and whether
/// the session says that it can go on.
fn answered(bytes: impl Into<Vec<u8>>) -> (Result<Sum, Fault>, bool) {
    let bytes = bytes.into();
    with_servers(async move {
        let url = posing(move |mut peer, _| {
            let bytes = bytes.clone();
            async move { peer.send(bytes).await }
        })
        .await;
        let mut session = session(&url).await;
        let result = run(&mut session).await;
        if !session.is_usable() {
            let again = run(&mut session).await;
            assert_eq!(again, Err(Fault::Refused(Refusal::Unreachable)), "a broken session must say so");
        }
        (result, session.is_usable())
    })
}

#[track_caller]
fn is_bad_answer(bytes: impl Into<Vec<u8>>, why: &str) {
    match answered(bytes).0 {
        Err(Fault::Defect(defect)) => {
            assert_eq!(defect.kind, DefectKind::BadAnswer);
            assert!(defect.what.contains(why), "{}", defect.what);
        }
        other => panic!("{other:?}"),
    }
}

const LOST: Result<Sum, Fault> = Err(Fault::InDoubt(Doubt::ConnectionLost));

#[test]
fn a_right_answer_is_an_outcome() {
    assert_eq!(answered(ok(RIGHT)), (Ok(Sum { sum: 3 }), true));
}

#[test]
fn a_wrong_total_reaches_the_workloads_check() {
    let (result, _) = answered(ok(r#"{"sum":4}"#));
    assert_eq!(Toy::check(&CALL, &result.unwrap()), Err("the sum is wrong"));
}

#[test]
fn an_answer_that_breaks_the_contract_is_a_defect() {
    is_bad_answer(ok("{}"), "missing field `sum`");
    is_bad_answer(ok(r#"{"sum":"3"}"#), "invalid type");
    is_bad_answer(ok("<html>hello</html>"), "expected value");
    is_bad_answer(ok(""), "EOF");
    is_bad_answer(format!("{}x", ok(RIGHT)), "bytes after the end");
    is_bad_answer("SSH-2.0-OpenSSH_9.6\r\n\r\n", "not HTTP/1.1");
    is_bad_answer("HTTP/1.1 200 OK\r\n\r\n{}", "neither content-length nor transfer-encoding");
    is_bad_answer(answer("302 Found", "text/html", ""), "status 302");
    is_bad_answer(answer("404 Not Found", "text/plain", "what?"), "status 404");
    is_bad_answer(answer("201 Created", "application/json", RIGHT), "status 201");
    is_bad_answer(answer("200 OK", "text/html", RIGHT), "the content type is text/html");
    is_bad_answer(
        answer("200 OK", "application/problem+json", RIGHT),
        "that of this answer is application/json",
    );
    is_bad_answer(ok(RIGHT).replace("content-type: application/json\r\n", ""), "the content type is none");
}

#[test]
fn a_huge_answer_is_a_defect_and_takes_no_memory() {
    is_bad_answer("HTTP/1.1 200 OK\r\ncontent-length: 4000000000\r\n\r\n", "over 262144 bytes");
    let endless_head = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'a'; 300_000]].concat();
    is_bad_answer(endless_head, "head is over 16384 bytes");
    let chunk = format!("4000\r\n{}\r\n", "a".repeat(0x4000));
    let endless = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}", chunk.repeat(20));
    is_bad_answer(endless, "over 262144 bytes");
}

#[test]
fn a_connection_that_closes_after_the_request_leaves_the_call_in_doubt() {
    let whole = ok(RIGHT);
    for end in [0, 1, 20, whole.len() - RIGHT.len() - 4, whole.len() - RIGHT.len(), whole.len() - 1] {
        assert_eq!(answered(&whole[..end]), (LOST, false), "after {end} bytes");
    }
    assert_eq!(answered("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{\"sum\""), (LOST, false));
}

#[test]
fn a_reset_after_the_request_leaves_the_call_in_doubt() {
    with_servers(async {
        let url = posing(|peer, _| async move {
            peer.stream.set_zero_linger().unwrap();
        })
        .await;
        assert_eq!(run(&mut session(&url).await).await, LOST);
    });
}

#[test]
fn problem_documents_become_their_faults() {
    let problem = |status: &str, kind: &str, reason: &str| {
        let body = format!(r#"{{"type":"urn:stackmark:problem:{kind}","reason":"{reason}","applied":"no"}}"#);
        let (result, usable) = answered(answer(status, "application/problem+json", &body));
        assert!(usable, "a framed answer leaves the connection usable");
        result.unwrap_err()
    };
    assert_eq!(problem("409 Conflict", "conflict", "deadlock"), Fault::Conflict(Conflict::Deadlock));
    assert_eq!(problem("503 Busy", "refused", "queue-full"), Fault::Refused(Refusal::QueueFull));
    assert_eq!(problem("504 Late", "in-doubt", "deadline"), Fault::InDoubt(Doubt::Deadline));
    assert!(
        matches!(problem("422 Bad", "invalid", ""), Fault::Defect(defect) if defect.kind == DefectKind::BadCall)
    );
    assert_eq!(problem("500 Oops", "other", ""), Fault::Refused(Refusal::Shedding));
}

#[test]
fn a_bare_500_is_in_doubt_and_the_session_goes_on() {
    let in_doubt = Err(Fault::InDoubt(Doubt::ServerError));
    for status in ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable"] {
        assert_eq!(answered(answer(status, "text/html", "<h1>oops</h1>")), (in_doubt.clone(), true));
    }
}

#[test]
fn an_answer_may_come_in_single_bytes_in_chunks_and_after_an_interim_one() {
    for bytes in [
        ok(RIGHT),
        "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON ; charset=utf-8\r\nTransfer-Encoding: Chunked\r\n\r\n4\r\n{\"su\r\n5;x=y\r\nm\":3}\r\n0\r\nt: 1\r\n\r\n".into(),
        format!("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n{}", ok(RIGHT)),
    ] {
        let result = with_servers(async move {
            let url = posing(move |mut peer, _| {
                let bytes = bytes.clone();
                async move {
                    for byte in bytes.into_bytes() {
                        peer.send([byte]).await;
                        tokio::task::yield_now().await;
                    }
                    peer.until_closed().await;
                }
            })
            .await;
            run(&mut session(&url).await).await
        });
        assert_eq!(result, Ok(Sum { sum: 3 }));
    }
}

#[test]
fn the_servers_timing_is_added_to_the_work() {
    let work = with_servers(async {
        let url = posing(|mut peer, _| async move {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nserver-timing: total;dur=2.5, db;dur=1, commit;dur=1.25\r\n\
                stackmark-work: rows=33, attempts=2, statements=46, commits=1\r\ncontent-length: 9\r\n\r\n";
            peer.send([head, RIGHT].concat()).await;
            peer.request().await;
            peer.send(ok(RIGHT)).await;
        })
        .await;
        let mut session = session(&url).await;
        let mut work = CallWork::default();
        session.run(&CALL, &mut work).await.unwrap();
        let mut bare = CallWork::default();
        session.run(&CALL, &mut bare).await.unwrap();
        assert_eq!(
            bare,
            CallWork {
                attempts: 1,
                sent_bytes: bare.sent_bytes,
                received_bytes: ok(RIGHT).len() as u32,
                ..CallWork::default()
            },
            "an answer says that there was an attempt"
        );
        work
    });
    assert_eq!((work.attempts, work.statements, work.rows, work.commits), (2, 46, 33, 1));
    assert_eq!((work.spent.server, work.spent.commit), (Nanos(2_500_000), Nanos(1_250_000)));
}

/// A stale answer must never be taken for the answer to a later call.
#[test]
fn a_dropped_call_breaks_its_session() {
    with_servers(async {
        let (release, gate) = tokio::sync::watch::channel(false);
        let url = posing(move |mut peer, _| {
            let mut gate = gate.clone();
            async move {
                gate.wait_for(|open| *open).await.unwrap();
                peer.send(ok(RIGHT)).await;
                peer.until_closed().await;
            }
        })
        .await;
        let mut session = session(&url).await;
        {
            let mut work = CallWork::default();
            let mut call = std::pin::pin!(session.run(&CALL, &mut work));
            // The deadline of the driver, without a clock: polled until it waits for the answer, then
            // dropped.
            for _ in 0..50 {
                tokio::select! {
                    biased;
                    _ = &mut call => panic!("the server has not answered"),
                    () = tokio::task::yield_now() => {}
                }
            }
        }
        release.send(true).unwrap();
        assert!(!session.is_usable());
        assert_eq!(run(&mut session).await, Err(Fault::Refused(Refusal::Unreachable)));
    });
}

#[test]
fn a_connection_that_was_closed_while_it_was_idle_is_opened_again() {
    with_servers(async {
        let url = posing(|mut peer: Peer, _| async move { peer.send(ok(RIGHT)).await }).await;
        let mut session = session(&url).await;
        for before in 0..3 {
            let mut work = CallWork::default();
            assert_eq!(session.run(&CALL, &mut work).await, Ok(Sum { sum: 3 }));
            assert_eq!(work.reconnects, u32::from(before > 0));
            settle().await;
        }
    });
}

#[test]
fn a_server_that_turns_a_connection_away_or_is_tired_of_waiting_has_not_broken_the_contract() {
    with_servers(async {
        let check = async |status: &'static str, expected: Result<Sum, Fault>| {
            let is_first = std::rc::Rc::new(std::cell::Cell::new(true));
            let url = posing(move |mut peer: Peer, _| {
                let is_first = is_first.replace(false);
                async move {
                    peer.send(ok(RIGHT)).await;
                    if is_first {
                        settle().await;
                        peer.send(answer(status, "application/problem+json", "{}")).await;
                        return;
                    }
                    while peer.request().await.is_some() {
                        peer.send(ok(RIGHT)).await;
                    }
                }
            })
            .await;
            let mut session = session(&url).await;
            run(&mut session).await.unwrap();
            for _ in 0..4 {
                settle().await;
            }
            assert_eq!(run(&mut session).await, expected, "{status}");
            // Either way the next call finds a connection.
            assert_eq!(run(&mut session).await, Ok(Sum { sum: 3 }), "{status}");
        };
        check("503 Service Unavailable", Err(Fault::Refused(Refusal::Shedding))).await;
        check("429 Too Many Requests", Err(Fault::Refused(Refusal::Shedding))).await;
        check("408 Request Timeout", Ok(Sum { sum: 3 })).await;
    });
}

#[test]
fn bytes_that_no_one_asked_for_are_a_defect_before_the_next_call_is_sent() {
    with_servers(async {
        let url = posing(|mut peer: Peer, _| async move {
            peer.send(ok(RIGHT)).await;
            settle().await;
            peer.send(ok(RIGHT)).await;
            assert_eq!(peer.request().await, None, "nothing may be sent after a stray answer");
        })
        .await;
        let mut session = session(&url).await;
        run(&mut session).await.unwrap();
        for _ in 0..4 {
            settle().await;
        }
        match run(&mut session).await {
            Err(Fault::Defect(defect)) => {
                assert!(defect.what.contains("bytes without a request"), "{}", defect.what)
            }
            other => panic!("{other:?}"),
        }
    });
}

/// Lets the runtime see what the kernel has for it.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn an_announced_close_costs_nothing_but_a_new_connection() {
    with_servers(async {
        let url = posing(|mut peer: Peer, _| async move {
            let closing = ok(RIGHT).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
            peer.send(closing).await;
        })
        .await;
        let mut session = session(&url).await;
        for _ in 0..5 {
            assert_eq!(run(&mut session).await, Ok(Sum { sum: 3 }));
        }
    });
}

#[test]
fn each_call_opens_a_connection_where_that_is_asked_for() {
    for (connections, opened) in [(Connections::Keep, 1), (Connections::PerCall, 5)] {
        with_servers(async {
            let calls = Rc::new(RefCell::new(Vec::new()));
            let kept = Rc::clone(&calls);
            // It closes nothing itself.
            let url = posing(move |mut peer: Peer, _| {
                let kept = Rc::clone(&kept);
                async move {
                    let mut of_connection = Vec::new();
                    loop {
                        of_connection.push(peer.head.contains("connection: close"));
                        kept.borrow_mut().push(of_connection.clone());
                        peer.send(ok(RIGHT)).await;
                        if peer.request().await.is_none() {
                            return;
                        }
                    }
                }
            })
            .await;
            let target = HttpTarget::<Toy>::reach(&url, &Expected::default()).await.unwrap();
            let options = HttpOptions { connections, ..HttpOptions::default() };
            let mut session = target.through(options).unwrap().open(0).await.unwrap();
            for _ in 0..5 {
                let mut work = CallWork::default();
                assert_eq!(session.run(&CALL, &mut work).await, Ok(Sum { sum: 3 }));
                assert_eq!(work.reconnects, 0);
            }
            let calls = calls.borrow();
            let firsts: Vec<_> = calls.iter().filter(|calls| calls.len() == 1).collect();
            assert_eq!((calls.len(), firsts.len()), (5, opened), "{connections}");
            assert!(firsts.iter().all(|calls| calls[0] == (connections == Connections::PerCall)));
        });
    }
}

#[test]
fn a_transport_that_the_server_does_not_offer_cannot_be_used() {
    with_servers(async {
        let url = posing(|_, _| async {}).await;
        let target = HttpTarget::<Toy>::reach(&url, &Expected::default()).await.unwrap();
        let refused = target.through(HttpOptions { transport: Transport::Unix, ..HttpOptions::default() });
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("its /about has no endpoint for the transport unix"), "{why}");
    });
}
