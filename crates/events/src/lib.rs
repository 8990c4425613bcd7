//! Relays: what a transaction has left to be done elsewhere is brought there by a process of its own.
//!
//! [`run`] is the loop around what a workload's relay does; it also answers `/health` and `/about`, so that a relay is started,
//! found ready and watched like a server.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// How long a relay rests that has found nothing to do: what is accepted waits as long at most before it is looked at.
pub const REST: Duration = Duration::from_millis(5);
/// How long it rests when something was wrong, a store that is away for example.
const REST_AFTER_WRONG: Duration = Duration::from_millis(200);

const IS_JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// What a relay has done in a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// What was brought to where it belongs.
    pub done: u64,
    /// What was refused there, and undone.
    pub undone: u64,
    /// Transactions that it took at either end, counted once for both.
    pub batches: u64,
    /// What had been kept long enough, and is forgotten.
    pub forgotten: u64,
    /// What was wrong; what it kept from being done is tried again.
    pub wrong: Option<String>,
}

/// A turn that is being taken.
pub type Taking<'a> = Pin<Box<dyn Future<Output = Turn> + Send + 'a>>;

/// What brings something from where it was left to where it belongs.
pub trait Relay: Send {
    /// Looks once, and brings what is there.
    fn turn(&mut self) -> Taking<'_>;
}

/// What a relay has done since it was started.
#[derive(Debug, Default)]
struct Counts {
    done: AtomicU64,
    undone: AtomicU64,
    batches: AtomicU64,
    forgotten: AtomicU64,
    wrong: AtomicU64,
}

impl Counts {
    fn enter(&self, turn: &Turn) {
        self.done.fetch_add(turn.done, Ordering::Relaxed);
        self.undone.fetch_add(turn.undone, Ordering::Relaxed);
        self.batches.fetch_add(turn.batches, Ordering::Relaxed);
        self.forgotten.fetch_add(turn.forgotten, Ordering::Relaxed);
        self.wrong.fetch_add(turn.wrong.is_some().into(), Ordering::Relaxed);
    }

    fn about(&self) -> Value {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        json!({
            "name": "stackmark-relay",
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "done": count(&self.done),
            "undone": count(&self.undone),
            "batches": count(&self.batches),
            "forgotten": count(&self.forgotten),
            "wrong": count(&self.wrong),
        })
    }
}

/// Relays until `asked` ends, a turn after the other and without a rest while there is something to do. `log` is told what is
/// wrong when that changes.
///
/// # Errors
/// The listener fails.
pub async fn run(
    relay: &mut dyn Relay,
    listener: TcpListener,
    asked: impl Future<Output = ()>,
    log: &dyn Fn(&str),
) -> std::io::Result<()> {
    let counts = Arc::new(Counts::default());
    let about = |State(counts): State<Arc<Counts>>| async move { (IS_JSON, counts.about().to_string()) };
    let health = || async { (IS_JSON, json!({ "status": "ok" }).to_string()) };
    let router =
        Router::new().route("/health", get(health)).route("/about", get(about)).with_state(counts.clone());
    let relaying = async {
        let mut told = None;
        loop {
            let turn = relay.turn().await;
            counts.enter(&turn);
            if turn.wrong != told {
                turn.wrong.iter().for_each(|wrong| log(wrong));
                told.clone_from(&turn.wrong);
            }
            match (&turn.wrong, turn.done + turn.undone) {
                (Some(_), _) => tokio::time::sleep(REST_AFTER_WRONG).await,
                (None, 0) => tokio::time::sleep(REST).await,
                // Whoever asks for `/health` has a turn too.
                (None, _) => tokio::task::yield_now().await,
            }
        }
    };
    tokio::select! {
        served = axum::serve(listener, router).into_future() => served,
        () = relaying => Ok(()),
        () = asked => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    /// Has so many turns with something to do, of which the second is wrong; then nothing, and says so.
    struct Scripted(u64, Option<oneshot::Sender<()>>);

    impl Relay for Scripted {
        fn turn(&mut self) -> Taking<'_> {
            Box::pin(async {
                self.0 += 1;
                match self.0 {
                    1 => Turn { done: 5, undone: 1, batches: 2, forgotten: 3, wrong: None },
                    2 => Turn { wrong: Some("shard-1 is away".into()), ..Turn::default() },
                    _ => {
                        drop(self.1.take());
                        Turn::default()
                    }
                }
            })
        }
    }

    #[test]
    fn a_relay_says_what_it_has_done_and_what_was_wrong_once() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (idle, is_idle) = oneshot::channel();
            let said = std::sync::Mutex::new(Vec::new());
            let asked = async {
                let _ = is_idle.await;
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream
                    .write_all(b"GET /about HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                    .await
                    .unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
                let counts = ["done", "undone", "batches", "forgotten", "wrong"]
                    .map(|name| body[name].as_u64().unwrap());
                assert_eq!(counts, [5, 1, 2, 3, 1]);
            };
            let log = |line: &str| said.lock().unwrap().push(line.to_owned());
            run(&mut Scripted(0, Some(idle)), listener, asked, &log).await.unwrap();
            assert_eq!(*said.lock().unwrap(), ["shard-1 is away"]);
        });
    }
}
