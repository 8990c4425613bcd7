//! Transfers: besides those within one store, those between two.

use crate::sharded::each;
use crate::{Driver, How, Style, generic, server_only, sqlite_only, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::SqliteOpener;
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Result, bail};
use measure::Monotonic;
use model::AnyTarget;
use pair_transfer::{RelayProcess, Stores};
use sql::{CatalogueError, DbUrl, Dialect, SqlOpener, TwoPhase};
use workload_transfer::{
    Cardinality, Crossing, Transfers, catalogue, expiry_catalogue, relay_catalogue, router_catalogue,
};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Transfers>> {
    let (style, crossing) = match how.style {
        // In one store nothing is crossed.
        Style::TwoPhase => (Style::Plain, Crossing::TwoPhase),
        Style::TwoPhaseLog => (Style::Plain, Crossing::TwoPhaseLog),
        Style::Saga => (Style::Plain, Crossing::Saga),
        Style::LogFirst => (Style::Plain, Crossing::LogFirst),
        Style::DualWrite => (Style::Plain, Crossing::DualWrite),
        Style::Attached => (Style::Plain, Crossing::Attached),
        style => (style, Crossing::None),
    };
    generic::target_in_form(How { style, ..how }, url, catalogue(how.dialect)?, clock, crossing)
}

pub(crate) fn open_over(
    how: How,
    stores: &[DbUrl],
    size: &Cardinality,
    clock: Monotonic,
) -> Result<AnyTarget<Transfers>> {
    match (how.driver, how.style) {
        (Driver::TokioPostgres, Style::TwoPhase | Style::TwoPhaseLog) => {
            two_phase(how.style, of(&|statements| postgres(how, stores, statements), size, clock)?)
        }
        (Driver::MySqlAsync, Style::TwoPhase | Style::TwoPhaseLog) => {
            two_phase(how.style, of(&|statements| mysql(how, stores, statements), size, clock)?)
        }
        (Driver::Rusqlite, Style::Attached) => {
            pair_transfer::attached(of(&|statements| sqlite(how, stores, statements, clock), size, clock)?)
        }
        (Driver::Rusqlite, style) => {
            unshared(style, of(&|statements| sqlite(how, stores, statements, clock), size, clock)?)
        }
        (Driver::TokioPostgres, style) => {
            unshared(style, of(&|statements| postgres(how, stores, statements), size, clock)?)
        }
        (Driver::MySqlAsync, style) => {
            unshared(style, of(&|statements| mysql(how, stores, statements), size, clock)?)
        }
        (driver, style) => bail!("no {} between stores through {}", style.name(), driver.name()),
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
            relaying(&|statements| sqlite(how, stores, statements, Monotonic::start()), size, &settings)
        }
        (Driver::TokioPostgres, Style::Saga | Style::LogFirst) => {
            relaying(&|statements| postgres(how, stores, statements), size, &settings)
        }
        (Driver::MySqlAsync, Style::Saga | Style::LogFirst) => {
            relaying(&|statements| mysql(how, stores, statements), size, &settings)
        }
        (driver, style) => bail!("{} through {} leaves nothing to a relay", style.name(), driver.name()),
    }
}

/// Which statements are prepared.
type Statements = fn(Dialect) -> Result<Vec<String>, CatalogueError>;

fn sqlite(
    how: How,
    stores: &[DbUrl],
    statements: Statements,
    clock: Monotonic,
) -> Result<Vec<SqliteOpener<Monotonic>>> {
    each(stores, |url| Ok(SqliteOpener::new(sqlite_only(url)?, statements(how.dialect)?, clock)?))
}

fn postgres(how: How, stores: &[DbUrl], statements: Statements) -> Result<Vec<PostgresOpener>> {
    each(stores, |url| Ok(wait_for(PostgresOpener::reach(server_only(url)?, statements(how.dialect)?))??))
}

fn mysql(how: How, stores: &[DbUrl], statements: Statements) -> Result<Vec<MySqlOpener>> {
    each(stores, |url| Ok(wait_for(MySqlOpener::reach(server_only(url)?, statements(how.dialect)?))??))
}

/// Openers of all stores, in order, for some statements.
type Openers<'a, O> = &'a dyn Fn(Statements) -> Result<Vec<O>>;

fn of<O: SqlOpener>(openers: Openers<'_, O>, size: &Cardinality, clock: Monotonic) -> Result<Stores<O>> {
    let readers = openers(router_catalogue)?;
    wait_for(Stores::new(&readers, openers(catalogue)?, size, clock))?
}

fn two_phase<O: SqlOpener<Conn: TwoPhase>>(style: Style, stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    wait_for(pair_transfer::two_phase(stores, style == Style::TwoPhaseLog))?
}

/// Sessions whose transactions lie in one store each.
fn unshared<O: SqlOpener>(style: Style, stores: Stores<O>) -> Result<AnyTarget<Transfers>> {
    match style {
        Style::Saga => Ok(pair_transfer::saga(stores)),
        Style::LogFirst => wait_for(pair_transfer::log_first(stores))?,
        Style::DualWrite => Ok(pair_transfer::dual_write(stores)),
        style => bail!("no {} between stores", style.name()),
    }
}

fn relaying<O: SqlOpener>(
    openers: Openers<'_, O>,
    size: &Cardinality,
    settings: &relay::Settings,
) -> Result<Box<dyn relay::Relay>> {
    let (readers, expirers) = (openers(router_catalogue)?, openers(expiry_catalogue)?);
    let process = RelayProcess::new(&readers, openers(relay_catalogue)?, expirers, size, settings);
    Ok(Box::new(wait_for(process)??))
}
