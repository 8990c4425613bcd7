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
/// How long it rests after an error, such as a store that is unavailable.
const REST_AFTER_ERROR: Duration = Duration::from_millis(200);

const IS_JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// What a relay has done at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// What was brought to where it belongs.
    pub settled: u64,
    /// What was refused there, and undone where it came from.
    pub refunded: u64,
    /// Transactions that it took at either end, counted once for both.
    pub transactions: u64,
    /// Records that had been kept long enough and were removed.
    pub expired: u64,
    /// What failed; it is tried again.
    pub error: Option<String>,
}

/// A batch that is being relayed.
pub type BoxFuture<'a> = Pin<Box<dyn Future<Output = Batch> + Send + 'a>>;

/// What brings something from where it was left to where it belongs.
pub trait Relay: Send {
    /// Looks once, and brings what is there.
    fn batch(&mut self) -> BoxFuture<'_>;
}

/// What a relay has done since it was started.
#[derive(Debug, Default)]
struct Counts {
    settled: AtomicU64,
    refunded: AtomicU64,
    transactions: AtomicU64,
    expired: AtomicU64,
    errors: AtomicU64,
}

impl Counts {
    fn enter(&self, batch: &Batch) {
        self.settled.fetch_add(batch.settled, Ordering::Relaxed);
        self.refunded.fetch_add(batch.refunded, Ordering::Relaxed);
        self.transactions.fetch_add(batch.transactions, Ordering::Relaxed);
        self.expired.fetch_add(batch.expired, Ordering::Relaxed);
        self.errors.fetch_add(batch.error.is_some().into(), Ordering::Relaxed);
    }

    fn about(&self) -> Value {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        json!({
            "name": "stackmark-relay",
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "settled": count(&self.settled),
            "refunded": count(&self.refunded),
            "transactions": count(&self.transactions),
            "expired": count(&self.expired),
            "errors": count(&self.errors),
        })
    }
}

/// Relays until `asked` ends, batch after batch and without a rest while there is something to do. `log` gets each error that
/// differs from the one before.
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
            let batch = relay.batch().await;
            counts.enter(&batch);
            if batch.error != told {
                batch.error.iter().for_each(|error| log(error));
                told.clone_from(&batch.error);
            }
            match (&batch.error, batch.settled + batch.refunded) {
                (Some(_), _) => tokio::time::sleep(REST_AFTER_ERROR).await,
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

    /// Two batches, of which the second fails; then nothing is left, and it says so.
    struct Scripted(u64, Option<oneshot::Sender<()>>);

    impl Relay for Scripted {
        fn batch(&mut self) -> BoxFuture<'_> {
            Box::pin(async {
                self.0 += 1;
                match self.0 {
                    1 => Batch { settled: 5, refunded: 1, transactions: 2, expired: 3, error: None },
                    2 => Batch { error: Some("shard-1 is unavailable".into()), ..Batch::default() },
                    _ => {
                        drop(self.1.take());
                        Batch::default()
                    }
                }
            })
        }
    }

    #[test]
    fn a_relay_counts_what_it_has_done_and_logs_an_error_once() {
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
                let counts = ["settled", "refunded", "transactions", "expired", "errors"]
                    .map(|name| body[name].as_u64().unwrap());
                assert_eq!(counts, [5, 1, 2, 3, 1]);
            };
            let log = |line: &str| said.lock().unwrap().push(line.to_owned());
            run(&mut Scripted(0, Some(idle)), listener, asked, &log).await.unwrap();
            assert_eq!(*said.lock().unwrap(), ["shard-1 is unavailable"]);
        });
    }
}
