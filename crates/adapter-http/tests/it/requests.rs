//! What a call becomes on the wire.

use crate::faults::with_servers;
use crate::rogue::{about, answer, start};
use crate::toy::foods::{self, Foods};
use crate::toy::{Add, Toy};
use adapter_http::{Expected, HttpTarget};
use contract::Wire;
use model::{CallWork, Session, Target};
use std::cell::RefCell;
use std::rc::Rc;

/// Head and body of the requests that calls become, each answered with `bytes`; and whether they ask for clocks.
fn requests_of<W: Wire>(calls: &[(W::Call, bool)], bytes: &str) -> Vec<(String, String)> {
    let seen: Rc<RefCell<Vec<(String, String)>>> = Rc::default();
    let length = bytes.len();
    with_servers(async {
        let (kept, bytes) = (seen.clone(), bytes.to_owned());
        let url = start(move |mut peer| {
            let (kept, bytes) = (kept.clone(), bytes.clone());
            async move {
                while let Some((path, body)) = peer.request().await {
                    match path.as_str() {
                        "/about" => peer.send(about(&format!("{}/1", W::NAME), W::NAME, 1)).await,
                        "/health" => peer.send(answer("200 OK", "application/json", "{}")).await,
                        _ => {
                            kept.borrow_mut().push((peer.head.clone(), body));
                            peer.send(&bytes).await;
                        }
                    }
                }
            }
        })
        .await;
        let target = HttpTarget::<W>::reach(&url, &Expected::default()).await.unwrap();
        let mut session = target.open(0).await.unwrap();
        for (call, clocked) in calls {
            let mut work = CallWork { clocked: *clocked, ..CallWork::default() };
            assert!(session.run(call, &mut work).await.is_ok(), "the answer is a right one");
            let sent = seen.borrow().last().map(|(head, body)| head.len() + "\r\n\r\n".len() + body.len());
            assert_eq!(Some(work.sent_bytes as usize), sent);
            assert_eq!(work.received_bytes as usize, length);
        }
    });
    seen.take()
}

/// The value of a header, which is there once.
#[track_caller]
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let values: Vec<&str> =
        head.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':')).collect();
    assert!(values.len() <= 1, "{head}");
    values.first().map(|value| value.trim())
}

#[test]
fn the_length_follows_the_body_and_a_clock_is_asked_for_where_it_is_wanted() {
    let calls = [(1, false), (4_000_000_000, true), (22, false), (3, true)]
        .map(|(a, clocked)| (Add { a, b: 1 }, clocked));
    let seen = requests_of::<Toy>(&calls, &answer("200 OK", "application/json", r#"{"sum":1}"#));
    assert_eq!(seen.len(), calls.len());
    for ((head, body), (call, clocked)) in seen.iter().zip(&calls) {
        assert!(head.starts_with("POST /toy/add HTTP/1.1\r\nhost: 127.0.0.1:"), "{head}");
        assert_eq!(*body, format!(r#"{{"a":{},"b":1}}"#, call.a));
        assert_eq!(header(head, "content-length"), Some(&*body.len().to_string()));
        assert_eq!(header(head, "content-type"), Some("application/json"));
        assert_eq!(header(head, "stackmark-clock"), clocked.then_some("statements"));
    }
}

/// What [`requests_of`] checks of the bytes of a plain answer holds for one in chunks after an interim one too.
#[test]
fn bytes_of_an_answer_are_those_of_its_interim_ones_and_its_chunks_too() {
    let chunked = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
        transfer-encoding: chunked\r\n\r\n4\r\n{\"su\r\n5\r\nm\":1}\r\n0\r\n\r\n";
    assert_eq!(requests_of::<Toy>(&[(Add { a: 1, b: 0 }, false)], chunked).len(), 1);
}

#[test]
fn a_call_in_words_of_http_has_its_method_its_id_and_its_headers_and_no_body_where_there_is_none() {
    let calls = [
        (foods::Call::Look { food: 42 }, true),
        (foods::Call::Take { food: 7, seen: 3, key: 99 }, false),
        (foods::Call::Look { food: 1 }, false),
    ];
    let declined = "HTTP/1.1 409 Conflict\r\nETag: \"4\"\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n0";
    let seen = requests_of::<Foods>(&calls, declined);
    let [(look, nothing), (take, body), (again, _)] = &seen[..] else { panic!("{seen:?}") };
    assert!(look.starts_with("GET /foods/42 HTTP/1.1\r\n") && again.starts_with("GET /foods/1 HTTP/1.1\r\n"));
    for name in ["content-type", "content-length", "if-match"] {
        assert_eq!(header(look, name), None, "{look}");
    }
    assert_eq!((nothing.as_str(), header(look, "stackmark-clock")), ("", Some("statements")));
    assert!(take.starts_with("PATCH /foods/7 HTTP/1.1\r\n"), "{take}");
    assert_eq!((header(take, "if-match"), header(take, "idempotency-key")), (Some("\"3\""), Some("99")));
    assert_eq!((body.as_str(), header(take, "content-length")), (r#"{"take":1}"#, Some("10")));
}
