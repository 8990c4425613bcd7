//! Bookings, and the relay of their outbox.

use crate::{Driver, How, Style, generic, server_only, sqlite_only, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Result, bail};
use measure::Monotonic;
use model::AnyTarget;
use relay::{Message, OutboxRelay, Row};
use sql::{ColumnError, Columns, DbUrl, SqlOpener};
use workload_booking::{
    Announcing, Bookings, Cardinality, Publishing, catalogue, message, outbox_row, relay_catalogue,
};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Bookings>> {
    let (style, announcing) = match how.style {
        Style::OutboxRow => (Style::Plain, Announcing::Row),
        Style::Outbox => (Style::Plain, Announcing::Relayed),
        Style::DirectPublish => (Style::Plain, Announcing::AfterCommit(publish)),
        style => (style, Announcing::Nothing),
    };
    generic::target_in_form(How { style, ..how }, url, catalogue(how.dialect)?, clock, announcing)
}

/// Publishes from within the process that has committed.
fn publish(key: u64, payload: Vec<u8>) -> Publishing {
    Box::pin(relay::publish(Message { key, payload }))
}

/// The relay of the outbox.
pub(crate) fn relay(
    how: How,
    stores: &[DbUrl],
    _: &Cardinality,
    settings: relay::Settings,
) -> Result<Box<dyn relay::Relay>> {
    let ([url], Style::Outbox) = (stores, how.style) else {
        bail!("{} through {} leaves nothing to a relay", how.style.name(), how.driver.name())
    };
    let statements = relay_catalogue(how.dialect)?;
    Ok(match how.driver {
        Driver::Rusqlite => {
            relaying(SqliteOpener::new(sqlite_only(url)?, statements, Monotonic::start())?, settings)
        }
        Driver::TokioPostgres => {
            relaying(wait_for(PostgresOpener::reach(server_only(url)?, statements))??, settings)
        }
        Driver::MySqlAsync => {
            relaying(wait_for(MySqlOpener::reach(server_only(url)?, statements))??, settings)
        }
        driver => bail!("no relay of an outbox through {}", driver.name()),
    })
}

fn relaying<O: SqlOpener>(opener: O, settings: relay::Settings) -> Box<dyn relay::Relay> {
    Box::new(OutboxRelay::new(opener, row, settings.sink, settings.batch))
}

fn row(row: &dyn Columns) -> Result<Row, ColumnError> {
    let (id, created_us, booking) = outbox_row(row)?;
    let (key, payload) = message(&booking, Some(id));
    Ok(Row { id, created_us, message: Message { key, payload } })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_relay_numbers_the_statements_as_the_workload_does() {
        assert_eq!(relay::OUTBOX_STATEMENTS, workload_booking::RELAY_STATEMENTS);
    }
}
