//! Relays: what a transaction has left to be done elsewhere is brought there by a process of its own.
//!
//! [`run`] is the loop around what a workload's relay does; it also answers `/health` and `/about`, so that a relay is started,
//! found ready and watched like a server.

mod outbox;
mod polling;
mod producer;
mod sink;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use measure::Latencies;
use model::Nanos;
use result::Quantiles;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;

pub use broker::PARTITIONS_MAX;
pub use outbox::{OutboxRelay, OutboxRow, STATEMENTS as OUTBOX_STATEMENTS};
pub use polling::{ADAPTIVE, Polling};
pub use producer::{Producing, produce_to, publish, read_published};
pub use sink::{Each, Lines, Message, Null, Publishing, Sink, Topic};

/// What a relay of an outbox has measured; read by `/about` and `/seconds`.
pub type SharedDeliveries = Arc<Mutex<Deliveries>>;

/// When messages were written into an outbox, and when they were acknowledged.
#[derive(Debug, Default)]
pub struct Deliveries {
    lag: Latencies,
    /// Messages of which rows were written, and those that were acknowledged, in each second since 1970 by the clock of the relay.
    seconds: BTreeMap<i64, (u64, u64)>,
}

impl Deliveries {
    /// Notes messages that were acknowledged together, and when their rows were written; all in microseconds since 1970.
    pub fn note(&mut self, acknowledged_us: i64, written_us: impl Iterator<Item = i64>) {
        const SECOND_US: i64 = 1_000_000;
        for written_us in written_us {
            // The clock may have been set back.
            self.lag.record(Nanos((acknowledged_us - written_us).max(0).unsigned_abs() * 1_000));
            self.seconds.entry(written_us.div_euclid(SECOND_US)).or_default().0 += 1;
            self.seconds.entry(acknowledged_us.div_euclid(SECOND_US)).or_default().1 += 1;
        }
    }

    /// Times for a result; none before there are any.
    fn quantiles(&self) -> Option<Quantiles> {
        (self.lag.count() > 0).then(|| measure::quantiles(&self.lag))
    }

    /// Each second with what was written and acknowledged in it.
    fn seconds(&self) -> Vec<(i64, u64, u64)> {
        self.seconds
            .iter()
            .map(|(second, (written, acknowledged))| (*second, *written, *acknowledged))
            .collect()
    }
}

/// Poll interval of a relay that is notified: a notification may get lost with its connection.
pub const NOTIFIED: Polling = Polling::Fixed(Duration::from_millis(500));
/// How a relay of sagas rests that has found nothing to do: what is accepted waits as long at most before it is looked at.
pub const OF_SAGAS: Polling = Polling::Fixed(Duration::from_millis(5));
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
    /// Fewer rows were left than fit into a batch. The relay then waits for its poll interval, so that the next batch is larger.
    pub is_partial: bool,
    /// What failed; it is tried again.
    pub error: Option<String>,
}

/// A batch that is being relayed.
pub type BoxFuture<'a> = Pin<Box<dyn Future<Output = Batch> + Send + 'a>>;

/// A relay that ends.
pub type Ending<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What brings something from where it was left to where it belongs.
pub trait Relay: Send {
    /// Looks once, and brings what is there.
    fn batch(&mut self) -> BoxFuture<'_>;
    /// Rests so long after a look that found nothing, or until there may be something.
    fn rest(&mut self, most: Duration) -> Ending<'_> {
        Box::pin(tokio::time::sleep(most))
    }
    /// Makes room for another relay, before this one ends.
    fn end(&mut self) -> Ending<'_> {
        Box::pin(std::future::ready(()))
    }
    /// How long that took so far, where it is measured here.
    fn deliveries(&self) -> Option<SharedDeliveries> {
        None
    }
}

/// Notifies a relay of new rows before its poll interval has passed.
pub trait Wake: Send {
    /// Waits for a notification since the last one that was returned.
    fn wait(&mut self) -> Ending<'_>;
    /// Why notifications cannot be received now; once for each failure.
    fn failure(&mut self) -> Option<String>;
}

/// What a relay is told besides where its stores are.
pub struct Settings {
    /// How long keys are kept, of calls that have them.
    pub keep: Duration,
    /// Where the messages of an outbox go.
    pub sink: Box<dyn Sink>,
    /// Messages that are relayed together; as many as are usual for the workload unless it is chosen.
    pub batch: Option<u32>,
    /// Connections to each store, of a relay between stores.
    pub connections: u32,
}

impl Settings {
    /// Of a relay that publishes nothing.
    pub fn keeping(keep: Duration) -> Settings {
        Settings { keep, sink: Box::new(Null), batch: None, connections: 1 }
    }
}

/// Most connections to each store: there is room for them next to the sessions of calls.
pub const CONNECTIONS_MAX: u32 = 16;
/// Most messages of an outbox that are published together.
pub const BATCH_MAX: u32 = 10_000;
/// Messages of an outbox that are published together unless another number is chosen.
pub const BATCH: u32 = 500;

/// What a relay has done since it was started.
#[derive(Debug, Default)]
struct Counts {
    settled: AtomicU64,
    refunded: AtomicU64,
    transactions: AtomicU64,
    expired: AtomicU64,
    errors: AtomicU64,
    /// Of a relay that measures it.
    deliveries: Option<SharedDeliveries>,
}

impl Counts {
    fn enter(&self, batch: &Batch) {
        self.settled.fetch_add(batch.settled, Ordering::Relaxed);
        self.refunded.fetch_add(batch.refunded, Ordering::Relaxed);
        self.transactions.fetch_add(batch.transactions, Ordering::Relaxed);
        self.expired.fetch_add(batch.expired, Ordering::Relaxed);
        self.errors.fetch_add(batch.error.is_some().into(), Ordering::Relaxed);
    }

    fn deliveries(&self) -> Option<MutexGuard<'_, Deliveries>> {
        self.deliveries.as_ref().map(|shared| shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Each second with what was written and acknowledged in it: a path of its own, since a long run has many.
    fn seconds(&self) -> Value {
        json!(self.deliveries().map_or_else(Vec::new, |deliveries| deliveries.seconds()))
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
            "lag": self.deliveries().and_then(|deliveries| deliveries.quantiles()),
        })
    }
}

/// Relays until `asked` ends, batch after batch. After a partial or an empty one it waits as `polling` says. `log` gets each error that
/// differs from the one before.
pub async fn run(
    relay: &mut dyn Relay,
    polling: Polling,
    listener: TcpListener,
    asked: impl Future<Output = ()>,
    log: &dyn Fn(&str),
) -> std::io::Result<()> {
    let counts = Arc::new(Counts { deliveries: relay.deliveries(), ..Counts::default() });
    let about = |State(counts): State<Arc<Counts>>| async move { (IS_JSON, counts.about().to_string()) };
    let health = || async { (IS_JSON, json!({ "status": "ok" }).to_string()) };
    let seconds = |State(counts): State<Arc<Counts>>| async move { (IS_JSON, counts.seconds().to_string()) };
    let router = Router::new()
        .route("/health", get(health))
        .route("/about", get(about))
        .route("/seconds", get(seconds))
        .with_state(counts.clone());
    let relaying = async {
        let (mut listed, mut step) = (None, 0);
        loop {
            let batch = relay.batch().await;
            counts.enter(&batch);
            if batch.error != listed {
                batch.error.iter().for_each(|error| log(error));
                listed.clone_from(&batch.error);
            }
            let rows = batch.settled + batch.refunded;
            step = Polling::step(step, rows);
            match batch.error {
                Some(_) => tokio::time::sleep(REST_AFTER_ERROR).await,
                None if rows == 0 || batch.is_partial => relay.rest(polling.wait(step)).await,
                // Requests for `/health` have their turn.
                None => tokio::task::yield_now().await,
            }
        }
    };
    let ended = tokio::select! {
        served = axum::serve(listener, router).into_future() => served,
        () = relaying => Ok(()),
        () = asked => Ok(()),
    };
    relay.end().await;
    ended
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
                    1 => Batch { settled: 5, refunded: 1, transactions: 2, expired: 3, ..Batch::default() },
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
            let text = std::sync::Mutex::new(Vec::new());
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
                assert_eq!(body["lag"], Value::Null, "it does not measure that");
            };
            let log = |line: &str| text.lock().unwrap().push(line.to_owned());
            run(&mut Scripted(0, Some(idle)), OF_SAGAS, listener, asked, &log).await.unwrap();
            assert_eq!(*text.lock().unwrap(), ["shard-1 is unavailable"]);
        });
    }
}
