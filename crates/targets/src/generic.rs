//! Targets of workloads in their generic form, over every driver.

use crate::{Driver, How, Style, wait_for};
use adapter_mysql_async::MySqlOpener;
use adapter_rusqlite::{GroupedOpener, SqliteOpener};
use adapter_sqlx::{SqlxMySql, SqlxPostgres, SqlxSqlite};
use adapter_tokio_postgres::{PostgresOpener, SimpleOpener};
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
    target_in_form(how, url, statements, clock, W::Form::default())
}

/// The same with the transactions in another form than the plain one; the style is then how they are sent.
pub fn target_in_form<W: SqlForm>(
    how: How,
    url: &DbUrl,
    statements: Vec<String>,
    clock: Monotonic,
    form: W::Form,
) -> Result<AnyTarget<W>> {
    let over = Over::<W> { clock, form };
    Ok(match (how.driver, how.style) {
        (Driver::Rusqlite, Style::Plain) => over.opener(SqliteOpener::new(url.sqlite()?, statements, clock)?),
        (Driver::Rusqlite, Style::Grouped) => {
            over.opener(GroupedOpener::new(url.sqlite()?, statements, clock)?)
        }
        (Driver::TokioPostgres, Style::Plain) => {
            over.opener(wait_for(PostgresOpener::reach(url.server()?, statements))??)
        }
        (Driver::TokioPostgres, Style::Simple) => {
            over.opener(wait_for(SimpleOpener::reach(url.server()?, statements))??)
        }
        (Driver::MySqlAsync, Style::Plain) => {
            over.opener(wait_for(MySqlOpener::reach(url.server()?, statements))??)
        }
        (Driver::Sqlx, Style::Plain) => match url {
            DbUrl::Sqlite(url) => over.opener(wait_for(SqlxSqlite::reach(url, statements))??),
            DbUrl::Server(url) if url.dialect == Dialect::MySql => {
                over.opener(wait_for(SqlxMySql::reach(url, statements))??)
            }
            DbUrl::Server(url) => over.opener(wait_for(SqlxPostgres::reach(url, statements))??),
        },
        (driver, style) => bail!("no {} through {}", style.name(), driver.name()),
    })
}

/// What a target is made of besides its opener.
struct Over<W: SqlForm> {
    clock: Monotonic,
    form: W::Form,
}

impl<W: SqlForm> Over<W> {
    fn opener<O: SqlOpener>(&self, opener: O) -> AnyTarget<W> {
        AnyTarget::new(SqlTarget::<W, O, Monotonic>::in_form(opener, self.clock, self.form))
    }
}
