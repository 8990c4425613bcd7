//! Who may be measured.

use crate::rogue::{about, answer, ok, start};
use crate::toy::Toy;
use adapter_http::{Expected, HttpTarget};
use model::{OpenError, Target, Tier};

fn with_servers<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

/// What reaching a server says that gives these answers, one a path.
fn reached(about: impl Into<String>, health: impl Into<String>) -> Result<HttpTarget<Toy>, OpenError> {
    let (about, health) = (about.into(), health.into());
    with_servers(async move {
        let url = start(move |mut peer| {
            let (about, health) = (about.clone(), health.clone());
            async move {
                while let Some((path, _)) = peer.request().await {
                    peer.send(if path == "/about" { &about } else { &health }).await;
                }
            }
        })
        .await;
        HttpTarget::reach(&url, &Expected { scale: Some(1) }).await
    })
}

fn healthy() -> String {
    ok(r#"{"status":"ok"}"#)
}

#[track_caller]
fn is_unusable(about: impl Into<String>, why: &str) {
    match reached(about, healthy()) {
        Err(OpenError::Unusable { what, why: listed }) => {
            assert!(what.starts_with("http://127.0.0.1:"), "{what}");
            assert!(listed.contains(why), "{listed}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_of_ours_is_described_by_its_own_stack() {
    let target = reached(about("toy/1", "toy", 1), healthy()).unwrap();
    let stack = target.stack();
    assert_eq!((stack.route.as_str(), stack.server.as_deref()), ("http", Some("rogue 9")));
    assert_eq!((stack.engine.as_str(), stack.durability.tier), ("none", Tier::Volatile));
    assert_eq!(stack.settings, [("cache".to_owned(), "1".to_owned())]);
    assert_eq!((target.about().pid, target.about().pool), (None, 1));
}

#[test]
fn a_server_that_is_not_ours_is_named_as_such() {
    is_unusable(
        answer("404 Not Found", "text/html", "no"),
        "not a Stackmark server: /about answered with status 404",
    );
    is_unusable(ok("<html>"), "not a Stackmark server: /about");
    is_unusable(ok(r#"{"name":"x"}"#), "not a Stackmark server: /about: missing field");
    is_unusable("SSH-2.0-OpenSSH_9.6\r\n", "not a Stackmark server: /about: the answer is not HTTP/1.1");
    is_unusable(
        about("tpcc/1", "tpcc", 1),
        "it speaks contract `tpcc/1` for workload `tpcc`, wanted is `toy/1`",
    );
    is_unusable(about("toy/2", "toy", 1), "wanted is `toy/1`");
    is_unusable(about("toy/1", "toy", 10), "its data has scale 10, wanted is 1");
}

#[test]
fn a_server_that_is_not_ready_may_be_tried_again() {
    let problem = answer("503 Service Unavailable", "application/problem+json", "{}");
    match reached(about("toy/1", "toy", 1), problem) {
        Err(OpenError::Unreachable { why, .. }) => {
            assert!(why.contains("/health answered with status 503"), "{why}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_hangs_up_is_not_waited_for() {
    let closing = with_servers(async {
        let url = start(|peer| async move { drop(peer) }).await;
        HttpTarget::<Toy>::reach(&url, &Expected::default()).await
    });
    assert!(closing.unwrap_err().to_string().contains("closed without an answer"));
}

#[test]
fn an_address_where_nothing_listens_is_unreachable() {
    let error = with_servers(async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        HttpTarget::<Toy>::reach(&url, &Expected::default()).await.unwrap_err()
    });
    assert!(matches!(&error, OpenError::Unreachable { why, .. } if why.contains("refused")), "{error}");
}

#[test]
fn a_bad_address_is_unusable_and_its_password_is_not_repeated() {
    let error =
        with_servers(HttpTarget::<Toy>::reach("http://me:secret@host:1", &Expected::default())).unwrap_err();
    assert!(matches!(error, OpenError::Unusable { .. }));
    assert!(!error.to_string().contains("secret"), "{error}");
}
