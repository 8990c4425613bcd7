//! Targets of workloads in their generic form, over every driver.

use crate::{Driver, How, Style, server_only, sqlite_only, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use adapter_sqlx::{SqlxMySql, SqlxPostgres, SqlxSqlite};
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Result, bail};
use measure::Monotonic;
use model::AnyTarget;
use sql::{DbUrl, Dialect, SqlForm, SqlOpener, SqlTarget};

/// The target of a subject whose sessions run `statements` one at a time.
///
/// # Errors
/// The engine cannot be reached or used, or no driver does that in this style.
pub fn target<W: SqlForm>(
    how: How,
    url: &DbUrl,
    statements: Vec<String>,
    clock: Monotonic,
) -> Result<AnyTarget<W>> {
    Ok(match (how.driver, how.style) {
        (Driver::Rusqlite, Style::Plain) => {
            over(SqliteOpener::new(sqlite_only(url)?, statements, clock)?, clock)
        }
        (Driver::Rusqlite, Style::Grouped) => {
            over(GroupedOpener::new(sqlite_only(url)?, statements, clock)?, clock)
        }
        (Driver::TokioPostgres, Style::Plain) => {
            over(wait_for(PostgresOpener::reach(server_only(url)?, statements))??, clock)
        }
        (Driver::MySqlAsync, Style::Plain) => {
            over(wait_for(MySqlOpener::reach(server_only(url)?, statements))??, clock)
        }
        (Driver::Sqlx, Style::Plain) => match url {
            DbUrl::Sqlite(url) => over(wait_for(SqlxSqlite::reach(url, statements))??, clock),
            DbUrl::Server(url) if url.dialect == Dialect::MySql => {
                over(wait_for(SqlxMySql::reach(url, statements))??, clock)
            }
            DbUrl::Server(url) => over(wait_for(SqlxPostgres::reach(url, statements))??, clock),
        },
        (driver, style) => bail!("no {} through {}", style.name(), driver.name()),
    })
}

fn over<W: SqlForm, O: SqlOpener>(opener: O, clock: Monotonic) -> AnyTarget<W> {
    AnyTarget::new(SqlTarget::<W, O, Monotonic>::new(opener, clock))
}
