//! What is too much, too slow or too many, and how a server ends.

use crate::rig::{Running, WAIT, post, start, start_with};
use crate::toy::{Add, Toy};
use adapter_http::{Expected, HttpTarget};
use model::{CallWork, Fault, Nanos, Session, Target};
use server::{ServeError, Server, Settings};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};

fn on_both(change: impl Fn(&mut Settings), test: impl Fn(Running)) {
    test(start::<false>(&change));
    test(start::<true>(&change));
}

#[test]
fn a_body_of_100_mb_is_refused_unread() {
    let server = start::<true>(|_| {});
    let mut client = server.client();
    client.send(
        "POST /toy/add HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000000\r\n\r\n",
    );
    let answer = client.receive().unwrap();
    assert_eq!((answer.status, answer.problem("type")), (413, "urn:stackmark:problem:too-large".into()));
    assert_eq!(answer.header("connection"), Some("close"));
    // It stops taking bytes long before the end: what the kernel's buffers hold is all that can be sent.
    let megabyte = vec![b' '; 1 << 20];
    let sent = (0..100).take_while(|_| client.stream.write_all(&megabyte).is_ok()).count();
    assert!(sent < 50, "{sent} MiB were taken");
    server.stop().unwrap();
}

#[test]
fn an_endless_chunked_body_is_cut_off() {
    let server = start::<true>(|_| {});
    let mut client = server.client();
    client.send(
        "POST /toy/add HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    let chunk = format!("4000\r\n{}\r\n", " ".repeat(0x4000));
    for _ in 0..5 {
        // The server may have hung up before it has the last of them; its answer is there all the same.
        let _ = client.stream.write_all(chunk.as_bytes());
    }
    assert_eq!(client.receive().unwrap().status, 413);
    server.stop().unwrap();
}

#[test]
fn a_body_just_within_the_limit_is_read() {
    let server = start::<true>(|_| {});
    let body = format!("{}{}", r#"{"a":1,"b":2}"#, " ".repeat((64 << 10) - 13));
    assert_eq!(server.client().exchange(post(&body)).status, 200);
    assert_eq!(server.client().exchange(post(&format!("{body} "))).status, 413);
    server.stop().unwrap();
}

#[test]
fn a_head_that_never_ends_is_given_up() {
    let server = start::<true>(|settings| settings.limits.head_read_max = Nanos::from_millis(100));
    let mut client = server.client();
    assert_eq!(client.add(1, 2).status, 200);
    client.send("POST /toy/add HTT");
    assert!(client.receive().is_none(), "the connection must be closed");
    server.stop().unwrap();
}

#[test]
fn a_body_that_never_ends_is_given_up() {
    let server = start::<true>(|settings| settings.limits.body_read_max = Nanos::from_millis(100));
    let mut client = server.client();
    let whole = post(r#"{"a":1,"b":2}"#);
    client.send(&whole[..whole.len() - 1]);
    let answer = client.receive().unwrap();
    assert_eq!((answer.status, answer.problem("applied")), (408, "no".into()));
    server.stop().unwrap();
}

#[test]
fn an_idle_connection_lives_longer_than_a_slow_head_and_not_for_ever() {
    let server = start::<true>(|settings| settings.limits.head_read_max = Nanos::from_millis(1));
    let mut client = server.client();
    client.add(1, 2);
    // Longer than the limit of a head and the two looks that would notice.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(client.add(1, 2).status, 200);
    server.stop().unwrap();

    // On a server of its own: a busy machine may make the wait above longer than any limit.
    let server = start::<true>(|settings| settings.limits.idle_max = Nanos::from_secs(4));
    let mut client = server.client();
    assert_eq!(client.add(1, 2).status, 200);
    assert!(client.receive().is_none());
    server.stop().unwrap();
}

#[test]
fn a_connection_over_the_limit_is_turned_away_with_a_reason() {
    let server = start::<true>(|settings| settings.limits.connections_max = 1);
    let mut first = server.client();
    assert_eq!(first.add(1, 2).status, 200);
    let answer = server.client().receive().unwrap();
    assert_eq!((answer.status, answer.problem("reason")), (503, "shedding".into()));
    assert_eq!(first.add(1, 2).status, 200);
    drop(first);
    server.stop().unwrap();
}

#[test]
fn a_call_over_the_queue_is_refused_at_once() {
    let one = |settings: &mut Settings| {
        settings.sessions = 1;
        settings.limits.queued_max = 1;
    };
    on_both(one, |server| {
        let running = server.add_later(1, WAIT);
        server.wait_for_waiting(1);
        // One of these two takes the only place in the queue, and the other is refused.
        let (first, second) = (server.add_later(2, 0), server.add_later(3, 0));
        while !first.is_finished() && !second.is_finished() {
            std::thread::yield_now();
        }
        server.open_gate();
        let mut statuses = [first, second].map(|call| call.join().unwrap());
        statuses.sort_by_key(|answer| answer.status);
        assert_eq!(statuses.each_ref().map(|answer| answer.status), [200, 503]);
        assert_eq!(statuses[1].problem("reason"), "queue-full");
        assert_eq!(statuses[1].header("retry-after"), Some("1"));
        assert_eq!(running.join().unwrap().status, 200);
        server.stop().unwrap();
    });
}

/// The one that runs may be applied; the one that waits never will be, and the answers say which is which.
#[test]
fn a_deadline_tells_a_running_call_from_a_waiting_one() {
    let one = |settings: &mut Settings| {
        settings.sessions = 1;
        // It bounds those that are answered too, on however slow a machine.
        settings.limits.call_max = Nanos::from_secs(5);
    };
    // On threads only: an asynchronous session is dropped at the deadline, and makes room for the next.
    let server = start::<false>(one);
    let running = server.add_later(1, WAIT);
    server.wait_for_waiting(1);
    let waiting = server.add_later(2, 0);
    let (running, waiting) = (running.join().unwrap(), waiting.join().unwrap());
    assert_eq!((running.status, running.problem("reason")), (504, "deadline".into()));
    assert_eq!((waiting.status, waiting.problem("reason")), (503, "no-session".into()));
    server.open_gate();
    assert_eq!(server.add(3, 0).status, 200);
    let applied = server.shared.applied.load(Ordering::SeqCst);
    assert_eq!(applied, 2, "the running call and the last one; what was refused must not have run");
    server.stop().unwrap();

    let server = start::<true>(one);
    let running = server.add(1, WAIT);
    assert_eq!((running.status, running.problem("reason")), (504, "deadline".into()));
    assert_eq!(server.add(2, 0).status, 200, "a fresh session takes the place of the dropped one");
    server.stop().unwrap();
}

/// What closes the writing half may still read, and what is gone looks the same: a call that was sent is made, and the
/// session is there for the next.
#[test]
fn a_client_that_hangs_up_has_its_call_made_once_and_keeps_no_session() {
    on_both(
        |settings| settings.sessions = 1,
        |server| {
            let mut gone = server.client();
            gone.send(post(&format!(r#"{{"a":1,"b":{WAIT}}}"#)));
            server.wait_for_waiting(1);
            drop(gone);
            let next = server.add_later(2, 0);
            server.open_gate();
            assert_eq!(next.join().unwrap().status, 200);
            assert_eq!(server.shared.applied.load(Ordering::SeqCst), 2);
            server.stop().unwrap();
        },
    );
}

#[test]
fn a_call_in_flight_is_finished_before_the_server_stops() {
    on_both(
        |_| {},
        |mut server| {
            let idle = server.client();
            let running = server.add_later(1, WAIT);
            server.wait_for_waiting(1);
            server.begin_stop();
            while TcpStream::connect(server.addr).is_ok() {
                std::thread::yield_now();
            }
            server.open_gate();
            assert_eq!(running.join().unwrap().status, 200);
            server.wait().unwrap();
            drop(idle);
        },
    );
}

#[test]
fn a_server_stopped_under_load_answers_everything_it_applied() {
    on_both(
        |settings| settings.sessions = 4,
        |mut server| {
            let ready = Arc::new(Barrier::new(8));
            let clients: Vec<_> = (0..8)
                .map(|_| {
                    let (url, ready) = (server.url(), ready.clone());
                    std::thread::spawn(move || acknowledged_until_stopped(&url, &ready))
                })
                .collect();
            // A client that ends before has failed, and joining it says how.
            let failed = || clients.iter().any(std::thread::JoinHandle::is_finished);
            while server.shared.applied.load(Ordering::SeqCst) < 500 && !failed() {
                std::thread::yield_now();
            }
            server.begin_stop();
            server.wait().unwrap();
            let acknowledged: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
            assert_eq!(acknowledged, server.shared.applied.load(Ordering::SeqCst));
        },
    );
}

/// Calls until the server goes away; answers how many were acknowledged.
fn acknowledged_until_stopped(url: &str, ready: &Barrier) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let opened = match HttpTarget::<Toy>::reach(url, &Expected::default()).await {
            Ok(target) => target.open(0).await,
            Err(error) => Err(error),
        };
        // Before anything can fail: the others wait for all.
        ready.wait();
        let mut session = opened.unwrap();
        let mut acknowledged = 0;
        loop {
            match session.run(&Add { a: 1, b: 1 }, &mut CallWork::default()).await {
                Ok(_) => acknowledged += 1,
                Err(Fault::Refused(_) | Fault::InDoubt(_)) => return acknowledged,
                Err(other) => panic!("{other:?}"),
            }
        }
    })
}

#[test]
fn a_call_that_never_ends_is_cut_off_and_named() {
    on_both(
        |settings| settings.limits.drain_max = Nanos::from_millis(100),
        |mut server| {
            let stuck = server.add_later(1, WAIT);
            server.wait_for_waiting(1);
            server.begin_stop();
            let error = server.wait().unwrap_err();
            assert!(matches!(error, ServeError::Undrained { calls: 1, .. }), "{error}");
            assert_eq!(error.to_string(), "1 calls were cut off 0.1 s after the server was asked to stop");
            server.open_gate();
            // Its client sees the connection end.
            assert!(stuck.join().is_err());
        },
    );
}

#[test]
fn a_session_that_works_for_no_one_is_not_forgotten_at_the_end() {
    let mut server = start::<false>(|settings| {
        settings.limits.call_max = Nanos::from_millis(100);
        settings.limits.drain_max = Nanos::from_millis(100);
    });
    // Its client has been answered, so it is not a call that was cut off.
    assert_eq!(server.add(1, WAIT).status, 504);
    server.wait_for_waiting(1);
    server.begin_stop();
    let error = server.wait().unwrap_err();
    assert!(matches!(error, ServeError::Unclosed { .. }), "{error}");
}

#[test]
fn a_port_in_use_is_named_before_anything_else_happens() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = Settings { listen: taken.local_addr().unwrap(), ..Settings::default() };
    let error = Server::bind(settings).unwrap_err().to_string();
    let port = taken.local_addr().unwrap().port();
    assert!(
        error.starts_with(&format!("could not listen on 127.0.0.1:{port}: the port is in use")),
        "{error}"
    );
}

#[test]
fn loopback_is_the_default_and_port_0_becomes_a_real_one() {
    assert!(Settings::default().listen.ip().is_loopback());
    let settings = Settings { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Settings::default() };
    assert_ne!(Server::bind(settings).unwrap().addr().port(), 0);
}

#[test]
fn a_setting_that_makes_no_sense_is_named() {
    for (name, change) in [
        ("sessions", (|settings| settings.sessions = 0) as fn(&mut Settings)),
        ("workers", |settings| settings.workers = 0),
        ("queued_max", |settings| settings.limits.queued_max = 0),
        ("connections_max", |settings| settings.limits.connections_max = 0),
        ("call_max", |settings| settings.limits.call_max = Nanos::ZERO),
    ] {
        let mut settings = Settings { log: Arc::new(|_| {}), ..Settings::default() };
        change(&mut settings);
        let error = Server::bind(settings).unwrap_err().to_string();
        assert_eq!(error, format!("a server needs {name} of at least 1, not 0"));
    }
    let absurd = Settings { sessions: 1_000_000, ..Settings::default() };
    let error = Server::bind(absurd).unwrap_err().to_string();
    assert_eq!(error, "sessions is 1000000; at most 4096 can be served");
}

#[test]
fn a_session_that_does_not_open_is_an_error_before_the_first_answer() {
    for mut server in [start_with::<false>(1, |_| {}), start_with::<true>(1, |_| {})] {
        let error = server.wait().unwrap_err();
        assert!(matches!(error, ServeError::Open(_)), "{error}");
        assert!(error.to_string().ends_with("no more of them"), "{error}");
    }
}

#[test]
fn many_clients_may_connect_at_once() {
    let settings = Settings { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Settings::default() };
    let bound = Server::bind(settings).unwrap();
    // No one takes them yet. Where there is no room, a connection is never made, however long one waits.
    let connect = || TcpStream::connect_timeout(&bound.addr(), std::time::Duration::from_secs(10));
    let clients: Vec<_> = (0..400).map(|_| connect().unwrap()).collect();
    assert_eq!(clients.len(), 400);
}
