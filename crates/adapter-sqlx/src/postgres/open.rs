//! Opening connections with a workload's statements, and what is in force on the server, read back.

use super::connect::{Facts, connect, open_error};
use crate::{ADAPTER, SqlxPostgresConn};
use model::{Durability, Home, OpenError, Stack};
use sql::{ServerUrl, SqlOpener, postgres};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Error};

/// Opens connections to one database of a PostgreSQL server.
#[derive(Debug)]
pub struct SqlxPostgres {
    url: ServerUrl,
    statements: Vec<String>,
    facts: Facts,
    durability: Durability,
    settings: Vec<(String, String)>,
}

impl SqlxPostgres {
    /// Connects once, checks that the server can be used as the URL says, that it takes writes and that the statements fit
    /// its schema, and reads back what is in force. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] when nothing answers, or no one is let in now; [`OpenError::Unusable`] when trying again
    /// will not help: password, database, encryption, a server that is too old or takes no writes, a setting that does not
    /// take, a statement that does not fit the schema. No error holds a password.
    pub async fn reach(url: &ServerUrl, statements: Vec<String>) -> Result<SqlxPostgres, OpenError> {
        let (mut conn, facts) = connect(url).await?;
        let mut settings = in_force(&mut conn).await.map_err(|error| open_error(url, &error))?;
        let encrypted = encrypted(&mut conn).await.map_err(|error| open_error(url, &error))?;
        SqlxPostgresConn::prepare(conn, &statements, url).await?;

        let found = |name: &str| {
            settings.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.as_str())
        };
        let durability = postgres::durability(
            found("fsync"),
            found("synchronous_commit"),
            found("full_page_writes"),
            found("wal_sync_method"),
        );
        settings.push(("protocol".into(), "extended, prepared, binary".into()));
        settings.push(("transport".into(), if url.socket.is_some() { "unix" } else { "tcp" }.into()));
        settings.push(("tls".into(), encrypted));
        settings.push(("statement_timeout_ms".into(), facts.statement_timeout_ms.to_string()));
        Ok(SqlxPostgres { url: url.clone(), statements, facts, durability, settings })
    }
}

/// `current_setting` gives units as people write them; what this version does not have is left out.
async fn in_force(conn: &mut PgConnection) -> Result<Vec<(String, String)>, Error> {
    let names = postgres::SETTINGS.join("', '");
    let text = format!(
        "select name, current_setting(name) from unnest(array['{names}']) as name \
         where current_setting(name, true) is not null"
    );
    sqlx::query_as(AssertSqlSafe(text)).fetch_all(conn).await
}

/// The version of TLS in use, or `off`.
async fn encrypted(conn: &mut PgConnection) -> Result<String, Error> {
    let text = "select version from pg_stat_ssl where pid = pg_backend_pid() and ssl";
    let found: Option<String> = sqlx::query_scalar(text).fetch_optional(conn).await?;
    Ok(found.unwrap_or_else(|| "off".into()))
}

impl SqlOpener for SqlxPostgres {
    type Conn = SqlxPostgresConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<SqlxPostgresConn, OpenError> {
        let (conn, _) = connect(&self.url).await?;
        SqlxPostgresConn::prepare(conn, &self.statements, &self.url).await
    }

    fn stack(&self) -> Stack {
        Stack {
            engine: "postgres".into(),
            engine_version: self.facts.version.clone(),
            adapter: ADAPTER.0.into(),
            adapter_version: ADAPTER.1.into(),
            style: "plain".into(),
            route: "direct".into(),
            server: None,
            isolation: format!("{}; repeatable read where only read", self.facts.isolation),
            durability: self.durability.clone(),
            settings: self.settings.clone(),
        }
    }
}
