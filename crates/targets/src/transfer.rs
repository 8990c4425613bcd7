//! Transfers: besides those within one store, those between two.

use crate::{Driver, How, Style, generic, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Result, bail};
use measure::Monotonic;
use model::AnyTarget;
use pair_transfer::{over_files, over_servers, saga_relay};
use sql::DbUrl;
use workload_transfer::{Cardinality, Crossing, Transfers, catalogue};

/// How transfers cross in a style.
fn crossing_of(style: Style) -> Crossing {
    match style {
        Style::TwoPhase => Crossing::TwoPhase,
        Style::TwoPhaseLog => Crossing::TwoPhaseLog,
        Style::Saga => Crossing::Saga,
        Style::LogFirst => Crossing::LogFirst,
        Style::DualWrite => Crossing::DualWrite,
        Style::Attached => Crossing::Attached,
        _ => Crossing::None,
    }
}

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Transfers>> {
    let crossing = crossing_of(how.style);
    // In one store nothing is crossed.
    let style = if crossing == Crossing::None { how.style } else { Style::Plain };
    generic::target_in_form(How { style, ..how }, url, catalogue(how.dialect)?, clock, crossing)
}

pub(crate) fn open_over(
    how: How,
    stores: &[DbUrl],
    size: &Cardinality,
    clock: Monotonic,
) -> Result<AnyTarget<Transfers>> {
    let crossing = crossing_of(how.style);
    match how.driver {
        Driver::Rusqlite => wait_for(over_files(crossing, stores, size, clock))?,
        Driver::TokioPostgres => wait_for(over_servers::<PostgresOpener>(crossing, stores, size, clock))?,
        Driver::MySqlAsync => wait_for(over_servers::<MySqlOpener>(crossing, stores, size, clock))?,
        driver => bail!("no {} between stores through {}", how.style.name(), driver.name()),
    }
}

/// The relay between the stores of a saga, with a log or without.
pub(crate) fn relay(
    how: How,
    stores: &[DbUrl],
    size: &Cardinality,
    settings: relay::Settings,
) -> Result<Box<dyn relay::Relay>> {
    match (how.driver, how.style) {
        (Driver::Rusqlite, Style::Saga | Style::LogFirst) => {
            wait_for(saga_relay::<SqliteOpener<Monotonic>>(stores, size, &settings))?
        }
        (Driver::TokioPostgres, Style::Saga | Style::LogFirst) => {
            wait_for(saga_relay::<PostgresOpener>(stores, size, &settings))?
        }
        (Driver::MySqlAsync, Style::Saga | Style::LogFirst) => {
            wait_for(saga_relay::<MySqlOpener>(stores, size, &settings))?
        }
        (driver, style) => bail!("{} through {} leaves nothing to a relay", style.name(), driver.name()),
    }
}
