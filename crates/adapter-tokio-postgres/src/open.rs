//! Opening connections with a workload's statements, and what is in force on the server, read back.

use crate::{Facts, PostgresConn, connect_to_write, open_error};
use model::{Durability, Home, OpenError, Stack};
use sql::{ServerUrl, SqlOpener, postgres};

/// Opens connections to one database.
#[derive(Debug)]
pub struct PostgresOpener {
    pub(crate) url: ServerUrl,
    statements: Vec<String>,
    facts: Facts,
    durability: Durability,
    settings: Vec<(String, String)>,
}

impl PostgresOpener {
    /// Connects once, checks that the server can be used as the URL says, that it takes writes and that the statements fit
    /// its schema, and reads back what is in force. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// Those of [`connect_to_write`]; [`OpenError::Unusable`] when a statement does not fit the schema.
    pub async fn reach(url: &ServerUrl, statements: Vec<String>) -> Result<PostgresOpener, OpenError> {
        PostgresOpener::reach_by("extended, prepared, binary", url, statements).await
    }

    /// The same, and shows `protocol` among the settings: what its connections are to speak.
    pub(crate) async fn reach_by(
        protocol: &str,
        url: &ServerUrl,
        statements: Vec<String>,
    ) -> Result<PostgresOpener, OpenError> {
        let mut connected = connect_to_write(url).await?;
        let names = postgres::SETTINGS.join("', '");
        // `current_setting` gives units as people write them; what this version does not have is left out.
        let text = format!(
            "select name, current_setting(name) from unnest(array['{names}']) as name \
             where current_setting(name, true) is not null"
        );
        let asked = connected.client.query(&text, &[]);
        let rows = connected.link.until(asked).await.map_err(|error| open_error(url, &error))?;
        let setting = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
        let settings: Result<Vec<(String, String)>, _> = rows.iter().map(setting).collect();
        let mut settings = settings.map_err(|error| open_error(url, &error))?;
        let facts = connected.facts.clone();
        let encrypted = encrypted(&mut connected).await.map_err(|error| open_error(url, &error))?;
        PostgresConn::prepare(connected, &statements).await.map_err(|error| open_error(url, &error))?;

        let found = |name: &str| {
            settings.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value.as_str())
        };
        let durability = postgres::durability(
            found("fsync"),
            found("synchronous_commit"),
            found("full_page_writes"),
            found("wal_sync_method"),
        );
        settings.push(("protocol".into(), protocol.into()));
        settings.push(("transport".into(), if url.socket.is_some() { "unix" } else { "tcp" }.into()));
        settings.push(("tls".into(), encrypted));
        settings.push(("statement_timeout_ms".into(), facts.statement_timeout_ms.to_string()));
        Ok(PostgresOpener { url: url.clone(), statements, facts, durability, settings })
    }
}

/// The version of TLS in use, or `off`.
async fn encrypted(connected: &mut crate::Connected) -> Result<String, tokio_postgres::Error> {
    let text = "select version from pg_stat_ssl where pid = pg_backend_pid() and ssl";
    let row = connected.link.until(connected.client.query_opt(text, &[])).await?;
    row.map_or_else(|| Ok("off".into()), |row| row.try_get(0))
}

impl SqlOpener for PostgresOpener {
    type Conn = PostgresConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<PostgresConn, OpenError> {
        let connected = connect_to_write(&self.url).await?;
        PostgresConn::prepare(connected, &self.statements)
            .await
            .map_err(|error| open_error(&self.url, &error))
    }

    fn stack(&self) -> Stack {
        Stack {
            engine: "postgres".into(),
            engine_version: self.facts.version.clone(),
            adapter: "tokio-postgres".into(),
            adapter_version: TOKIO_POSTGRES.into(),
            style: String::new(),
            route: "direct".into(),
            server: None,
            isolation: format!("{}; repeatable read where only read", self.facts.isolation),
            durability: self.durability.clone(),
            settings: self.settings.clone(),
        }
    }
}

/// The version that the workspace pins; the driver does not say it at run time. A test holds it to the manifest.
const TOKIO_POSTGRES: &str = "0.7.18";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("tokio-postgres = {{ version = \"={TOKIO_POSTGRES}\"")));
    }
}
