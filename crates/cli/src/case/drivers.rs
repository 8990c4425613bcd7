//! Targets of workloads in their generic form, over every driver.

use super::{Visitor, retrying, wait_for};
use crate::case::Case;
use crate::engine::{server_only, sqlite_only};
use crate::subjects::{Driver, How, Style};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use adapter_sqlx::{SqlxMySql, SqlxPostgres, SqlxSqlite};
use adapter_tokio_postgres::PostgresOpener;
use anyhow::{Result, bail};
use measure::Monotonic;
use sql::{DbUrl, Dialect, SqlForm, SqlOpener, SqlTarget};

/// Makes the target of a subject whose sessions run `statements` one at a time, and hands it over.
pub(super) fn generic<W: Case + SqlForm, V: Visitor<W>>(
    how: How,
    url: &DbUrl,
    statements: Vec<String>,
    clock: Monotonic,
    visitor: V,
) -> Result<V::Out> {
    match (how.driver, how.style) {
        (Driver::Rusqlite, Style::Plain) => {
            over(SqliteOpener::new(sqlite_only(url)?, statements, clock)?, clock, visitor)
        }
        (Driver::Rusqlite, Style::Grouped) => {
            over(GroupedOpener::new(sqlite_only(url)?, statements, clock)?, clock, visitor)
        }
        (Driver::TokioPostgres, Style::Plain) => {
            over(wait_for(PostgresOpener::reach(server_only(url)?, statements))??, clock, visitor)
        }
        (Driver::MySqlAsync, Style::Plain) => {
            over(wait_for(MySqlOpener::reach(server_only(url)?, statements))??, clock, visitor)
        }
        (Driver::Sqlx, Style::Plain) => match url {
            DbUrl::Sqlite(url) => over(wait_for(SqlxSqlite::reach(url, statements))??, clock, visitor),
            DbUrl::Server(url) if url.dialect == Dialect::MySql => {
                over(wait_for(SqlxMySql::reach(url, statements))??, clock, visitor)
            }
            DbUrl::Server(url) => over(wait_for(SqlxPostgres::reach(url, statements))??, clock, visitor),
        },
        (driver, style) => bail!("no {} through {}", style.name(), driver.name()),
    }
}

fn over<W: Case + SqlForm, O: SqlOpener, V: Visitor<W>>(
    opener: O,
    clock: Monotonic,
    visitor: V,
) -> Result<V::Out> {
    visitor.visit(retrying(SqlTarget::<W, O, Monotonic>::new(opener, clock)))
}
