//! Bookings, and the relay of their outbox.

use crate::{Driver, How, Style, generic, server_only, sqlite_only, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::{Listener, PostgresOpener};
use anyhow::{Result, bail};
use measure::Monotonic;
use model::AnyTarget;
use relay::{Message, OutboxRelay, Row};
use sql::{ColumnError, Columns, DbUrl, ServerUrl, SqlOpener};
use std::future::Future;
use std::pin::Pin;
use workload_booking::{
    Announcing, Bookings, CHANNEL, Cardinality, Publishing, catalogue, message, notifying_catalogue,
    outbox_row, relay_catalogue,
};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Bookings>> {
    let (style, announcing) = match how.style {
        Style::OutboxRow => (Style::Plain, Announcing::Row),
        Style::Outbox => (Style::Plain, Announcing::Relayed),
        Style::OutboxNotify => (Style::Plain, Announcing::Notified),
        Style::DirectPublish => (Style::Plain, Announcing::AfterCommit(publish)),
        style => (style, Announcing::Nothing),
    };
    let statements = match announcing {
        Announcing::Notified => notifying_catalogue()?,
        _ => catalogue(how.dialect)?,
    };
    generic::target_in_form(How { style, ..how }, url, statements, clock, announcing)
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
        Driver::Rusqlite => Box::new(relaying(
            SqliteOpener::new(sqlite_only(url)?, statements, Monotonic::start())?,
            settings,
        )),
        Driver::TokioPostgres => {
            let url = server_only(url)?;
            let relay = relaying(wait_for(PostgresOpener::reach(url, statements))??, settings);
            Box::new(match how.style {
                Style::OutboxNotify => {
                    relay.woken_by(Box::new(Notified { url: url.clone(), listener: None }))
                }
                _ => relay,
            })
        }
        Driver::MySqlAsync => {
            Box::new(relaying(wait_for(MySqlOpener::reach(server_only(url)?, statements))??, settings))
        }
        driver => bail!("no relay of an outbox through {}", driver.name()),
    })
}

fn relaying<O: SqlOpener>(opener: O, settings: relay::Settings) -> OutboxRelay<O> {
    OutboxRelay::new(opener, row, settings.sink, settings.batch)
}

/// Ends a rest of the relay when PostgreSQL notifies it.
struct Notified {
    url: ServerUrl,
    listener: Option<Listener>,
}

impl relay::Wake for Notified {
    fn wait(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let listener = match &mut self.listener {
                Some(listener) => listener,
                None => match Listener::reach(&self.url, CHANNEL).await {
                    // Something may have been written before anybody listened.
                    Ok(listener) => {
                        self.listener = Some(listener);
                        return;
                    }
                    // The relay looks again by itself, and then this is tried again.
                    Err(_) => return std::future::pending().await,
                },
            };
            if !listener.notified().await {
                self.listener = None;
            }
        })
    }
}

fn row(row: &dyn Columns) -> Result<Row, ColumnError> {
    let (id, created_us, booking) = outbox_row(row)?;
    let (key, payload) = message(&booking, Some(id));
    Ok(Row { id, created_us, key, payload })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_relay_numbers_the_statements_as_the_workload_does() {
        assert_eq!(relay::OUTBOX_STATEMENTS, workload_booking::RELAY_STATEMENTS);
    }
}
