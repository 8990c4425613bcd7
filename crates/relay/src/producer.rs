//! Publishes messages from the process that makes the transactions: after a commit, as a dual write does, which loses a message if the
//! process ends in between; or before a transaction begins, as a log of what is to be done.

use crate::sink::Each;
use crate::{BATCH, Message, Sink};
use std::sync::{Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Where the result of an order goes.
type Waits = oneshot::Sender<Result<(), String>>;

enum Order {
    Publish(Message, Waits),
    Read(Box<Each<'static>>, Waits),
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue::None);

enum Queue {
    /// No sink was named.
    None,
    Open(mpsc::UnboundedSender<Order>),
    Ended,
}

/// Publishes to a sink what is given to [`publish`] from now on, until this value is dropped.
#[must_use]
#[derive(Debug)]
pub struct Producing(());

/// Starts a thread that publishes to a sink, together what has come while it was busy. There is one at most in a process.
pub fn produce_to(mut sink: Box<dyn Sink>) -> std::io::Result<Producing> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, mut orders) = mpsc::unbounded_channel::<Order>();
    std::thread::spawn(move || {
        runtime.block_on(async {
            let mut next = None;
            loop {
                let order = match next.take() {
                    Some(order) => order,
                    None => match orders.recv().await {
                        Some(order) => order,
                        None => return,
                    },
                };
                let (first, waits) = match order {
                    Order::Publish(first, waits) => (first, waits),
                    Order::Read(mut each, waits) => {
                        // The caller may have been dropped, here and below.
                        let _ = waits.send(sink.read(&mut *each).await);
                        continue;
                    }
                };
                let (mut messages, mut waiting) = (vec![first], vec![waits]);
                while messages.len() < BATCH as usize {
                    match orders.try_recv() {
                        Ok(Order::Publish(message, waits)) => {
                            messages.push(message);
                            waiting.push(waits);
                        }
                        Ok(read) => {
                            next = Some(read);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                let published = sink.publish(&messages).await;
                for waits in waiting {
                    let _ = waits.send(published.clone());
                }
            }
        });
    });
    *QUEUE.lock().unwrap_or_else(PoisonError::into_inner) = Queue::Open(sender);
    Ok(Producing(()))
}

/// Publishes a message, and returns when it was acknowledged. Where no sink was named it goes nowhere.
///
/// # Errors
/// The sink failed: the message may have been published or not.
pub async fn publish(message: Message) -> Result<(), String> {
    order(|waits| Order::Publish(message, waits)).await
}

/// Reads the payloads of all messages that the sink stores, those of one key in their order; none where no sink was named.
///
/// # Errors
/// The sink cannot be read, or `each` fails: with the place of that message.
pub async fn read_published(
    each: impl FnMut(&[u8]) -> Result<(), String> + Send + 'static,
) -> Result<(), String> {
    order(|waits| Order::Read(Box::new(each), waits)).await
}

async fn order(of: impl FnOnce(Waits) -> Order) -> Result<(), String> {
    const ENDED: &str = "the producer has ended";
    let (sender, answer) = oneshot::channel();
    match &*QUEUE.lock().unwrap_or_else(PoisonError::into_inner) {
        Queue::None => return Ok(()),
        Queue::Open(queue) => queue.send(of(sender)).map_err(|_| ENDED)?,
        Queue::Ended => return Err(ENDED.into()),
    }
    answer.await.map_err(|_| ENDED)?
}

impl Drop for Producing {
    fn drop(&mut self) {
        // The thread ends when it has published what it was given.
        *QUEUE.lock().unwrap_or_else(PoisonError::into_inner) = Queue::Ended;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Publishing;
    use std::future::ready;
    use std::sync::Arc;

    /// Keeps what is published, and fails where a payload says so.
    struct MemorySink(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Sink for MemorySink {
        fn publish<'a>(&'a mut self, messages: &'a [Message]) -> Publishing<'a> {
            let mut kept = self.0.lock().unwrap();
            kept.extend(messages.iter().map(|message| message.payload.clone()));
            let fails = messages.iter().any(|message| message.payload == b"wrong");
            Box::pin(ready(if fails { Err("it failed".to_owned()) } else { Ok(()) }))
        }
    }

    #[test]
    fn a_message_is_acknowledged_when_the_sink_has_it_and_goes_nowhere_where_none_was_named() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let message = |payload: &str| Message { key: 1, payload: payload.into(), created_us: None };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let published = |payload: &str| runtime.block_on(publish(message(payload)));
        assert_eq!(published("before"), Ok(()));
        let producing = produce_to(Box::new(MemorySink(Arc::clone(&kept)))).unwrap();
        assert_eq!(published("right"), Ok(()));
        assert_eq!(published("wrong"), Err("it failed".to_owned()));
        drop(producing);
        assert_eq!(published("after"), Err("the producer has ended".to_owned()));
        assert_eq!(*kept.lock().unwrap(), [b"right".to_vec(), b"wrong".to_vec()]);
    }
}
