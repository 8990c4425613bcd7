//! Bookings, and the relay of their outbox.

use crate::{Driver, How, Style, generic, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::{Listener, PostgresOpener};
use anyhow::{Result, bail};
use measure::Monotonic;
use model::AnyTarget;
use relay::{Message, OutboxRelay, OutboxRow};
use sql::{ColumnError, Columns, DbUrl, ServerUrl, SqlOpener};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use workload_booking::{
    Announcing, Bookings, CHANNEL, Cardinality, Form, Publishing, catalogue, message, notifying_catalogue,
    outbox_row, relay_catalogue,
};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Bookings>> {
    let (style, form) = match how.style {
        Style::OutboxRow => (Style::Plain, Announcing::Row.into()),
        Style::Outbox => (Style::Plain, Announcing::Relayed.into()),
        Style::OutboxNotify => (Style::Plain, Announcing::Notified.into()),
        Style::DirectPublish => (Style::Plain, Announcing::AfterCommit(publish).into()),
        Style::Pipelined => (Style::Plain, Form { announcing: Announcing::Nothing, is_pipelined: true }),
        Style::PipelinedOutboxRow => (Style::Plain, Form { announcing: Announcing::Row, is_pipelined: true }),
        style => (style, Form::default()),
    };
    let statements = match form.announcing {
        Announcing::Notified => notifying_catalogue()?,
        _ => catalogue(how.dialect)?,
    };
    generic::target_in_form(How { style, ..how }, url, statements, clock, form)
}

/// Publishes from within the process that has committed.
fn publish(key: u64, payload: Vec<u8>) -> Publishing {
    Box::pin(relay::publish(Message { key, payload, created_us: None }))
}

/// The relay of the outbox.
pub(crate) fn relay(
    how: How,
    stores: &[DbUrl],
    _: &Cardinality,
    settings: relay::Settings,
) -> Result<Box<dyn relay::Relay>> {
    let ([url], true) = (stores, how.style.has_outbox()) else {
        bail!("{} through {} leaves nothing to a relay", how.style.name(), how.driver.name())
    };
    let statements = relay_catalogue(how.dialect)?;
    Ok(match how.driver {
        Driver::Rusqlite => {
            Box::new(relaying(SqliteOpener::new(url.sqlite()?, statements, Monotonic::start())?, settings))
        }
        Driver::TokioPostgres => {
            let url = url.server()?;
            let relay = relaying(wait_for(PostgresOpener::reach(url, statements))??, settings);
            Box::new(match how.style {
                Style::OutboxNotify => relay.woken_by(Box::new(Notified::of(url.clone())?)),
                _ => relay,
            })
        }
        Driver::MySqlAsync => {
            Box::new(relaying(wait_for(MySqlOpener::reach(url.server()?, statements))??, settings))
        }
        driver => bail!("no relay of an outbox through {}", driver.name()),
    })
}

fn relaying<O: SqlOpener>(opener: O, settings: relay::Settings) -> OutboxRelay<O> {
    OutboxRelay::new(opener, row, settings.sink, settings.batch.unwrap_or(relay::BATCH))
}

/// Time between attempts to listen.
const LISTEN_AGAIN: Duration = Duration::from_millis(500);

/// Notifications of PostgreSQL. A task of its own receives them, also while the relay publishes.
struct Notified {
    url: ServerUrl,
    received: Arc<Received>,
    listening: JoinSet<()>,
}

/// What that task has received.
#[derive(Default)]
struct Received {
    /// Several notifications are one.
    notification: Notify,
    failure: Mutex<Option<String>>,
}

impl Notified {
    /// Fails if the server does not allow to listen.
    fn of(url: ServerUrl) -> Result<Notified> {
        wait_for(Listener::reach(&url, CHANNEL))??;
        Ok(Notified { url, received: Arc::default(), listening: JoinSet::new() })
    }
}

impl relay::Wake for Notified {
    fn wait(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if self.listening.is_empty() {
            self.listening.spawn(listen(self.url.clone(), Arc::clone(&self.received)));
        }
        Box::pin(self.received.notification.notified())
    }

    fn failure(&mut self) -> Option<String> {
        self.received.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Listens, and connects again where the connection ends.
async fn listen(url: ServerUrl, received: Arc<Received>) {
    loop {
        let failure = match Listener::reach(&url, CHANNEL).await {
            Ok(mut listener) => {
                // What has committed until now was not notified to this connection.
                received.notification.notify_one();
                while listener.notified().await {
                    received.notification.notify_one();
                }
                "the connection that receives notifications has ended".to_owned()
            }
            Err(error) => format!("could not listen for notifications: {error}"),
        };
        *received.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        tokio::time::sleep(LISTEN_AGAIN).await;
    }
}

fn row(row: &dyn Columns) -> Result<OutboxRow, ColumnError> {
    let (id, created_us, booking) = outbox_row(row)?;
    let (key, payload) = message(&booking, Some(id));
    Ok(OutboxRow { id, created_us, key, payload })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_relay_numbers_the_statements_as_the_workload_does() {
        assert_eq!(relay::OUTBOX_STATEMENTS, workload_booking::RELAY_STATEMENTS);
    }
}
